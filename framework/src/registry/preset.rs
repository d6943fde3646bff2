//! Descriptions provided by a component kind.

/// A named description provided by a component kind, used as `Kind(preset: "name", ...)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Name, unique among the presets of the kind.
    pub name: &'static str,
    /// One sentence: the hardware described, and the source of the numbers.
    pub summary: &'static str,
    /// The description, `Kind(field: value, ...)`; fields may be left out.
    pub ron: &'static str,
}
