//! Channel ports of processes: an `await` at one end, an ordinary wire at the other.
//!
//! Each port is a clocked component of its own. It takes or sends at most one message per cycle of
//! its clock, at the first edge after the process asked; the process goes on at that edge's tick.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::channel::channel_ports::{InPort, Message, OutPort};
use crate::channel::ports::Ports;
use crate::component::{Component, Next};
use crate::engine::elaboration::builder::{ClockId, SystemBuilder};
use crate::evaluation::context::Context;
use crate::world::{Plan, PortEntry, What, World};

/// Where a process receives. Wire `path.input`, with the path given to
/// [`SystemBuilder::process_input`].
pub struct ProcessInput<T> {
    world: World,
    port: u32,
    inbox: Arc<Mutex<Inbox<T>>>,
}

struct Inbox<T> {
    wanted: bool,
    arrived: Option<T>,
}

/// From where a process sends. Wire `path.output`, with the path given to
/// [`SystemBuilder::process_output`].
pub struct ProcessOutput<T> {
    world: World,
    port: u32,
    outbox: Arc<Mutex<Option<T>>>,
}

/// From where a process sends requests and gets their responses, one after the other: blocking
/// transport over wires. Wire `path.request.output` and `path.response.input`, with the path given
/// to [`SystemBuilder::process_requester`].
pub struct ProcessRequester<Q, R> {
    requests: ProcessOutput<Q>,
    responses: ProcessInput<R>,
}

impl SystemBuilder {
    /// Adds an input for processes, clocked by `clock`; its wire ends at `path.input`.
    pub fn process_input<T: Message>(
        &mut self,
        path: impl Into<String>,
        clock: ClockId,
    ) -> ProcessInput<T> {
        let path = path.into();
        let port = self.process_port(format!("{path}.input"));
        let inbox = Arc::new(Mutex::new(Inbox {
            wanted: false,
            arrived: None,
        }));
        let component = Inlet {
            input: InPort::new(),
            inbox: Arc::clone(&inbox),
            port,
        };
        self.add(path, clock, component);
        ProcessInput {
            world: self.world(),
            port,
            inbox,
        }
    }

    /// Adds an output for processes, clocked by `clock`; its wire starts at `path.output`.
    pub fn process_output<T: Message>(
        &mut self,
        path: impl Into<String>,
        clock: ClockId,
    ) -> ProcessOutput<T> {
        let path = path.into();
        let port = self.process_port(format!("{path}.output"));
        let outbox = Arc::new(Mutex::new(None));
        let component = Outlet {
            output: OutPort::new(),
            outbox: Arc::clone(&outbox),
            port,
        };
        self.add(path, clock, component);
        ProcessOutput {
            world: self.world(),
            port,
            outbox,
        }
    }

    /// Adds an output for requests and an input for responses, both clocked by `clock`.
    pub fn process_requester<Q: Message, R: Message>(
        &mut self,
        path: impl Into<String>,
        clock: ClockId,
    ) -> ProcessRequester<Q, R> {
        let path = path.into();
        ProcessRequester {
            requests: self.process_output(format!("{path}.request"), clock),
            responses: self.process_input(format!("{path}.response"), clock),
        }
    }

    fn process_port(&mut self, name: String) -> u32 {
        let instance = self.instance_count() as u32;
        let world = self.world();
        let mut agenda = world.core.agenda.borrow_mut();
        agenda.ports.push(PortEntry {
            name,
            instance,
            waiting: None,
        });
        agenda.ports.len() as u32 - 1
    }
}

impl<T: Message> ProcessInput<T> {
    /// Waits for the next message. A message that arrived for a dropped `recv` goes to the next.
    pub async fn recv(&mut self) -> T {
        loop {
            {
                let mut inbox = self.inbox.lock();
                if let Some(message) = inbox.arrived.take() {
                    return message;
                }
                inbox.wanted = true;
            }
            self.world.wait_for(Plan::of(What::Port(self.port))).await;
        }
    }
}

impl<T: Message> ProcessOutput<T> {
    /// Sends `message` as soon as the wire takes it, and waits until it did. Dropped while it
    /// waits, the message may still be sent.
    pub async fn send(&mut self, message: T) {
        // A send that was dropped before the wire took its message goes first.
        self.drain().await;
        *self.outbox.lock() = Some(message);
        self.drain().await;
    }

    async fn drain(&self) {
        while self.outbox.lock().is_some() {
            self.world.wait_for(Plan::of(What::Port(self.port))).await;
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

impl<T: Message> Component for Inlet<T> {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
    }

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

struct Outlet<T> {
    output: OutPort<T>,
    outbox: Arc<Mutex<Option<T>>>,
    port: u32,
}

impl<T: Message> Component for Outlet<T> {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
    }

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
