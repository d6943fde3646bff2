//! A GDDR5 memory controller with its channels of devices.
//!
//! ```text
//!            one access per CK            one command per CK and channel
//!  up[0] ─┐   ┌───────────┐   ┌────────────┐   ┌──────────────┐
//!  up[1] ─┼──►│ arbiter,  │──►│ read queue │──►│ scheduler,   │──► banks of `devices`
//!   ...   │   │ splitter  │──►│ write queue│──►│ page policy, │    x32 devices, in lock step,
//!         │   └───────────┘   └────────────┘   │ refresh      │    per channel
//!         │                                    └──────────────┘          │
//!         └◄── per-port responses ◄── reassembly, `latency_cycles` ◄─────┘
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
//! Commands and policies: see [`Controller`]. An idle controller sleeps through refreshes and
//! makes up for them when it is asked next; its statistics always include them.
//!
//! # Not modelled
//! Power-down and self-refresh, clock and data training, error detection codes, the double data
//! rate of addresses. A masked write that waits answers reads of all words of its access.
//!
//! ```
//! use warpweave_components::dram::{
//!     Drain, Field, GddrController, GddrSpec, Geometry, MappingSpec, Page, Refresh, Scheduler,
//!     Timing,
//! };
//! use warpweave_components::memory::{Level, MemRequest, MemResponse};
//! use warpweave_framework::TestBench;
//!
//! let spec = GddrSpec {
//!     ports: 1,
//!     devices: 4,
//!     channels: 1,
//!     interleave: None,
//!     geometry: Geometry { bank_groups: 4, banks_per_group: 4, rows: 4096, columns: 64 },
//!     mapping: MappingSpec::Order(vec![Field::BankGroup, Field::Column, Field::Bank, Field::Row]),
//!     timing: Timing {
//!         burst_cycles: 2, t_cl: 12, t_wl: 4, t_rcd_rd: 12, t_rcd_wr: 12, t_rp: 12, t_ras: 28,
//!         t_rc: 40, t_rrd_s: 6, t_rrd_l: 6, t_ccd_s: 2, t_ccd_l: 3, t_rtw: None, t_wtr_s: 5,
//!         t_wtr_l: 5, t_rtp: 2, t_wr: 12, t_faw: 23, t_32aw: 184, t_ppd: 1, t_refi: 2660,
//!         t_rfc: 154, t_refi_b: None, t_rfc_b: None, t_rrefd: None,
//!     },
//!     read_queue: 32,
//!     write_queue: 32,
//!     bank_queue: None,
//!     scheduler: Scheduler::FrFcfs,
//!     page: Page::Open,
//!     drain: Drain::Watermarks { high: 25, low: 7 },
//!     merge_writes: true,
//!     response_queue: 8,
//!     latency_cycles: 0,
//!     refresh: Refresh::AllBank { postponed_max: 0 },
//!     check: true,
//! };
//! let mut bench = TestBench::new();
//! bench.add("dram", GddrController::new(&spec)?);
//! let requests = bench.source::<MemRequest>("dram.up[0].request");
//! let responses = bench.sink::<MemResponse>("dram.up[0].response");
//! let read = MemRequest::read(0, 0x1000, u32::MAX);
//! requests.send_at(10, read);
//! // All banks are closed: 1 + tRCDRD + tCL + BL.
//! bench.expect_at(&responses, 10 + 27, &read.answer(Level::DRAM));
//! # Ok::<(), warpweave_framework::SpecError>(())
//! ```

mod banks;
mod checker;
mod controller;
mod drain;
mod mapping;
mod page;
mod queue;
mod refresh;
mod scheduler;
mod sequences;
mod spec;
mod statistics;
mod timing;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Contents, Context, Cycle, Environment, Histogram, Kind, Next, Ports, SpecError,
    State, Statistics, Waits,
};

use crate::interleave::Interleave;
use crate::memory::{LINE_BYTES_MAX, Level, MemRequest, MemSlave, RequestKind, transaction};

