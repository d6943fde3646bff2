//! A GDDR5 memory controller with its channel of devices.
//!
//! ```text
//!            one access per CK            one command per CK
//!  up[0] ─┐   ┌───────────┐   ┌────────────┐   ┌────────────────────┐
//!  up[1] ─┼──►│ arbiter,  │──►│ read queue │──►│ FR-FCFS scheduler, │──► banks of `devices`
//!   ...   │   │ splitter  │──►│ write queue│──►│ refresh            │    x32 devices, in lock step
//!         │   └───────────┘   └────────────┘   └────────────────────┘          │
//!         └◄── per-port responses ◄── reassembly, `latency_cycles` ◄───────────┘
//! ```
//!
//! # Ports
//! | name | direction | message | back-pressure |
//! |---|---|---|---|
//! | `up[i].request` | in | [`MemRequest`]: read, prefetch, write, copy-back | stays in the port while its queue is full, while no transaction slot is free, or while a write's line is still being read |
//! | `up[i].response` | out | [`MemResponse`](crate::memory::MemResponse) of level DRAM | finished responses wait; when all slots wait, requests do too |
//!
//! # Timing
//! The clock of the component is CK. A request names words of a line; every access (32 B ×
//! `devices`) it touches is one burst. One access per cycle enters the queues; ports take turns
//! (round robin over ports whose oldest request can enter). Convention of the front end, shared
//! with the reference data: a request **accepted in cycle c** causes its first command **in cycle
//! c + 1** at the earliest, and a slot freed by a command of cycle c can be taken in cycle c.
//!
//! Idle latency: a read of one access readable in cycle `c` on an idle channel is answered by a
//! response sent in cycle `c + R`, with BL = `burst_cycles` and L = `latency_cycles`:
//!
//! | bank | R |
//! |---|---|
//! | row open | 1 + tCL + BL + L |
//! | closed | 1 + tRCDRD + tCL + BL + L |
//! | another row open | 1 + tRP + tRCDRD + tCL + BL + L |
//!
//! `k` accesses of one read in one row add (k - 1) × max(tCCD, BL), where tCCD is tCCD_L if the
//! mapping keeps them in one bank group and tCCD_S if it rotates groups (and tCCD ≥ 1). The
//! response leaves when the last beat of the last access has arrived. A read answered from a
//! waiting write takes R = 1 + L.
//!
//! Writes are posted: the acknowledgement is sent in the cycle after the last of the `k` accesses
//! entered the write queue, R = k. Copy-backs are not answered. From then on the write is ordered:
//! a later read of the access is answered from the queue.
//!
//! Order per source and line is kept: a read's response never overtakes that of an older read of
//! the same source, port and line, and a write (whoever sends it) stays in its port while reads of
//! its line are unanswered.
//!
//! Refresh: all banks, once per tREFI, see [`Controller`]. An idle controller sleeps through
//! refreshes and makes up for them when it is asked next; its statistics always include them.
//!
//! # Not modelled
//! Per-bank refresh, auto-precharge, power-down and self-refresh, clock and data training, error
//! detection codes, command and address bus splitting. A masked write that waits answers reads of
//! all words of its access.
//!
//! ```
//! use warpweave_components::dram::{Field, GddrController, GddrSpec, Geometry, Timing};
//! use warpweave_components::memory::{Level, MemRequest, MemResponse};
//! use warpweave_framework::TestBench;
//!
//! let spec = GddrSpec {
//!     ports: 1,
//!     devices: 4,
//!     interleave: None,
//!     geometry: Geometry { bank_groups: 4, banks_per_group: 4, rows: 4096, columns: 64 },
//!     mapping: vec![Field::BankGroup, Field::Column, Field::Bank, Field::Row],
//!     timing: Timing {
//!         burst_cycles: 2, t_cl: 12, t_wl: 4, t_rcd_rd: 12, t_rcd_wr: 12, t_rp: 12, t_ras: 28,
//!         t_rc: 40, t_rrd_s: 6, t_rrd_l: 6, t_ccd_s: 2, t_ccd_l: 3, t_rtw: None, t_wtr_s: 5,
//!         t_wtr_l: 5, t_rtp: 2, t_wr: 12, t_faw: 23, t_32aw: 184, t_ppd: 1, t_refi: 2660,
//!         t_rfc: 154,
//!     },
//!     read_queue: 32,
//!     write_queue: 32,
//!     write_high: 25,
//!     write_low: 7,
//!     response_queue: 8,
//!     latency_cycles: 0,
//!     refresh: true,
//! };
//! let mut bench = TestBench::new();
//! bench.add("dram", GddrController::new(&spec)?);
//! let requests = bench.source::<MemRequest>("dram.up[0].request");
//! let responses = bench.sink::<MemResponse>("dram.up[0].response");
//! let read = MemRequest::read(0, 0x1000, u32::MAX);
//! requests.send_at(10, read);
//! // All banks are closed: 1 + tRCDRD + tCL + BL.
//! bench.expect_at(&responses, 10 + 27, &read.answer(Level::Dram));
//! # Ok::<(), warpweave_framework::SpecError>(())
//! ```

