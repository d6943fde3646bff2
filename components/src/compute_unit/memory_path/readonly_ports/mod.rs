//! Paths to caches that are read alone: that of constants and arguments, and that of textures, each with a queue of
//! its own beside that of the load/store unit.
//!
//! ```text
//!   issue ──► [queue of loads, each its list of requests] ──► constants, or textures
//!             registers ◄── [in the order of requests, if so] ◄── answers
//! ```
//!
//! A unit with one of them is evaluated in one of the ways that are not plain ([`way`](super::way)): others do not
//! come here in a cycle.

mod addresses;
mod fit;
mod in_order;
mod loads;
mod queue;
mod state;

use warpweave_framework::{Contents, Context, Cycle, Facts, Ports, Statistics, Waits};
use warpweave_trace::{Lanes, Program, Record, Space};

use self::queue::ReadQueue;
use crate::compute_unit::ComputeUnitSpec;
use crate::compute_unit::decoded::Decoded;
use crate::compute_unit::memory_path::coalescer::Transaction;
use crate::launch::CacheControlMaster;
use crate::memory::{LineBytes, MemMaster};

/// The paths, constants first.
pub(crate) struct ReadPaths([ReadPath; 2]);

/// A path, or its ports where there is none.
struct ReadPath {
    names: &'static Names,
    port: MemMaster,
    control: CacheControlMaster,
    queue: Option<Box<ReadQueue>>,
}

