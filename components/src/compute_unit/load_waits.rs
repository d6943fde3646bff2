//! Meter of the cycles for which wavefronts wait for loaded values, by load.
//!
//! ```text
//!   the instruction before issued, the wavefront resumed, its instruction or another operand came
//!      │
//!      ▼ nothing is missing but the values of one load                       they are in registers
//!      ├────────────────────────── wait of that load ──────────────────────────────┤
//! ```
//!
//! A wavefront issues in order. Its next instruction is therefore the first that depends on a load
//! that it waits for. Of several operands, the one that comes last has the wait. A move that stands
//! in for a load, and an instruction injected behind it, wait for the load that they stand for.

use std::collections::BTreeMap;

use warpweave_framework::{Cycle, Instrumented, State, Statistics};
use warpweave_trace::{Class, Instruction, Program, Space};

use super::decoded::DecodedProgram;
use super::spare_registers::LoadRole;
use super::spec::ComputeUnitSpec;

/// Names of the waits by role, in the order of [`index_of`].
const BY_ROLE: [(&str, &str, &str); 3] = {
    let meaning =
        "cycles for which a wavefront waited for nothing but a load with the role in the name";
    [
        ("load_wait_head", "cycles", meaning),
        ("load_wait_tail", "cycles", meaning),
        ("load_wait_other", "cycles", meaning),
    ]
};

/// Number of instructions that are reported under no name of their own.
const UNNAMED: u32 = u32::MAX;

/// Name of a load in reports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LoadName {
    /// Kernel, and line of its source.
    Line(String, u32),
    /// Kernel, and number of the instruction, where no line is known.
    Instruction(String, u32),
}

/// Waits of the wavefronts of a unit.
#[derive(State)]
pub(crate) struct LoadWaits {
    /// First cycle in which the next instruction could issue without a wait for a load, by
    /// wavefront slot. Results of execution units are not counted here.
    since: Vec<Cycle>,
    /// Cycles waited, by number of the name.
    cycles: Vec<u64>,
    by_role: [u64; BY_ROLE.len()],
    #[state(skip)]
    names: Vec<LoadName>,
    /// Number of the name of each instruction of the program.
    #[state(skip)]
    name_of: Vec<u32>,
    /// True if the unit knows of roles.
    #[state(skip)]
    has_roles: bool,
}

fn index_of(role: Option<LoadRole>) -> usize {
    match role {
        Some(LoadRole::Head) => 0,
        Some(LoadRole::Tail) => 1,
        None => 2,
    }
}

/// True if an instruction may write registers with what a memory outside the unit answers.
fn is_answered(instruction: &Instruction, spec: &ComputeUnitSpec) -> bool {
    let stays_inside = match instruction.space {
        Space::Shared => true,
        Space::Const | Space::Param => spec.constants.is_none(),
        _ => false,
    };
    matches!(instruction.class, Class::Load | Class::Atomic)
        && !instruction.writes.is_empty()
        && !stays_inside
}

impl LoadWaits {
    pub(crate) fn new(spec: &ComputeUnitSpec, program: &Program, decoded: &DecodedProgram) -> Self {
        let mut numbers = BTreeMap::new();
        let mut named = Vec::new();
        for (kernel, base) in program.kernels.iter().zip(&*decoded.bases) {
            let code = &kernel.code;
            for (pc, instruction) in (0..).zip(&code.instructions) {
                if is_answered(instruction, spec) {
                    let name = match instruction.line {
                        0 => LoadName::Instruction(code.name.clone(), pc),
                        line => LoadName::Line(code.name.clone(), line),
                    };
                    numbers.insert(name.clone(), UNNAMED);
                    named.push((base + pc, name));
                }
            }
        }
        for (number, of_name) in (0..).zip(numbers.values_mut()) {
            *of_name = number;
        }
        let mut name_of = vec![UNNAMED; decoded.instructions.len()];
        for (instruction, name) in named {
            name_of[instruction as usize] = numbers.get(&name).copied().unwrap_or(UNNAMED);
        }
        Self {
            since: vec![0; spec.wavefront_slots as usize],
            cycles: vec![0; numbers.len()],
            by_role: [0; BY_ROLE.len()],
            names: numbers.into_keys().collect(),
            name_of,
            has_roles: spec.spare_registers.is_some(),
        }
    }

    /// Notes that the next instruction of a wavefront does not issue before a cycle, even if it
    /// does not wait for a load.
    #[inline]
    pub(crate) fn note_earliest(&mut self, slot: usize, at: Cycle) {
        self.since[slot] = at;
    }

    /// Counts the wait for an instruction of the program, which ends in cycle `now`. All others of
    /// the wavefront's operands have been there since cycle `others`.
    pub(crate) fn count(
        &mut self,
        slot: usize,
        instruction: u32,
        role: Option<LoadRole>,
        others: Cycle,
        now: Cycle,
    ) {
        let cycles = now.saturating_sub(self.since[slot].max(others));
        self.by_role[index_of(role)] += cycles;
        let name = self.name_of.get(instruction as usize);
        if let Some(of_name) = name.and_then(|name| self.cycles.get_mut(*name as usize)) {
            *of_name += cycles;
        }
    }
}

impl Instrumented for LoadWaits {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        statistics.counter(
            "load_wait",
            "cycles",
            "cycles for which a wavefront waited for nothing but a loaded value, all wavefronts together",
            self.by_role.iter().sum(),
        );
        if self.has_roles {
            statistics.counters(&BY_ROLE, &self.by_role);
        }
        for (name, cycles) in self.names.iter().zip(&self.cycles) {
            let (kernel, kind, number) = match name {
                LoadName::Line(kernel, line) => (kernel, "line", line),
                LoadName::Instruction(kernel, pc) => (kernel, "pc", pc),
            };
            statistics.under(&format!("load_wait_{kernel}"), |statistics| {
                let meaning =
                    "cycles for which a wavefront waited for the load at this place of the kernel";
                let of_load = statistics.at(*number as usize);
                of_load.counter(kind, "cycles", meaning, *cycles);
            });
        }
    }
}
