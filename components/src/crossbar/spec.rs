//! Specification of a crossbar and its checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Id, SpecError};

use super::network_spec::NetworkSpec;
use super::queueing::PORTS_MAX;
use crate::interleave::Interleave;
use crate::memory::CONTROL_BYTES;

/// Maximum number of outstanding requests, over all ports.
const OUTSTANDING_MAX: u32 = Id::PLACES_MAX as u32;

/// Specification of a crossbar: ports, interleaving and networks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossbarSpec {
    /// Ports towards the clusters, 1 to 128.
    pub up_ports: u32,
    /// Ports towards the memory partitions, 1 to 128.
    pub down_ports: u32,
    /// Interleaving of lines over the down ports; its `slices` must equal `down_ports`.
    pub interleave: Interleave,
    /// Outstanding requests per up port; the port stalls at this limit.
    pub outstanding: u32,
    /// Gives the control of a packet a flit of its own, so that `b` bytes of data take
    /// `1 + ceil(b / flit_bytes)` flits. Source: `true` in the graph thesis, `false` in GPGPU-Sim.
    #[serde(default)]
    pub control_flit: bool,
    /// Network that carries requests downstream to the memory partitions.
    pub request: NetworkSpec,
    /// Network that carries responses upstream to the clusters.
    pub reply: NetworkSpec,
}

impl CrossbarSpec {
    /// Returns the number of flits of a message of `bytes`, control included, in one of its
    /// networks.
    #[inline]
    pub(super) fn flits(&self, network: &NetworkSpec, bytes: u32) -> u32 {
        if self.control_flit {
            flits_with_control(network, bytes)
        } else {
            network.flits(bytes)
        }
    }

    /// Checks that all parameters are within their ranges.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        for (field, ports) in [("up_ports", self.up_ports), ("down_ports", self.down_ports)] {
            SpecError::in_range(field, ports, 1..=PORTS_MAX)?;
        }
        self.interleave.check("interleave")?;
        SpecError::require(
            self.interleave.slices == self.down_ports,
            "interleave.slices",
            || {
                format!(
                    "{} slices are interleaved over {} down ports; the numbers must be equal",
                    self.interleave.slices, self.down_ports
                )
            },
        )?;
        let most = OUTSTANDING_MAX / self.up_ports;
        SpecError::in_range("outstanding", self.outstanding, 1..=most)?;
        check_network(&self.request, "request", (self.up_ports, self.down_ports))?;
        check_network(&self.reply, "reply", (self.down_ports, self.up_ports))
    }
}

fn check_network(
    spec: &NetworkSpec,
    field: &str,
    (inputs, outputs): (u32, u32),
) -> Result<(), SpecError> {
    spec.check(field, inputs, outputs)?;
    let keeps_order = match spec {
        NetworkSpec::Switch(_) => true,
        NetworkSpec::Router(spec) => spec.keeps_order(),
    };
    SpecError::require(keeps_order, &format!("{field}.ordered"), || {
        "requests for one line could overtake each other in different virtual channels; set it, \
         or use VirtualOutput or one virtual channel"
            .to_owned()
    })
}

/// Returns the flits of a message whose control takes one of its own.
#[cold]
fn flits_with_control(network: &NetworkSpec, bytes: u32) -> u32 {
    match bytes.saturating_sub(CONTROL_BYTES) {
        0 => 1,
        data => 1 + network.flits(data),
    }
}
