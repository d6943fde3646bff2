//! Prefetcher with a global history buffer, by correlation of differences within a zone of memory.
//!
//! The history holds the last lines of all zones, each linked to the one before it in its zone. An
//! access reads the differences of its zone backwards. If the last two are equal, it follows that
//! stride. Otherwise it repeats the differences that followed the last two earlier.

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::training::{RegionKey, Trainer, Training};
use super::{PrefetchContext, Prefetcher, Prefetching};
use crate::cache::policy::TagLookup;

/// Specification of the [`Ghb`] prefetcher: its history and its zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GhbSpec {
    /// Lines in the history, 1 to 65536. Source: 1024 in the graph thesis.
    pub history: u32,
    /// Binary logarithm of a zone's bytes, 0 to 40; at least a line. Source: 12 in the graph
    /// thesis.
    pub zone_bits: u32,
    /// Zones whose latest line is known, 1 to 65536; the least recently used one is replaced.
    /// Source: 128 in the graph thesis.
    pub index: u32,
    /// Lines fetched for each access that continues a pattern, 0 to 64. Source: own choice.
    pub degree: u32,
    /// True if every wavefront has zones of its own. Source: false in MacSim; the graph thesis
    /// names both.
    pub by_wavefront: bool,
}

impl Default for GhbSpec {
    fn default() -> Self {
        Self {
            history: 1024,
            zone_bits: 12,
            index: 128,
            degree: 4,
            by_wavefront: false,
        }
    }
}

