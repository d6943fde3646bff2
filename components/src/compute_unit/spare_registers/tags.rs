//! Tags of registers: how a value changes from iteration to iteration, and which load it comes
//! from (PRE-M4).

use serde::{Deserialize, Serialize};
use warpweave_trace::{Instruction, Operand, RegisterSet};

/// Change of a value from one iteration to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Change {
    /// Stays the same in every iteration.
    #[default]
    Const,
    /// Grows by a constant in every iteration.
    Stride,
    Random,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tag {
    pub(super) change: Change,
    /// Number of the load that the value comes from, 1 to 3; 0 for none.
    pub(super) load: u8,
}

/// Arithmetic of an instruction, in the groups that tags distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Load,
    Move,
    Add,
    Sub,
    Mul,
    Shl,
    /// Multiplication, then addition of the third operand.
    Mad,
    Choose,
    Other,
}

/// Registers with tags: as many as an instruction can name.
const REGISTERS: usize = 64;
const LOADS_MAX: u8 = 3;

/// Tags of all registers of a unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Tags {
    tags: Vec<Tag>,
    loads: u8,
    literal_table: bool,
}

impl Form {
    pub(super) fn of(instruction: &Instruction) -> Self {
        let mut parts = instruction.opcode.split('.');
        let base = parts.next().unwrap_or_default();
        let has = |names: &[&str]| parts.clone().any(|part| names.contains(&part));
        let is_float = has(&["f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"]);
        match base {
            "ld" | "ldu" => Self::Load,
            _ if is_guarded(instruction) || has(&["hi"]) => Self::Other,
            "setp" | "set" | "selp" | "slct" | "min" | "max" => Self::Choose,
            _ if is_float => Self::Other,
            "mov" | "cvt" | "cvta" => Self::Move,
            "add" => Self::Add,
            "sub" => Self::Sub,
            "mul" | "mul24" => Self::Mul,
            "shl" => Self::Shl,
            "mad" | "mad24" => Self::Mad,
            _ => Self::Other,
        }
    }

    /// True if a tail slice may hold the instruction.
    pub(super) fn is_address_arithmetic(self) -> bool {
        matches!(
            self,
            Self::Move | Self::Add | Self::Sub | Self::Mul | Self::Shl | Self::Mad
        )
    }
}

/// True if a predicate decides whether the instruction takes effect.
fn is_guarded(instruction: &Instruction) -> bool {
    let reads_predicate = |set: &RegisterSet| set.iter().any(|r| r >= RegisterSet::FIRST_PREDICATE);
    let names_predicate = |operand: &Operand| matches!(operand, Operand::Predicate(_));
    reads_predicate(&instruction.reads) && !instruction.operands.iter().any(names_predicate)
}

pub(super) fn general(set: &RegisterSet) -> impl Iterator<Item = u16> + use<> {
    set.iter().filter(|r| *r < RegisterSet::FIRST_PREDICATE)
}

/// Register that holds the address of a load.
pub(super) fn address_register(instruction: &Instruction) -> Option<u16> {
    let read = |operand: &&Operand| matches!(operand, Operand::Register(r) if instruction.reads.contains(*r));
    match instruction.operands.iter().rev().find(read)? {
        Operand::Register(register) => Some(*register),
        _ => None,
    }
}

/// True if a source operand takes two registers.
fn is_wide(instruction: &Instruction, form: Form, operand: usize) -> bool {
    let parts = instruction.opcode.split('.');
    let bits = |part: &str| part.get(1..)?.parse::<u32>().ok();
    let mut types = parts.filter(|part| part.starts_with(['u', 's', 'b']) && bits(part).is_some());
    let last = types.next_back().and_then(bits).unwrap_or(32);
    let widens = instruction.opcode.contains(".wide");
    match form {
        Form::Shl if operand == 2 => false,
        Form::Mad if operand == 3 && widens => true,
        _ => last == 64 && !widens,
    }
}

impl Tags {
    pub(super) fn new(literal_table: bool) -> Self {
        Self {
            tags: vec![Tag::default(); REGISTERS],
            loads: 0,
            literal_table,
        }
    }

    /// Begins a pass: values keep their tags, loads are numbered anew.
    pub(super) fn begin_pass(&mut self) {
        self.loads = 0;
        self.tags.iter_mut().for_each(|tag| tag.load = 0);
    }

    /// Returns the number that the next load gets; 0 if all are taken.
    pub(super) fn next_load(&self) -> u8 {
        if self.loads < LOADS_MAX {
            self.loads + 1
        } else {
            0
        }
    }

    pub(super) fn of(&self, register: u16) -> Tag {
        let unknown = Tag {
            change: Change::Random,
            load: 0,
        };
        self.tags
            .get(usize::from(register))
            .copied()
            .unwrap_or(unknown)
    }

