//! Description of the instruction fetch stage.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

use crate::compute_unit::limits::LATENCY_MAX;
use crate::memory::LINE_BYTES_MAX;

/// Instruction fetch parameters of a compute unit.
///
/// The code of each kernel starts at a multiple of 128 bytes, and kernels follow each other in
/// program order. Launches of one kernel share its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchSpec {
    /// Byte address of the first kernel's code, a multiple of 128.
    pub base: u64,
    /// Bytes of an instruction: 4, 8, 16 or 32.
    pub instruction_bytes: u32,
    /// Bytes per fetch, `instruction_bytes` to `line_bytes`. A fetch starts at the next instruction
    /// and ends at its line's end at the latest.
    pub bytes: u32,
    /// Line size in bytes of requests at `instructions`: 32, 64 or 128.
    pub line_bytes: u32,
    /// Instruction buffer entries per wavefront, 1 to 64 and at least the instructions per fetch. A
    /// wavefront fetches when the fetched instructions have room.
    pub buffer: u32,
    /// Cycles from a fetch to the issue of its instructions if `instructions` is not connected, at
    /// least 1. Models a cache that never misses.
    pub latency: u32,
}

impl FetchSpec {
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        let one_of = |field: &str, value: u32, of: &[u32]| {
            SpecError::require(of.contains(&value), field, || {
                let of: Vec<_> = of.iter().map(u32::to_string).collect();
                format!("{value} must be one of {}", of.join(", "))
            })
        };
        let unit = self.instruction_bytes;
        one_of("fetch.instruction_bytes", unit, &[4, 8, 16, 32])?;
        one_of("fetch.line_bytes", self.line_bytes, &[32, 64, 128])?;
        SpecError::require(
            self.bytes.is_multiple_of(unit) && (unit..=self.line_bytes).contains(&self.bytes),
            "fetch.bytes",
            || {
                format!(
                    "{} must be a multiple of {unit}, at most the line size of {} bytes",
                    self.bytes, self.line_bytes
                )
            },
        )?;
        let at_least = self.bytes / unit;
        SpecError::in_range("fetch.buffer", self.buffer, at_least..=64)?;
        SpecError::in_range("fetch.latency", self.latency, 1..=LATENCY_MAX)?;
        // The longest code there can be has 2^32 instructions.
        let most = u64::MAX - (u64::from(u32::MAX) + 1) * 64;
        SpecError::require(
            self.base.is_multiple_of(u64::from(LINE_BYTES_MAX)) && self.base <= most,
            "fetch.base",
            || {
                format!(
                    "{:#x} must be a multiple of 128, at most {most:#x}",
                    self.base
                )
            },
        )
    }
}
