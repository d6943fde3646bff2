//! Parts for authors of components.

mod delay_line;
#[cfg(test)]
mod echo_memory;
mod pass_through;

pub use delay_line::DelayLine;
#[cfg(test)]
pub(crate) use echo_memory::EchoMemory;
pub use pass_through::pass;
