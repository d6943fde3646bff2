//! OWL's locality-aware scheduler: forms groups of work-groups by age and issues from the first
//! group that can.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::built_in::next_in_turn;
use super::{
    Arrival, Issue, SchedulerView, WavefrontPolicy, WavefrontScheduler, WavefrontScheduling,
};

/// Group size and rotation period of [`OwlLocality`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OwlLocalitySpec {
    /// Minimum number of wavefronts per group, except the youngest, 1 to 64. Source: OWL paper.
    pub group_wavefronts: u32,
    /// Cycles after which priority moves to the next group, at least 1. Source: OWL paper.
    pub rotation_cycles: Cycle,
}

impl Default for OwlLocalitySpec {
    fn default() -> Self {
        Self {
            group_wavefronts: 8,
            rotation_cycles: 127_000,
        }
    }
}

/// Work-groups of a unit form groups by age, each with a minimum number of wavefronts. Wavefronts
/// of the first group that can issue do so in round-robin order. As soon as an earlier group can
/// issue, it takes over. The first group rotates with time, round robin.
///
/// Source: the OWL paper, as compared in the LASER paper; the rotation is from general knowledge of
/// it.
#[derive(State, Statistics)]
pub struct OwlLocality {
    #[state(skip)]
    spec: OwlLocalitySpec,
    /// Wavefront slots of the work-groups on the unit, oldest first.
    work_groups: Vec<u64>,
    /// Bits of the slots that issued last, one per group.
    last: u64,
}

impl OwlLocality {
    fn new(spec: OwlLocalitySpec) -> Self {
        Self {
            spec,
            work_groups: Vec::new(),
            last: 0,
        }
    }

    /// Returns the slots of each group, oldest first.
    fn groups(&self, present: u64) -> impl Iterator<Item = u64> + Clone {
        let mut work_groups = self.work_groups.iter().map(move |slots| slots & present);
        let least = self.spec.group_wavefronts;
        std::iter::from_fn(move || {
            let mut group = 0_u64;
            while group.count_ones() < least {
                let Some(slots) = work_groups.next() else {
                    break;
                };
                group |= slots;
            }
            (group != 0).then_some(group)
        })
    }

    /// Returns the group that issues next: the first one with a wavefront in `ready`.
    fn group(&self, ready: u64, view: &SchedulerView<'_>) -> u64 {
        let groups = self.groups(view.present);
        let count = groups.clone().count().max(1) as Cycle;
        let first = (view.now / self.spec.rotation_cycles % count) as usize;
        let from_first = groups.clone().skip(first).chain(groups.take(first));
        let mut able = from_first.filter(|slots| slots & ready != 0);
        able.next().unwrap_or(ready)
    }
}

impl PolicyKind for OwlLocality {
    type Role = WavefrontScheduling;
    const NAME: &'static str = "OwlLocality";
    const SUMMARY: &'static str = "Round robin in the first group of work-groups that can issue; the first group rotates slowly";
    type Spec = OwlLocalitySpec;

    fn build(
        spec: OwlLocalitySpec,
        _context: &PolicyContext<'_, WavefrontScheduling>,
    ) -> Result<WavefrontPolicy, SpecError> {
        SpecError::in_range("group_wavefronts", spec.group_wavefronts, 1..=64)?;
        SpecError::in_range("rotation_cycles", spec.rotation_cycles, 1..)?;
        Ok(WavefrontPolicy::open(Self::new(spec)))
    }
}

impl WavefrontScheduler for OwlLocality {
    fn pick(&self, ready: u64, view: &SchedulerView<'_>) -> usize {
        let group = self.group(ready, view);
        next_in_turn(ready & group, self.last & group)
    }

    fn arrive(&mut self, arrival: &Arrival, view: &SchedulerView<'_>) {
        let bit = 1 << arrival.slot;
        for slots in &mut self.work_groups {
            *slots &= view.present & !bit;
        }
        self.last &= !bit;
        if arrival.wavefront == 0 || self.work_groups.is_empty() {
            self.work_groups.retain(|slots| *slots != 0);
            self.work_groups.push(bit);
        } else if let Some(youngest) = self.work_groups.last_mut() {
            *youngest |= bit;
        }
    }

    fn issued(&mut self, issue: &Issue, view: &SchedulerView<'_>) {
        let bit = 1 << issue.slot;
        let group = self.group(bit, view);
        self.last = self.last & !group | bit;
    }
}

#[cfg(test)]
mod tests {
    use warpweave_trace::Class;

    use super::super::AgeMatrix;
    use super::*;

    /// Creates two groups: four work-groups of four wavefronts each, in slots 0 to 15.
    fn filled() -> OwlLocality {
        let (mut policy, ages) = (
            OwlLocality::new(OwlLocalitySpec::default()),
            AgeMatrix::new(),
        );
        for slot in 0..16 {
            let arrival = Arrival {
                slot,
                work_group_slot: slot / 4,
                kernel: 0,
                hint: 0,
                work_group: slot as u32 / 4,
                wavefront: slot as u32 % 4,
            };
            let view = SchedulerView::new(0, (2 << slot) - 1, &ages);
            policy.arrive(&arrival, &view);
        }
        policy
    }

    fn issue(policy: &mut OwlLocality, now: Cycle, ready: u64) -> usize {
        let ages = AgeMatrix::new();
        let view = SchedulerView::new(now, 0xFFFF, &ages);
        let slot = policy.pick(ready, &view);
        let issue = Issue {
            slot,
            class: Class::IntAdd,
            pc: 0,
            is_access: false,
            continues: false,
        };
        policy.issued(&issue, &view);
        slot
    }

    #[test]
    fn bas_m15_work_groups_form_groups_of_eight_wavefronts_by_age() {
        let policy = filled();
        assert_eq!(policy.groups(0xFFFF).collect::<Vec<_>>(), [0xFF, 0xFF00]);
        // The oldest has left: the next three are 8 and 4 wavefronts.
        assert_eq!(policy.groups(0xFFF0).collect::<Vec<_>>(), [0xFF0, 0xF000]);
    }

    #[test]
    fn bas_m15_an_older_group_goes_on_as_soon_as_it_can() {
        let mut policy = filled();
        let ready = [0xFFFF, 0xFFFF, 0xFF00, 0xFF00, 0xFF01, 0xFFFF];
        let order = ready.map(|ready| issue(&mut policy, 5, ready));
        assert_eq!(order, [0, 1, 8, 9, 0, 1]);
    }

    #[test]
    fn bas_m15_the_first_group_rotates() {
        let mut policy = filled();
        let times = [126_999, 127_000, 253_999, 254_000];
        let order = times.map(|now| issue(&mut policy, now, 0xFFFF));
        assert_eq!(order, [0, 8, 9, 1]);
    }
}
