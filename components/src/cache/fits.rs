//! Whether the fields of a loaded checkpoint fit the cache and each other: what it takes for granted of
//! slots, MSHRs and passing requests.

use warpweave_framework::{Id, State, at_most};

use super::Cache;
use super::downstream_ids::IdOwner;
use super::replies::Reply;
use super::tag_array::Slot;

impl Cache {
    /// Checks what was loaded.
    pub(super) fn check_state(&self, state: &mut State<'_>) {
        state.check("mshrs", || self.mshrs_fit());
        state.check("tags.content", || self.locks_fit());
        state.check("passing", || self.passing_fit());
        state.check("replies", || self.replies_fit());
        state.check("copy_backs", || self.copy_backs_fit());
        state.check("misses", || self.misses_fit());
    }

    fn mshr(&self, id: Id) -> Result<(), String> {
        match self.mshrs.get(id) {
            Some(_) => Ok(()),
            None => Err(format!("MSHR {}, which is not in use", id.place())),
        }
    }

    fn mshrs_fit(&self) -> Result<(), String> {
        self.mshrs.check(self.full)?;
        for (id, entry) in self.mshrs.entries() {
            let here = |problem: String| format!("MSHR {}: {problem}", id.place());
            self.tags.check_line(entry.line).map_err(here)?;
            let Some(slot) = entry.slot else { continue };
            self.tags.check_slot(slot).map_err(here)?;
            let locked = self.tags.state(slot).mshr() == Some(id);
            if !locked || self.tags.line(slot) != Some(entry.line) {
                return Err(here(format!("slot {} holds another line", slot.index())));
            }
        }
        Ok(())
    }

    fn locks_fit(&self) -> Result<(), String> {
        self.tags.check(self.full)?;
        for (slot, mshr) in self.tags.locked() {
            let entry = self.mshrs.get(mshr);
            if entry.and_then(|entry| entry.slot) != Some(slot) {
                let place = mshr.place();
                return Err(format!("MSHR {place} has not slot {}", Slot::index(slot)));
            }
        }
        Ok(())
    }

    fn passing_fit(&self) -> Result<(), String> {
        at_most(
            "requests",
            self.passing.len(),
            self.spec.pass_entries as usize,
        )?;
        for passed in self.passing.requests() {
            if passed.awaited & !self.full != 0 {
                return Err(format!("words {:#x} of one line", passed.awaited));
            }
            if let Some(mshr) = passed.joined {
                self.mshr(mshr)?;
            }
        }
        Ok(())
    }

    fn replies_fit(&self) -> Result<(), String> {
        let mut replies = vec![0_u32; self.spec.mshr_entries as usize];
        for (number, waiting) in self.replies.iter().enumerate() {
            match waiting {
                Reply::Fill { mshr, came, .. } => {
                    self.mshr(*mshr)?;
                    replies[mshr.place()] += 1;
                    // The oldest is taken back when it allows nothing.
                    let front = self.mshrs.front(*mshr);
                    if number == 0 && front.is_none_or(|waiter| !waiter.is_ready(came)) {
                        return Err("the first one allows no answer".to_owned());
                    }
                }
                Reply::Ack(id) => {
                    let passed = self.passing.get(*id);
                    if passed.is_none_or(|passed| passed.answer.is_none()) {
                        return Err(format!("request {}, which was not answered", id.place()));
                    }
                }
            }
        }
        let other = self
            .mshrs
            .entries()
            .find(|(id, e)| replies[id.place()] != e.replies);
        match other {
            Some((id, _)) => Err(format!("MSHR {} has another number of them", id.place())),
            None => Ok(()),
        }
    }

    fn copy_backs_fit(&self) -> Result<(), String> {
        let Some(buffer) = &self.copy_backs else {
            return Ok(());
        };
        buffer.check(self.misses.len())?;
        buffer.leaving.iter().try_for_each(|mshr| self.mshr(*mshr))
    }

    /// What goes down has a way back.
    fn misses_fit(&self) -> Result<(), String> {
        for (_, request) in &self.misses {
            if request.kind.wants_response() {
                match self.downstream_ids.owner(request.id) {
                    IdOwner::Mshr(mshr, _) => self.mshr(mshr)?,
                    IdOwner::Passing(id) => {
                        if self.passing.get(id).is_none() {
                            return Err(format!("request {}, which does not pass", id.place()));
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
