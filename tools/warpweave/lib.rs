//! Warpweave as one dependency: the libraries for writing components, and the program.
//!
//! A program of your own adds component kinds to Warpweave. With them it can do everything that the
//! `warpweave` program does. See [`cli::main`], and `docs/extend.md` for all steps.
//!
//! The feature `program` is on by default. Without it a crate gets what components and their tests
//! need: [`framework`] with its test bench, [`components`] and [`params`].

#[cfg(feature = "program")]
pub use warpweave_cli::cli;
pub use warpweave_components as components;
#[cfg(feature = "program")]
pub use warpweave_experiments as experiments;
pub use warpweave_framework as framework;
pub use warpweave_params as params;
#[cfg(feature = "program")]
pub use warpweave_systems as systems;
#[cfg(feature = "program")]
pub use warpweave_systems::standard_registry;
