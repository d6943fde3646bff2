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
    pub(super) fn is_heard(&self) -> bool {
        self.locality.is_connected()
    }

    /// Tells the policies the published values of the caches around, where those have changed.
    #[inline(never)]
    pub(super) fn hear_peers(&self, policies: &mut PolicyChain, ctx: &Context<'_>) {
        if !self.peers.is_empty() {
            let mut sums = PublishedValues::default();
            for peer in self.peers.iter().filter(|peer| peer.is_connected()) {
                let values = peer.get(ctx);
                sums.0.iter_mut().zip(values.0).for_each(|(sum, value)| {
                    *sum = sum.wrapping_add(value);
                });
            }
            policies.hear(sums);
        }
    }

    /// Sends the events and publishes the values of policies. Returns whether they heard something
    /// of themselves.
    #[inline(never)]
    pub(super) fn publish_and_tell(
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
        self.peers.is_empty() && policies.hear(values)
    }
}
