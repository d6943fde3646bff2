//! Requests that wait for their responses, and answers to them.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Cycle, Histogram, Id, IdTable, State, Statistics};

use crate::memory::{Level, MemRequest, MemResponse, MemSlave, RequestKind};

/// Requests that wait for their responses.
#[derive(Default, State, Statistics)]
pub(super) struct Outstanding {
    pub(super) slots: IdTable<Slot>,
    /// Responses sent to the units.
    #[statistic(unit = "responses")]
    responses: u64,
    /// Latency from acceptance of a read until its response is sent up.
    #[statistic(unit = "cycles")]
    read_latency: Histogram,
}

/// Destination of a response: port and original request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Slot {
    /// Request as received from the upper level.
    pub(super) request: MemRequest,
    pub(super) port: u32,
    pub(super) taken: Cycle,
}

/// Properties of the line that its responses carry.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) write_sequence: u32,
    pub(super) level: Level,
}

impl Outstanding {
    /// Answers one request with this line. Returns false if its wire has no room.
    pub(super) fn answer(
        &mut self,
        ctx: &mut Context<'_>,
        up: &mut [MemSlave],
        slot: Id,
        line: Line,
    ) -> bool {
        let Some(of) = self.slots.get(slot) else {
            ctx.fail(format!("down sent two responses for id {slot}"));
            return true;
        };
        let response = MemResponse {
            write_sequence: line.write_sequence,
            ..of.request.answer(line.level)
        };
        let wire = &mut up[of.port as usize].response;
        if wire.try_send(ctx, response).is_err() {
            return false;
        }
        self.responses += 1;
        if of.request.kind == RequestKind::Read {
            self.read_latency.record(ctx.cycle() - of.taken);
        }
        self.slots.remove(slot);
        true
    }
}
