//! Commands of the compute unit: invalidation, and another number of ways.

use warpweave_framework::{Bundle, Context, Cycle, Ports, Stated, Unfit};

use super::controller::Controller;
use super::policy::CacheSite;
use super::tag_array::{LineState, Slot};
use crate::launch::{CacheCommand, CacheCommandDone, CacheControlSlave, CacheSizes};
use crate::memory::Level;

/// The stage that carries out commands when nothing is in flight.
pub(super) struct Control {
    slave: CacheControlSlave,
    /// True for a first-level cache, which warns if its lines are not invalidated when a kernel
    /// ends.
    is_first_level: bool,
    /// Ways of each set, in use or not.
    ways: u32,
    /// Returns the bytes of one way over all sets.
    way_bytes: u32,
}

impl Control {
    pub(super) fn new(site: &CacheSite) -> Self {
        Self {
            slave: CacheControlSlave::default(),
            is_first_level: site.level == Level::L1,
            ways: site.ways,
            way_bytes: site.sets * site.line_bytes,
        }
    }

    /// Tells whether a command is being carried out.
    #[inline]
    pub(super) fn is_pending(&self, ctx: &Context<'_>) -> bool {
        self.slave.command.is_connected() && self.slave.command.peek(ctx).is_some()
    }

    /// The number of ways that so many bytes are.
    ///
    /// # Errors
    /// Bytes that are no whole ways, or more than there are.
    pub(super) fn ways_of(&self, bytes: u32) -> Result<u32, String> {
        let way = self.way_bytes;
        let ways = bytes / way;
        if bytes.is_multiple_of(way) && (1..=self.ways).contains(&ways) {
            return Ok(ways);
        }
        Err(format!(
            "a first-level cache with {} ways of {way} bytes cannot be resized to {bytes} bytes",
            self.ways
        ))
    }

    /// Checks the sizes that a compute unit may command against the ways there are.
    ///
    /// # Errors
    /// A size that the cache cannot have.
    pub(super) fn agree_on_sizes(
        &self,
        CacheSizes(sizes): &CacheSizes,
        stated: Option<Stated>,
    ) -> Result<(), Unfit> {
        let beside = || "cache size left by local memory".to_owned();
        let size = self.ways * self.way_bytes;
        if let Some(most) = sizes.first().filter(|most| **most != size) {
            let message = format!(
                "{size} differs from the {most} bytes left by the smallest split of local memory"
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

    /// Carries out the pending command, or a part of it, when its time has come. Returns true if it
    /// did.
    pub(super) fn execute(&mut self, controller: &mut Controller, ctx: &mut Context<'_>) -> bool {
        if !controller.is_drained() || !self.slave.done.can_send(ctx) {
            return false;
        }
        if let Some(&CacheCommand::Resize { bytes }) = self.slave.command.peek(ctx) {
            let ways = match self.ways_of(bytes) {
                Ok(ways) => ways,
                Err(problem) => {
                    ctx.fail(problem);
                    return false;
                }
            };
            if !resize(controller, ways, ctx.cycle()) {
                return true;
            }
        } else {
            controller.store.invalidate(ctx.cycle());
        }
        self.slave.command.pop(ctx);
        self.slave.done.send(ctx, CacheCommandDone);
        true
    }
}

impl Bundle for Control {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        let slave = &mut self.slave;
        let name = |ports: &mut Ports<'_>| ports.bundle("control", slave);
        if self.is_first_level {
            ports.advisable("its lines are not invalidated when a kernel ends", name);
        } else {
            ports.optional(name);
        }
    }
}

/// Continues a change to `ways` ways while the miss queue has room for evicted dirty lines. Returns
/// true when the change is complete.
fn resize(controller: &mut Controller, ways: u32, now: Cycle) -> bool {
    let store = &mut controller.store;
    let lines: Vec<(Slot, u64, LineState)> = store.lookup.tags().lines_from(ways).collect();
    let mut waits = false;
    for &(slot, line, state) in lines.iter().filter(|(.., state)| state.dirty != 0) {
        let pieces = store.misses.pieces(state.dirty);
        if store.misses.room(0, pieces).is_err() {
            break;
        }
        waits = true;
        let owner = store.lookup.owner(slot);
        store.take_out(slot, line, now);
        store.copy_back(line, state.dirty, state.write_sequence, owner, now);
    }
    if waits {
        return false;
    }
    for (slot, line, _) in lines {
        store.take_out(slot, line, now);
    }
    store.lookup.use_ways(ways);
    true
}
