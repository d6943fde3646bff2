//! The event kernel of Warpweave: clocked components, typed channels, exact time, and events,
//! signals and processes beside them.
//!
//! ```text
//!   SystemBuilder ── elaborate ──► Simulation ── run ──► Outcome, statistics
//!     clocks                         per clock domain: awake components, near and far wake-ups
//!     instances (Component)          channels: bounded rings with timestamps in the slots
//!     wires (Link)                   event world: timed queue, delta cycles, processes
//!     World
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
//!
//! # Events, signals and processes
//!
//! Benches and behavioural models may use the event [`World`] of a system, whose rules are those
//! of SystemC. It runs after the clock edges of a tick, and components never wait for it: what
//! RON instantiates is never a process. `docs/for-systemc-users.md` goes through it notion by
//! notion.
//!
//! An [`Event`] is notified now, in the next delta cycle, or at a time; the earlier pending
//! notification stays:
//!
//! ```
//! # use warpweave_framework::*;
//! # use std::{cell::Cell, rc::Rc};
//! let mut builder = SystemBuilder::new();
//! let world = builder.world();
//! let alarm = world.event("alarm");
//! let rang_at = Rc::new(Cell::new(None));
//! let (w, seen) = (world.clone(), rang_at.clone());
//! world.handler("listener", &[&alarm], move || seen.set(Some(w.now())));
//! alarm.notify_after(20);
//! alarm.notify_after(30); // Later than the pending one: ignored.
//! assert_eq!(builder.elaborate()?.run(&RunLimits::default()), Outcome::Done);
//! assert_eq!(rang_at.get(), Some(Tick(20)));
//! # Ok::<(), ElaborationErrors>(())
//! ```
//!
//! A [`Signal`] keeps its value until the update phase, so the order of processes never matters:
//!
//! ```
//! # use warpweave_framework::*;
//! let mut builder = SystemBuilder::new();
//! let world = builder.world();
//! let (a, b) = (world.signal("a", 1), world.signal("b", 2));
//! for (from, to) in [(a.clone(), b.clone()), (b.clone(), a.clone())] {
//!     world.method("swap", &[], move || to.write(from.read()));
//! }
//! builder.elaborate()?.run(&RunLimits::default());
//! assert_eq!((a.read(), b.read()), (2, 1));
//! # Ok::<(), ElaborationErrors>(())
//! ```
//!
//! A process is an `async` block that awaits kernel objects only: events, time, clock cycles, and
//! the channel ports made for it:
//!
//! ```
//! # use warpweave_framework::*;
//! let mut builder = SystemBuilder::new();
//! let clock = builder.clock("core", Frequency::new(1_000_000_000, 1).expect("not zero"));
//! let mut output = builder.process_output::<u64>("driver", clock);
//! let mut input = builder.process_input::<u64>("checker", clock);
//! builder.connect("driver.output", "checker.input", Link::latency(3));
//! let world = builder.world();
//! world.process("driver", {
//!     let world = world.clone();
//!     async move {
//!         world.cycles(clock, 10).await;
//!         output.send(42).await; // At the edge of cycle 11.
//!     }
//! });
//! world.process("checker", {
//!     let world = world.clone();
//!     async move {
//!         assert_eq!(input.recv().await, 42);
//!         assert_eq!(world.cycle(clock), 14);
//!     }
//! });
//! assert_eq!(builder.elaborate()?.run(&RunLimits::default()), Outcome::Done);
//! # Ok::<(), ElaborationErrors>(())
//! ```

mod barrier;
mod builder;
mod channel;
mod checkpoint;
mod checkpoint_file;
mod clocked;
mod component;
mod contents;
mod context;
mod course;
mod cut;
mod deadlock;
mod event;
mod event_queue;
mod fifo;
mod id_table;
mod kind;
mod notification_queue;
mod partition;
mod placement;
mod plan;
mod ports;
mod probe;
mod process_port;
mod published;
mod registry;
mod report;
mod ring;
#[cfg(test)]
mod ring_tests;
mod schedule;
mod semaphore;
mod signal;
mod simulation;
mod state;
mod state_hash;
mod statistics;
mod sync;
mod tap;
mod test_bench;
mod threads;
mod time;
mod transport;
pub mod verify;
mod waits;
mod wave;
mod world;

pub use builder::{
    ClockId, ElaborationError, ElaborationErrors, Origin, SystemBuilder, connectable_names,
};
pub use channel::{InPort, Link, Message, OutPort, Width};
pub use checkpoint::{Checkpoint, CheckpointError, Description, Difference, Subject};
pub use checkpoint_file::FileError;
pub use clocked::{Clock, Reset};
pub use component::{Component, Next, Reason};
pub use contents::{Contents, Thing};
pub use context::Context;
pub use course::RunStep;
pub use deadlock::{DeadlockReport, WaitEdge};
pub use event::Event;
pub use event_queue::QueueKind;
pub use fifo::Fifo;
pub use id_table::{Id, IdTable};
pub use kind::{Environment, Kind, SpecError};
pub use notification_queue::NotificationQueue;
pub use placement::Division;
pub use plan::busiest_share;
pub use ports::{Bundle, Direction, Port, PortState, Ports};
pub use probe::{About, Probe, ProbeSink};
pub use process_port::{ProcessInput, ProcessOutput, ProcessRequester};
pub use published::{Observed, Published};
pub use registry::{Built, FieldDoc, KindEntry, Registry};
pub use report::{Report, Severity};
pub use semaphore::{Mutex, MutexGuard, Semaphore};
pub use signal::{Signal, SignalValue};
pub use simulation::{EngineOptions, Order, Outcome, RunLimits, Simulation};
pub use state::{State, StateError};
pub use state_hash::{PartedPlace, Parting, StateHasher};
pub use statistics::{
    Histogram, InstanceStatistics, Level, Role, Series, Statistic, Statistics, Value,
};
pub use tap::{Credit, PortAddress, Tap, TapError, Transit};
pub use test_bench::{Sink, Source, TestBench};
pub use time::{ClockSetError, Cycle, Frequency, Tick, TimeBase};
pub use transport::{Command, LocalTime, Payload, Response, Router, Transport, Transported};
pub use waits::{Wait, Waits};
pub use wave::{Sample, Shape, SignalLine, WaveSink};
pub use world::{Process, Trigger, Update, World};

/// The chapter's examples, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/for-systemc-users.md")]
mod for_systemc_users {}
