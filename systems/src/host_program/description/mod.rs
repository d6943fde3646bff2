//! Host programs as plain data, in the form shared by workload files and Rust code.
//!
//! `inputs.rs` describes the initial contents, `textures.rs` the views of kernels on them, and
//! `commands.rs` the host's actions. `structures.rs` describes compound elements and arguments.
//! `expectation.rs` describes the required results, and `allowance.rs` the findings that a check
//! allows. Serde reads files into these types, so every name and number keeps its location. The
//! order of reading is in `../read.rs`. This module is independent of devices and emulation.

mod allowance;
mod commands;
mod expectation;
mod inputs;
mod structures;
mod textures;

pub use allowance::{Allow, Mistake};
pub use commands::{Command, Launch, LaunchPlace};
pub use expectation::{Demand, Expectation, Tolerance};
pub use inputs::{Contents, GraphInput};
pub use structures::{Argument, Element, FieldValue, Record};
pub use textures::{EdgeMode, Filter, ReadMode, TexelFormat, TextureInput};
