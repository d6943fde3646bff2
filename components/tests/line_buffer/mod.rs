//! Single-line buffer, either correct or with one deliberate bug.

use serde::{Deserialize, Serialize};
use warpweave_components::launch::{CacheCommandDone, CacheControlSlave};
use warpweave_components::memory::{
    Level, MemMaster, MemRequest, MemResponse, MemSlave, RequestKind,
};
use warpweave_framework::{Bundle, Component, Context, Next, Ports, State, Stateful, Statistics};

/// Bug to inject into the line buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    None,
    /// Keeps the line when it is written.
    KeepsWritten,
    /// Keeps the line when a kernel ends.
    KeepsAtKernelEnd,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Held {
    line: u64,
    words: u32,
    write_sequence: u32,
}

/// Buffers the line read last. Handles one request at a time.
#[derive(Statistics)]
pub(crate) struct LineBuffer {
    up: MemSlave,
    down: MemMaster,
    control: CacheControlSlave,
    bug: Bug,
    held: Option<Held>,
    is_open: bool,
    answer: Option<MemResponse>,
}

impl LineBuffer {
    pub(crate) fn new(bug: Bug) -> Self {
        Self {
            up: MemSlave::default(),
            down: MemMaster::default(),
            control: CacheControlSlave::default(),
            bug,
            held: None,
            is_open: false,
            answer: None,
        }
    }

    fn finds(&self, request: &MemRequest) -> Option<Held> {
        let held = self.held.filter(|_| request.kind == RequestKind::Read)?;
        let has = held.line == request.line && request.words & !held.words == 0;
        has.then_some(held)
    }

    /// Handles a command or accepts a request. Returns true if it did either.
    fn take(&mut self, ctx: &mut Context<'_>) -> bool {
        if self.is_commanded(ctx) && self.control.done.can_send(ctx) {
            self.control.command.pop(ctx);
            self.control.done.send(ctx, CacheCommandDone);
            if self.bug != Bug::KeepsAtKernelEnd {
                self.held = None;
            }
            return true;
        }
        let Some(&request) = self.up.request.peek(ctx) else {
            return false;
        };
        if let Some(held) = self.finds(&request) {
            self.up.request.pop(ctx);
            self.answer = Some(MemResponse {
                write_sequence: held.write_sequence,
                ..request.answer(Level::L1)
            });
            return true;
        }
        if !self.down.request.can_send(ctx) {
            return false;
        }
        self.up.request.pop(ctx);
        self.down.request.send(ctx, request);
        self.is_open = true;
        let written = self.held.is_some_and(|held| held.line == request.line);
        if written && request.kind == RequestKind::Write && self.bug != Bug::KeepsWritten {
            self.held = None;
        }
        true
    }

    fn is_commanded(&self, ctx: &Context<'_>) -> bool {
        self.control.command.is_connected() && self.control.command.peek(ctx).is_some()
    }
}

impl Bundle for LineBuffer {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("up", &mut self.up);
        ports.bundle("down", &mut self.down);
        ports.optional(|ports| ports.bundle("control", &mut self.control));
    }
}

impl Component for LineBuffer {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.is_open
            && let Some(response) = self.down.response.pop(ctx)
        {
            self.is_open = false;
            self.answer = Some(response);
            if response.kind == RequestKind::Read {
                self.held = Some(Held {
                    line: response.line,
                    words: response.words,
                    write_sequence: response.write_sequence,
                });
            }
        }
        let is_free = !self.is_open && self.answer.is_none();
        let took = is_free && self.take(ctx);
        if let Some(answer) = self.answer
            && self.up.response.try_send(ctx, answer).is_ok()
        {
            self.answer = None;
        }
        let waits = self.up.request.peek(ctx).is_some() || self.is_commanded(ctx);
        match (&self.answer, self.is_open, waits) {
            (None, true, _) | (None, false, false) => Next::Message,
            (None, false, true) if took || !is_free => Next::Busy,
            (Some(_), ..) | (None, false, true) => Next::Credit,
        }
    }
}

impl Stateful for LineBuffer {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("held", &mut self.held);
        state.field("is_open", &mut self.is_open);
        state.field("answer", &mut self.answer);
    }
}
