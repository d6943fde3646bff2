//! When each kernel of a run was launched, started and completed: a resource that a runner provides
//! before the run and reads in it and after it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use warpweave_framework::{Context, State, Tick};

/// What happens to a kernel once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Its launch left the host.
    Launched,
    /// Its first work-group was sent to a compute unit.
    Started,
    /// Its completion was readable at the host.
    Completed,
}

impl Moment {
    /// Name in the state of a component.
    fn name(self) -> &'static str {
        match self {
            Self::Launched => "launched",
            Self::Started => "started",
            Self::Completed => "completed",
        }
    }
}

/// When what happened to one kernel; none: not yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelTime {
    /// See [`Moment::Launched`].
    pub launched: Option<Tick>,
    /// See [`Moment::Started`].
    pub started: Option<Tick>,
    /// See [`Moment::Completed`].
    pub completed: Option<Tick>,
}

/// When one moment came for which kernel.
#[derive(Debug, Default)]
struct Times {
    by_kernel: BTreeMap<u32, Tick>,
    /// In order of time.
    in_order: Vec<(Tick, u32)>,
}

/// The times of all kernels by number of the launch. Every moment is recorded by one component, so
/// that the threads of a run do not matter.
#[derive(Debug, Default)]
pub struct KernelTimes {
    moments: [Mutex<Times>; 3],
    /// Whether the run is to pause at each start and completion.
    pausing: AtomicBool,
}

impl KernelTimes {
    /// Something happens to a kernel now; what is recorded first stays.
    pub fn record(&self, ctx: &mut Context<'_>, moment: Moment, kernel: u32) {
        let now = ctx.now();
        let first = self.with(moment, |times| {
            let Entry::Vacant(place) = times.by_kernel.entry(kernel) else {
                return false;
            };
            place.insert(now);
            times.in_order.push((now, kernel));
            true
        });
        if first && moment != Moment::Launched && self.pausing.load(Ordering::Relaxed) {
            ctx.pause();
        }
    }

    /// Lets the run pause ([`Context::pause`]) whenever a kernel starts or completes.
    pub fn pause_at_kernels(&self) {
        self.pausing.store(true, Ordering::Relaxed);
    }

    /// What is known of a kernel.
    pub fn of(&self, kernel: u32) -> KernelTime {
        let at = |moment| self.with(moment, |times| times.by_kernel.get(&kernel).copied());
        KernelTime {
            launched: at(Moment::Launched),
            started: at(Moment::Started),
            completed: at(Moment::Completed),
        }
    }

    /// How many kernels have come so far.
    pub fn count(&self, moment: Moment) -> usize {
        self.with(moment, |times| times.in_order.len())
    }

    /// When a moment came for the kernel that it came for after so many others, and which that was; none: it came for
    /// no more than those.
    pub fn after(&self, moment: Moment, others: usize) -> Option<(Tick, u32)> {
        self.with(moment, |times| times.in_order.get(others).copied())
    }

    /// Names the times of one moment as state of the component that records them.
    pub(crate) fn state(times: &mut Option<Arc<Self>>, moment: Moment, state: &mut State<'_>) {
        state.field_as(
            moment.name(),
            times,
            |times| {
                let times = times.as_ref();
                times.map_or_else(BTreeMap::new, |t| {
                    t.with(moment, |times| times.by_kernel.clone())
                })
            },
            |times, saved| {
                if let Some(times) = times {
                    times.with(moment, |times| *times = Times::of(saved));
                }
                Ok(())
            },
        );
    }

    fn with<R>(&self, moment: Moment, look: impl FnOnce(&mut Times) -> R) -> R {
        let times = &self.moments[moment as usize];
        look(&mut times.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Times {
    fn of(by_kernel: BTreeMap<u32, Tick>) -> Self {
        let mut in_order: Vec<_> = by_kernel
            .iter()
            .map(|(kernel, at)| (*at, *kernel))
            .collect();
        in_order.sort_unstable();
        Self {
            by_kernel,
            in_order,
        }
    }
}