/// Largest difference, in lines, that belongs to a pattern.
const DIFFERENCE_MAX: i64 = 100;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Seen {
    line: i64,
    /// Number of the line before it in its zone; lines are numbered from 1.
    before: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Zone {
    used: u64,
    latest: u64,
}

/// The history and the latest line of each zone.
#[derive(State)]
struct History {
    #[state(skip)]
    spec: GhbSpec,
    #[state(skip)]
    line_bits: u32,
    /// Lines, the latest at the end.
    seen: VecDeque<Seen>,
    count: u64,
    zones: BTreeMap<RegionKey, Zone>,
    accesses: u64,
    /// Differences of an access, the latest first; room that is used again.
    #[state(skip)]
    differences: Vec<i64>,
}

impl History {
    fn new(spec: GhbSpec, line_bits: u32) -> Self {
        Self {
            spec,
            line_bits,
            seen: VecDeque::new(),
            count: 0,
            zones: BTreeMap::new(),
            accesses: 0,
            differences: Vec::new(),
        }
    }

    /// Returns the line of a number, if the history still holds it.
    fn line(&self, number: u64) -> Option<&Seen> {
        let back = self.count.checked_sub(number)? as usize;
        let place = self.seen.len().checked_sub(back + 1)?;
        self.seen.get(place)
    }

    fn train(&mut self, training: &Training, send: &mut dyn FnMut(i64)) {
        let key = training.key(self.line_bits);
        self.accesses += 1;
        let known = self.zones.get_mut(&key).map(|zone| {
            zone.used = self.accesses;
            zone.latest
        });
        if known.is_none() && !training.enters {
            return;
        }
        let before = known.unwrap_or(0);
        let is_again = |seen: &Seen| seen.line == training.line;
        if self.line(before).is_some_and(is_again) {
            return;
        }
        if known.is_none() && self.zones.len() >= self.spec.index as usize {
            let oldest = self.zones.iter().min_by_key(|(_, zone)| zone.used);
            if let Some(key) = oldest.map(|(key, _)| *key) {
                self.zones.remove(&key);
            }
        }
        if self.seen.len() >= self.spec.history as usize {
            self.seen.pop_front();
        }
        self.count += 1;
        let line = training.line;
        self.seen.push_back(Seen { line, before });
        let zone = Zone {
            used: self.accesses,
            latest: self.count,
        };
        self.zones.insert(key, zone);
        self.predict(send);
    }

    /// Sends the lines that follow the latest one.
    fn predict(&mut self, send: &mut dyn FnMut(i64)) {
        let mut differences = std::mem::take(&mut self.differences);
        differences.clear();
        // The differences that follow the last two, the next one at the end.
        let mut follow = None;
        let latest = self.line(self.count).copied();
        let mut after = latest;
        while let Some(later) = after
            && let Some(earlier) = self.line(later.before).copied()
            && (later.line - earlier.line).abs() <= DIFFERENCE_MAX
        {
            differences.push(later.line - earlier.line);
            after = Some(earlier);
            if let [last, last_but_one, .., older, oldest] = differences[..]
                && last != last_but_one
                && (older, oldest) == (last, last_but_one)
            {
                follow = Some(differences.len() - 2);
                break;
            }
            if differences.len() == 3 && differences[0] == differences[1] {
                follow = Some(1);
                break;
            }
        }
        if let (Some(count), Some(Seen { mut line, .. })) = (follow, latest) {
            let rounds = differences[..count].iter().rev().cycle();
            for difference in rounds.take(self.spec.degree as usize) {
                line += difference;
                send(line);
            }
        }
        self.differences = differences;
    }
}

/// Prefetcher described at the top of the file.
#[derive(State, Statistics)]
pub struct Ghb {
    #[state(skip)]
    trainer: Trainer,
    #[state(flatten)]
    history: History,
}

impl PolicyKind for Ghb {
    type Role = Prefetching;
    const NAME: &'static str = "Ghb";
    const SUMMARY: &'static str =
        "Prefetches what followed the last differences of a zone of memory before";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "Ghb(degree: 0)",
        like: "",
    });
    type Spec = GhbSpec;

    fn build(
        spec: GhbSpec,
        context: &PolicyContext<'_, Prefetching>,
    ) -> Result<Box<dyn Prefetcher>, SpecError> {
        SpecError::in_range("history", spec.history, 1..=1 << 16)?;
        SpecError::in_range("zone_bits", spec.zone_bits, 0..=40)?;
        SpecError::in_range("index", spec.index, 1..=1 << 16)?;
        SpecError::in_range("degree", spec.degree, 0..=64)?;
        let trainer = Trainer::new(*context.site, spec.by_wavefront);
        let line_bits = trainer.line_bits(spec.zone_bits);
        Ok(Box::new(Self {
            trainer,
            history: History::new(spec, line_bits),
        }))
    }
}

