//! Everything of a unit that never changes.

use std::sync::Arc;

use warpweave_trace::Program;

use super::decoded::DecodedProgram;
use super::spec::ComputeUnitSpec;

/// The specification of a unit and the program that it runs.
pub(crate) struct UnitConfig {
    pub(crate) spec: ComputeUnitSpec,
    pub(crate) program: Arc<Program>,
    pub(crate) decoded: DecodedProgram,
}
