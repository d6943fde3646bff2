//! Ports of policies: events for the compute unit, and values shared with the caches around.

use warpweave_framework::{Context, Observed, OutPort, Ports, Published};

use super::policy::{PolicyChain, PublishedValues};
use crate::memory::CacheEvent;

/// The wires by which policies talk to others.
#[derive(Ports)]
pub(super) struct PolicyPorts {
    #[port(optional)]
    locality: OutPort<CacheEvent>,
    #[port(optional)]
    published: Published<PublishedValues>,
    #[port(optional, without = "the values of a peer are not included in the sum")]
    peers: Vec<Observed<PublishedValues>>,
}

impl PolicyPorts {
    pub(super) fn new(peers: u32) -> Self {
        Self {
            locality: OutPort::new(),
            published: Published::new(PublishedValues::default()),
            peers: (0..peers).map(|_| Observed::new()).collect(),
        }
    }

    /// Returns true if a receiver of policy events is connected.
    pub(super) fn has_receiver(&self) -> bool {
        self.locality.is_connected()
    }

    /// Passes the published values of the peer caches to the policies, where they have changed.
    #[inline(never)]
    pub(super) fn receive_published(&self, policies: &mut PolicyChain, ctx: &Context<'_>) {
        if !self.peers.is_empty() {
            let mut sums = PublishedValues::default();
            for peer in self.peers.iter().filter(|peer| peer.is_connected()) {
                let values = peer.get(ctx);
                sums.0.iter_mut().zip(values.0).for_each(|(sum, value)| {
                    *sum = sum.wrapping_add(value);
                });
            }
            policies.receive(sums);
        }
    }

    /// Sends the events and publishes the values of policies. Returns true if the
    /// policies received new ones from their own cache.
    #[inline(never)]
    pub(super) fn publish_and_send(
        &mut self,
        policies: &mut PolicyChain,
        ctx: &mut Context<'_>,
    ) -> bool {
        let outbox = &mut policies.outbox;
        // Lines that an invalidation dropped.
        outbox.copy_backs_dropped += outbox.copy_backs.len() as u64;
        outbox.copy_backs.clear();
        while !outbox.events.is_empty() && self.locality.can_send(ctx) {
            if let Some(event) = outbox.events.pop_front() {
                self.locality.send(ctx, event);
            }
        }
        let values = outbox.published;
        self.published.publish(ctx, values);
        self.peers.is_empty() && policies.receive(values)
    }
}
