//! Interface of every port to elaboration, checkpoints and reports, independent of the message
//! type.

use std::any::{Any, TypeId};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::channel::boundary::{Boundary, Positions};
use crate::channel::stall::StallInjector;
use crate::evaluation::Target;

/// Direction of messages through a port, seen from its component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The component receives messages through this port.
    Input,
    /// The component sends messages through this port.
    Output,
}

/// Interface of every port to elaboration and reports, independent of the message type.
pub(crate) trait AnyPort: Any {
    fn direction(&self) -> Direction;
    fn message_type(&self) -> (TypeId, &'static str);
    fn is_bound(&self) -> bool;
    /// Output: true if any number of wires may start here.
    fn fans_out(&self) -> bool {
        false
    }
    /// Returns the interface specific to the port's direction.
    fn end(&mut self) -> End<'_>;
    fn state(&self) -> PortState;
    /// Returns the last tick after `now` at which an item in the channel arrives here, or `None`.
    /// Items are messages, values, and the credit that a full channel awaits.
    fn arrival(&self, _now: u64) -> Option<u64> {
        None
    }
    /// Returns the port's part of the saved channel state at tick `now`. An input contributes the
    /// channel's contents, an output its accounting.
    fn save(&self, now: u64) -> Result<SavedPort, String>;
    /// True if a tap that may hold state sits between the port and its channel.
    fn is_tapped(&self) -> bool {
        false
    }
    /// Returns the human-readable part of [`SavedPort::state`], with a name.
    fn describe(&self) -> Option<(String, serde_json::Value)>;
    /// Input: discards the channel's contents before [`AnyPort::load`] of the output refills it.
    fn clear(&mut self) {}
    /// Restores the port from its own saved state and that of the port at the other end.
    fn load(&mut self, own: &SavedPort, other: &SavedPort) -> Result<(), String>;
    /// Attaches a stall injector to ports that carry messages.
    fn stall(&mut self, _injector: StallInjector) {}
}

/// A port as one end of a channel.
pub(crate) enum End<'a> {
    Output(&'a mut dyn OutputEnd),
    Input(&'a mut dyn InputEnd),
}

/// Interface of an output port to elaboration.
pub(crate) trait OutputEnd {
    /// Creates the channel, keeps its writing end and returns the reading end.
    fn make_channel(&mut self, terms: &ChannelTerms) -> Box<dyn Any>;
    /// Sets the location of the receiver of `channel`. Across a cut, a channel with slots returns
    /// its time stamps, and true if the sender waits for a credit.
    fn place_receiver(
        &mut self,
        channel: u32,
        receiver: Reach,
    ) -> Option<(Arc<dyn Boundary>, bool)>;
}

/// Interface of an input port to elaboration.
pub(crate) trait InputEnd {
    /// Accepts the reading end that [`OutputEnd::make_channel`] returned.
    fn take_end(&mut self, end: Box<dyn Any>, terms: &ChannelTerms);
    /// Sets the location of the sender.
    fn place_sender(&mut self, sender: Reach);
}

/// Location of the other end of a channel, seen from one end.
#[derive(Clone)]
pub(crate) enum Reach {
    /// Component in this partition and clock domain.
    Same(Target),
    /// Component in this partition and another clock domain.
    OtherClock(Target),
    /// Another partition: number of the cut, and the positions that both ends publish.
    Cut(u32, Arc<Positions>),
}

impl Reach {
    /// Returns the component unless it is in another partition.
    pub(crate) fn within_partition(&self) -> Option<Target> {
        match self {
            Self::Same(target) | Self::OtherClock(target) => Some(*target),
            Self::Cut(..) => None,
        }
    }

    /// Location of `to` seen from `from`; elaboration starts with a single partition.
    pub(crate) fn within(from: Target, to: Target) -> Self {
        if from.domain == to.domain {
            Self::Same(to)
        } else {
            Self::OtherClock(to)
        }
    }
}

/// The saved state of one port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedPort {
    /// State that simulation results depend on.
    pub state: Vec<u8>,
    /// State that only the engine needs: counters and pending wake-ups.
    pub engine: Vec<u8>,
}

impl SavedPort {
    /// Saves the state and the engine's part.
    pub(crate) fn of(state: &impl Serialize, engine: &impl Serialize) -> Result<Self, String> {
        let bytes = |result: postcard::Result<Vec<u8>>| result.map_err(|e| e.to_string());
        Ok(Self {
            state: bytes(postcard::to_stdvec(state))?,
            engine: bytes(postcard::to_stdvec(engine))?,
        })
    }

    /// Decodes the state that simulation results depend on.
    pub(crate) fn state<T: DeserializeOwned>(&self) -> Result<T, String> {
        postcard::from_bytes(&self.state).map_err(|e| e.to_string())
    }

    /// Decodes the state that only the engine needs.
    pub(crate) fn engine<T: DeserializeOwned>(&self) -> Result<T, String> {
        postcard::from_bytes(&self.engine).map_err(|e| e.to_string())
    }
}

/// Terms of one channel after elaboration, in ticks and cycles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChannelTerms {
    pub capacity: u32,
    pub latency_cycles: u32,
    pub credit_cycles: u32,
    pub width: crate::channel::link::Width,
    pub sender: Target,
    pub receiver: Target,
    pub sender_period: u64,
    pub receiver_period: u64,
    pub channel: u32,
}

/// Snapshot of one port for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortState {
    /// Number of messages in the channel, visible or in flight.
    pub occupancy: usize,
    /// Number of slots of the channel.
    pub capacity: usize,
    /// Output: true if the channel was full and the component waits for a credit.
    pub blocked: bool,
    /// Number of messages passed so far.
    pub messages: u64,
}

impl PortState {
    /// State of a port without a wire.
    pub(crate) const UNCONNECTED: Self = Self {
        occupancy: 0,
        capacity: 0,
        blocked: false,
        messages: 0,
    };
}
