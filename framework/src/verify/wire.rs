//! Checker for channels, which must deliver messages once, unchanged, in order, in time, and within
//! their capacity.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::channel::{Message, Tap, Transit};
use crate::engine::{ChannelInfo, Simulation, TapError};
use crate::evaluation::{Context, Target};
use crate::time::{Cycle, Tick};
use crate::verify::scoreboard::{Matching, Scoreboard};
use crate::verify::violation::Check;

/// Checks the channel that begins at output `from` at its two ends. Every message must arrive once,
/// unchanged, in order, and no earlier than the latency permits. The channel must never hold more
/// than its capacity. Returns the checker; a violation ends the run.
///
/// Taps attached to these ports afterwards are between the two ends.
///
/// # Errors
/// Returns an error if the port cannot be tapped.
pub fn check_wire<T: Message + Clone + PartialEq + Debug>(
    simulation: &mut Simulation,
    from: &str,
) -> Result<Arc<dyn Check>, TapError> {
    let terms = Terms::of(simulation, from)?;
    let name = format!("{from} -> {}", terms.to);
    let board = Scoreboard::new(&name, Matching::InOrder).latency(terms.latency..=Cycle::MAX);
    let to = terms.to.clone();
    let state = Arc::new(State {
        name,
        board,
        terms,
        credits: Mutex::default(),
    });
    simulation.tap::<T>(from, End(Arc::clone(&state)))?;
    simulation.tap::<T>(&to, End(Arc::clone(&state)))?;
    Ok(Arc::new(Wire(state)))
}

struct Terms {
    to: String,
    /// Latency in cycles of the sender.
    latency: Cycle,
    /// Credit latency of the channel in ticks.
    credit: u64,
    sender_period: u64,
    capacity: u64,
}

impl Terms {
    fn of(simulation: &mut Simulation, from: &str) -> Result<Self, TapError> {
        let Some((number, at)) = simulation.find_instance_of(from) else {
            return Err(simulation.no_such_port(from));
        };
        let begins = |c: &&ChannelInfo| c.from.0 as usize == number && *c.from.1 == from[at..];
        let Some(channel) = simulation.channels.iter().find(begins) else {
            return Err(simulation.no_such_port(from));
        };
        let link = &channel.link;
        let receiver = &simulation.instances[channel.to.0 as usize];
        let period = |target: Target| simulation.time().period(target.domain as usize);
        Ok(Self {
            to: format!("{}.{}", receiver.path, channel.to.1),
            latency: link.latency.into(),
            credit: u64::from(link.credit_latency) * period(receiver.place.target),
            sender_period: period(simulation.instances[number].place.target),
            capacity: link
                .capacity
                .unwrap_or_else(|| link.full_rate_capacity())
                .into(),
        })
    }
}

struct State<T> {
    name: String,
    board: Scoreboard<T>,
    terms: Terms,
    credits: Mutex<Credits>,
}

impl<T> State<T> {
    /// Returns the sender's cycle at `tick`, in which latencies are counted.
    fn cycle(&self, tick: Tick) -> Cycle {
        tick.0 / self.terms.sender_period
    }
}

#[derive(Default)]
struct Credits {
    /// Number of messages sent whose credits have not returned.
    out: u64,
    /// Ticks at which credits return to the sender.
    back_at: VecDeque<u64>,
}

impl Credits {
    /// Counts a sent message and returns the number outstanding. Only returned credits are
    /// subtracted, regardless of the receiver's progress.
    fn send(&mut self, now: u64) -> u64 {
        while self.back_at.front().is_some_and(|tick| *tick <= now) {
            self.back_at.pop_front();
            self.out = self.out.saturating_sub(1);
        }
        self.out += 1;
        self.out
    }
}

struct Wire<T>(Arc<State<T>>);

impl<T: Clone + PartialEq + Debug + Send + 'static> Check for Wire<T> {
    fn seen(&self) -> u64 {
        self.0.board.seen()
    }

    fn finish(&self) -> Result<(), String> {
        self.0.board.finish()
    }
}

struct End<T>(Arc<State<T>>);

impl<T: Clone + PartialEq + Debug + Send + 'static> Tap<T> for End<T> {
    fn send(&mut self, ctx: &mut Context<'_>, transit: Transit<T>, wire: &mut Vec<Transit<T>>) {
        let state = &self.0;
        let cycle = ctx.cycle();
        let out = state.credits.lock().send(ctx.now().0);
        if out > state.terms.capacity {
            ctx.fail(format!(
                "{}: in cycle {cycle} {out} slots are in use, but the channel has only {}",
                state.name, state.terms.capacity
            ));
        }
        state
            .board
            .expect(state.cycle(ctx.now()), transit.message.clone());
        wire.push(transit);
    }

    fn take(&mut self, ctx: &mut Context<'_>, message: &mut T) {
        let state = &self.0;
        let back_at = ctx.now().0 + state.terms.credit;
        state.credits.lock().back_at.push_back(back_at);
        if let Err(problem) = state.board.actual(state.cycle(ctx.now()), message) {
            ctx.fail(problem);
        }
    }
}
