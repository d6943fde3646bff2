//! Accesses of no time: what they do to the lines of the cache, and what goes on to the level below.
//!
//! What becomes of an access is decided as at any other time; then its line is here at once. Policies
//! and prefetchers are asked and not told. An access that would have to wait, because something is still
//! under way for its line or its set, is handed down and changes nothing here.

use warpweave_framework::{Cycle, Onward};

use super::Cache;
use super::perform::Accepted;
use super::request::{Access, Action, PassEffect, Plan, Through};
use super::spec::AllocatePolicy;
use super::tag_array::Slot;
use super::victim_cache::Victim;
use super::{LONGER_LINE, is_clean, modifies};
use crate::memory::{MemRequest, RequestKind, flags};

/// By which port requests go on.
const DOWN: &str = "down.request";

impl Cache {
    /// Takes a request of no time.
    pub(super) fn functional_request(
        &mut self,
        request: &MemRequest,
        onward: &mut Onward,
    ) -> Result<(), String> {
        let parts = self.parts(request);
        let parts = parts.ok_or_else(|| format!("{request:?} {LONGER_LINE}"))?;
        parts
            .iter()
            .try_for_each(|part| self.functional_part(part, onward))
    }

    fn functional_part(&mut self, request: &MemRequest, onward: &mut Onward) -> Result<(), String> {
        let Some(access) = self.access(request) else {
            return Err(format!("{request:?} {LONGER_LINE}"));
        };
        // Banks are free.
        let now = Cycle::MAX;
        let Ok(action) = self.decide(request, access, now) else {
            self.send_on(request, access.words, onward);
            return Ok(());
        };
        let accepted = &Accepted {
            request,
            access,
            now,
        };
        match action {
            Action::Ignore | Action::Join(..) => {}
            Action::Hit(slot) => {
                self.tags.touch(slot);
                self.bring_up_to_date(slot, accepted, 0);
            }
            Action::WriteNew(slot) => {
                self.make_room(slot, onward);
                self.occupy(slot, access.line, request.source);
                self.bring_up_to_date(slot, accepted, 0);
            }
            Action::FetchRest(slot, plan) => {
                self.tags.touch(slot);
                self.fetch_at_once(Some(slot), accepted, plan, onward);
            }
            Action::Fetch(slot, plan) => {
                let slot = self.place_at_once(slot, accepted, plan, onward);
                self.fetch_at_once(slot, accepted, plan, onward);
            }
            Action::Restore(slot, plan) => {
                let back = self.victims.as_mut().and_then(|v| v.take(access.line));
                let back = back.expect("the line was seen there");
                self.make_room(slot, onward);
                self.occupy(slot, access.line, back.owner);
                *self.tags.state_mut(slot) = back.state;
                self.fetch_at_once(Some(slot), accepted, plan, onward);
            }
            Action::Through(through) => {
                match through {
                    Through::Join(_) => {}
                    Through::Hit(slot) => {
                        self.tags.touch(slot);
                        self.tags.state_mut(slot).valid |= access.words;
                    }
                    Through::Fetch(slot, plan) => {
                        let slot = self.place_at_once(slot, accepted, plan, onward);
                        self.ask_below(request, access, plan, onward);
                        if let Some(slot) = slot {
                            self.tags.state_mut(slot).valid |= access.words | plan.words;
                        }
                    }
                }
                self.send_on(request, access.words, onward);
            }
            Action::Pass(effect) => {
                if let PassEffect::Drop(slot) = effect {
                    self.drop_at_once(slot, onward);
                }
                for other in self.other_partitions(access.line) {
                    if let Some(slot) = self.tags.find(other)
                        && self.tags.state(slot).mshr().is_none()
                    {
                        self.drop_at_once(slot, onward);
                    }
                    if let Some(victims) = &mut self.victims {
                        victims.take(other);
                    }
                }
                if let Some(victims) = &mut self.victims {
                    victims.take(access.line);
                }
                self.send_on(request, access.words, onward);
            }
        }
        Ok(())
    }

    /// Drops every clean line.
    pub(super) fn functional_invalidation(&mut self) {
        if let Some(victims) = &mut self.victims {
            victims.clear();
        }
        self.tags.drop_clean(|_, _, _| {});
    }

