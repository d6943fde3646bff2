//! Wait conditions of suspended processes and of methods with a next trigger.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};

use slotmap::{SlotMap, new_key_type};

use super::Core;
use crate::world::event::Event;

/// Waits of all processes, with the deadlines that end them.
#[derive(Default)]
pub(super) struct Waits {
    pub(super) list: SlotMap<WaitKey, Wait>,
    pub(super) deadlines: Vec<Deadline>,
    /// Deadlines without a wait; the last one is used first.
    pub(super) spare: Vec<u32>,
    /// Waits for the next delta cycle.
    pub(super) delta: Vec<WaitKey>,
}

/// Entry for the deadlines of successive waits, one wait at a time.
pub(super) struct Deadline {
    /// Entry of these deadlines among the events.
    pub(super) event: u32,
    /// The wait that has this deadline, or the last one.
    pub(super) wait: WaitKey,
}

/// Condition for the next run of a method, in place of its sensitivity (SystemC's `next_trigger`).
pub struct Trigger {
    what: WaitTarget,
    ticks: Option<u64>,
}

impl Trigger {
    /// Triggers after `ticks` ticks; 0 means in the next delta cycle.
    pub fn after(ticks: u64) -> Self {
        Self {
            what: WaitTarget::Time,
            ticks: Some(ticks),
        }
    }

    /// Triggers at the first notification of any of `events`.
    pub fn any(events: &[&Event]) -> Self {
        Self {
            what: Awaited::any(events).what,
            ticks: None,
        }
    }

    /// Triggers once every one of `events` was notified.
    pub fn all(events: &[&Event]) -> Self {
        Self {
            what: Awaited::all(events).what,
            ticks: None,
        }
    }

    /// Adds a deadline of `ticks` ticks (at least 1) to the trigger.
    #[must_use]
    pub fn or_after(self, ticks: u64) -> Self {
        Self {
            ticks: Some(ticks.max(1)),
            ..self
        }
    }

    pub(super) fn awaited(self, now: u64) -> Awaited {
        match (self.what, self.ticks) {
            (WaitTarget::Time, Some(0)) => Awaited::of(WaitTarget::Delta),
            (what, ticks) => Awaited {
                what,
                deadline: ticks.map_or(NEVER, |ticks| now.saturating_add(ticks)),
            },
        }
    }
}

/// Deadline of a wait without one; later than any tick.
pub(super) const NEVER: u64 = u64::MAX;

/// Condition and deadline that a wait is for.
pub(crate) struct Awaited {
    pub(super) what: WaitTarget,
    /// Tick at which the wait ends in any case.
    pub(super) deadline: u64,
}

/// Condition of a wait other than its deadline, for arming and for reports.
pub(crate) enum WaitTarget {
    /// Ends when this event is notified.
    One(u32),
    /// Ends when the first of these events is notified.
    Any(Box<[u32]>),
    /// Ends when all of these events were notified.
    All(Box<[u32]>),
    /// Ends only at its deadline, without any event.
    Time,
    /// Ends in the next delta cycle.
    Delta,
    /// Ends with a message or a credit at this port.
    Port(u32),
}

impl Awaited {
    pub(crate) fn of(what: WaitTarget) -> Self {
        Self {
            what,
            deadline: NEVER,
        }
    }

    pub(crate) fn until(tick: u64) -> Self {
        Self {
            what: WaitTarget::Time,
            deadline: tick,
        }
    }

    pub(crate) fn any(events: &[&Event]) -> Self {
        Self::of(match events {
            [event] => WaitTarget::One(event.id),
            events => WaitTarget::Any(events.iter().map(|e| e.id).collect()),
        })
    }

    pub(crate) fn all(events: &[&Event]) -> Self {
        Self::of(match events {
            [event] => WaitTarget::One(event.id),
            events => WaitTarget::All(events.iter().map(|e| e.id).collect()),
        })
    }
}

impl WaitTarget {
    /// Returns the events that the wait is for.
    pub(super) fn events(&self) -> &[u32] {
        match self {
            WaitTarget::One(event) => std::slice::from_ref(event),
            WaitTarget::Any(events) | WaitTarget::All(events) => events,
            WaitTarget::Time | WaitTarget::Delta | WaitTarget::Port(_) => &[],
        }
    }

    /// Returns the number of notifications until it ends.
    pub(super) fn count(&self) -> u32 {
        match self {
            WaitTarget::All(events) => events.len() as u32,
            _ => 1,
        }
    }
}

new_key_type! {
    /// Key of an armed wait. A later wait never has it.
    pub(crate) struct WaitKey;
}

/// One armed wait of a process or method.
pub(super) struct Wait {
    pub(super) process: u32,
    /// Number of notifications still missing; 0 once it has ended.
    pub(super) missing: u32,
    /// Index of the event that was notified last.
    pub(super) which: usize,
    /// True if it replaces the sensitivity of a method: no future polls it.
    pub(super) of_method: bool,
    pub(super) what: WaitTarget,
    pub(super) deadline: u64,
    /// Index of its entry among the deadlines.
    pub(super) slot: u32,
}

/// Future of a wait, which belongs to the process that polls it first.
pub(crate) struct Waiting {
    core: Rc<Core>,
    stage: Stage,
}

enum Stage {
    Planned(Awaited),
    Armed(WaitKey),
    Over,
}

impl Waiting {
    pub(crate) fn new(core: &Rc<Core>, awaited: Awaited) -> Self {
        Self {
            core: Rc::clone(core),
            stage: Stage::Planned(awaited),
        }
    }
}

impl Future for Waiting {
    /// Index of the event that ended the wait.
    type Output = usize;

    fn poll(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<usize> {
        let this = self.get_mut();
        let mut state = this.core.world.borrow_mut();
        match std::mem::replace(&mut this.stage, Stage::Over) {
            Stage::Planned(awaited) => {
                this.stage = Stage::Armed(state.arm_current(awaited));
                Poll::Pending
            }
            Stage::Armed(wait) => {
                let Some(which) = state.ended_with(wait) else {
                    this.stage = Stage::Armed(wait);
                    return Poll::Pending;
                };
                state.disarm(wait);
                Poll::Ready(which)
            }
            Stage::Over => Poll::Pending,
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Stage::Armed(wait) = self.stage {
            self.core.world.borrow_mut().disarm(wait);
        }
    }
}

/// Returns the output of `awaited`, or `None` if `limit` ends first.
pub(super) async fn first<T>(awaited: impl Future<Output = T>, limit: Waiting) -> Option<T> {
    let (mut awaited, mut limit) = (pin!(awaited), limit);
    poll_fn(|context| {
        if let Poll::Ready(value) = awaited.as_mut().poll(context) {
            return Poll::Ready(Some(value));
        }
        Pin::new(&mut limit).poll(context).map(|_| None)
    })
    .await
}
