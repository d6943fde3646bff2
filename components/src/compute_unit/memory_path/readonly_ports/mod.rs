//! Ports to read-only caches: one for constants and arguments, one for textures. Each has its own
//! queue, separate from that of the load/store unit.
//!
//! ```text
//!   issue ──► [queue of loads, each its list of requests] ──► constants, or textures
//!             registers ◄── [in the order of requests, if so] ◄── answers
//! ```

mod addresses;
mod fit;
mod queue;
mod reorder_queue;

use warpweave_framework::{
    Contents, Context, Cycle, Facts, PortId, PortName, Ports, State, Stateful, Statistics, Waits,
};
use warpweave_trace::{Lanes, Program, Record, Space};

use self::queue::ReadonlyQueue;
use crate::compute_unit::decoded::MemoryAccess;
use crate::compute_unit::memory_path::Completed;
use crate::compute_unit::memory_path::coalescer::Transaction;
use crate::compute_unit::memory_path::load_store::Access;
use crate::compute_unit::spec::ComputeUnitSpec;
use crate::launch::CacheControlMaster;
use crate::memory::{LineBytes, MemMaster};

/// The ports, constants first.
pub(crate) struct ReadonlyPorts([ReadonlyPort; 2]);

/// A port to a cache that is only read.
struct ReadonlyPort {
    names: &'static Names,
    port: MemMaster,
    control: CacheControlMaster,
    /// None: no load leaves by this port.
    queue: Option<Box<ReadonlyQueue>>,
}

/// A load of a wavefront.
#[derive(Clone, Copy)]
pub(crate) struct Load<'a> {
    pub(crate) kernel: u32,
    pub(crate) record: &'a Record,
    pub(crate) lanes: &'a Lanes,
    /// Bytes of each lane.
    pub(crate) bytes: u32,
}

/// A load whose last answer has gone on to the registers.
pub(crate) struct CompletedLoad {
    pub(crate) completed: Completed,
    /// Cycles until the registers hold the data.
    pub(crate) writeback_latency: u32,
    /// The load is from global memory.
    pub(crate) is_global: bool,
}

