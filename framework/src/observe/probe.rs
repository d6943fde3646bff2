//! The one instrumentation point: typed events from components and channels to a sink.
//!
//! Without a sink an event costs one predictable branch and its arguments are not computed.

use std::io;

use crate::observe::reason::Reason;
use crate::observe::sample::Sample;
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
        /// What else is known of it.
        about: About,
    },
    /// It ended.
    End {
        /// As in the beginning.
        name: &'static str,
        /// As in the beginning.
        id: u64,
    },
    /// Something that has begun waits, or goes on.
    Held {
        /// As in the beginning.
        name: &'static str,
        /// As in the beginning.
        id: u64,
        /// What it waits for, in words of the hardware; none when it goes on.
        because: Option<&'static str>,
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
        /// The transaction that the message belongs to, see `Message::flow`.
        flow: Option<u64>,
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
    /// A signal of the event world took a value; the component is none.
    Signal {
        /// Number of the signal, see `Simulation::signals`.
        signal: u32,
        /// Its value.
        value: Sample,
    },
}

/// What is known of something with a duration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// The transaction it belongs to, see `Message::flow`.
    pub flow: Option<u64>,
    /// Numbers that describe it.
    pub numbers: Vec<(&'static str, u64)>,
}

/// Receives every event of a run, in evaluation order.
pub trait ProbeSink: Send {
    /// Takes one event of component number `component` at `tick`.
    fn record(&mut self, tick: Tick, component: u32, probe: &Probe);

    /// Whether to ask this component what it shows ([`crate::Component::contents`]).
    fn wants_contents(&self, _component: u32) -> bool {
        true
    }

    /// Ends the recording at `now`.
    ///
    /// # Errors
    /// What went wrong while recording or now, such as a full disk.
    fn finish(&mut self, _now: Tick) -> io::Result<()> {
        Ok(())
    }
}
