//! The coordinator, which derives the next window, or the end, from the partitions' results of the
//! last window.
//!
//! It runs between windows, while no partition is evaluated. It uses only simulated time and the
//! partitions' records, so its decisions are the same for any number of threads.
//!
//! ```text
//!   partitions at rest, woken across cuts ─► count obligations, find failures ─► window or end
//!        ▲                                                                          │
//!        └────────────────── each evaluates everything before the window's end ◄────┘
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::engine::parallel::cut_channel::CutChannel;
use crate::engine::parallel::found::{Cells, Found, earlier};
use crate::engine::parallel::thread_governor::ThreadGovernor;
use crate::engine::partition::{Background, Window};
use crate::evaluation::{Failure, Sink};
use crate::observe::ProbeSink;
use crate::time::{TICK_MAX, Tick};

/// Step just completed in a run on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStep {
    /// The first window has been decided on.
    Begun,
    /// The partition with this number has run its window.
    Partition(usize),
    /// The next window has been decided on.
    Decided,
    /// The coordinator has decided that no window follows.
    Ended,
}

/// Number of windows that all threads of a run worked on together, and that one worked on alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowsWorked {
    /// Windows on which every thread of the run worked.
    pub together: u64,
    /// Windows of one thread, also in runs that have no other.
    pub alone: u64,
}

/// Callback after each step; see [`Coordinator::observer`].
pub(crate) type Observer = Box<dyn FnMut(RunStep) + Send>;

/// State of the coordinator that persists between windows and runs.
pub(crate) struct Coordinator {
    pub(crate) cuts: Arc<[CutChannel]>,
    /// Maximum length of a window in ticks: the shortest latency across a cut.
    pub(crate) lookahead: u64,
    /// Ticks from the event that decides the end of a run to the end, that tick included.
    pub(crate) stop_delay: u64,
    /// Number of obligations taken and not yet discharged.
    pub(crate) obligations: u64,
    /// Tick of the last progress; see [`crate::evaluation::Shared`].
    pub(crate) last_progress: Tick,
    pub(crate) stop: Option<Stop>,
    /// True if a component requested a pause in the last window.
    pause: bool,
    /// Listener for merged instrumentation events, used with several partitions.
    pub(crate) sink: Option<Box<dyn ProbeSink>>,
    pub(crate) sleeping: bool,
    /// Callback after each step of a run on one thread.
    pub(crate) observer: Option<Observer>,
    /// Number of windows opened so far; a measure of work, not a result.
    pub(crate) windows: u64,
    /// Windows by the threads that worked on them; the pace of the host decides.
    pub(crate) worked: WindowsWorked,
    /// Window that the partitions run next.
    pub(crate) window: Window,
    /// True if what threads found in the last window covers all partitions.
    told: bool,
    /// Mode in which the threads of a run work.
    pub(crate) governor: ThreadGovernor,
}

/// A decided end of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stop {
    /// Last tick that the run evaluates.
    last: u64,
    failure: Option<Failure>,
}

/// Limits that end a single run.
pub(crate) struct Limits<'a> {
    pub(crate) until: u64,
    pub(crate) silence: Option<u64>,
    pub(crate) interrupt: Option<&'a AtomicBool>,
    pub(crate) background: Background,
}

/// Reason for which the windows of a run ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// Nothing is left to evaluate in any partition.
    Silent,
    /// Every obligation has been discharged by its holder.
    Done,
    Failed(String),
    Limit,
    Livelock,
    Interrupted,
    Paused,
}

impl Coordinator {
    pub(crate) fn new(stop_delay: u64) -> Self {
        Self {
            cuts: Arc::default(),
            lookahead: u64::MAX,
            stop_delay,
            obligations: 0,
            last_progress: Tick(0),
            stop: None,
            pause: false,
            sink: None,
            sleeping: true,
            observer: None,
            windows: 0,
            worked: WindowsWorked::default(),
            window: Window::none(),
            told: false,
            governor: ThreadGovernor::new(),
        }
    }

    /// Prepares the coordinator for a new run.
    pub(crate) fn begin(&mut self) {
        self.told = false;
        self.pause = false;
    }

    #[inline]
    pub(crate) fn observe(&mut self, step: RunStep) {
        if let Some(observer) = &mut self.observer {
            observer(step);
        }
    }

    /// Opens the next window, or returns the reason for the end of the run. Called between windows
    /// by one thread, with what the partitions found, when the wake-ups across cuts are arranged.
    pub(super) fn advance(
        &mut self,
        cells: &Cells<'_>,
        mut found: Found,
        limits: &Limits<'_>,
    ) -> Option<RunEnd> {
        if !self.told {
            found = Found::at(cells, self.sleeping);
        }
        if cells.len() > 1 && found.held && self.resume_held(cells, found.alive) {
            return None;
        }
        self.last_progress = self.last_progress.max(found.last_progress);
        if found.may_end {
            self.absorb(cells);
        }
        self.merge_events(cells);
        self.open(cells.len() == 1, limits, &found)
    }

    /// A partition stops at background work if it knows of no foreground work. That work is due if
    /// others have foreground work at or after it. Returns true if any partition continues within
    /// the same window.
    #[cold]
    fn resume_held(&mut self, cells: &Cells<'_>, alive: Tick) -> bool {
        let mut resumed = false;
        for cell in cells {
            let mut partition = cell.lock();
            partition.turn = partition.held.is_some_and(|held| alive >= held);
            resumed |= partition.turn;
        }
        self.told = false;
        if resumed {
            self.window.alive = Some(alive);
            self.window.resumed = true;
            self.window.number += 1;
        }
        resumed
    }

