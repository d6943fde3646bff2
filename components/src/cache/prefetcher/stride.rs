//! Stride prefetcher with an entry per region of memory (a reference prediction table).
//!
//! An entry learns the difference between consecutive lines of its region. Its pattern is one
//! stride, or two runs of strides with a leap from each to the other. Once the pattern has repeated
//! often enough, each access that continues it fetches the lines that would follow. One that breaks
//! it begins anew.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::training::{RegionKey, Trainer, Training};
use super::{PrefetchContext, Prefetcher, Prefetching};
use crate::cache::policy::TagLookup;

/// Specification of the [`Stride`] prefetcher: its table and when an entry is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StrideSpec {
    /// Regions remembered, 1 to 65536; the least recently used one is replaced. Source: 1024 in the
    /// graph thesis.
    pub entries: u32,
    /// Binary logarithm of a region's bytes, 0 to 40; at least a line. Source: 16 in the graph
    /// thesis.
    pub region_bits: u32,
    /// Equal differences in a row that train a single stride, 1 to 1000. Source: as in MacSim.
    pub single: u32,
    /// Confirmed steps that train a pattern of two strides, 1 to 1000. Source: as in MacSim.
    pub multi: u32,
    /// Patterns that an entry learns. Source: as in MacSim.
    pub mode: StrideMode,
    /// Lines fetched for each access that continues a pattern, 0 to 64. Source: as in MacSim.
    pub degree: u32,
    /// Maximum number of steps fetched ahead of the accesses, 0 to 1024. Source: as in MacSim.
    pub ahead_max: u32,
    /// Steps from the first access after training to the first fetched line, 0 to 64. Source: as in
    /// MacSim.
    pub start: u32,
    /// True if every wavefront has entries of its own. Source: false in MacSim; the graph thesis
    /// names both.
    pub by_wavefront: bool,
}

/// Patterns that a stride prefetcher learns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StrideMode {
    /// One stride; another difference replaces it.
    Single,
    /// One stride, or two runs of strides in turn.
    #[default]
    Multi,
}

impl Default for StrideSpec {
    fn default() -> Self {
        Self {
            entries: 1024,
            region_bits: 16,
            single: 6,
            multi: 6,
            mode: StrideMode::Multi,
            degree: 4,
            ahead_max: 16,
            start: 1,
            by_wavefront: false,
        }
    }
}

/// A run of equal differences, and the difference that ends it; a stride of 0 is not known yet.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Run {
    stride: i64,
    length: u32,
    leap: i64,
}

