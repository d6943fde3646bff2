//! Context of a policy event: its cycle, and the actions that a policy may request.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Message};

use crate::memory::CacheEvent;

/// Capacity of the queue of events for the wire at `locality`. Source: own choice; the wire takes
/// one per cycle and a miss rarely causes more.
pub const EVENTS_MAX: usize = 16;

/// Number of leading policies in a chain that may publish values.
pub const PUBLISHERS_MAX: usize = 4;

/// Values published by the policies of one cache, indexed by their position in the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedValues(pub(in crate::cache) [i64; PUBLISHERS_MAX]);

impl Message for PublishedValues {}

/// Context of an event: the cycle, and the actions that a policy may request.
pub struct EventContext<'a> {
    cycle: Cycle,
    /// Index of the policy in its chain.
    policy: usize,
    outbox: &'a mut Outbox,
}

impl EventContext<'_> {
    /// Returns the cycle in which the event happens.
    #[inline]
    pub fn cycle(&self) -> Cycle {
        self.cycle
    }

    /// Sends an event to the compute unit over the wire at the cache's port `locality`. Events
    /// leave from this cycle on, in order. If [`EVENTS_MAX`] are queued, the event is dropped and
    /// counted (`events_dropped`); without a wire it is lost.
    pub fn send_event(&mut self, event: CacheEvent) {
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

    /// Requests that a line be sent to the next level while it stays here. Its dirty words are sent
    /// and become clean. If none is dirty, its words go as a copy-back flagged
    /// [`CLEAN`](crate::memory::flags::CLEAN) with `flags`. It leaves at the end of this cycle if
    /// it is present and not being filled. The copy-back buffer (or else the miss queue) must have
    /// room. Otherwise nothing is done, and `policy_copy_backs_dropped` counts it.
    pub fn copy_back(&mut self, line: u64, flags: u16) {
        self.outbox.copy_backs.push((line, Some(flags)));
    }

    /// Requests that the dirty words of a line be sent to the next level while it stays here, on
    /// the terms of [`copy_back`](Self::copy_back). Nothing is sent if none is dirty.
    pub fn write_back(&mut self, line: u64) {
        self.outbox.copy_backs.push((line, None));
    }

    /// Publishes a number that replaces the policy's previous one. Readers at the cache's port
    /// `published` see it at the end of the cycle, after the latency of their wires. A cache wired
    /// to no other receives its own values at the end of this cycle. Policies after the first
    /// [`PUBLISHERS_MAX`] of a chain publish nothing.
    pub fn publish(&mut self, value: i64) {
        if let Some(own) = self.outbox.published.0.get_mut(self.policy) {
            *own = value;
        }
    }
}

/// Actions requested by policies that are still pending. [`Outbox::context`] allows testing a
/// policy without a cache.
#[derive(Default)]
pub struct Outbox {
    pub(in crate::cache) events: VecDeque<CacheEvent>,
    /// True if the port `locality` is connected.
    pub(in crate::cache) is_wired: bool,
    pub(in crate::cache) events_dropped: u64,
    /// Lines to send downstream at the end of the cycle, with flags if they are also sent clean.
    pub(in crate::cache) copy_backs: Vec<(u64, Option<u16>)>,
    pub(in crate::cache) copy_backs_dropped: u64,
    pub(in crate::cache) published: PublishedValues,
}

impl Outbox {
    /// Creates an empty outbox that accepts events.
    pub fn new() -> Self {
        Self {
            is_wired: true,
            ..Self::default()
        }
    }

    /// Creates the context of an event for the first policy of a chain.
    pub fn context(&mut self, cycle: Cycle) -> EventContext<'_> {
        self.context_of(0, cycle)
    }

    #[inline]
    pub(super) fn context_of(&mut self, policy: usize, cycle: Cycle) -> EventContext<'_> {
        EventContext {
            cycle,
            policy,
            outbox: self,
        }
    }

    /// Removes and returns the queued events, oldest first.
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
            outbox.context(7).send_event(event(line));
        }
        assert_eq!(outbox.events_dropped, 3);
        let lines: Vec<_> = outbox.take_events().iter().map(|e| e.line).collect();
        assert_eq!(lines, (0..EVENTS_MAX as u64).collect::<Vec<_>>());
        let mut unwired = Outbox::default();
        unwired.context(7).send_event(event(0));
        assert_eq!(
            (unwired.take_events().len(), unwired.events_dropped),
            (0, 0)
        );
    }
}
