//! Specification of a virtual-channel router and its checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Policy, SpecError};

use super::Router;
use crate::crossbar::arbiter::{AnyArbiter, Arbiter, ArbiterSite, BuiltInArbiter};
use crate::crossbar::network_place::NetworkPlace;
use crate::crossbar::queueing::{PORTS_MAX, Queueing, check_buffers};
use crate::crossbar::traffic::PacketInfo;

/// Maximum number of virtual channels of a port: they are kept as bits of one word.
pub const VIRTUAL_CHANNELS_MAX: u32 = 64;

/// A virtual-channel router; see [`Router`]. The numbers in the descriptions are those of BookSim 2
/// as GPGPU-Sim configures it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouterSpec {
    /// Bytes of one flit. A packet of `b` bytes (8 of control and its data) is `ceil(b / this)`
    /// flits; each port passes one flit per cycle. Source: 40, GPGPU-Sim's GTX 480.
    pub flit_bytes: u32,
    /// Queueing discipline. `Fifo`: a packet takes any virtual channel of its input.
    /// `VirtualOutput`: an input has one virtual channel per output (`noq`).
    pub queueing: Queueing,
    /// Virtual channels of every output and, with `Fifo`, of every input, 1 to 64. Source:
    /// GPGPU-Sim's BookSim 2: 1.
    pub virtual_channels: u32,
    /// Channel selection with `Fifo`. If true, a packet takes the virtual channel
    /// `output mod virtual_channels`. Packets from one input to one output then stay in order, as
    /// caches require. If `false`, it takes the next one that has room, and packets overtake each
    /// other.
    pub ordered: bool,
    /// Flits that an input holds per virtual channel. One channel runs at full rate from
    /// `input_wire_cycles + credit_wire_cycles + 1` on. Source: GPGPU-Sim's BookSim 2: 64 for the
    /// GTX 480, 256 for Volta.
    pub buffer_flits: u32,
    /// Flits that the far end of each output holds per virtual channel.
    pub output_buffer_flits: u32,
    /// Arbiter for switch allocation, and for virtual-channel allocation (iSLIP with one iteration;
    /// round robin if not built in). Source: GPGPU-Sim's BookSim 2: iSLIP with 1 iteration.
    pub arbiter: Policy<Arbiter>,
    /// Router steps per cycle, 1 to 4. Source: GPGPU-Sim's BookSim 2: 2.
    pub internal_speedup: u32,
    /// Switch ports per input; virtual channel `v` uses port `v mod this`. Source: GPGPU-Sim's
    /// BookSim 2: 1.
    pub input_speedup: u32,
    /// Enables speculation: heads request the switch while they request a virtual channel. Source:
    /// GPGPU-Sim's BookSim 2: `false`.
    pub speculative: bool,
    /// Cycles of route computation, 0 with look-ahead. Source: GPGPU-Sim's BookSim 2: 0.
    pub routing_cycles: u32,
    /// Cycles of virtual-channel allocation, at least 1; not pipelined. Source: GPGPU-Sim's BookSim
    /// 2: 1.
    pub vc_allocation_cycles: u32,
    /// Cycles of switch allocation, at least 1; not pipelined. Source: GPGPU-Sim's BookSim 2: 1.
    pub switch_allocation_cycles: u32,
    /// Cycles of switch traversal, at least 1; not pipelined. Source: GPGPU-Sim's BookSim 2: 1.
    pub traversal_cycles: u32,
    /// Cycles from a flit's acceptance at the port to its arrival in the input buffer. Source:
    /// GPGPU-Sim's BookSim 2: 2.
    pub input_wire_cycles: u32,
    /// Cycles from a flit's switch traversal to its departure from the network. Source: GPGPU-Sim's
    /// BookSim 2: 2.
    pub output_wire_cycles: u32,
    /// Cycles from a flit's departure from a buffer to its slot being usable at the other end of
    /// the wire, at least 1. Source: GPGPU-Sim's BookSim 2: 2.
    pub credit_wire_cycles: u32,
    /// Cycles in which the router processes an output's credit. Source: GPGPU-Sim's BookSim 2: 0.
    pub credit_cycles: u32,
}

