//! Work-group queues per unit and the service of units from them, shared by the policies with
//! queues.
//!
//! A unit with room takes the head of its own queue, or steals as the [`Stealing`] rule permits.
//! Units with the fewest residents go first, then those with the lowest number. A unit waits while
//! its next work-group does not fit. Bound work-groups are never stolen.
//!
//! With queues in memory, the scheduler holds the first entries of each queue. A new work-group is
//! held too if its whole queue is held and there is room; otherwise it is written to memory. A unit
//! that takes an entry not held waits for one access, which also fetches the entries behind it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{SpecError, State, Statistics};

use super::{QueueEnd, Stealing, UnitQueues};
use crate::memory::LINE_BYTES_MAX;
use crate::work_group_scheduler::{
    Candidates, Kernel, Machine, Placement, PlacementChoice, PlacementSite, QueueAccess,
};

/// Size of an entry in bytes: number of the kernel and of the work-group (LASER paper, section 6).
pub(super) const ENTRY_BYTES: u32 = 8;

/// Stealing and storage of the units' work-group queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueuesSpec {
    /// Queues from which a unit takes whose own queue is empty. Source: LASER paper, sections 5 and
    /// 6, which say neither when a unit may steal nor from which queue.
    #[serde(default)]
    pub stealing: Stealing,
    /// Queues in memory, behind the scheduler's port `memory`; absent: in the scheduler.
    #[serde(default)]
    pub memory: Option<QueueMemorySpec>,
}

/// Placement of the work-group queues in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueMemorySpec {
    /// Byte address of unit 0's queue, a multiple of 128; those of the other units follow.
    pub base: u64,
    /// Size of each queue in bytes, a multiple of 128; it is a ring buffer of 8-byte entries.
    /// Source: own choice.
    #[serde(default = "page")]
    pub bytes_per_queue: u32,
    /// Entries at the head of each queue that the scheduler holds, and that one access fetches, 1
    /// to 16. Source: own choice, the LASER paper states no cost.
    #[serde(default = "four")]
    pub entries_on_chip: u32,
}

fn page() -> u32 {
    4096
}

fn four() -> u32 {
    4
}

/// Checks the parameters of queues in memory.
pub(super) fn check_memory(memory: &QueueMemorySpec, site: PlacementSite) -> Result<(), SpecError> {
    let lines = |field: &str, number: u64| {
        SpecError::require(number.is_multiple_of(128), field, || {
            format!("{number} must be a multiple of 128")
        })
    };
    lines("memory.base", memory.base)?;
    lines("memory.bytes_per_queue", memory.bytes_per_queue.into())?;
    SpecError::in_range("memory.bytes_per_queue", memory.bytes_per_queue, 128..)?;
    SpecError::in_range("memory.entries_on_chip", memory.entries_on_chip, 1..=16)?;
    let bytes = u64::from(site.units()) * u64::from(memory.bytes_per_queue);
    let fits = memory.base.checked_add(bytes).is_some();
    SpecError::require(fits, "memory.base", || {
        "it leaves no room below the end of the address space".to_owned()
    })
}

/// Appends the write of an entry, merged with the previous write if that ends at the entry and in
/// its line.
pub(super) fn push_write(writes: &mut Vec<QueueAccess>, address: u64) {
    let line = |address: u64| address / u64::from(LINE_BYTES_MAX);
    if let Some(last) = writes.last_mut()
        && last.address + u64::from(last.bytes) == address
        && line(last.address) == line(address)
    {
        last.bytes += ENTRY_BYTES;
        return;
    }
    writes.push(QueueAccess {
        address,
        bytes: ENTRY_BYTES,
        write: true,
    });
}

/// Work-group in the queue of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) kernel: u32,
    pub(super) work_group: u32,
    pub(super) tie: Tie,
}

/// Tie of a work-group to the unit of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Tie {
    /// The queue was chosen for its length.
    None,
    /// The queue is that of a parent or sibling, but any unit may take the work-group.
    Preferred,
    /// No other unit may take the work-group.
    Bound,
}

