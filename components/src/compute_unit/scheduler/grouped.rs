//! Groups of wavefronts: round robin within a group, greedy-then-oldest between groups.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{PolicyContext, PolicyKind, SpecError, State, Statistics};
use warpweave_trace::Program;

use super::built_in::next_in_turn;
use super::{
    Arrival, Issue, SchedulerView, WavefrontPolicy, WavefrontScheduler, WavefrontScheduling,
};
use crate::artefact::artefact;
use crate::launch::LaunchHint;
use crate::reuse_monitor::Relation;
use crate::reuse_profile::{ReuseProfile, WHAT};

/// Criterion by which [`Grouped`] forms its groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupedSpec {
    /// Criterion by which work-groups share a group. Source: `Prediction` is LASER, section 6,
    /// `Profile` its limit study, section 5.
    #[serde(default)]
    pub by: GroupBy,
}

/// Criterion by which work-groups share a scheduling group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum GroupBy {
    /// No sharing: each work-group is a separate group.
    WorkGroup,
    /// A work-group predicted to share lines with its parent joins the group of the wavefront that
    /// launched its kernel, if that is still resident.
    #[default]
    Prediction,
    /// Work-groups in one chain of the reuse profile share a group.
    Profile,
}

/// Identity of the wavefront in a slot, with its group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Resident {
    kernel: u32,
    work_group: u32,
    wavefront: u32,
    /// Group number, from 1 in order of creation; 0 for a slot never used.
    group: u64,
}

enum Sharing {
    WorkGroup,
    Prediction(Arc<Program>),
    Profile(Arc<ReuseProfile>),
}

/// Grouped scheduling: the wavefronts of one group issue in round-robin order as long as any of
/// them can. After that the oldest group that can issue takes over. A work-group starts a new group
/// or joins an existing one. If a group's wavefronts belong to several schedulers, each scheduler
/// serves its share.
///
/// Source: the LASER paper, sections 5 and 6.
#[derive(State, Statistics)]
pub struct Grouped {
    #[state(skip)]
    sharing: Sharing,
    /// Residents by wavefront slot of the unit.
    #[state(array)]
    slots: Vec<Resident>,
    /// Number of groups created so far.
    groups: u64,
    /// Number of the group that issued last.
    current: u64,
    /// Bits of the slots that issued last, at most one per group.
    last: u64,
}

impl Grouped {
    fn new(sharing: Sharing, slots: u32) -> Self {
        Self {
            sharing,
            slots: vec![Resident::default(); slots as usize],
            groups: 0,
            current: 0,
            last: 0,
        }
    }

    /// Returns the mask of slots in a group.
    fn members(&self, group: u64) -> u64 {
        let members = self.slots.iter().enumerate();
        members
            .filter(|(_, resident)| resident.group == group)
            .fold(0, |members, (slot, _)| members | 1 << slot)
    }

    /// Returns the group that issues next among those of these slots.
    fn group_of(&self, ready: u64) -> u64 {
        let of_ready = self.slots.iter().enumerate();
        let of_ready = of_ready.filter(|(slot, _)| ready >> slot & 1 == 1);
        let mut groups = of_ready.map(|(_, resident)| resident.group);
        if groups.clone().any(|group| group == self.current) {
            return self.current;
        }
        groups.by_ref().min().unwrap_or(self.current)
    }

    /// Returns the group that an arriving work-group joins.
    fn joined(&self, arrival: &Arrival, present: u64) -> Option<u64> {
        let there = self.slots.iter().enumerate();
        let mut there = there
            .filter(|(slot, resident)| present >> slot & 1 == 1 && resident.group != 0)
            .map(|(_, resident)| resident);
        match &self.sharing {
            Sharing::WorkGroup => None,
            Sharing::Prediction(program) => {
                let relation = LaunchHint::from_word(arrival.hint).relation;
                let kernel = program.kernels.get(arrival.kernel as usize)?;
                let parent = kernel
                    .parent
                    .filter(|_| relation == Some(Relation::ParentChild))?;
                let launched = |resident: &&Resident| {
                    (resident.kernel, resident.work_group, resident.wavefront)
                        == (parent.kernel, parent.work_group, parent.wavefront)
                };
                there.find(launched).map(|resident| resident.group)
            }
            Sharing::Profile(profile) => {
                let chain = profile.chain(arrival.kernel, arrival.work_group)?;
                let shares = |resident: &&Resident| {
                    profile.chain(resident.kernel, resident.work_group) == Some(chain)
                };
                there.filter(shares).map(|resident| resident.group).min()
            }
        }
    }
}

impl PolicyKind for Grouped {
    type Role = WavefrontScheduling;
    const NAME: &'static str = "Grouped";
    const SUMMARY: &'static str = "Round robin within a group of wavefronts that share lines while any can issue, then the oldest group";
    type Spec = GroupedSpec;

    fn build(
        spec: GroupedSpec,
        context: &PolicyContext<'_, WavefrontScheduling>,
    ) -> Result<WavefrontPolicy, SpecError> {
        let sharing = match spec.by {
            GroupBy::WorkGroup => Sharing::WorkGroup,
            GroupBy::Prediction => match context.environment.resource::<Program>() {
                Some(program) => Sharing::Prediction(program),
                None => {
                    return Err(SpecError::at(
                        "by",
                        "a program is required, but none was provided",
                    ));
                }
            },
            GroupBy::Profile => {
                let profile = artefact(context.environment, WHAT);
                let at_field = |error: SpecError| SpecError::at("by", error.message);
                Sharing::Profile(profile.map_err(at_field)?)
            }
        };
        let slots = context.site.wavefront_slots;
        Ok(WavefrontPolicy::open(Self::new(sharing, slots)))
    }
}

