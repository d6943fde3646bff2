//! Limits of a system and of a run, as a scenario states them.

use serde::Deserialize;
use warpweave_params::{Diagnostic, Placed, out_of_range};

/// Limits on the size of a system and the length of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum core cycles of a run, from its start and with all copies; no limit if absent.
    pub cycles: Option<u64>,
    /// Core cycles without any progress, at least 1, after which the run counts as stuck; see
    /// [`RunLimits::silence`](warpweave_framework::RunLimits::silence).
    pub silent_cycles: u64,
    /// Maximum number of parts in a system, including modules.
    pub instances: u32,
    /// Maximum number of wires in a system.
    pub wires: u32,
}

/// Form of [`Limits`] in a scenario file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatedLimits {
    #[serde(default)]
    cycles: Option<u64>,
    #[serde(default = "StatedLimits::default_silence")]
    silent_cycles: Placed<u64>,
    #[serde(default = "StatedLimits::default_instances")]
    instances: u32,
    #[serde(default = "StatedLimits::default_wires")]
    wires: u32,
}

impl StatedLimits {
    fn default_silence() -> Placed<u64> {
        1_000_000.into()
    }

    pub(crate) fn check(&self) -> Result<Limits, Diagnostic> {
        let silent_cycles = self.silent_cycles.value;
        if let Some(problem) = out_of_range(&silent_cycles, &(1..)) {
            let error = self
                .silent_cycles
                .error(format!("silent_cycles: {problem}"));
            return Err(error.hint("omit it for the default of 1000000 core cycles"));
        }
        Ok(Limits {
            cycles: self.cycles,
            silent_cycles,
            instances: self.instances,
            wires: self.wires,
        })
    }

    fn default_instances() -> u32 {
        1 << 16
    }

    fn default_wires() -> u32 {
        1 << 20
    }
}

impl Default for StatedLimits {
    fn default() -> Self {
        Self {
            cycles: None,
            silent_cycles: Self::default_silence(),
            instances: Self::default_instances(),
            wires: Self::default_wires(),
        }
    }
}
