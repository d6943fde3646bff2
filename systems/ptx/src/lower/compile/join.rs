//! Neighbouring loads of local and constant memory as one load of two or four words.
//!
//! Loads are joined if they have one base, their bytes follow one another and are aligned to their
//! sum, and nothing between them can tell. The hardware's compiler leaves global accesses of one
//! word alone, and so does this file.

use std::collections::BTreeMap;

use crate::lower::compile::blocks::{Blocks, Line};
use crate::lower::compile::copies::remove_lines;
use crate::lower::compile::values::{At, Values, register};
use crate::lower::names::{Base, Operand, Register, Resolved, SharedVariable, Value};
use crate::lower::opcodes::{self, Group};
use crate::site::Symbol;

/// Loads of one word, with those of two and of four where hardware's compiler uses them.
const FORMS: [(&str, &str, Option<&str>); 8] = [
    (
        "ld.shared.b32",
        "ld.shared.v2.b32",
        Some("ld.shared.v4.b32"),
    ),
    (
        "ld.shared.f32",
        "ld.shared.v2.f32",
        Some("ld.shared.v4.f32"),
    ),
    (
        "ld.shared.s32",
        "ld.shared.v2.s32",
        Some("ld.shared.v4.s32"),
    ),
    (
        "ld.shared.u32",
        "ld.shared.v2.u32",
        Some("ld.shared.v4.u32"),
    ),
    ("ld.const.b32", "ld.const.v2.b32", None),
    ("ld.const.f32", "ld.const.v2.f32", None),
    ("ld.const.s32", "ld.const.v2.s32", None),
    ("ld.const.u32", "ld.const.v2.u32", None),
];
/// Alignment of variables of local memory, in bytes, that joined loads can have.
const SHARED_ALIGNMENT: u32 = 16;
/// Alignment of variables in device memory, in bytes: that of its allocations.
const DEVICE_ALIGNMENT: u64 = 256;
/// Instructions through which the alignment of an address is followed.
const DEPTH_MAX: u32 = 16;

/// Returns the alignment of a variable of local memory in compiled code, in bytes.
pub(crate) fn shared_alignment(variable: &SharedVariable) -> u32 {
    if variable.is_open || variable.bytes < SHARED_ALIGNMENT {
        variable.align
    } else {
        variable.align.max(SHARED_ALIGNMENT)
    }
}

/// Kind and number of a load's base, the writes of that register and the stores before it, and its
/// form.
type Key = (u8, usize, u32, u32, usize);

/// Joins the neighbouring loads of every block.
pub(super) fn join(
    blocks: &mut Blocks<'_>,
    registers: &[Register],
    shared: &[SharedVariable],
    outside: &[u32],
) {
    let values = Values::of(blocks, registers.len(), outside);
    let mut removed: Vec<At> = Vec::new();
    for block in 0..blocks.list.len() {
        for (key, mut loads) in groups(&blocks.list[block], registers) {
            let known = Known {
                blocks,
                values: &values,
                shared,
            };
            let first = loads.values().copied().min().unwrap_or(0);
            let alignment = match key {
                (0, base, ..) => known.of_register(base as u32, (block, first), DEPTH_MAX),
                (1, ..) => DEVICE_ALIGNMENT,
                (_, base, ..) => known.of_symbol(Symbol::Shared(base)),
            };
            let (_, two, four) = FORMS[key.4];
            for (count, opcode) in [(4, four), (2, Some(two))] {
                let Some(opcode) = opcode.filter(|_| alignment >= 4 * count as u64) else {
                    continue;
                };
                for start in loads.keys().copied().collect::<Vec<i64>>() {
                    let places = |word: i64| loads.get(&start.checked_add(4 * word)?).copied();
                    let members: Option<Vec<usize>> = (0..count).map(places).collect();
                    let lines = &mut blocks.list[block];
                    if let Some(members) = members
                        && start.rem_euclid(4 * count) == 0
                        && can_join(lines, &members)
                    {
                        let lowest = replace(lines, &members, opcode);
                        let others = members.iter().filter(|&&at| at != lowest);
                        removed.extend(others.map(|&at| (block, at)));
                        (0..count).for_each(|word| {
                            loads.remove(&(start + 4 * word));
                        });
                    }
                }
            }
        }
    }
    remove_lines(blocks, removed);
}

