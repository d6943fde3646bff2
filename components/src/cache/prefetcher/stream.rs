//! Stream prefetcher: follows accesses that move through memory in one direction.
//!
//! A line that belongs to no stream begins one. Further lines near it train it and give its
//! direction. A trained stream is a window of lines. An access within it fetches the lines
//! beyond its end, which the window then includes.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::training::{Trainer, Training};
use super::{PrefetchContext, Prefetcher, Prefetching};
use crate::cache::policy::TagLookup;

/// Specification of the [`Stream`] prefetcher: its streams and how far they reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StreamSpec {
    /// Streams followed, 1 to 4096; the least recently used one is replaced. Source: 512 in the
    /// graph thesis.
    pub entries: u32,
    /// Lines around the first line of a stream that train it, 1 to 4096. Source: own choice.
    pub train_lines: u32,
    /// Accesses after the first one that train a stream, 1 to 1000. Source: own choice.
    pub train_hits: u32,
    /// Lines from the access that trains a stream to the end of its first window, 0 to 1024.
    /// Source: own choice.
    pub start: u32,
    /// Lines fetched for each access in a window, 0 to 64. Source: own choice.
    pub lines: u32,
    /// Maximum length of a window in lines, 1 to 65536; the start of a longer one follows its end.
    /// Source: own choice.
    pub length: u32,
    /// Number of the last lines that do not train again, 0 to 1024. Source: own choice.
    pub filter: u32,
    /// True if every wavefront has streams of its own. Source: false in MacSim; the graph thesis
    /// names both.
    pub by_wavefront: bool,
}

impl Default for StreamSpec {
    fn default() -> Self {
        Self {
            entries: 512,
            train_lines: 16,
            train_hits: 2,
            start: 4,
            lines: 2,
            length: 64,
            filter: 16,
            by_wavefront: false,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Window {
    wavefront: u32,
    /// First line, at which an access does nothing.
    start: i64,
    /// Last line; that of the start in training.
    end: i64,
    hits: u32,
    /// Direction, 1 or -1; 0 in training.
    direction: i64,
}

impl Window {
    fn covers(&self, line: i64) -> bool {
        (self.start.min(self.end)..=self.start.max(self.end)).contains(&line)
    }

    fn takes(&self, training: &Training, spec: &StreamSpec) -> bool {
        self.wavefront == training.wavefront
            && if self.direction == 0 {
                self.start.abs_diff(training.line) <= u64::from(spec.train_lines)
            } else {
                self.covers(training.line)
            }
    }
}

/// Streams, the most recently used first.
#[derive(State)]
struct StreamTable {
    #[state(skip)]
    spec: StreamSpec,
    windows: VecDeque<Window>,
    /// Last lines that trained, with their wavefronts, the latest at the end.
    trained: VecDeque<(u32, i64)>,
}

impl StreamTable {
    fn new(spec: StreamSpec) -> Self {
        Self {
            spec,
            windows: VecDeque::new(),
            trained: VecDeque::new(),
        }
    }

    fn train(&mut self, training: &Training, send: &mut dyn FnMut(i64)) {
        let spec = self.spec;
        if self.is_filtered(training) {
            return;
        }
        let found = self.windows.iter().position(|w| w.takes(training, &spec));
        let Some(mut window) = found.and_then(|found| self.windows.remove(found)) else {
            self.enter(training);
            return;
        };
        let line = training.line;
        if line != window.start && window.direction == 0 {
            window.hits += 1;
            if window.hits >= spec.train_hits {
                window.direction = (line - window.start).signum();
                window.end = line + window.direction * i64::from(spec.start);
            }
        }
        if line != window.start && window.direction != 0 {
            for _ in 0..spec.lines {
                window.end += window.direction;
                send(window.end);
            }
            let length = i64::from(spec.length);
            if window.end.abs_diff(window.start) > length as u64 {
                window.start = window.end - window.direction * length;
            }
            let wavefront = window.wavefront;
            self.windows.retain(|other| {
                other.wavefront != wavefront
                    || !window.covers(other.start) && !window.covers(other.end)
            });
        }
        self.windows.push_front(window);
    }

    /// Notes a line that trains. Returns true if it did so lately.
    fn is_filtered(&mut self, training: &Training) -> bool {
        let access = (training.wavefront, training.line);
        if self.trained.contains(&access) {
            return true;
        }
        self.trained.push_back(access);
        if self.trained.len() > self.spec.filter as usize {
            self.trained.pop_front();
        }
        false
    }

    fn enter(&mut self, training: &Training) {
        if !training.enters {
            return;
        }
        self.windows.truncate(self.spec.entries as usize - 1);
        self.windows.push_front(Window {
            wavefront: training.wavefront,
            start: training.line,
            end: training.line,
            hits: 0,
            direction: 0,
        });
    }
}

/// Prefetcher described at the top of the file.
#[derive(State, Statistics)]
pub struct Stream {
    #[state(skip)]
    trainer: Trainer,
    #[state(flatten)]
    table: StreamTable,
}

impl PolicyKind for Stream {
    type Role = Prefetching;
    const NAME: &'static str = "Stream";
    const SUMMARY: &'static str = "Prefetches ahead of accesses that move in one direction";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "Stream(lines: 0)",
        like: "",
    });
    type Spec = StreamSpec;

    fn build(
        spec: StreamSpec,
        context: &PolicyContext<'_, Prefetching>,
    ) -> Result<Box<dyn Prefetcher>, SpecError> {
        SpecError::in_range("entries", spec.entries, 1..=4096)?;
        SpecError::in_range("train_lines", spec.train_lines, 1..=4096)?;
        SpecError::in_range("train_hits", spec.train_hits, 1..=1000)?;
        SpecError::in_range("start", spec.start, 0..=1024)?;
        SpecError::in_range("lines", spec.lines, 0..=64)?;
        SpecError::in_range("length", spec.length, 1..=1 << 16)?;
        SpecError::in_range("filter", spec.filter, 0..=1024)?;
        Ok(Box::new(Self {
            trainer: Trainer::new(*context.site, spec.by_wavefront),
            table: StreamTable::new(spec),
        }))
    }
}

impl Prefetcher for Stream {
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

