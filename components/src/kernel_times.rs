//! Launch, start and completion times of each kernel of a run. A runner provides this resource
//! before the run and reads it during and after the run.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use warpweave_framework::{Context, State, Tick};

/// Milestone that each kernel reaches once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The launch of the kernel left the host.
    Launched,
    /// The first work-group of the kernel was sent to a compute unit.
    Started,
    /// The completion of the kernel was readable at the host.
    Completed,
}

impl Moment {
    /// Returns the name of this moment's times in a component's checkpoint state.
    fn name(self) -> &'static str {
        match self {
            Self::Launched => "launched",
            Self::Started => "started",
            Self::Completed => "completed",
        }
    }
}

/// Times of one kernel's milestones; `None` for milestones not reached yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelTime {
    /// Time at which the launch left the host; see [`Moment::Launched`].
    pub launched: Option<Tick>,
    /// Time at which the first work-group was sent; see [`Moment::Started`].
    pub started: Option<Tick>,
    /// Time at which the completion was readable; see [`Moment::Completed`].
    pub completed: Option<Tick>,
}

/// Times of one milestone for all kernels.
#[derive(Debug, Default)]
struct Times {
    by_kernel: BTreeMap<u32, Tick>,
    /// Times with kernel numbers, in chronological order.
    in_order: Vec<(Tick, u32)>,
}

/// Milestone times of all kernels, by number of the launch. Each milestone is recorded by one
/// component, so the result does not depend on the threads of a run.
#[derive(Debug, Default)]
pub struct KernelTimes {
    moments: [Mutex<Times>; 3],
    /// Enables a pause of the run at each kernel start and completion.
    pausing: AtomicBool,
}

impl KernelTimes {
    /// Records that a kernel reaches a milestone now; later calls for the same kernel are ignored.
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

    /// Makes the run pause ([`Context::pause`]) whenever a kernel starts or completes.
    pub fn pause_at_kernels(&self) {
        self.pausing.store(true, Ordering::Relaxed);
    }

    /// Returns the milestone times of a kernel.
    pub fn of(&self, kernel: u32) -> KernelTime {
        let at = |moment| self.with(moment, |times| times.by_kernel.get(&kernel).copied());
        KernelTime {
            launched: at(Moment::Launched),
            started: at(Moment::Started),
            completed: at(Moment::Completed),
        }
    }

    /// Returns the number of kernels that have reached this milestone.
    pub fn count(&self, moment: Moment) -> usize {
        self.with(moment, |times| times.in_order.len())
    }

    /// Returns time and number of the kernel that reached a milestone after `others` other kernels.
    /// `None` if no such kernel has reached it.
    pub fn after(&self, moment: Moment, others: usize) -> Option<(Tick, u32)> {
        self.with(moment, |times| times.in_order.get(others).copied())
    }

    /// Declares the times of one milestone as state of the component that records them.
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
        look(&mut times.lock())
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
