//! The core of a cache: which lines are present, which are in flight, and which requests pass.
//!
//! Tags, MSHRs and the pass table change together here, so that a slot is locked exactly while an
//! MSHR fills or answers for its line. Nothing here knows of ports, policies or statistics of
//! requests.

use warpweave_framework::{Contents, Cycle, Id, State, Statistics, TimeWeighted};

use super::access::{Accepted, Access, is_clean, modifies, stores};
use super::line_layout::LineLayout;
use super::mshr_file::{Entry, FillProgress, MshrFile, Waiter};
use super::pass_table::{PassTable, Passed};
use super::spec::{CacheSpec, WaitFor};
use super::tag_array::{LineState, Slot, TagArray};
use crate::memory::{MemRequest, MemResponse, Source};

/// Tags with owners, MSHRs and pass table.
#[derive(State, Statistics)]
#[state(prepare = Self::make_owners)]
pub(super) struct Lookup {
    #[state(skip)]
    layout: LineLayout,
    #[state(part)]
    tags: TagArray,
    /// Per slot: who brought its line in; empty until the first line comes.
    #[state(array)]
    owners: Vec<Source>,
    #[state(part)]
    mshrs: MshrFile,
    #[state(part)]
    passing: PassTable,
    #[statistic(
        name = "mshr_cycles",
        unit = "MSHR cycles",
        meaning = "MSHRs in use, summed over all cycles",
        value = self.occupancy.integral(statistics.cycle())
    )]
    #[statistic(
        name = "mshrs_mean",
        unit = "MSHRs",
        meaning = "MSHRs in use, mean over all cycles"
    )]
    #[statistic(
        name = "mshrs_max",
        unit = "MSHRs",
        meaning = "maximum number of MSHRs in use",
        maximum,
        value = self.occupancy.max()
    )]
    occupancy: TimeWeighted,
    /// True if a request waits for all words requested of its line.
    #[state(skip)]
    waits_for_lines: bool,
}

/// Location of a line: its slot, its MSHR, or both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Its place, if it has one.
    pub(super) slot: Option<Slot>,
    /// The MSHR that fills it or still answers for it.
    pub(super) mshr: Option<Id>,
}

/// Role in which a request joins an MSHR.
#[derive(Clone, Copy, Debug)]
pub(super) struct JoinRole {
    /// True for the request that missed (the primary miss).
    pub(super) primary: bool,
    /// Words requested of the level below on its behalf.
    pub(super) requested: u32,
    /// Number of the acknowledgement it waits for, 0 if none.
    pub(super) needs_ack: u32,
}

/// The effect of an answer to a passing request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acknowledged {
    /// No such answer was outstanding.
    Unexpected,
    /// Other pieces are still to come.
    Partly,
    /// The request can be answered.
    Passed,
    /// The acknowledgement that a waiter of this MSHR needs.
    Joined(Id),
}

impl JoinRole {
    /// A request that joins others.
    pub(super) fn secondary(requested: u32) -> Self {
        Self {
            primary: false,
            requested,
            needs_ack: 0,
        }
    }
}

impl Lookup {
    pub(super) fn new(spec: &CacheSpec, tags: TagArray) -> Self {
        Self {
            layout: LineLayout::new(spec),
            tags,
            owners: Vec::new(),
            mshrs: MshrFile::new(spec.mshr_entries, spec.mshr_merges),
            passing: PassTable::new(spec.pass_entries),
            occupancy: TimeWeighted::default(),
            waits_for_lines: spec.wait_for == WaitFor::Line,
        }
    }

    #[inline]
    pub(super) fn layout(&self) -> &LineLayout {
        &self.layout
    }

    #[inline]
    pub(super) fn tags(&self) -> &TagArray {
        &self.tags
    }

    #[inline]
    pub(super) fn mshrs(&self) -> &MshrFile {
        &self.mshrs
    }

    #[inline]
    pub(super) fn passing(&self) -> &PassTable {
        &self.passing
    }

    /// Tells whether no line is in flight and no request passes.
    #[inline]
    pub(super) fn is_drained(&self) -> bool {
        self.mshrs.is_empty() && self.passing.is_empty()
    }

    /// The request in terms of lines; none if it crosses a line.
    #[inline]
    pub(super) fn access(&self, request: &MemRequest) -> Option<Access> {
        let (line, words) = self.layout.place(request)?;
        let set = self.tags.set_of(line);
        Some(Access { line, set, words })
    }

    /// Finds the slot and the MSHR that hold the line of an access.
    #[inline]
    pub(super) fn find(&self, access: Access) -> Found {
        let slot = self.tags.find_in(access.set, access.line);
        let mshr = match slot {
            Some(slot) => self.tags.state(slot).mshr(),
            None => self.mshrs.find(access.line),
        };
        Found { slot, mshr }
    }

