//! Typed, bounded, point-to-point channels and the two ports at their ends.
//!
//! ```text
//!   sender ──► OutPort ══ latency ══► [ring of `capacity` slots] ──► InPort ──► receiver
//!                 ▲                                                     │
//!                 └───────────────── credit latency ◄───────────────────┘
//! ```
//!
//! A message sent in cycle `t` is readable `latency` sender cycles later. A slot emptied in cycle
//! `t` can be reused `credit_latency` receiver cycles later. Both are at least one, so no action is
//! visible to another component in the same cycle. Across clocks a message is readable at the first
//! receiver edge at or after that time.
//!
//! | file | holds |
//! |---|---|
//! | `message`, `link` | what travels, and the terms of a wire |
//! | `out_port`, `in_port`, `way` | the two ends of a channel, and the short ways through them |
//! | `ring` | the slots between them |
//! | `boundary` | what the ends show to the coordinator when they lie in different partitions |
//! | `published` | values with one writer and many readers, without credits |
//! | `ports`, `any_port` | how a component names its ports; what tools may do with any port |
//! | `tap`, `stall` | what may stand between a port and its channel |
//!
//! Ports reach the engine only through [`crate::Context`]: they wake components and do not know
//! which others are evaluated.

mod any_port;
mod boundary;
mod delivery_path;
mod in_port;
mod link;
mod message;
mod out_port;
mod port_id;
mod ports;
mod published;
mod ring;
#[cfg(test)]
mod ring_tests;
mod stall;
mod tap;

pub use any_port::{Direction, PortState};
pub use in_port::InPort;
pub use link::{Link, Width};
pub use message::Message;
pub use out_port::OutPort;
pub use port_id::{PortId, PortName};
pub use ports::{Bundle, Port, PortField, Ports};
pub use published::{Observed, Published};
pub use stall::StallInjector;
pub use tap::{Credit, Tap, Transit};

pub(crate) use any_port::{AnyPort, ChannelTerms, End, Reach, SavedPort};
pub(crate) use boundary::Vacancy;
pub(crate) use boundary::{Boundary, Positions};
