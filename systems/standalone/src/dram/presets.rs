//! Named controller presets, and controllers described in files.

use std::path::Path;

use warpweave_components::dram::{GddrSpec, Mapping};
use warpweave_framework::SpecError;
use warpweave_params::{Diagnostics, Files, Source};

use crate::table::shown;
use crate::{Description, StandaloneError};

macro_rules! presets {
    ($($name:literal, $clock_mhz:literal, $file:literal;)*) => {
        /// Name, clock in MHz and description of each preset.
        const PRESETS: &[(&str, f64, &str)] = &[$((
            $name,
            $clock_mhz,
            include_str!(concat!("../../../../scenarios/presets/gddr5/", $file, ".ron")),
        )),*];
    };
}

presets! {
    "A", 1400.0, "a";
    "B", 787.5, "b";
    "D", 1500.0, "d";
    "D1", 1500.0, "d1";
    "R", 1500.0, "r";
    "R4000", 1000.0, "r4000";
    "R5000", 1250.0, "r5000";
    "R6000", 1500.0, "r6000";
    "R7000", 1750.0, "r7000";
    "Gem5", 1000.0, "gem5";
    "GTX480", 924.0, "gtx480";
    "C2050", 750.0, "c2050";
    "GTX750Ti", 2700.0, "gtx750ti";
    "Titan", 1502.0, "titan";
    "TitanX", 2500.0, "titan_x";
    "GTX1080", 2750.0, "gtx1080";
    "RTX2060", 3500.0, "rtx2060";
    "TitanV", 850.0, "titan_v";
    "ICC", 1400.0, "icc";
    "LASER", 1400.0, "laser";
    "Thesis", 787.5, "thesis";
}

pub const NAMES: [&str; PRESETS.len()] = {
    let mut names = [""; PRESETS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = PRESETS[i].0;
        i += 1;
    }
    names
};

/// Description and address mapping of a controller to drive.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Description of the controller and its device.
    pub spec: GddrSpec,
    /// Address mapping from bytes to channel, bank, row and column.
    pub mapping: Mapping,
    /// Frequency of CK in MHz, if known.
    pub clock_mhz: Option<f64>,
    description: Option<Description>,
}

/// Loads a controller from a preset, or from a file that describes a `Gddr5(...)`.
///
/// # Errors
/// Returns an error if the name is unknown, the file cannot be read, or the description is invalid.
pub fn load(preset: &str) -> Result<Setup, StandaloneError> {
    let found = PRESETS.iter().find(|p| p.0.eq_ignore_ascii_case(preset));
    let (source, clock_mhz) = if let Some((name, clock, text)) = found {
        (Source::new(format!("preset {name}"), *text), Some(*clock))
    } else if Path::new(preset).extension().is_some_and(|e| e == "ron") {
        (
            Files::default()
                .description(Path::new(preset), &[])
                .map_err(Diagnostics::from)?,
            None,
        )
    } else {
        return Err(StandaloneError::Request(format!(
            "unknown preset {}; choose one of {}, or name a .ron file",
            shown(preset),
            NAMES.join(", ")
        )));
    };
    let description = Description::of(&source)?;
    let setup = setup(description.named("Gddr5")?, clock_mhz);
    Ok(Setup {
        description: Some(description.clone()),
        ..setup.map_err(|e| description.refused("", e))?
    })
}

/// Checks a description and builds its address mapping.
pub(super) fn setup(spec: GddrSpec, clock_mhz: Option<f64>) -> Result<Setup, SpecError> {
    spec.check()?;
    let mapping = Mapping::new(spec.geometry, spec.channels, &spec.mapping, "mapping")?;
    Ok(Setup {
        mapping,
        spec,
        clock_mhz,
        description: None,
    })
}

impl Setup {
    /// Converts a rejected field into an error, with its position in the file if known.
    pub(super) fn refused(&self, error: SpecError) -> StandaloneError {
        match &self.description {
            Some(description) => description.refused("", error),
            None => error.into(),
        }
    }
}
