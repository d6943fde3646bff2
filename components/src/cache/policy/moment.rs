//! When a policy is told something, and what it may ask for then.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Message};

use crate::memory::CacheEvent;

/// Events that wait for the wire at `locality`. Source: own choice; the wire takes one per cycle and
/// a miss rarely causes more.
pub const EVENTS_MAX: usize = 16;

/// Policies of a chain, the first ones, that may publish.
pub const PUBLISHERS_MAX: usize = 4;

/// What the policies of one cache publish, by their numbers in the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedValues(pub(in crate::cache) [i64; PUBLISHERS_MAX]);

impl Message for PublishedValues {}

/// The cycle in which a policy is told something, and what it may ask for.
pub struct Moment<'a> {
    cycle: Cycle,
    /// Number of the policy in its chain.
    policy: usize,
    outbox: &'a mut Outbox,
}

impl Moment<'_> {
    /// The cycle.
    #[inline]
    pub fn cycle(&self) -> Cycle {
        self.cycle
    }

    /// Tells the compute unit something, over the wire at the cache's port `locality`. Events leave
    /// from this cycle on, in order. When [`EVENTS_MAX`] wait, the event is dropped and counted
    /// (`events_dropped`); without a wire it is lost.
    pub fn tell(&mut self, event: CacheEvent) {
        let Outbox {
            events,
            is_wired,
            events_dropped,
            ..
        } = self.outbox;
        if !*is_wired {
        } else if events.len() < EVENTS_MAX {
            events.push_back(event);
        } else {
            *events_dropped += 1;
        }
    }

    /// Asks for a line to be sent down while it stays: its dirty words, which are clean then, or, if
    /// none is dirty, its words as a copy-back flagged
    /// [`CLEAN`](crate::memory::flags::CLEAN) with `flags`. It leaves at the end of this cycle if it is
    /// present and not being filled, and if the copy-back buffer (or else the miss queue) has room;
    /// if not, nothing is done and it is counted (`policy_copy_backs_dropped`).
    pub fn copy_back(&mut self, line: u64, flags: u16) {
        self.outbox.copy_backs.push((line, flags));
    }

    /// Publishes a number in place of the policy's last one: the readers at the cache's port
    /// `published` see it after the latency of their wires, at the end of the cycle. A cache that is
    /// wired to no other hears itself, at the end of this cycle. Policies after the first
    /// [`PUBLISHERS_MAX`] of a chain publish nothing.
    pub fn publish(&mut self, value: i64) {
        if let Some(own) = self.outbox.published.0.get_mut(self.policy) {
            *own = value;
        }
    }
}

/// What policies asked for that is not done yet. [`Outbox::moment`] is for trying a policy without a
/// cache.
#[derive(Default)]
pub struct Outbox {
    pub(in crate::cache) events: VecDeque<CacheEvent>,
    /// Whether `locality` is connected.
    pub(in crate::cache) is_wired: bool,
    pub(in crate::cache) events_dropped: u64,
    /// Lines to send down at the end of the cycle, with further flags.
    pub(in crate::cache) copy_backs: Vec<(u64, u16)>,
    pub(in crate::cache) copy_backs_dropped: u64,
    pub(in crate::cache) published: PublishedValues,
}

impl Outbox {
    /// One that takes events.
    pub fn new() -> Self {
        Self {
            is_wired: true,
            ..Self::default()
        }
    }

    /// A moment of the first policy of a chain.
    pub fn moment(&mut self, cycle: Cycle) -> Moment<'_> {
        self.moment_of(0, cycle)
    }

    #[inline]
    pub(super) fn moment_of(&mut self, policy: usize, cycle: Cycle) -> Moment<'_> {
        Moment {
            cycle,
            policy,
            outbox: self,
        }
    }

    /// Takes what was told, oldest first.
    pub fn take_events(&mut self) -> Vec<CacheEvent> {
        self.events.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_event_is_dropped_and_counted_when_too_many_wait() {
        let event = |line| CacheEvent {
            topic: 1,
            wavefront_slot: 0,
            line,
        };
        let mut outbox = Outbox::new();
        for line in 0..EVENTS_MAX as u64 + 3 {
            outbox.moment(7).tell(event(line));
        }
        assert_eq!(outbox.events_dropped, 3);
        let lines: Vec<_> = outbox.take_events().iter().map(|e| e.line).collect();
        assert_eq!(lines, (0..EVENTS_MAX as u64).collect::<Vec<_>>());
        let mut unwired = Outbox::default();
        unwired.moment(7).tell(event(0));
        assert_eq!(
            (unwired.take_events().len(), unwired.events_dropped),
            (0, 0)
        );
    }
}
