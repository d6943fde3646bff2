//! Descriptions that come with a kind.

/// A description of a component that a kind brings along under a name, to be written as
/// `Kind(preset: "name", ...)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name, unique among those of the kind.
    pub name: &'static str,
    /// One sentence: what it describes, and where the numbers are from.
    pub summary: &'static str,
    /// The description, `Kind(field: value, ...)`; fields may be left out.
    pub ron: &'static str,
}