/// Work-group queues, one per unit, with their storage.
#[derive(State, Statistics)]
pub(super) struct Queued {
    #[state(skip)]
    spec: QueuesSpec,
    pub(super) queues: UnitQueues<Entry>,
    /// Number of entries taken from the head of each unit's queue so far.
    #[state(array)]
    taken: Vec<u64>,
    /// Number of head entries of each queue held in the scheduler, if the queues are in memory.
    #[state(array)]
    on_chip: Vec<u32>,
    /// work-groups stolen from the queue of another unit
    #[statistic(name = "work_groups_stolen", unit = "work-groups")]
    stolen: u64,
    /// work-groups that run on the unit to which they were assigned for their reuse
    #[statistic(name = "work_groups_bound", unit = "work-groups")]
    bound: u64,
    /// Lines of new entries that are not held in the scheduler.
    #[state(skip)]
    written: Vec<QueueAccess>,
}

impl Queued {
    /// Creates empty queues for all units.
    pub(super) fn new(spec: QueuesSpec, site: PlacementSite) -> Result<Self, SpecError> {
        if let Some(memory) = &spec.memory {
            check_memory(memory, site)?;
        }
        let units = site.units();
        Ok(Self {
            spec,
            queues: UnitQueues::new(units),
            taken: vec![0; units as usize],
            on_chip: vec![0; units as usize],
            stolen: 0,
            bound: 0,
            written: Vec::new(),
        })
    }

    /// True if the queues are in memory.
    pub(super) fn needs_memory(&self) -> bool {
        self.spec.memory.is_some()
    }

    /// Returns the unit with the shortest queue; ties go to the lowest.
    pub(super) fn shortest(&self) -> u32 {
        self.queues.shortest()
    }

    /// Appends a work-group of a kernel to a unit's queue.
    pub(super) fn push(&mut self, unit: u32, entry: Entry) {
        self.queues.push(unit, entry);
        self.enter(unit, 1);
    }

    /// Appends all work-groups of a kernel to the queue of a unit to which they are tied. Without
    /// one, each enters the queue that is shortest at that point.
    pub(super) fn append(&mut self, kernel: &Kernel<'_>, to: Option<(u32, Tie)>) {
        let entries = (0..kernel.work_groups()).map(|work_group| Entry {
            kernel: kernel.number(),
            work_group,
            tie: to.map_or(Tie::None, |(_, tie)| tie),
        });
        if let Some((unit, _)) = to {
            entries.for_each(|entry| self.push(unit, entry));
            return;
        }
        let units = 0..self.queues.units();
        let before: Vec<_> = units.clone().map(|unit| self.queues.len(unit)).collect();
        self.queues.push_to_shortest(entries);
        for (unit, before) in units.zip(before) {
            self.enter(unit, (self.queues.len(unit) - before) as u32);
        }
    }

    /// Handles the last `count` entries of a queue, which are new: those without room in the
    /// scheduler are written to memory.
    fn enter(&mut self, unit: u32, count: u32) {
        let Some(memory) = self.spec.memory else {
            return;
        };
        let after = self.queues.len(unit);
        let before = after - count as usize;
        let on_chip = &mut self.on_chip[unit as usize];
        if *on_chip as usize == before {
            *on_chip = memory.entries_on_chip.min(after as u32);
        }
        for place in before.max(*on_chip as usize)..after {
            let address = self.address(&memory, unit, place);
            push_write(&mut self.written, address);
        }
    }

    /// Moves the pending writes to memory into `writes`.
    pub(super) fn entries(&mut self, writes: &mut Vec<QueueAccess>) {
        writes.append(&mut self.written);
    }

    /// True if units may take from the tail of this queue.
    fn permits_theft(&self, victim: u32, machine: &Machine) -> bool {
        let is_bound = |entry: &Entry| entry.tie == Tie::Bound;
        if self
            .queues
            .peek(QueueEnd::Tail(victim))
            .is_some_and(is_bound)
        {
            return false;
        }
        self.spec.stealing.permits(self.queues.len(victim), || {
            let head = self.queues.peek(QueueEnd::Head(victim));
            head.is_some_and(|head| machine.room(victim, head.kernel) > 0)
        })
    }

