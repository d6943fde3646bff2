//! The oldest request of each port, which is looked at again and again while it cannot enter.

use super::controller::Request;
use super::splitting::Accesses;
use crate::memory::MemRequest;

/// The oldest request of a port, and its first access.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) request: MemRequest,
    /// Where its line begins in the channels' memory.
    pub(super) address: u64,
    pub(super) accesses: Accesses,
    pub(super) channel: usize,
    pub(super) access: Request,
}

/// What is known of the ports' oldest requests. No state: it is found again.
pub(super) struct Heads {
    known: Vec<Option<Head>>,
    /// Ports whose request cannot enter before something has changed, one bit each.
    waiting: u64,
}

impl Heads {
    pub(super) fn new(ports: usize) -> Self {
        Self {
            known: vec![None; ports],
            waiting: 0,
        }
    }

    /// Nothing is known any more.
    pub(super) fn forget(&mut self) {
        self.known.fill(None);
        self.waiting = 0;
    }

    /// Whether the request of a port may enter, as far as is known.
    #[inline]
    pub(super) fn may_enter(&self, port: usize) -> bool {
        self.waiting >> port & 1 == 0
    }

    /// The oldest request of a port, if it is known.
    #[inline]
    pub(super) fn of(&self, port: usize) -> Option<&Head> {
        self.known[port].as_ref()
    }

    /// The request of a port cannot enter; what is known of it, if that is new.
    #[inline]
    pub(super) fn refuse(&mut self, port: usize, new: Option<Head>) {
        self.waiting |= 1 << port;
        if new.is_some() {
            self.known[port] = new;
        }
    }

    /// No request can enter.
    #[inline]
    pub(super) fn refuse_all(&mut self) {
        self.waiting = u64::MAX;
    }

    /// Whether no request can enter before something has changed.
    #[inline]
    pub(super) fn all_wait(&self) -> bool {
        self.waiting == u64::MAX
    }

    /// Something has changed of what requests wait for.
    #[inline]
    pub(super) fn try_again(&mut self) {
        self.waiting = 0;
    }

    /// The request of a port has entered.
    #[inline]
    pub(super) fn entered(&mut self, port: usize) {
        self.known[port] = None;
        self.waiting = 0;
    }
}
