//! Description of a GDDR5 controller.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Environment, Id, Policy, SpecError};

use super::command_bus::CommandBus;
use super::controller::{Config, QUEUE_MAX};
use super::drain::Drain;
use super::mapping::{Geometry, MappingSpec};
use super::page::Page;
use super::refresh::{POSTPONED_MAX, Refresh};
use super::scheduler::{AnyRequestOrder, FrFcfs, RequestOrder, RequestOrderSite};
use super::timing::Timing;
use crate::interleave::Interleave;

/// Bytes of one GDDR5 device burst: 8 beats of 4 bytes.
const GDDR5_BURST_BYTES: u32 = 32;
/// Maximum number of bytes per access: one line.
const ACCESS_BYTES_MAX: u32 = 128;
const PORTS_MAX: u32 = 64;
const CHANNELS_MAX: u32 = 16;
const LATENCY_MAX: u32 = 1 << 20;
/// Maximum total capacity of a channel's bank queues, in requests.
const BANK_QUEUES_MAX: u32 = 16_384;

/// Description of a memory controller: channels, devices, queues and policies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GddrSpec {
    /// Number of `up` ports, 1 to 64.
    pub ports: u32,
    /// Number of devices that work in lockstep: 1, 2 or 4. An access moves `burst_bytes` times
    /// this.
    pub devices: u32,
    /// Bytes that a burst of one device moves, 32 or 64. Source: 32, 8 beats of 32 pins (JESD212,
    /// GDDR5) or 4 of 64 (JESD235A, a pseudo-channel of HBM2); 16 beats of GDDR5X make 64
    /// (JESD232).
    #[serde(default = "gddr5_burst")]
    pub burst_bytes: u32,
    /// Enables serving two waiting accesses to one row, one to an even and one to an odd column,
    /// with a single burst. Source: no. Otherwise the pseudo-channels of GDDR5X (JESD232), two
    /// halves of 16 pins that share command, bank and row and have a column each.
    #[serde(default)]
    pub column_pairs: bool,
    /// Number of channels behind the ports, a power of two up to 16, each with its own command bus,
    /// data bus and queues. The mapping selects the channel of an access. As many accesses enter
    /// the queues in a cycle as the data buses of all channels can carry, at least one. Source: one
    /// channel per controller, as in GPGPU-Sim and the reference runs.
    #[serde(default = "one")]
    pub channels: u32,
    /// Interleaving of addresses over controllers. If omitted, addresses are the controller's own.
    /// A `hash` distributes over as many slices as there are controllers times `ports`.
    #[serde(default)]
    pub interleave: Option<Interleave>,
    /// Numbers of banks, rows and columns of each channel.
    pub geometry: Geometry,
    /// Mapping from access numbers to channel, bank, row and column.
    pub mapping: MappingSpec,
    /// Timing of the devices in cycles of CK, the clock of this component.
    pub timing: Timing,
    /// Capacity of a channel's read queue, in accesses. Source: 32 in Ramulator and DRAMsim3.
    pub read_queue: u32,
    /// Capacity of a channel's write queue, in accesses. Source: 32 in Ramulator and DRAMsim3, 32
    /// or 128 in GPGPU-Sim.
    pub write_queue: u32,
    /// Capacity of each bank's own queue, in accesses. If omitted, requests are scheduled from the
    /// read and write queues. Otherwise they move from there to the queues of their banks, one per
    /// cycle. Source: 8 in DRAMsim3, 128 in the graph thesis; none in Ramulator.
    #[serde(default)]
    pub bank_queue: Option<u32>,
    /// Policy that selects the request to get the next command. Source: plain FR-FCFS, the
    /// reference policy (Ramulator 2).
    #[serde(default = "Policy::plain::<FrFcfs>")]
    pub scheduler: Policy<RequestOrder>,
    /// Number of commands the bus takes per cycle. Source: one, as on GDDR5; row and column
    /// commands have pins of their own in JESD235 (HBM).
    #[serde(default)]
    pub command_bus: CommandBus,
    /// Enables sharing of that bus by all channels. Refreshes of a channel without requests do not
    /// occupy it. Source: no; the two pseudo-channels of a channel of HBM2 (JESD235A).
    #[serde(default)]
    pub shared_bus: bool,
    /// Page policy: how long rows stay open. Source: open rows, the reference policy (Ramulator,
    /// DRAMsim3, GPGPU-Sim).
    #[serde(default)]
    pub page: Page,
    /// Write-drain policy: when writes are served instead of reads.
    pub drain: Drain,
    /// Enables replacing a waiting write by a later write to the same access. Source: as Ramulator
    /// 2 and DRAMsim3 do; Ramulator 1 does not.
    #[serde(default = "yes")]
    pub merge_writes: bool,
    /// Finished responses that may wait for their ports in addition to the reads the channels
    /// themselves keep in flight, at least 1.
    pub response_queue: u32,
    /// Cycles added to every read between the last data beat and its response. Source: 100 in
    /// GPGPU-Sim, 0 in the reference runs.
    pub latency_cycles: u32,
    /// Refresh mode: when the devices are refreshed.
    pub refresh: Refresh,
    /// Enables an independent checker of every command. A timing violation stops the run. Source:
    /// off, for speed.
    #[serde(default)]
    pub check: bool,
}

fn one() -> u32 {
    1
}

fn gddr5_burst() -> u32 {
    GDDR5_BURST_BYTES
}

