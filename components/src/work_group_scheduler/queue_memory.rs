//! Queues of work-groups in memory: a placement waits until its accesses are answered.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::Context;

use super::{Placement, QueueAccess, WorkGroupScheduler};
use crate::memory::{LINE_BYTES_MAX, MemRequest, Source, word_mask};

/// A placement that was chosen and waits for memory, or for its unit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Taking {
    pub(super) placement: Placement,
    /// In the order in which they are sent, one per cycle.
    unsent: VecDeque<MemRequest>,
    /// Ids of requests without an answer.
    unanswered: VecDeque<u32>,
}

impl Taking {
    pub(super) fn new(placement: Placement, accesses: &[QueueAccess], first_id: u32) -> Self {
        let Placement {
            kernel, work_group, ..
        } = placement;
        let request = |(id, access): (u32, &QueueAccess)| {
            let offset = access.address % u64::from(LINE_BYTES_MAX);
            let line = access.address - offset;
            let words = word_mask(offset as u32 & !3, 4);
            let request = if access.write {
                MemRequest::write(id, line, words)
            } else {
                MemRequest::read(id, line, words)
            };
            let source = Source {
                kernel,
                work_group,
                ..Source::default()
            };
            MemRequest { source, ..request }
        };
        Self {
            placement,
            unsent: (first_id..).zip(accesses).map(request).collect(),
            unanswered: VecDeque::new(),
        }
    }

    pub(super) fn is_answered(&self) -> bool {
        self.unsent.is_empty() && self.unanswered.is_empty()
    }
}

impl WorkGroupScheduler {
    /// Begins the accesses that a placement needs. False where it needs none.
    pub(super) fn begin_taking(&mut self, ctx: &mut Context<'_>, placement: Placement) -> bool {
        let mut accesses = Vec::new();
        self.policy
            .accesses(placement, &self.machine, &mut accesses);
        if accesses.is_empty() {
            return false;
        }
        if !self.memory.request.is_connected() {
            ctx.fail(format!(
                "the placement {} takes work-groups from memory, but the port `memory` is not \
                 connected",
                self.spec.policy.name()
            ));
            return true;
        }
        let taking = Taking::new(placement, &accesses, self.next_id);
        self.next_id = self.next_id.wrapping_add(accesses.len() as u32);
        self.taking = Some(taking);
        self.send_access(ctx);
        true
    }

    /// Takes answers and sends what is left to be sent, one request per cycle. Called before dispatch.
    pub(super) fn go_on_taking(&mut self, ctx: &mut Context<'_>) {
        while self.memory.response.is_connected()
            && let Some(response) = self.memory.response.pop(ctx)
        {
            let unanswered = self.taking.as_mut().map(|taking| &mut taking.unanswered);
            let place = unanswered
                .as_ref()
                .and_then(|ids| ids.iter().position(|&id| id == response.id));
            match unanswered.zip(place) {
                Some((ids, place)) => {
                    ids.remove(place);
                }
                None => ctx.fail(format!(
                    "memory answers {response:?}, which was not asked for"
                )),
            }
        }
        self.send_access(ctx);
    }

    fn send_access(&mut self, ctx: &mut Context<'_>) {
        let Some(taking) = &mut self.taking else {
            return;
        };
        if let Some(&request) = taking.unsent.front()
            && self.memory.request.try_send(ctx, request).is_ok()
        {
            taking.unsent.pop_front();
            taking.unanswered.push_back(request.id);
            self.queue_accesses += 1;
            self.access_sent = true;
        }
    }

    /// Whether accesses are left to be sent.
    pub(super) fn has_unsent_accesses(&self) -> bool {
        let taking = self.taking.as_ref();
        taking.is_some_and(|taking| !taking.unsent.is_empty())
    }
}
