//! Barrier checks: threads that arrive, and threads that do not.
//!
//! Threads that have ended count as arrived. Lanes that are elsewhere when the others arrive may be
//! about to end; they have missed the barrier once they do something else.

use super::finding::{FindingKind, Verdict};
use super::{Case, ProgramChecker};
use crate::exec::observe::{Arrival, Step};
use crate::exec::wavefront::Wavefront;
use crate::kernel::Kernel;
use crate::ops::Op;

/// Barrier that some lanes of a wavefront have not reached with the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartialArrival {
    arrival: Arrival,
    /// Lanes that have neither ended nor missed it.
    missing: u32,
    /// Number of lanes that could arrive.
    alive: u32,
}

impl ProgramChecker {
    /// Notes the arrival of lanes; all other live lanes of the wavefront should arrive or end.
    pub(super) fn arrived(&mut self, wavefront: &Wavefront, arrival: Arrival) {
        let (group, index) = (wavefront.group, wavefront.index);
        if let Some(wave) = self.launch.waves.get_mut(&(group, index)) {
            let missing = wave.alive & !arrival.mask;
            let partial = &mut wave.partial_arrivals;
            partial.retain(|known| known.arrival.pc != arrival.pc);
            if missing != 0 {
                partial.push(PartialArrival {
                    arrival,
                    missing,
                    alive: wave.alive.count_ones(),
                });
            }
        }
        let arrivals = self.launch.arrivals.entry((group, arrival.number));
        arrivals.or_default().push((index, arrival));
        let clocks = &mut self.launch.clocks;
        clocks.arrive(group, index, arrival.number, arrival.waits);
    }

    /// Reports barriers that lanes have missed, by what they do instead.
    pub(super) fn missed_barriers(&mut self, step: &Step<'_>) {
        let place = (step.wavefront.group, step.wavefront.index);
        let Some(wave) = self.launch.waves.get_mut(&place) else {
            return;
        };
        if wave.partial_arrivals.is_empty() {
            return;
        }
        let ends = match step.kernel.ops[step.pc as usize].op {
            Op::Exit => true,
            Op::Store(_)
            | Op::Atomic(_)
            | Op::AtomicVector { .. }
            | Op::Barrier(_)
            | Op::Call(_)
            | Op::CallIndirect(_)
            | Op::External(_) => false,
            _ => return,
        };
        let mut missed = Vec::new();
        wave.partial_arrivals.retain_mut(|partial| {
            if ends {
                partial.missing &= !step.mask;
            } else if partial.missing & step.mask != 0 {
                missed.push(*partial);
                return false;
            }
            partial.missing != 0
        });
        for partial in missed {
            self.missed_barrier(step.kernel, place, partial);
        }
    }

    fn missed_barrier(
        &mut self,
        kernel: &Kernel,
        (group, index): (u32, u32),
        partial: PartialArrival,
    ) {
        let arrival = partial.arrival;
        let opcode = &kernel.code().instructions[arrival.pc as usize].opcode;
        // `barrier` without `.aligned` may be reached by parts of a wavefront one after another.
        let is_aligned = opcode.starts_with("bar.") || opcode.contains(".aligned");
        let verdict = if is_aligned {
            Verdict::Error
        } else {
            Verdict::Undecided
        };
        let at = (group, index * 32 + partial.missing.trailing_zeros());
        let case = Case::new(FindingKind::PartialBarrier, verdict, arrival.pc, at);
        let (came, lanes) = (arrival.mask.count_ones(), partial.alive);
        self.report(kernel, case, || {
            format!(
                "barrier {} is reached by {came} of the {lanes} threads of wavefront {index}; this thread is the first that does not reach it",
                arrival.number
            )
        });
    }

    /// Orders those that waited at barriers, which have opened, after those that arrived.
    pub(super) fn released(&mut self, group: u32, barriers: u32) {
        for number in (0..16).filter(|number| barriers >> number & 1 != 0) {
            self.launch.clocks.release(group, number);
            self.launch.arrivals.remove(&(group, number));
        }
    }

    /// Reports a deadlock: each closed barrier has been reached by only part of the work-group.
    pub(super) fn stuck(&mut self, kernel: &Kernel) {
        let closed = std::mem::take(&mut self.launch.arrivals);
        for ((group, number), arrivals) in closed {
            let Some(&(index, first)) = arrivals.first() else {
                continue;
            };
            let came: u32 = arrivals.iter().map(|(_, a)| a.mask.count_ones()).sum();
            let at = (group, index * 32 + first.mask.trailing_zeros());
            let case = Case::new(FindingKind::PartialBarrier, Verdict::Error, first.pc, at);
            self.report(kernel, case, || {
                format!(
                    "barrier {number} never opens: {came} threads wait there, this thread first, and the others never arrive"
                )
            });
        }
    }
}