mod banks;
mod checker;
mod controller;
mod mapping;
mod timing;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Context, Cycle, Environment, Histogram, Kind, Next, Ports, SpecError, Statistics,
    Waits,
};

use crate::interleave::Interleave;
use crate::memory::{LINE_BYTES_MAX, Level, MemRequest, MemSlave, RequestKind};

pub use banks::Command;
pub use checker::{Checker, Report, RuleReport, Violation};
pub use controller::{ChannelStats, Controller, Issued, Offer, Queues, Request};
pub use mapping::{Field, Geometry, Location, Mapping};
pub use timing::Timing;

use controller::QUEUE_MAX;

/// Bytes of one burst of one x32 device: 8 beats of 4 bytes.
const DEVICE_ACCESS_BYTES: u32 = 32;
const PORTS_MAX: u32 = 64;
const LATENCY_MAX: u32 = 1 << 20;

/// What a description sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GddrSpec {
    /// Number of `up` ports, 1 to 64.
    pub ports: u32,
    /// x32 devices that work in lock step: 1, 2 or 4. An access moves 32 bytes times this.
    pub devices: u32,
    /// How addresses are dealt to channels; left out, addresses are the channel's own.
    #[serde(default)]
    pub interleave: Option<Interleave>,
    /// Banks, rows and columns.
    pub geometry: Geometry,
    /// Fields of the access number, least significant first: `[BankGroup, Column, Bank, Row]`
    /// rotates bank groups with every access. Numbers beyond the last row start over at row 0.
    pub mapping: Vec<Field>,
    /// Timing of the devices in cycles of CK, the clock of this component.
    pub timing: Timing,
    /// Accesses the read queue holds.
    pub read_queue: u32,
    /// Accesses the write queue holds.
    pub write_queue: u32,
    /// Writes are served when more than this many wait (or no reads do).
    pub write_high: u32,
    /// Reads are served again when fewer writes than this wait.
    pub write_low: u32,
    /// Finished responses that may wait for their ports beyond the reads the channel itself keeps
    /// under way, at least 1.
    pub response_queue: u32,
    /// Cycles added to every read between the last data beat and its response.
    pub latency_cycles: u32,
    /// Whether the devices are refreshed.
    pub refresh: bool,
}

impl GddrSpec {
    /// Bytes one access moves.
    pub fn access_bytes(&self) -> u32 {
        DEVICE_ACCESS_BYTES * self.devices
    }

    fn queues(&self) -> Queues {
        Queues {
            reads: self.read_queue,
            writes: self.write_queue,
            write_high: self.write_high,
            write_low: self.write_low,
        }
    }

    fn check(&self) -> Result<(), SpecError> {
        let between = |field: &str, value: u32, low: u32, high: u32| {
            SpecError::require((low..=high).contains(&value), field, || {
                format!("{value} is not between {low} and {high}")
            })
        };
        between("ports", self.ports, 1, PORTS_MAX)?;
        between("read_queue", self.read_queue, 1, QUEUE_MAX)?;
        between("write_queue", self.write_queue, 1, QUEUE_MAX)?;
        between("response_queue", self.response_queue, 1, QUEUE_MAX)?;
        between("latency_cycles", self.latency_cycles, 0, LATENCY_MAX)?;
        between("write_low", self.write_low, 0, self.write_queue)?;
        SpecError::require(
            self.write_low <= self.write_high && self.write_high < self.write_queue,
            "write_high",
            || {
                format!(
                    "{} must be at least write_low ({}) and below write_queue ({})",
                    self.write_high, self.write_low, self.write_queue
                )
            },
        )?;
        SpecError::require(matches!(self.devices, 1 | 2 | 4), "devices", || {
            format!("{} is not 1, 2 or 4", self.devices)
        })?;
        if let Some(interleave) = &self.interleave {
            interleave.check("interleave")?;
            SpecError::require(
                interleave.granule_bytes >= self.access_bytes(),
                "interleave.granule_bytes",
                || {
                    format!(
                        "{} is less than an access of {} bytes",
                        interleave.granule_bytes,
                        self.access_bytes()
                    )
                },
            )?;
        }
        self.geometry.check("geometry")?;
        self.timing.check("timing", self.refresh)
    }