    /// The place of a line that comes now, if it gets one.
    fn place_at_once(
        &mut self,
        reserved: Option<Slot>,
        accepted: &Accepted<'_>,
        plan: Plan,
        onward: &mut Onward,
    ) -> Option<Slot> {
        let Accepted {
            request, access, ..
        } = *accepted;
        let on_fill = self.spec.allocate == AllocatePolicy::OnFill && plan.decision.insert;
        let slot = reserved.or_else(|| {
            let victim = self.tags.victim_in(access.set);
            victim.filter(|_| on_fill)
        })?;
        self.make_room(slot, onward);
        self.occupy(slot, access.line, request.source);
        Some(slot)
    }

    /// Fetches words into a place, or past the cache.
    fn fetch_at_once(
        &mut self,
        slot: Option<Slot>,
        accepted: &Accepted<'_>,
        plan: Plan,
        onward: &mut Onward,
    ) {
        let Accepted {
            request, access, ..
        } = *accepted;
        self.ask_below(request, access, plan, onward);
        match slot {
            Some(slot) => self.bring_up_to_date(slot, accepted, plan.words),
            // What is stored into a line without a place is copied back.
            None if modifies(request.kind) && !is_clean(request) => {
                let stored = MemRequest {
                    kind: RequestKind::CopyBack,
                    ..*request
                };
                self.send_on(&stored, access.words, onward);
            }
            None => {}
        }
    }

    /// The words that came are in the line, and those that are stored.
    fn bring_up_to_date(&mut self, slot: Slot, accepted: &Accepted<'_>, came: u32) {
        let Accepted {
            request, access, ..
        } = *accepted;
        let state = self.tags.state_mut(slot);
        state.valid |= came;
        if modifies(request.kind) {
            state.valid |= access.words;
            if !is_clean(request) {
                state.dirty |= access.words;
            }
        }
    }

    /// The line in a place leaves.
    fn make_room(&mut self, slot: Slot, onward: &mut Onward) {
        let Some(line) = self.tags.line(slot) else {
            return;
        };
        let victim = Victim {
            line,
            state: *self.tags.state(slot),
            hand_down: self.hand_down(slot, line),
            owner: self.owners[slot.index()],
        };
        let leaves = match &mut self.victims {
            Some(victims) => victims.insert(victim),
            None => Some(victim),
        };
        if let Some(victim) = leaves {
            self.send_leaving(&victim, onward);
        }
    }

    pub(super) fn drop_at_once(&mut self, slot: Slot, onward: &mut Onward) {
        if let Some(line) = self.tags.line(slot) {
            let victim = Victim {
                line,
                state: *self.tags.state(slot),
                hand_down: None,
                owner: self.owners[slot.index()],
            };
            self.send_leaving(&victim, onward);
            self.tags.clear(slot);
        }
    }

    /// Sends down what a line that leaves holds for the level below.
    fn send_leaving(&self, victim: &Victim, onward: &mut Onward) {
        let (words, clean) = match (victim.state.dirty, victim.hand_down) {
            (0, None) => return,
            (0, Some(more)) => (victim.state.valid, flags::CLEAN | more),
            (dirty, _) => (dirty, 0),
        };
        let copy_back = MemRequest {
            kind: RequestKind::CopyBack,
            source: victim.owner,
            flags: clean,
            ..MemRequest::read(0, victim.line & !self.offset_mask, words)
        };
        self.send_on(&copy_back, words, onward);
    }

    /// Asks for the words that are to be fetched.
    fn ask_below(&self, request: &MemRequest, access: Access, plan: Plan, onward: &mut Onward) {
        let fetch = MemRequest {
            line: access.line & !self.offset_mask,
            kind: match request.kind {
                RequestKind::Prefetch => RequestKind::Prefetch,
                _ => RequestKind::Read,
            },
            flags: request.flags | plan.decision.flags,
            ..*request
        };
        self.send_on(&fetch, plan.words, onward);
    }

    /// Sends `words` of the line that the request is about down, cut for the level below.
    fn send_on(&self, request: &MemRequest, words: u32, onward: &mut Onward) {
        let (line, bytes) = (request.line & !self.offset_mask, self.spec.below_line());
        let piece = u32::MAX >> (32 - bytes / 4);
        for number in 0..self.spec.line_bytes / bytes {
            let words = words >> (number * bytes / 4) & piece;
            if words != 0 {
                let line = line + u64::from(number * bytes);
                let request = MemRequest {
                    line,
                    words,
                    write_sequence: 0,
                    ..*request
                };
                onward.send(DOWN, 0, request);
            }
        }
    }
}
