//! Compute unit model without instructions, for scheduler tests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use warpweave_random::nth;

use super::*;
use crate::launch::DispatchSlave;

pub(super) type Log = Arc<Mutex<Vec<(Cycle, u32, Dispatch)>>>;

/// Returns the cycles that a work-group runs, from its number and a random number.
pub(super) type Duration = Box<dyn Fn(u32, u64) -> Cycle + Send + Sync>;

/// Returns durations of up to 23 cycles for any work-group.
pub(super) fn short() -> Duration {
    Box::new(|_, random| 1 + random % 23)
}

/// Compute unit that runs work-groups for pseudo-random times and checks that the scheduler
/// respects its limits.
#[derive(Ports, State, Statistics)]
pub(super) struct FakeUnit {
    #[port]
    pub(super) scheduler: DispatchSlave,
    #[state(skip)]
    pub(super) number: u32,
    #[state(skip)]
    pub(super) seed: u64,
    #[state(skip)]
    pub(super) duration: Duration,
    #[state(skip)]
    pub(super) shapes: Vec<KernelShape>,
    #[state(skip)]
    pub(super) limits: UnitLimits,
    #[state(array)]
    pub(super) slots: Vec<Option<KernelShape>>,
    /// Completions by time; the heap returns the largest first, so times are reversed.
    pub(super) due: BinaryHeap<(Reverse<Cycle>, Reverse<u64>, [u32; 4])>,
    pub(super) received: u64,
    #[state(skip)]
    pub(super) log: Log,
}

const INVALIDATED: u32 = u32::MAX;

impl FakeUnit {
    fn receive(&mut self, cycle: Cycle, dispatch: Dispatch) {
        self.received += 1;
        self.log.lock().push((cycle, self.number, dispatch));
        let answer = match dispatch {
            Dispatch::Start {
                kernel,
                work_group,
                slot,
                ..
            } => {
                let place = &mut self.slots[usize::from(slot)];
                assert!(place.is_none(), "slot {slot} is taken");
                *place = Some(self.shapes[kernel as usize]);
                [kernel, work_group, u32::from(slot), 0]
            }
            Dispatch::Invalidate { kernel, .. } => [kernel, 0, INVALIDATED, 0],
            Dispatch::ParentEnded { .. } | Dispatch::WorkGroupFamilyEnded { .. } => return,
        };
        let resident = || self.slots.iter().flatten();
        assert!(resident().map(|s| s.1).sum::<u32>() <= self.limits.wavefront_slots);
        assert!(resident().map(|s| s.3).sum::<u32>() <= self.limits.local_memory_bytes);
        let registers = |s: &KernelShape| u64::from(s.1) * self.limits.registers_per_wavefront(s.2);
        assert!(resident().map(registers).sum::<u64>() <= u64::from(self.limits.registers));
        let count = u64::from(self.number) << 32 | self.received;
        let at = cycle + (self.duration)(answer[1], nth(self.seed, count));
        self.due.push((Reverse(at), Reverse(self.received), answer));
    }
}

impl Component for FakeUnit {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        while let Some(dispatch) = self.scheduler.dispatch.pop(ctx) {
            self.receive(ctx.cycle(), dispatch);
        }
        while let Some(&(Reverse(at), _, [kernel, work_group, slot, _])) = self.due.peek() {
            if at > ctx.cycle() {
                return Next::Until(at);
            }
            let answer = if slot == INVALIDATED {
                Completion::Invalidated { kernel }
            } else {
                Completion::WorkGroup {
                    kernel,
                    work_group,
                    slot: slot as u16,
                }
            };
            if self.scheduler.completion.try_send(ctx, answer).is_err() {
                return Next::Credit;
            }
            if slot != INVALIDATED {
                self.slots[slot as usize] = None;
            }
            self.due.pop();
        }
        Next::Message
    }
}
