//! Building blocks for component authors and for test benches.
//!
//! | part | what it is |
//! |---|---|
//! | [`DelayLine`] | a queue whose entries can be taken from a cycle on: a pipeline, a wire, a synchroniser |
//! | [`EchoMemory`] | a memory that answers every request after a fixed time: what stands below a component on a bench |
//! | [`pass`] | moves the messages of one wire to the next, for components that look at traffic and let it through |
//!
//! Objects addressed by an id (requests awaiting a response, transactions in flight) are kept in an
//! [`IdTable`](warpweave_framework::IdTable). Random choices come from `warpweave-random`.
//!
//! Each block has its own file. The blocks use the framework and the protocol of
//! [`memory`](crate::memory), but no component.

mod delay_line;
mod echo_memory;
mod fifo;
mod pass_through;

pub use delay_line::DelayLine;
pub use echo_memory::{Arrivals, EchoMemory, EchoMemorySpec};
pub(crate) use fifo::Fifo;
pub use pass_through::pass;