    /// Returns the next placement to make; see the [module](self).
    pub(super) fn choose(
        &self,
        machine: &Machine,
        sendable: &mut dyn FnMut(u32) -> bool,
    ) -> PlacementChoice<Placement> {
        let mut candidates = Candidates::new();
        let owners_first = self.spec.stealing.owners_precede();
        for unit in 0..machine.site().units() {
            let resident = machine.resident(unit);
            let has_slot = resident < machine.limits().work_group_slots;
            let next = self.queues.source(unit, |victim| {
                has_slot && self.permits_theft(victim, machine)
            });
            let entry = next.and_then(|from| Some((from, self.queues.peek(from)?)));
            let Some((from, entry)) = entry else {
                if has_slot {
                    candidates.add_held_back();
                }
                continue;
            };
            if machine.room(unit, entry.kernel) == 0 {
                continue;
            }
            if !sendable(unit) {
                candidates.add_busy();
                continue;
            }
            let placement = Placement {
                kernel: entry.kernel,
                work_group: entry.work_group,
                unit,
            };
            let is_theft = matches!(from, QueueEnd::Tail(_));
            candidates.add((owners_first && is_theft, resident), placement);
        }
        candidates.choice()
    }

    /// Removes a chosen work-group from its queue, which may need a memory access.
    pub(super) fn take(&mut self, chosen: Placement, accesses: &mut Vec<QueueAccess>) {
        let is_chosen = |from: &QueueEnd| {
            let entry = self.queues.peek(*from);
            entry.is_some_and(|e| (e.kernel, e.work_group) == (chosen.kernel, chosen.work_group))
        };
        let tails = (0..self.queues.units()).map(QueueEnd::Tail);
        let mut ends = std::iter::once(QueueEnd::Head(chosen.unit)).chain(tails);
        let Some(from) = ends.find(is_chosen) else {
            return;
        };
        if let Some(memory) = self.spec.memory {
            if !self.is_on_chip(from) {
                let address = match from {
                    QueueEnd::Head(unit) => self.address(&memory, unit, 0),
                    QueueEnd::Tail(unit) => self.address(&memory, unit, self.queues.len(unit) - 1),
                };
                accesses.push(QueueAccess {
                    address,
                    bytes: 4,
                    write: false,
                });
            }
            let held = memory.entries_on_chip;
            match from {
                QueueEnd::Head(unit) => {
                    let length = self.queues.len(unit) as u32;
                    let on_chip = &mut self.on_chip[unit as usize];
                    if *on_chip == 0 {
                        *on_chip = held.min(length);
                    }
                    *on_chip -= 1;
                    self.taken[unit as usize] += 1;
                }
                QueueEnd::Tail(unit) => {
                    let left = self.queues.len(unit) as u32 - 1;
                    let on_chip = &mut self.on_chip[unit as usize];
                    *on_chip = left.min(*on_chip);
                }
            }
        }
        let is_own = matches!(from, QueueEnd::Head(_));
        self.stolen += u64::from(!is_own);
        let taken = self.queues.take(from);
        let is_tied = taken.is_some_and(|entry| entry.tie != Tie::None);
        self.bound += u64::from(is_own && is_tied);
    }

    /// Returns the address of the entry `place` positions behind the head of the queue of `unit`.
    fn address(&self, memory: &QueueMemorySpec, unit: u32, place: usize) -> u64 {
        let entry = self.taken[unit as usize] + place as u64;
        let offset = entry * u64::from(ENTRY_BYTES) % u64::from(memory.bytes_per_queue);
        memory.base + u64::from(unit) * u64::from(memory.bytes_per_queue) + offset
    }

    /// True if the entry is already in the scheduler.
    fn is_on_chip(&self, from: QueueEnd) -> bool {
        match from {
            QueueEnd::Head(unit) => self.on_chip[unit as usize] > 0,
            QueueEnd::Tail(unit) => self.queues.len(unit) <= self.on_chip[unit as usize] as usize,
        }
    }
}