/// Place within a pattern of two runs.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Place {
    run: usize,
    strides: u32,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Phase {
    /// Counts the differences of this run.
    Counting {
        run: usize,
    },
    /// Compares differences with a pattern of two runs, so many of which agreed.
    Checking {
        at: Place,
        agreed: u32,
    },
    Trained(Trained),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Trained {
    is_single: bool,
    at: Place,
    /// Last line fetched and its place in the pattern.
    line: i64,
    ahead: Place,
    /// Steps fetched ahead of the accesses.
    sent: u32,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Entry {
    used: u64,
    last: i64,
    runs: [Run; 2],
    phase: Phase,
}

const ANEW: ([Run; 2], Phase) = (
    [Run {
        stride: 0,
        length: 0,
        leap: 0,
    }; 2],
    Phase::Counting { run: 0 },
);

impl Place {
    /// Moves one step on in the pattern of `runs`, or in the first run alone. Returns the step.
    fn step(&mut self, runs: &[Run; 2], is_single: bool) -> i64 {
        let run = &runs[self.run];
        if is_single {
            return run.stride;
        }
        if self.strides < run.length {
            self.strides += 1;
            return run.stride;
        }
        *self = Self {
            run: 1 - self.run,
            strides: 0,
        };
        run.leap
    }
}

impl Entry {
    fn new(line: i64) -> Self {
        let (runs, phase) = ANEW;
        Self {
            used: 0,
            last: line,
            runs,
            phase,
        }
    }

    /// Learns of the next line of the region; `send` takes the lines to fetch.
    fn train(&mut self, line: i64, spec: &StrideSpec, send: &mut dyn FnMut(i64)) {
        let difference = line.wrapping_sub(self.last);
        self.last = line;
        match self.phase {
            Phase::Counting { run } => self.count(run, difference, spec),
            Phase::Checking { mut at, agreed } => {
                if at.step(&self.runs, false) != difference {
                    (self.runs, self.phase) = ANEW;
                } else if agreed + 1 == spec.multi {
                    self.start(at, false, spec);
                } else {
                    let agreed = agreed + 1;
                    self.phase = Phase::Checking { at, agreed };
                }
            }
            Phase::Trained(mut trained) => {
                if trained.at.step(&self.runs, trained.is_single) != difference {
                    (self.runs, self.phase) = ANEW;
                    return;
                }
                trained.sent = trained.sent.saturating_sub(1);
                for _ in 0..spec.degree {
                    if trained.sent >= spec.ahead_max {
                        break;
                    }
                    let step = trained.ahead.step(&self.runs, trained.is_single);
                    trained.line = trained.line.wrapping_add(step);
                    trained.sent += 1;
                    send(trained.line);
                }
                self.phase = Phase::Trained(trained);
            }
        }
    }

    fn count(&mut self, number: usize, difference: i64, spec: &StrideSpec) {
        let run = &mut self.runs[number];
        if run.stride == 0 {
            run.stride = difference;
            run.length = u32::from(difference != 0);
        } else if run.stride == difference {
            run.length += 1;
        } else if spec.mode == StrideMode::Single {
            run.stride = difference;
            run.length = u32::from(difference != 0);
        } else {
            run.leap = difference;
            self.phase = if number == 0 {
                Phase::Counting { run: 1 }
            } else {
                let at = Place::default();
                Phase::Checking { at, agreed: 0 }
            };
            return;
        }
        if number == 0 && self.runs[0].length >= spec.single {
            self.start(Place::default(), true, spec);
        }
    }

    /// Ends training at the last line.
    fn start(&mut self, at: Place, is_single: bool, spec: &StrideSpec) {
        let (mut line, mut ahead) = (self.last, at);
        for _ in 0..spec.start {
            line = line.wrapping_add(ahead.step(&self.runs, is_single));
        }
        self.phase = Phase::Trained(Trained {
            is_single,
            at,
            line,
            ahead,
            sent: 0,
        });
    }
}

#[derive(State)]
struct StrideTable {
    #[state(skip)]
    spec: StrideSpec,
    #[state(skip)]
    line_bits: u32,
    entries: BTreeMap<RegionKey, Entry>,
    accesses: u64,
}

impl StrideTable {
    fn new(spec: StrideSpec, line_bits: u32) -> Self {
        Self {
            spec,
            line_bits,
            entries: BTreeMap::new(),
            accesses: 0,
        }
    }

    fn train(&mut self, training: &Training, send: &mut dyn FnMut(i64)) {
        let key = training.key(self.line_bits);
        self.accesses += 1;
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.used = self.accesses;
            entry.train(training.line, &self.spec, send);
        } else if training.enters {
            if self.entries.len() >= self.spec.entries as usize {
                let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
                if let Some(key) = oldest.map(|(key, _)| *key) {
                    self.entries.remove(&key);
                }
            }
            let mut entry = Entry::new(training.line);
            entry.used = self.accesses;
            self.entries.insert(key, entry);
        }
    }
}

/// Prefetcher described at the top of the file.
#[derive(State, Statistics)]
pub struct Stride {
    #[state(skip)]
    trainer: Trainer,
    #[state(flatten)]
    table: StrideTable,
}

impl PolicyKind for Stride {
    type Role = Prefetching;
    const NAME: &'static str = "Stride";
    const SUMMARY: &'static str = "Prefetches along the strides of each region of memory";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "Stride(degree: 0)",
        like: "",
    });
    type Spec = StrideSpec;

    fn build(
        spec: StrideSpec,
        context: &PolicyContext<'_, Prefetching>,
    ) -> Result<Box<dyn Prefetcher>, SpecError> {
        SpecError::in_range("entries", spec.entries, 1..=1 << 16)?;
        SpecError::in_range("region_bits", spec.region_bits, 0..=40)?;
        SpecError::in_range("single", spec.single, 1..=1000)?;
        SpecError::in_range("multi", spec.multi, 1..=1000)?;
        SpecError::in_range("degree", spec.degree, 0..=64)?;
        SpecError::in_range("ahead_max", spec.ahead_max, 0..=1024)?;
        SpecError::in_range("start", spec.start, 0..=64)?;
        let trainer = Trainer::new(*context.site, spec.by_wavefront);
        let line_bits = trainer.line_bits(spec.region_bits);
        Ok(Box::new(Self {
            trainer,
            table: StrideTable::new(spec, line_bits),
        }))
    }
}

