//! Small correct devices, and variants of them with one bug each.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use warpweave_framework::verify::Exchange;
use warpweave_framework::{
    Bundle, Component, Context, Cycle, InPort, Instrumented, Message, Next, OutPort, Ports, State,
    Stateful, Statistics,
};

/// Seeded bug that a [`Buffer`] may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    None,
    /// Drops a message for which there was no room.
    Loses,
    /// Fails to remove every fourth message after sending it.
    Duplicates,
    /// Sends the youngest message instead of the oldest.
    Reorders,
    /// Flips a bit of a message whose bit 4 is set.
    Corrupts,
    /// Loses one slot whenever its queue was full.
    LeaksSlots,
    /// Reports a wait for a message while a message inside waits for its time.
    Oversleeps,
    /// Always requests evaluation in the next cycle.
    IdlesBusily,
    /// Takes one message more than its capacity.
    Overfills,
    /// Does not restart the delay for the message behind another one.
    Hurries,
    /// Has a state that counts its evaluations.
    CountsEvaluations,
}

/// Holds up to `depth` messages, each for at least `delay` cycles.
pub(crate) struct Buffer {
    pub(crate) input: InPort<u64>,
    pub(crate) output: OutPort<u64>,
    queue: VecDeque<(Cycle, u64)>,
    depth: usize,
    delay: Cycle,
    passed: u64,
    bug: Bug,
}

impl Buffer {
    pub(crate) fn new(depth: usize, delay: Cycle, bug: Bug) -> Self {
        Self {
            input: InPort::new(),
            output: OutPort::new(),
            queue: VecDeque::new(),
            depth,
            delay,
            passed: 0,
            bug,
        }
    }

    fn fill(&mut self, ctx: &mut Context<'_>) {
        let depth = self.depth + usize::from(self.bug == Bug::Overfills);
        while self.queue.len() < depth
            && let Some(message) = self.input.pop(ctx)
        {
            let kept = if self.bug == Bug::Corrupts {
                message ^ (message & 16) << 4
            } else {
                message
            };
            let behind = !self.queue.is_empty() && self.bug == Bug::Hurries;
            let delay = if behind { 0 } else { self.delay };
            self.queue.push_back((ctx.cycle() + delay, kept));
            if self.bug == Bug::LeaksSlots && self.queue.len() == self.depth {
                self.depth -= 1;
            }
        }
    }

    fn next(&mut self) -> Option<(Cycle, u64)> {
        match self.bug {
            Bug::Reorders => self.queue.back().copied(),
            _ => self.queue.front().copied(),
        }
    }

    fn remove(&mut self) {
        match self.bug {
            Bug::Reorders => self.queue.pop_back(),
            Bug::Duplicates if self.passed.is_multiple_of(4) => None,
            _ => self.queue.pop_front(),
        };
    }
}

impl Bundle for Buffer {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.output("output", &mut self.output);
    }
}

impl Component for Buffer {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.bug == Bug::CountsEvaluations {
            self.passed += 1;
        }
        loop {
            self.fill(ctx);
            let Some((due, message)) = self.next() else {
                return match self.bug {
                    Bug::IdlesBusily => Next::Busy,
                    _ => Next::Message,
                };
            };
            if due > ctx.cycle() {
                return match self.bug {
                    Bug::Oversleeps => Next::Message,
                    _ => Next::Until(due),
                };
            }
            if !self.output.can_send(ctx) {
                if self.bug == Bug::Loses {
                    self.remove();
                }
                return Next::Credit;
            }
            self.output.send(ctx, message);
            self.passed += 1;
            self.remove();
        }
    }
}

impl Stateful for Buffer {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("queue", &mut self.queue);
        state.field("passed", &mut self.passed);
    }
}

impl Instrumented for Buffer {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        statistics.counter("passed", "messages", "messages passed on", self.passed);
    }
}

/// Merges two streams, fairly or not.
#[derive(Statistics)]
pub(crate) struct Arbiter {
    pub(crate) inputs: [InPort<u64>; 2],
    pub(crate) output: OutPort<u64>,
    last: usize,
    fair: bool,
}

impl Arbiter {
    pub(crate) fn new(fair: bool) -> Self {
        Self {
            inputs: Default::default(),
            output: OutPort::new(),
            last: 1,
            fair,
        }
    }
}

impl Bundle for Arbiter {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.inputs("input", &mut self.inputs);
        ports.output("output", &mut self.output);
    }
}

impl Component for Arbiter {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let first = if self.fair { 1 - self.last } else { 0 };
        let Some(at) = [first, 1 - first]
            .into_iter()
            .find(|at| self.inputs[*at].peek(ctx).is_some())
        else {
            return Next::Message;
        };
        if !self.output.can_send(ctx) {
            return Next::Credit;
        }
        let message = self.inputs[at].pop(ctx).unwrap();
        self.output.send(ctx, message);
        self.last = at;
        let more = self.inputs.iter().any(|input| input.peek(ctx).is_some());
        if more { Next::Busy } else { Next::Message }
    }
}

impl Stateful for Arbiter {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("last", &mut self.last);
    }
}

