//! Scripted steps for a [`TestBench`]: send, expect, expect nothing and wait, in sequence or in
//! parallel.
//!
//! ```
//! # use warpweave_framework::*;
//! # use warpweave_framework::verify::script::*;
//! # #[derive(Default, Ports, State, Statistics)]
//! # struct Relay { #[port] input: InPort<u64>, #[port] output: OutPort<u64> }
//! # impl Component for Relay {
//! #     fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
//! #         while self.input.peek(ctx).is_some() && self.output.can_send(ctx) {
//! #             let message = self.input.pop(ctx).unwrap();
//! #             self.output.send(ctx, message);
//! #         }
//! #         Next::Message
//! #     }
//! # }
//! let mut bench = TestBench::new();
//! bench.add("relay", Relay::default());
//! let input = bench.source::<u64>("relay.input");
//! let output = bench.sink::<u64>("relay.output");
//! let steps = sequence([
//!     send(&input, 1),
//!     expect(&output, 1, 5),
//!     expect_nothing(&output, 10),
//!     parallel([
//!         sequence([delay(3), send(&input, 2)]),
//!         expect(&output, 2, 8),
//!     ]),
//! ]);
//! run(&mut bench, steps);
//! ```

use std::fmt::Debug;

use crate::channel::Message;
use crate::test_bench::{Sink, Source, TestBench};
use crate::time::Cycle;

/// Result of one cycle of a step: in progress or done.
enum Progress {
    Done,
    Going,
}

trait StepOutcome {
    /// Performs the step for one cycle. Called once per cycle, after it, until the step is done.
    fn act(&mut self, cycle: Cycle) -> Result<Progress, String>;
}

/// One step of a test script.
pub struct Step(Box<dyn StepOutcome>);

struct Once<F>(Option<F>);

impl<F: FnOnce()> StepOutcome for Once<F> {
    fn act(&mut self, _: Cycle) -> Result<Progress, String> {
        if let Some(action) = self.0.take() {
            action();
        }
        Ok(Progress::Done)
    }
}

/// A step that checks a condition every cycle, for a number of cycles.
struct Look<F> {
    look: F,
    cycles: Cycle,
    since: Option<Cycle>,
}

impl<F: FnMut(Cycle, bool) -> Result<Progress, String>> StepOutcome for Look<F> {
    fn act(&mut self, cycle: Cycle) -> Result<Progress, String> {
        let since = *self.since.get_or_insert(cycle);
        (self.look)(cycle, cycle - since >= self.cycles)
    }
}

fn look(
    cycles: Cycle,
    look: impl FnMut(Cycle, bool) -> Result<Progress, String> + 'static,
) -> Step {
    Step(Box::new(Look {
        look,
        cycles,
        since: None,
    }))
}

/// Creates a step that sends `message` and takes no time.
pub fn send<T: Message + Clone>(source: &Source<T>, message: T) -> Step {
    let source = source.clone();
    Step(Box::new(Once(Some(move || source.send(message)))))
}

/// Creates a step that expects `message` as the next message at `sink` within `cycles`.
pub fn expect<T: Message + Clone + PartialEq + Debug>(
    sink: &Sink<T>,
    message: T,
    cycles: Cycle,
) -> Step {
    let sink = sink.clone();
    look(cycles, move |now, last| match sink.take() {
        Some((_, got)) if got == message => Ok(Progress::Done),
        Some((cycle, got)) => Err(format!(
            "expected {message:?}, got {got:?} in cycle {cycle}"
        )),
        None if last => Err(format!(
            "expected {message:?}, but nothing arrived up to cycle {now}"
        )),
        None => Ok(Progress::Going),
    })
}

/// Creates a step that expects no message at `sink` for `cycles`.
pub fn expect_nothing<T: Message + Clone + Debug>(sink: &Sink<T>, cycles: Cycle) -> Step {
    let sink = sink.clone();
    look(cycles, move |_, last| match sink.take() {
        Some((cycle, got)) => Err(format!("expected nothing, got {got:?} in cycle {cycle}")),
        None if last => Ok(Progress::Done),
        None => Ok(Progress::Going),
    })
}

/// Creates a step that waits for `cycles` cycles.
pub fn delay(cycles: Cycle) -> Step {
    look(cycles, |_, last| {
        Ok(if last {
            Progress::Done
        } else {
            Progress::Going
        })
    })
}

struct Sequence(std::vec::IntoIter<Step>, Option<Step>);

impl StepOutcome for Sequence {
    fn act(&mut self, cycle: Cycle) -> Result<Progress, String> {
        loop {
            if self.1.is_none() {
                self.1 = self.0.next();
            }
            let Some(step) = &mut self.1 else {
                return Ok(Progress::Done);
            };
            match step.0.act(cycle)? {
                Progress::Going => return Ok(Progress::Going),
                Progress::Done => self.1 = None,
            }
        }
    }
}

/// Creates a step that runs the given steps in order.
pub fn sequence(steps: impl IntoIterator<Item = Step>) -> Step {
    let steps: Vec<_> = steps.into_iter().collect();
    Step(Box::new(Sequence(steps.into_iter(), None)))
}

struct Parallel(Vec<Step>);

impl StepOutcome for Parallel {
    fn act(&mut self, cycle: Cycle) -> Result<Progress, String> {
        let mut going = Vec::new();
        for mut step in self.0.drain(..) {
            if let Progress::Going = step.0.act(cycle)? {
                going.push(step);
            }
        }
        self.0 = going;
        Ok(if self.0.is_empty() {
            Progress::Done
        } else {
            Progress::Going
        })
    }
}

/// Creates a step that runs all steps in parallel and ends with the last.
pub fn parallel(steps: impl IntoIterator<Item = Step>) -> Step {
    Step(Box::new(Parallel(steps.into_iter().collect())))
}

/// Runs a script on a bench, cycle by cycle.
///
/// # Errors
/// Returns an error that states the message found instead of the expected one.
pub fn try_run(bench: &mut TestBench, mut script: Step) -> Result<(), String> {
    loop {
        let cycle = bench.cycle();
        if let Progress::Done = script.0.act(cycle)? {
            return Ok(());
        }
        bench.step(1);
    }
}

/// Runs a script on a bench, cycle by cycle.
///
/// # Panics
/// Panics if an expectation does not hold.
pub fn run(bench: &mut TestBench, script: Step) {
    if let Err(problem) = try_run(bench, script) {
        panic!("{problem}");
    }
}
