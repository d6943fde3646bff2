//! Two-level round robin over groups of wavefronts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::built_in::next_in_turn;
use super::{
    Issue, SchedulerSite, SchedulerView, Throttled, WavefrontPolicy, WavefrontScheduler,
    WavefrontScheduling,
};

/// Group size of the [`TwoLevel`] wavefront scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TwoLevelSpec {
    /// Wavefront slots per group, 1 to 64, consecutive among those of the scheduler. Source:
    /// two-level paper.
    pub group_size: u32,
}

impl Default for TwoLevelSpec {
    fn default() -> Self {
        Self { group_size: 8 }
    }
}

/// Two-level round robin: the wavefronts of the active group issue in round-robin order. The next
/// group follows when all wavefronts of the group wait for a long event: memory, a fence or a
/// barrier. Groups then reach their loads at different times.
///
/// The switch happens with the first instruction of the next group. If a wavefront of the active
/// group becomes ready before, that group stays active.
///
/// Source: the two-level paper.
#[derive(State, Statistics)]
pub struct TwoLevel {
    #[state(skip)]
    slots: u64,
    /// Slots of each group, with the bit of the one that issued last.
    #[state(parts)]
    groups: Vec<Group>,
    active: usize,
}

#[derive(State)]
struct Group {
    #[state(skip)]
    slots: u64,
    last: u64,
}

impl TwoLevel {
    fn new(group_size: u32, site: &SchedulerSite) -> Self {
        let bits = (0..64).map(|slot| site.slots & 1 << slot);
        let bits: Vec<u64> = bits.filter(|bit| *bit != 0).collect();
        let group = |bits: &[u64]| Group {
            slots: bits.iter().sum(),
            last: 0,
        };
        Self {
            slots: site.slots,
            groups: bits.chunks(group_size as usize).map(group).collect(),
            active: 0,
        }
    }

    /// Returns the group that may issue: the active one, or the first after it that does not wait
    /// as a whole.
    fn current(&self, view: &SchedulerView<'_>) -> usize {
        let goes_on = view.present & !(view.waits_for_memory | view.at_barrier | view.ended);
        let from_active = (self.active..self.groups.len()).chain(0..self.active);
        let mut able = from_active.filter(|&group| self.groups[group].slots & goes_on != 0);
        able.next().unwrap_or(self.active)
    }
}

impl PolicyKind for TwoLevel {
    type Role = WavefrontScheduling;
    const NAME: &'static str = "TwoLevel";
    const SUMMARY: &'static str = "Round robin within one group of wavefronts until all of them are in a long stall, then the next group";
    type Spec = TwoLevelSpec;

    fn build(
        spec: TwoLevelSpec,
        context: &PolicyContext<'_, WavefrontScheduling>,
    ) -> Result<WavefrontPolicy, SpecError> {
        SpecError::in_range("group_size", spec.group_size, 1..=64)?;
        let policy = Self::new(spec.group_size, context.site);
        Ok(WavefrontPolicy::open(policy))
    }
}

impl WavefrontScheduler for TwoLevel {
    fn throttled(&self, view: &SchedulerView<'_>) -> Throttled {
        // A scheduler beyond the last slot has no group.
        let group = self.groups.get(self.current(view));
        Throttled::all(group.map_or(0, |group| self.slots & !group.slots))
    }

    fn pick(&self, ready: u64, view: &SchedulerView<'_>) -> usize {
        next_in_turn(ready, self.groups[self.current(view)].last)
    }

    fn issued(&mut self, issue: &Issue, view: &SchedulerView<'_>) {
        self.active = self.current(view);
        self.groups[self.active].last = 1 << issue.slot;
    }
}

#[cfg(test)]
mod tests {
    use super::super::AgeMatrix;
    use super::*;

    /// Creates two groups of two slots: 0, 2 and 4, 6.
    fn two_groups() -> TwoLevel {
        TwoLevel::new(
            2,
            &SchedulerSite {
                unit: 0,
                scheduler: 0,
                schedulers: 2,
                slots: 0b0101_0101,
                wavefront_slots: 8,
                work_group_slots: 1,
            },
        )
    }

    /// Issues once with these wavefronts waiting for memory and returns the slot.
    fn issue(policy: &mut TwoLevel, waits_for_memory: u64) -> usize {
        let ages = AgeMatrix::new();
        let view = SchedulerView {
            open: 0b0101_0101 & !waits_for_memory,
            waits_for_memory,
            ..SchedulerView::new(0, 0b0101_0101, &ages)
        };
        let slot = policy.pick(view.open & !policy.throttled(&view).all, &view);
        let issue = Issue {
            slot,
            class: warpweave_trace::Class::IntAdd,
            pc: 0,
            is_access: false,
            continues: false,
        };
        policy.issued(&issue, &view);
        slot
    }

    #[test]
    fn bas_m12_one_group_issues_in_turn_until_all_of_it_waits_for_memory() {
        let mut policy = two_groups();
        let waits = [0, 0, 0, 1 << 2, 1 << 2, 0b101, 0b101, 0b101, 0, 0];
        let order = waits.map(|waits| issue(&mut policy, waits));
        assert_eq!(order, [0, 2, 0, 0, 0, 4, 6, 4, 6, 4]);
        // Groups take turns, and each resumes at its own round-robin position.
        assert_eq!(issue(&mut policy, 0b101_0000), 2);
    }

    #[test]
    fn bas_m12_a_group_of_eight_goes_on_while_one_of_it_does_not_wait_for_memory() {
        let site = SchedulerSite {
            unit: 0,
            scheduler: 0,
            schedulers: 1,
            slots: 0xFF_FFFF,
            wavefront_slots: 24,
            work_group_slots: 1,
        };
        let (policy, ages) = (
            TwoLevel::new(TwoLevelSpec::default().group_size, &site),
            AgeMatrix::new(),
        );
        let may_issue = |waits_for_memory, waits_for_result| {
            let view = SchedulerView {
                waits_for_memory,
                waits_for_result,
                ..SchedulerView::new(0, 0xFF_FFFF, &ages)
            };
            0xFF_FFFF & !policy.throttled(&view).all
        };
        assert_eq!(may_issue(0, 0), 0xFF);
        // The last wavefront waits for a result, a short event: no other group issues instead.
        assert_eq!(may_issue(0x7F, 0x80), 0xFF);
        assert_eq!(may_issue(0xFF, 0), 0xFF00);
        // The next group that does not wait; if all wait, the same one.
        assert_eq!(may_issue(0xFFFF, 0), 0xFF_0000);
        assert_eq!(may_issue(0xFF_FFFF, 0), 0xFF);
    }

    #[test]
    fn a_group_at_a_barrier_gives_way() {
        let (policy, ages) = (two_groups(), AgeMatrix::new());
        let view = SchedulerView {
            at_barrier: 1,
            ended: 1 << 2,
            ..SchedulerView::new(0, 0b0101_0101, &ages)
        };
        assert_eq!(policy.throttled(&view), Throttled::all(0b101));
    }
}
