//! Named controllers, and those of files.

use std::path::Path;
use std::sync::Arc;

use warpweave_components::dram::{GddrSpec, Mapping};
use warpweave_params::{Source, from_named, parse};

use crate::StandaloneError;

/// Name, clock in MHz and description of each preset.
const PRESETS: &[(&str, f64, &str)] = &[
    (
        "A",
        1400.0,
        include_str!("../../../../scenarios/presets/gddr5/a.ron"),
    ),
    (
        "B",
        787.5,
        include_str!("../../../../scenarios/presets/gddr5/b.ron"),
    ),
    (
        "D",
        1500.0,
        include_str!("../../../../scenarios/presets/gddr5/d.ron"),
    ),
    (
        "D1",
        1500.0,
        include_str!("../../../../scenarios/presets/gddr5/d1.ron"),
    ),
    (
        "R",
        1500.0,
        include_str!("../../../../scenarios/presets/gddr5/r.ron"),
    ),
    (
        "R4000",
        1000.0,
        include_str!("../../../../scenarios/presets/gddr5/r4000.ron"),
    ),
    (
        "R5000",
        1250.0,
        include_str!("../../../../scenarios/presets/gddr5/r5000.ron"),
    ),
    (
        "R7000",
        1750.0,
        include_str!("../../../../scenarios/presets/gddr5/r7000.ron"),
    ),
    (
        "Titan",
        1502.0,
        include_str!("../../../../scenarios/presets/gddr5/titan.ron"),
    ),
];

/// The names of the presets.
pub const NAMES: [&str; PRESETS.len()] = {
    let mut names = [""; PRESETS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = PRESETS[i].0;
        i += 1;
    }
    names
};

/// A controller to drive.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its description.
    pub spec: GddrSpec,
    /// Where addresses go.
    pub mapping: Mapping,
    /// Frequency of CK, where it is known.
    pub clock_mhz: Option<f64>,
}

/// The controller of a preset, or of a file that describes a `Gddr5(...)`.
///
/// # Errors
/// An unknown name, a file that cannot be read, or a description with a mistake in it.
pub fn load(preset: &str) -> Result<Setup, StandaloneError> {
    let found = PRESETS.iter().find(|p| p.0.eq_ignore_ascii_case(preset));
    let (source, clock_mhz) = if let Some((name, clock, text)) = found {
        (Source::new(format!("preset {name}"), *text), Some(*clock))
    } else if Path::new(preset).extension().is_some_and(|e| e == "ron") {
        let source = Source::read(Path::new(preset));
        (source.map_err(|e| request(&e.to_string()))?, None)
    } else {
        return Err(StandaloneError::Request(format!(
            "there is no preset `{preset}`; choose one of {}, or name a .ron file",
            NAMES.join(", ")
        )));
    };
    let spec = described(&source)?;
    setup(spec, clock_mhz).map_err(|e| request(&format!("{}: {e}", source.name())))
}

fn described(source: &Arc<Source>) -> Result<GddrSpec, StandaloneError> {
    let node = parse(source).map_err(|e| request(&e.to_string()))?;
    from_named(&node, "Gddr5").map_err(|e| request(&e.to_string()))
}

/// A checked description with its mapping.
pub(super) fn setup(spec: GddrSpec, clock_mhz: Option<f64>) -> Result<Setup, String> {
    let named = |e: warpweave_framework::SpecError| format!("{}: {}", e.field, e.message);
    spec.check().map_err(named)?;
    let mapping = Mapping::new(spec.geometry, spec.channels, &spec.mapping, "mapping");
    Ok(Setup {
        mapping: mapping.map_err(named)?,
        spec,
        clock_mhz,
    })
}

fn request(text: &str) -> StandaloneError {
    StandaloneError::Request(text.trim_end().to_owned())
}