    /// Returns the tag of a load's address.
    pub(super) fn address(&self, instruction: &Instruction) -> Tag {
        let Some(register) = address_register(instruction) else {
            return Tag::default();
        };
        self.value(register, instruction.reads.contains(register + 1))
    }

    /// Returns the tag of a source operand.
    pub(super) fn operand(&self, instruction: &Instruction, operand: usize) -> Tag {
        match instruction.operands.get(operand) {
            Some(Operand::Register(register)) => {
                let form = Form::of(instruction);
                self.value(*register, is_wide(instruction, form, operand))
            }
            Some(Operand::Symbol(name)) if !name.contains("clock") && !name.contains("timer") => {
                Tag::default()
            }
            Some(Operand::Immediate(_) | Operand::Argument(_)) | None => Tag::default(),
            Some(Operand::Symbol(_) | Operand::Predicate(_) | Operand::NotPredicate(_)) => Tag {
                change: Change::Random,
                load: 0,
            },
        }
    }

    fn value(&self, register: u16, is_wide: bool) -> Tag {
        let tag = self.of(register);
        if is_wide && self.of(register + 1) != tag {
            return Tag {
                change: Change::Random,
                load: 0,
            };
        }
        tag
    }

    /// Takes over the effect of an instruction.
    pub(super) fn step(&mut self, instruction: &Instruction) {
        let form = Form::of(instruction);
        let tag = match form {
            Form::Load => {
                let load = self.next_load();
                self.loads = self.loads.max(load);
                Tag {
                    change: Change::Random,
                    load,
                }
            }
            Form::Choose => {
                let mut all = 1..instruction.operands.len();
                let is_const = |at| self.operand(instruction, at).change == Change::Const;
                Tag {
                    change: if all.all(is_const) {
                        Change::Const
                    } else {
                        Change::Random
                    },
                    load: 0,
                }
            }
            Form::Other => Tag {
                change: Change::Random,
                load: 0,
            },
            _ => self.arithmetic(instruction, form),
        };
        for register in general(&instruction.writes) {
            if let Some(place) = self.tags.get_mut(usize::from(register)) {
                *place = tag;
            }
        }
    }

    fn arithmetic(&self, instruction: &Instruction, form: Form) -> Tag {
        let count = if form == Form::Mad { 3 } else { 2 };
        let count = if form == Form::Move { 1 } else { count };
        let tags: Vec<_> = (1..=count)
            .map(|at| self.operand(instruction, at))
            .collect();
        let is_self = |at: usize| instruction.operands.get(at) == instruction.operands.first();
        let change = match form {
            _ if tags.iter().any(|tag| tag.change == Change::Random) => Change::Random,
            Form::Move => tags[0].change,
            Form::Mad => {
                let factors = (tags[0].change, tags[1].change);
                let product = self.combine(Form::Mul, factors, [is_self(1), is_self(2)]);
                if is_self(1) || is_self(2) {
                    product
                } else {
                    self.combine(Form::Add, (product, tags[2].change), [false, is_self(3)])
                }
            }
            _ => {
                let both = (tags[0].change, tags[1].change);
                self.combine(form, both, [is_self(1), is_self(2)])
            }
        };
        let mut loads = tags.iter().map(|tag| tag.load).filter(|load| *load != 0);
        let first = loads.next().unwrap_or(0);
        let load = if loads.all(|load| load == first) {
            first
        } else {
            0
        };
        Tag { change, load }
    }

