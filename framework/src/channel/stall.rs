//! A tap that stalls a channel at random; a correct system must tolerate it.

use warpweave_random::CounterRng;

use crate::channel::tap::{Credit, Tap, Transit};
use crate::evaluation::Context;

/// Delays messages, blocks the port after them, and returns credits late, all at random. Loses and
/// reorders nothing.
#[derive(Clone, Debug)]
pub struct StallInjector {
    dice: CounterRng,
    count: u64,
    sixteenths: u32,
    longest: u64,
}

impl StallInjector {
    /// Creates an injector that disturbs about `sixteenths` of 16 messages of `place` by 1 to
    /// `longest` cycles.
    pub fn new(seed: u64, place: &str, sixteenths: u32, longest: u64) -> Self {
        Self {
            dice: CounterRng::new(seed, place),
            count: 0,
            sixteenths,
            longest: longest.max(1),
        }
    }

    fn stall(&mut self) -> u64 {
        let count = self.count;
        self.count += 2;
        if self.dice.chance(count, self.sixteenths) {
            1 + self.dice.below(count + 1, self.longest)
        } else {
            0
        }
    }
}

impl<T> Tap<T> for StallInjector {
    fn send(&mut self, _: &mut Context<'_>, mut transit: Transit<T>, wire: &mut Vec<Transit<T>>) {
        transit.delay += self.stall() as i64;
        transit.hold += self.stall();
        wire.push(transit);
    }

    fn credit(&mut self, _: &mut Context<'_>) -> Credit {
        match self.stall() {
            0 => Credit::Due,
            cycles => Credit::Late(cycles),
        }
    }
}