    /// The slot that a new line would take, if one is free to.
    #[inline]
    pub(super) fn victim_for(&self, line: u64) -> Option<Slot> {
        self.tags.victim_in(self.tags.set_of(line))
    }

    /// The entry of an MSHR that is in use.
    #[inline]
    pub(super) fn entry(&self, mshr: Id) -> &Entry {
        self.mshrs.get(mshr).expect("the MSHR is in use")
    }

    /// Returns the source that brought in the line of a slot.
    #[inline]
    pub(super) fn owner(&self, slot: Slot) -> Source {
        self.owners[slot.index()]
    }

    /// Tells whether an answer given now would overtake requests for the line that were handed
    /// down, or readers that those overtook.
    pub(super) fn overtakes(&self, access: Access) -> bool {
        let line = self.layout.address(access.line);
        self.passing.holds(line, self.layout.line_bytes()) || self.mshrs.holds_closed(access.line)
    }

    /// The requests for a line that were handed down.
    pub(super) fn passing_of(&self, line: u64) -> impl Iterator<Item = &Passed> {
        let line = self.layout.address(line);
        self.passing.of_line(line, self.layout.line_bytes())
    }

    /// Records a use of the line in `slot`.
    #[inline]
    pub(super) fn touch(&mut self, slot: Slot) {
        self.tags.touch(slot);
    }

    /// Puts a line into a slot that was made free.
    #[inline]
    pub(super) fn occupy(&mut self, slot: Slot, line: u64, owner: Source) {
        self.tags.occupy(slot, line);
        if self.owners.is_empty() {
            self.make_owners();
        }
        self.owners[slot.index()] = owner;
    }

    #[cold]
    fn make_owners(&mut self) {
        self.owners.resize(self.tags.lines(), Source::default());
    }

    /// Puts a line into a slot with the words that it had elsewhere.
    pub(super) fn restore(&mut self, slot: Slot, line: u64, owner: Source, state: LineState) {
        self.occupy(slot, line, owner);
        *self.tags.state_mut(slot) = state;
    }

    /// Empties a slot.
    #[inline]
    pub(super) fn clear(&mut self, slot: Slot) {
        self.tags.clear(slot);
    }

    /// Marks the dirty words of a line as those of the level below.
    pub(super) fn clean(&mut self, slot: Slot) {
        self.tags.state_mut(slot).dirty = 0;
    }

    /// Drops every unlocked line without dirty words, telling each and its owner to `dropped`.
    pub(super) fn drop_clean(&mut self, mut dropped: impl FnMut(Slot, u64, LineState, Source)) {
        let owners = &self.owners;
        self.tags.drop_clean(|slot, line, state| {
            dropped(slot, line, state, owners[slot.index()]);
        });
    }

    /// Sets the number of ways in use; those beyond hold no lines.
    pub(super) fn use_ways(&mut self, ways: u32) {
        self.tags.use_ways(ways);
    }

    /// Serves a request from its line: stores its words, if it has some. Returns the MSHR of the
    /// line, if one is in use, and the line's write sequence.
    #[inline]
    pub(super) fn serve(&mut self, slot: Slot, accepted: &Accepted<'_>) -> (Option<Id>, u32) {
        let Accepted {
            request, access, ..
        } = *accepted;
        let state = self.tags.state_mut(slot);
        let modifies = modifies(request.kind);
        if modifies {
            state.valid |= access.words;
            state.write_sequence = state.write_sequence.max(request.write_sequence);
            if !is_clean(request) {
                state.dirty |= access.words;
            }
        }
        let (mshr, write_sequence) = (state.mshr(), state.write_sequence);
        if let (Some(mshr), true) = (mshr, modifies) {
            let entry = self.mshrs.entry_mut(mshr);
            entry.stored |= access.words;
            entry.dirty |= access.words;
            entry.write_sequence = entry.write_sequence.max(request.write_sequence);
        }
        (mshr, write_sequence)
    }

    /// Makes words of a line present at once, those that came and those that a request stores.
    pub(super) fn update(&mut self, slot: Slot, request: &MemRequest, words: u32, came: u32) {
        let state = self.tags.state_mut(slot);
        state.valid |= came;
        state.write_sequence = state.write_sequence.max(request.write_sequence);
        if modifies(request.kind) {
            state.valid |= words;
            if !is_clean(request) {
                state.dirty |= words;
            }
        }
    }

    /// Makes words of a line present at once.
    pub(super) fn validate(&mut self, slot: Slot, words: u32) {
        self.tags.state_mut(slot).valid |= words;
    }

