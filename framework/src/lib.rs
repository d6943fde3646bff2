//! The event kernel of Warpweave: clocked components, typed channels, exact time.
//!
//! ```text
//!   SystemBuilder ── elaborate ──► Simulation ── run ──► Outcome, statistics
//!     clocks                         per clock domain: awake components, near and far wake-ups
//!     instances (Component)          channels: bounded rings with timestamps in the slots
//!     wires (Link)
//! ```
//!
//! Three rules make results independent of evaluation order, sleeping and threads:
//! a message sent in a cycle is readable no earlier than the next one; a slot emptied in a cycle
//! is usable no earlier than the next one; components share nothing but channels and immutable
//! data.
//!
//! A component names its ports, does the work of one cycle, and says what it waits for:
//!
//! ```
//! use warpweave_framework::{Component, Context, InPort, Next, OutPort, Ports};
//!
//! /// Passes every number on, one larger.
//! #[derive(Default)]
//! struct Increment {
//!     input: InPort<u64>,
//!     output: OutPort<u64>,
//! }
//!
//! impl Component for Increment {
//!     fn ports(&mut self, ports: &mut Ports<'_>) {
//!         ports.input("input", &mut self.input);
//!         ports.output("output", &mut self.output);
//!     }
//!
//!     fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
//!         if self.input.peek(ctx).is_none() {
//!             return Next::Message;
//!         }
//!         if !self.output.can_send(ctx) {
//!             return Next::Credit;
//!         }
//!         if let Some(number) = self.input.pop(ctx) {
//!             self.output.send(ctx, number + 1);
//!         }
//!         // More may be waiting; the next evaluation finds out.
//!         if self.input.peek(ctx).is_some() { Next::Busy } else { Next::Message }
//!     }
//! }
//! ```

mod builder;
mod channel;
mod component;
mod context;
mod deadlock;
mod event;
mod event_queue;
mod kind;
mod ports;
mod probe;
mod process_port;
mod published;
mod registry;
mod ring;
mod schedule;
mod signal;
mod simulation;
mod statistics;
mod test_bench;
mod time;
mod waits;
mod world;

pub use builder::{
    ClockId, ElaborationError, ElaborationErrors, Origin, SystemBuilder, connectable_names,
};
pub use channel::{InPort, Link, Message, OutPort, Width};
pub use component::{Component, Next, Reason};
pub use context::Context;
pub use deadlock::{DeadlockReport, WaitEdge};
pub use event::Event;
pub use kind::{Environment, Kind, SpecError};
pub use ports::{Bundle, Direction, Port, PortState, Ports};
pub use probe::{Probe, ProbeSink};
pub use process_port::{ProcessInput, ProcessOutput};
pub use published::{Observed, Published};
pub use registry::{Built, FieldDoc, KindEntry, Registry};
pub use signal::Signal;
pub use simulation::{EngineOptions, Order, Outcome, RunLimits, Simulation};
pub use statistics::{Histogram, InstanceStatistics, Level, Series, Statistic, Statistics, Value};
pub use test_bench::{Sink, Source, TestBench};
pub use time::{ClockSetError, Cycle, Frequency, Tick, TimeBase};
pub use waits::{Wait, Waits};
pub use world::World;