    /// Reads that may be unanswered at a time: those in the queue, active, on the way back, and
    /// finished but not sent.
    fn transactions(&self) -> usize {
        let under_way = self.timing.read_data_end() + self.latency_cycles;
        let apart = self.timing.t_ccd_s.max(self.timing.burst_cycles);
        self.read_queue as usize
            + self.geometry.banks() as usize
            + under_way.div_ceil(apart) as usize
            + self.response_queue as usize
    }
}

/// What the component counts beside the channel itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct GddrStats {
    read_requests: u64,
    write_requests: u64,
    copy_backs: u64,
    wrapped: u64,
    latency: Histogram,
}

/// No transaction.
const NONE: u32 = u32::MAX;

/// A request between its acceptance and its response.
#[derive(Clone, Copy)]
struct Transaction {
    request: MemRequest,
    port: u32,
    accepted: Cycle,
    /// Accesses without data so far.
    missing: u32,
    /// Write sequence known when the request was ordered.
    write_sequence: u32,
    /// An older read of the same source, port and line is unanswered.
    waits_for_older: bool,
    /// The younger read that waits for this one.
    younger: u32,
    live: bool,
}

/// The request whose accesses are entering the queues.
#[derive(Clone, Copy)]
struct Splitting {
    transaction: u32,
    write: bool,
    answered: bool,
    /// Number of the first access of the line.
    first: u64,
    /// Accesses not yet entered, relative to `first`.
    left: u8,
}

/// The component.
pub struct GddrController {
    up: Vec<MemSlave>,
    core: Controller,
    mapping: Mapping,
    interleave: Option<Interleave>,
    access_bytes: u32,
    latency: Cycle,
    burst_cycles: u64,
    /// The most transactions, and the transactions.
    limit: usize,
    transactions: Vec<Transaction>,
    free: Vec<u32>,
    splitting: Option<Splitting>,
    /// The port looked at first.
    turn: usize,
    /// Acknowledgements: (cycle of sending, transaction).
    acknowledgements: VecDeque<(Cycle, u32)>,
    /// Finished transactions per port, and the ports that have any.
    ready: Vec<VecDeque<u32>>,
    ready_ports: u64,
    /// Unanswered reads, counted by a hash of their line.
    reads_by_line: Box<[u16; 256]>,
    /// Highest write sequence of every line that was written with one.
    sequences: FxHashMap<u64, u32>,
    stats: GddrStats,
}

impl GddrController {
    /// Builds the component.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn new(spec: &GddrSpec) -> Result<Self, SpecError> {
        spec.check()?;
        let ports = spec.ports as usize;
        Ok(Self {
            up: (0..ports).map(|_| MemSlave::default()).collect(),
            core: Controller::new(&spec.geometry, spec.timing, spec.queues(), spec.refresh),
            mapping: Mapping::new(spec.geometry, &spec.mapping, "mapping")?,
            interleave: spec.interleave,
            access_bytes: spec.access_bytes(),
            latency: Cycle::from(spec.latency_cycles),
            burst_cycles: u64::from(spec.timing.burst_cycles),
            limit: spec.transactions(),
            transactions: Vec::new(),
            free: Vec::new(),
            splitting: None,
            turn: 0,
            acknowledgements: VecDeque::new(),
            ready: vec![VecDeque::new(); ports],
            ready_ports: 0,
            reads_by_line: Box::new([0; 256]),
            sequences: FxHashMap::default(),
            stats: GddrStats::default(),
        })
    }
}

impl Kind for GddrController {
    const NAME: &'static str = "Gddr5";
    const SUMMARY: &'static str =
        "GDDR5 channel: FR-FCFS controller with bank timing, refresh and posted writes";
    type Spec = GddrSpec;

