//! Typed, bounded, point-to-point channels and the two ports at their ends.
//!
//! ```text
//!   sender ──► OutPort ══ latency ══► [ring of `capacity` slots] ──► InPort ──► receiver
//!                 ▲                                                     │
//!                 └───────────────── credit latency ◄───────────────────┘
//! ```
//!
//! A message sent in cycle `t` is readable `latency` sender cycles later; a slot emptied in cycle
//! `t` can be used again `credit_latency` receiver cycles later. Both are at least one, so nothing
//! done in a cycle is seen by another component in the same cycle. Across clocks a message is
//! readable at the first receiver edge at or after that time.
//!
//! | file | holds |
//! |---|---|
//! | `message`, `link` | what travels, and the terms of a wire |
//! | `out_port`, `in_port`, `way` | the two ends of a channel, and the short ways through them |
//! | `ring` | the slots between them |
//! | `cut` | what the ends show to the coordinator when they lie in different partitions |
//! | `published` | values with one writer and many readers, without credits |
//! | `ports`, `any_port` | how a component names its ports; what tools may do with any port |
//! | `tap`, `stall` | what may stand between a port and its channel |
//!
//! Ports reach the engine through [`crate::Context`] alone: they wake components, and know nothing of
//! who else is evaluated.

pub(crate) mod any_port;
pub(crate) mod cut;
pub(crate) mod in_port;
pub(crate) mod link;
pub(crate) mod message;
pub(crate) mod out_port;
pub(crate) mod ports;
pub(crate) mod published;
pub(crate) mod ring;
#[cfg(test)]
mod ring_tests;
pub(crate) mod stall;
pub(crate) mod tap;
mod way;
