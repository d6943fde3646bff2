//! Plan of a loop: the loads that are prefetched, and the instructions that do so.

use serde::{Deserialize, Serialize};
use warpweave_trace::{Class, Code, Instruction, RegisterSet};

use super::distance::RegisterNeeds;
use super::slices::outer_reads;
use crate::compute_unit::decoded::{Addition, Additions};
use crate::compute_unit::registers::Numbering;
use crate::compute_unit::spec::spare_registers::DISTANCE_MAX;
use crate::compute_unit::spec::{
    ComputeUnitSpec, HeadSequence, SpareRegistersSpec, TailPrefetches,
};
use crate::memory::flags;

pub(super) const PAIRS_MAX: usize = 2;
/// Registers that prefetches use, as the scoreboard counts them: a place for each head and tail and
/// distance, and one for addresses.
pub(super) const REGISTERS: u16 = (2 * PAIRS_MAX * DISTANCE_MAX + 1) as u16;
const FOR_ADDRESSES: u16 = REGISTERS - 1;

/// Role of a load in a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LoadRole {
    /// Its address has a stride from iteration to iteration.
    Head,
    /// Its address depends on the value of the head.
    Tail,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Target {
    pub(super) pc: u32,
    pub(super) slice: Vec<u32>,
}

/// A head with the tail that depends on it, if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pair {
    pub(super) head: Target,
    pub(super) tail: Option<Target>,
}

/// Loads of one loop that are prefetched.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Launch for which it was made first; others of the same code share it.
    pub(super) kernel: u32,
    /// Index of the code's first decoded instruction.
    pub(super) base: u32,
    pub(super) header: u32,
    pub(super) pairs: Vec<Pair>,
    /// Instructions that begin another iteration, if lanes may leave the loop elsewhere.
    pub(super) latches: Vec<u32>,
}

/// Instructions that prefetch one load into one place.
#[derive(Clone, Debug)]
pub(super) struct PlaceEntries {
    pub(super) before: Vec<u32>,
    /// Loads the value, or prefetches it into the caches.
    pub(super) load: u32,
    /// Stands in for the program's load; absent if that one stays.
    pub(super) replacement: Option<u32>,
}

/// Instructions of a pair by place.
#[derive(Clone, Debug)]
pub(super) struct PairEntries {
    pub(super) head: Vec<PlaceEntries>,
    pub(super) tail: Vec<PlaceEntries>,
}

impl Pair {
    pub(super) fn target(&self, role: LoadRole) -> Option<&Target> {
        match role {
            LoadRole::Head => Some(&self.head),
            LoadRole::Tail => self.tail.as_ref(),
        }
    }

    /// True if prefetches of the load go to registers.
    fn is_in_registers(&self, role: LoadRole, tails: TailPrefetches) -> bool {
        tails == TailPrefetches::Registers || role == LoadRole::Head && self.tail.is_some()
    }
}

impl PairEntries {
    pub(super) fn of(&self, role: LoadRole) -> &[PlaceEntries] {
        match role {
            LoadRole::Head => &self.head,
            LoadRole::Tail => &self.tail,
        }
    }
}

impl Plan {
    /// True if both prefetch the same loads of the same code.
    pub(super) fn equals(&self, other: &Self) -> bool {
        (self.base, self.header) == (other.base, other.header) && self.pairs == other.pairs
    }

    /// Returns the pair and role of an instruction that is prefetched.
    pub(super) fn role_of(&self, pc: u32) -> Option<(usize, LoadRole)> {
        self.pairs.iter().enumerate().find_map(|(number, pair)| {
            if pair.head.pc == pc {
                return Some((number, LoadRole::Head));
            }
            let is_tail = pair.tail.as_ref().is_some_and(|tail| tail.pc == pc);
            is_tail.then_some((number, LoadRole::Tail))
        })
    }

    /// Returns the registers that the plan needs.
    pub(super) fn needs(&self, code: &Code, spec: &SpareRegistersSpec) -> RegisterNeeds {
        let mut needs = RegisterNeeds::default();
        for pair in &self.pairs {
            for role in [LoadRole::Head, LoadRole::Tail] {
                let Some(target) = pair.target(role) else {
                    continue;
                };
                let load = code.instructions.get(target.pc as usize);
                if pair.is_in_registers(role, spec.tails) {
                    let bytes = load.map_or(4, |load| u32::from(load.access_bytes));
                    needs.per_iteration += bytes.div_ceil(4).max(1);
                }
                let is_wide = target.slice.last().is_some_and(|pc| {
                    let last = code.instructions.get(*pc as usize);
                    last.is_some_and(|last| last.writes.len() > 1)
                });
                if role == LoadRole::Tail && is_wide {
                    needs.for_addresses = spec.address_registers;
                }
            }
        }
        needs
    }

