//! The queue of a read-only port, and the loads that take it.

use std::ops::Range;

use warpweave_framework::{Context, Cycle, Histogram, State};
use warpweave_trace::{Program, Space};

use super::addresses::{blocks, coalesce_addresses, moved};
use super::reorder_queue::ReorderQueue;
use super::{CompletedLoad, Load};
use crate::compute_unit::decoded::MemoryAccess;
use crate::compute_unit::memory_path::Completed;
use crate::compute_unit::memory_path::coalescer::{Transaction, coalesce};
use crate::compute_unit::memory_path::load_store::{Access, LoadStoreUnit};
use crate::compute_unit::spec::readonly_ports::{
    BLOCK_BYTES, ConstantLanes, ConstantsSpec, QueueSpec, TextureAnswers, TextureLoads,
    TexturesSpec,
};
use crate::memory::{MemMaster, MemResponse, RequestKind};

/// The queue of a read-only port.
#[derive(State)]
pub(crate) struct ReadonlyQueue {
    #[state(flatten)]
    pub(crate) unit: LoadStoreUnit,
    /// Wavefronts whose next record needs an entry in the queue.
    pub(crate) next: u64,
    #[state(skip)]
    pub(crate) spec: QueueSpec,
    #[state(skip)]
    takes: Takes,
    /// Reorder buffer for responses; `None` if they are forwarded as they arrive.
    reorder: Option<ReorderQueue>,
    /// Histogram of cycles from issue of a load to its last response.
    #[state(tally)]
    pub(crate) latency: Histogram,
}

/// Selection of the loads that use a path.
enum Takes {
    /// Loads from constant and argument memory; `blocks` has the start of each launch's arguments
    /// and the end of the last.
    Constants {
        lanes: ConstantLanes,
        blocks: Box<[u64]>,
    },
    /// Loads from global memory, selected by their `TextureLoads` class.
    Textures(TextureLoads),
}

impl Takes {
    /// Appends the requests of a load.
    fn requests(&self, load: Load<'_>, line_bytes: u32, out: &mut Vec<Transaction>) {
        let Load {
            kernel,
            record,
            lanes,
            bytes,
        } = load;
        let mask = record.mask;
        let Self::Constants {
            lanes: apart,
            blocks,
        } = self
        else {
            return coalesce(lanes, mask, bytes, line_bytes, out);
        };
        let of_launch;
        let lanes = if record.space == Space::Param {
            of_launch = moved(lanes, mask, blocks[kernel as usize]);
            &of_launch
        } else {
            lanes
        };
        match apart {
            ConstantLanes::Apart => coalesce_addresses(lanes, mask, bytes, line_bytes, out),
            ConstantLanes::Together => coalesce(lanes, mask, bytes, line_bytes, out),
        }
    }
}

impl ReadonlyQueue {
    pub(crate) fn of_constants(spec: &ConstantsSpec, program: &Program) -> Self {
        let takes = Takes::Constants {
            lanes: spec.lanes,
            blocks: blocks(program, spec.arguments),
        };
        Self::new(spec.queue(), takes, None)
    }

    pub(crate) fn of_textures(spec: &TexturesSpec) -> Self {
        let reorder = (spec.answers == TextureAnswers::InOrder).then(ReorderQueue::default);
        Self::new(spec.queue(), Takes::Textures(spec.loads), reorder)
    }

    fn new(spec: QueueSpec, takes: Takes, reorder: Option<ReorderQueue>) -> Self {
        Self {
            unit: LoadStoreUnit::of(
                spec.queue_depth,
                spec.requests_per_cycle,
                spec.outstanding_max,
            ),
            next: 0,
            spec,
            takes,
            reorder,
            latency: Histogram::default(),
        }
    }

    /// True if an instruction's access to this space uses the path.
    pub(crate) fn takes(&self, access: MemoryAccess, space: Space) -> bool {
        let is_of_space = match self.takes {
            Takes::Constants { .. } => matches!(space, Space::Const | Space::Param),
            Takes::Textures(loads) => space == Space::Global && loads.take(access.path),
        };
        is_of_space && access.kind == RequestKind::Read
    }

    /// Queues a load, whose first request may leave at `ready_at`.
    pub(super) fn enqueue(&mut self, access: Access, ready_at: Cycle, load: Load<'_>) {
        let Self {
            unit, takes, spec, ..
        } = self;
        unit.enqueue(access, ready_at, 0, |out| {
            takes.requests(load, spec.line_bytes, out);
        });
    }

    /// Appends the requests of a load.
    pub(super) fn requests(&self, load: Load<'_>, out: &mut Vec<Transaction>) {
        self.takes.requests(load, self.spec.line_bytes, out);
    }

    /// Sends the requests that may leave in this cycle.
    pub(super) fn send(&mut self, ctx: &mut Context<'_>, port: &mut MemMaster) {
        let reorder = &mut self.reorder;
        // No access to local memory is among them.
        self.unit.send(ctx, port, |request| {
            if let Some(reorder) = reorder {
                reorder.sent(request.id);
            }
        });
    }

    /// Returns true if an answer can be taken from the port, or is the next in order.
    #[inline]
    pub(super) fn has_answer(&self, ctx: &Context<'_>, port: &MemMaster) -> bool {
        let in_order = self.reorder.as_ref().is_some_and(ReorderQueue::has_next);
        in_order || port.response.peek(ctx).is_some()
    }

    /// Takes an answer, if one can be taken; the load when it was the last that it waited for.
    ///
    /// # Errors
    /// Fails if the response matches no outstanding request.
    pub(super) fn receive(
        &mut self,
        ctx: &mut Context<'_>,
        port: &mut MemMaster,
    ) -> Option<Result<Option<CompletedLoad>, String>> {
        if let Some(response) = self.reorder.as_mut().and_then(ReorderQueue::next) {
            return Some(self.complete(&response, ctx.cycle()));
        }
        let response = port.response.pop(ctx)?;
        let Some(reorder) = &mut self.reorder else {
            return Some(self.complete(&response, ctx.cycle()));
        };
        Some(reorder.arrived(response).map(|()| None))
    }

    /// Passes a response on to the registers. Returns the load if that was its last response.
    fn complete(
        &mut self,
        response: &MemResponse,
        now: Cycle,
    ) -> Result<Option<CompletedLoad>, String> {
        let Some(access) = self.unit.receive(response)? else {
            return Ok(None);
        };
        self.latency.record(now - access.issued);
        Ok(Some(CompletedLoad {
            completed: Completed {
                access,
                level: response.level,
            },
            writeback_latency: self.spec.writeback_latency,
            is_global: matches!(self.takes, Takes::Textures(_)),
        }))
    }

    /// Returns the address range of the arguments, at least one block long even if the checked
    /// program has no launches yet.
    pub(crate) fn arguments(&self) -> Option<Range<u64>> {
        let Takes::Constants { blocks, .. } = &self.takes else {
            return None;
        };
        let start = *blocks.first()?;
        let end = *blocks.last()?;
        Some(start..end.max(start.saturating_add(BLOCK_BYTES)))
    }
}
