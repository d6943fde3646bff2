//! Work-group queues in memory: a placement waits until its accesses are answered. New entries are
//! written without waiting.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::Context;

use super::{Placement, QueueAccess, WorkGroupScheduler};
use crate::memory::{LINE_BYTES_MAX, MemRequest, Source, word_mask};

/// A chosen placement that waits for memory or for its unit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PendingPlacement {
    pub(super) placement: Placement,
    /// Requests to be sent in order, one per cycle.
    unsent: VecDeque<MemRequest>,
    /// IDs of requests whose responses are outstanding.
    unanswered: VecDeque<u32>,
}

impl PendingPlacement {
    pub(super) fn new(placement: Placement, accesses: &[QueueAccess], first_id: u32) -> Self {
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

    pub(super) fn is_answered(&self) -> bool {
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
pub(super) struct Entering {
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

impl WorkGroupScheduler {
    /// Starts writing the entries of a kernel that has just arrived to queues in memory.
    pub(super) fn begin_entering(&mut self, kernel: u32) {
        let mut writes = Vec::new();
        self.policy.entries(&mut writes);
        let source = Source {
            kernel,
            ..Source::default()
        };
        for write in &writes {
            let request = request(self.next_id, write, source);
            self.next_id = self.next_id.wrapping_add(1);
            self.entering.unsent.push_back(request);
        }
    }

    /// Starts the accesses needed by a placement. Returns false if it needs none.
    pub(super) fn begin_taking(&mut self, ctx: &mut Context<'_>, placement: Placement) -> bool {
        let mut accesses = Vec::new();
        self.policy
            .accesses(placement, &self.machine, &mut accesses);
        if accesses.is_empty() {
            return false;
        }
        if !self.memory.request.is_connected() {
            ctx.fail(format!(
                "the placement {} fetches work-groups from memory, but the port `memory` is not connected",
                self.spec.policy.name()
            ));
            return true;
        }
        let taking = PendingPlacement::new(placement, &accesses, self.next_id);
        self.next_id = self.next_id.wrapping_add(accesses.len() as u32);
        self.taking = Some(taking);
        self.send_access(ctx);
        true
    }

    /// Takes responses and sends pending requests, one per cycle. Called before dispatch.
    pub(super) fn go_on_taking(&mut self, ctx: &mut Context<'_>) {
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
        self.send_access(ctx);
    }

    /// Sends the next access, new entries first, unless one has been sent in this cycle.
    pub(super) fn send_access(&mut self, ctx: &mut Context<'_>) {
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
            self.accounting.queue_accesses += 1;
            self.access_sent = true;
        }
    }

    /// True if accesses remain to be sent.
    pub(super) fn has_unsent_accesses(&self) -> bool {
        let taking = self.taking.as_ref();
        taking.is_some_and(|taking| !taking.unsent.is_empty()) || !self.entering.unsent.is_empty()
    }
}
