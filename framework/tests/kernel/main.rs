//! Tests of the kernel, one module per kind of property.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod channels;
mod checkpoints;
mod clocks;
mod deadlock;
mod elaboration;
mod events;
mod facts;
mod functional;
mod graphs;
mod new_process;
mod parallel;
mod parts;
mod policies;
mod processes;
mod progress;
mod queues;
mod random_systems;
mod runs;
mod world_channels;
