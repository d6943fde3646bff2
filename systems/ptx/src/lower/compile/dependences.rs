//! Dependences between the instructions of a basic block, and the registers that live in it.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::alloc::{File, Set};
use crate::lower::names::{Base, Body, Operand, Resolved, Value};
use crate::lower::opcodes::{self, Group};
use crate::site::Symbol;
use crate::types::ScalarType;

/// Instructions of a basic block that may change places, as a graph of dependences.
#[derive(Default)]
pub(super) struct Region {
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
    feeds_load: Vec<bool>,
    latencies: Vec<u32>,
    /// Values that each instruction reads, each once, and writes.
    reads: Vec<Vec<usize>>,
    writes: Vec<Vec<usize>>,
    /// Registers that each value takes, its readers, and if it lives on behind the region.
    values: Vec<LiveValue>,
    /// Registers that live before the region.
    live_before: u32,
}

#[derive(Clone, Copy)]
struct LiveValue {
    weight: u32,
    readers: u32,
    lives_on: bool,
}

/// Registers that live while a region is put in order.
pub(super) struct Pressure {
    now: u32,
    left: Vec<u32>,
}

impl Region {
    /// Analyses the instructions of a range; `live` holds the registers that live after it.
    pub(super) fn of(body: &Body<'_>, files: &[File], range: Range<usize>, live: &Set) -> Self {
        let mut region = Self {
            before: vec![Vec::new(); range.len()],
            after: vec![Vec::new(); range.len()],
            feeds_load: vec![false; range.len()],
            ..Self::default()
        };
        let mut values = Numbering::default();
        let mut memory: Vec<(usize, Access)> = Vec::new();
        for (at, index) in range.clone().enumerate() {
            let instruction = &body.instructions[index];
            let effects = &body.effects[index];
            region.latencies.push(latency(instruction));
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            let kept = if effects.guarded {
                &effects.writes[..]
            } else {
                &[]
            };
            for &register in effects.reads.iter().chain(kept) {
                let value = values.current(register, files, &mut region);
                if !reads.contains(&value) {
                    reads.push(value);
                    region.values[value].readers += 1;
                }
                region.order(values.writer(register), at);
                values.read(register, at);
            }
            let (reads_carry, writes_carry) = carry(instruction.opcode);
            if reads_carry {
                region.order(values.writer(CARRY), at);
                values.read(CARRY, at);
            }
            if writes_carry {
                region.order(values.writer(CARRY), at);
                for read in values.readers(CARRY) {
                    region.order(Some(read), at);
                }
                values.write(CARRY, at, usize::MAX);
            }
            let access = Access::of(instruction, &values);
            for &register in &effects.writes {
                region.order(values.writer(register), at);
                values
                    .readers(register)
                    .into_iter()
                    .for_each(|read| region.order(Some(read), at));
                let value = region.values.len();
                region.values.push(LiveValue {
                    weight: weight(files[register as usize]),
                    readers: 0,
                    lives_on: false,
                });
                values.write(register, at, value);
                writes.push(value);
            }
            if let Some(access) = access {
                for (earlier, other) in &memory {
                    if access.conflicts(other) {
                        region.order(Some(*earlier), at);
                    }
                }
                memory.push((at, access));
            }
            region.reads.push(reads);
            region.writes.push(writes);
        }
        live.for_each(|register| {
            let value = values.current(register, files, &mut region);
            region.values[value].lives_on = true;
        });
        region.mark_loads(&body.instructions[range]);
        region
    }

    fn order(&mut self, earlier: Option<usize>, later: usize) {
        if let Some(earlier) = earlier
            && earlier != later
            && !self.before[later].contains(&earlier)
        {
            self.before[later].push(earlier);
            self.after[earlier].push(later);
        }
    }

