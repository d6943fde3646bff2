//! The wires on which credits of input buffers return: one set of credits per input and cycle.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, as_many};

use crate::building_blocks::DelayLine;
use crate::crossbar::requests::{PortMask, bit, ports};

/// No step.
const NEVER: u64 = u64::MAX;

/// A wire per input.
#[derive(Serialize, Deserialize)]
pub(super) struct CreditWires {
    /// Lanes whose slots come back.
    wires: Vec<DelayLine<u32>>,
    /// Inputs with credits under way.
    occupied: PortMask,
    /// Per input: the step of its last set.
    last_set: Vec<u64>,
}

impl CreditWires {
    /// Whether what a checkpoint holds is of as many inputs as these wires were built for.
    pub(super) fn is_like(&self, built: &Self) -> Result<(), String> {
        as_many("inputs", self.wires.len(), built.wires.len())?;
        as_many("inputs", self.last_set.len(), built.last_set.len())?;
        let occupied = self.wires.iter().enumerate();
        let occupied = occupied.filter(|(_, wire)| !wire.is_empty());
        if occupied.fold(0, |mask, (input, _)| mask | bit(input)) == self.occupied {
            Ok(())
        } else {
            Err("inputs wait for nothing".to_owned())
        }
    }

    /// Lanes of the credits on their way.
    pub(super) fn lanes(&self) -> impl Iterator<Item = &u32> {
        self.wires.iter().flat_map(DelayLine::entries)
    }

    pub(super) fn new(inputs: usize) -> Self {
        Self {
            wires: vec![DelayLine::default(); inputs],
            occupied: 0,
            last_set: vec![NEVER; inputs],
        }
    }

    /// The credit of a slot of `lane` that was freed in `step` sets out, to arrive in cycle
    /// `earliest`, or in the next one in which no other set of its input does.
    #[inline]
    pub(super) fn push(&mut self, input: usize, step: u64, earliest: Cycle, lane: u32) {
        let wire = &mut self.wires[input];
        let last = wire.last().unwrap_or(0);
        let same_set = self.last_set[input] == step;
        self.last_set[input] = step;
        wire.push(earliest.max(if same_set { last } else { last + 1 }), lane);
        self.occupied |= bit(input);
    }

    /// Hands out the lanes whose credits have arrived.
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

    /// The cycle in which the next credit arrives.
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
