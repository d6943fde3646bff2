//! GDDR5 memory controller with its channels of DRAM devices.
//!
//! ```text
//!            accesses of a CK             one command per CK and channel
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
//! The clock of the component is CK. A request names words of a line. Every access (`burst_bytes` ×
//! `devices`) it touches is one burst, or with `column_pairs` half of one. With `column_pairs`, a
//! column command also serves the oldest waiting access of its kind and row in the other half (even
//! or odd columns). In a cycle `w` accesses enter the queues, as many as the data buses of all
//! channels can carry. `w` is channels / max(tCCD_S, BL), rounded up, or with `column_pairs` that
//! of twice the channels. After a write only writes follow in a cycle. Ports are served round-robin
//! among those whose oldest request can enter. The front end follows the convention of the
//! reference data. A request **accepted in cycle c** causes its first command **in cycle c + 1** at
//! the earliest. A slot freed by a command of cycle c can be taken in cycle c.
//!
//! Idle latency: on an idle channel, a read of one access readable in cycle `c` has its response
//! sent in cycle `c + R`. BL = `burst_cycles` and L = `latency_cycles`:
//!
//! | bank | R |
//! |---|---|
//! | row open | 1 + tCL + BL + L |
//! | closed | 1 + tRCDRD + tCL + BL + L |
//! | another row open | 1 + tRP + tRCDRD + tCL + BL + L |
//!
//! `k` accesses of one read in one row of one channel add (k - 1) × max(tCCD, BL). Here tCCD is
//! tCCD_L if the mapping keeps them in one bank group and tCCD_S if it rotates groups (and tCCD ≥
//! 1). The response leaves when the last beat of the last access has arrived. A read answered from
//! a waiting write takes R = 1 + L.
//!
//! Writes are posted. The acknowledgement is sent in the cycle after the last of the `k` accesses
//! entered the write queue: R = k / w, rounded up. Copy-backs are not acknowledged. From then on
//! the write is ordered: a later read of the access is answered from the queue.
//!
//! Order per source and line is kept. A read's response never overtakes that of an older read of
//! the same source, port and line. A write from any source stays in its port while reads of its
//! line are unanswered.
//!
//! See [`Controller`] for commands and policies. An idle controller sleeps through refreshes and
//! catches up on them at the next access. Its statistics always include them.
//!
//! # Files
//! | file | what it has |
//! |---|---|
//! | `spec.rs`, `timing.rs` | what a description says |
//! | `admission.rs`, `heads.rs`, `splitting.rs` | requests at their ports, and their way into the queues, access by access |
//! | `outstanding.rs`, `transactions.rs`, `responses.rs`, `sequences.rs` | accepted requests: the order among reads, responses, which write a read sees |
//! | `address_map.rs`, `mapping/` | from a line to accesses, channel, bank, row and column |
//! | `channels.rs`, `shared_bus.rs` | the channels, and the command bus that they may share |
//! | `controller/` | the commands of one channel, as a function of time |
//! | `queue.rs`, `banks.rs` | the waiting accesses and the earliest legal commands of a channel |
//! | `command_bus.rs` | the pins of commands |
//! | `scheduler/`, `page.rs`, `drain.rs`, `refresh.rs` | the policies |
//! | `checker.rs` | an independent judge of commands |
//! | `statistics.rs` | what is reported |
//!
//! This module uses the framework, the [memory protocol](crate::memory) and
//! [interleaving](crate::interleave), and no other component.
//!
//! # Not modelled
//! Commands that occupy their pins for several cycles (ACT of HBM2). Power-down and self-refresh,
//! clock and data training, error detection codes, the double data rate of addresses. A waiting
//! masked write answers reads of all words of its access.
//!
//! ```
//! use warpweave_components::dram::{
//!     CommandBus, Drain, Field, FrFcfs, GddrController, GddrSpec, Geometry, MappingSpec, Page, Refresh, Timing,
//! };
//! use warpweave_components::memory::{Level, MemRequest, MemResponse};
//! use warpweave_framework::{Policy, TestBench};
//!
//! let spec = GddrSpec {
//!     ports: 1,
//!     devices: 4,
//!     burst_bytes: 32,
//!     column_pairs: false,
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
//!     command_bus: CommandBus::Shared,
//!     shared_bus: false,
//!     read_queue: 32,
//!     write_queue: 32,
//!     bank_queue: None,
//!     scheduler: Policy::plain::<FrFcfs>(),
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