    fn build(spec: GddrSpec, _environment: &Environment) -> Result<Self, SpecError> {
        Self::new(&spec)
    }
}

impl Component for GddrController {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundles("up", &mut self.up);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        self.core.advance(now);
        self.finish_reads(now);
        self.finish_writes(now);
        self.respond(ctx);
        let entered = self.enter(ctx);
        self.next(ctx, entered)
    }

    fn statistics(&self, s: &mut Statistics<'_>) {
        let cycle = s.cycle();
        // Refreshes slept through are made up for here as they would be on waking.
        let mut core = self.core.clone();
        if let Some(last) = cycle.checked_sub(1) {
            core.advance(last);
        }
        self.request_statistics(s);
        let c = core.stats();
        let accesses = c.reads + c.writes;
        s.counter(
            "reads",
            "accesses",
            "read bursts served by the devices",
            c.reads,
        );
        s.counter(
            "writes",
            "accesses",
            "write bursts served by the devices",
            c.writes,
        );
        s.counter(
            "reads_forwarded",
            "accesses",
            "reads answered from a waiting write",
            c.forwarded,
        );
        s.counter(
            "writes_merged",
            "accesses",
            "writes that replaced a waiting write of the same access",
            c.merged,
        );
        s.counter(
            "bytes",
            "bytes",
            "data moved over the data bus",
            accesses * u64::from(self.access_bytes),
        );
        s.ratio(
            "row_hits",
            "accesses that found their row open",
            c.row_hits,
            accesses,
        );
        s.ratio(
            "row_misses",
            "accesses that found their bank closed",
            c.row_misses,
            accesses,
        );
        s.ratio(
            "row_conflicts",
            "accesses that had to close another row",
            c.row_conflicts,
            accesses,
        );
        let commands = [
            ("activates", "ACT commands", c.activates),
            ("precharges", "PRE commands of one bank", c.precharges),
            ("precharges_all", "PREA commands", c.precharges_all),
            ("refreshes", "all-bank REF commands", c.refreshes),
        ];
        for (name, meaning, value) in commands {
            s.counter(name, "commands", meaning, value);
        }
        let total = accesses + commands.iter().map(|(_, _, value)| value).sum::<u64>();
        s.counter("commands", "commands", "commands of all kinds", total);
        s.ratio(
            "data_bus_utilisation",
            "cycles of data transfer by all column commands issued, per cycle",
            accesses * self.burst_cycles,
            cycle,
        );
        let mean = "mean accesses waiting, without those whose row is being opened";
        s.gauge(
            "read_queue_mean",
            "accesses",
            mean,
            c.read_queue.mean(cycle),
        );
        s.gauge(
            "write_queue_mean",
            "accesses",
            mean,
            c.write_queue.mean(cycle),
        );
        let max = "most accesses waiting";
        s.counter("read_queue_max", "accesses", max, c.read_queue.max());
        s.counter("write_queue_max", "accesses", max, c.write_queue.max());
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        let (reads, writes) = self.core.pending();
        if reads + writes > 0 {
            waits.inside(format!(
                "{reads} reads and {writes} writes wait for DRAM commands"
            ));
        }
        for (port, ready) in self.ready.iter().enumerate() {
            if !ready.is_empty() {
                waits.inside(format!(
                    "{} responses wait for room in up[{port}].response",
                    ready.len()
                ));
            }
        }
    }
}

impl GddrController {
    fn request_statistics(&self, s: &mut Statistics<'_>) {
        let g = &self.stats;
        let counters = [
            (
                "read_requests",
                "reads and prefetches accepted",
                g.read_requests,
            ),
            ("write_requests", "writes accepted", g.write_requests),
            ("copy_backs", "copy-backs accepted", g.copy_backs),
            (
                "wrapped",
                "requests beyond the last row, mapped modulo the rows",
                g.wrapped,
            ),
        ];
        for (name, meaning, value) in counters {
            s.counter(name, "requests", meaning, value);
        }
        s.histogram(
            "read_latency",
            "cycles",
            "from the acceptance of a read to its response being ready",
            &g.latency,
        );
    }

    /// Takes the reads whose last beat has arrived, `latency_cycles` ago.
    fn finish_reads(&mut self, now: Cycle) {
        let Some(arrived) = now.checked_sub(self.latency) else {
            return;
        };
        while let Some((_, transaction)) = self.core.take_completion(arrived) {
            let t = &mut self.transactions[transaction as usize];
            t.missing -= 1;
            if t.missing == 0 && !t.waits_for_older {
                self.finish_chain(now, transaction);
            }
        }
    }

