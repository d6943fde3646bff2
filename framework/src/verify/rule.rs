//! Requirements that contracts check, each with the words of its violation.

use std::fmt;

/// Requirements that a contract checks for a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Scoreboards, checkers and the component itself report no error.
    Protocol,
    /// All messages offered are taken and all messages taken are output: no hang, no endless work.
    Completion,
    /// A repeated run gives the same result.
    Repeatable,
    /// Evaluation at every edge gives the same result as sleeping.
    Asleep,
    /// The order of evaluation within a cycle does not matter.
    Shuffled,
    /// A run saved in the middle and loaded into a fresh system gives the same result. Not tested
    /// if a component does not describe its state.
    Resumed,
    /// Nearly every evaluation changes the component's state.
    Evaluations,
    /// Late messages, late credits and stalled ports change only the timing.
    Stalled,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Protocol => "outputs are correct",
            Self::Completion => "everything offered is delivered",
            Self::Repeatable => "identical runs give identical results",
            Self::Asleep => "evaluating a sleeping component changes nothing",
            Self::Shuffled => "results do not depend on evaluation order",
            Self::Resumed => "a run resumed from a checkpoint continues identically",
            Self::Evaluations => "nearly every evaluation changes something",
            Self::Stalled => "stalls change only timing",
        })
    }
}