    /// Opens an MSHR for the line of a request, whose slot it locks. Its answers leave no earlier
    /// than in cycle `ready`.
    pub(super) fn open(
        &mut self,
        accepted: &Accepted<'_>,
        slot: Option<Slot>,
        keep: bool,
        ready: Cycle,
    ) -> Id {
        let mshr = self.mshrs.allocate(accepted.access.line);
        self.occupancy.add(accepted.now, 1);
        let entry = self.mshrs.entry_mut(mshr);
        entry.slot = slot;
        entry.keep = slot.is_some() || keep;
        entry.source = accepted.request.source;
        entry.ready = ready;
        if let Some(slot) = slot {
            self.tags.lock(slot, mshr);
            entry.write_sequence = self.tags.state(slot).write_sequence;
        }
        mshr
    }

    /// Notes that words of the line of an MSHR are requested. Returns the line's address and the
    /// flags that every request for the line carries.
    #[inline]
    pub(super) fn request(&mut self, mshr: Id, words: u32, flags: u16) -> (u64, u16) {
        let entry = self.mshrs.entry_mut(mshr);
        entry.requested.words |= words;
        entry.requested.flags |= flags;
        (self.layout.address(entry.line), entry.requested.flags)
    }

    /// Marks the line of an MSHR as wanted by a prefetcher alone.
    pub(super) fn mark_prefetched(&mut self, mshr: Id) {
        self.mshrs.entry_mut(mshr).prefetched = true;
    }

    /// Takes the mark of a prefetched line. Returns whether it had one.
    pub(super) fn take_prefetched(&mut self, mshr: Id) -> bool {
        std::mem::take(&mut self.mshrs.entry_mut(mshr).prefetched)
    }

    /// Expects another acknowledgement for the line of an MSHR, and returns its number.
    pub(super) fn expect_ack(&mut self, mshr: Id) -> u32 {
        let entry = self.mshrs.entry_mut(mshr);
        entry.acks_expected += 1;
        entry.acks_expected
    }

    /// Makes the answers of an MSHR leave no earlier than in cycle `ready`.
    #[inline]
    pub(super) fn hold_answers(&mut self, mshr: Id, ready: Cycle) {
        self.mshrs.entry_mut(mshr).ready = ready;
    }

    /// Adds a request to those that wait for a line, or for its earlier waiters to be answered.
    /// Returns whether no reply for the MSHR is queued, so that this request may be answered next.
    pub(super) fn join(&mut self, mshr: Id, accepted: &Accepted<'_>, role: JoinRole) -> bool {
        let Accepted {
            request,
            access,
            now,
        } = *accepted;
        let through = role.needs_ack != 0;
        let entry = self.mshrs.entry_mut(mshr);
        let present = entry.slot.map_or(0, |slot| self.tags.state(slot).valid) | entry.stored;
        let needs = if stores(request.kind) {
            role.requested
        } else {
            let more = if self.waits_for_lines {
                entry.requested.words
            } else {
                0
            };
            // Words that came are part of a fill whose latency may not be over.
            (access.words | more) & (!present | entry.progress.words)
        };
        if modifies(request.kind) {
            entry.stored |= access.words;
            entry.write_sequence = entry.write_sequence.max(request.write_sequence);
            if !through {
                entry.dirty |= access.words;
            }
            let is_present = entry.progress.words != 0 || entry.requested.words == 0;
            // Earlier waiters are answered from the fill; the line has been brought up to date.
            if let (Some(slot), true) = (entry.slot, is_present) {
                let state = self.tags.state_mut(slot);
                state.valid |= access.words;
                if !through {
                    state.dirty |= access.words;
                }
                state.write_sequence = state.write_sequence.max(request.write_sequence);
            }
        }
        let waiter = Waiter {
            request: *request,
            accepted: now,
            write_sequence: entry.write_sequence,
            needs,
            needs_ack: role.needs_ack,
            primary: role.primary,
        };
        let is_next = entry.replies == 0;
        self.mshrs.join(mshr, waiter);
        is_next
    }

    /// Gives a slot to the line of an MSHR.
    pub(super) fn install(&mut self, mshr: Id, slot: Slot, line: u64, owner: Source) {
        self.occupy(slot, line, owner);
        self.tags.lock(slot, mshr);
    }

    /// Keeps the line of an MSHR from having a slot.
    pub(super) fn uninstall(&mut self, mshr: Id, slot: Option<Slot>) {
        self.mshrs.entry_mut(mshr).keep = false;
        if let Some(slot) = slot {
            self.tags.clear(slot);
        }
    }