    /// Returns the change of a result by those of two operands, and whether the result replaces
    /// either.
    fn combine(&self, form: Form, both: (Change, Change), replaced: [bool; 2]) -> Change {
        use Change::{Const, Random, Stride};
        let other = match replaced {
            [true, false] => both.1,
            [false, true] if matches!(form, Form::Add | Form::Mul) => both.0,
            [false, false] => {
                return match (form, both) {
                    (_, (Const, Const)) => Const,
                    (Form::Add | Form::Sub, (Const | Stride, Const | Stride))
                    | (Form::Mul | Form::Shl, (Stride, Const))
                    | (Form::Mul, (Const, Stride)) => Stride,
                    _ => Random,
                };
            }
            _ => return Random,
        };
        let is_kept = matches!(form, Form::Add | Form::Sub) || self.literal_table;
        if is_kept && other == Const && both != (Random, Random) {
            Stride
        } else {
            Random
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{code, load};
    use super::*;

    fn run(lines: &[&str], literal_table: bool) -> Tags {
        let code = code(lines);
        let mut tags = Tags::new(literal_table);
        for _ in 0..2 {
            tags.begin_pass();
            for instruction in &code {
                tags.step(instruction);
            }
        }
        tags
    }

    fn change(lines: &[&str], register: u16) -> Change {
        run(lines, false).of(register).change
    }

    #[test]
    fn the_example_of_the_thesis_is_tagged_as_printed() {
        let lines = code(&[
            "mul.lo.u32 3 28 #4",
            "add.u32 4 1 3",
            "ld.global.nc.u32 5 4",
            "mul.lo.u32 6 5 #4",
            "add.u32 7 9 6",
            "ld.global.nc.u32 8 7",
            "add.u32 28 28 2",
        ]);
        let mut tags = Tags::new(false);
        for instruction in &lines {
            tags.step(instruction);
        }
        assert_eq!(tags.of(28).change, Change::Stride);
        assert_eq!(tags.of(4).change, Change::Const);
        assert_eq!(
            tags.of(7),
            Tag {
                change: Change::Random,
                load: 1
            }
        );
        tags.begin_pass();
        lines[..2].iter().for_each(|i| tags.step(i));
        assert_eq!(tags.address(&lines[2]).change, Change::Stride);
        lines[2..5].iter().for_each(|i| tags.step(i));
        assert_eq!(
            tags.address(&lines[5]),
            Tag {
                change: Change::Random,
                load: 1
            }
        );
        lines[5..].iter().for_each(|i| tags.step(i));
        assert_eq!(tags.of(8).load, 2);
    }

    #[test]
    fn every_row_of_the_table_holds() {
        use Change::{Const, Random, Stride};
        // Register 28 has a stride and register 1 does not change.
        for (line, expected) in [
            ("mov.u32 3 28", Stride),
            ("mov.u32 3 #7", Const),
            ("cvt.u32.u32 3 28", Stride),
            ("add.u32 3 1 2", Const),
            ("add.u32 3 28 1", Stride),
            ("sub.u32 3 1 28", Stride),
            ("add.u32 3 28 28", Stride),
            ("mul.lo.u32 3 28 1", Stride),
            ("mul.lo.u32 3 28 28", Random),
            ("shl.b32 3 28 #2", Stride),
            ("shl.b32 3 1 28", Random),
            ("mad.lo.u32 3 28 #4 1", Stride),
            ("mad.lo.u32 3 28 28 1", Random),
            ("min.u32 3 28 1", Random),
            ("min.u32 3 1 2", Const),
            ("selp.b32 3 1 2 p1", Random),
            ("and.b32 3 28 #3", Random),
            ("add.f32 3 28 1", Random),
        ] {
            let change = change(&[line, "add.u32 28 28 #1"], 3);
            assert_eq!(change, expected, "{line}");
        }
    }

    #[test]
    fn a_register_that_replaces_itself_has_a_stride_by_addition_alone() {
        for (line, expected) in [
            ("add.u32 3 3 1", Change::Stride),
            ("add.u32 3 1 3", Change::Stride),
            ("sub.u32 3 3 #2", Change::Stride),
            ("sub.u32 3 1 3", Change::Random),
            ("add.u32 3 3 3", Change::Random),
            ("mad.lo.u32 3 1 2 3", Change::Stride),
            ("mul.lo.u32 3 3 1", Change::Random),
            ("shl.b32 3 3 #1", Change::Random),
        ] {
            assert_eq!(change(&[line], 3), expected, "{line}");
        }
        for line in ["mul.lo.u32 3 3 1", "shl.b32 3 3 #1"] {
            assert_eq!(run(&[line], true).of(3).change, Change::Stride, "{line}");
        }
    }

    #[test]
    fn wide_arithmetic_follows_the_rows_of_its_narrow_form() {
        let tags = run(
            &[
                "mul.wide.u32 4,5 28 #4",
                "add.s64 6,7 8,9 4,5",
                "add.u32 28 28 #1",
            ],
            false,
        );
        assert_eq!(tags.of(6).change, Change::Stride);
        let broken = run(
            &[
                "add.s64 4,5 4,5 #4",
                "ld.global.u32 5 1",
                "add.s64 6,7 4,5 #0",
            ],
            false,
        );
        assert_eq!(broken.of(6).change, Change::Random);
    }

    #[test]
    fn values_of_two_loads_belong_to_none() {
        let tags = run(
            &[
                "ld.global.u32 3 1",
                "ld.global.u32 4 1",
                "add.u32 5 3 4",
                "add.u32 6 3 1",
            ],
            false,
        );
        assert_eq!(tags.of(5).load, 0);
        assert_eq!(tags.of(6).load, 1);
        let many = run(&[load(3), load(4), load(5), load(6)], false);
        assert_eq!([3, 4, 5, 6].map(|r| many.of(r).load), [1, 2, 3, 0]);
    }
}