    /// Takes over the partitions' records of the window that may end the run.
    #[cold]
    fn absorb(&mut self, cells: &Cells<'_>) {
        let mut changes = Vec::new();
        let mut failures = Vec::new();
        let mut stopped = None;
        for cell in cells {
            let mut partition = cell.lock();
            changes.append(&mut partition.shared.obligations);
            failures.append(&mut partition.shared.failures);
            if let Some(wish) = partition.shared.wish.take() {
                stopped = stopped.or(wish.end);
                self.pause |= wish.pause;
            }
        }
        let discharged = self.count_obligations(changes);
        let done = discharged.into_iter().chain(stopped).min();
        if let (Some(tick), None) = (done, &self.stop) {
            self.stop = Some(self.stop_after(tick, None));
        }
        if let Some(failure) = failures.into_iter().min() {
            let after = self.stop_after(failure.tick, Some(failure));
            match &mut self.stop {
                // The stop was decided before; a failure on the way to it is not kept back.
                Some(stop) if stop.last < after.last => {
                    stop.failure = stop.failure.take().or(after.failure);
                }
                stop => *stop = Some(after),
            }
        }
    }

    fn stop_after(&self, tick: Tick, failure: Option<Failure>) -> Stop {
        Stop {
            last: tick.0.saturating_add(self.stop_delay - 1),
            failure,
        }
    }

    /// Adds up the changes; returns the first tick at whose end no obligation was left.
    fn count_obligations(&mut self, mut changes: Vec<(Tick, i64)>) -> Option<Tick> {
        changes.sort_by_key(|(tick, _)| *tick);
        let mut done = None;
        for (i, (tick, by)) in changes.iter().enumerate() {
            self.obligations = self.obligations.wrapping_add_signed(*by);
            if changes.get(i + 1).is_some_and(|(next, _)| next == tick) {
                continue;
            }
            assert!(
                i64::try_from(self.obligations).is_ok(),
                "an obligation is discharged only once"
            );
            if self.obligations == 0 {
                done = done.or(Some(*tick));
            }
        }
        done
    }

    /// Forwards buffered instrumentation events in the order in which a single partition would emit
    /// them.
    fn merge_events(&mut self, cells: &Cells<'_>) {
        let Some(sink) = &mut self.sink else {
            return;
        };
        let mut all = Vec::new();
        for cell in cells {
            if let Some(Sink::Buffer(events)) = &mut cell.lock().shared.sink {
                all.append(events);
            }
        }
        // Stable: the events of one component stay in their order.
        all.sort_by_key(|(tick, domain, component, _)| (*tick, *domain, *component));
        for (tick, _, component, probe) in &all {
            sink.record(*tick, *component, probe);
        }
    }

    /// Decides on the next window or the end.
    fn open(&mut self, alone: bool, limits: &Limits<'_>, found: &Found) -> Option<RunEnd> {
        let ending = self.stop.is_some();
        let mut next = found.first;
        // Background work before foreground work fires on the way to it.
        if limits.background == Background::Counts || next.is_some() {
            next = earlier(next, found.background);
        }
        let Some(mut start) = next else {
            return Some(self.finish().unwrap_or(RunEnd::Silent));
        };
        if !self.sleeping && !ending {
            start = found.any_edge.unwrap_or(start).min(start);
        }
        if let Some(stop) = &self.stop
            && start.0 > stop.last
        {
            return self.finish();
        }
        // Before the limit, up to which time would pass at once where nothing is due before it.
        if self.pause {
            return Some(RunEnd::Paused);
        }
        let silence = limits.silence.filter(|_| !ending).unwrap_or(u64::MAX);
        let patience = self.last_progress.0.saturating_add(silence);
        if start.0 > limits.until.min(patience) {
            // A failure is reported at once; completing its delay is not worth another run.
            let failed = self.stop.as_ref().is_some_and(|s| s.failure.is_some());
            let end = if patience < limits.until {
                RunEnd::Livelock
            } else {
                RunEnd::Limit
            };
            return if failed { self.finish() } else { Some(end) };
        }
        let interrupted = limits.interrupt.is_some_and(|i| i.load(Ordering::Relaxed));
        if interrupted {
            return Some(RunEnd::Interrupted);
        }
        let mut end = limits.until.min(TICK_MAX) + 1;
        if let Some(stop) = &self.stop {
            end = end.min(stop.last.saturating_add(1));
        }
        if !alone {
            let longest = if self.sleeping || ending {
                self.lookahead.min(self.stop_delay)
            } else {
                1
            };
            // No partition passes the tick at which patience ends unless there was progress before
            // it.
            end = end
                .min(start.0.saturating_add(longest))
                .min(patience.saturating_add(1));
        }
        self.windows += 1;
        self.told = true;
        self.window = Window {
            number: self.window.number + 1,
            resumed: false,
            end,
            alive: found.latest,
            silence,
            background: limits.background,
            ending,
        };
        None
    }

    /// Ends the run if its end was decided.
    fn finish(&mut self) -> Option<RunEnd> {
        let stop = self.stop.take()?;
        Some(match stop.failure {
            Some(failure) => RunEnd::Failed(failure.message),
            None => RunEnd::Done,
        })
    }
}