impl RouterSpec {
    /// Checks the parameters for a router of this shape; `field` is the name of this network in
    /// errors.
    ///
    /// # Errors
    /// Fails if a parameter is outside its range.
    pub fn check(&self, field: &str, inputs: u32, outputs: u32) -> Result<(), SpecError> {
        for (name, value, low, high) in [
            ("flit_bytes", self.flit_bytes, 1, 4096),
            (
                "virtual_channels",
                self.virtual_channels,
                1,
                VIRTUAL_CHANNELS_MAX,
            ),
            ("buffer_flits", self.buffer_flits, 1, 1 << 20),
            ("output_buffer_flits", self.output_buffer_flits, 1, 1 << 20),
            ("internal_speedup", self.internal_speedup, 1, 4),
            ("input_speedup", self.input_speedup, 1, PORTS_MAX / inputs),
            ("routing_cycles", self.routing_cycles, 0, 1 << 16),
            (
                "vc_allocation_cycles",
                self.vc_allocation_cycles,
                1,
                1 << 16,
            ),
            (
                "switch_allocation_cycles",
                self.switch_allocation_cycles,
                1,
                1 << 16,
            ),
            ("traversal_cycles", self.traversal_cycles, 1, 1 << 16),
            ("input_wire_cycles", self.input_wire_cycles, 0, 1 << 16),
            ("output_wire_cycles", self.output_wire_cycles, 0, 1 << 16),
            ("credit_wire_cycles", self.credit_wire_cycles, 1, 1 << 16),
            ("credit_cycles", self.credit_cycles, 0, 1 << 16),
        ] {
            SpecError::in_range(&format!("{field}.{name}"), value, low..=high)?;
        }
        let single = self.vc_allocation_cycles == 1 && self.switch_allocation_cycles == 1;
        SpecError::require(
            single || !self.speculative,
            &format!("{field}.speculative"),
            || "requires single-cycle allocation stages".to_owned(),
        )?;
        check_buffers(
            field,
            (inputs, outputs),
            self.buffered_flits(inputs, outputs),
        )
    }

    /// Returns the total capacity of its buffers in flits.
    pub(in crate::crossbar) fn buffered_flits(&self, inputs: u32, outputs: u32) -> u64 {
        let lanes = u64::from(inputs) * u64::from(self.lanes(outputs));
        let channels = u64::from(outputs) * u64::from(self.virtual_channels);
        lanes * u64::from(self.buffer_flits) + channels * u64::from(self.output_buffer_flits)
    }

    /// Builds the arbiter of the switch, and that of speculative requests.
    pub(in crate::crossbar) fn arbiters(
        &self,
        place: &NetworkPlace<'_>,
        inputs: usize,
        outputs: usize,
    ) -> Result<(AnyArbiter, Option<AnyArbiter>), SpecError> {
        let site = ArbiterSite {
            inputs: inputs as u32 * self.input_speedup,
            outputs: outputs as u32,
        };
        let speculative = self
            .speculative
            .then(|| place.arbiter(&self.arbiter, site, 1));
        Ok((
            place.arbiter(&self.arbiter, site, 0)?,
            speculative.transpose()?,
        ))
    }

    /// True if packets from one input to one output stay in order.
    pub fn keeps_order(&self) -> bool {
        self.ordered || self.virtual_channels == 1 || self.queueing == Queueing::VirtualOutput
    }

    /// Returns the number of virtual channels of an input.
    #[inline]
    pub(super) fn lanes(&self, outputs: u32) -> u32 {
        match self.queueing {
            Queueing::Fifo => self.virtual_channels,
            Queueing::VirtualOutput => outputs,
        }
    }

    /// Cycles that a packet of `flits` takes through an empty router. Measured on a router with a
    /// single input and output, because unpipelined stages have no simple formula.
    pub fn zero_load_cycles(&self, flits: u32) -> u32 {
        // With one input and one output all arbiters do the same.
        let arbiter = || AnyArbiter::BuiltIn(BuiltInArbiter::RoundRobin);
        let arbiters = (arbiter(), self.speculative.then(arbiter));
        let mut router = Router::new(1, 1, self, arbiters);
        let parcel = PacketInfo {
            input: 0,
            output: 0,
            flits,
            bytes: 0,
        };
        router.ports.offer(0, parcel, ());
        let (mut now, mut left) = (0, None);
        while left.is_none() {
            router.step(now, |_, (), _| {
                left = Some(now as u32);
                true
            });
            now += 1;
        }
        left.unwrap_or_default()
    }
}
