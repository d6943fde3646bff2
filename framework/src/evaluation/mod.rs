//! Evaluation of a component: its context, its wake-up schedule and its wait condition.
//!
//! | file | holds |
//! |---|---|
//! | `next` | what a component waits for after an evaluation |
//! | `schedule` | who is awake when, per clock domain |
//! | `context` | what a component may ask of the engine during an evaluation |
//! | `shared` | what the evaluations of one partition leave for the engine |
//!
//! Ports ([`crate::channel`]) and components ([`crate::component`]) use this module, and the engine
//! ([`crate::engine`]) runs it. It depends on neither.

mod context;
mod next;
mod schedule;
mod shared;

pub use context::Context;
pub use next::Next;

pub(crate) use schedule::{DomainSchedule, NEAR, NEVER, Sweep, Target};
pub(crate) use shared::{CutActivity, Failure, Sent, Shared, Sink};