    /// Records that words of the line of an MSHR came, which is in `slot` if it has one.
    pub(super) fn fill(
        &mut self,
        mshr: Id,
        slot: Option<Slot>,
        words: u32,
        response: &MemResponse,
    ) {
        let entry = self.mshrs.entry_mut(mshr);
        entry.slot = slot;
        let progress = &mut entry.progress;
        progress.words |= words;
        progress.filled_by = Some(response.level);
        progress.write_sequence = progress.write_sequence.max(response.write_sequence);
        if let Some(slot) = slot {
            let state = self.tags.state_mut(slot);
            state.valid |= words | entry.stored;
            state.dirty |= entry.dirty;
            let sequence = entry.write_sequence.max(entry.progress.write_sequence);
            state.write_sequence = state.write_sequence.max(sequence);
        }
    }

    /// Enters a request that is handed down.
    pub(super) fn pass(&mut self, accepted: &Accepted<'_>, joined: Option<Id>, ready: Cycle) -> Id {
        self.passing.insert(Passed {
            request: *accepted.request,
            ready,
            awaited: accepted.access.words,
            write_sequence: 0,
            joined,
            answer: None,
        })
    }

    /// Records that a request which was handed down, or a piece of it, is answered. Its answer
    /// leaves no earlier than in cycle `ready`.
    pub(super) fn acknowledge(
        &mut self,
        id: Id,
        response: &MemResponse,
        ready: Cycle,
    ) -> Acknowledged {
        let layout = &self.layout;
        let address = layout.address(response.line);
        let words = layout.words_from(response.line, response.words);
        let Some(passed) = self.passing.get_mut(id).filter(|passed| {
            passed.answer.is_none()
                && layout.address(passed.request.line) == address
                && words & !passed.awaited == 0
        }) else {
            return Acknowledged::Unexpected;
        };
        passed.awaited &= !words;
        passed.write_sequence = passed.write_sequence.max(response.write_sequence);
        if passed.awaited != 0 {
            return Acknowledged::Partly;
        }
        passed.ready = passed.ready.max(ready);
        passed.answer = Some(MemResponse {
            write_sequence: passed.write_sequence,
            ..passed.request.answer(response.level)
        });
        let Some(mshr) = passed.joined else {
            return Acknowledged::Passed;
        };
        self.passing.remove(id);
        let progress = &mut self.mshrs.entry_mut(mshr).progress;
        progress.acks += 1;
        progress.acked_by = Some(response.level);
        Acknowledged::Joined(mshr)
    }

    /// Takes the answer of a request that was handed down.
    pub(super) fn take_passed(&mut self, id: Id) -> Option<MemResponse> {
        self.passing.remove(id)?.answer
    }

    /// Counts a queued reply for an MSHR whose oldest waiter can be answered now. Returns what has
    /// come for its line; none if the waiter lacks something.
    pub(super) fn enter_reply(&mut self, mshr: Id) -> Option<FillProgress> {
        let progress = self.entry(mshr).progress;
        let front = self.mshrs.front(mshr);
        if !front.is_some_and(|waiter| waiter.is_ready(&progress)) {
            return None;
        }
        self.mshrs.entry_mut(mshr).replies += 1;
        Some(progress)
    }

    /// Counts a queued reply as used up. Returns whether it was the last for its MSHR.
    pub(super) fn leave_reply(&mut self, mshr: Id) -> bool {
        let entry = self.mshrs.entry_mut(mshr);
        entry.replies -= 1;
        entry.replies == 0
    }

    /// Takes the waiter of an MSHR that is answered next.
    pub(super) fn take_waiter(&mut self, mshr: Id) -> Option<Waiter> {
        self.mshrs.pop_front(mshr)
    }

    /// Keeps later requests from joining an MSHR and its line from being installed. Returns the
    /// slot that the line had; it is still to be cleared.
    pub(super) fn close(&mut self, mshr: Id) -> Option<(Slot, u64)> {
        self.mshrs.close(mshr);
        let entry = self.mshrs.entry_mut(mshr);
        let slot = entry.slot.take()?;
        Some((slot, entry.line))
    }

    /// Gives back an MSHR and unlocks its slot.
    pub(super) fn release(&mut self, mshr: Id, slot: Option<Slot>, now: Cycle) {
        self.mshrs.release(mshr);
        self.occupancy.sub(now, 1);
        if let Some(slot) = slot {
            self.tags.unlock(slot);
        }
    }

    /// Shows lines in flight and passing requests.
    pub(super) fn show(&self, contents: &mut Contents<'_>) {
        self.mshrs.show(contents, |line| self.layout.address(line));
        self.passing.show(contents);
    }
}
