//! A cache that sends random events.

use warpweave_framework::OutPort;
use warpweave_random::CounterRng;

use super::*;

/// Sends events of random topics and wavefronts, some of them in bursts.
#[derive(Statistics)]
pub(super) struct RandomCache {
    pub(super) locality: OutPort<CacheEvent>,
    dice: CounterRng,
    told: u64,
    next: Cycle,
}

impl RandomCache {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            locality: OutPort::new(),
            dice: CounterRng::new(seed, "events"),
            told: 0,
            next: 1,
        }
    }
}

impl Bundle for RandomCache {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("locality", &mut self.locality);
    }
}

impl Component for RandomCache {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        while self.next <= now {
            let number = self.told;
            let event = CacheEvent {
                topic: self.dice.below(3 * number, 3) as u16,
                wavefront_slot: self.dice.below(3 * number + 1, 10) as u8,
                line: 0,
            };
            if self.locality.try_send(ctx, event).is_err() {
                return Next::Credit;
            }
            self.told += 1;
            let gap = self.dice.below(3 * number + 2, 120);
            self.next = now + gap.saturating_sub(40);
        }
        Next::Until(self.next)
    }
}

impl Stateful for RandomCache {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("told", &mut self.told);
        state.field("next", &mut self.next);
    }
}