impl Prefetcher for Ghb {
    fn on_access(&mut self, access: &TagLookup<'_>, hit: bool, context: &mut PrefetchContext<'_>) {
        self.trainer.train(access, hit, context, |training, send| {
            self.history.train(training, send);
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cache::prefetcher::training::sent_by;

    /// Bits of a zone of 4 KiB in lines of 128 bytes.
    const LINE_BITS: u32 = 5;

    fn sent(spec: GhbSpec, lines: &[i64]) -> Vec<Vec<i64>> {
        let mut history = History::new(spec, LINE_BITS);
        sent_by(lines, |training, send| history.train(training, send))
    }

    #[test]
    fn two_equal_differences_of_three_are_a_stride() {
        let up = sent(GhbSpec::default(), &[0, 1, 2, 3]);
        assert_eq!(up, [vec![], vec![], vec![], vec![4, 5, 6, 7]]);
        let pairs = sent(GhbSpec::default(), &[0, 0, 1, 1, 2, 2, 3]);
        assert!(pairs[..6].iter().all(Vec::is_empty));
        assert_eq!(pairs[6], [4, 5, 6, 7]);
    }

    #[test]
    fn differences_go_on_as_they_did_before() {
        let sent = sent(GhbSpec::default(), &[0, 1, 4, 5, 8]);
        assert!(sent[..4].iter().all(Vec::is_empty));
        assert_eq!(sent[4], [9, 12, 13, 16]);
    }

    #[test]
    fn differences_that_never_stood_in_a_row_predict_nothing() {
        let sent = sent(GhbSpec::default(), &[3, 17, 5, 30, 8, 22]);
        assert!(sent.iter().all(Vec::is_empty));
    }

    #[test]
    fn lines_of_other_zones_lie_between_but_do_not_count() {
        let mixed = sent(GhbSpec::default(), &[0, 100, 1, 64, 2, 101, 3]);
        assert_eq!(mixed[6], [4, 5, 6, 7]);
        let short = GhbSpec {
            history: 3,
            ..GhbSpec::default()
        };
        let none = sent(short, &[0, 100, 1, 64, 2, 101, 3]);
        assert!(none.iter().all(Vec::is_empty));
    }

    /// Reference that looks through everything it has seen.
    #[derive(Default)]
    struct Naive {
        /// Zone, generation of its index entry, line.
        seen: Vec<(i64, u32, i64)>,
        /// Zones in the order of their last use with the generation of each.
        zones: Vec<(i64, u32)>,
        generations: u32,
    }

    impl Naive {
        fn train(&mut self, line: i64, spec: &GhbSpec) -> Vec<i64> {
            let zone = line >> LINE_BITS;
            let place = self.zones.iter().position(|(known, _)| *known == zone);
            let generation = if let Some(place) = place {
                self.zones.remove(place).1
            } else {
                self.generations += 1;
                self.generations
            };
            let kept = self.seen.len().saturating_sub(spec.history as usize);
            let of_zone = |from: usize, seen: &[(i64, u32, i64)]| {
                let mine = seen[from..].iter().rev();
                let mine = mine.filter(|(z, g, _)| (*z, *g) == (zone, generation));
                mine.map(|(_, _, line)| *line).collect::<Vec<_>>()
            };
            self.zones.push((zone, generation));
            if of_zone(kept, &self.seen).first() == Some(&line) {
                return Vec::new();
            }
            if self.zones.len() > spec.index as usize {
                self.zones.remove(0);
            }
            self.seen.push((zone, generation, line));
            let kept = self.seen.len().saturating_sub(spec.history as usize);
            let lines = of_zone(kept, &self.seen);
            let near = |pair: &&[i64]| (pair[0] - pair[1]).abs() <= DIFFERENCE_MAX;
            let mut differences: Vec<_> = lines
                .windows(2)
                .take_while(near)
                .map(|pair| pair[0] - pair[1])
                .collect();
            differences.reverse();
            let count = differences.len();
            if count < 3 {
                return Vec::new();
            }
            let (one, two) = (differences[count - 2], differences[count - 1]);
            let follow = if one == two {
                vec![two]
            } else {
                let pairs = 0..count - 2;
                let earlier = |at: &usize| differences[*at] == one && differences[at + 1] == two;
                let Some(at) = pairs.rev().find(earlier) else {
                    return Vec::new();
                };
                differences[at + 2..].to_vec()
            };
            let mut at = line;
            let rounds = follow.iter().cycle().take(spec.degree as usize);
            rounds
                .map(|difference| {
                    at += difference;
                    at
                })
                .collect()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn the_history_sends_what_a_search_through_all_lines_sends(
            steps in prop::collection::vec((0usize..3, 0usize..6), 1..150),
            (history, index, degree) in (1u32..40, 1u32..5, 0u32..5),
        ) {
            let spec = GhbSpec { history, index, degree, ..GhbSpec::default() };
            let mut at = [1000, 1040, 2000];
            let lines: Vec<_> = steps.iter().map(|(stream, step)| {
                at[*stream] += [0, 1, 1, 3, -2, 120][*step];
                at[*stream]
            }).collect();
            let mut naive = Naive::default();
            let expected: Vec<_> = lines.iter().map(|line| naive.train(*line, &spec)).collect();
            prop_assert_eq!(sent(spec, &lines), expected);
        }
    }
}
