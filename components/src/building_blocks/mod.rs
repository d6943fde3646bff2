//! Parts for authors of components, and for the benches around them.
//!
//! | part | what it is |
//! |---|---|
//! | [`DelayLine`] | a queue whose entries can be taken from a cycle on: a pipeline, a wire, a synchroniser |
//! | [`EchoMemory`] | a memory that answers every request after a fixed time: what stands below a component on a bench |
//! | [`pass`] | moves the messages of one wire to the next, for components that look at traffic and let it through |
//!
//! What comes and goes under an id (requests that wait for an answer, transactions in flight) lies
//! in an [`IdTable`](warpweave_framework::IdTable); random choices come from `warpweave-random`.
//!
//! A file each. They use the framework and the protocol of [`memory`](crate::memory), no component.

mod delay_line;
mod echo_memory;
mod fifo;
mod pass_through;

pub use delay_line::DelayLine;
pub use echo_memory::{Arrivals, EchoMemory, EchoMemorySpec};
pub(crate) use fifo::Fifo;
pub use pass_through::pass;