mod address_map;
mod admission;
mod banks;
mod channels;
mod checker;
mod command_bus;
mod controller;
mod drain;
mod heads;
mod mapping;
mod outstanding;
mod page;
mod queue;
mod refresh;
mod responses;
mod scheduler;
mod sequences;
mod shared_bus;
mod spec;
mod splitting;
mod statistics;
mod timing;
mod transactions;

use std::any::Any;

use warpweave_framework::{
    Component, Contents, Context, Cycle, Environment, Facts, Functional, FunctionalError, Inspect,
    Kind, Negotiate, Next, Onward, PortId, Ports, Preset, SpecError, State, Statistics, Unfit,
    Waits,
};

use crate::memory::{
    AtomicService, MemRequest, MemSlave, Slices, hold_whole_lines, is_request, transaction,
};

use address_map::AddressMap;
use admission::Admission;
use channels::Channels;
use outstanding::Outstanding;

pub use banks::{Command, Issued};
pub use checker::{Checker, Report, RuleReport, Violation};
pub use command_bus::CommandBus;
pub use controller::{
    AccessCounts, ChannelStats, CommandCounts, Config, Controller, Offer, Request, RowCounts,
};
pub use drain::Drain;
pub use mapping::{Field, Geometry, Location, Mapping, MappingSpec};
pub use page::Page;
pub use refresh::Refresh;
pub use scheduler::{
    AnyRequestOrder, BankRoundRobin, BankRoundRobinSpec, BuiltInOrder, Fcfs, FrFcfs, FrFcfsCap,
    FrFcfsCapSpec, OpenRequestOrder, RequestOrder, RequestOrderPolicy, RequestOrderSite,
    RowHitFirst, View, WaitingRequest, register_policies,
};
pub use spec::GddrSpec;
pub use timing::Timing;

/// Memory controller component with one or more channels.
#[derive(Ports, State, Statistics)]
#[statistics(after = statistics::report_channels)]
pub struct GddrController {
    #[port]
    up: Vec<MemSlave>,
    /// Address slices of the connected ports, used only during elaboration.
    #[state(skip)]
    slices: Slices,
    #[state(flatten)]
    channels: Channels,
    #[state(flatten)]
    admission: Admission,
    #[state(flatten)]
    #[statistic(flatten)]
    outstanding: Outstanding,
}

impl GddrController {
    /// Creates the component from a specification built in Rust.
    ///
    /// # Errors
    /// Returns an error if a value is out of range.
    pub fn new(spec: &GddrSpec) -> Result<Self, SpecError> {
        Self::with(spec, &Environment::default())
    }

    fn with(spec: &GddrSpec, environment: &Environment) -> Result<Self, SpecError> {
        spec.check()?;
        let channel = |number| {
            let order = spec.order(number, environment)?;
            Ok(Controller::new(&spec.config(), order))
        };
        let channels = (0..spec.channels).map(channel).collect::<Result<_, _>>()?;
        let addresses = AddressMap {
            mapping: Mapping::new(spec.geometry, spec.channels, &spec.mapping, "mapping")?,
            interleave: spec.interleave,
            access_bytes: spec.access_bytes(),
            ports: spec.ports,
        };
        let ports = spec.ports as usize;
        let latency = Cycle::from(spec.latency_cycles);
        Ok(Self {
            up: (0..ports).map(|_| MemSlave::default()).collect(),
            slices: Slices::default(),
            channels: Channels::new(channels, spec.shared_bus, spec.check),
            admission: Admission::new(addresses, spec.accesses_per_cycle()),
            outstanding: Outstanding::new(ports, spec.transactions(), latency),
        })
    }
}

impl Kind for GddrController {
    const NAME: &'static str = "Gddr5";
    const SUMMARY: &'static str =
        "GDDR5 controller: bank timing, scheduling, page, refresh and write policies, checker";
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "fermi",
            summary: "A channel of the GTX 480, 64 bits. Source: GPGPU-Sim's SM2_GTX480 configuration; activation windows, refresh and queues own choice",
            ron: include_str!("../../../scenarios/presets/fermi/gddr5.ron"),
        },
        Preset {
            name: "gddr5x",
            summary: "A GDDR5X device of 32 bits at 10 Gb/s in pseudo-channel mode. Source: JESD232; times of the cells as GDDR5 of 8 Gb",
            ron: include_str!("../../../scenarios/presets/memory/gddr5x.ron"),
        },
        Preset {
            name: "hbm2",
            summary: "A channel of HBM2 at 1.7 Gb/s, two pseudo-channels of 64 bits, refresh by bank. Source: JESD235A; times of the cells as GPGPU-Sim's Volta configurations",
            ron: include_str!("../../../scenarios/presets/memory/hbm2.ron"),
        },
        Preset {
            name: "hbm3",
            summary: "A channel of HBM3 at 6.4 Gb/s, two pseudo-channels of 32 bits, refresh by bank. Source: JESD238 for the organisation; times of the cells as `hbm2`",
            ron: include_str!("../../../scenarios/presets/memory/hbm3.ron"),
        },
    ];
    type Spec = GddrSpec;

    fn build(spec: GddrSpec, environment: &Environment) -> Result<Self, SpecError> {
        Self::with(&spec, environment)
    }
}

