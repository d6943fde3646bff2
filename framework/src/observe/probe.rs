//! The only instrumentation point: typed events from components and channels to a sink.
//!
//! Without a sink an event costs one predictable branch and its arguments are not computed.

use std::io;

use crate::observe::reason::Reason;
use crate::observe::sample::Sample;
use crate::time::Tick;

/// Instrumentation event of a component or channel.
#[derive(Clone, Debug, PartialEq)]
pub enum Probe {
    /// An item with a duration began; `id` pairs it with its end.
    Begin {
        /// Kind of the item, such as `work-group`.
        name: &'static str,
        /// Number, unique among the open items of this name and component.
        id: u64,
        /// Further information about the item, such as numbers.
        about: About,
    },
    /// An item with a duration ended.
    End {
        /// Same name as in the matching `Begin`.
        name: &'static str,
        /// Same number as in the matching `Begin`.
        id: u64,
    },
    /// An item that has begun stalls, or continues.
    Held {
        /// Same name as in the matching `Begin`.
        name: &'static str,
        /// Same number as in the matching `Begin`.
        id: u64,
        /// Reason for the stall in hardware terms; `None` when the item continues.
        because: Option<&'static str>,
    },
    /// Event without duration that is worth marking.
    Instant {
        /// Name of the event, such as its kind.
        name: &'static str,
        /// Number that identifies the individual event.
        id: u64,
    },
    /// The value of a quantity changed.
    Value {
        /// Name of the quantity that changed.
        name: &'static str,
        /// New value of the quantity that changed.
        value: f64,
    },
    /// The component as a whole was stalled.
    Blocked {
        /// Reason for the stall in hardware terms.
        because: &'static str,
    },
    /// A message entered a channel from its sender.
    Sent {
        /// Number of the channel, see `Simulation::channel_name`.
        channel: u32,
        /// Transaction that the message belongs to, see `Message::flow`.
        flow: Option<u64>,
    },
    /// The receiver took a message from a channel.
    Taken {
        /// Number of the channel, see `Simulation::channel_name`.
        channel: u32,
    },
    /// The component waits for a different reason than before, as it reported to the engine.
    Waits {
        /// New reason for which it waits.
        reason: Reason,
    },
    /// A signal of the event world changed its value; no component is involved.
    Signal {
        /// Number of the signal, see `Simulation::signals`.
        signal: u32,
        /// New value of the signal that changed.
        value: Sample,
    },
}

/// Information about an item with a duration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Transaction that the item belongs to, see `Message::flow`.
    pub flow: Option<u64>,
    /// Numbers that describe the item, with names.
    pub numbers: Vec<(&'static str, u64)>,
}

/// Receives every event of a run, in evaluation order.
pub trait ProbeSink: Send {
    /// Records one event of component number `component` at `tick`.
    fn record(&mut self, tick: Tick, component: u32, probe: &Probe);

    /// True if the sink needs the contents of this component ([`crate::Inspect::contents`]).
    fn wants_contents(&self, _component: u32) -> bool {
        true
    }

    /// Ends the recording at `now`.
    ///
    /// # Errors
    /// Returns the error that occurred while recording or finishing, such as a full disk.
    fn finish(&mut self, _now: Tick) -> io::Result<()> {
        Ok(())
    }
}
