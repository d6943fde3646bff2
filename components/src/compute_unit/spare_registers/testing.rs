//! Code in short form for tests.

use warpweave_trace::{Class, Instruction, Operand, ReadPath, RegisterSet, Space};

/// Instruction from text: opcode, destination, then sources. `#4` is an immediate, `p1` a
/// predicate, `4,5` a pair of registers.
pub(in crate::compute_unit) fn instruction(text: &str) -> Instruction {
    let mut words = text.split_whitespace();
    let opcode = words.next().expect("a line has an opcode");
    let class = match opcode.split('.').next() {
        Some("ld") => Class::Load,
        Some("bra") => Class::Branch,
        _ => Class::IntAdd,
    };
    let mut made = Instruction::new(opcode, class);
    for (place, word) in words.enumerate() {
        let mut registers = RegisterSet::EMPTY;
        let operand = if let Some(number) = word.strip_prefix('#') {
            Operand::Immediate(number.parse().expect("a number"))
        } else if let Some(number) = word.strip_prefix('p') {
            let number = number.parse().expect("a number");
            registers.insert(RegisterSet::FIRST_PREDICATE + number);
            Operand::Predicate(number)
        } else {
            let numbers = word.split(',').map(|n| n.parse().expect("a number"));
            let numbers: Vec<u16> = numbers.collect();
            for number in &numbers {
                registers.insert(*number);
            }
            Operand::Register(numbers[0])
        };
        if place == 0 && class != Class::Branch {
            made.writes = registers;
        } else {
            made.reads = made.reads.union(&registers);
        }
        made.operands.push(operand);
    }
    if class == Class::Load {
        made.operands.push(Operand::Immediate(0));
        made = made.accessing(Space::Global, 4);
        if opcode.contains(".nc") {
            made.hints.path = ReadPath::NonCoherent;
        }
    }
    made
}

pub(in crate::compute_unit) fn code(lines: &[&str]) -> Vec<Instruction> {
    lines.iter().map(|line| instruction(line)).collect()
}

pub(super) fn load(register: u16) -> &'static str {
    [
        "ld.global.u32 3 1",
        "ld.global.u32 4 1",
        "ld.global.u32 5 1",
        "ld.global.u32 6 1",
    ][usize::from(register) - 3]
}
