//! Another size: how many ways of each set are in use.

use warpweave_framework::{Context, Cycle, Onward, Stated, Unfit};

use super::Cache;
use super::policy::Cause;
use super::tag_array::{LineState, Slot};
use crate::launch::{CacheCommandDone, CacheSizes};

impl Cache {
    /// Bytes of one way of all sets.
    fn way_bytes(&self) -> u32 {
        self.site.sets * self.site.line_bytes
    }

    /// The ways that so many bytes are.
    fn ways_of(&self, bytes: u32) -> Result<u32, String> {
        let way = self.way_bytes();
        let ways = bytes / way;
        if bytes.is_multiple_of(way) && (1..=self.spec.ways).contains(&ways) {
            return Ok(ways);
        }
        Err(format!(
            "a first-level cache of {} ways of {way} bytes cannot have {bytes} bytes",
            self.spec.ways
        ))
    }

    /// Holds the sizes that a compute unit may command against the ways there are.
    pub(super) fn agree_on_sizes(
        &self,
        CacheSizes(sizes): &CacheSizes,
        stated: Option<Stated>,
    ) -> Result<(), Unfit> {
        let beside = || "local memory leaves it that".to_owned();
        if let Some(most) = sizes.first().filter(|most| **most != self.spec.size_bytes) {
            let message = format!(
                "{} is not the {most} bytes that the cache has beside the least local memory",
                self.spec.size_bytes
            );
            return Err(Unfit::at("size_bytes", message).beside(beside(), stated));
        }
        for &bytes in sizes {
            if let Err(problem) = self.ways_of(bytes) {
                return Err(Unfit::at("ways", problem).beside(beside(), stated));
            }
        }
        Ok(())
    }

    /// Goes on with the command to have so many bytes, when nothing is in flight. Whether it did.
    pub(super) fn resize(&mut self, ctx: &mut Context<'_>, bytes: u32) -> bool {
        let ways = match self.ways_of(bytes) {
            Ok(ways) => ways,
            Err(problem) => {
                ctx.fail(problem);
                return false;
            }
        };
        let now = ctx.cycle();
        let lines: Vec<(Slot, u64, LineState)> = self.tags.lines_from(ways).collect();
        let mut waits = false;
        for (slot, line, state) in lines.iter().filter(|(.., state)| state.dirty != 0) {
            if self.queue_room(0, self.pieces(state.dirty)).is_err() {
                break;
            }
            waits = true;
            let owner = self.owners[slot.index()];
            self.take_out(*slot, *line, now);
            self.copy_back(*line, state.dirty, state.write_sequence, owner, now);
        }
        if waits {
            return true;
        }
        for (slot, line, _) in lines {
            self.take_out(slot, line, now);
        }
        self.tags.use_ways(ways);
        self.control.command.pop(ctx);
        self.control.done.send(ctx, CacheCommandDone);
        true
    }

    /// A line leaves whose way goes out of use.
    fn take_out(&mut self, slot: Slot, line: u64, now: Cycle) {
        self.tell_eviction(slot, line, Cause::Invalidated, now);
        self.tags.clear(slot);
        self.stats.lines_invalidated += 1;
    }

    /// Has so many bytes at once.
    pub(super) fn functional_resize(
        &mut self,
        bytes: u32,
        onward: &mut Onward,
    ) -> Result<(), String> {
        let ways = self.ways_of(bytes)?;
        let lines: Vec<(Slot, u64, LineState)> = self.tags.lines_from(ways).collect();
        for (slot, _, state) in lines {
            if let Some(mshr) = state.mshr() {
                // What is still under way for it finds no place.
                self.mshrs.close(mshr);
                self.mshrs.entry_mut(mshr).slot = None;
            }
            self.drop_at_once(slot, onward);
        }
        self.tags.use_ways(ways);
        Ok(())
    }
}
