//! Functional accesses: their effect on the lines of the cache in zero time, and the requests
//! passed to the next level.
//!
//! The action is decided as for a timed access, but the line is present at once. Policies and
//! prefetchers are queried but not notified. An access that would have to wait for something in
//! flight for its line or set is passed to the next level. It then changes nothing in this cache.

use warpweave_framework::{Cycle, FunctionalError, Onward};

use super::Controller;
use super::action::{Action, PassEffect, Plan, Through};
use crate::cache::access::{Accepted, Access, LONGER_LINE, is_clean, modifies};
use crate::cache::port_ids;
use crate::cache::tag_array::Slot;
use crate::cache::victim_cache::{Victim, VictimCache};
use crate::memory::{MemRequest, RequestKind, flags};

impl Controller {
    /// Carries out a functional access to one line.
    ///
    /// # Errors
    /// A request that crosses a line.
    pub(in crate::cache) fn functional_access(
        &mut self,
        request: &MemRequest,
        onward: &mut Onward,
    ) -> Result<(), FunctionalError> {
        let Some(access) = self.store.lookup.access(request) else {
            return Err(format!("{request:?} {LONGER_LINE}").into());
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
            Action::Join(..) => {}
            Action::Ignore => {
                if let Some(slot) = self.store.lookup.find(access).slot {
                    self.store.lookup.touch(slot);
                }
            }
            Action::Hit(slot) => {
                self.store.lookup.touch(slot);
                self.store.lookup.update(slot, request, access.words, 0);
            }
            Action::WriteNew(slot) => {
                self.occupy_at_once(slot, accepted, onward);
                self.store.lookup.update(slot, request, access.words, 0);
            }
            Action::FetchRest(slot, plan) => {
                self.store.lookup.touch(slot);
                self.fetch_at_once(Some(slot), accepted, plan, onward);
            }
            Action::Fetch(slot, plan) => {
                let slot = self.place_at_once(slot, accepted, plan, onward);
                self.fetch_at_once(slot, accepted, plan, onward);
            }
            Action::Restore(slot, plan) => {
                let victims = self.store.victims.as_mut();
                let back = victims.and_then(|victims| victims.take(access.line));
                let back = back.expect("a lookup found the line in the victim cache");
                self.make_room(slot, onward);
                let lookup = &mut self.store.lookup;
                lookup.restore(slot, access.line, back.owner, back.state);
                self.fetch_at_once(Some(slot), accepted, plan, onward);
            }
            Action::Through(through) => {
                self.store_through_at_once(through, accepted, onward);
                self.send_on(request, access.words, onward);
            }
            Action::Pass(effect) => {
                self.drop_copies_at_once(effect, access, onward);
                self.send_on(request, access.words, onward);
            }
        }
        Ok(())
    }

    /// Drops every clean line of the cache.
    pub(in crate::cache) fn functional_invalidation(&mut self) {
        if let Some(victims) = &mut self.store.victims {
            victims.clear();
        }
        self.store.lookup.drop_clean(|_, _, _, _| {});
    }

    /// Drops every line, after passing modified words on.
    pub(in crate::cache) fn flush(&mut self, onward: &mut Onward) {
        if let Some(victims) = &mut self.store.victims {
            victims.clear();
        }
        self.drop_lines_from(0, onward);
    }

    /// Sets the number of ways in use; lines in others leave.
    pub(in crate::cache) fn functional_resize(&mut self, ways: u32, onward: &mut Onward) {
        self.drop_lines_from(ways, onward);
        self.store.lookup.use_ways(ways);
    }

    /// Drops the lines in way `ways` and above of each set, after passing modified words on.
    fn drop_lines_from(&mut self, ways: u32, onward: &mut Onward) {
        let lines = self.store.lookup.tags().lines_from(ways);
        let lines: Vec<_> = lines.map(|(slot, _, state)| (slot, state)).collect();
        for (slot, state) in lines {
            if let Some(mshr) = state.mshr() {
                // What is still under way for it finds no place.
                self.store.lookup.close(mshr);
            }
            self.drop_at_once(slot, onward);
        }
    }

    fn store_through_at_once(
        &mut self,
        through: Through,
        accepted: &Accepted<'_>,
        onward: &mut Onward,
    ) {
        let Accepted {
            request, access, ..
        } = *accepted;
        match through {
            Through::Join(_) => {}
            Through::Hit(slot) => {
                self.store.lookup.touch(slot);
                self.store.lookup.validate(slot, access.words);
            }
            Through::Fetch(slot, plan) => {
                let slot = self.place_at_once(slot, accepted, plan, onward);
                self.fetch_on(request, access, plan, onward);
                if let Some(slot) = slot {
                    let words = access.words | plan.words;
                    self.store.lookup.validate(slot, words);
                }
            }
        }
    }