pub use banks::Command;
pub use checker::{Checker, Report, RuleReport, Violation};
pub use controller::{ChannelStats, Config, Controller, Issued, Offer, Request};
pub use drain::Drain;
pub use mapping::{Field, Geometry, Location, Mapping, MappingSpec};
pub use page::Page;
pub use refresh::Refresh;
pub use scheduler::Scheduler;
pub use spec::GddrSpec;
pub use timing::Timing;

use sequences::Sequences;

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
#[derive(Clone, Copy, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Splitting {
    transaction: u32,
    write: bool,
    answered: bool,
    /// Number of the first access of the line.
    first: u64,
    /// Accesses not yet entered, relative to `first`.
    left: u8,
}

impl Splitting {
    fn next_access(&self) -> u64 {
        self.first + u64::from(self.left.trailing_zeros())
    }
}

/// The component.
pub struct GddrController {
    up: Vec<MemSlave>,
    channels: Vec<Controller>,
    mapping: Mapping,
    interleave: Option<Interleave>,
    access_bytes: u32,
    latency: Cycle,
    burst_cycles: u64,
    check: bool,
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
    reads_by_line: Box<[u16]>,
    sequences: Sequences,
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
        let mut channel = Controller::new(&spec.config());
        if spec.check {
            channel.judge_commands();
        }
        Ok(Self {
            up: (0..ports).map(|_| MemSlave::default()).collect(),
            channels: vec![channel; spec.channels as usize],
            mapping: Mapping::new(spec.geometry, spec.channels, &spec.mapping, "mapping")?,
            interleave: spec.interleave,
            access_bytes: spec.access_bytes(),
            latency: Cycle::from(spec.latency_cycles),
            burst_cycles: u64::from(spec.timing.burst_cycles),
            check: spec.check,
            limit: spec.transactions(),
            transactions: Vec::new(),
            free: Vec::new(),
            splitting: None,
            turn: 0,
            acknowledgements: VecDeque::new(),
            ready: vec![VecDeque::new(); ports],
            ready_ports: 0,
            reads_by_line: vec![0; 256].into(),
            sequences: Sequences::default(),
            stats: GddrStats::default(),
        })
    }
}

