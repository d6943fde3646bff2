//! The memory path: from lane addresses to requests, and from responses to the registers.
//!
//! ```text
//!   access ──► coalescer ──► load/store queue ──► memory.request       memory.response ──► access complete
//!         └──► coalescer ──► queue of a read-only port ──► constants.request, textures.request    likewise
//! ```

pub(crate) mod coalescer;
pub(crate) mod load_latency;
pub(crate) mod load_store;
pub(crate) mod readonly_ports;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Contents, Context, Cycle, Ports, State, Statistics, Waits};
use warpweave_trace::{Lanes, Program, Record};

use self::coalescer::Coalescing;
use self::load_latency::LoadLatency;
use self::load_store::{Access, LoadStoreUnit};
use self::readonly_ports::ReadonlyPorts;
use crate::compute_unit::spec::{ComputeUnitSpec, MemoryPipe};
use crate::memory::{Level, MemMaster, MemRequest};

/// The wire to the first-level cache with the load/store unit, and the ports to read-only caches.
#[derive(Ports, State, Statistics)]
pub(crate) struct MemoryPath {
    #[port(rename = "memory")]
    port: MemMaster,
    #[state(part)]
    #[statistic(flatten)]
    load_store: LoadStoreUnit,
    #[state(skip)]
    line_bytes: u32,
    /// Accesses to local memory queue up with others.
    #[state(skip)]
    queues_local: bool,
    #[state(flatten)]
    pub(crate) readonly: ReadonlyPorts,
    /// None: any number of accesses issue in a cycle.
    #[state(flatten)]
    issue_limit: Option<IssueLimit>,
    #[statistic(flatten)]
    pub(crate) load_latency: LoadLatency,
}

/// An access whose last response has come.
#[derive(Clone, Copy)]
pub(crate) struct Completed {
    pub(crate) access: Access,
    /// Supplied what came last.
    pub(crate) level: Level,
}

/// Accesses that issue in a cycle.
#[derive(State)]
struct IssueLimit {
    #[state(skip)]
    per_cycle: u32,
    issued: Issued,
}

/// The last cycle in which accesses issued, and how many.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Issued {
    cycle: Cycle,
    accesses: u32,
}

impl MemoryPath {
    pub(crate) fn new(spec: &ComputeUnitSpec, program: &Program) -> Self {
        let load_store = &spec.load_store;
        Self {
            port: MemMaster::default(),
            load_store: LoadStoreUnit::new(load_store),
            line_bytes: load_store.line_bytes,
            queues_local: load_store.pipe == MemoryPipe::InOrder,
            readonly: ReadonlyPorts::new(spec, program),
            issue_limit: load_store.issues_per_cycle.map(|per_cycle| IssueLimit {
                per_cycle,
                issued: Issued::default(),
            }),
            load_latency: LoadLatency::default(),
        }
    }

    /// Returns true if accesses to local memory queue up with others.
    #[inline]
    pub(crate) fn queues_local(&self) -> bool {
        self.queues_local
    }

    pub(crate) fn load_store(&self) -> &LoadStoreUnit {
        &self.load_store
    }

    /// True if the load/store queue is full.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.load_store.is_full()
    }

    /// Returns true if the limit keeps every further access from issuing in cycle `now`.
    #[inline]
    pub(crate) fn is_at_issue_limit(&self, now: Cycle) -> bool {
        self.issue_limit.as_ref().is_some_and(|limit| {
            limit.issued.cycle == now && limit.issued.accesses >= limit.per_cycle
        })
    }

    /// Returns true if the accesses that issue in a cycle are limited.
    #[inline]
    pub(crate) fn limits_issue(&self) -> bool {
        self.issue_limit.is_some()
    }

    /// An access that the limit counts issues.
    pub(crate) fn note_issue(&mut self, now: Cycle) {
        if let Some(IssueLimit { issued, .. }) = &mut self.issue_limit {
            let before = if issued.cycle == now {
                issued.accesses
            } else {
                0
            };
            *issued = Issued {
                cycle: now,
                accesses: before + 1,
            };
        }
    }

    /// Queues an access of `bytes` for each lane, whose first request may leave at `ready_at`.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        access: Access,
        ready_at: Cycle,
        record: &Record,
        lanes: &Lanes,
        bytes: u32,
        coalescing: Coalescing,
    ) {
        let line_bytes = self.line_bytes;
        let moved = if self.load_store.counts_bytes() {
            record.mask.count_ones() * bytes
        } else {
            0
        };
        self.load_store.enqueue(access, ready_at, moved, |out| {
            coalescing.transactions(lanes, record.mask, bytes, line_bytes, out);
        });
    }

    /// Queues a local-memory access that may start service at `ready_at` and takes `cycles`.
    pub(crate) fn enqueue_local(&mut self, access: Access, ready_at: Cycle, cycles: u32) {
        self.load_store.enqueue_local(access, ready_at, cycles);
    }

    /// Returns true if sending may do something.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.load_store.has_work()
    }

    /// Sends the requests that may leave in this cycle and passes each to `watch`. Returns the
    /// local-memory access whose service begins.
    #[inline]
    pub(crate) fn send(
        &mut self,
        ctx: &mut Context<'_>,
        watch: impl FnMut(&MemRequest),
    ) -> Option<Access> {
        self.load_store.send(ctx, &mut self.port, watch)
    }

    /// Returns true if a response can be taken.
    #[inline(always)]
    pub(crate) fn has_response(&self, ctx: &Context<'_>) -> bool {
        self.port.response.peek(ctx).is_some()
    }

    /// Takes the oldest response; the access when it was the last that it waited for.
    ///
    /// # Errors
    /// A response to nothing that was asked.
    #[inline(always)]
    pub(crate) fn receive(&mut self, ctx: &mut Context<'_>) -> Result<Option<Completed>, String> {
        let Some(response) = self.port.response.pop(ctx) else {
            return Ok(None);
        };
        let access = self.load_store.receive(&response)?;
        Ok(access.map(|access| Completed {
            access,
            level: response.level,
        }))
    }

    pub(crate) fn show(&self, contents: &mut Contents<'_>) {
        self.load_store.show("request", contents);
    }

    /// Shows how full the queues are, and why requests do not leave.
    pub(crate) fn show_queues(&self, contents: &mut Contents<'_>) {
        contents.level("queued_accesses", self.load_store.queued() as u64);
        self.readonly.show(contents);
        let holdup = self.load_store.holdup();
        contents.blocked(holdup.or_else(|| self.readonly.holdup()));
    }

    /// Names the requests that are not answered.
    pub(crate) fn waits_for_responses(&self, waits: &mut Waits<'_>) {
        let outstanding = self.load_store.outstanding();
        if outstanding > 0 {
            let what = format!("{outstanding} requests wait for responses");
            waits.on_port("memory.response", what);
        }
    }

    /// Names the accesses that have not left.
    pub(crate) fn waits_to_send(&self, waits: &mut Waits<'_>) {
        if self.load_store.queued() > 0 {
            let what = format!("{} accesses wait to be sent", self.load_store.queued());
            waits.inside(what);
        }
        self.readonly.waits(waits);
    }
}
