//! Scripted senders of a test bench.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::channel::{Bundle, Message, OutPort, Ports};
use crate::component::Component;
use crate::evaluation::{Context, Next};
use crate::observe::Instrumented;
use crate::state::{State, Stateful};
use crate::time::Cycle;

type Script<T> = Arc<Mutex<VecDeque<(Option<Cycle>, T)>>>;

/// Handle of a scripted sender in a test bench.
#[derive(Clone)]
pub struct Source<T> {
    script: Script<T>,
}

impl<T: Message + Clone> Source<T> {
    /// Creates a sender, and its component with port `output`.
    pub(super) fn new() -> (Self, impl Component) {
        let script = Script::default();
        let sender = Sender {
            script: Arc::clone(&script),
            output: OutPort::new(),
        };
        (Self { script }, sender)
    }
}

impl<T> Source<T> {
    /// Sends `message` once the previous ones are sent and there is room.
    pub fn send(&self, message: T) {
        self.script.lock().push_back((None, message));
    }

    /// Sends `message` so that the device can read it in `cycle` (at least 1), or later if there is
    /// no room.
    pub fn send_at(&self, cycle: Cycle, message: T) {
        self.script.lock().push_back((Some(cycle), message));
    }

    /// Returns the number of messages not sent yet.
    pub fn pending(&self) -> usize {
        self.script.lock().len()
    }
}

struct Sender<T> {
    script: Script<T>,
    output: OutPort<T>,
}

impl<T: Message + Clone> Bundle for Sender<T> {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
    }
}

impl<T: Message + Clone> Component for Sender<T> {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let mut script = self.script.lock();
        loop {
            match script.front() {
                None => return Next::Idle,
                Some((Some(at), _)) if *at > ctx.cycle() + 1 => return Next::Until(*at - 1),
                Some(_) if !self.output.can_send(ctx) => return Next::Credit,
                Some((_, message)) => self.output.send(ctx, message.clone()),
            }
            script.pop_front();
        }
    }
}

impl<T: Message + Clone> Stateful for Sender<T> {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("script", &mut *self.script.lock());
    }
}

impl<T: Message + Clone> Instrumented for Sender<T> {}
