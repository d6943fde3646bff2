//! PTX front end: parser, control flow and a functional emulator that writes program traces.
//!
//! ```text
//!  text -> lexer -> parser -> syntax tree -> names -> control flow, registers -> decoded kernel
//!                                                                                    |
//!                         KernelTrace <- emulator (launch, DeviceMemory) <-----------+
//! ```
//!
//! A [`Module`] is checked completely when it is parsed: an instruction or form the emulator does
//! not know is an error with file, line, column and opcode, even in code nobody runs. [`launch`]
//! executes one kernel over a [`DeviceMemory`] and returns its trace.
//!
//! # Not modelled
//! Textures, surfaces, matrix instructions, asynchronous copies, indirect calls and branches,
//! device-side launches, arithmetic rounding other than to nearest even, registers whose value
//! depends on placement or time. All are refused by name. Lanes run in lock step with
//! reconvergence at immediate post-dominators, as before Volta: a lock taken by one lane and
//! spun on by another of the same wavefront never ends and is reported as such.

mod alloc;
mod ast;
mod cfg;
mod diagnostics;
mod exec;
mod lexer;
mod lower;
mod memory;
mod module;
mod ops;
mod parser;
mod types;

pub use diagnostics::{Diagnostic, Diagnostics};
pub use exec::{
    EmulationError, EmulationOptions, KernelArgument, LaunchConfig, Order, Place, launch,
};
pub use memory::{Allocation, DEVICE_BASE, DeviceMemory, OutOfBounds};
pub use module::{Kernel, Module, Parameter, UnknownKernel};
pub use types::ScalarType;
