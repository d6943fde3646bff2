//! Scoreboard, which compares the expected and actual messages of a stream.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::channel::{Message, Tap, Transit};
use crate::engine::{Simulation, TapError};
use crate::evaluation::Context;
use crate::time::Cycle;
use crate::verify::violation::Check;

/// Order in which actual messages may arrive.
#[derive(Debug)]
pub enum Matching<T> {
    /// Messages arrive in the order in which they are expected.
    InOrder,
    /// Messages may arrive in any order.
    AnyOrder,
    /// Messages of equal key arrive in order.
    PerKey(fn(&T) -> u64),
}

impl<T> Clone for Matching<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Matching<T> {}

/// Compares two streams: the expected and the actual messages.
///
/// Streams come from ports ([`Scoreboard::expect_from`], [`Scoreboard::actual_from`]) or from the
/// test ([`Scoreboard::expect`], [`Scoreboard::actual`]).
pub struct Scoreboard<T> {
    inner: Arc<Mutex<Inner<T>>>,
}

impl<T> Clone for Scoreboard<T> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

struct Inner<T> {
    name: String,
    matching: Matching<T>,
    /// Permitted cycles from expectation to arrival.
    latency: RangeInclusive<Cycle>,
    expected: VecDeque<(Cycle, T)>,
    /// The last few messages that arrived, to distinguish duplicates from unexpected messages.
    recent: VecDeque<T>,
    seen: u64,
}

/// Number of messages remembered to recognise duplicates.
const RECENT: usize = 16;

impl<T: Clone + PartialEq + Debug + Send + 'static> Scoreboard<T> {
    /// Creates a scoreboard that is called `name` in error messages.
    pub fn new(name: &str, matching: Matching<T>) -> Self {
        Self {
            inner: Arc::new(Mutex::new(Inner {
                name: name.to_owned(),
                matching,
                latency: 0..=Cycle::MAX,
                expected: VecDeque::new(),
                recent: VecDeque::new(),
                seen: 0,
            })),
        }
    }

    /// Also bounds the cycles from expectation to arrival.
    pub fn latency(self, cycles: RangeInclusive<Cycle>) -> Self {
        self.inner.lock().latency = cycles;
        self
    }

    /// Adds the expectation that `message` arrives, from `cycle` on.
    pub fn expect(&self, cycle: Cycle, message: T) {
        self.inner.lock().expected.push_back((cycle, message));
    }

    /// Compares a message that arrived in `cycle`.
    ///
    /// # Errors
    /// Returns an error if the message is unexpected, out of order, duplicated, or at the wrong
    /// time.
    pub fn actual(&self, cycle: Cycle, message: &T) -> Result<(), String> {
        let mut inner = self.inner.lock();
        let result = inner.actual(cycle, message);
        result.map_err(|problem| format!("{}: in cycle {cycle} {problem}", inner.name))
    }

    /// Returns the number of expected messages that have not arrived.
    pub fn missing(&self) -> usize {
        self.inner.lock().expected.len()
    }

    /// Expects the output of `translate` for every message that passes the port at `address`.
    ///
    /// # Errors
    /// Returns an error if the port cannot be tapped.
    pub fn expect_from<S: Message + Clone>(
        &self,
        simulation: &mut Simulation,
        address: &str,
        translate: impl FnMut(&S) -> Option<T> + Send + 'static,
    ) -> Result<(), TapError> {
        let scoreboard = self.clone();
        let tap = Expecting {
            scoreboard,
            translate,
        };
        simulation.tap::<S>(address, tap)
    }

    /// Compares every message that passes the port at `address`; a difference ends the run.
    ///
    /// # Errors
    /// Returns an error if the port cannot be tapped.
    pub fn actual_from(&self, simulation: &mut Simulation, address: &str) -> Result<(), TapError>
    where
        T: Message,
    {
        simulation.tap::<T>(address, Actual(self.clone()))
    }
}

impl<T: Clone + PartialEq + Debug> Inner<T> {
    fn actual(&mut self, cycle: Cycle, message: &T) -> Result<(), String> {
        self.seen += 1;
        let Some(at) = self.expected.iter().position(|(_, e)| e == message) else {
            return Err(self.stranger(message));
        };
        let blocking = match self.matching {
            Matching::InOrder => (at > 0).then_some(0),
            Matching::AnyOrder => None,
            Matching::PerKey(key) => {
                let mut before = self.expected.iter().take(at);
                before.position(|(_, e)| key(e) == key(message))
            }
        };
        if let Some(first) = blocking {
            return Err(format!(
                "{message:?} arrived before {:?}: a message is lost or they are out of order",
                self.expected[first].1
            ));
        }
        let (since, _) = self.expected.remove(at).expect("found above");
        self.recent.push_back(message.clone());
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        let taken = cycle.saturating_sub(since);
        if self.latency.contains(&taken) {
            return Ok(());
        }
        let (least, most) = (self.latency.start(), self.latency.end());
        Err(format!(
            "{message:?} arrived after {taken} cycles, expected {least} to {most}"
        ))
    }

