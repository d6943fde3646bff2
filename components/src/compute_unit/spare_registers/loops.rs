//! Loops in the static code, and the instructions that leave them.

use warpweave_trace::{Class, Code, Instruction, RegisterSet};

/// True if one instruction alone leaves the innermost loop of a header, and nothing else runs in
/// between: no inner loop and no call.
pub(super) fn has_one_exit(code: &Code, header: u32) -> bool {
    let is_inside = |pc: u32| {
        let instruction = code.instructions.get(pc as usize);
        instruction.is_some_and(|i| i.loop_head == Some(header))
    };
    let mut exits = 0;
    for (pc, instruction) in (0..).zip(&code.instructions) {
        if is_inside(pc) && leaves(instruction, pc, is_inside) {
            exits += 1;
        }
    }
    exits == 1
}

/// Returns the instructions that begin another iteration of the innermost loop of a header.
pub(super) fn latches(code: &Code, header: u32) -> Vec<u32> {
    let goes_back = |(pc, instruction): &(u32, &Instruction)| {
        let is_inside = instruction.loop_head == Some(header);
        let jumps = instruction.class == Class::Branch && instruction.target == Some(header);
        is_inside && (jumps || pc + 1 == header && falls_through(instruction))
    };
    let instructions = (0..).zip(&code.instructions).filter(goes_back);
    instructions.map(|(pc, _)| pc).collect()
}

fn falls_through(instruction: &Instruction) -> bool {
    let predicates = |r: u16| r >= RegisterSet::FIRST_PREDICATE;
    match instruction.class {
        Class::Exit => false,
        Class::Branch => instruction.reads.iter().any(predicates),
        _ => true,
    }
}

fn leaves(instruction: &Instruction, pc: u32, is_inside: impl Fn(u32) -> bool) -> bool {
    match instruction.class {
        Class::Exit => true,
        Class::Branch => {
            let goes_out = instruction.target.is_none_or(|target| !is_inside(target));
            goes_out || falls_through(instruction) && !is_inside(pc + 1)
        }
        _ => !is_inside(pc + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::code;
    use super::*;

    /// Code of which the instructions `inside`, given with their targets, are in a loop.
    fn looping(lines: &[(&str, Option<u32>)], inside: &std::ops::Range<u32>) -> Code {
        let text: Vec<_> = lines.iter().map(|(line, _)| *line).collect();
        let mut instructions = code(&text);
        for ((pc, made), (_, target)) in (0..).zip(&mut instructions).zip(lines) {
            made.target = *target;
            made.loop_head = inside.contains(&pc).then_some(inside.start);
        }
        Code {
            instructions,
            ..Code::default()
        }
    }

    fn exits_once(lines: &[(&str, Option<u32>)], inside: std::ops::Range<u32>) -> bool {
        has_one_exit(&looping(lines, &inside), inside.start)
    }

    fn latches_of(lines: &[(&str, Option<u32>)], inside: std::ops::Range<u32>) -> Vec<u32> {
        latches(&looping(lines, &inside), inside.start)
    }

    #[test]
    fn a_latch_at_the_end_or_before_the_header_is_one_exit() {
        let end = [
            ("mov.u32 1 #0", None),
            ("add.u32 1 1 #1", None),
            ("bra p1", Some(1)),
            ("mov.u32 2 #0", None),
        ];
        assert!(exits_once(&end, 1..3));
        assert_eq!(latches_of(&end, 1..3), [2]);
        let before = [
            ("bra", Some(4)),
            ("add.u32 1 1 #1", None),
            ("bra p1", Some(4)),
            ("bra", Some(6)),
            ("mov.u32 3 1", None),
            ("bra", Some(1)),
            ("mov.u32 2 #0", None),
        ];
        let text: Vec<_> = before.iter().map(|(line, _)| *line).collect();
        let mut instructions = code(&text);
        for (pc, (_, target)) in before.iter().enumerate() {
            instructions[pc].target = *target;
            instructions[pc].loop_head = matches!(pc, 1 | 2 | 4 | 5).then_some(4);
        }
        let code = Code {
            instructions,
            ..Code::default()
        };
        assert!(has_one_exit(&code, 4));
        assert_eq!(latches(&code, 4), [2]);
    }

    #[test]
    fn a_break_is_a_second_exit() {
        let broken = [
            ("add.u32 1 1 #1", None),
            ("bra p2", Some(4)),
            ("bra p1", Some(0)),
            ("mov.u32 2 #0", None),
            ("mov.u32 2 #1", None),
        ];
        assert!(!exits_once(&broken, 0..3));
        assert_eq!(latches_of(&broken, 0..3), [2]);
    }
}
