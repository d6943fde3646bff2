//! A network of either kind behind one interface.

use serde::Serialize;
use serde::de::DeserializeOwned;
use warpweave_framework::{Cycle, Histogram, State, Statistics};

use super::network_spec::NetworkSpec;
use super::packets::Parcel;
use super::router::Router;
use super::switch::Switch;

/// A [`Switch`] or a [`Router`]; `P` is what its packets carry.
pub enum Network<P> {
    /// One stage, no virtual channels.
    Switch(Box<Switch<P>>),
    /// Virtual channels and a pipeline.
    Router(Box<Router<P>>),
}

/// The same call on either kind.
macro_rules! either {
    ($network:expr, $inner:ident => $call:expr) => {
        match $network {
            Network::Switch($inner) => $call,
            Network::Router($inner) => $call,
        }
    };
}

impl<P: Copy> Network<P> {
    /// An empty network; `spec` has been checked for this shape.
    pub fn new(inputs: usize, outputs: usize, spec: &NetworkSpec) -> Self {
        match spec {
            NetworkSpec::Switch(spec) => Self::Switch(Box::new(Switch::new(inputs, outputs, spec))),
            NetworkSpec::Router(spec) => Self::Router(Box::new(Router::new(inputs, outputs, spec))),
        }
    }

    /// Whether `input` has no entering packet, so that one can be offered.
    #[inline]
    pub fn accepts(&self, input: usize) -> bool {
        either!(self, n => n.accepts(input))
    }

    /// Inputs that accept a packet, as bits.
    #[inline]
    pub fn accepting(&self) -> u128 {
        either!(self, n => n.accepting())
    }

    /// Inputs that finished taking a packet in the last step, as bits.
    #[inline]
    pub fn freed(&self) -> u128 {
        either!(self, n => n.freed())
    }

    /// Puts a packet before its input port; its head enters in the step of cycle `now`.
    ///
    /// # Panics
    /// When the input does not accept, or the parcel names no port or has no flit.
    pub fn offer(&mut self, now: Cycle, parcel: Parcel, payload: P) {
        either!(self, n => n.offer(now, parcel, payload));
    }

    /// One cycle; see [`Switch::step`] and [`Router::step`].
    pub fn step(&mut self, now: Cycle, deliver: impl FnMut(usize, P, Cycle) -> bool) {
        either!(self, n => n.step(now, deliver));
    }

    /// The first cycle after `now` in which a step changes something without new packets and
    /// without a receiver changing its mind; nothing if there is none.
    pub fn next_event(&self, now: Cycle) -> Option<Cycle> {
        either!(self, n => n.next_event(now))
    }

    /// Whether a receiver refused a packet in the last step.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        either!(self, n => n.is_blocked())
    }

    /// Packets offered and not delivered.
    pub fn packets_inside(&self) -> usize {
        either!(self, n => n.packets_inside())
    }

    /// Packets delivered so far.
    pub fn packets_delivered(&self) -> u64 {
        either!(self, n => n.packets_delivered())
    }

    /// Flits that left so far, per output.
    pub fn flits_delivered(&self) -> &[u64] {
        either!(self, n => n.flits_delivered())
    }

    /// Cycles from offer to delivery of the packets delivered so far.
    pub fn latency(&self) -> &Histogram {
        either!(self, n => n.latency())
    }

    /// Cycles before `cycle` in which an entering flit found no credit, added up over inputs.
    pub fn credit_stalls(&self, cycle: Cycle) -> u64 {
        either!(self, n => n.credit_stalls(cycle))
    }

    /// Reports the statistics of this network, named `network_…`.
    pub fn statistics(&self, network: &str, statistics: &mut Statistics<'_>) {
        either!(self, n => n.statistics(network, statistics));
    }
}

impl<P: Copy + Serialize + DeserializeOwned> Network<P> {
    /// Names the fields of the state.
    pub fn state(&mut self, state: &mut State<'_>) {
        either!(self, n => n.state(state));
    }
}
