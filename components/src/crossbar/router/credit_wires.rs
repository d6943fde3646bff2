//! Wires on which credits of input buffers return: one set of credits per input and cycle.

use serde::{Deserialize, Serialize};
use warpweave_framework::Cycle;

use crate::building_blocks::DelayLine;
use crate::crossbar::port_bits::PortMask;
use crate::crossbar::requests::{bit, ports};

/// Step value that means no step.
const NEVER: u64 = u64::MAX;

/// Credit return wires, one for each input.
#[derive(Serialize, Deserialize)]
pub(super) struct CreditWires {
    /// Lanes whose credits are in transit, for each input.
    wires: Vec<DelayLine<u32>>,
    /// Inputs that have credits in transit.
    occupied: PortMask,
    /// Step of the last set of credits, for each input.
    last_set: Vec<u64>,
}

impl CreditWires {
    pub(super) fn new(inputs: usize) -> Self {
        Self {
            wires: vec![DelayLine::default(); inputs],
            occupied: 0,
            last_set: vec![NEVER; inputs],
        }
    }

    /// Sends the credit for a slot of `lane` freed in `step`. It arrives in cycle `earliest`, or in
    /// the next cycle without another set of the same input.
    #[inline]
    pub(super) fn push(&mut self, input: usize, step: u64, earliest: Cycle, lane: u32) {
        let wire = &mut self.wires[input];
        let last = wire.last().unwrap_or(0);
        let same_set = self.last_set[input] == step;
        self.last_set[input] = step;
        wire.push(earliest.max(if same_set { last } else { last + 1 }), lane);
        self.occupied |= bit(input);
    }

    /// Calls `credit` with each lane whose credit has arrived.
    #[inline]
    pub(super) fn take(&mut self, now: Cycle, mut credit: impl FnMut(usize)) {
        for input in ports(self.occupied) {
            let wire = &mut self.wires[input];
            while let Some(lane) = wire.take(now) {
                credit(lane as usize);
            }
            if wire.is_empty() {
                self.occupied &= !bit(input);
            }
        }
    }

    /// Returns the cycle in which the next credit arrives.
    #[inline]
    pub(super) fn next(&self) -> Option<Cycle> {
        let arrivals = ports(self.occupied).filter_map(|input| self.wires[input].next());
        arrivals.min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_set_of_credits_arrives_per_input_and_cycle() {
        let mut wires = CreditWires::new(2);
        // Two steps of cycle 10, the first with two credits of input 0.
        for (input, step, lane) in [(0, 20, 1), (0, 20, 2), (0, 21, 3), (1, 21, 4)] {
            wires.push(input, step, 12, lane);
        }
        assert_eq!(wires.next(), Some(12));
        let arrived: Vec<_> = (11..15)
            .map(|now| {
                let mut lanes = Vec::new();
                wires.take(now, |lane| lanes.push(lane));
                lanes
            })
            .collect();
        assert_eq!(arrived, [vec![], vec![1, 2, 4], vec![3], vec![]]);
        assert_eq!(wires.next(), None);
    }
}
