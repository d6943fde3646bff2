//! Small components used by the tests of the kernel.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use warpweave_framework::{
    Bundle, Component, Context, Cycle, Frequency, InPort, Inspect, Message, Next, OutPort, Ports,
    Stateful, Statistics, SystemBuilder, Waits,
};

/// Log of events with their places, readable by the test while the component runs.
#[derive(Clone)]
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone> Log<T> {
    pub(crate) fn push(&self, entry: T) {
        self.0.lock().push(entry);
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().clone()
    }
}

pub(crate) fn ghz(n: u64) -> Frequency {
    Frequency::new(n * 1_000_000_000, 1).expect("not zero")
}

pub(crate) fn one_clock() -> (SystemBuilder, warpweave_framework::ClockId) {
    let mut builder = SystemBuilder::new();
    let clock = builder.clock("core", ghz(1));
    (builder, clock)
}

/// Sends numbers 0.. in `count` messages, each as early as the wire allows.
#[derive(Statistics)]
pub(crate) struct Flood<T = u64> {
    pub(crate) output: OutPort<T>,
    pub(crate) make: fn(u64) -> T,
    pub(crate) count: u64,
    pub(crate) sent: Log<Cycle>,
    next: u64,
}

impl<T> Flood<T> {
    pub(crate) fn of(count: u64, make: fn(u64) -> T) -> (Self, Log<Cycle>) {
        let sent = Log::default();
        let flood = Self {
            output: OutPort::default(),
            make,
            count,
            sent: sent.clone(),
            next: 0,
        };
        (flood, sent)
    }
}

impl<T: Message> Bundle for Flood<T> {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
    }
}

impl<T: Message> Component for Flood<T> {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        while self.next < self.count {
            if !self.output.can_send(ctx) {
                return Next::Credit;
            }
            self.output.send(ctx, (self.make)(self.next));
            self.sent.push(ctx.cycle());
            self.next += 1;
        }
        Next::Idle
    }
}

impl<T: Message> Stateful for Flood<T> {}

/// Takes at most one message per evaluation, in every `every`-th cycle.
#[derive(Statistics)]
pub(crate) struct Drain<T = u64> {
    pub(crate) input: InPort<T>,
    pub(crate) every: Cycle,
    pub(crate) received: Log<(Cycle, T)>,
}

impl<T> Drain<T> {
    pub(crate) fn every(cycles: Cycle) -> (Self, Log<(Cycle, T)>)
    where
        T: Clone,
    {
        let received = Log::default();
        let drain = Self {
            input: InPort::default(),
            every: cycles,
            received: received.clone(),
        };
        (drain, received)
    }
}

impl<T: Message + Clone> Bundle for Drain<T> {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
    }
}

impl<T: Message + Clone> Component for Drain<T> {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.input.peek(ctx).is_none() {
            return Next::Message;
        }
        let cycle = ctx.cycle();
        if cycle.is_multiple_of(self.every)
            && let Some(message) = self.input.pop(ctx)
        {
            self.received.push((cycle, message));
        }
        if self.input.peek(ctx).is_some() {
            Next::Until((cycle / self.every + 1) * self.every)
        } else {
            Next::Message
        }
    }
}

impl<T: Message + Clone> Stateful for Drain<T> {}

/// Follows a script of return values for its evaluations, and records when it was evaluated.
#[derive(Statistics)]
pub(crate) struct Scripted {
    pub(crate) script: VecDeque<Next>,
    pub(crate) evaluated: Log<Cycle>,
    pub(crate) background: Option<Cycle>,
}

impl Scripted {
    pub(crate) fn new(script: impl IntoIterator<Item = Next>) -> (Self, Log<Cycle>) {
        let evaluated = Log::default();
        let component = Self {
            script: script.into_iter().collect(),
            evaluated: evaluated.clone(),
            background: None,
        };
        (component, evaluated)
    }
}

impl Bundle for Scripted {
    fn ports(&mut self, _ports: &mut Ports<'_>) {}
}

impl Component for Scripted {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        self.evaluated.push(ctx.cycle());
        if let Some(every) = self.background {
            ctx.wake_in_background((ctx.cycle() / every + 1) * every);
        }
        self.script.pop_front().unwrap_or(Next::Idle)
    }
}

impl Stateful for Scripted {}

/// Fills its output before it checks its input; two of them back to back deadlock.
#[derive(Default, Statistics)]
pub(crate) struct Stubborn {
    pub(crate) input: InPort<u64>,
    pub(crate) output: OutPort<u64>,
    pub(crate) to_send: u64,
}

impl Bundle for Stubborn {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.output("output", &mut self.output);
    }
}

impl Component for Stubborn {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        while self.to_send > 0 {
            if !self.output.can_send(ctx) {
                return Next::Credit;
            }
            self.output.send(ctx, self.to_send);
            self.to_send -= 1;
        }
        while self.input.pop(ctx).is_some() {}
        Next::Message
    }
}

impl Stateful for Stubborn {}

/// Takes no message and states the reason.
#[derive(Default, Statistics)]
pub(crate) struct Refuser {
    pub(crate) input: InPort<u64>,
    pub(crate) output: OutPort<u64>,
}

impl Bundle for Refuser {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.optional(|p| p.output("output", &mut self.output));
    }
}

impl Component for Refuser {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Message
    }

    fn inspection(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

impl Inspect for Refuser {
    fn waits(&self, waits: &mut Waits<'_>) {
        waits.inside("a door that never opens");
    }
}

impl Stateful for Refuser {}