    /// Adds the instructions that carry out the plan.
    pub(super) fn add_to(
        &self,
        additions: &mut Additions,
        code: &Code,
        spec: &SpareRegistersSpec,
        unit: &ComputeUnitSpec,
    ) -> Vec<PairEntries> {
        let mut builder = Builder {
            additions,
            code,
            numbering: Numbering::of(code),
            spec,
            unit,
            base: self.base,
            stands_for: self.base,
        };
        let pairs = self.pairs.iter().enumerate();
        pairs
            .map(|(number, pair)| PairEntries {
                head: builder.places(number, pair, LoadRole::Head),
                tail: builder.places(number, pair, LoadRole::Tail),
            })
            .collect()
    }
}

/// Adds the instructions of a plan.
struct Builder<'a> {
    additions: &'a mut Additions,
    code: &'a Code,
    numbering: Numbering,
    spec: &'a SpareRegistersSpec,
    unit: &'a ComputeUnitSpec,
    base: u32,
    /// Decoded instruction of the load that is prefetched.
    stands_for: u32,
}

/// Register of the scoreboard for a load of a pair at a place.
fn register(pair: usize, role: LoadRole, place: usize) -> u16 {
    let load = 2 * pair + usize::from(role == LoadRole::Tail);
    (load * DISTANCE_MAX + place) as u16
}

impl Builder<'_> {
    fn places(&mut self, number: usize, pair: &Pair, role: LoadRole) -> Vec<PlaceEntries> {
        let Some(target) = pair.target(role) else {
            return Vec::new();
        };
        let code = self.code;
        let Some(load) = code.instructions.get(target.pc as usize) else {
            return Vec::new();
        };
        self.stands_for = self.base + target.pc;
        let in_registers = pair.is_in_registers(role, self.spec.tails);
        (0..DISTANCE_MAX)
            .map(|place| {
                let own = register(number, role, place);
                let address = if in_registers && self.spec.address_registers == 0 {
                    own
                } else {
                    FOR_ADDRESSES
                };
                let (before, from) = match role {
                    LoadRole::Head => self.head_address(target, load, address),
                    LoadRole::Tail => {
                        let head = register(number, LoadRole::Head, place);
                        self.tail_address(pair, target, head, address)
                    }
                };
                let mut injected = Instruction {
                    writes: RegisterSet::EMPTY,
                    ..load.clone()
                };
                if from.is_some() {
                    injected.reads = RegisterSet::EMPTY;
                }
                if !in_registers {
                    injected.class = Class::Prefetch;
                }
                PlaceEntries {
                    before,
                    load: self.add(&injected, from, in_registers.then_some(own)),
                    replacement: in_registers.then(|| self.replacement(load, own)),
                }
            })
            .collect()
    }

    /// Adds the move that stands in for a load.
    fn replacement(&mut self, load: &Instruction, from: u16) -> u32 {
        let moves = Instruction {
            writes: load.writes,
            ..Instruction::new("mov", Class::IntAdd)
        };
        self.add(&moves, Some(from), None)
    }

    /// Adds the computation of a strided address, if it is injected. Returns it, and the register
    /// that holds the address.
    fn head_address(
        &mut self,
        target: &Target,
        load: &Instruction,
        address: u16,
    ) -> (Vec<u32>, Option<u16>) {
        if self.spec.head_sequence == HeadSequence::Offset {
            return (Vec::new(), None);
        }
        let index = Instruction {
            reads: load.reads,
            ..Instruction::new("add", Class::IntAdd)
        };
        let mut before = vec![self.add(&index, None, Some(address))];
        for pc in &target.slice {
            before.push(self.arithmetic(target, *pc, *pc, address, address));
        }
        (before, Some(address))
    }

    /// Adds the computation of an address from the value of a head. Returns it, and the register
    /// that holds the address.
    fn tail_address(
        &mut self,
        pair: &Pair,
        target: &Target,
        head: u16,
        address: u16,
    ) -> (Vec<u32>, Option<u16>) {
        let mut from = head;
        let mut before = Vec::new();
        for pc in &target.slice {
            before.push(self.arithmetic(target, pair.head.pc, *pc, from, address));
            from = address;
        }
        (before, Some(from))
    }

    /// Adds an instruction of a slice.
    fn arithmetic(&mut self, target: &Target, start: u32, pc: u32, from: u16, to: u16) -> u32 {
        let reads = outer_reads(self.code, &target.slice, start, pc);
        let original = self.code.instructions.get(pc as usize);
        let made = Instruction {
            reads: reads.into_iter().collect(),
            ..Instruction::new("slice", original.map_or(Class::IntAdd, |i| i.class))
        };
        self.add(&made, Some(from), Some(to))
    }

    fn add(&mut self, instruction: &Instruction, reads: Option<u16>, writes: Option<u16>) -> u32 {
        let addition = Addition {
            instruction,
            stands_for: self.stands_for,
            reads,
            writes,
            flags: flags::INJECTED,
        };
        self.additions
            .add(&addition, self.code, &self.numbering, self.unit)
    }
}
