//! Load/store unit: queue of accesses to be sent, and table of outstanding requests.
//!
//! ```text
//!   issue ──► [queue of accesses, each its list of lines] ──► request, one line at a time
//!                                                     response ──► last one completes the access
//! ```
//!
//! With [`MemoryPipe::InOrder`](crate::compute_unit::MemoryPipe) accesses to local memory are
//! queued too. One leaves the queue when it is served, but occupies its entry until its last bank
//! conflict is served.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Contents, Context, Cycle, Id, IdTable, State, Stateful, Statistics};

use crate::compute_unit::memory_path::coalescer::Transaction;
use crate::compute_unit::spec::LoadStoreSpec;
use crate::memory::{MemMaster, MemRequest, MemResponse, RequestKind, Source, transaction};

/// One memory instruction in flight in the load/store unit.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Access {
    pub(crate) source: Source,
    /// Index of the instruction in the decoded program.
    pub(crate) instruction: u32,
    pub(crate) issued: Cycle,
    pub(crate) kind: RequestKind,
    pub(crate) flags: u16,
    /// Number of requests without a response, sent or not; 1 for a local-memory access.
    remaining: u32,
    /// Service cycles of a local-memory access; 0 for other accesses.
    pub(crate) local_cycles: u32,
}

impl Access {
    pub(crate) fn new(
        source: Source,
        instruction: u32,
        issued: Cycle,
        kind: RequestKind,
        flags: u16,
    ) -> Self {
        Self {
            source,
            instruction,
            issued,
            kind,
            flags,
            remaining: 0,
            local_cycles: 0,
        }
    }
}

/// An access that waits to be sent; the line list keeps its allocation when the entry is reused.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Queued {
    ready_at: Cycle,
    access: Id,
    next: u32,
    /// Bytes that its active lanes move together.
    bytes: u32,
    lines: Vec<Transaction>,
    is_local: bool,
}

/// Request and access counters of the load/store unit.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, Statistics)]
pub(crate) struct LoadStoreCounts {
    /// memory requests sent to read
    #[statistic(name = "read_requests", unit = "requests")]
    pub(crate) reads: u64,
    /// memory requests sent to write
    #[statistic(name = "write_requests", unit = "requests")]
    writes: u64,
    /// memory requests sent for atomics
    #[statistic(name = "atomic_requests", unit = "requests")]
    atomics: u64,
    /// memory requests sent to fetch ahead, for prefetch instructions
    #[statistic(name = "prefetch_requests", unit = "requests")]
    prefetches: u64,
    /// memory requests sent per access of a wavefront to global or private memory
    #[statistic(
        name = "requests_per_access",
        ratio,
        value = self.reads + self.writes + self.atomics + self.prefetches,
        whole = self.accesses,
        of = "accesses"
    )]
    pub(crate) accesses: u64,
}

/// Path between the lanes and the first level, which moves so many bytes in a cycle.
#[derive(Clone, Copy)]
struct DataPath {
    bytes_per_cycle: u64,
    /// Time at which it is free, in cycles times the bytes of one.
    free: u64,
}

impl DataPath {
    /// Returns the first cycle in which the next access may begin.
    fn free_from(self) -> Cycle {
        self.free / self.bytes_per_cycle
    }

    /// Takes the bytes of an access that begins in cycle `now`.
    fn take(&mut self, now: Cycle, bytes: u32) {
        self.free = self.free.max(now * self.bytes_per_cycle) + u64::from(bytes);
    }
}

/// Queues memory accesses, sends their requests and collects the responses.
#[derive(Statistics)]
pub(crate) struct LoadStoreUnit {
    queue: Box<[Queued]>,
    head: usize,
    length: usize,
    accesses: IdTable<Access>,
    /// Access and line address of each outstanding request.
    requests: IdTable<(Id, u64)>,
    outstanding_max: u32,
    requests_per_cycle: u32,
    write_sequence: u32,
    /// End cycle of the local-memory access in service; `holds_place` is true while it keeps its
    /// queue entry.
    local_until: Cycle,
    holds_place: bool,
    /// None: accesses move any number of bytes in a cycle.
    data: Option<DataPath>,
    /// True if the port accepted no more requests in the current cycle.
    pub(crate) is_blocked: bool,
    #[statistic(flatten)]
    pub(crate) counts: LoadStoreCounts,
}

impl LoadStoreUnit {
    pub(crate) fn new(spec: &LoadStoreSpec) -> Self {
        let data = spec.bytes_per_cycle.map(|bytes| DataPath {
            bytes_per_cycle: u64::from(bytes),
            free: 0,
        });
        Self {
            data,
            ..Self::of(
                spec.queue_depth,
                spec.requests_per_cycle,
                spec.outstanding_max,
            )
        }
    }