/// Names of a port, its loads and statistics.
struct Names {
    /// The port, and the field of the specification.
    path: &'static str,
    request: PortId,
    response: PortId,
    control: &'static str,
    line_bytes: &'static str,
    /// Description of the loads that use the path, for messages.
    loads: &'static str,
    /// Name of one of its requests in recordings.
    shown: &'static str,
    queued: &'static str,
    /// Names, units and meanings of its statistics.
    counters: [(&'static str, &'static str, &'static str); 2],
    latency: (&'static str, &'static str),
}

const CONSTANTS: Names = Names {
    path: "constants",
    request: PortName::new("constants").member(MemMaster::REQUEST),
    response: PortName::new("constants").member(MemMaster::RESPONSE),
    control: "constants_control",
    line_bytes: "constants.line_bytes",
    loads: "loads from constant and argument memory",
    shown: "request for constants",
    queued: "queued_constants",
    counters: [
        (
            "constant_loads",
            "accesses",
            "wavefront loads from constant and argument memory sent through `constants`",
        ),
        (
            "constant_requests",
            "requests",
            "memory requests sent at `constants`",
        ),
    ],
    latency: (
        "constant_load_latency",
        "cycles from issue of a load sent through `constants` to its last response",
    ),
};

const TEXTURES: Names = Names {
    path: "textures",
    request: PortName::new("textures").member(MemMaster::REQUEST),
    response: PortName::new("textures").member(MemMaster::RESPONSE),
    control: "textures_control",
    line_bytes: "textures.line_bytes",
    loads: "reads of textures",
    shown: "request for textures",
    queued: "queued_textures",
    counters: [
        (
            "texture_loads",
            "accesses",
            "wavefront loads sent through `textures`",
        ),
        (
            "texture_requests",
            "requests",
            "memory requests sent at `textures`",
        ),
    ],
    latency: (
        "texture_load_latency",
        "cycles from issue of a load sent through `textures` to its last response, including those of all earlier loads if order is kept",
    ),
};

impl ReadonlyPorts {
    pub(crate) fn new(spec: &ComputeUnitSpec, program: &Program) -> Self {
        let constants = spec.constants.as_ref();
        let port = |names, queue: Option<ReadonlyQueue>| ReadonlyPort {
            names,
            port: MemMaster::default(),
            control: CacheControlMaster::default(),
            queue: queue.map(Box::new),
        };
        Self([
            port(
                &CONSTANTS,
                constants.map(|spec| ReadonlyQueue::of_constants(spec, program)),
            ),
            port(
                &TEXTURES,
                spec.textures.as_ref().map(ReadonlyQueue::of_textures),
            ),
        ])
    }

    fn queues(&self) -> impl Iterator<Item = &ReadonlyQueue> {
        self.0.iter().filter_map(|port| port.queue.as_deref())
    }

    fn queues_mut(&mut self) -> impl Iterator<Item = &mut ReadonlyQueue> {
        self.0
            .iter_mut()
            .filter_map(|port| port.queue.as_deref_mut())
    }

    pub(crate) fn ports(&mut self, ports: &mut Ports<'_>) {
        for port in &mut self.0 {
            ports.optional(|ports| {
                ports.bundle(port.names.path, &mut port.port);
                ports.bundle(port.names.control, &mut port.control);
            });
        }
    }

    pub(crate) fn facts(&self, port: PortId, facts: &mut Facts) {
        for own in &self.0 {
            if port == own.names.request
                && let Some(queue) = &own.queue
            {
                facts.publish_from(own.names.line_bytes, LineBytes(queue.spec.line_bytes));
            }
        }
    }

    /// Returns the control ports that send invalidations to the caches.
    pub(crate) fn controls_mut(&mut self) -> impl Iterator<Item = &mut CacheControlMaster> {
        self.0.iter_mut().map(|port| &mut port.control)
    }

    /// Returns the same control ports by shared reference.
    pub(crate) fn controls(&self) -> impl Iterator<Item = &CacheControlMaster> {
        self.0.iter().map(|port| &port.control)
    }

    /// Notes that the next access of a wavefront, given by its bit, takes a read-only port. Returns
    /// false if it takes none.
    #[inline]
    pub(crate) fn note_next(&mut self, bit: u64, access: MemoryAccess, space: Space) -> bool {
        let queue = self.queues_mut().find(|queue| queue.takes(access, space));
        queue.is_some_and(|queue| {
            queue.next |= bit;
            true
        })
    }

    /// Wavefronts whose next record takes one of the ports.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.queues().fold(0, |next, queue| next | queue.next)
    }

    /// Returns the wavefronts whose next record needs a path with a full queue.
    #[inline]
    pub(crate) fn blocked_by_full_queue(&self) -> u64 {
        let full = self.queues().filter(|queue| queue.unit.is_full());
        full.fold(0, |behind, queue| behind | queue.next)
    }

    /// Queues the load of a wavefront, given by its bit, whose next record takes one of the ports.
    pub(crate) fn enqueue(&mut self, bit: u64, access: Access, ready_at: Cycle, load: Load<'_>) {
        for queue in self.queues_mut() {
            if queue.next & bit != 0 {
                queue.next &= !bit;
                queue.enqueue(access, ready_at, load);
            }
        }
    }

    /// Sends the requests that may leave in this cycle.
    pub(crate) fn send(&mut self, ctx: &mut Context<'_>) {
        for port in &mut self.0 {
            if let Some(queue) = &mut port.queue
                && queue.unit.has_work()
            {
                queue.send(ctx, &mut port.port);
            }
        }
    }

    /// Returns true if an answer can be taken.
    #[inline]
    pub(crate) fn has_answer(&self, ctx: &Context<'_>) -> bool {
        self.0.iter().any(|port| {
            let queue = port.queue.as_deref();
            queue.is_some_and(|queue| queue.has_answer(ctx, &port.port))
        })
    }

    /// Takes an answer, if one can be taken; the load when it was the last that it waited for.
    ///
    /// # Errors
    /// Fails if the response matches no outstanding request.
    pub(crate) fn receive(
        &mut self,
        ctx: &mut Context<'_>,
    ) -> Option<Result<Option<CompletedLoad>, String>> {
        self.0.iter_mut().find_map(|port| {
            let queue = port.queue.as_deref_mut()?;
            let received = queue.receive(ctx, &mut port.port)?;
            let name = port.names.path;
            Some(received.map_err(|message| format!("at `{name}`: {message}")))
        })
    }

    /// Returns the first cycle after `now` in which a request could be sent without an external
    /// event.
    #[inline]
    pub(crate) fn next_send(&self, now: Cycle) -> Option<Cycle> {
        self.queues()
            .filter_map(|queue| queue.unit.next_send(now))
            .min()
    }

    /// True if any read path has outstanding requests.
    pub(crate) fn await_answers(&self) -> bool {
        self.queues().any(|queue| queue.unit.outstanding() > 0)
    }

    /// True if a request is stalled by back-pressure of a port.
    pub(crate) fn are_blocked(&self) -> bool {
        self.queues().any(|queue| queue.unit.is_blocked)
    }

    /// Appends the requests of a load, if it takes one of the ports, whose name comes back.
    pub(crate) fn functional_requests(
        &self,
        access: MemoryAccess,
        load: Load<'_>,
        out: &mut Vec<Transaction>,
    ) -> Option<PortId> {
        let space = load.record.space;
        let taken = self.0.iter().find_map(|port| {
            let queue = port.queue.as_deref()?;
            queue.takes(access, space).then_some((port.names, queue))
        });
        let (names, queue) = taken?;
        queue.requests(load, out);
        Some(names.request)
    }

    pub(crate) fn show(&self, contents: &mut Contents<'_>) {
        for port in &self.0 {
            if let Some(queue) = &port.queue {
                queue.unit.show(port.names.shown, contents);
                contents.level(port.names.queued, queue.unit.queued() as u64);
            }
        }
    }

    /// Returns the hardware reason why requests cannot be sent.
    pub(crate) fn holdup(&self) -> Option<&'static str> {
        self.queues().find_map(|queue| queue.unit.holdup())
    }

    pub(crate) fn waits(&self, waits: &mut Waits<'_>) {
        for port in &self.0 {
            let Some(queue) = &port.queue else { continue };
            let (outstanding, queued) = (queue.unit.outstanding(), queue.unit.queued());
            if outstanding > 0 {
                let what = format!("{outstanding} requests wait for responses");
                waits.on_port(port.names.response, what);
            }
            if queued > 0 {
                waits.inside(format!("{queued} {} wait to be sent", port.names.loads));
            }
        }
    }

    pub(crate) fn report(&self, s: &mut Statistics<'_>) {
        for port in &self.0 {
            let Some(queue) = &port.queue else { continue };
            let counts = &queue.unit.counts;
            s.counters(&port.names.counters, &[counts.accesses, counts.reads]);
            let (name, meaning) = port.names.latency;
            s.histogram(name, "cycles", meaning, &queue.latency);
        }
    }
}

impl Stateful for ReadonlyPorts {
    fn state(&mut self, state: &mut State<'_>) {
        for port in &mut self.0 {
            if let Some(queue) = &mut port.queue {
                state.part(port.names.path, |state| queue.state(state));
            }
        }
    }
}
