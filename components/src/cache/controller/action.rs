//! The steps that the controller can take with a request.

use warpweave_framework::Id;

use crate::cache::policy::MissDecision;
use crate::cache::tag_array::Slot;

/// The step to take with a request whose resources are there.
#[derive(Clone, Copy, Debug)]
pub(in crate::cache) enum Action {
    /// Answer from the line; a copy-back from the upper level is just absorbed.
    Hit(Slot),
    /// Write the words into a newly allocated line.
    WriteNew(Slot),
    /// Wait with others for a line in flight, requesting these words of it too.
    Join(Id, u32),
    /// Fetch missing words of a line that is present.
    FetchRest(Slot, Plan),
    /// Fetch a line, into this slot if one is reserved.
    Fetch(Option<Slot>, Plan),
    /// Take the line back from the victim cache into this slot and fetch what it lacks.
    Restore(Slot, Plan),
    /// Store into a line that stays, and forward the store.
    Through(Through),
    /// Forward the request to the next level.
    Pass(PassEffect),
    /// Do nothing: the data of a clean copy-back are present or in flight.
    Ignore,
}

/// Location of the line for a write-through store.
#[derive(Clone, Copy, Debug)]
pub(in crate::cache) enum Through {
    /// The line is in flight in this MSHR.
    Join(Id),
    /// The line is present in this slot.
    Hit(Slot),
    /// Absent; it is fetched, into this slot if one is reserved.
    Fetch(Option<Slot>, Plan),
}

/// The words to fetch, with the decision of the policies.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cache) struct Plan {
    /// Words requested of the level below.
    pub(super) words: u32,
    pub(super) decision: MissDecision,
}

/// The effect of a passing request on the copy of its line.
#[derive(Clone, Copy, Debug)]
pub(in crate::cache) enum PassEffect {
    /// Saves nothing: the policy has no state.
    Nothing,
    /// The copy is dropped.
    Drop(Slot),
    /// The fill of this MSHR is not installed.
    Close(Id),
}
