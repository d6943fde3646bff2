//! One evaluation: the stages in their order, and what the unit waits for after it.

use warpweave_framework::{Context, Cycle, Next};

use super::ComputeUnit;
use super::issue_variant::Variant;

impl ComputeUnit {
    /// One evaluation, specialised for a [`Variant`].
    #[inline(never)]
    pub(super) fn step<V: Variant>(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        if V::WATCHED {
            self.datapath.prepare_spares();
        }
        self.accounting.begin(now);
        let mut changed = self.take_events::<V>(now);
        changed |= self.take_responses::<V>(ctx, now);
        if V::LIMITED {
            changed |= self.take_readonly_responses::<V>(ctx, now);
        }
        if V::FETCH && self.datapath.fetch.has_instructions(ctx, now) {
            self.take_instructions::<V>(ctx, now);
            changed = true;
        }
        if V::LIMITED && self.schedulers.takes_cache_events() {
            self.schedulers.take_cache_events(ctx, &self.datapath);
        }
        if self.caches.is_invalidating() {
            self.carry_out_invalidation(ctx);
        }
        if self.dispatch.peek(ctx).is_some() {
            self.take_dispatch(ctx, now);
            changed = true;
        }
        if self.datapath.memory.has_work() {
            changed |= self.send_requests(ctx, now);
        }
        if V::LIMITED {
            self.datapath.memory.readonly.send(ctx);
        }
        let nothing_changed = !V::LIMITED && self.schedulers.is_settled() && !changed;
        let issued = !nothing_changed && self.issue::<V>(now);
        if issued {
            ctx.made_progress();
        }
        if V::FETCH {
            self.fetch_instructions(ctx);
        }
        if !self.launches.is_empty() {
            self.send_launches(ctx, now);
        }
        if self.dispatch.has_completions() {
            self.dispatch.send_completions(ctx);
        }
        if self.datapath.has_failed() {
            self.datapath.report_failure(ctx);
        }
        self.next::<V>(ctx, now, issued)
    }

    /// Takes all fetched instructions that have arrived.
    #[inline(never)]
    fn take_instructions<V: Variant>(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        let datapath = &mut self.datapath;
        while let Some(received) = datapath.fetch.receive(ctx, now) {
            match received {
                Ok(Some(slot)) => {
                    if V::WATCHED && datapath.wavefronts.masks().starved >> slot & 1 != 0 {
                        datapath.note_earliest(slot, now);
                    }
                    datapath.wavefronts.note_instruction(slot, true);
                }
                Ok(None) => {}
                Err(message) => datapath.fail(message),
            }
        }
    }

    /// Fetches for one wavefront, if one would.
    #[inline]
    fn fetch_instructions(&mut self, ctx: &mut Context<'_>) {
        let datapath = &mut self.datapath;
        let known = datapath.wavefronts.masks().fetched;
        if datapath.fetch.wants(known) {
            let (wavefronts, index) = (&datapath.wavefronts, datapath.config.spec.index);
            datapath.fetch.fetch(ctx, known, |slot, pc| {
                wavefronts.slot(slot).place.source(index, slot, pc)
            });
        }
    }

    /// Returns the event the unit waits for and charges the cycles until then. `issued` is true if
    /// any scheduler issued in this cycle.
    #[inline(always)]
    fn next<V: Variant>(&mut self, ctx: &mut Context<'_>, now: Cycle, issued: bool) -> Next {
        let datapath = &self.datapath;
        let masks = datapath.wavefronts.masks();
        let open = masks.open();
        if !V::LIMITED && open & !masks.next_pipe & !datapath.blocked_by_memories(now + 1) != 0 {
            return Next::Busy;
        }
        let mut wake = self
            .schedulers
            .next::<V>(open, datapath, &self.accounting, now);
        if wake == now + 1 {
            return Next::Busy;
        }
        if let Some(cycle) = datapath.memory.load_store().next_send(now) {
            wake = wake.min(cycle);
        }
        if V::LIMITED
            && let Some(cycle) = datapath.memory.readonly.next_send(now)
        {
            wake = wake.min(cycle);
        }
        if V::FETCH
            && let Some(cycle) = datapath.fetch.next(now, masks.fetched)
        {
            wake = wake.min(cycle);
        }
        if wake > now + 1
            && let Some(cycle) = datapath.pipes.wheel.next_after(now)
        {
            wake = wake.min(cycle);
        }
        if wake == now + 1 || self.can_take_dispatch(ctx) {
            return Next::Busy;
        }
        // If no wavefront was open in this cycle and none is now, the charged reason continues.
        if (V::OPEN || issued || open != 0)
            && !self
                .schedulers
                .charge_ahead::<V>(open, datapath, &mut self.accounting, now)
        {
            return Next::Busy;
        }
        if wake < Cycle::MAX {
            Next::Until(wake)
        } else {
            self.next_message::<V>()
        }
    }

    /// Returns true if a dispatch is there that waits for nothing.
    #[inline]
    fn can_take_dispatch(&self, ctx: &Context<'_>) -> bool {
        !self.caches.is_invalidating()
            && self.dispatch.peek(ctx).is_some()
            && !self.caches.is_resizing()
    }

    /// Names the event that the unit waits for when nothing happens by time alone.
    fn next_message<V: Variant>(&self) -> Next {
        let datapath = &self.datapath;
        let load_store = datapath.memory.load_store();
        let readonly = &datapath.memory.readonly;
        if load_store.outstanding() > 0
            || self.caches.is_invalidating()
            || datapath.fetch.awaits_answers()
            || V::LIMITED && readonly.await_answers()
        {
            Next::Message
        } else if load_store.is_blocked
            || datapath.fetch.is_blocked()
            || V::LIMITED && readonly.are_blocked()
            || self.dispatch.has_completions()
            || !self.launches.is_empty()
        {
            Next::Credit
        } else if self.caches.is_resizing() {
            Next::Message
        } else {
            Next::Idle
        }
    }
}