/// Request of the test protocol, with an id and a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(crate) id: u32,
    pub(crate) number: u64,
}

/// Reply of the test protocol, with the id and the square.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) id: u32,
    pub(crate) square: u64,
}

impl Message for Ask {}
impl Message for Reply {}

impl Exchange for Ask {
    type Answer = Reply;

    fn key(&self) -> u64 {
        self.id.into()
    }

    fn key_of(answer: &Reply) -> u64 {
        answer.id.into()
    }

    fn order(&self) -> Option<u128> {
        Some(u128::from(self.number & 3))
    }

    fn fits(&self, answer: &Reply) -> Result<(), String> {
        let square = self.number * self.number;
        if answer.square == square {
            Ok(())
        } else {
            Err(format!("the square is {square}"))
        }
    }
}

/// Seeded bug that a [`Squarer`] may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SquarerBug {
    None,
    /// Never answers the request with the value 7.
    Hangs,
    /// Answers the request with the value 7 twice.
    AnswersTwice,
    /// Answers the value 7 with a wrong square.
    Miscounts,
}

/// Answers each request with the square of its value.
#[derive(Statistics)]
pub(crate) struct Squarer {
    questions: InPort<Ask>,
    replies: OutPort<Reply>,
    again: Option<Reply>,
    bug: SquarerBug,
}

impl Squarer {
    pub(crate) fn new(bug: SquarerBug) -> Self {
        Self {
            questions: InPort::new(),
            replies: OutPort::new(),
            again: None,
            bug,
        }
    }
}

impl Bundle for Squarer {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("questions", &mut self.questions);
        ports.output("replies", &mut self.replies);
    }
}

impl Component for Squarer {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        loop {
            if self.again.is_none() && self.questions.peek(ctx).is_none() {
                return Next::Message;
            }
            if !self.replies.can_send(ctx) {
                return Next::Credit;
            }
            if let Some(reply) = self.again.take() {
                self.replies.send(ctx, reply);
                continue;
            }
            let Ask { id, number } = self.questions.pop(ctx).unwrap();
            let mut reply = Reply {
                id,
                square: number * number,
            };
            match self.bug {
                SquarerBug::Hangs if number == 7 => continue,
                SquarerBug::AnswersTwice if number == 7 => self.again = Some(reply.clone()),
                SquarerBug::Miscounts if number == 7 => reply.square = 48,
                _ => {}
            }
            self.replies.send(ctx, reply);
        }
    }
}

impl Stateful for Squarer {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("again", &mut self.again);
    }
}

/// Sends requests with a limited number of tags and forwards the squares.
#[derive(Statistics)]
pub(crate) struct Asker {
    input: InPort<u64>,
    output: OutPort<u64>,
    questions: OutPort<Ask>,
    replies: InPort<Reply>,
    free: Vec<u32>,
    leaks: bool,
}

impl Asker {
    pub(crate) fn new(tags: u32, leaks: bool) -> Self {
        Self {
            input: InPort::new(),
            output: OutPort::new(),
            questions: OutPort::new(),
            replies: InPort::new(),
            free: (0..tags).collect(),
            leaks,
        }
    }
}

impl Bundle for Asker {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.output("output", &mut self.output);
        ports.output("questions", &mut self.questions);
        ports.input("replies", &mut self.replies);
    }
}

impl Component for Asker {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        while self.replies.peek(ctx).is_some() && self.output.can_send(ctx) {
            let reply = self.replies.pop(ctx).unwrap();
            self.output.send(ctx, reply.square);
            // The leak: the tag of a large square is forgotten.
            if !self.leaks || reply.square < 9 {
                self.free.push(reply.id);
            }
        }
        while !self.free.is_empty()
            && self.input.peek(ctx).is_some()
            && self.questions.can_send(ctx)
        {
            let number = self.input.pop(ctx).unwrap();
            let id = self.free.pop().unwrap();
            self.questions.send(ctx, Ask { id, number });
        }
        Next::Message
    }
}

impl Stateful for Asker {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("free", &mut self.free);
    }
}

/// Stamps messages with a number that another component changes, through shared memory without any
/// channel latency.
#[derive(Statistics)]
pub(crate) struct Stamper {
    pub(crate) input: InPort<u64>,
    pub(crate) output: OutPort<u64>,
    shared: Arc<AtomicU64>,
    writes: bool,
}

impl Stamper {
    pub(crate) fn pair() -> [Self; 2] {
        let shared = Arc::new(AtomicU64::new(0));
        [true, false].map(|writes| Self {
            input: InPort::new(),
            output: OutPort::new(),
            shared: Arc::clone(&shared),
            writes,
        })
    }
}

impl Bundle for Stamper {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.output("output", &mut self.output);
    }
}

impl Component for Stamper {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        while self.input.peek(ctx).is_some() {
            if !self.output.can_send(ctx) {
                return Next::Credit;
            }
            let message = self.input.pop(ctx).unwrap();
            if self.writes {
                self.shared.store(message, Ordering::Relaxed);
                self.output.send(ctx, message);
            } else {
                self.output.send(ctx, self.shared.load(Ordering::Relaxed));
            }
        }
        Next::Message
    }
}

impl Stateful for Stamper {}
