//! Cache of each port's oldest request, which is checked repeatedly while it cannot enter.

use super::controller::Request;
use super::splitting::Accesses;
use crate::memory::MemRequest;

/// Oldest request of a port with its first access.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) request: MemRequest,
    /// Address of the line's first byte in the channels' memory.
    pub(super) address: u64,
    pub(super) accesses: Accesses,
    pub(super) channel: usize,
    pub(super) access: Request,
}

/// Cached facts about each port's oldest request. Not part of a checkpoint, because they can be
/// recomputed.
pub(super) struct Heads {
    known: Vec<Option<Head>>,
    /// Mask of ports whose request cannot enter before the channel state changes.
    waiting: u64,
}

impl Heads {
    pub(super) fn new(ports: usize) -> Self {
        Self {
            known: vec![None; ports],
            waiting: 0,
        }
    }

    /// Clears the cache and unblocks all ports.
    pub(super) fn forget(&mut self) {
        self.known.fill(None);
        self.waiting = 0;
    }

    /// True if the port's request is not known to be blocked.
    #[inline]
    pub(super) fn may_enter(&self, port: usize) -> bool {
        self.waiting >> port & 1 == 0
    }

    /// Returns the oldest request of a port, if it is cached.
    #[inline]
    pub(super) fn of(&self, port: usize) -> Option<&Head> {
        self.known[port].as_ref()
    }

    /// Marks the request of a port as blocked, and caches it if `new` is given.
    #[inline]
    pub(super) fn refuse(&mut self, port: usize, new: Option<Head>) {
        self.waiting |= 1 << port;
        if new.is_some() {
            self.known[port] = new;
        }
    }

    /// Marks the requests of all ports as blocked.
    #[inline]
    pub(super) fn refuse_all(&mut self) {
        self.waiting = u64::MAX;
    }

    /// True if all ports are blocked until the channel state changes.
    #[inline]
    pub(super) fn all_wait(&self) -> bool {
        self.waiting == u64::MAX
    }

    /// Unblocks all ports after a change of the channel state.
    #[inline]
    pub(super) fn try_again(&mut self) {
        self.waiting = 0;
    }

    /// Removes the cached request of a port that has entered, and unblocks all ports.
    #[inline]
    pub(super) fn entered(&mut self, port: usize) {
        self.known[port] = None;
        self.waiting = 0;
    }
}