impl Kind for GddrController {
    const NAME: &'static str = "Gddr5";
    const SUMMARY: &'static str =
        "GDDR5 controller: bank timing, scheduling, page, refresh and write policies, checker";
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
        for channel in &mut self.channels {
            channel.advance(now);
        }
        if self.check
            && let Some(broken) = self.broken()
        {
            ctx.fail(broken);
        }
        self.finish_reads(now);
        self.finish_writes(now);
        self.respond(ctx);
        let entered = self.enter(ctx);
        self.next(ctx, entered)
    }

    fn state(&mut self, state: &mut State<'_>) {
        for (i, channel) in self.channels.iter_mut().enumerate() {
            state.part(&format!("channel[{i}]"), |state| channel.state(state));
        }
        state.field("transactions", &mut self.transactions);
        state.field("free", &mut self.free);
        state.field("splitting", &mut self.splitting);
        state.field("turn", &mut self.turn);
        state.field("acknowledgements", &mut self.acknowledgements);
        state.field("ready", &mut self.ready);
        state.field("ready_ports", &mut self.ready_ports);
        state.field("reads_by_line", &mut self.reads_by_line);
        state.field("sequences", &mut self.sequences);
        state.field("stats", &mut self.stats);
    }

    fn evaluation_cost(&self) -> u64 {
        // About 1100 instructions.
        11
    }

    fn statistics(&self, s: &mut Statistics<'_>) {
        statistics::report(self, s);
    }

    fn contents(&self, contents: &mut Contents<'_>) {
        for (index, t) in self.transactions.iter().enumerate().filter(|(_, t)| t.live) {
            contents
                .thing("read", index as u64)
                .flow(Some(transaction(t.request.line, &t.request.source)))
                .number("line", t.request.line)
                .waits(match t.missing {
                    0 => Some("an older read"),
                    _ => Some("data"),
                });
        }
        let pending = self.channels.iter().map(Controller::pending);
        let (reads, writes) = pending.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        contents.level("queued_reads", reads.into());
        contents.level("queued_writes", writes.into());
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        // Writes that the drain policy leaves where they are wait for nothing.
        let working = self.channels.iter().filter(|channel| channel.has_work());
        let pending = working.map(Controller::pending);
        let (reads, writes) = pending.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
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
    /// Takes the reads whose last beat has arrived, `latency_cycles` ago.
    fn finish_reads(&mut self, now: Cycle) {
        let Some(arrived) = now.checked_sub(self.latency) else {
            return;
        };
        for channel in 0..self.channels.len() {
            while let Some((_, transaction)) = self.channels[channel].take_completion(arrived) {
                let t = &mut self.transactions[transaction as usize];
                t.missing -= 1;
                if t.missing == 0 && !t.waits_for_older {
                    self.finish_chain(now, transaction);
                }
            }
        }
    }

    /// The first timing rule that the checker found broken.
    fn broken(&self) -> Option<String> {
        let judges = self.channels.iter().filter_map(Controller::judge);
        let mut broken = judges.filter_map(|judge| judge.violations().first());
        broken.next().map(|violation| format!("DRAM {violation}"))
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
                let mut response = t.request.answer(Level::DRAM);
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
        let Some(transaction) = self.next_slot() else {
            return false;
        };
        let splitting = Splitting {
            transaction,
            ..splitting
        };
        if !self.offer_access(now, &splitting) {
            // A request that stays in its port leaves no trace.
            return false;
        }
        self.open_transaction(now, port, request, splitting.left);
        self.access_entered(now, splitting);
        let address = self.mapping.wrapped(first) * u64::from(self.access_bytes)
            + local % u64::from(self.access_bytes);
        if write {
            self.order_write(&request, address);
        } else {
            self.order_read(transaction, address);
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

    /// The slot that the next transaction takes, if one is free.
    fn next_slot(&self) -> Option<u32> {
        let unused = self.transactions.len();
        let last = self.free.last().copied();
        last.or_else(|| (unused < self.limit).then_some(unused as u32))
    }

    /// Fills the slot named by `next_slot`.
    fn open_transaction(&mut self, now: Cycle, port: usize, request: MemRequest, touched: u8) {
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
        match self.free.pop() {
            Some(index) => self.transactions[index as usize] = transaction,
            None => self.transactions.push(transaction),
        }
    }

    /// Offers the next access of the request that is being split and says whether it entered.
    fn enter_access(&mut self, now: Cycle, splitting: Splitting) -> bool {
        let entered = self.offer_access(now, &splitting);
        if entered {
            self.access_entered(now, splitting);
        }
        entered
    }

    fn offer_access(&mut self, now: Cycle, splitting: &Splitting) -> bool {
        let access = splitting.next_access();
        let request = Request {
            access,
            location: self.mapping.locate(access),
            write: splitting.write,
            tag: splitting.transaction,
        };
        let channel = self.mapping.channel(access) as usize;
        self.channels[channel].offer(now, request) != Offer::Refused
    }

    /// Goes on to the next access; the last one of a write acknowledges it.
    fn access_entered(&mut self, now: Cycle, mut splitting: Splitting) {
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
    }

    fn order_write(&mut self, request: &MemRequest, address: u64) {
        if request.kind == RequestKind::CopyBack {
            self.stats.copy_backs += 1;
        } else {
            self.stats.write_requests += 1;
        }
        if request.write_sequence > 0 {
            self.sequences.raise(address, request.write_sequence);
        }
    }

    /// Fixes what the read will see, and puts it behind older reads of its source and line.
    fn order_read(&mut self, transaction: u32, address: u64) {
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
        t.write_sequence = self.sequences.of(address);
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
        let mut wake = [
            more.then_some(now + 1),
            self.acknowledgements.front().map(|(cycle, _)| *cycle),
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(Cycle::MAX);
        for channel in &mut self.channels {
            wake = wake.min(channel.next_command().unwrap_or(Cycle::MAX));
            if let Some(completion) = channel.next_completion() {
                wake = wake.min(completion + self.latency);
            }
        }
        match Some(wake).filter(|cycle| *cycle < Cycle::MAX) {
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
