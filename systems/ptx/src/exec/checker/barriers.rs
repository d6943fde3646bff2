//! Barrier checks: threads that arrive, and threads that do not.
//!
//! Threads that have ended count as arrived. Lanes that are elsewhere when the others arrive may be
//! about to end; they have missed the barrier once they do something else.

use super::finding::{FindingKind, Verdict};
use super::{Case, Launch};
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

/// Finding about a barrier, with its details.
pub(super) struct BarrierMiss {
    pub(super) case: Case,
    pub(super) detail: String,
}

impl BarrierMiss {
    /// Returns the finding that lanes of a wavefront have not reached a barrier with the others.
    fn of_lanes(kernel: &Kernel, (group, index): (u32, u32), partial: PartialArrival) -> Self {
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
        let detail = format!(
            "barrier {} is reached by {came} of the {lanes} threads of wavefront {index}; this thread is the first that does not reach it",
            arrival.number
        );
        Self { case, detail }
    }
}

impl Launch {
    /// Notes the arrival of lanes; all other live lanes of the wavefront should arrive or end.
    pub(super) fn arrived(&mut self, wavefront: &Wavefront, arrival: Arrival) {
        let (group, index) = (wavefront.group, wavefront.index);
        if let Some(wave) = self.waves.get_mut(&(group, index)) {
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
        let arrivals = self.arrivals.entry((group, arrival.number));
        arrivals.or_default().push((index, arrival));
        let clocks = &mut self.clocks;
        clocks.arrive(group, index, arrival.number, arrival.waits);
    }

    /// Returns the barriers that lanes have missed, by what they do instead.
    pub(super) fn missed_barriers(&mut self, step: &Step<'_>) -> Vec<BarrierMiss> {
        let place = (step.wavefront.group, step.wavefront.index);
        let Some(wave) = self.waves.get_mut(&place) else {
            return Vec::new();
        };
        if wave.partial_arrivals.is_empty() {
            return Vec::new();
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
            _ => return Vec::new(),
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
        let missed = missed.into_iter();
        missed
            .map(|partial| BarrierMiss::of_lanes(step.kernel, place, partial))
            .collect()
    }

    /// Orders those that waited at barriers, which have opened, after those that arrived.
    pub(super) fn released(&mut self, group: u32, barriers: u32) {
        for number in (0..16).filter(|number| barriers >> number & 1 != 0) {
            self.clocks.release(group, number);
            self.arrivals.remove(&(group, number));
        }
    }

    /// Returns the barriers of a deadlock. Each closed barrier has been reached by only part of the
    /// work-group.
    pub(super) fn stuck(&mut self) -> Vec<BarrierMiss> {
        let closed = std::mem::take(&mut self.arrivals).into_iter();
        let misses = closed.filter_map(|((group, number), arrivals)| {
            let &(index, first) = arrivals.first()?;
            let came: u32 = arrivals.iter().map(|(_, a)| a.mask.count_ones()).sum();
            let at = (group, index * 32 + first.mask.trailing_zeros());
            let case = Case::new(FindingKind::PartialBarrier, Verdict::Error, first.pc, at);
            let detail = format!(
                "barrier {number} never opens: {came} threads wait there, this thread first, and the others never arrive"
            );
            Some(BarrierMiss { case, detail })
        });
        misses.collect()
    }
}
