//! What the kernel promises, one module per kind of promise.

mod channels;
mod clocks;
mod deadlock;
mod elaboration;
mod events;
mod graphs;
mod parts;
mod runs;
