//! What a host program is made of, as plain data: the form that workload files and Rust code share.
//!
//! `inputs.rs` is what the host holds at the start, `textures.rs` how kernels may look at it, `commands.rs` what it does, `structures.rs` what elements and arguments of several numbers are, `expectation.rs` what
//! must have come of it, `allowance.rs` what a check of it forgives. Files are read into these types by serde, so that every name and number
//! keeps its place; `../read.rs` says in which order. Knows nothing of devices or emulation.

mod allowance;
mod commands;
mod expectation;
mod inputs;
mod structures;
mod textures;

pub use allowance::{Allow, Mistake};
pub use commands::{Argument, Command, Launch};
pub use expectation::{Demand, Expectation, Tolerance};
pub use inputs::{Contents, GraphInput};
pub use structures::{Element, FieldValue, Record};
pub use textures::{EdgeMode, Filter, ReadMode, TexelFormat, TextureInput};
