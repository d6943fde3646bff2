//! Component contents shown in recordings, and pending work listed in deadlock reports.

use crate::observe::{Contents, Waits};

/// A component that shows its contents and its unfinished work.
///
/// [`Component::inspection`](super::Component::inspection) offers it to the engine.
pub trait Inspect {
    /// Shows the component's contents for recordings. Called after each evaluation, and only while
    /// this component is recorded.
    fn contents(&self, _contents: &mut Contents<'_>) {}

    /// Describes in hardware terms what the component still waits for ("3 MSHRs wait for fills"),
    /// for deadlock reports. The engine reports ports blocked for lack of credit.
    fn waits(&self, _waits: &mut Waits<'_>) {}
}