impl Component for GddrController {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        let advanced = self.channels.advance(now).unwrap_or_else(|broken| {
            ctx.fail(broken);
            true
        });
        let finished = self.outstanding.finish_reads(&mut self.channels, now);
        self.outstanding.responses.advance(now);
        let responded = self.outstanding.respond(&mut self.up, ctx);
        if advanced || finished || responded {
            self.admission.try_again();
        }
        let entered =
            self.admission
                .enter(ctx, &mut self.up, &mut self.channels, &mut self.outstanding);
        let next = self.next(ctx, entered);
        if let Some(broken) = self.channels.broken_order() {
            ctx.fail(format!("the request order {broken}"));
        }
        next
    }

    fn evaluation_cost(&self) -> u64 {
        // About 1100 instructions.
        11
    }

    fn negotiation(&mut self) -> Option<&mut dyn Negotiate> {
        Some(self)
    }

    fn functional(&mut self) -> Option<&mut dyn Functional> {
        Some(self)
    }

    fn inspection(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

impl Negotiate for GddrController {
    fn facts(&self, port: PortId, facts: &mut Facts) {
        if is_request(port) {
            facts.publish(AtomicService::Refused);
        }
    }

    fn learn(&mut self, _port: PortId, facts: &Facts) -> Result<(), Unfit> {
        self.slices.learn(facts);
        match self.admission.addresses().interleave {
            Some(interleave) => hold_whole_lines(facts, interleave),
            None => Ok(()),
        }
    }

    fn elaborated(&mut self) -> Result<(), Unfit> {
        self.slices.fit(self.admission.addresses().interleave)
    }
}

impl Functional for GddrController {
    /// Records the write sequence; memory contents are not kept.
    fn functional_access(
        &mut self,
        _: PortId,
        message: &mut dyn Any,
        _: &mut Onward,
    ) -> Result<(), FunctionalError> {
        if let Some(request) = message.downcast_ref::<MemRequest>()
            && request.write_sequence > 0
        {
            let head = self.admission.addresses().head(*request);
            self.outstanding.written_functionally(&head);
        }
        Ok(())
    }
}

impl Inspect for GddrController {
    fn contents(&self, contents: &mut Contents<'_>) {
        for (id, t) in self.outstanding.transactions.open_reads() {
            contents
                .thing("read", id.place() as u64)
                .flow(Some(transaction(t.request.line, &t.request.source)))
                .number("line", t.request.line)
                .waits(match t.missing {
                    0 => Some("an older read"),
                    _ => Some("data"),
                });
        }
        let pending = self.channels.list.iter().map(Controller::pending);
        let (reads, writes) = pending.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        contents.level("queued_reads", reads.into());
        contents.level("queued_writes", writes.into());
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        // Writes that the drain policy leaves where they are wait for nothing.
        let channels = self.channels.list.iter();
        let working = channels.filter(|channel| channel.has_work());
        let pending = working.map(Controller::pending);
        let (reads, writes) = pending.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        if reads + writes > 0 {
            waits.inside(format!(
                "{reads} reads and {writes} writes wait for DRAM commands"
            ));
        }
        for (port, responses) in self.outstanding.responses.waiting().enumerate() {
            if responses > 0 {
                waits.inside(format!(
                    "{responses} responses wait for room in up[{port}].response"
                ));
            }
        }
    }
}

impl GddrController {
    fn next(&mut self, ctx: &Context<'_>, entered: bool) -> Next {
        let now = ctx.cycle();
        let more = entered
            && (self.admission.is_splitting()
                || self.up.iter().any(|up| up.request.peek(ctx).is_some()));
        let mut wake = if more { now + 1 } else { Cycle::MAX };
        let responses = &self.outstanding.responses;
        if let Some(cycle) = responses.next_acknowledgement() {
            wake = wake.min(cycle);
        }
        wake = wake.min(self.channels.next_event(self.outstanding.latency()));
        match Some(wake).filter(|cycle| *cycle < Cycle::MAX) {
            Some(cycle) => Next::Until(cycle),
            None if responses.any_ready() => Next::Credit,
            None => Next::Message,
        }
    }
}

#[cfg(test)]
mod tests;
