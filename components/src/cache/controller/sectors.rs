//! Counting of the sectors that requests touch, and of those that reads find.

use super::action::{Action, Through};
use crate::cache::access::Accepted;
use crate::cache::line_store::LineStore;
use crate::cache::statistics::SectorCounts;
use crate::memory::RequestKind;

impl SectorCounts {
    /// Counts the sectors of a request before its action is carried out.
    #[inline(never)]
    pub(super) fn count(&mut self, store: &LineStore, accepted: &Accepted<'_>, action: Action) {
        let words = accepted.access.words;
        let layout = store.lookup.layout();
        let touched = u64::from(layout.sector_count(words));
        match accepted.request.kind {
            RequestKind::Read => {
                let missing = words & !present_words(store, accepted, action);
                let missing = u64::from(layout.sector_count(missing));
                self.read_sectors += touched;
                self.read_sector_hits += touched - missing;
            }
            RequestKind::Write => self.write_sectors += touched,
            RequestKind::Atomic => self.atomic_sectors += touched,
            RequestKind::Prefetch | RequestKind::CopyBack => {}
        }
    }
}

/// Returns the words of a request's line that are present, at least those that it touches.
fn present_words(store: &LineStore, accepted: &Accepted<'_>, action: Action) -> u32 {
    let lookup = &store.lookup;
    let valid = |slot| lookup.tags().state(slot).valid;
    match action {
        Action::Hit(_) | Action::Ignore | Action::Through(Through::Hit(_)) => u32::MAX,
        Action::FetchRest(slot, _) => valid(slot),
        Action::Join(mshr, _) => {
            let entry = lookup.entry(mshr);
            entry.slot.map_or(entry.progress.words, valid)
        }
        Action::Restore(..) => store.victim_words(accepted.access.line).unwrap_or(0),
        Action::WriteNew(_) | Action::Fetch(..) | Action::Through(_) | Action::Pass(_) => 0,
    }
}
