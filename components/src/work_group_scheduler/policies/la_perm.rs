//! LaPerm: binds every child kernel to the unit of its parent and prefers deeper ones.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::Stealing;
use super::queued::{ENTRY_BYTES, QueueMemorySpec, check_memory, push_write};
use crate::launch::LaunchHint;
use crate::work_group_scheduler::{
    Candidates, Kernel, Machine, Placement, PlacementChoice, PlacementPolicy, QueueAccess,
    WorkGroupPlacement,
};

/// Priority levels and queue storage of [`LaPerm`] placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LaPermSpec {
    /// Highest priority, 1 to 15; a child has its parent's priority plus one, up to this. Source:
    /// own choice.
    pub levels: u32,
    /// On-chip queue capacity of a unit in work-groups; further entries are in memory. Source:
    /// LaPerm paper, 128.
    pub entries_on_chip: u32,
    /// Queues of other units that a unit without entries may adopt. Source: own reading, LaPerm
    /// says neither; the same rules as for policies that steal.
    pub adoption: Stealing,
    /// Memory for entries beyond the on-chip capacity, behind the scheduler's port `memory`;
    /// absent: fetching them costs nothing.
    pub memory: Option<QueueMemorySpec>,
}

impl Default for LaPermSpec {
    fn default() -> Self {
        Self {
            levels: 4,
            entries_on_chip: 128,
            adoption: Stealing::default(),
            memory: None,
        }
    }
}

/// Priority queues of the work-groups bound to one unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Bound {
    /// Kernel and work-group entries, by priority from 1.
    levels: Vec<VecDeque<(u32, u32)>>,
    /// Unit whose queues this one drains while its own are empty.
    backup: Option<u32>,
}

impl Bound {
    /// Returns the level served next: the highest one with an entry.
    fn level(&self) -> Option<usize> {
        self.levels.iter().rposition(|level| !level.is_empty())
    }

    fn len(&self) -> usize {
        self.levels.iter().map(VecDeque::len).sum()
    }
}

/// Source of a unit's next work-group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QueueChoice {
    /// Queues of this unit, at this level.
    Queue(u32, usize),
    /// Work-groups of kernels launched by the host.
    Host,
}

/// Work-groups of device-side kernels enter the queues of the unit that launched them. There is one
/// queue per priority, which is that of the parent plus one. A unit takes from its highest-priority
/// queue, then from host kernels in order of arrival. With neither, it adopts the fullest queues of
/// another unit that the rule of adoption permits, and drains them until they are empty. Units with
/// the fewest residents go first, then those with the lowest number.
///
/// Source: the LaPerm paper (binding with adaptive priority); the choice of adopted queues is our
/// own.
#[derive(State, Statistics)]
pub struct LaPerm {
    #[state(skip)]
    spec: LaPermSpec,
    units: Vec<Bound>,
    host: VecDeque<(u32, u32)>,
    /// Priority of each kernel of the program: its depth, limited to the highest priority.
    priorities: Vec<u8>,
    /// Number of work-groups taken so far from each unit's queues.
    #[state(array)]
    taken: Vec<u64>,
    /// work-groups that found the on-chip queues of their unit full
    #[statistic(name = "work_groups_overflowed", unit = "work-groups")]
    overflowed: u64,
    /// work-groups taken from the queues of another unit
    #[statistic(name = "work_groups_adopted", unit = "work-groups")]
    adopted: u64,
    /// Lines of new entries that found the on-chip queues full.
    #[state(skip)]
    written: Vec<QueueAccess>,
}

impl LaPerm {
    /// Returns the memory address of the entry that is `beyond` entries past the on-chip part.
    fn address(&self, memory: &QueueMemorySpec, unit: usize, beyond: u64) -> u64 {
        let size = u64::from(memory.bytes_per_queue);
        let offset = (self.taken[unit] + beyond) * u64::from(ENTRY_BYTES) % size;
        memory.base + unit as u64 * size + offset
    }

    fn source(&self, unit: u32, machine: &Machine) -> Option<QueueChoice> {
        if let Some(level) = self.units[unit as usize].level() {
            return Some(QueueChoice::Queue(unit, level));
        }
        if !self.host.is_empty() {
            return Some(QueueChoice::Host);
        }
        let backup = self.backup(unit, machine)?;
        let level = self.units[backup as usize].level()?;
        Some(QueueChoice::Queue(backup, level))
    }

    /// Returns the unit whose queues a unit without entries drains: the one adopted before, or the
    /// fullest (ties: lowest number).
    fn backup(&self, unit: u32, machine: &Machine) -> Option<u32> {
        let len = |unit: u32| self.units[unit as usize].len();
        let permits = |other: &u32| self.permits_adoption(*other, machine);
        let stays = self.units[unit as usize].backup;
        stays.filter(permits).or_else(|| {
            let others = (0..self.units.len() as u32).filter(permits);
            others.max_by_key(|&other| (len(other), std::cmp::Reverse(other)))
        })
    }