fn yes() -> bool {
    true
}

impl GddrSpec {
    /// Returns the number of bytes that one access moves.
    pub fn access_bytes(&self) -> u32 {
        self.burst_bytes * self.devices
    }

    /// Returns the number of accesses that enter the queues in a cycle: as many as the data buses
    /// of all channels can carry, rounded up.
    pub(super) fn accesses_per_cycle(&self) -> u32 {
        let of_a_burst = 1 + u32::from(self.column_pairs);
        (self.channels * of_a_burst).div_ceil(self.timing.columns_apart())
    }

    /// Returns the configuration of one channel and its policies, except the request order.
    pub fn config(&self) -> Config {
        Config {
            geometry: self.geometry,
            timing: self.timing,
            reads: self.read_queue,
            writes: self.write_queue,
            bank_queue: self.bank_queue,
            command_bus: self.command_bus,
            column_pairs: self.column_pairs,
            page: self.page,
            drain: self.drain,
            merge_writes: self.merge_writes,
            refresh: self.refresh,
        }
    }

    /// Builds the request order of a channel.
    ///
    /// # Errors
    /// Returns the policy's errors at the field `scheduler`.
    pub fn order(
        &self,
        channel: u32,
        environment: &Environment,
    ) -> Result<AnyRequestOrder, SpecError> {
        let site = RequestOrderSite {
            channel,
            channels: self.channels,
            geometry: self.geometry,
            read_queue: self.read_queue,
            write_queue: self.write_queue,
            bank_queue: self.bank_queue,
        };
        self.scheduler
            .build("scheduler", environment, &site, channel)
    }

    /// Checks all values except the mapping.
    ///
    /// # Errors
    /// Returns an error if a value is out of range.
    pub fn check(&self) -> Result<(), SpecError> {
        SpecError::in_range("ports", self.ports, 1..=PORTS_MAX)?;
        SpecError::in_range("channels", self.channels, 1..=CHANNELS_MAX)?;
        SpecError::in_range("read_queue", self.read_queue, 1..=QUEUE_MAX)?;
        SpecError::in_range("write_queue", self.write_queue, 1..=QUEUE_MAX)?;
        SpecError::in_range("response_queue", self.response_queue, 1..=QUEUE_MAX)?;
        SpecError::in_range("latency_cycles", self.latency_cycles, 0..=LATENCY_MAX)?;
        self.geometry.check("geometry")?;
        if let Some(depth) = self.bank_queue {
            let most = BANK_QUEUES_MAX / self.geometry.banks();
            SpecError::in_range("bank_queue", depth, 1..=most)?;
        }
        let postponed_max = self.refresh.postponed_max();
        SpecError::in_range("refresh.postponed_max", postponed_max, 0..=POSTPONED_MAX)?;
        self.drain.check(self.write_queue)?;
        let apart = self.command_bus == CommandBus::Shared || self.bank_queue.is_none();
        SpecError::require(apart, "command_bus", || {
            "RowAndColumn goes without `bank_queue`".to_owned()
        })?;
        for (field, given) in [
            ("shared_bus", self.shared_bus),
            ("column_pairs", self.column_pairs),
        ] {
            SpecError::require(!given || self.bank_queue.is_none(), field, || {
                "it goes without `bank_queue`".to_owned()
            })?;
        }
        SpecError::require(
            !self.column_pairs || self.geometry.columns > 1,
            "column_pairs",
            || "an odd column does not exist".to_owned(),
        )?;
        SpecError::require(matches!(self.devices, 1 | 2 | 4), "devices", || {
            format!("{} must be 1, 2 or 4", self.devices)
        })?;
        SpecError::require(matches!(self.burst_bytes, 32 | 64), "burst_bytes", || {
            format!("{} must be 32 or 64", self.burst_bytes)
        })?;
        SpecError::require(
            self.access_bytes() <= ACCESS_BYTES_MAX,
            "burst_bytes",
            || {
                format!(
                    "an access of {} devices has {} bytes, more than {ACCESS_BYTES_MAX}",
                    self.devices,
                    self.access_bytes()
                )
            },
        )?;
        if let Some(interleave) = &self.interleave {
            interleave.check_group("interleave", self.ports)?;
            SpecError::require(
                interleave.granule_bytes >= self.access_bytes(),
                "interleave.granule_bytes",
                || {
                    format!(
                        "{} is less than one access of {} bytes",
                        interleave.granule_bytes,
                        self.access_bytes()
                    )
                },
            )?;
        }
        let banks = self.geometry.banks();
        self.timing.check("timing", self.refresh, banks)?;
        let (transactions, most) = (self.transactions(), Id::PLACES_MAX);
        SpecError::require(transactions <= most, "latency_cycles", || {
            format!(
                "with these timings and queues {transactions} requests can be in flight, more than the {most} supported"
            )
        })
    }

    /// Returns the maximum number of unanswered reads: queued, active, in flight, and finished but
    /// not sent.
    pub(super) fn transactions(&self) -> usize {
        let under_way = self.timing.read_data_end() + self.latency_cycles;
        let apart = self.timing.columns_apart();
        let banks = (self.bank_queue.unwrap_or(0) as usize + 1) * self.geometry.banks() as usize;
        let channel = self.read_queue as usize + banks + under_way.div_ceil(apart) as usize;
        self.channels as usize * channel + self.response_queue as usize
    }
}
