//! Checkers for a device's inputs: the number of messages it holds, and the fairness of service.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::channel::{Message, Tap, Transit};
use crate::engine::{Simulation, TapError};
use crate::evaluation::Context;
use crate::verify::violation::Check;

/// Checks that a device holds at most `most` messages: those taken at `inputs` minus those sent at
/// `outputs`, one output message for one input message. A violation ends the run.
///
/// # Errors
/// Returns an error if a port cannot be tapped.
pub fn check_occupancy<I: Message, O: Message>(
    simulation: &mut Simulation,
    inputs: &[&str],
    outputs: &[&str],
    most: u64,
) -> Result<Arc<dyn Check>, TapError> {
    let state = Arc::new(Mutex::new(Held {
        name: inputs.join(" + "),
        held: 0,
        most,
        seen: 0,
    }));
    for input in inputs {
        simulation.tap::<I>(input, Holder(Arc::clone(&state)))?;
    }
    for output in outputs {
        simulation.tap::<O>(output, Holder(Arc::clone(&state)))?;
    }
    Ok(Arc::new(HeldCheck(state)))
}

struct Held {
    name: String,
    held: u64,
    most: u64,
    seen: u64,
}

struct HeldCheck(Arc<Mutex<Held>>);

impl Check for HeldCheck {
    fn seen(&self) -> u64 {
        self.0.lock().seen
    }

    fn finish(&self) -> Result<(), String> {
        let Held { name, held, .. } = &*self.0.lock();
        match held {
            0 => Ok(()),
            held => Err(format!("{name}: the device still holds {held} messages")),
        }
    }
}

struct Holder(Arc<Mutex<Held>>);

impl<T> Tap<T> for Holder {
    fn take(&mut self, ctx: &mut Context<'_>, _: &mut T) {
        let mut state = self.0.lock();
        state.seen += 1;
        state.held += 1;
        if state.held > state.most {
            ctx.fail(format!(
                "{}: in cycle {} the device holds {} messages, but has room for only {}",
                state.name,
                ctx.cycle(),
                state.held,
                state.most
            ));
        }
    }

    fn send(&mut self, _: &mut Context<'_>, transit: Transit<T>, wire: &mut Vec<Transit<T>>) {
        let mut state = self.0.lock();
        state.held = state.held.saturating_sub(1);
        wire.push(transit);
    }
}

/// Checks that a device never takes more than `passed_over` messages of other inputs while a
/// message waits at one input. `pairs` holds each input with the output at the other end of its
/// wire, as (sender, input). A violation ends the run.
///
/// # Errors
/// Returns an error if a port cannot be tapped.
pub fn check_fairness<T: Message>(
    simulation: &mut Simulation,
    pairs: &[(&str, &str)],
    passed_over: u64,
) -> Result<Arc<dyn Check>, TapError> {
    let queue = |(_, input): &(&str, &str)| Queue {
        input: (*input).to_owned(),
        waiting: VecDeque::new(),
        passed_over: 0,
    };
    let state = Arc::new(Mutex::new(Line {
        queues: pairs.iter().map(queue).collect(),
        passed_over,
        seen: 0,
    }));
    for (number, (sender, input)) in pairs.iter().enumerate() {
        let tap = || InLine {
            number,
            state: Arc::clone(&state),
        };
        simulation.tap::<T>(sender, tap())?;
        simulation.tap::<T>(input, tap())?;
    }
    Ok(Arc::new(LineCheck(state)))
}

struct Queue {
    input: String,
    /// Ticks at which the waiting messages were sent.
    waiting: VecDeque<u64>,
    passed_over: u64,
}

struct Line {
    queues: Vec<Queue>,
    passed_over: u64,
    seen: u64,
}

struct LineCheck(Arc<Mutex<Line>>);

impl Check for LineCheck {
    fn seen(&self) -> u64 {
        self.0.lock().seen
    }

    fn finish(&self) -> Result<(), String> {
        Ok(())
    }
}

struct InLine {
    number: usize,
    state: Arc<Mutex<Line>>,
}

impl<T> Tap<T> for InLine {
    fn send(&mut self, ctx: &mut Context<'_>, transit: Transit<T>, wire: &mut Vec<Transit<T>>) {
        let mut state = self.state.lock();
        state.queues[self.number].waiting.push_back(ctx.now().0);
        wire.push(transit);
    }

    fn take(&mut self, ctx: &mut Context<'_>, _: &mut T) {
        let state = &mut *self.state.lock();
        state.seen += 1;
        let served = &mut state.queues[self.number];
        let taken = served.waiting.pop_front().unwrap_or(0);
        served.passed_over = 0;
        let by = served.input.clone();
        for (number, queue) in state.queues.iter_mut().enumerate() {
            // One that was sent after the message served has no older claim.
            let older = queue.waiting.front().is_some_and(|sent| *sent <= taken);
            if number == self.number || !older {
                continue;
            }
            queue.passed_over += 1;
            if queue.passed_over > state.passed_over {
                ctx.fail(format!(
                    "{}: in cycle {} a waiting message has been passed over {} times, most recently by {by}",
                    queue.input,
                    ctx.cycle(),
                    queue.passed_over
                ));
            }
        }
    }
}
