//! What every port offers to elaboration, checkpoints and reports, whatever its message type.

use std::any::{Any, TypeId};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::channel::boundary::{Boundary, Positions};
use crate::channel::stall::StallInjector;
use crate::evaluation::Target;

/// Which way messages pass a port, seen from its component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The component receives.
    Input,
    /// The component sends.
    Output,
}

/// What every port offers to elaboration and reports, whatever its message type.
pub(crate) trait AnyPort: Any {
    fn direction(&self) -> Direction;
    fn message_type(&self) -> (TypeId, &'static str);
    fn is_bound(&self) -> bool;
    /// Output: any number of wires may start here.
    fn fans_out(&self) -> bool {
        false
    }
    /// What only a port of its direction offers.
    fn end(&mut self) -> End<'_>;
    fn state(&self) -> PortState;
    /// The last tick after `now` at which something on its way through the channel arrives here: a
    /// message or a value, or the credit for which there is no room.
    fn arrival(&self, _now: u64) -> Option<u64> {
        None
    }
    /// What the port adds to the saved state of its channel at tick `now`. An input adds what the
    /// channel holds, an output its accounting.
    fn save(&self, now: u64) -> Result<SavedPort, String>;
    /// Whether something stands between the port and its channel that may remember things.
    fn is_tapped(&self) -> bool {
        false
    }
    /// What of [`SavedPort::state`] a person can read.
    fn describe(&self) -> Option<(String, serde_json::Value)>;
    /// Input: drops what the channel holds, before [`AnyPort::load`] of the output fills it.
    fn clear(&mut self) {}
    /// Restores the port from what it saved and what the port at the other end saved.
    fn load(&mut self, own: &SavedPort, other: &SavedPort) -> Result<(), String>;
    /// Disturbs what passes, where messages pass.
    fn stall(&mut self, _injector: StallInjector) {}
}

/// A port as the end of a channel.
pub(crate) enum End<'a> {
    Output(&'a mut dyn OutputEnd),
    Input(&'a mut dyn InputEnd),
}

/// What outputs offer to elaboration.
pub(crate) trait OutputEnd {
    /// Makes the channel, keeps its writing end and returns the reading end.
    fn make_channel(&mut self, terms: &ChannelTerms) -> Box<dyn Any>;
    /// Says where the receiver of `channel` is. Across a cut a channel with slots gives its time
    /// stamps, and whether the sender waits for a credit.
    fn place_receiver(
        &mut self,
        channel: u32,
        receiver: Reach,
    ) -> Option<(Arc<dyn Boundary>, bool)>;
}

/// What inputs offer to elaboration.
pub(crate) trait InputEnd {
    /// Takes the reading end that [`OutputEnd::make_channel`] returned.
    fn take_end(&mut self, end: Box<dyn Any>, terms: &ChannelTerms);
    /// Says where the sender is.
    fn place_sender(&mut self, sender: Reach);
}

/// Where the other end of a channel is, seen from one end.
#[derive(Clone)]
pub(crate) enum Reach {
    /// A component of this partition and clock.
    Same(Target),
    /// A component of this partition and another clock.
    OtherClock(Target),
    /// Another partition: number of the cut, and where the ends tell their positions.
    Cut(u32, Arc<Positions>),
}

impl Reach {
    /// The component, unless it is in another partition.
    pub(crate) fn within_partition(&self) -> Option<Target> {
        match self {
            Self::Same(target) | Self::OtherClock(target) => Some(*target),
            Self::Cut(..) => None,
        }
    }

    /// Where `to` is, seen from `from`; elaboration starts with one partition.
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
    /// What results depend on.
    pub state: Vec<u8>,
    /// What only the engine needs: counters, who is to be woken.
    pub engine: Vec<u8>,
}

impl SavedPort {
    /// Saves the two halves.
    pub(crate) fn of(state: &impl Serialize, engine: &impl Serialize) -> Result<Self, String> {
        let bytes = |result: postcard::Result<Vec<u8>>| result.map_err(|e| e.to_string());
        Ok(Self {
            state: bytes(postcard::to_stdvec(state))?,
            engine: bytes(postcard::to_stdvec(engine))?,
        })
    }

    /// What results depend on.
    pub(crate) fn state<T: DeserializeOwned>(&self) -> Result<T, String> {
        postcard::from_bytes(&self.state).map_err(|e| e.to_string())
    }

    /// What only the engine needs.
    pub(crate) fn engine<T: DeserializeOwned>(&self) -> Result<T, String> {
        postcard::from_bytes(&self.engine).map_err(|e| e.to_string())
    }
}

/// The terms of one channel after elaboration, in ticks and cycles.
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

/// A look at one port for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortState {
    /// Messages in the channel, visible or in flight.
    pub occupancy: usize,
    /// Slots of the channel.
    pub capacity: usize,
    /// Output: the component found no room and waits for a credit.
    pub blocked: bool,
    /// Messages passed so far.
    pub messages: u64,
}

impl PortState {
    /// That of a port without a wire.
    pub(crate) const UNCONNECTED: Self = Self {
        occupancy: 0,
        capacity: 0,
        blocked: false,
        messages: 0,
    };
}
