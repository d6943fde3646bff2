//! Work-group scheduler reduced to a list of free slots.

use super::*;
use crate::launch::DispatchMaster;

/// Dispatches the work-groups of kernel 0, at most a given number at a time.
#[derive(Statistics)]
pub(super) struct Dispatcher {
    pub(super) down: DispatchMaster,
    pub(super) work_groups: u32,
    pub(super) next: u32,
    pub(super) free: Vec<u16>,
    pub(super) log: Log<Completion>,
}

impl Bundle for Dispatcher {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("down", &mut self.down);
    }
}

impl Component for Dispatcher {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        while let Some(completion) = self.down.completion.pop(ctx) {
            if let Completion::WorkGroup { slot, .. } = completion {
                self.free.push(slot);
            }
            let mut log = self.log.lock();
            log.push((ctx.cycle(), completion));
        }
        while self.next < self.work_groups
            && let Some(&slot) = self.free.last()
        {
            let start = Dispatch::Start {
                kernel: 0,
                work_group: self.next,
                slot,
                hint: 0,
            };
            if self.down.dispatch.try_send(ctx, start).is_err() {
                return Next::Credit;
            }
            self.free.pop();
            self.next += 1;
        }
        Next::Message
    }
}

impl Stateful for Dispatcher {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("next", &mut self.next);
        state.field("free", &mut self.free);
        state.field("log", &mut *self.log.lock());
    }
}
