//! Counting of the sectors that requests touch, and of those that reads find.

use super::Controller;
use super::action::{Action, Through};
use crate::cache::access::Accepted;
use crate::memory::RequestKind;

impl Controller {
    /// Counts the sectors of a request before its action is carried out.
    #[inline(never)]
    pub(super) fn count_sectors(&mut self, accepted: &Accepted<'_>, action: Action) {
        let words = accepted.access.words;
        let layout = self.store.lookup.layout();
        let touched = u64::from(layout.sector_count(words));
        match accepted.request.kind {
            RequestKind::Read => {
                let missing = words & !self.present_words(accepted, action);
                let missing = u64::from(layout.sector_count(missing));
                self.sectors.read_sectors += touched;
                self.sectors.read_sector_hits += touched - missing;
            }
            RequestKind::Write => self.sectors.write_sectors += touched,
            RequestKind::Atomic => self.sectors.atomic_sectors += touched,
            RequestKind::Prefetch | RequestKind::CopyBack => {}
        }
    }

    /// Returns the words of a request's line that are present, at least those that it touches.
    fn present_words(&self, accepted: &Accepted<'_>, action: Action) -> u32 {
        let lookup = &self.store.lookup;
        let valid = |slot| lookup.tags().state(slot).valid;
        match action {
            Action::Hit(_) | Action::Ignore | Action::Through(Through::Hit(_)) => u32::MAX,
            Action::FetchRest(slot, _) => valid(slot),
            Action::Join(mshr, _) => {
                let entry = lookup.entry(mshr);
                entry.slot.map_or(entry.progress.words, valid)
            }
            Action::Restore(..) => self.store.victim_words(accepted.access.line).unwrap_or(0),
            Action::WriteNew(_) | Action::Fetch(..) | Action::Through(_) | Action::Pass(_) => 0,
        }
    }
}
