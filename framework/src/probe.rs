//! The one instrumentation point: typed events from components and channels to a sink.
//!
//! Without a sink an event costs one predictable branch and its arguments are not computed.

use std::io;

use crate::component::Reason;
use crate::time::Tick;

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Probe {
    /// Something with a duration began; `id` pairs it with its end.
    Begin {
        /// Kind of thing, such as `work-group`.
        name: &'static str,
        /// Unique among the open things of this name and component.
        id: u64,
    },
    /// It ended.
    End {
        /// As in the beginning.
        name: &'static str,
        /// As in the beginning.
        id: u64,
    },
    /// A moment worth marking.
    Instant {
        /// What.
        name: &'static str,
        /// Which one.
        id: u64,
    },
    /// A quantity changed.
    Value {
        /// Which quantity.
        name: &'static str,
        /// Its new value.
        value: f64,
    },
    /// The component could not go on.
    Blocked {
        /// What it waits for.
        because: &'static str,
    },
    /// A message entered a channel.
    Sent {
        /// Number of the channel, see `Simulation::channel_name`.
        channel: u32,
    },
    /// The receiver took a message from a channel.
    Taken {
        /// Number of the channel, see `Simulation::channel_name`.
        channel: u32,
    },
    /// From now on the component waits for something else than before, as it told the engine.
    Waits {
        /// What for.
        reason: Reason,
    },
}

/// Receives every event of a run, in evaluation order.
pub trait ProbeSink: Send {
    /// Takes one event of component number `component` at `tick`.
    fn record(&mut self, tick: Tick, component: u32, probe: &Probe);

    /// Ends the recording at `now`.
    ///
    /// # Errors
    /// What went wrong while recording or now, such as a full disk.
    fn finish(&mut self, _now: Tick) -> io::Result<()> {
        Ok(())
    }
}
