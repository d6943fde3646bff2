//! Verification kit: tools with which component authors find bugs, as ordinary library code.
//!
//! | need | use |
//! |---|---|
//! | rules of a request/answer protocol on a wire | [`check_exchange`] |
//! | a channel delivers what was sent, in order, in time, within its capacity | [`check_wire`] |
//! | a device gives out what went in | [`Scoreboard`] |
//! | a device holds no more than it may; an arbiter is fair | [`check_occupancy`], [`check_fairness`] |
//! | what passed a port, without keeping the system from being divided or saved | [`PortRecording`] |
//! | back-pressure and late messages at any port | [`StallInjector`], [`Simulation::stall`] |
//! | seeded bugs on a wire | [`FaultInjector`] |
//! | a script of sends, expectations and delays | [`script`] |
//! | what the traffic has exercised | [`Coverage`] |
//! | all promises of the kernel at once, shrunk | [`Contract`] |
//! | hostile traffic, back-pressure and topologies for `proptest` | `strategies`, with the feature `proptest` |
//!
//! Checkers and injectors are taps on ports ([`crate::Tap`]), which cost no cycle. All randomness
//! is a function of (seed, place, count), so that every failure is reproducible.
//!
//! [`Simulation::stall`]: crate::Simulation::stall

mod contract;
mod coverage;
mod exchange;
mod fairness;
mod inject;
mod port_recording;
mod responder;
mod rig;
mod rule;
mod scoreboard;
pub mod script;
#[cfg(feature = "proptest")]
pub mod strategies;
mod violation;
mod watch;
mod wire;

pub use contract::{Contract, Failure};
pub use coverage::Coverage;
pub use exchange::{Exchange, ExchangeRules, check_exchange};
pub use fairness::{check_fairness, check_occupancy};
pub use inject::{Fault, FaultInjector};
pub use port_recording::PortRecording;
pub use rule::Rule;

pub use crate::channel::StallInjector;
pub use responder::Respond;
pub use rig::{Rig, Traffic};
pub use scoreboard::{Matching, Scoreboard};
pub use violation::{Check, Checks};
pub use warpweave_random::CounterRng;
pub use wire::check_wire;
