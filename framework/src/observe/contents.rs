//! The contents of a component, as it shows them to recordings.
//!
//! A component says what is in it; the engine compares that with what was in it before and reports
//! the differences as [`Probe`]s. So a component keeps nothing for recordings, and a run without
//! them never asks.

use crate::observe::probe::{About, Probe};

/// Collects what is in one component after an evaluation.
pub struct Contents<'a> {
    picture: &'a mut Picture,
}

/// Something that is in a component for a while: a work-group, a miss, a request.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentItem {
    name: &'static str,
    id: u64,
    about: About,
    because: Option<&'static str>,
}

/// All that a component shows at a time.
#[derive(Default)]
struct Picture {
    things: Vec<ContentItem>,
    levels: Vec<(&'static str, u64)>,
    because: Option<&'static str>,
}

/// What a component showed last, and the room for what it shows next.
#[derive(Default)]
pub(crate) struct Shown {
    last: Picture,
    next: Picture,
}

impl Contents<'_> {
    /// Something is in the component now: a kind, such as `work-group`, and a number among the
    /// things of this kind that are in the component at the same time.
    ///
    /// One that has left and one of the same kind, number and description that came in the same
    /// evaluation are taken for the same.
    pub fn thing(&mut self, name: &'static str, id: u64) -> &mut ContentItem {
        let things = &mut self.picture.things;
        things.push(ContentItem {
            name,
            id,
            about: About::default(),
            because: None,
        });
        things.last_mut().expect("one was pushed")
    }

    /// How much of something there is now. A component names the same levels every time.
    pub fn level(&mut self, name: &'static str, value: u64) {
        self.picture.levels.push((name, value));
    }

    /// Why the component as a whole does not go on, in words of the hardware.
    pub fn blocked(&mut self, because: Option<&'static str>) {
        self.picture.because = because;
    }
}

impl ContentItem {
    /// The transaction it belongs to, as [`crate::Message::flow`].
    pub fn flow(&mut self, flow: Option<u64>) -> &mut Self {
        self.about.flow = flow;
        self
    }

    /// A number that describes it for as long as it is there.
    pub fn number(&mut self, name: &'static str, value: u64) -> &mut Self {
        self.about.numbers.push((name, value));
        self
    }

    /// Why it does not go on now.
    pub fn waits(&mut self, because: Option<&'static str>) -> &mut Self {
        self.because = because;
        self
    }

    fn key(&self) -> (&'static str, u64) {
        (self.name, self.id)
    }
}

impl Shown {
    /// Lets `show` name the contents and reports how they differ from the last ones: levels, then what has
    /// left, then what is new or goes on differently. `again` has the reason for which the whole
    /// component is blocked reported even if it is as before. Returns whether it was reported.
    pub(crate) fn update(
        &mut self,
        again: bool,
        show: impl FnOnce(&mut Contents<'_>),
        mut report: impl FnMut(Probe),
    ) -> Blocked {
        let Self { last, next } = self;
        next.things.clear();
        next.levels.clear();
        next.because = None;
        show(&mut Contents { picture: next });
        next.things.sort_by_key(ContentItem::key);

        let mut levels = last.levels.iter();
        for level in &next.levels {
            if levels.next() != Some(level) {
                let &(name, value) = level;
                let value = value as f64;
                report(Probe::Value { name, value });
            }
        }
        compare(&last.things, &next.things, &mut report);
        let blocked = match (last.because, next.because) {
            (before, Some(because)) if again || before != Some(because) => {
                report(Probe::Blocked { because });
                Blocked::Told
            }
            (Some(_), None) => Blocked::Ended,
            _ => Blocked::AsBefore,
        };
        std::mem::swap(last, next);
        blocked
    }
}

/// Whether a component said why it is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocked {
    AsBefore,
    Told,
    /// It no longer is.
    Ended,
}

/// Both lists are in the order of their keys.
fn compare(last: &[ContentItem], next: &[ContentItem], report: &mut impl FnMut(Probe)) {
    let stays = |of: &[ContentItem], thing: &ContentItem| {
        let found = of.binary_search_by_key(&thing.key(), ContentItem::key);
        found.ok().filter(|at| of[*at].about == thing.about)
    };
    for thing in last {
        if stays(next, thing).is_none() {
            let (name, id) = thing.key();
            report(Probe::End { name, id });
        }
    }
    for thing in next {
        let (name, id) = thing.key();
        let before = stays(last, thing);
        if before.is_none() {
            let about = thing.about.clone();
            report(Probe::Begin { name, id, about });
        }
        let because = before.and_then(|at| last[at].because);
        if because != thing.because {
            let because = thing.because;
            report(Probe::Held { name, id, because });
        }
    }
}

/// The levels that `show` shows.
pub(crate) fn levels(show: impl FnOnce(&mut Contents<'_>)) -> Vec<(&'static str, u64)> {
    let mut picture = Picture::default();
    show(&mut Contents {
        picture: &mut picture,
    });
    picture.levels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(shown: &mut Shown, show: impl FnOnce(&mut Contents<'_>)) -> Vec<String> {
        let mut out = Vec::new();
        shown.update(false, show, |probe| {
            out.push(match probe {
                Probe::Begin { name, id, about } => format!("+{name} {id} {:?}", about.numbers),
                Probe::End { name, id } => format!("-{name} {id}"),
                Probe::Held { name, id, because } => format!("{name} {id} {because:?}"),
                Probe::Value { name, value } => format!("{name}={value}"),
                Probe::Blocked { because } => because.to_owned(),
                other => panic!("{other:?}"),
            });
        });
        out
    }

    #[test]
    fn only_differences_are_reported_and_ends_come_first() {
        let mut shown = Shown::default();
        let first = |contents: &mut Contents<'_>| {
            contents.thing("miss", 4).number("line", 1);
            contents.thing("miss", 2).waits(Some("memory"));
            contents.level("misses", 2);
        };
        assert_eq!(
            seen(&mut shown, first),
            [
                "misses=2",
                "+miss 2 []",
                "miss 2 Some(\"memory\")",
                "+miss 4 [(\"line\", 1)]"
            ]
        );
        assert_eq!(seen(&mut shown, first), [""; 0]);
        // Entry 4 is another line's now, entry 2 goes on, entry 0 is new.
        let second = |contents: &mut Contents<'_>| {
            contents.thing("miss", 4).number("line", 9);
            contents.thing("miss", 2);
            contents.thing("miss", 0);
            contents.level("misses", 3);
            contents.blocked(Some("every MSHR is in use"));
        };
        assert_eq!(
            seen(&mut shown, second),
            [
                "misses=3",
                "-miss 4",
                "+miss 0 []",
                "miss 2 None",
                "+miss 4 [(\"line\", 9)]",
                "every MSHR is in use",
            ]
        );
        assert_eq!(
            seen(&mut shown, |contents| contents.level("misses", 3)),
            ["-miss 0", "-miss 2", "-miss 4"]
        );
    }
}