    /// Drops what a passing request drops of its line.
    fn drop_copies_at_once(&mut self, effect: PassEffect, access: Access, onward: &mut Onward) {
        if let PassEffect::Drop(slot) = effect {
            self.drop_at_once(slot, onward);
        }
        for other in self.store.lookup.layout().other_partitions(access.line) {
            let tags = self.store.lookup.tags();
            if let Some(slot) = tags.find(other)
                && tags.state(slot).mshr().is_none()
            {
                self.drop_at_once(slot, onward);
            }
            self.store.forget_victim(other);
        }
        self.store.forget_victim(access.line);
    }

    /// The slot of a line that comes now, if it gets one.
    fn place_at_once(
        &mut self,
        reserved: Option<Slot>,
        accepted: &Accepted<'_>,
        plan: Plan,
        onward: &mut Onward,
    ) -> Option<Slot> {
        let on_fill = self.rules.allocates_on_fill() && plan.decision.insert;
        let slot = reserved.or_else(|| {
            let victim = self.store.lookup.tags().victim_in(accepted.access.set);
            victim.filter(|_| on_fill)
        })?;
        self.occupy_at_once(slot, accepted, onward);
        Some(slot)
    }

    fn occupy_at_once(&mut self, slot: Slot, accepted: &Accepted<'_>, onward: &mut Onward) {
        self.make_room(slot, onward);
        let (line, source) = (accepted.access.line, accepted.request.source);
        self.store.lookup.occupy(slot, line, source);
    }

    /// Fetches words into a slot, or past the cache.
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
        self.fetch_on(request, access, plan, onward);
        match slot {
            Some(slot) => {
                let lookup = &mut self.store.lookup;
                lookup.update(slot, request, access.words, plan.words);
            }
            // Words stored into a line without a slot are copied back.
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

    /// Lets the line in a slot leave for the victim cache or the level below.
    fn make_room(&mut self, slot: Slot, onward: &mut Onward) {
        let Some(victim) = self.store.victim(slot) else {
            return;
        };
        let leaves = match &mut self.store.victims {
            Some(victims) => VictimCache::insert(victims, victim),
            None => Some(victim),
        };
        if let Some(victim) = leaves {
            self.send_leaving(&victim, onward);
        }
    }

    fn drop_at_once(&mut self, slot: Slot, onward: &mut Onward) {
        if let Some(victim) = self.store.victim(slot) {
            let dropped = Victim {
                hand_down: None,
                ..victim
            };
            self.send_leaving(&dropped, onward);
            self.store.lookup.clear(slot);
        }
    }

    /// Sends the words of an evicted line that the next level must receive.
    fn send_leaving(&self, victim: &Victim, onward: &mut Onward) {
        let (words, clean) = match (victim.state.dirty, victim.hand_down) {
            (0, None) => return,
            (0, Some(more)) => (victim.state.valid, flags::CLEAN | more),
            (dirty, _) => (dirty, 0),
        };
        let copy_back = MemRequest {
            kind: RequestKind::CopyBack,
            source: victim.owner,
            write_sequence: victim.state.write_sequence,
            flags: clean,
            ..MemRequest::read(0, victim.line, words)
        };
        self.send_on(&copy_back, words, onward);
    }

    /// Requests the words that are to be fetched.
    fn fetch_on(&self, request: &MemRequest, access: Access, plan: Plan, onward: &mut Onward) {
        let fetch = MemRequest {
            line: access.line,
            kind: match request.kind {
                RequestKind::Prefetch => RequestKind::Prefetch,
                _ => RequestKind::Read,
            },
            flags: request.flags | plan.decision.flags,
            ..*request
        };
        self.send_on(&fetch, plan.words, onward);
    }

    /// Sends `words` of the line of a request down, cut for the level below.
    fn send_on(&self, request: &MemRequest, words: u32, onward: &mut Onward) {
        let whole = MemRequest {
            line: self.store.lookup.layout().address(request.line),
            words,
            ..*request
        };
        self.store.misses.cutter().cut(&whole, |_, piece| {
            if piece.words != 0 {
                onward.send(port_ids::DOWN, piece);
            }
        });
    }
}
