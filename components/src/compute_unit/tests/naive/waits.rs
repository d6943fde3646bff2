//! Waits for loads in the naive unit: every cycle of every wavefront is looked at.

use super::*;

impl Naive {
    /// Logs the loads that are all that some wavefront waits for in this cycle.
    pub(super) fn count_waits(&self) {
        let mut log = self.log.lock();
        for wavefront in self.wavefronts.iter().flatten() {
            if wavefront.is_ready()
                && !self.lacks_instruction(wavefront)
                && !self.waits_for_stores(wavefront)
                && let [one] = self.pending(wavefront)[..]
                && one.kind.is_some()
            {
                *log.waits.entry(one.instruction).or_default() += 1;
            }
        }
    }

    /// Returns the operations in flight whose registers the next instruction needs.
    fn pending<'a>(&'a self, wavefront: &'a Wavefront) -> Vec<&'a Flight> {
        let next = &self.kernel.code.instructions[wavefront.pc()];
        let uses = next.reads.union(&next.writes);
        let needs = |flight: &&Flight| {
            let writes = &self.kernel.code.instructions[flight.instruction].writes;
            writes.iter().any(|register| uses.contains(register))
        };
        wavefront.flights.iter().filter(needs).collect()
    }
}