    /// Creates a unit with these limits: queued accesses, requests per cycle and outstanding
    /// requests.
    pub(crate) fn of(queue_depth: u32, requests_per_cycle: u32, outstanding_max: u32) -> Self {
        Self {
            queue: vec![Queued::default(); queue_depth as usize].into(),
            head: 0,
            length: 0,
            accesses: IdTable::default(),
            requests: IdTable::default(),
            outstanding_max,
            requests_per_cycle,
            write_sequence: 0,
            local_until: 0,
            holds_place: false,
            data: None,
            is_blocked: false,
            counts: LoadStoreCounts::default(),
        }
    }

    /// Returns the queued accesses, oldest first, without unused entries.
    fn save_queue(&self) -> Vec<Queued> {
        let (before, after) = self.queue.split_at(self.head);
        after
            .iter()
            .chain(before)
            .take(self.length)
            .cloned()
            .collect()
    }

    fn load_queue(&mut self, saved: Vec<Queued>) -> Result<(), String> {
        if saved.len() > self.queue.len() {
            return Err(format!("the queue has {} places", self.queue.len()));
        }
        self.head = 0;
        self.length = saved.len();
        for (place, queued) in self.queue.iter_mut().zip(saved) {
            *place = queued;
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.length + usize::from(self.holds_place) >= self.queue.len()
    }

    /// True if an access waits to be sent or served, or still holds its entry. Otherwise sending
    /// has no effect.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.length > 0 || self.holds_place
    }

    /// True if the bytes of accesses decide when the next may begin.
    #[inline]
    pub(crate) fn counts_bytes(&self) -> bool {
        self.data.is_some()
    }

