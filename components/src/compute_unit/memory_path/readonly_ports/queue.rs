//! One of the paths: its queue, and who takes it.

use std::ops::Range;

use warpweave_framework::{Cycle, Histogram, State};
use warpweave_trace::{Lanes, Program, Record, Space};

use super::addresses::{blocks, coalesce_addresses, moved};
use super::in_order::InOrder;
use crate::compute_unit::decoded::Decoded;
use crate::compute_unit::memory_path::coalescer::{Transaction, coalesce};
use crate::compute_unit::memory_path::load_store::{Access, LoadStoreUnit};
use crate::compute_unit::spec::readonly_ports::{
    BLOCK_BYTES, ConstantLanes, ConstantsSpec, QueueSpec, TextureAnswers, TextureLoads,
    TexturesSpec,
};
use crate::memory::{MemResponse, RequestKind};

/// The queue of a path.
pub(crate) struct ReadQueue {
    pub(crate) unit: LoadStoreUnit,
    /// Wavefronts whose next record needs a place.
    pub(crate) next: u64,
    pub(crate) spec: QueueSpec,
    takes: Takes,
    /// None: answers go on as they come.
    pub(crate) in_order: Option<InOrder>,
    /// Cycles from issue of a load to its last answer.
    pub(crate) latency: Histogram,
}

/// Which loads take a path.
enum Takes {
    /// From constant memory, and from argument memory, where those of each launch begin and the last ones end.
    Constants {
        lanes: ConstantLanes,
        blocks: Box<[u64]>,
    },
    /// From global memory.
    Textures(TextureLoads),
}

impl Takes {
    /// Appends the requests of a load of so many bytes for each lane.
    fn requests(
        &self,
        kernel: u32,
        (record, lanes): (&Record, &Lanes),
        (bytes, line_bytes): (u32, u32),
        out: &mut Vec<Transaction>,
    ) {
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

impl ReadQueue {
    pub(crate) fn of_constants(spec: &ConstantsSpec, program: &Program) -> Self {
        let takes = Takes::Constants {
            lanes: spec.lanes,
            blocks: blocks(program, spec.arguments),
        };
        Self::new(spec.queue(), takes, None)
    }

    pub(crate) fn of_textures(spec: &TexturesSpec) -> Self {
        let in_order = (spec.answers == TextureAnswers::InOrder).then(InOrder::default);
        Self::new(spec.queue(), Takes::Textures(spec.loads), in_order)
    }

    fn new(spec: QueueSpec, takes: Takes, in_order: Option<InOrder>) -> Self {
        Self {
            unit: LoadStoreUnit::of(
                spec.queue_depth,
                spec.requests_per_cycle,
                spec.outstanding_max,
            ),
            next: 0,
            spec,
            takes,
            in_order,
            latency: Histogram::default(),
        }
    }

    pub(crate) fn state(&mut self, state: &mut State<'_>) {
        self.unit.state(state);
        state.field("next", &mut self.next);
        if let Some(in_order) = &mut self.in_order {
            state.field("in_order", in_order);
        }
        state.tally("latency", &mut self.latency);
    }

    /// Whether an access of an instruction to a space takes this path.
    pub(crate) fn takes(&self, decoded: &Decoded, space: Space) -> bool {
        let is_of_space = match self.takes {
            Takes::Constants { .. } => matches!(space, Space::Const | Space::Param),
            Takes::Textures(loads) => space == Space::Global && loads.take(decoded.path),
        };
        is_of_space && decoded.access == Some(RequestKind::Read)
    }

    /// Whether it is global memory that loads of this path read.
    pub(crate) fn reads_global_memory(&self) -> bool {
        matches!(self.takes, Takes::Textures(_))
    }

    /// Queues a load by a wavefront of a kernel, whose first request may leave at `ready_at`.
    pub(crate) fn enqueue(
        &mut self,
        access: Access,
        ready_at: Cycle,
        (kernel, record, lanes): (u32, &Record, &Lanes),
        bytes: u32,
    ) {
        let Self {
            unit, takes, spec, ..
        } = self;
        unit.enqueue(access, ready_at, lanes, |lanes, out| {
            takes.requests(kernel, (record, lanes), (bytes, spec.line_bytes), out);
        });
    }

    /// Appends the requests of a load by a wavefront of a kernel.
    pub(crate) fn requests(
        &self,
        kernel: u32,
        load: (&Record, &Lanes),
        bytes: u32,
        out: &mut Vec<Transaction>,
    ) {
        let sizes = (bytes, self.spec.line_bytes);
        self.takes.requests(kernel, load, sizes, out);
    }

    /// Takes an answer: the first that may go on now.
    ///
    /// # Errors
    /// No request waits for it.
    pub(crate) fn arrived(&mut self, response: MemResponse) -> Result<Option<MemResponse>, String> {
        match &mut self.in_order {
            None => Ok(Some(response)),
            Some(in_order) => {
                in_order.arrived(response)?;
                Ok(in_order.next())
            }
        }
    }

    /// One more answer that may go on now.
    pub(crate) fn follows(&mut self) -> Option<MemResponse> {
        self.in_order.as_mut()?.next()
    }

    /// Addresses of arguments, of one launch at least: what is checked before it has run has none yet.
    pub(crate) fn arguments(&self) -> Option<Range<u64>> {
        let Takes::Constants { blocks, .. } = &self.takes else {
            return None;
        };
        let start = *blocks.first()?;
        let end = *blocks.last()?;
        Some(start..end.max(start.saturating_add(BLOCK_BYTES)))
    }
}