    /// Makes a complete read ready, and the complete ones that waited for it.
    fn finish_chain(&mut self, now: Cycle, first: u32) {
        let mut transaction = first;
        loop {
            let t = &mut self.transactions[transaction as usize];
            let younger = std::mem::replace(&mut t.younger, NONE);
            t.live = false;
            self.stats.latency.record(now - t.accepted);
            self.reads_by_line[line_hash(t.request.line)] -= 1;
            let port = t.port as usize;
            self.ready[port].push_back(transaction);
            self.ready_ports |= 1 << port;
            if younger == NONE {
                return;
            }
            let t = &mut self.transactions[younger as usize];
            t.waits_for_older = false;
            if t.missing > 0 {
                return;
            }
            transaction = younger;
        }
    }

    fn finish_writes(&mut self, now: Cycle) {
        while let Some(&(cycle, transaction)) = self.acknowledgements.front()
            && cycle <= now
        {
            self.acknowledgements.pop_front();
            let port = self.transactions[transaction as usize].port as usize;
            self.ready[port].push_back(transaction);
            self.ready_ports |= 1 << port;
        }
    }

    fn respond(&mut self, ctx: &mut Context<'_>) {
        let mut ports = self.ready_ports;
        while ports != 0 {
            let port = ports.trailing_zeros() as usize;
            ports &= ports - 1;
            while let Some(&transaction) = self.ready[port].front() {
                if !self.up[port].response.can_send(ctx) {
                    break;
                }
                let t = &self.transactions[transaction as usize];
                let mut response = t.request.answer(Level::Dram);
                response.write_sequence = t.write_sequence;
                self.up[port].response.send(ctx, response);
                self.ready[port].pop_front();
                self.free.push(transaction);
            }
            if self.ready[port].is_empty() {
                self.ready_ports &= !(1 << port);
            }
        }
    }

    /// Lets one access enter the queues and says whether one did.
    fn enter(&mut self, ctx: &mut Context<'_>) -> bool {
        if let Some(splitting) = self.splitting {
            return self.enter_access(ctx.cycle(), splitting);
        }
        let ports = self.up.len();
        for step in 0..ports {
            let port = (self.turn + step) % ports;
            let Some(request) = self.up[port].request.peek(ctx).copied() else {
                continue;
            };
            if let Err(message) = admissible(&request) {
                ctx.fail(message);
                return false;
            }
            if self.enter_request(ctx.cycle(), port, request) {
                self.up[port].request.pop(ctx);
                self.turn = (port + 1) % ports;
                return true;
            }
        }
        false
    }

    fn enter_request(&mut self, now: Cycle, port: usize, request: MemRequest) -> bool {
        let write = request.kind.carries_data();
        let hash = line_hash(request.line);
        if write && self.reads_by_line[hash] > 0 && self.line_is_read(request.line) {
            return false;
        }
        let local = match &self.interleave {
            Some(interleave) => interleave.local(request.line),
            None => request.line,
        };
        let first = local / u64::from(self.access_bytes);
        let splitting = Splitting {
            transaction: NONE,
            write,
            answered: request.kind.wants_response(),
            first,
            left: self.touched(local, request.words),
        };
        let Some(transaction) = self.open_transaction(now, port, request, splitting.left) else {
            return false;
        };
        let splitting = Splitting {
            transaction,
            ..splitting
        };
        if !self.enter_access(now, splitting) {
            self.free.push(transaction);
            return false;
        }
        if write {
            self.order_write(&request);
        } else {
            self.order_read(transaction);
        }
        self.stats.wrapped += u64::from(self.mapping.wraps(first));
        true
    }

    /// The accesses that the words touch, bit `k` for the `k`-th from the one that holds the
    /// line's first byte.
    fn touched(&self, local: u64, words: u32) -> u8 {
        let access_words = self.access_bytes / 4;
        let offset = (local % u64::from(self.access_bytes)) as u32 / 4;
        let mut words = u64::from(words) << offset;
        let mut touched = 0;
        let mut access = 0;
        while words != 0 {
            if words & ((1 << access_words) - 1) != 0 {
                touched |= 1 << access;
            }
            words >>= access_words;
            access += 1;
        }
        touched
    }

