//! PTX front end: parser, control flow and a functional emulator that writes program traces.
//!
//! ```text
//!  text -> lexer -> parser -> syntax tree -> names -> control flow, registers -> decoded kernel
//!                                                                                    |
//!                         KernelTrace <- emulator (launch, DeviceMemory) <-----------+
//! ```
//!
//! A [`Module`] is checked completely when it is parsed. Invalid PTX is an error with file, line
//! and column, even in unused code. Valid PTX that the emulator does not support affects only the
//! kernels that reach it by calls; those are refused at launch ([`Module::refused`]). [`launch`]
//! executes one kernel on a [`DeviceMemory`] and returns its trace.
//!
//! # Model
//! - Registers: exact live ranges, greedy colouring, 64-bit values in aligned pairs, and separate
//!   predicates. A callee's registers follow those of its callers. More than 255 registers, or 64
//!   predicates, is an error. The carry flag is not a register.
//! - Function parameters are passed in registers on hardware, so their `ld.param` and `st.param`
//!   are recorded as moves without addresses.
//! - Lanes run in lock step with reconvergence at immediate post-dominators, as before Volta. A
//!   lock held by one lane while another lane of its wavefront spins on it never opens; this is
//!   reported as an error. A barrier counts arriving wavefronts, not lanes.
//! - Work-groups start in a given order with a fixed number resident; their wavefronts alternate
//!   after a fixed number of instructions ([`EmulationOptions`]). Execution is deterministic: equal
//!   inputs give identical results.
//! - Device launches: a kernel is emulated to its end before its child kernels, each with all its
//!   descendants before the next. [`launch_family`] returns all of them.
//! - NaN results are canonical. Approximate instructions are correctly rounded.
//!
//! # Not modelled
//! The emulator has no texture cache (texture reads are loads from global memory), mipmaps,
//! surfaces, matrix arithmetic or asynchronous copies. It also lacks special registers whose value
//! depends on time, or on placement unless the launch declares it. Kernels that use unsupported
//! features are refused, with name and line.
//!
//! # Example
//!
//! ```
//! use warpweave_ptx::{
//!     DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, Module, launch,
//! };
//!
//! let module = Module::parse("count.ptx", "
//!     .version 7.0 .target sm_70 .address_size 64
//!     .visible .entry count(.param .u64 total) {
//!         .reg .b64 %rd1;
//!         ld.param.u64 %rd1, [total];
//!         red.global.add.u32 [%rd1], 1;
//!         ret;
//!     }")?;
//! let mut memory = DeviceMemory::new();
//! let total = memory.allocate("total", 4);
//! let config = LaunchConfig {
//!     grid: [3, 1, 1],
//!     block: [64, 1, 1],
//!     dynamic_local_bytes: 0,
//!     args: &[KernelArgument::Pointer(total)],
//! };
//! let trace = launch(&module, "count", config, &mut memory, &EmulationOptions::default())?;
//! assert_eq!(memory.read(total, 4)?, 192u32.to_le_bytes());
//! assert_eq!(trace.wavefront_instructions(), 3 * 2 * 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address_space;
mod alloc;
mod ast;
mod cfg;
mod diagnostics;
mod exec;
mod half;
mod kernel;
mod launch_limits;
mod lexer;
mod lower;
mod memory;
mod module;
mod ops;
mod parser;
mod site;
mod texture;
mod types;

pub use address_space::DEVICE_BASE;
pub use diagnostics::{Diagnostic, Diagnostics};
pub use exec::{
    AccessSite, EmulationError, EmulationOptions, Family, Finding, FindingKind, KernelArgument,
    LaunchConfig, LaunchCounts, LaunchWatch, Numbers, Order, Place, Printed, ProgramChecker,
    SourcePlace, Verdict, Wait, foresee, launch, launch_family,
};
pub use kernel::{Kernel, Parameter, RefusedKernel};
pub use launch_limits::{
    BLOCK_MAX, DeclaredThreads, GRID_MAX, ShapeProblem, THREADS_MAX, WORK_GROUPS_MAX, check_place,
    check_shape,
};
pub use lower::{CodeForm, Opcode, opcodes};
pub use memory::{Allocation, DeviceMemory, OutOfBounds, allocation_bytes};
pub use module::{Module, NoKernel, UnknownKernel};
pub use texture::{AddressMode, TexelType, Texture, TextureError, TextureFilter, TextureShape};
pub use types::ScalarType;