    fn stranger(&self, message: &T) -> String {
        if self.recent.contains(message) {
            return format!("{message:?} arrived again: it is a duplicate");
        }
        match self.expected.front() {
            Some((_, next)) => {
                format!("{message:?} arrived, but was never sent; expected {next:?}")
            }
            None => format!("{message:?} arrived, but nothing was expected"),
        }
    }
}

impl<T: Clone + PartialEq + Debug + Send + 'static> Check for Scoreboard<T> {
    fn seen(&self) -> u64 {
        self.inner.lock().seen
    }

    fn finish(&self) -> Result<(), String> {
        let inner = self.inner.lock();
        let Some((cycle, first)) = inner.expected.front() else {
            return Ok(());
        };
        Err(format!(
            "{}: {} messages never arrived; the first is {first:?}, expected since cycle {cycle}",
            inner.name,
            inner.expected.len()
        ))
    }
}

struct Expecting<T, F> {
    scoreboard: Scoreboard<T>,
    translate: F,
}

impl<T, F> Expecting<T, F>
where
    T: Clone + PartialEq + Debug + Send + 'static,
{
    fn pass<S>(&mut self, ctx: &Context<'_>, message: &S)
    where
        F: FnMut(&S) -> Option<T>,
    {
        if let Some(expected) = (self.translate)(message) {
            self.scoreboard.expect(ctx.cycle(), expected);
        }
    }
}

impl<S, T, F> Tap<S> for Expecting<T, F>
where
    T: Clone + PartialEq + Debug + Send + 'static,
    F: FnMut(&S) -> Option<T> + Send,
{
    fn send(&mut self, ctx: &mut Context<'_>, transit: Transit<S>, wire: &mut Vec<Transit<S>>) {
        self.pass(ctx, &transit.message);
        wire.push(transit);
    }

    fn take(&mut self, ctx: &mut Context<'_>, message: &mut S) {
        self.pass(ctx, message);
    }
}

struct Actual<T>(Scoreboard<T>);

impl<T: Clone + PartialEq + Debug + Send + 'static> Tap<T> for Actual<T> {
    fn send(&mut self, ctx: &mut Context<'_>, transit: Transit<T>, wire: &mut Vec<Transit<T>>) {
        if let Err(problem) = self.0.actual(ctx.cycle(), &transit.message) {
            ctx.fail(problem);
        }
        wire.push(transit);
    }

    fn take(&mut self, ctx: &mut Context<'_>, message: &mut T) {
        if let Err(problem) = self.0.actual(ctx.cycle(), message) {
            ctx.fail(problem);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(matching: Matching<u64>) -> Scoreboard<u64> {
        let board = Scoreboard::new("out", matching);
        (10..14).for_each(|n| board.expect(n, n));
        board
    }

    #[test]
    fn order_is_judged_as_promised() {
        let low_bit: fn(&u64) -> u64 = |n| n & 1;
        for (matching, good) in [
            (Matching::InOrder, false),
            (Matching::AnyOrder, true),
            (Matching::PerKey(low_bit), true),
        ] {
            assert_eq!(board(matching).actual(20, &11).is_ok(), good);
        }
        let error = board(Matching::PerKey(low_bit)).actual(20, &12);
        assert_eq!(
            error.unwrap_err(),
            "out: in cycle 20 12 arrived before 10: a message is lost or they are out of order"
        );
    }

    #[test]
    fn duplicates_strangers_and_missing_ones_are_told_apart() {
        let board = board(Matching::AnyOrder);
        assert_eq!(board.actual(20, &10), Ok(()));
        let again = board.actual(21, &10).unwrap_err();
        assert!(again.ends_with("it is a duplicate"), "{again}");
        let stranger = board.actual(21, &99).unwrap_err();
        assert!(stranger.contains("was never sent"), "{stranger}");
        assert!(
            board
                .finish()
                .unwrap_err()
                .contains("3 messages never arrived")
        );
    }

    #[test]
    fn latency_is_bounded_on_both_sides() {
        let board = board(Matching::InOrder).latency(2..=5);
        let early = board.actual(11, &10).unwrap_err();
        assert!(
            early.ends_with("after 1 cycles, expected 2 to 5"),
            "{early}"
        );
        assert_eq!(board.actual(13, &11), Ok(()));
        assert!(board.actual(18, &12).is_err());
    }
}
