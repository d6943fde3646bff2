//! Work-group queues in memory: a placement waits until its accesses are answered. New entries are
//! written without waiting.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Ports, State, Waits};

use super::accounting::Accounting;
use super::{Placement, QueueAccess};
use crate::memory::{LINE_BYTES_MAX, MemMaster, MemRequest, Source, word_mask};

/// Memory port with the accesses to work-group queues.
#[derive(Default, Ports, State)]
pub(super) struct QueueMemory {
    #[port(optional)]
    memory: MemMaster,
    /// A placement that was chosen but has not been made.
    taking: Option<PendingPlacement>,
    entering: Entering,
    /// Request ID of the next access.
    next_id: u32,
    /// True if an access was sent in this cycle.
    #[state(skip)]
    access_sent: bool,
}

/// A chosen placement that waits for memory or for its unit.
#[derive(Debug, Serialize, Deserialize)]
struct PendingPlacement {
    placement: Placement,
    /// Requests to be sent in order, one per cycle.
    unsent: VecDeque<MemRequest>,
    /// IDs of requests whose responses are outstanding.
    unanswered: VecDeque<u32>,
}

impl PendingPlacement {
    fn new(placement: Placement, accesses: &[QueueAccess], first_id: u32) -> Self {
        let source = Source {
            kernel: placement.kernel,
            work_group: placement.work_group,
            ..Source::default()
        };
        let requests = (first_id..).zip(accesses);
        Self {
            placement,
            unsent: requests
                .map(|(id, access)| request(id, access, source))
                .collect(),
            unanswered: VecDeque::new(),
        }
    }

    #[inline]
    fn is_answered(&self) -> bool {
        self.unsent.is_empty() && self.unanswered.is_empty()
    }
}

fn request(id: u32, access: &QueueAccess, source: Source) -> MemRequest {
    let offset = access.address % u64::from(LINE_BYTES_MAX);
    let line = access.address - offset;
    let words = word_mask(offset as u32 & !3, access.bytes);
    let request = if access.write {
        MemRequest::write(id, line, words)
    } else {
        MemRequest::read(id, line, words)
    };
    MemRequest { source, ..request }
}

/// Entries being written to queues in memory.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Entering {
    /// Requests to be sent in order, one per cycle.
    unsent: VecDeque<MemRequest>,
    /// IDs of requests whose responses are outstanding.
    unanswered: VecDeque<u32>,
}

/// Removes the request with this ID from the outstanding ones. Returns false if it is not among
/// them.
fn answer(unanswered: &mut VecDeque<u32>, id: u32) -> bool {
    let place = unanswered.iter().position(|&waiting| waiting == id);
    place.is_some_and(|place| unanswered.remove(place).is_some())
}

/// Placement that waits in the queue memory.
pub(super) enum Pending {
    /// No placement waits.
    None,
    /// Accesses of the placement are unanswered.
    Unanswered,
    /// The placement can be made.
    Answered(Placement),
}

impl QueueMemory {
    #[inline]
    pub(super) fn is_connected(&self) -> bool {
        self.memory.request.is_connected()
    }

    /// Allows one access again.
    #[inline]
    pub(super) fn begin_cycle(&mut self) {
        self.access_sent = false;
    }

    #[inline]
    pub(super) fn access_sent(&self) -> bool {
        self.access_sent
    }

    /// Starts the writes by which a kernel that has just arrived enters the queues.
    pub(super) fn begin_entering(&mut self, kernel: u32, writes: &[QueueAccess]) {
        let source = Source {
            kernel,
            ..Source::default()
        };
        for write in writes {
            let request = request(self.next_id, write, source);
            self.next_id = self.next_id.wrapping_add(1);
            self.entering.unsent.push_back(request);
        }
    }

    /// Starts the accesses that a placement needs.
    pub(super) fn begin_taking(
        &mut self,
        ctx: &mut Context<'_>,
        placement: Placement,
        accesses: &[QueueAccess],
        accounting: &mut Accounting,
    ) {
        let taking = PendingPlacement::new(placement, accesses, self.next_id);
        self.next_id = self.next_id.wrapping_add(accesses.len() as u32);
        self.taking = Some(taking);
        self.send_access(ctx, accounting);
    }

    /// Returns the placement that was chosen but has not been made.
    #[inline]
    pub(super) fn pending(&self) -> Pending {
        match &self.taking {
            None => Pending::None,
            Some(taking) if !taking.is_answered() => Pending::Unanswered,
            Some(taking) => Pending::Answered(taking.placement),
        }
    }

    /// Keeps a placement whose unit is busy; the policy has been told that it will be made.
    #[inline]
    pub(super) fn keep(&mut self, placement: Placement) {
        self.taking
            .get_or_insert_with(|| PendingPlacement::new(placement, &[], 0));
    }

    /// Forgets the placement, which is made now.
    #[inline]
    pub(super) fn made(&mut self) {
        self.taking = None;
    }

    /// Takes responses and sends pending requests, one per cycle. Called before dispatch.
    pub(super) fn take_responses(&mut self, ctx: &mut Context<'_>, accounting: &mut Accounting) {
        while self.memory.response.is_connected()
            && let Some(response) = self.memory.response.pop(ctx)
        {
            let taking = self.taking.as_mut().map(|taking| &mut taking.unanswered);
            if !taking.is_some_and(|ids| answer(ids, response.id))
                && !answer(&mut self.entering.unanswered, response.id)
            {
                ctx.fail(format!(
                    "memory sent {response:?}, which matches no request"
                ));
            }
        }
        self.send_access(ctx, accounting);
    }

    /// Sends the next access, new entries first, unless one has been sent in this cycle.
    pub(super) fn send_access(&mut self, ctx: &mut Context<'_>, accounting: &mut Accounting) {
        let Entering { unsent, unanswered } = &mut self.entering;
        let (unsent, unanswered) = match &mut self.taking {
            Some(taking) if unsent.is_empty() => (&mut taking.unsent, &mut taking.unanswered),
            _ => (unsent, unanswered),
        };
        if !self.access_sent
            && let Some(&request) = unsent.front()
            && self.memory.request.try_send(ctx, request).is_ok()
        {
            unsent.pop_front();
            unanswered.push_back(request.id);
            accounting.queue_accesses += 1;
            self.access_sent = true;
        }
    }

    /// True if accesses remain to be sent.
    pub(super) fn has_unsent(&self) -> bool {
        let taking = self.taking.as_ref();
        taking.is_some_and(|taking| !taking.unsent.is_empty()) || !self.entering.unsent.is_empty()
    }

    pub(super) fn waits(&self, waits: &mut Waits<'_>) {
        if let Pending::Unanswered = self.pending() {
            waits.on_port(
                "memory.response",
                "a work-group is being fetched from a queue in memory",
            );
        }
    }
}