impl WavefrontScheduler for Grouped {
    fn pick(&self, ready: u64, _view: &SchedulerView<'_>) -> usize {
        let members = self.members(self.group_of(ready));
        next_in_turn(ready & members, self.last & members)
    }

    fn arrive(&mut self, arrival: &Arrival, view: &SchedulerView<'_>) {
        // Those of its work-group that came before, but not who had its slot.
        let others = view.present & !(1 << arrival.slot);
        let same = self.slots.iter().enumerate().find(|(slot, resident)| {
            others >> slot & 1 == 1
                && arrival.wavefront > 0
                && (resident.kernel, resident.work_group) == (arrival.kernel, arrival.work_group)
        });
        let group = same.map(|(_, resident)| resident.group);
        let group = group.or_else(|| self.joined(arrival, others));
        let group = group.unwrap_or_else(|| {
            self.groups += 1;
            self.groups
        });
        self.last &= !(1 << arrival.slot);
        self.slots[arrival.slot] = Resident {
            kernel: arrival.kernel,
            work_group: arrival.work_group,
            wavefront: arrival.wavefront,
            group,
        };
    }

    fn issued(&mut self, issue: &Issue, _view: &SchedulerView<'_>) {
        self.current = self.slots[issue.slot].group;
        self.last = self.last & !self.members(self.current) | 1 << issue.slot;
    }
}

#[cfg(test)]
mod tests {
    use warpweave_trace::Class;

    use super::super::AgeMatrix;
    use super::*;
    use crate::work_group_scheduler::tests::family;

    struct Bench {
        policy: Grouped,
        present: u64,
        ages: AgeMatrix,
    }

    impl Bench {
        fn new(sharing: Sharing) -> Self {
            Self {
                policy: Grouped::new(sharing, 64),
                present: 0,
                ages: AgeMatrix::new(),
            }
        }

        /// Places a work-group of this many wavefronts in the lowest free slots.
        fn arrive(&mut self, kernel: u32, relation: Option<Relation>, wavefronts: u32) {
            for wavefront in 0..wavefronts {
                let slot = (!self.present).trailing_zeros() as usize;
                self.ages.arrive(slot, self.present);
                self.present |= 1 << slot;
                let hint = LaunchHint {
                    unit: Some(0),
                    relation,
                    is_bound: false,
                };
                let arrival = Arrival {
                    slot,
                    work_group_slot: 0,
                    kernel,
                    hint: hint.to_word(),
                    work_group: 0,
                    wavefront,
                };
                let view = SchedulerView::new(0, self.present, &self.ages);
                self.policy.arrive(&arrival, &view);
            }
        }

        fn issue(&mut self, ready: u64) -> usize {
            let view = SchedulerView::new(0, self.present, &self.ages);
            let slot = self.policy.pick(ready, &view);
            let issue = Issue {
                slot,
                class: Class::IntAdd,
                pc: 0,
                is_access: false,
                continues: false,
            };
            self.policy.issued(&issue, &view);
            slot
        }

        fn groups(&self) -> Vec<u64> {
            let slots = self.policy.slots.iter();
            slots
                .map(|slot| slot.group)
                .take_while(|group| *group != 0)
                .collect()
        }
    }

    /// LSR-M11: w11, w12, w21, w22 and w3 share a group, w41 and w42 another.
    #[test]
    fn lsr_m11_groups_issue_in_turn_inside_and_greedily_between() {
        let chains = vec![vec![(0, 0), (1, 0), (2, 0)], vec![(3, 0)]];
        let profile = ReuseProfile::new(Vec::new(), chains);
        let mut bench = Bench::new(Sharing::Profile(Arc::new(profile)));
        for (kernel, wavefronts) in [(0, 2), (1, 2), (2, 1), (3, 2)] {
            bench.arrive(kernel, None, wavefronts);
        }
        assert_eq!(bench.groups(), [1, 1, 1, 1, 1, 2, 2]);
        let all = 0b111_1111;
        let order: Vec<usize> = (0..6).map(|_| bench.issue(all)).collect();
        assert_eq!(order, [0, 1, 2, 3, 4, 0]);
        // The second group issues only when the first cannot, and then for as long as it can.
        assert_eq!(bench.issue(0b110_0000), 5);
        assert_eq!(bench.issue(all), 6);
        assert_eq!(bench.issue(all), 5);
        assert_eq!(bench.issue(0b001_1111), 1);
    }

    /// LASER, section 6: a child predicted to share with its parent joins the parent's group, and
    /// others do not.
    #[test]
    fn a_predicted_child_joins_the_group_of_the_wavefront_that_launched_it() {
        let program = family(&[None, Some((0, 0, 0, 0)), Some((0, 0, 1, 0)), None]);
        let mut bench = Bench::new(Sharing::Prediction(Arc::new(program)));
        bench.arrive(0, None, 2);
        bench.arrive(3, None, 1);
        bench.arrive(1, Some(Relation::ParentChild), 2);
        bench.arrive(2, Some(Relation::Sibling), 1);
        assert_eq!(bench.groups(), [1, 1, 2, 1, 1, 3]);
        // A parent that has left is not joined.
        bench.present &= !0b11;
        bench.arrive(1, Some(Relation::ParentChild), 1);
        assert_eq!(bench.policy.slots[0].group, 4);
    }
}