impl Prefetcher for Stride {
    fn on_access(&mut self, access: &TagLookup<'_>, hit: bool, context: &mut PrefetchContext<'_>) {
        self.trainer.train(access, hit, context, |training, send| {
            self.table.train(training, send);
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cache::prefetcher::training::sent_by;

    /// Bits of a region of 64 KiB in lines of 128 bytes.
    const LINE_BITS: u32 = 9;

    fn sent(spec: StrideSpec, lines: &[i64]) -> Vec<Vec<i64>> {
        let mut table = StrideTable::new(spec, LINE_BITS);
        sent_by(lines, |training, send| table.train(training, send))
    }

    fn single() -> StrideSpec {
        StrideSpec {
            mode: StrideMode::Single,
            ..StrideSpec::default()
        }
    }

    #[test]
    fn one_stride_is_followed_after_six_equal_differences() {
        let up: Vec<_> = (0..9).collect();
        for spec in [StrideSpec::default(), single()] {
            let sent = sent(spec, &up);
            assert!(sent[..7].iter().all(Vec::is_empty));
            assert_eq!(sent[7..], [vec![8, 9, 10, 11], vec![12, 13, 14, 15]]);
        }
        let down: Vec<_> = (0..8).map(|step| 60 - 3 * step).collect();
        assert_eq!(sent(single(), &down)[7], [36, 33, 30, 27]);
    }

    #[test]
    fn no_more_steps_than_allowed_are_ahead_of_the_accesses() {
        let up: Vec<_> = (0..40).collect();
        let sent = sent(StrideSpec::default(), &up);
        for (at, lines) in sent.iter().enumerate().skip(7) {
            assert!(lines.iter().all(|line| *line <= at as i64 + 16), "{at}");
        }
        assert_eq!(sent[39], [55]);
    }

    #[test]
    fn two_strides_in_turn_are_followed() {
        let mut lines = vec![0];
        for step in 0..11 {
            lines.push(lines[step] + [1, 5][step % 2]);
        }
        let sent = sent(StrideSpec::default(), &lines);
        assert!(sent[..11].iter().all(Vec::is_empty));
        assert_eq!((lines[11], &sent[11]), (31, &vec![36, 37, 42, 43]));
    }

    #[test]
    fn a_line_that_is_read_again_is_a_step_only_between_two_strides() {
        let still = [5; 40];
        assert!(
            sent(StrideSpec::default(), &still)
                .iter()
                .all(Vec::is_empty)
        );
        let pairs: Vec<_> = (0..20).map(|access| access / 2).collect();
        assert!(sent(single(), &pairs).iter().all(Vec::is_empty));
        let sent = sent(StrideSpec::default(), &pairs);
        assert!(sent[..12].iter().all(Vec::is_empty));
        assert!(!sent[12].is_empty());
    }

    #[test]
    fn the_region_used_longest_ago_makes_room_and_a_hit_below_enters_none() {
        let spec = StrideSpec {
            entries: 2,
            ..single()
        };
        let mut table = StrideTable::new(spec, LINE_BITS);
        sent_by(&[0, 512, 0, 1024], |training, send| {
            table.train(training, send);
        });
        let lines: Vec<_> = table.entries.values().map(|entry| entry.last).collect();
        assert_eq!(lines, [0, 1024]);
        sent_by(&[2048], |training, send| {
            let hit = Training {
                enters: false,
                ..*training
            };
            table.train(&hit, send);
        });
        assert_eq!(table.entries.len(), 2);
    }

    /// Reference that keeps every difference of a region since the last break and reads the
    /// pattern from them as a whole.
    #[derive(Default)]
    struct Naive {
        /// By region, the one used last at the end: its lines since the last break, and those sent.
        regions: Vec<(i64, Vec<i64>, Vec<i64>)>,
    }

    /// Differences before training is over, and the ones to repeat from then on.
    fn pattern(differences: &[i64], spec: &StrideSpec) -> Option<(usize, Vec<i64>)> {
        let first = differences.iter().position(|d| *d != 0)?;
        let run = |from: usize| {
            let rest = &differences[from..];
            rest.iter().take_while(|d| **d == rest[0]).count()
        };
        let (needs, length) = (spec.single as usize, run(first));
        if length >= needs {
            return Some((first + needs, vec![differences[first]]));
        }
        if spec.mode == StrideMode::Single {
            let trained = |from: &usize| differences[*from] != 0 && run(*from) >= needs;
            let from = (first..differences.len()).find(trained)?;
            return Some((from + needs, vec![differences[from]]));
        }
        let leap = first + length;
        let second = leap + 1 + differences.get(leap + 1..)?.iter().position(|d| *d != 0)?;
        let end = second + run(second);
        differences.get(end)?;
        let cycle = [&differences[first..=leap], &differences[second..=end]].concat();
        Some((end + 1 + spec.multi as usize, cycle))
    }

    impl Naive {
        fn train(&mut self, line: i64, spec: &StrideSpec) -> Vec<i64> {
            let region = line >> LINE_BITS;
            let Some(known) = self.regions.iter().position(|(known, ..)| *known == region) else {
                if self.regions.len() == spec.entries as usize {
                    self.regions.remove(0);
                }
                self.regions.push((region, vec![line], Vec::new()));
                return Vec::new();
            };
            let (_, mut lines, mut sent) = self.regions.remove(known);
            lines.push(line);
            let differences: Vec<_> = lines.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let mut now = Vec::new();
            if let Some((trained, cycle)) = pattern(&differences, spec) {
                let is_single = cycle.len() == 1;
                let checked = if is_single {
                    trained
                } else {
                    trained - spec.multi as usize
                };
                let rest = differences.get(checked..).unwrap_or_default();
                let agrees = rest.iter().zip(cycle.iter().cycle()).all(|(d, of)| d == of);
                if !agrees {
                    self.regions.push((region, vec![line], Vec::new()));
                    return now;
                }
                if differences.len() > trained {
                    let place = trained - checked;
                    let steps: Vec<_> = cycle.iter().cycle().skip(place).take(4000).collect();
                    let at =
                        |step: usize| lines[trained] + steps[..step].iter().copied().sum::<i64>();
                    let continued = differences.len() - trained;
                    let mut ahead = sent.first().copied().unwrap_or(0);
                    let mut total = sent.get(1).copied().unwrap_or(0);
                    ahead = (ahead - 1).max(0);
                    for _ in 0..spec.degree {
                        if ahead < i64::from(spec.ahead_max) {
                            ahead += 1;
                            total += 1;
                            now.push(at(spec.start as usize + total as usize));
                        }
                    }
                    assert!(continued > 0);
                    sent = vec![ahead, total];
                }
            }
            self.regions.push((region, lines, sent));
            now
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn the_table_sends_what_a_reading_of_all_differences_sends(
            steps in prop::collection::vec(0usize..4, 1..8),
            noise in prop::collection::vec((0usize..400, -2i64..3), 0..6),
            (single, multi, degree, start) in (1u32..5, 1u32..6, 0u32..4, 0u32..3),
            (ahead_max, entries, is_single) in (0u32..9, 1u32..3, any::<bool>()),
        ) {
            let mode = if is_single { StrideMode::Single } else { StrideMode::Multi };
            let spec = StrideSpec { entries, single, multi, mode, degree, ahead_max, start, ..StrideSpec::default() };
            let mut line = 5000;
            let lines: Vec<_> = (0..200).map(|access| {
                line += [0, 1, 4, -2][steps[access % steps.len()]];
                line += noise.iter().filter(|(at, _)| *at == access).map(|(_, by)| by * 300).sum::<i64>();
                line
            }).collect();
            let mut naive = Naive::default();
            let expected: Vec<_> = lines.iter().map(|line| naive.train(*line, &spec)).collect();
            prop_assert_eq!(sent(spec, &lines), expected);
        }
    }
}