/// Returns the loads of a block that may be joined, each group by offset.
fn groups(lines: &[Line<'_>], registers: &[Register]) -> BTreeMap<Key, BTreeMap<i64, usize>> {
    let mut groups: BTreeMap<Key, BTreeMap<i64, usize>> = BTreeMap::new();
    let mut writes: BTreeMap<u32, u32> = BTreeMap::new();
    let mut stores = 0;
    for (at, line) in lines.iter().enumerate() {
        let resolved = &line.resolved;
        if let Some(form) = FORMS.iter().position(|(one, ..)| *one == resolved.opcode)
            && resolved.guard.is_none()
            && let [to, from] = &resolved.operands[..]
            && let Some(to) = register(to)
            && registers[to as usize].ty.bits() == 32
            && let Value::Address(base, offset) = from.value
        {
            let base = match base {
                Base::Register(base) => {
                    let before = writes.get(&base).copied().unwrap_or(0);
                    Some((0, base as usize, before))
                }
                Base::Symbol(Symbol::Module(number)) => Some((1, number, 0)),
                Base::Symbol(Symbol::Shared(number)) => Some((2, number, 0)),
                _ => None,
            };
            if let Some((kind, base, before)) = base {
                let key = (kind, base, before, stores, form);
                // Of two loads of a word the later one stays by itself.
                groups.entry(key).or_default().entry(offset).or_insert(at);
            }
        }
        let group = opcodes::entry(resolved.opcode).map(|opcode| opcode.group);
        let only_reads = matches!(
            group,
            Some(
                Group::Arithmetic
                    | Group::Integer
                    | Group::Compare
                    | Group::Convert
                    | Group::ConvertAddress
                    | Group::Move
                    | Group::Load
                    | Group::Carry
            )
        );
        stores += u32::from(!only_reads || opcodes::is_ordered(resolved.opcode));
        for &written in &line.effects.writes {
            *writes.entry(written).or_default() += 1;
        }
    }
    groups.retain(|_, loads| loads.len() > 1);
    groups
}

/// True if the later of some loads can be executed with the first.
fn can_join(lines: &[Line<'_>], members: &[usize]) -> bool {
    let lowest = members.iter().copied().min().unwrap_or(0);
    members.iter().all(|&at| {
        let to = lines[at].effects.writes[0];
        let touches =
            |line: &Line<'_>| line.effects.reads.contains(&to) || line.effects.writes.contains(&to);
        !lines[lowest..at].iter().any(touches)
    })
}

/// Joins loads, in order of their words, and returns the line of the new one.
fn replace(lines: &mut [Line<'_>], members: &[usize], opcode: &'static str) -> usize {
    let lowest = members.iter().copied().min().unwrap_or(0);
    let results = members
        .iter()
        .map(|&at| lines[at].resolved.operands[0].clone());
    let results: Vec<Operand> = results.collect();
    let address = lines[members[0]].resolved.operands[1].clone();
    let line = &mut lines[lowest];
    let old = line.resolved.clone();
    let vector = Operand {
        span: results[0].span,
        value: Value::Vector(results),
    };
    line.replace(Resolved {
        opcode,
        operands: vec![vector, address],
        ..old
    });
    lowest
}

/// Alignment of addresses, from the instructions that compute them.
struct Known<'k, 'a> {
    blocks: &'k Blocks<'a>,
    values: &'k Values,
    shared: &'k [SharedVariable],
}

impl Known<'_, '_> {
    fn of_symbol(&self, symbol: Symbol) -> u64 {
        match symbol {
            Symbol::Shared(number) => {
                let variable = self.shared.get(number);
                variable.map_or(1, |variable| u64::from(shared_alignment(variable)))
            }
            Symbol::Module(_) => DEVICE_ALIGNMENT,
            _ => 1,
        }
    }

    /// Returns a power of two that divides an operand at a line.
    fn of(&self, operand: &Operand, at: At, depth: u32) -> u64 {
        match operand.value {
            Value::Register(register) => self.of_register(register, at, depth),
            Value::Integer(number) => divisor(number),
            Value::Symbol(symbol, offset) => self.of_symbol(symbol).min(divisor(offset as u64)),
            _ => 1,
        }
    }

    fn of_register(&self, register: u32, at: At, depth: u32) -> u64 {
        let above = self.values.above(register, at).filter(|_| depth > 0);
        let Some(above) = above else {
            return 1;
        };
        let resolved = &self.blocks.list[above.0][above.1].resolved;
        // Floats and sums that stop at a limit are not what their operands say.
        if resolved.opcode.contains(".f") || opcodes::has(resolved.opcode, "sat") {
            return 1;
        }
        let of = |operand: &Operand| self.of(operand, above, depth - 1);
        let times = |a: u64, b: u64| a.saturating_mul(b).min(DEVICE_ALIGNMENT);
        match (opcodes::base(resolved.opcode), &resolved.operands[..]) {
            ("mov" | "cvta" | "cvt", [_, a]) => of(a),
            ("add" | "sub" | "or", [_, a, b]) => of(a).min(of(b)),
            ("and", [_, a, b]) => of(a).max(of(b)),
            ("mul", [_, a, b]) if !opcodes::has(resolved.opcode, "hi") => times(of(a), of(b)),
            ("mad", [_, a, b, c]) if !opcodes::has(resolved.opcode, "hi") => {
                times(of(a), of(b)).min(of(c))
            }
            ("shl", [_, a, b]) => match b.value {
                Value::Integer(by) if by < 8 => times(of(a), 1 << by),
                _ => of(a),
            },
            _ => 1,
        }
    }
}

/// Returns the largest power of two that divides a number, up to what matters.
fn divisor(number: u64) -> u64 {
    1 << number
        .trailing_zeros()
        .min(DEVICE_ALIGNMENT.trailing_zeros())
}