/// What the parts of a path are called.
struct Names {
    /// The path, its ports and its field.
    path: &'static str,
    request: &'static str,
    response: &'static str,
    control: &'static str,
    line_bytes: &'static str,
    /// Loads that take it.
    loads: &'static str,
    /// One of its requests.
    shown: &'static str,
    queued: &'static str,
    /// Names of statistics, with what they count.
    counters: [(&'static str, &'static str, &'static str); 2],
    latency: (&'static str, &'static str),
}

const CONSTANTS: Names = Names {
    path: "constants",
    request: "constants.request",
    response: "constants.response",
    control: "constants_control",
    line_bytes: "constants.line_bytes",
    loads: "loads from constant and argument memory",
    shown: "request for constants",
    queued: "queued_constants",
    counters: [
        (
            "constant_loads",
            "accesses",
            "loads of wavefronts from constant and argument memory that left by `constants`",
        ),
        (
            "constant_requests",
            "requests",
            "memory requests sent at `constants`",
        ),
    ],
    latency: (
        "constant_load_latency",
        "cycles from issue of a load that left by `constants` to its last response",
    ),
};

const TEXTURES: Names = Names {
    path: "textures",
    request: "textures.request",
    response: "textures.response",
    control: "textures_control",
    line_bytes: "textures.line_bytes",
    loads: "reads of textures",
    shown: "request for textures",
    queued: "queued_textures",
    counters: [
        (
            "texture_loads",
            "accesses",
            "loads of wavefronts that left by `textures`",
        ),
        (
            "texture_requests",
            "requests",
            "memory requests sent at `textures`",
        ),
    ],
    latency: (
        "texture_load_latency",
        "cycles from issue of a load that left by `textures` to its last response, and those to all before it if \
         they keep their order",
    ),
};

impl ReadPaths {
    pub(crate) fn new(spec: &ComputeUnitSpec, program: &Program) -> Self {
        let constants = spec.constants.as_ref();
        let path = |names, queue: Option<ReadQueue>| ReadPath {
            names,
            port: MemMaster::default(),
            control: CacheControlMaster::default(),
            queue: queue.map(Box::new),
        };
        Self([
            path(
                &CONSTANTS,
                constants.map(|spec| ReadQueue::of_constants(spec, program)),
            ),
            path(
                &TEXTURES,
                spec.textures.as_ref().map(ReadQueue::of_textures),
            ),
        ])
    }

    fn queues(&self) -> impl Iterator<Item = &ReadQueue> {
        self.0.iter().filter_map(|path| path.queue.as_deref())
    }

    fn queues_mut(&mut self) -> impl Iterator<Item = &mut ReadQueue> {
        self.0
            .iter_mut()
            .filter_map(|path| path.queue.as_deref_mut())
    }

    /// The longest time from the last answer to a load to its result.
    pub(crate) fn longest_writeback(spec: &ComputeUnitSpec) -> u32 {
        let constants = spec.constants.map(|spec| spec.writeback_latency);
        let textures = spec.textures.map(|spec| spec.writeback_latency);
        constants.max(textures).unwrap_or(0)
    }

    pub(crate) fn ports(&mut self, ports: &mut Ports<'_>) {
        for path in &mut self.0 {
            ports.optional(|ports| {
                ports.bundle(path.names.path, &mut path.port);
                ports.bundle(path.names.control, &mut path.control);
            });
        }
    }

    pub(crate) fn facts(&self, port: &str, facts: &mut Facts) {
        for path in &self.0 {
            if port == path.names.request
                && let Some(queue) = &path.queue
            {
                facts.publish_from(path.names.line_bytes, LineBytes(queue.spec.line_bytes));
            }
        }
    }

    /// Wires to the caches, by which they are told to drop their lines.
    pub(crate) fn controls(&mut self) -> impl Iterator<Item = &mut CacheControlMaster> {
        self.0.iter_mut().map(|path| &mut path.control)
    }

    /// The same, to look at.
    pub(crate) fn controls_there(&self) -> impl Iterator<Item = &CacheControlMaster> {
        self.0.iter().map(|path| &path.control)
    }

    /// Notes whether an access to a space, which is the next of a wavefront given by its bit, takes one of the paths.
    #[inline]
    pub(crate) fn take(&mut self, bit: u64, decoded: &Decoded, space: Space) -> bool {
        let queue = self.queues_mut().find(|queue| queue.takes(decoded, space));
        queue.is_some_and(|queue| {
            queue.next |= bit;
            true
        })
    }

    /// Wavefronts whose next record takes one of the paths.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.queues().fold(0, |next, queue| next | queue.next)
    }

    /// Of these, those whose queue is full.
    #[inline]
    pub(crate) fn behind_full(&self) -> u64 {
        let full = self.queues().filter(|queue| queue.unit.is_full());
        full.fold(0, |behind, queue| behind | queue.next)
    }

    /// Sends what may leave in this cycle.
    pub(crate) fn send(&mut self, ctx: &mut Context<'_>) {
        for path in &mut self.0 {
            if let Some(queue) = &mut path.queue
                && queue.unit.has_work()
            {
                let in_order = &mut queue.in_order;
                // No access to local memory is among them.
                queue.unit.send(ctx, &mut path.port, |request| {
                    if let Some(in_order) = in_order {
                        in_order.sent(request.id);
                    }
                });
            }
        }
    }

    /// The first cycle after `now` in which something could leave by itself.
    #[inline]
    pub(crate) fn next_send(&self, now: Cycle) -> Option<Cycle> {
        self.queues()
            .filter_map(|queue| queue.unit.next_send(now))
            .min()
    }

    /// Whether answers are awaited.
    pub(crate) fn await_answers(&self) -> bool {
        self.queues().any(|queue| queue.unit.outstanding() > 0)
    }

    /// Whether something waits for a wire.
    pub(crate) fn are_blocked(&self) -> bool {
        self.queues().any(|queue| queue.unit.is_blocked)
    }

    /// The requests of a load of no time and the port by which they leave, if it takes one of the paths.
    pub(crate) fn untimed(
        &self,
        kernel: u32,
        decoded: &Decoded,
        (record, lanes): (&Record, &Lanes),
        out: &mut Vec<Transaction>,
    ) -> Option<&'static str> {
        let path = self.0.iter().find_map(|path| {
            let queue = path.queue.as_ref()?;
            queue
                .takes(decoded, record.space)
                .then_some((path.names, queue))
        });
        let (names, queue) = path?;
        queue.requests(kernel, (record, lanes), u32::from(decoded.bytes), out);
        Some(names.request)
    }

    pub(crate) fn show(&self, contents: &mut Contents<'_>) {
        for path in &self.0 {
            if let Some(queue) = &path.queue {
                queue.unit.show(path.names.shown, contents);
                contents.level(path.names.queued, queue.unit.queued() as u64);
            }
        }
    }

    /// Why requests do not leave.
    pub(crate) fn holdup(&self) -> Option<&'static str> {
        self.queues().find_map(|queue| queue.unit.holdup())
    }

    pub(crate) fn waits(&self, waits: &mut Waits<'_>) {
        for path in &self.0 {
            let Some(queue) = &path.queue else { continue };
            let (outstanding, queued) = (queue.unit.outstanding(), queue.unit.queued());
            if outstanding > 0 {
                let what = format!("{outstanding} requests wait for responses");
                waits.on_port(path.names.response, what);
            }
            if queued > 0 {
                waits.inside(format!("{queued} {} wait to be sent", path.names.loads));
            }
        }
    }

    pub(crate) fn report(&self, s: &mut Statistics<'_>) {
        for path in &self.0 {
            let Some(queue) = &path.queue else { continue };
            let counts = &queue.unit.counts;
            s.counters(&path.names.counters, &[counts.accesses, counts.reads]);
            let (name, meaning) = path.names.latency;
            s.histogram(name, "cycles", meaning, &queue.latency);
        }
    }
}
