//! Channel ports of processes: an `await` at one end, an ordinary wire at the other.
//!
//! Each port is a clocked component of its own. It takes or sends at most one message per cycle of
//! its clock, at the first edge after the process's request. The process resumes at that edge's
//! tick.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::channel::{Bundle, InPort, Message, OutPort, Ports};
use crate::component::Component;
use crate::evaluation::{Context, Next};
use crate::observe::Instrumented;
use crate::state::Stateful;
use crate::world::World;
use crate::world::state::PortEntry;
use crate::world::wait::{Awaited, WaitTarget};

/// Receiving port of a process. Wire `path.input`, with the path given to
/// [`crate::SystemBuilder::process_input`].
pub struct ProcessInput<T> {
    world: World,
    port: u32,
    inbox: Arc<Mutex<Inbox<T>>>,
}

struct Inbox<T> {
    wanted: bool,
    arrived: Option<T>,
}

/// Sending port of a process. Wire `path.output`, with the path given to
/// [`crate::SystemBuilder::process_output`].
pub struct ProcessOutput<T> {
    world: World,
    port: u32,
    outbox: Arc<Mutex<Option<T>>>,
}

/// Port from which a process sends requests and receives their responses, one at a time: blocking
/// transport over wires. Wire `path.request.output` and `path.response.input`, with the path given
/// to [`crate::SystemBuilder::process_requester`].
pub struct ProcessRequester<Q, R> {
    requests: ProcessOutput<Q>,
    responses: ProcessInput<R>,
}

impl World {
    /// Creates an input for processes and its component, which becomes instance number `instance`
    /// at `path`.
    pub(crate) fn process_input<T: Message>(
        &self,
        path: &str,
        instance: usize,
    ) -> (ProcessInput<T>, impl Component + use<T>) {
        let port = self.add_port(format!("{path}.input"), instance);
        let inbox = Arc::new(Mutex::new(Inbox {
            wanted: false,
            arrived: None,
        }));
        let component = Inlet {
            input: InPort::new(),
            inbox: Arc::clone(&inbox),
            port,
        };
        let world = self.clone();
        (ProcessInput { world, port, inbox }, component)
    }

    /// Creates an output for processes and its component, which becomes instance number `instance`
    /// at `path`.
    pub(crate) fn process_output<T: Message>(
        &self,
        path: &str,
        instance: usize,
    ) -> (ProcessOutput<T>, impl Component + use<T>) {
        let port = self.add_port(format!("{path}.output"), instance);
        let outbox = Arc::new(Mutex::new(None));
        let component = Outlet {
            output: OutPort::new(),
            outbox: Arc::clone(&outbox),
            port,
        };
        let world = self.clone();
        let output = ProcessOutput {
            world,
            port,
            outbox,
        };
        (output, component)
    }

    fn add_port(&self, name: String, instance: usize) -> u32 {
        let mut state = self.core.world.borrow_mut();
        state.ports.entries.push(PortEntry {
            name,
            instance: instance as u32,
            waiting: None,
        });
        state.ports.entries.len() as u32 - 1
    }
}

impl<Q, R> ProcessRequester<Q, R> {
    pub(crate) fn new(requests: ProcessOutput<Q>, responses: ProcessInput<R>) -> Self {
        Self {
            requests,
            responses,
        }
    }
}

impl<T: Message> ProcessInput<T> {
    /// Waits for the next message. A message that arrived for a dropped `recv` is returned by the
    /// next call.
    pub async fn recv(&mut self) -> T {
        loop {
            {
                let mut inbox = self.inbox.lock();
                if let Some(message) = inbox.arrived.take() {
                    return message;
                }
                inbox.wanted = true;
            }
            self.world
                .wait_for(Awaited::of(WaitTarget::Port(self.port)))
                .await;
        }
    }
}

impl<T: Message> ProcessOutput<T> {
    /// Sends `message` once the wire accepts it, and waits until then. If the future is dropped
    /// while waiting, the message may still be sent.
    pub async fn send(&mut self, message: T) {
        // A send that was dropped before the wire took its message goes first.
        self.drain().await;
        *self.outbox.lock() = Some(message);
        self.drain().await;
    }

    async fn drain(&self) {
        while self.outbox.lock().is_some() {
            self.world
                .wait_for(Awaited::of(WaitTarget::Port(self.port)))
                .await;
        }
    }
}

impl<Q: Message, R: Message> ProcessRequester<Q, R> {
    /// Sends `request` and waits for its response.
    pub async fn call(&mut self, request: Q) -> R {
        self.requests.send(request).await;
        self.responses.recv().await
    }
}

struct Inlet<T> {
    input: InPort<T>,
    inbox: Arc<Mutex<Inbox<T>>>,
    port: u32,
}

impl<T: Message> Bundle for Inlet<T> {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
    }
}

impl<T: Message> Component for Inlet<T> {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let mut inbox = self.inbox.lock();
        if inbox.wanted
            && let Some(message) = self.input.pop(ctx)
        {
            inbox.wanted = false;
            inbox.arrived = Some(message);
            ctx.end_process_wait(self.port);
        }
        Next::Message
    }
}

impl<T: Message> Stateful for Inlet<T> {}

impl<T: Message> Instrumented for Inlet<T> {}

struct Outlet<T> {
    output: OutPort<T>,
    outbox: Arc<Mutex<Option<T>>>,
    port: u32,
}

impl<T: Message> Bundle for Outlet<T> {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
    }
}

impl<T: Message> Component for Outlet<T> {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let mut outbox = self.outbox.lock();
        if outbox.is_none() {
            return Next::Idle;
        }
        if !self.output.can_send(ctx) {
            return Next::Credit;
        }
        if let Some(message) = outbox.take() {
            self.output.send(ctx, message);
            ctx.end_process_wait(self.port);
        }
        Next::Idle
    }
}

impl<T: Message> Stateful for Outlet<T> {}

impl<T: Message> Instrumented for Outlet<T> {}