    /// True if other units may take from the queues of this one.
    fn permits_adoption(&self, of: u32, machine: &Machine) -> bool {
        let queues = &self.units[of as usize];
        self.spec.adoption.permits(queues.len(), || {
            let head = queues
                .level()
                .and_then(|level| queues.levels[level].front());
            head.is_some_and(|(kernel, _)| machine.room(of, *kernel) > 0)
        })
    }

    fn next_of(&self, from: QueueChoice) -> Option<(u32, u32)> {
        match from {
            QueueChoice::Queue(unit, level) => {
                self.units[unit as usize].levels[level].front().copied()
            }
            QueueChoice::Host => self.host.front().copied(),
        }
    }
}

impl PolicyKind for LaPerm {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "LaPerm";
    const SUMMARY: &'static str = "Binds every child to the unit that launched it, deeper ones first; idle units adopt queues";
    type Spec = LaPermSpec;

    fn build(
        spec: LaPermSpec,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        SpecError::in_range("levels", spec.levels, 1..=15)?;
        if let Some(memory) = &spec.memory {
            check_memory(memory, *context.site)?;
        }
        let units = context.site.units() as usize;
        let bound = Bound {
            levels: vec![VecDeque::new(); spec.levels as usize],
            backup: None,
        };
        Ok(Box::new(Self {
            spec,
            units: vec![bound; units],
            host: VecDeque::new(),
            priorities: Vec::new(),
            taken: vec![0; units],
            overflowed: 0,
            adopted: 0,
            written: Vec::new(),
        }))
    }
}

impl PlacementPolicy for LaPerm {
    fn needs_memory(&self) -> bool {
        self.spec.memory.is_some()
    }

    fn arrived(&mut self, kernel: Kernel<'_>, _machine: &Machine) {
        let number = kernel.number();
        let parent = kernel.parent();
        let above = parent.map(|parent| self.priorities.get(parent.kernel as usize).copied());
        let priority = above.map_or(0, |above| {
            (u32::from(above.unwrap_or(0)) + 1).min(self.spec.levels)
        });
        if self.priorities.len() <= number as usize {
            self.priorities.resize(number as usize + 1, 0);
        }
        self.priorities[number as usize] = priority as u8;
        let work_groups = (0..kernel.work_groups()).map(|work_group| (number, work_group));
        let unit = LaunchHint::from_word(kernel.hint()).unit.map(usize::from);
        match unit.and_then(|unit| self.units.get_mut(unit)) {
            Some(bound) if priority > 0 => {
                let before = bound.len() as u64;
                bound.levels[priority as usize - 1].extend(work_groups);
                let held = u64::from(self.spec.entries_on_chip);
                let after = bound.len() as u64;
                let first = before.max(held);
                self.overflowed += after.saturating_sub(first);
                if let (Some(memory), Some(unit)) = (self.spec.memory, unit) {
                    for place in first..after {
                        let address = self.address(&memory, unit, place - held);
                        push_write(&mut self.written, address);
                    }
                }
            }
            _ => self.host.extend(work_groups),
        }
    }

    fn entries(&mut self, writes: &mut Vec<QueueAccess>) {
        writes.append(&mut self.written);
    }

    fn choose(
        &mut self,
        machine: &Machine,
        sendable: &mut dyn FnMut(u32) -> bool,
    ) -> PlacementChoice<Placement> {
        let mut candidates = Candidates::new();
        for unit in 0..machine.site().units() {
            let from = self.source(unit, machine);
            let next = from.and_then(|from| Some((from, self.next_of(from)?)));
            let Some((from, (kernel, work_group))) = next else {
                if machine.resident(unit) < machine.limits().work_group_slots {
                    candidates.add_held_back();
                }
                continue;
            };
            if machine.room(unit, kernel) == 0 {
                continue;
            }
            if !sendable(unit) {
                candidates.add_busy();
                continue;
            }
            let placement = Placement {
                kernel,
                work_group,
                unit,
            };
            let adopts = matches!(from, QueueChoice::Queue(of, _) if of != unit);
            let is_later = adopts && self.spec.adoption.owners_precede();
            candidates.add((is_later, machine.resident(unit)), placement);
        }
        candidates.choice()
    }

    /// Removes the chosen work-group from its queue and lists the memory accesses needed.
    fn accesses(&mut self, chosen: Placement, machine: &Machine, accesses: &mut Vec<QueueAccess>) {
        let Some(from) = self.source(chosen.unit, machine) else {
            return;
        };
        let QueueChoice::Queue(of, level) = from else {
            self.host.pop_front();
            return;
        };
        let backup = (of != chosen.unit).then_some(of);
        self.units[chosen.unit as usize].backup = backup;
        self.adopted += u64::from(backup.is_some());
        let of = of as usize;
        // The on-chip part holds the front of the queues and is refilled from memory as entries
        // leave.
        if self.units[of].len() > self.spec.entries_on_chip as usize
            && let Some(memory) = &self.spec.memory
        {
            accesses.push(QueueAccess {
                address: self.address(memory, of, 0),
                bytes: 4,
                write: false,
            });
        }
        self.taken[of] += 1;
        self.units[of].levels[level].pop_front();
    }

    fn placed(&mut self, _placed: Placement, _machine: &Machine) {}
}
