//! Events of device code: marks in streams that other streams wait for.
//!
//! Source: CUDA C++ Programming Guide, "Streams, Events, and Concurrency" of the chapter on dynamic
//! parallelism. An event belongs to the work-group that created it.

use std::collections::{BTreeMap, BTreeSet};

/// Handle of the first event, beyond those of all streams.
const FIRST_HANDLE: u64 = 1 << 40;

/// Memory charged for an event, in bytes. Source: own choice.
pub(super) const EVENT_BYTES: u64 = 64;

/// Events of the running kernel, and the streams it has launched into.
#[derive(Debug)]
pub(super) struct Events {
    known: BTreeMap<u64, Event>,
    next: u64,
    /// Number of events that memory was charged for.
    charged: usize,
    used: BTreeSet<u32>,
}

#[derive(Debug)]
struct Event {
    work_group: u32,
    /// Stream whose kernels it comes after; `None` if it is complete at once.
    after: Option<u32>,
}

/// Reason why a call on an event fails.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EventError {
    /// The work-group has no event with this handle.
    NoSuchEvent,
    /// A stream would wait for kernels of another stream.
    AcrossStreams,
}

impl Events {
    pub(super) fn new() -> Self {
        Self {
            known: BTreeMap::new(),
            next: FIRST_HANDLE,
            charged: 0,
            used: BTreeSet::new(),
        }
    }

    /// Forgets the events and streams of the kernel before.
    pub(super) fn kernel_begins(&mut self) {
        self.known.clear();
        self.used.clear();
    }

    /// Notes a launch into a stream.
    pub(super) fn launched_into(&mut self, stream: u32) {
        self.used.insert(stream);
    }

    /// Returns the memory to charge before one more event is created, in bytes.
    pub(super) fn growth(&self) -> u64 {
        if self.known.len() < self.charged {
            return 0;
        }
        EVENT_BYTES
    }

    /// Creates an event and returns its handle.
    pub(super) fn create(&mut self, work_group: u32) -> u64 {
        let handle = self.next;
        self.next += 1;
        let event = Event {
            work_group,
            after: None,
        };
        self.known.insert(handle, event);
        self.charged = self.charged.max(self.known.len());
        handle
    }

    pub(super) fn destroy(&mut self, work_group: u32, handle: u64) -> Result<(), EventError> {
        self.find(work_group, handle)?;
        self.known.remove(&handle);
        Ok(())
    }

    /// Lets an event come after the kernels launched into a stream so far.
    pub(super) fn record(
        &mut self,
        work_group: u32,
        handle: u64,
        stream: u32,
    ) -> Result<(), EventError> {
        let after = self.used.get(&stream).copied();
        self.find(work_group, handle)?.after = after;
        Ok(())
    }

    /// Lets later kernels of a stream wait for an event. A stream keeps its own order, and nothing
    /// waits for an event that is complete.
    pub(super) fn wait(
        &mut self,
        work_group: u32,
        handle: u64,
        stream: u32,
    ) -> Result<(), EventError> {
        match self.find(work_group, handle)?.after {
            Some(other) if other != stream => Err(EventError::AcrossStreams),
            _ => Ok(()),
        }
    }

    fn find(&mut self, work_group: u32, handle: u64) -> Result<&mut Event, EventError> {
        let event = self.known.get_mut(&handle);
        let own = event.filter(|event| event.work_group == work_group);
        own.ok_or(EventError::NoSuchEvent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_of_its_work_group_and_of_the_running_kernel() {
        let mut events = Events::new();
        let handle = events.create(3);
        assert_eq!(events.wait(3, handle, 7), Ok(()));
        assert_eq!(events.wait(2, handle, 7), Err(EventError::NoSuchEvent));
        events.kernel_begins();
        assert_eq!(events.record(3, handle, 7), Err(EventError::NoSuchEvent));
        let next = events.create(3);
        assert_ne!(next, handle);
        assert_eq!(events.destroy(3, next), Ok(()));
        assert_eq!(events.destroy(3, next), Err(EventError::NoSuchEvent));
    }

    #[test]
    fn an_event_is_pending_only_after_kernels_of_its_stream() {
        let mut events = Events::new();
        let handle = events.create(0);
        events.record(0, handle, 7).unwrap();
        events.launched_into(7);
        assert_eq!(events.wait(0, handle, 8), Ok(()), "recorded before");
        events.record(0, handle, 7).unwrap();
        assert_eq!(events.wait(0, handle, 7), Ok(()), "its own stream");
        assert_eq!(events.wait(0, handle, 8), Err(EventError::AcrossStreams));
        events.record(0, handle, 8).unwrap();
        assert_eq!(events.wait(0, handle, 7), Ok(()), "recorded again");
    }

    #[test]
    fn memory_is_charged_for_as_many_events_as_there_are_at_once() {
        let mut events = Events::new();
        assert_eq!(events.growth(), EVENT_BYTES);
        let handle = events.create(0);
        assert_eq!(events.growth(), EVENT_BYTES);
        events.destroy(0, handle).unwrap();
        assert_eq!(events.growth(), 0);
    }
}
