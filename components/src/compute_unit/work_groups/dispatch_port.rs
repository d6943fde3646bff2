//! The port to the work-group scheduler, with the completions that wait for it.

use std::collections::VecDeque;

use warpweave_framework::{Context, Ports, State, Waits};

use crate::launch::{Completion, Dispatch, DispatchSlave};

/// Dispatches that come and completions that leave.
#[derive(Ports, State)]
pub(crate) struct DispatchPort {
    #[port(rename = "dispatch")]
    port: DispatchSlave,
    completions: VecDeque<Completion>,
}

impl DispatchPort {
    /// For a unit of so many work-group slots.
    pub(crate) fn new(slots: u32) -> Self {
        Self {
            port: DispatchSlave::default(),
            completions: VecDeque::with_capacity(slots as usize + 1),
        }
    }

    /// The oldest dispatch, left where it is.
    #[inline]
    pub(crate) fn peek<'c>(&'c self, ctx: &'c Context<'_>) -> Option<&'c Dispatch> {
        self.port.dispatch.peek(ctx)
    }

    pub(crate) fn pop(&mut self, ctx: &mut Context<'_>) -> Option<Dispatch> {
        self.port.dispatch.pop(ctx)
    }

    /// Queues a completion.
    pub(crate) fn complete(&mut self, completion: Completion) {
        self.completions.push_back(completion);
    }

    /// Returns true if a completion waits.
    #[inline]
    pub(crate) fn has_completions(&self) -> bool {
        !self.completions.is_empty()
    }

    /// Sends completions while the port has room.
    pub(crate) fn send_completions(&mut self, ctx: &mut Context<'_>) {
        while let Some(&completion) = self.completions.front() {
            if self.port.completion.try_send(ctx, completion).is_err() {
                return;
            }
            self.completions.pop_front();
        }
    }

    pub(crate) fn waits(&self, waits: &mut Waits<'_>) {
        if !self.completions.is_empty() {
            waits.inside(format!(
                "{} completions wait to be sent",
                self.completions.len()
            ));
        }
    }
}