    fn open_transaction(
        &mut self,
        now: Cycle,
        port: usize,
        request: MemRequest,
        touched: u8,
    ) -> Option<u32> {
        let transaction = Transaction {
            request,
            port: port as u32,
            accepted: now,
            missing: touched.count_ones(),
            write_sequence: request.write_sequence,
            waits_for_older: false,
            younger: NONE,
            live: false,
        };
        if let Some(index) = self.free.pop() {
            self.transactions[index as usize] = transaction;
            return Some(index);
        }
        if self.transactions.len() == self.limit {
            return None;
        }
        self.transactions.push(transaction);
        Some((self.transactions.len() - 1) as u32)
    }

    /// Offers the next access; the last one of a write acknowledges it.
    fn enter_access(&mut self, now: Cycle, mut splitting: Splitting) -> bool {
        let access = splitting.first + u64::from(splitting.left.trailing_zeros());
        let request = Request {
            access,
            location: self.mapping.locate(access),
            write: splitting.write,
            tag: splitting.transaction,
        };
        if self.core.offer(now, request) == Offer::Refused {
            return false;
        }
        splitting.left &= splitting.left - 1;
        self.splitting = (splitting.left != 0).then_some(splitting);
        if splitting.left == 0 && splitting.write {
            if splitting.answered {
                self.acknowledgements
                    .push_back((now + 1, splitting.transaction));
            } else {
                self.free.push(splitting.transaction);
            }
        }
        true
    }

    fn order_write(&mut self, request: &MemRequest) {
        if request.kind == RequestKind::CopyBack {
            self.stats.copy_backs += 1;
        } else {
            self.stats.write_requests += 1;
        }
        if request.write_sequence > 0 {
            let known = self.sequences.entry(request.line).or_default();
            *known = request.write_sequence.max(*known);
        }
    }

    /// Fixes what the read will see, and puts it behind older reads of its source and line.
    fn order_read(&mut self, transaction: u32) {
        self.stats.read_requests += 1;
        let Transaction { request, port, .. } = self.transactions[transaction as usize];
        let hash = line_hash(request.line);
        let older = if self.reads_by_line[hash] == 0 {
            None
        } else {
            self.transactions.iter().position(|t| {
                t.live
                    && t.younger == NONE
                    && t.port == port
                    && t.request.line == request.line
                    && t.request.source == request.source
            })
        };
        if let Some(older) = older {
            self.transactions[older].younger = transaction;
        }
        self.reads_by_line[hash] += 1;
        let t = &mut self.transactions[transaction as usize];
        t.waits_for_older = older.is_some();
        t.live = true;
        t.write_sequence = if self.sequences.is_empty() {
            0
        } else {
            self.sequences.get(&request.line).copied().unwrap_or(0)
        };
    }

    fn line_is_read(&self, line: u64) -> bool {
        self.transactions
            .iter()
            .any(|t| t.live && t.request.line == line)
    }

    fn next(&mut self, ctx: &Context<'_>, entered: bool) -> Next {
        let now = ctx.cycle();
        let more = entered
            && (self.splitting.is_some()
                || self.up.iter().any(|up| up.request.peek(ctx).is_some()));
        let wake = [
            more.then_some(now + 1),
            self.core.next_command(),
            self.core.next_completion().map(|c| c + self.latency),
            self.acknowledgements.front().map(|(cycle, _)| *cycle),
        ];
        match wake.into_iter().flatten().min() {
            Some(cycle) => Next::Until(cycle),
            None if self.ready_ports != 0 => Next::Credit,
            None => Next::Message,
        }
    }
}

/// What memory can serve.
fn admissible(request: &MemRequest) -> Result<(), String> {
    let MemRequest { line, words, .. } = *request;
    if request.kind == RequestKind::Atomic {
        return Err(format!(
            "an atomic of line {line:#x} reached memory; atomics are served where the line is \
             shared, put a cache that serves them above"
        ));
    }
    if words == 0 {
        return Err(format!("a request of line {line:#x} touches no word"));
    }
    Ok(())
}

/// A small hash of a line's address.
#[inline]
fn line_hash(line: u64) -> usize {
    const SHIFT: u32 = LINE_BYTES_MAX.trailing_zeros() - 2;
    ((line >> SHIFT).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

#[cfg(test)]
mod tests;
