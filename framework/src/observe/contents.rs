//! Contents of a component, as shown to recordings.
//!
//! A component reports its contents. The engine compares them with the previous ones and reports
//! the differences as [`Probe`]s. A component therefore keeps no state for recordings, and a run
//! without recordings never queries contents.

use crate::observe::probe::{About, Probe};

/// Collects the contents of one component after an evaluation.
pub struct Contents<'a> {
    picture: &'a mut Picture,
}

/// An item that is in a component for some time: a work-group, a miss, a request.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentItem {
    name: &'static str,
    id: u64,
    about: About,
    because: Option<&'static str>,
}

/// All contents that a component shows at one time.
#[derive(Default)]
struct Picture {
    things: Vec<ContentItem>,
    levels: Vec<(&'static str, u64)>,
    because: Option<&'static str>,
}

/// Contents that a component showed last, and the buffer for the next ones.
#[derive(Default)]
pub(crate) struct Shown {
    last: Picture,
    next: Picture,
}

impl Contents<'_> {
    /// Adds an item that is in the component now. `name` is its kind, such as `work-group`; `id` is
    /// unique among simultaneous items of this kind in the component.
    ///
    /// An item that left and one of the same kind, number and description that arrived in the same
    /// evaluation count as the same.
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

    /// Reports the current level of a quantity. A component must name the same levels every time.
    pub fn level(&mut self, name: &'static str, value: u64) {
        self.picture.levels.push((name, value));
    }

    /// Reports the reason, in hardware terms, for which the component as a whole is stalled.
    pub fn blocked(&mut self, because: Option<&'static str>) {
        self.picture.because = because;
    }
}

impl ContentItem {
    /// Sets the transaction that the item belongs to, as in [`crate::Message::flow`].
    pub fn flow(&mut self, flow: Option<u64>) -> &mut Self {
        self.about.flow = flow;
        self
    }

    /// Adds a number that describes the item throughout its time in the component.
    pub fn number(&mut self, name: &'static str, value: u64) -> &mut Self {
        self.about.numbers.push((name, value));
        self
    }

    /// Sets the reason for which the item is stalled now.
    pub fn waits(&mut self, because: Option<&'static str>) -> &mut Self {
        self.because = because;
        self
    }

    fn key(&self) -> (&'static str, u64) {
        (self.name, self.id)
    }
}

impl Shown {
    /// Lets `show` name the contents and reports the differences from the last ones: levels, items
    /// that left, then new or changed items. `again` forces a report of the reason for which the
    /// whole component is blocked, even if unchanged. Returns true if it was reported.
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

/// State of the report that a component is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocked {
    AsBefore,
    Told,
    /// The component is no longer blocked.
    Ended,
}

/// Reports the differences between two lists, which must be sorted by key.
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

/// Returns the levels that `show` reports.
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
        // Entry 4 now belongs to another line, entry 2 continues, entry 0 is new.
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