    fn sent(spec: StreamSpec, lines: &[i64]) -> Vec<Vec<i64>> {
        let mut table = StreamTable::new(spec);
        sent_by(lines, |training, send| table.train(training, send))
    }

    #[test]
    fn the_third_access_gives_the_direction_and_sends() {
        let up = sent(StreamSpec::default(), &[0, 1, 2, 3]);
        assert_eq!(up, [vec![], vec![], vec![7, 8], vec![9, 10]]);
        let down = sent(StreamSpec::default(), &[50, 49, 48]);
        assert_eq!(down, [vec![], vec![], vec![43, 42]]);
    }

    #[test]
    fn lines_too_far_apart_belong_to_no_stream() {
        let far: Vec<_> = (0..50).map(|access| 17 * access).collect();
        let sent = sent(StreamSpec::default(), &far);
        assert!(sent.iter().all(Vec::is_empty));
    }

    #[test]
    fn a_line_read_again_soon_trains_once() {
        let twice = sent(StreamSpec::default(), &[0, 0, 1, 1, 2, 2]);
        let once = [vec![], vec![], vec![], vec![], vec![7, 8], vec![]];
        assert_eq!(twice, once);
    }

    #[test]
    fn a_long_window_follows_its_end_and_swallows_others() {
        let mut table = StreamTable::new(StreamSpec::default());
        let mut lines = vec![90, 200];
        lines.extend(0..60);
        sent_by(&lines, |training, send| table.train(training, send));
        let windows: Vec<_> = table.windows.iter().map(|w| (w.start, w.end)).collect();
        assert_eq!(windows, [(58, 122), (200, 200)]);
    }

    /// Reference with a list of streams in the order of their last use and plain ranges.
    #[derive(Default)]
    struct Naive {
        /// Line at which it began, lines covered, direction, accesses that trained.
        streams: Vec<(Vec<i64>, i64, u32)>,
        history: Vec<i64>,
    }

    impl Naive {
        fn train(&mut self, line: i64, spec: &StreamSpec) -> Vec<i64> {
            let lately = self.history.iter().rev().take(spec.filter as usize);
            if lately.into_iter().any(|known| *known == line) {
                return Vec::new();
            }
            self.history.push(line);
            let near = i64::from(spec.train_lines);
            let takes = |(lines, direction, _): &(Vec<i64>, i64, u32)| {
                if *direction == 0 {
                    (lines[0] - line).abs() <= near
                } else {
                    lines.contains(&line)
                }
            };
            let Some(found) = self.streams.iter().rposition(takes) else {
                if self.streams.len() == spec.entries as usize {
                    self.streams.remove(0);
                }
                self.streams.push((vec![line], 0, 0));
                return Vec::new();
            };
            let (mut lines, mut direction, mut hits) = self.streams.remove(found);
            let mut sent = Vec::new();
            if line != lines[0] {
                hits += 1;
                if direction == 0 && hits == spec.train_hits {
                    direction = if line > lines[0] { 1 } else { -1 };
                    while lines[lines.len() - 1] != line + direction * i64::from(spec.start) {
                        lines.push(lines[lines.len() - 1] + direction);
                    }
                }
                if direction != 0 {
                    for _ in 0..spec.lines {
                        lines.push(lines[lines.len() - 1] + direction);
                        sent.push(lines[lines.len() - 1]);
                    }
                    while lines.len() > spec.length as usize + 1 {
                        lines.remove(0);
                    }
                    self.streams.retain(|(other, ..)| {
                        !lines.contains(&other[0]) && !lines.contains(&other[other.len() - 1])
                    });
                }
            }
            self.streams.push((lines, direction, hits));
            sent
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn the_table_sends_what_plain_lists_of_lines_send(
            steps in prop::collection::vec((0usize..3, -3i64..6), 1..150),
            (entries, train_lines, train_hits, start) in (1u32..5, 1u32..9, 1u32..4, 0u32..5),
            (lines, length, filter) in (0u32..4, 1u32..20, 0u32..4),
        ) {
            let spec = StreamSpec {
                entries, train_lines, train_hits, start, lines, length, filter, by_wavefront: false,
            };
            let mut at = [1000, 1040, 2000];
            let lines: Vec<_> = steps.iter().map(|(stream, step)| {
                at[*stream] += step;
                at[*stream]
            }).collect();
            let mut naive = Naive::default();
            let expected: Vec<_> = lines.iter().map(|line| naive.train(*line, &spec)).collect();
            prop_assert_eq!(sent(spec, &lines), expected);
        }
    }
}
