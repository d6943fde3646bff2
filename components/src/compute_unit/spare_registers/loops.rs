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

fn leaves(instruction: &Instruction, pc: u32, is_inside: impl Fn(u32) -> bool) -> bool {
    match instruction.class {
        Class::Exit => true,
        Class::Branch => {
            let predicates = |r: u16| r >= RegisterSet::FIRST_PREDICATE;
            let falls_through = instruction.reads.iter().any(predicates);
            let goes_out = instruction.target.is_none_or(|target| !is_inside(target));
            goes_out || falls_through && !is_inside(pc + 1)
        }
        _ => !is_inside(pc + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::code;
    use super::*;

    /// Instructions `from..` of the code, given with their targets, are in the loop.
    fn exits_once(lines: &[(&str, Option<u32>)], inside: std::ops::Range<u32>) -> bool {
        let text: Vec<_> = lines.iter().map(|(line, _)| *line).collect();
        let mut instructions = code(&text);
        for ((pc, made), (_, target)) in (0..).zip(&mut instructions).zip(lines) {
            made.target = *target;
            made.loop_head = inside.contains(&pc).then_some(inside.start);
        }
        let code = Code {
            instructions,
            ..Code::default()
        };
        has_one_exit(&code, inside.start)
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
    }
}
