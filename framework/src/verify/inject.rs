//! Injectors: stalls that a correct system must survive, and faults that a checker must find.

use warpweave_random::Dice;

use crate::channel::tap::{Credit, Tap, Transit};
use crate::engine::simulation::Simulation;
use crate::evaluation::context::Context;

/// Delays messages, holds the port back after them, and returns credits late, all at random. It
/// loses and reorders nothing.
#[derive(Clone, Debug)]
pub struct StallInjector {
    dice: Dice,
    count: u64,
    sixteenths: u32,
    longest: u64,
}

impl StallInjector {
    /// Disturbs about `sixteenths` of 16 messages of `place` by 1 to `longest` cycles.
    pub fn new(seed: u64, place: &str, sixteenths: u32, longest: u64) -> Self {
        Self {
            dice: Dice::new(seed, place),
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

impl Simulation {
    /// Puts a [`StallInjector`] on every connected port whose address `chosen` accepts; returns
    /// how many. Each stalls in its own way.
    pub fn stall(
        &mut self,
        seed: u64,
        sixteenths: u32,
        longest: u64,
        chosen: impl Fn(&str) -> bool,
    ) -> usize {
        let paths: Vec<_> = self.instances().map(|(path, _)| path.to_owned()).collect();
        let mut stalled = 0;
        for (number, path) in paths.iter().enumerate() {
            let mut tapped = Vec::new();
            self.visit_ports(number, &mut |port| {
                let address = format!("{path}.{}", port.name);
                if port.is_bound() && chosen(&address) {
                    port.port
                        .stall(StallInjector::new(seed, &address, sixteenths, longest));
                    tapped.push(port.name.to_owned());
                }
            });
            stalled += tapped.len();
            for port in tapped {
                self.mark_tapped(number, &port);
            }
        }
        stalled
    }
}

/// What goes wrong on a wire.
#[derive(Debug)]
pub enum Fault<T> {
    /// The message is lost.
    Lose,
    /// The message is sent twice, if the channel has room for both.
    Duplicate,
    /// The message is sent after the one that follows it, if the channel has room for both.
    Reorder,
    /// The message is changed.
    Corrupt(fn(&mut T)),
    /// The message is so many sender cycles late.
    Delay(u64),
    /// The message is readable so many sender cycles early, at least one after it was sent.
    Early(u64),
    /// The slot of the message never becomes usable again (for taps at a receiving port).
    LeakCredit,
}

/// Makes one kind of fault on a wire: at one message, or now and then.
#[derive(Debug)]
pub struct FaultInjector<T> {
    fault: Fault<T>,
    when: When,
    count: u64,
    held: Option<Transit<T>>,
}

#[derive(Clone, Copy, Debug)]
enum When {
    At(u64),
    OneIn(Dice, u64),
}

impl When {
    fn now(self, count: u64) -> bool {
        match self {
            Self::At(at) => at == count,
            Self::OneIn(dice, n) => dice.below(count, n) == 0,
        }
    }
}

impl<T> FaultInjector<T> {
    /// A fault at message number `at`, counted from 0.
    pub fn at(fault: Fault<T>, at: u64) -> Self {
        Self {
            fault,
            when: When::At(at),
            count: 0,
            held: None,
        }
    }

    /// A fault at about one in `n` messages of `place`.
    pub fn one_in(fault: Fault<T>, n: u64, seed: u64, place: &str) -> Self {
        Self {
            when: When::OneIn(Dice::new(seed, place), n.max(1)),
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