    /// Queues an access whose first request may be sent at `ready_at`; its lanes move `bytes`, and
    /// `coalesce` lists its lines.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        mut access: Access,
        ready_at: Cycle,
        bytes: u32,
        coalesce: impl FnOnce(&mut Vec<Transaction>),
    ) {
        let place = self.place(ready_at, false);
        let queued = &mut self.queue[place];
        queued.bytes = bytes;
        coalesce(&mut queued.lines);
        access.remaining = queued.lines.len() as u32;
        queued.access = self.accesses.insert(access);
        self.counts.accesses += 1;
    }

    /// Queues a local-memory access that may start service at `ready_at` and takes `cycles`.
    pub(crate) fn enqueue_local(&mut self, mut access: Access, ready_at: Cycle, cycles: u32) {
        let place = self.place(ready_at, true);
        access.remaining = 1;
        access.local_cycles = cycles;
        self.queue[place].access = self.accesses.insert(access);
    }

    /// Allocates and clears the next queue entry.
    #[inline]
    fn place(&mut self, ready_at: Cycle, is_local: bool) -> usize {
        debug_assert!(!self.is_full());
        let mut place = self.head + self.length;
        if place >= self.queue.len() {
            place -= self.queue.len();
        }
        self.length += 1;
        let queued = &mut self.queue[place];
        queued.lines.clear();
        queued.ready_at = ready_at;
        queued.next = 0;
        queued.is_local = is_local;
        place
    }

    /// Sends the requests that may leave in this cycle, oldest access first, and passes each to
    /// `watch`. Returns the local-memory access whose service starts; it has the cycle to itself.
    #[inline]
    pub(crate) fn send(
        &mut self,
        ctx: &mut Context<'_>,
        port: &mut MemMaster,
        mut watch: impl FnMut(&MemRequest),
    ) -> Option<Access> {
        self.is_blocked = false;
        let now = ctx.cycle();
        if self.holds_place && now + 1 >= self.local_until {
            self.holds_place = false;
        }
        if self.local_until > now {
            return None;
        }
        for sent in 0..self.requests_per_cycle {
            if self.length == 0 {
                return None;
            }
            let queued = &self.queue[self.head];
            if queued.ready_at > now {
                return None;
            }
            if queued.is_local {
                return if sent == 0 {
                    self.serve_local(now)
                } else {
                    None
                };
            }
            if self.outstanding() >= self.outstanding_max {
                return None;
            }
            if !port.request.can_send(ctx) {
                self.is_blocked = true;
                return None;
            }
            if queued.next == 0
                && let Some(data) = &mut self.data
            {
                if data.free_from() > now {
                    return None;
                }
                data.take(now, queued.bytes);
            }
            let request = self.take_request();
            watch(&request);
            port.request.send(ctx, request);
        }
        None
    }

    /// Starts service of the local-memory access at the head of the queue.
    fn serve_local(&mut self, now: Cycle) -> Option<Access> {
        let id = self.queue[self.head].access;
        self.leave();
        let access = self.accesses.remove(id)?;
        self.local_until = now + u64::from(access.local_cycles);
        self.holds_place = access.local_cycles > 1;
        Some(access)
    }

    /// Removes the access at the head of the queue.
    #[inline]
    fn leave(&mut self) {
        self.head = (self.head + 1) % self.queue.len();
        self.length -= 1;
    }

    #[inline(always)]
    fn take_request(&mut self) -> MemRequest {
        let queued = &mut self.queue[self.head];
        let Transaction { line, words } = queued.lines[queued.next as usize];
        let owner = queued.access;
        queued.next += 1;
        if queued.next as usize == queued.lines.len() {
            self.leave();
        }
        let id = self.requests.insert((owner, line)).bits();
        let access = &self.accesses[owner];
        match access.kind {
            RequestKind::Write => self.counts.writes += 1,
            RequestKind::Atomic => self.counts.atomics += 1,
            RequestKind::Prefetch => self.counts.prefetches += 1,
            _ => self.counts.reads += 1,
        }
        let write_sequence = if access.kind.carries_data() {
            self.write_sequence = self.write_sequence.wrapping_add(1);
            self.write_sequence
        } else {
            0
        };
        MemRequest {
            line,
            id,
            words,
            source: access.source,
            write_sequence,
            kind: access.kind,
            flags: access.flags,
        }
    }

    /// Takes a response. Returns the access if this was its last outstanding request.
    ///
    /// # Errors
    /// Fails if the response matches no outstanding request.
    #[inline(always)]
    pub(crate) fn receive(&mut self, response: &MemResponse) -> Result<Option<Access>, String> {
        let Some((owner, line)) = self.requests.remove(Id::from_bits(response.id)) else {
            return Err(format!(
                "a response has id {}, which matches no request in flight",
                response.id
            ));
        };
        if line != response.line {
            return Err(format!(
                "the response to request {} names line {:#x} instead of {line:#x}",
                response.id, response.line
            ));
        }
        let access = &mut self.accesses[owner];
        access.remaining -= 1;
        if access.remaining > 0 {
            return Ok(None);
        }
        Ok(self.accesses.remove(owner))
    }

    /// Returns the number of requests sent and not yet answered.
    #[inline]
    pub(crate) fn outstanding(&self) -> u32 {
        self.requests.len() as u32
    }

    /// Shows every outstanding request in the recording under this name.
    pub(crate) fn show(&self, name: &'static str, contents: &mut Contents<'_>) {
        for (id, &(owner, line)) in self.requests.iter() {
            let source = &self.accesses[owner].source;
            contents
                .thing(name, id.place() as u64)
                .flow(Some(transaction(line, source)))
                .number("line", line)
                .number("wavefront", u64::from(source.wavefront_slot))
                .number("instruction", u64::from(source.pc));
        }
    }

    /// Returns the hardware reason why requests cannot be sent.
    pub(crate) fn holdup(&self) -> Option<&'static str> {
        let full = self.length > 0 && self.outstanding() >= self.outstanding_max;
        if self.is_blocked {
            Some("the next level has no room for a request")
        } else if full {
            Some("the maximum number of requests is outstanding")
        } else {
            None
        }
    }

    /// Returns the number of accesses that wait to be sent.
    pub(crate) fn queued(&self) -> usize {
        self.length
    }

    /// Returns the first cycle after `now` in which the unit could send without an external event.
    /// `None` while it waits for a response or the port.
    #[inline]
    pub(crate) fn next_send(&self, now: Cycle) -> Option<Cycle> {
        if self.holds_place {
            return Some(self.local_until.saturating_sub(1).max(now + 1));
        }
        if self.length == 0 || self.is_blocked {
            return None;
        }
        let queued = &self.queue[self.head];
        if !queued.is_local && self.outstanding() >= self.outstanding_max {
            return None;
        }
        let free = match &self.data {
            Some(data) if queued.next == 0 && !queued.is_local => data.free_from(),
            _ => 0,
        };
        Some(queued.ready_at.max(self.local_until).max(free).max(now + 1))
    }
}

impl Stateful for LoadStoreUnit {
    fn state(&mut self, state: &mut State<'_>) {
        state.field_as("queue", self, Self::save_queue, Self::load_queue);
        state.field("accesses", &mut self.accesses);
        state.field("requests", &mut self.requests);
        state.field("write_sequence", &mut self.write_sequence);
        state.field("local_until", &mut self.local_until);
        state.field("holds_place", &mut self.holds_place);
        if let Some(data) = &mut self.data {
            state.field("data_free", &mut data.free);
        }
        state.field("is_blocked", &mut self.is_blocked);
        state.field("counts", &mut self.counts);
    }
}
