//! A network that is left alone while nothing can happen in it.

use std::ops::{Deref, DerefMut};

use warpweave_framework::Cycle;

use super::network::Network;
use super::traffic::PacketInfo;

/// A [`Network`] whose steps are left out until something can happen: the component is evaluated for
/// the other network and for its ports too.
pub(super) struct LazyNetwork<P> {
    network: Network<P>,
    /// The cycle from which a step may change something; of this process only, and no state.
    due: Cycle,
}

impl<P> LazyNetwork<P> {
    pub(super) fn new(network: Network<P>) -> Self {
        Self { network, due: 0 }
    }
}

impl<P> Deref for LazyNetwork<P> {
    type Target = Network<P>;

    #[inline]
    fn deref(&self) -> &Network<P> {
        &self.network
    }
}

impl<P> DerefMut for LazyNetwork<P> {
    /// Whoever changes the network may give it something to do.
    #[inline]
    fn deref_mut(&mut self) -> &mut Network<P> {
        self.due = 0;
        &mut self.network
    }
}

impl<P: Copy> LazyNetwork<P> {
    /// As [`Network::offer`].
    #[inline]
    pub(super) fn offer(&mut self, now: Cycle, parcel: PacketInfo, payload: P) {
        self.due = now;
        self.network.offer(now, parcel, payload);
    }

    /// As [`Network::step`]; returns whether there was a step.
    #[inline]
    pub(super) fn step(
        &mut self,
        now: Cycle,
        deliver: impl FnMut(usize, P, Cycle) -> bool,
    ) -> bool {
        let steps = self.due <= now || self.network.is_blocked();
        if steps {
            // Until it is asked what is next.
            self.due = now;
            self.network.step(now, deliver);
        }
        steps
    }

    /// As [`Network::next_event`], which decides on the next step; [`Cycle::MAX`] if there is none.
    #[inline]
    pub(super) fn next_event(&mut self, now: Cycle) -> Cycle {
        let next = |network: &Network<P>| network.next_event(now).unwrap_or(Cycle::MAX);
        if self.due <= now {
            self.due = next(&self.network);
        }
        debug_assert_eq!(self.due, next(&self.network), "a network at rest changes");
        self.due
    }
}
