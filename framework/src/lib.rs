//! Event kernel of Warpweave: clocked components, typed channels and exact time, together with
//! events, signals and processes.
//!
//! ```text
//!   SystemBuilder ── elaborate ──► Simulation ── run ──► Outcome, statistics
//!     clocks                         per clock domain: awake components, near and far wake-ups
//!     instances (Component)          channels: bounded rings with timestamps in the slots
//!     wires (Link)                   event world: timed queue, delta cycles, processes
//!     World
//! ```
//!
//! Three rules make results independent of evaluation order, sleeping and threads. A message sent
//! in a cycle is readable no earlier than the next one. A slot emptied in a cycle is usable no
//! earlier than the next one. Components share nothing but channels and immutable data.
//!
//! A component declares its ports and its state, does the work of one cycle, and returns the
//! condition it waits for:
//!
//! ```
//! use warpweave_framework::{Component, Context, InPort, Next, OutPort, Ports, State, Statistics};
//!
//! /// Passes every number on, one larger.
//! #[derive(Default, Ports, State, Statistics)]
//! struct Increment {
//!     #[port]
//!     input: InPort<u64>,
//!     #[port]
//!     output: OutPort<u64>,
//! }
//!
//! impl Component for Increment {
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
//! Test benches and behavioural models may use the event [`World`] of a system, which follows the
//! rules of SystemC. It runs after the clock edges of a tick, and components never wait for it: RON
//! never instantiates a process. `docs/for-systemc-users.md` compares the concepts one by one.
//!
//! An [`Event`] is notified immediately, in the next delta cycle, or at a time; an earlier pending
//! notification is kept:
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
//! A process is an `async` block that awaits only kernel objects: events, time, clock cycles, and
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
//!
//! # Rooms
//!
//! The sources are in folders, each of which uses only those above it in this list;
//! `tests/tidy/tests/layers.rs` checks that.
//!
//! | folder | holds |
//! |---|---|
//! | `time` | exact time: ticks, cycles, clocks |
//! | `state` | the state of a component, field by field; values that come and go |
//! | `observe` | what a run lets others see: statistics, instrumentation, contents, waits |
//! | `evaluation` | who is awake, what it may ask, what it waits for |
//! | `channel` | typed wires and the ports at their ends |
//! | `component` | what a component is |
//! | `world` | events, signals and processes beside the components |
//! | `engine` | from parts and wires to a run, on one thread or many |
//! | `checkpoint` | saving, resuming, state hashes |
//! | `registry` | kinds of components and of policies by name |
//! | `test_bench` | scripted senders and recording receivers around a device |
//! | `verify` | checkers, injectors, contracts |
//!
//! `sync` re-exports the primitives that model checkers replace.

mod channel;
mod checkpoint;
mod component;
mod engine;
mod evaluation;
mod observe;
mod registry;
mod state;
mod sync;
mod test_bench;
mod time;
pub mod verify;
mod world;

pub use channel::{
    Bundle, Credit, Direction, InPort, Link, Message, Observed, OutPort, Port, PortField, PortId,
    PortName, PortState, Ports, Published, Tap, Transit, Width,
};
pub use checkpoint::{
    Checkpoint, CheckpointError, Description, Difference, Divergence, DivergencePoint, FileError,
    StateHasher, Subject,
};
pub use component::{
    Claims, Component, Facts, Functional, FunctionalError, Inspect, Negotiate, Onward, Origin,
    Stated, Unfit,
};
pub use engine::{
    DeadlockReport, DeliveryError, Division, ElaborationError, ElaborationErrors, EngineOptions,
    FunctionalWires, Order, Outcome, PortAddress, PortDoc, PortList, RelatedOrigin, RunLimits,
    RunStep, Simulation, SystemBuilder, SystemWarning, TapError, WaitEdge, WindowsWorked,
    busiest_share, described_ports,
};
pub use evaluation::{Context, Next};
pub use observe::{
    About, Amounts, Changes, Combination, ContentItem, Contents, Histogram, InstanceStatistics,
    Instrumented, Label, Look, Measured, Measurement, Probe, ProbeSink, Reason, Role, Sample,
    Series, Shape, Statistic, StatisticDeltas, StatisticSnapshots, Statistics, TimeWeighted, Value,
    Wait, Waits,
};
pub use registry::{
    Built, Environment, FieldDoc, Kind, KindEntry, NeutralSpec, NoFields, Policy, PolicyContext,
    PolicyEntry, PolicyKind, PolicyRole, Preset, Registry, SpecError, Specification, field_at,
};
pub use state::{Id, IdTable, SavedValue, State, StateError, Stateful};
pub use test_bench::{Sink, Source, TestBench};
pub use time::{ClockId, ClockSetError, Cycle, Frequency, Tick, TimeBase};
pub use warpweave_derive::{Ports, State, Statistics};
pub use world::{
    Clock, Command, Event, Fifo, LocalTime, Mutex, MutexGuard, NotificationQueue, Payload, Process,
    ProcessInput, ProcessOutput, ProcessRequester, QueueKind, Report, Reset, Response, Router,
    Semaphore, Severity, Signal, SignalLine, SignalValue, Transport, Transported, Trigger, Update,
    WaveSink, World,
};

/// Compiles and runs the examples of the chapter for SystemC users.
#[cfg(doctest)]
#[doc = include_str!("../../docs/for-systemc-users.md")]
mod for_systemc_users {}
