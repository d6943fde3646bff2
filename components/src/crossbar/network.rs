//! Common interface of both kinds of network.

use warpweave_framework::{Cycle, Histogram, Instrumented, SpecError, State, Statistics};

use super::arbiter::ArbiterSite;
use super::network_place::NetworkPlace;
use super::network_ports::NetworkPorts;
use super::network_spec::NetworkSpec;
use super::router::Router;
use super::switch::Switch;
use super::traffic::PacketInfo;

/// A [`Switch`] or a [`Router`]; `P` is the payload of its packets.
#[derive(State)]
pub enum Network<P> {
    /// Switch with one stage and no virtual channels.
    Switch(Box<Switch<P>>),
    /// Router with virtual channels and a pipeline.
    Router(Box<Router<P>>),
}

impl<P: Copy> Network<P> {
    /// Creates an empty network; `spec` must have been checked for this shape.
    ///
    /// # Errors
    /// Fails if the arbiter rejects the configuration.
    pub fn new(
        inputs: usize,
        outputs: usize,
        spec: &NetworkSpec,
        place: &NetworkPlace<'_>,
    ) -> Result<Self, SpecError> {
        Ok(match spec {
            NetworkSpec::Switch(spec) => {
                let site = ArbiterSite {
                    inputs: inputs as u32,
                    outputs: outputs as u32,
                };
                let arbiter = place.arbiter(&spec.arbiter, site, 0)?;
                Self::Switch(Box::new(Switch::new(inputs, outputs, spec, arbiter)))
            }
            NetworkSpec::Router(spec) => {
                let arbiters = spec.arbiters(place, inputs, outputs)?;
                Self::Router(Box::new(Router::new(inputs, outputs, spec, arbiters)))
            }
        })
    }

    /// Returns the contract violation of an arbiter, which ends the run, if there was one.
    #[inline]
    pub fn broken(&self) -> Option<&str> {
        match self {
            Self::Switch(switch) => switch.arbiter().broken(),
            Self::Router(router) => router.broken(),
        }
    }

    /// True if `input` has no entering packet, so that one can be offered.
    #[inline]
    pub fn accepts(&self, input: usize) -> bool {
        self.ports().inputs.accepts(input)
    }

    /// Returns the inputs that accept a packet, as a bit mask.
    #[inline]
    pub fn accepting(&self) -> u128 {
        self.ports().inputs.accepting()
    }

    /// Returns the inputs that finished accepting a packet in the last step, as a bit mask.
    #[inline]
    pub fn freed(&self) -> u128 {
        self.ports().inputs.freed()
    }

    /// Offers a packet to its input port; its head enters in the step of cycle `now`.
    ///
    /// # Panics
    /// Panics if the input does not accept, or if the parcel's ports or flit count are invalid.
    pub fn offer(&mut self, now: Cycle, parcel: PacketInfo, payload: P) {
        let ports = match self {
            Self::Switch(switch) => &mut switch.ports,
            Self::Router(router) => &mut router.ports,
        };
        ports.offer(now, parcel, payload);
    }

    /// Simulates one cycle. `deliver` is called with every packet whose tail can leave: its output,
    /// its payload and the cycle in which its head entered. It returns true if the receiver
    /// accepted the packet. Cycles in which nothing can happen may be skipped.
    pub fn step(&mut self, now: Cycle, deliver: impl FnMut(usize, P, Cycle) -> bool) {
        match self {
            Self::Switch(switch) => switch.step(now, deliver),
            Self::Router(router) => router.step(now, deliver),
        }
    }

    /// Returns the first cycle after `now` in which a step changes something without new packets
    /// and without changes at the receivers. Returns `None` if there is none.
    pub fn next_event(&self, now: Cycle) -> Option<Cycle> {
        match self {
            Self::Switch(switch) => switch.next_event(now),
            Self::Router(router) => router.next_event(now),
        }
    }

    /// True if a receiver refused a packet in the last step.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.ports().outputs.is_blocked()
    }

    /// Number of packets offered and not yet delivered.
    pub fn packets_inside(&self) -> usize {
        self.ports().traffic.packets_inside()
    }

    /// Total number of packets delivered so far.
    pub fn packets_delivered(&self) -> u64 {
        self.ports().traffic.packets_delivered()
    }

    /// Flits that left so far, per output.
    pub fn flits_delivered(&self) -> &[u64] {
        self.ports().traffic.flits_delivered()
    }

    /// Histogram of cycles from offer to delivery of the packets delivered so far.
    pub fn latency(&self) -> &Histogram {
        self.ports().traffic.latency()
    }

    /// Cycles before `cycle` in which an entering flit found no credit, summed over inputs.
    pub fn credit_stalls(&self, cycle: Cycle) -> u64 {
        self.ports().traffic.credit_stalls(cycle)
    }

    #[inline]
    fn ports(&self) -> &NetworkPorts<P> {
        match self {
            Self::Switch(switch) => &switch.ports,
            Self::Router(router) => &router.ports,
        }
    }
}

impl<P: Copy> Instrumented for Network<P> {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.ports().traffic.statistics(statistics);
        match self {
            Self::Switch(switch) => switch.arbiter().statistics(statistics),
            Self::Router(router) => router.report_arbiters(statistics),
        }
    }
}
