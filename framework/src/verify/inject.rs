//! Fault injection on wires, to test that checkers detect faults.

use warpweave_random::CounterRng;

use crate::channel::{Credit, Tap, Transit};
use crate::evaluation::Context;

/// Fault of a message on a wire.
#[derive(Debug)]
pub enum Fault<T> {
    /// The message is lost on the wire.
    Lose,
    /// The message is sent twice, if the channel has room for both.
    Duplicate,
    /// The message is sent after the one that follows it, if the channel has room for both.
    Reorder,
    /// The contents of the message are changed.
    Corrupt(fn(&mut T)),
    /// The message is late by this number of sender cycles.
    Delay(u64),
    /// The message is readable early by this number of sender cycles, but at least one cycle after
    /// it was sent.
    Early(u64),
    /// The slot of the message never becomes usable again (for taps at a receiving port).
    LeakCredit,
}

/// Injects one kind of fault on a wire, at one message or at random.
#[derive(Debug)]
pub struct FaultInjector<T> {
    fault: Fault<T>,
    when: Trigger,
    count: u64,
    held: Option<Transit<T>>,
}

#[derive(Clone, Copy, Debug)]
enum Trigger {
    At(u64),
    OneIn(CounterRng, u64),
}

impl Trigger {
    fn now(self, count: u64) -> bool {
        match self {
            Self::At(at) => at == count,
            Self::OneIn(dice, n) => dice.below(count, n) == 0,
        }
    }
}

impl<T> FaultInjector<T> {
    /// Creates a fault at message number `at`, counted from 0.
    pub fn at(fault: Fault<T>, at: u64) -> Self {
        Self {
            fault,
            when: Trigger::At(at),
            count: 0,
            held: None,
        }
    }

    /// Creates faults at about one in `n` messages of `place`.
    pub fn one_in(fault: Fault<T>, n: u64, seed: u64, place: &str) -> Self {
        Self {
            when: Trigger::OneIn(CounterRng::new(seed, place), n.max(1)),
            ..Self::at(fault, 0)
        }
    }

    fn strikes(&mut self) -> bool {
        let count = self.count;
        self.count += 1;
        self.when.now(count)
    }
}

impl<T: Clone + Send> Tap<T> for FaultInjector<T> {
    fn send(&mut self, _: &mut Context<'_>, mut transit: Transit<T>, wire: &mut Vec<Transit<T>>) {
        let strikes = self.strikes();
        if let Some(held) = self.held.take() {
            wire.extend([transit, held]);
            return;
        }
        if strikes {
            match self.fault {
                Fault::Lose => return,
                Fault::Reorder => {
                    self.held = Some(transit);
                    return;
                }
                Fault::Duplicate => wire.push(transit.clone()),
                Fault::Corrupt(change) => change(&mut transit.message),
                Fault::Delay(cycles) => transit.delay += cycles as i64,
                Fault::Early(cycles) => transit.delay -= cycles as i64,
                Fault::LeakCredit => {}
            }
        }
        wire.push(transit);
    }

    fn credit(&mut self, _: &mut Context<'_>) -> Credit {
        if matches!(self.fault, Fault::LeakCredit) && self.strikes() {
            Credit::Lost
        } else {
            Credit::Due
        }
    }
}
