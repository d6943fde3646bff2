//! Recording receivers of a test bench.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use warpweave_random::nth;

use crate::channel::{Bundle, InPort, Message, Ports};
use crate::component::Component;
use crate::evaluation::{Context, Next};
use crate::observe::Instrumented;
use crate::state::{State, Stateful};
use crate::time::Cycle;

struct Record<T> {
    received: VecDeque<(Cycle, T)>,
    count: u64,
    stalled_until: Cycle,
    /// Seed, and number of cycles out of 16 in which no message is taken.
    random_stall: Option<(u64, u32)>,
}

impl<T> Record<T> {
    fn new() -> Self {
        Self {
            received: VecDeque::new(),
            count: 0,
            stalled_until: 0,
            random_stall: None,
        }
    }

    fn stalls(&self, cycle: Cycle) -> bool {
        cycle < self.stalled_until
            || self
                .random_stall
                .is_some_and(|(seed, sixteenths)| nth(seed, cycle) & 15 < u64::from(sixteenths))
    }
}

/// Handle of a recording receiver in a test bench.
#[derive(Clone)]
pub struct Sink<T> {
    record: Arc<Mutex<Record<T>>>,
}

impl<T: Message + Clone> Sink<T> {
    /// Creates a receiver, and its component with port `input`.
    pub(super) fn new() -> (Self, impl Component) {
        let record = Arc::new(Mutex::new(Record::new()));
        let receiver = Receiver {
            record: Arc::clone(&record),
            input: InPort::new(),
        };
        (Self { record }, receiver)
    }
}

impl<T: Clone> Sink<T> {
    /// Takes the oldest unread message, with the cycle in which it left the device.
    pub fn take(&self) -> Option<(Cycle, T)> {
        self.record.lock().received.pop_front()
    }

    /// Takes all messages not read yet.
    pub fn take_all(&self) -> Vec<(Cycle, T)> {
        self.record.lock().received.drain(..).collect()
    }

    /// Returns the total number of messages received.
    pub fn count(&self) -> u64 {
        self.record.lock().count
    }

    /// Accepts nothing before `cycle` (of the receiver, one after the device's).
    pub fn stall_until(&self, cycle: Cycle) {
        self.record.lock().stalled_until = cycle;
    }

    /// Accepts nothing in about `sixteenths`/16 (at most 15) of all cycles, chosen by `seed`.
    pub fn stall_randomly(&self, seed: u64, sixteenths: u32) {
        self.record.lock().random_stall = Some((seed, sixteenths.min(15)));
    }
}

struct Receiver<T> {
    record: Arc<Mutex<Record<T>>>,
    input: InPort<T>,
}

impl<T: Message + Clone> Bundle for Receiver<T> {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
    }
}

impl<T: Message + Clone> Component for Receiver<T> {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let mut record = self.record.lock();
        if self.input.peek(ctx).is_none() {
            return Next::Message;
        }
        if record.stalls(ctx.cycle()) {
            let mut open = ctx.cycle() + 1;
            while record.stalls(open) {
                open += 1;
            }
            return Next::Until(open);
        }
        while let Some(message) = self.input.pop(ctx) {
            record.received.push_back((ctx.cycle() - 1, message));
            record.count += 1;
        }
        Next::Message
    }
}

impl<T: Message + Clone> Stateful for Receiver<T> {
    fn state(&mut self, state: &mut State<'_>) {
        let mut record = self.record.lock();
        state.field("received", &mut record.received);
        state.field("count", &mut record.count);
        state.field("stalled_until", &mut record.stalled_until);
        state.field("random_stall", &mut record.random_stall);
    }
}

impl<T: Message + Clone> Instrumented for Receiver<T> {}
