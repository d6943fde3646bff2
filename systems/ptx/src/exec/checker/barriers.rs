//! Barrier checks: threads that arrive, and threads that do not.

use super::finding::{FindingKind, Verdict};
use super::{Case, ProgramChecker};
use crate::exec::observe::Arrival;
use crate::exec::wavefront::Wavefront;
use crate::kernel::Kernel;

impl ProgramChecker {
    /// Checks the arrival of lanes: all other live lanes of the wavefront should arrive too.
    pub(super) fn arrived(&mut self, kernel: &Kernel, wavefront: &Wavefront, arrival: Arrival) {
        let (group, index) = (wavefront.group, wavefront.index);
        let alive = self.launch.waves[&(group, index)].alive;
        let missing = alive & !arrival.mask;
        if missing != 0 {
            let opcode = &kernel.code().instructions[arrival.pc as usize].opcode;
            // `barrier` without `.aligned` may be reached by parts of a wavefront one after
            // another.
            let is_aligned = opcode.starts_with("bar.") || opcode.contains(".aligned");
            let verdict = if is_aligned {
                Verdict::Error
            } else {
                Verdict::Undecided
            };
            let lane = missing.trailing_zeros();
            let at = (group, index * 32 + lane);
            let case = Case::new(FindingKind::PartialBarrier, verdict, arrival.pc, at);
            let (came, lanes) = (arrival.mask.count_ones(), alive.count_ones());
            self.report(kernel, case, || {
                format!(
                    "barrier {} is reached by {came} of the {lanes} threads of wavefront {index}; this thread is the first that does not reach it",
                    arrival.number
                )
            });
        }
        let arrivals = self.launch.arrivals.entry((group, arrival.number));
        arrivals.or_default().push((index, arrival));
        let clocks = &mut self.launch.clocks;
        clocks.arrive(group, index, arrival.number, arrival.waits);
    }

    /// Checks barriers that open for threads that ended without reaching them.
    pub(super) fn released(&mut self, kernel: &Kernel, group: u32, barriers: u32) {
        for number in (0..16).filter(|number| barriers >> number & 1 != 0) {
            self.launch.clocks.release(group, number);
            let arrivals = self.launch.arrivals.remove(&(group, number));
            let arrivals = arrivals.unwrap_or_default();
            let Some(&(_, first)) = arrivals.first() else {
                continue;
            };
            if first.counted {
                continue;
            }
            let waves = self.launch.waves.range((group, 0)..=(group, u32::MAX));
            let (mut ended, mut all, mut missing) = (0, 0, None);
            for (&(_, index), wave) in waves {
                let gone = wave.lanes & !wave.alive;
                let came = arrivals.iter().filter(|(from, _)| *from == index);
                let gone = came.fold(gone, |gone, (_, arrival)| gone & !arrival.mask);
                all += wave.lanes.count_ones();
                ended += gone.count_ones();
                if gone != 0 {
                    missing = missing.or(Some(index * 32 + gone.trailing_zeros()));
                }
            }
            if let Some(thread) = missing {
                let kind = FindingKind::PartialBarrier;
                let case = Case::new(kind, Verdict::Error, first.pc, (group, thread));
                self.report(kernel, case, || {
                    format!(
                        "barrier {number} opens without {ended} of the {all} threads of the work-group, which have exited; this thread is the first of them"
                    )
                });
            }
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
