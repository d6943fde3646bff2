//! Commands, invalidation among them, and when the cache has something to do.

use warpweave_framework::{Context, Cycle};

use super::Cache;
use super::policy::{Cause, Eviction};
use super::statistics::Blocked;
use crate::launch::{CacheCommand, CacheCommandDone};

impl Cache {
    pub(super) fn command_pending(&self, ctx: &Context<'_>) -> bool {
        self.control.command.is_connected() && self.control.command.peek(ctx).is_some()
    }

    /// Nothing is in flight, neither up nor down.
    pub(super) fn is_drained(&self) -> bool {
        self.hits.is_empty()
            && self.misses.is_empty()
            && self.mshrs.is_empty()
            && self.passing.is_empty()
            && self.replies.is_empty()
    }

    /// Carries out a pending command, or a part of it, when its time has come. Whether it did.
    pub(super) fn obey(&mut self, ctx: &mut Context<'_>) -> bool {
        if !self.command_pending(ctx) || !self.is_drained() || !self.control.done.can_send(ctx) {
            return false;
        }
        if let Some(&CacheCommand::Resize { bytes }) = self.control.command.peek(ctx) {
            return self.resize(ctx, bytes);
        }
        self.control.command.pop(ctx);
        self.invalidate(ctx.cycle());
        self.control.done.send(ctx, CacheCommandDone);
        true
    }

    /// Drops every clean line.
    fn invalidate(&mut self, now: Cycle) {
        self.stats.invalidations += 1;
        let mut dropped = self
            .victims
            .as_mut()
            .map_or(0, super::victim_cache::VictimCache::clear);
        let (policies, prefetches) = (&mut self.policies, &mut self.prefetches);
        let is_watched = self.is_watched;
        let (site, owners) = (&self.site, &self.owners);
        self.tags.drop_clean(|slot, line, state| {
            dropped += 1;
            if is_watched {
                let set = slot.index() as u32 / site.ways;
                let eviction = Eviction {
                    line,
                    slot,
                    state,
                    cause: Cause::Invalidated,
                    owner: owners[slot.index()],
                    set,
                    global_set: site.global_set(line, set),
                };
                policies.on_evict(&eviction, now);
                prefetches.on_evict(site, &eviction, now);
            }
        });
        self.stats.lines_invalidated += dropped;
    }

    /// When the bank that the head request waits for is free.
    pub(super) fn bank_turn(&self, ctx: &Context<'_>) -> Option<Cycle> {
        let banks = self.spec.banks.as_ref()?;
        if self.stats.blocked.reason() != Some(Blocked::Bank) {
            return None;
        }
        let mut part = None;
        let access = self.access(self.head(self.up.request.peek(ctx)?, &mut part)?)?;
        Some(self.bank_free[(access.set % banks.count) as usize])
    }

    /// Whether the next cycle has work that no message, credit or time announces.
    pub(super) fn has_work(
        &mut self,
        ctx: &Context<'_>,
        accepted: bool,
        commanded: bool,
        moved: bool,
        now: Cycle,
    ) -> bool {
        if self.down.response.peek(ctx).is_some() {
            return true;
        }
        if let Some(buffer) = &self.copy_backs
            && (buffer.has_room() && !buffer.leaving.is_empty()
                || buffer.held.front().is_some_and(|held| self.may_take(held)))
        {
            return true;
        }
        let pending = self.command_pending(ctx);
        if commanded && pending {
            return true;
        }
        match self.up.request.peek(ctx) {
            Some(_) if accepted || commanded => true,
            // What happened after the look-up may have made room, or have left another reason to wait.
            Some(request) if moved && !pending && !self.is_still_refused(request, now + 1) => {
                let mut part = None;
                let Some(request) = self.head(request, &mut part) else {
                    return false;
                };
                let Some(access) = self.access(request) else {
                    return false;
                };
                let reason = self.decide(request, access, now + 1).err();
                if reason != self.stats.blocked.reason() {
                    return true;
                }
                if let Some(reason) = reason {
                    self.refusal = self.refuse(request, access, reason);
                }
                false
            }
            _ => false,
        }
    }
}
