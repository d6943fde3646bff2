//! Network wrapper that skips evaluation while nothing can change.

use std::ops::{Deref, DerefMut};

use warpweave_framework::{Cycle, State, Statistics};

use super::network::Network;
use super::traffic::PacketInfo;

/// [`Network`] whose steps are skipped until something can change. The component is also evaluated
/// for its other network and for its ports.
#[derive(State, Statistics)]
#[state(prepare = LazyNetwork::wake)]
pub(super) struct LazyNetwork<P> {
    #[state(flatten)]
    #[statistic(flatten)]
    network: Network<P>,
    /// Cycle from which a step may change something; host-side only, not part of the state.
    #[state(skip)]
    due: Cycle,
}

impl<P> LazyNetwork<P> {
    pub(super) fn new(network: Network<P>) -> Self {
        Self { network, due: 0 }
    }

    /// Lets the next step run, whatever the network holds by then.
    fn wake(&mut self) {
        self.due = 0;
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
    /// Any mutable access may create work for the network, so the next step is not skipped.
    #[inline]
    fn deref_mut(&mut self) -> &mut Network<P> {
        self.due = 0;
        &mut self.network
    }
}

impl<P: Copy> LazyNetwork<P> {
    /// Offers a packet; see [`Network::offer`] for details.
    #[inline]
    pub(super) fn offer(&mut self, now: Cycle, parcel: PacketInfo, payload: P) {
        self.due = now;
        self.network.offer(now, parcel, payload);
    }

    /// Runs [`Network::step`] if it is due; returns true if it did.
    #[inline]
    pub(super) fn step(
        &mut self,
        now: Cycle,
        deliver: impl FnMut(usize, P, Cycle) -> bool,
    ) -> bool {
        let steps = self.due <= now || self.network.is_blocked();
        if steps {
            // Due until the next call of `next_event`.
            self.due = now;
            self.network.step(now, deliver);
        }
        steps
    }

    /// Calls [`Network::next_event`] and schedules the next step; returns [`Cycle::MAX`] if there
    /// is none.
    #[inline]
    pub(super) fn next_event(&mut self, now: Cycle) -> Cycle {
        let next = |network: &Network<P>| network.next_event(now).unwrap_or(Cycle::MAX);
        if self.due <= now {
            self.due = next(&self.network);
        }
        debug_assert_eq!(
            self.due,
            next(&self.network),
            "an idle network must not change"
        );
        self.due
    }
}