    /// Marks the loads and what they need.
    fn mark_loads(&mut self, instructions: &[Resolved<'_>]) {
        for at in (0..instructions.len()).rev() {
            self.feeds_load[at] |= is_load(&instructions[at]);
            if self.feeds_load[at] {
                for index in 0..self.before[at].len() {
                    let before = self.before[at][index];
                    self.feeds_load[before] = true;
                }
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.before.len()
    }

    pub(super) fn before(&self, at: usize) -> &[usize] {
        &self.before[at]
    }

    pub(super) fn after(&self, at: usize) -> &[usize] {
        &self.after[at]
    }

    /// True for loads, and for instructions before which no load can come.
    pub(super) fn feeds_load(&self, at: usize) -> bool {
        self.feeds_load[at]
    }

    pub(super) fn latency(&self, at: usize) -> u32 {
        self.latencies[at]
    }

    pub(super) fn pressure(&self) -> Pressure {
        Pressure {
            now: self.live_before,
            left: self.values.iter().map(|value| value.readers).collect(),
        }
    }

    /// Returns the most registers that live at once in an order.
    pub(super) fn peak(&self, order: &[usize]) -> u32 {
        let mut pressure = self.pressure();
        let mut peak = pressure.now;
        for &at in order {
            peak = peak.max(pressure.after(self, at));
            pressure.issue(self, at);
        }
        peak
    }
}

impl Pressure {
    /// Returns the registers that live when an instruction has written its results.
    pub(super) fn after(&self, region: &Region, at: usize) -> u32 {
        let written: u32 = region.writes[at]
            .iter()
            .map(|&value| region.values[value].weight)
            .sum();
        let freed = region.reads[at]
            .iter()
            .map(|&value| self.freed(region, value, 1));
        (self.now + written).saturating_sub(freed.sum())
    }

    /// Returns the registers that a value gives back once `reads` more of its readers are done.
    fn freed(&self, region: &Region, value: usize, reads: u32) -> u32 {
        let LiveValue {
            weight, lives_on, ..
        } = region.values[value];
        if lives_on || self.left[value] > reads {
            0
        } else {
            weight
        }
    }

    pub(super) fn issue(&mut self, region: &Region, at: usize) {
        self.now = self.after(region, at);
        for &value in &region.reads[at] {
            self.left[value] -= 1;
        }
        for &value in &region.writes[at] {
            // A result that nothing reads is gone at once.
            if region.values[value].readers == 0 {
                self.now = self.now.saturating_sub(self.freed(region, value, 0));
            }
        }
    }
}

/// The carry flag, as a register beside those of the function.
const CARRY: u32 = u32::MAX;

/// Returns if an opcode reads the carry flag, and if it writes it.
fn carry(opcode: &str) -> (bool, bool) {
    let reads = matches!(opcodes::base(opcode), "addc" | "subc" | "madc");
    (reads, opcodes::has(opcode, "cc"))
}

/// Current value, last writer and readers of each register.
#[derive(Default)]
struct Numbering {
    states: BTreeMap<u32, State>,
}

#[derive(Clone, Default)]
struct State {
    value: usize,
    writer: Option<usize>,
    readers: Vec<usize>,
}

impl Numbering {
    /// Returns the number of the current value of a register, which may be from before the region.
    fn current(&mut self, register: u32, files: &[File], region: &mut Region) -> usize {
        if let Some(state) = self.states.get(&register) {
            return state.value;
        }
        let weight = weight(files[register as usize]);
        let value = region.values.len();
        region.values.push(LiveValue {
            weight,
            readers: 0,
            lives_on: false,
        });
        region.live_before += weight;
        self.states.insert(
            register,
            State {
                value,
                ..State::default()
            },
        );
        value
    }

    fn value(&self, register: u32) -> Option<usize> {
        self.states.get(&register).map(|state| state.value)
    }

    fn writer(&self, register: u32) -> Option<usize> {
        self.states.get(&register)?.writer
    }

    fn readers(&self, register: u32) -> Vec<usize> {
        let state = self.states.get(&register);
        state.map_or_else(Vec::new, |state| state.readers.clone())
    }

    fn read(&mut self, register: u32, at: usize) {
        self.states.entry(register).or_default().readers.push(at);
    }

    fn write(&mut self, register: u32, at: usize, value: usize) {
        let state = State {
            value,
            writer: Some(at),
            readers: Vec::new(),
        };
        self.states.insert(register, state);
    }
}

/// True if an instruction loads from memory, other than an argument.
fn is_load(instruction: &Resolved<'_>) -> bool {
    let opcode = instruction.opcode;
    let group = opcodes::entry(opcode).map(|opcode| opcode.group);
    match group {
        Some(Group::Load) => !opcodes::has(opcode, "param"),
        Some(Group::TextureRead) => true,
        _ => false,
    }
}

/// Returns the cycles after which a result is expected. Only their order matters: what waits for a
/// load comes after what does not.
fn latency(instruction: &Resolved<'_>) -> u32 {
    match opcodes::base(instruction.opcode) {
        _ if is_load(instruction) => 32,
        "div" | "rem" => 40,
        "sqrt" | "rsqrt" | "rcp" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => 20,
        "cvt" => 8,
        _ => 4,
    }
}

/// Returns the registers of 32 bits that a value takes; predicates have their own.
fn weight(file: File) -> u32 {
    match file {
        File::Predicate => 0,
        file => file.width(),
    }
}

/// Memory that an instruction may touch.
struct Access {
    space: AccessSpace,
    writes: bool,
    /// True if the program promises that nothing writes what it loads.
    is_read_only: bool,
    /// True if no other access may change places with it.
    is_ordered: bool,
    /// Base and bytes behind it, if they are known.
    place: Option<(Anchor, Range<i64>)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AccessSpace {
    Global,
    Shared,
    Local,
    /// May be any of the others.
    Generic,
}

/// Start of an address: those with equal anchors differ by their offsets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Value(usize),
    Symbol(Symbol),
    Zero,
}

impl Access {
    /// Returns what an instruction accesses; nothing changes what loads of constants return.
    fn of(instruction: &Resolved<'_>, values: &Numbering) -> Option<Self> {
        let opcode = instruction.opcode;
        let has = |word: &str| opcodes::has(opcode, word);
        let writes = match opcodes::entry(opcode).map(|opcode| opcode.group)? {
            Group::Load => false,
            Group::Store | Group::Atomic => true,
            Group::TextureRead => {
                return Some(Self {
                    space: AccessSpace::Global,
                    writes: false,
                    is_read_only: false,
                    is_ordered: false,
                    place: None,
                });
            }
            _ => return None,
        };
        let is_atomic = matches!(opcodes::base(opcode), "atom" | "red");
        if has("const") {
            return None;
        }
        // Nothing writes arguments of a kernel.
        let is_argument = |operand: &Operand| {
            matches!(
                operand.value,
                Value::Address(Base::Symbol(Symbol::Argument(_)), _)
            )
        };
        if instruction.operands.iter().any(is_argument) {
            return None;
        }
        let space = if has("global") {
            AccessSpace::Global
        } else if has("shared") || has("shared::cta") {
            AccessSpace::Shared
        } else if ["local", "param", "param::func"].into_iter().any(has) {
            // Parameters of a function are in private memory, too.
            AccessSpace::Local
        } else {
            AccessSpace::Generic
        };
        Some(Self {
            space,
            writes,
            is_read_only: has("nc") || opcodes::base(opcode) == "ldu",
            is_ordered: is_atomic || opcodes::is_ordered(opcode),
            place: place(instruction, values),
        })
    }

    /// True if the two must keep their order.
    fn conflicts(&self, other: &Self) -> bool {
        if self.is_ordered || other.is_ordered {
            return true;
        }
        if !self.writes && !other.writes {
            return false;
        }
        let is_generic = |access: &Self| access.space == AccessSpace::Generic;
        if self.space != other.space && !is_generic(self) && !is_generic(other) {
            return false;
        }
        match (&self.place, &other.place) {
            (Some((one, a)), Some((two, b))) if one == two => a.start < b.end && b.start < a.end,
            // The promise is not kept where the text itself shows it.
            (Some(_), Some(_)) => !self.is_read_only && !other.is_read_only,
            _ => true,
        }
    }
}

fn place(instruction: &Resolved<'_>, values: &Numbering) -> Option<(Anchor, Range<i64>)> {
    let is_address = |operand: &&Operand| matches!(operand.value, Value::Address(..));
    let operand = instruction.operands.iter().find(is_address)?;
    let Value::Address(base, offset) = operand.value else {
        return None;
    };
    let anchor = match base {
        Base::Register(register) => Anchor::Value(values.value(register)?),
        Base::Symbol(symbol) => Anchor::Symbol(symbol),
        Base::Absolute => Anchor::Zero,
    };
    let mut words = instruction.opcode.split('.');
    let count = words.clone().find_map(|word| match word {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    });
    let bytes = words.find_map(ScalarType::from_name)?.bytes();
    let end = offset.checked_add(i64::from(bytes) * count.unwrap_or(1))?;
    Some((anchor, offset..end))
}
