//! Random kernels: what the analysis states agrees with the emulator, and no code makes it panic.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use warpweave_affine::{Direction, LaunchHead, ReuseOptions, Toucher, analyse};
use warpweave_trace::{
    Class, Code, Guard, Instruction, KernelTrace, Lanes, Operand, Record, RegisterSet, Space,
};

use crate::accesses::{access, text};
use crate::harness::{Case, case};

/// Farthest reuse along x, y and z by brute force over the recorded accesses.
fn observed(case: &Case, line_bytes: u64) -> [u32; 3] {
    let mut rows: BTreeMap<[u64; 4], BTreeSet<u32>> = BTreeMap::new();
    let mut lanes = Lanes::default();
    let kernel = &case.trace;
    for work_group in 0..kernel.work_groups() {
        let [x, y, z] = place(kernel, work_group);
        for wavefront in 0..kernel.wavefronts_per_work_group() {
            let mut cursor = kernel.cursor(work_group, wavefront);
            while let Some(record) = cursor.next(kernel, &mut lanes) {
                if !is_load(kernel, &record) {
                    continue;
                }
                for (_, address) in lanes.iter(record.mask) {
                    for line in [address / line_bytes, (address + 3) / line_bytes] {
                        let [u, v, w] = [x, y, z].map(u64::from);
                        rows.entry([0, line, v, w]).or_default().insert(x);
                        rows.entry([1, line, u, w]).or_default().insert(y);
                        rows.entry([2, line, u, v]).or_default().insert(z);
                    }
                }
            }
        }
    }
    let mut farthest = [0; 3];
    for (key, touched) in rows {
        let spread = touched.last().unwrap_or(&0) - touched.first().unwrap_or(&0);
        let axis = key[0] as usize;
        farthest[axis] = spread.max(farthest[axis]);
    }
    farthest
}

fn place(kernel: &KernelTrace, work_group: u32) -> [u32; 3] {
    let [x, y, _] = kernel.grid;
    [work_group % x, work_group / x % y, work_group / x / y]
}

fn is_load(kernel: &KernelTrace, record: &Record) -> bool {
    let instruction = &kernel.code.instructions[record.pc as usize];
    instruction.class == Class::Load && record.space == Space::Global
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn the_addresses_of_random_kernels_are_those_that_the_emulator_records(
        accesses in proptest::collection::vec(access(), 1..4),
        grid in [1..5_u32, 1..4_u32, 1..4_u32],
        block in (prop_oneof![Just(8_u32), Just(16), 1..20_u32], 1..5_u32),
        line_bytes in prop_oneof![Just(32_u32), Just(128)],
    ) {
        let mut body = String::from("setp.lt.u32 %p0, %tx, 9;\n");
        for (number, access) in accesses.iter().enumerate() {
            body += &text(access, number);
        }
        let (bx, by) = block;
        let case = case(&body, grid, [bx, by, 1], [7, 9]);
        case.assert_exact();
        let found = case.directions(line_bytes, false);
        let distance = |reuse: &Option<warpweave_affine::Reuse>| {
            let apart = |[from, to]: &[Toucher; 2]| {
                let axes = from.work_group.iter().zip(to.work_group);
                axes.map(|(from, to)| from.abs_diff(to)).sum::<u32>()
            };
            reuse.as_ref().map_or(0, |reuse| {
                assert_eq!(reuse.witness.as_deref().map(apart), Some(reuse.distance));
                reuse.distance
            })
        };
        prop_assert!(found.is_exact && found.unknown_z.is_none());
        prop_assert_eq!(
            [&found.along_x, &found.along_y, &found.along_z].map(distance),
            observed(&case, line_bytes.into()),
            "{}", body
        );
    }

    #[test]
    fn no_code_makes_the_analysis_panic(
        instructions in proptest::collection::vec(instruction(), 1..24),
        grid in [0..5_u32, 0..9_u32, 0..2_u32],
        block in [0..40_u32, 0..3_u32, 0..2_u32],
        arguments in proptest::collection::vec(any::<u8>(), 0..24),
    ) {
        let code = Code { instructions, ..Code::default() };
        let head = LaunchHead {
            code: &code,
            grid,
            block,
            arguments: &arguments,
            allocations: &[],
        };
        let analysis = analyse(&head);
        analysis.directions(&head, ReuseOptions::default());
        for direction in [Direction::RoundRobin, Direction::AlongX, Direction::AlongY] {
            analysis.windows(&head, direction, 128);
        }
        for line_bytes in [16, 128, 1 << 31] {
            analysis.transactions(&head, line_bytes);
            let _ = analysis.line_sets(&head, line_bytes);
        }
        analysis.bank_conflicts(&head);
        for reference in analysis.references.iter().chain(&analysis.local) {
            let _ = analysis.words(&head, reference);
        }
    }
}

const OPCODES: [(&str, Class); 39] = [
    ("mov.u32", Class::IntAdd),
    ("mov.u64", Class::IntAdd),
    ("cvta.to.global.u64", Class::IntAdd),
    ("add.s32", Class::IntAdd),
    ("add.s64", Class::IntAdd),
    ("sub.u32", Class::IntAdd),
    ("neg.s32", Class::IntAdd),
    ("not.b32", Class::IntAdd),
    ("mul.lo.u32", Class::IntMul),
    ("mul.hi.u32", Class::IntMul),
    ("mul.hi.u64", Class::IntMul),
    ("mul.wide.s64", Class::IntMul),
    ("mad.hi.s64", Class::IntMul),
    ("mul.wide.s32", Class::IntMul),
    ("mad.wide.u32", Class::IntMul),
    ("mad.lo.u64", Class::IntMul),
    ("shl.b64", Class::IntAdd),
    ("shr.s32", Class::IntAdd),
    ("and.b32", Class::IntAdd),
    ("or.b64", Class::IntAdd),
    ("or.b32", Class::IntAdd),
    ("xor.b32", Class::IntAdd),
    ("div.s32", Class::IntDiv),
    ("rem.u32", Class::IntDiv),
    ("min.s32", Class::IntAdd),
    ("max.u64", Class::IntAdd),
    ("selp.b32", Class::IntAdd),
    ("setp.lt.s32", Class::IntAdd),
    ("setp.ne.and.u32", Class::IntAdd),
    ("and.pred", Class::IntAdd),
    ("cvt.u64.u32", Class::Convert),
    ("cvt.s32.s64", Class::Convert),
    ("ld.global.u32", Class::Load),
    ("st.global.v2.u32", Class::Store),
    ("ld.shared.u8", Class::Load),
    ("st.shared.u32", Class::Store),
    ("ld.param.u64", Class::Load),
    ("bra", Class::Branch),
    ("ret", Class::Exit),
];

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        4 => prop_oneof![0..8_u16, Just(255), any::<u16>()].prop_map(Operand::Register),
        2 => prop_oneof![0..3_u16, any::<u16>()].prop_map(Operand::Predicate),
        1 => (0..3_u16).prop_map(Operand::NotPredicate),
        3 => prop_oneof![-4..70_i64, any::<i64>()].prop_map(Operand::Immediate),
        1 => (0..32_u32).prop_map(Operand::Argument),
        2 => prop_oneof![Just("%tid.x"), Just("%ctaid.y"), Just("%ntid.z"), Just("%laneid"), Just("[tile+4]"), Just("tile")]
            .prop_map(|name| Operand::Symbol(name.to_owned())),
    ]
}

fn instruction() -> impl Strategy<Value = Instruction> {
    let guard = proptest::option::weighted(0.3, (0..3_u16, any::<bool>()));
    let operands = proptest::collection::vec(operand(), 0..6);
    (0..OPCODES.len(), operands, guard, 0..26_u32, 0..320_u16).prop_map(
        |(opcode, operands, guard, target, write)| {
            let (opcode, class) = OPCODES[opcode];
            let mut instruction = Instruction::new(opcode, class);
            if opcode.contains("global.") && class != Class::IntAdd {
                instruction = instruction.accessing(Space::Global, 4);
            }
            if opcode.contains("shared.") {
                let bytes = if opcode.ends_with('8') { 1 } else { 4 };
                instruction = instruction.accessing(Space::Shared, bytes);
            }
            if opcode.contains("param") {
                instruction.space = Space::Param;
            }
            let registers = operands.iter().filter_map(|operand| match *operand {
                Operand::Register(number) if number < 256 => Some(number),
                _ => None,
            });
            instruction.reads = registers.collect();
            instruction.writes = match operands.first() {
                Some(&Operand::Register(number)) if number < 256 => {
                    RegisterSet::from_iter([number])
                }
                Some(&Operand::Predicate(number)) if number < 64 => {
                    RegisterSet::from_iter([256 + number])
                }
                _ => RegisterSet::from_iter([write]),
            };
            instruction.operands = operands;
            instruction.guard = guard.map(|(predicate, negated)| Guard { predicate, negated });
            instruction.target = (class == Class::Branch).then_some(target);
            instruction
        },
    )
}

#[test]
fn products_of_128_bits_and_grids_of_the_greatest_extent_are_answered() {
    let body = "mul.hi.u64 %rd1, %in, 12345; mul.hi.s64 %rd2, %rd1, %in; mov.u32 %r1, 0x7FFFFFFF;
        mul.wide.u32 %rd3, %r1, %bx; shl.b64 %rd4, %rd3, 33; add.s64 %rd4, %rd4, %in;
        setp.ne.u32 %p1, %n, 5; @%p1 bra end;
        ld.global.u32 %r2, [%rd2]; ld.global.u32 %r2, [%rd4]; ld.global.u32 %r2, [%in]; end:";
    let case = case(body, [1; 3], [1; 3], [4, 0]);
    let head = LaunchHead {
        grid: [(1 << 31) - 1, 65_535, 65_535],
        arguments: &[[0; 16], [5; 16]].concat(),
        ..case.head()
    };
    let analysis = analyse(&head);
    let found = analysis.directions(&head, ReuseOptions::default());
    assert_eq!(found.distance, 0, "{found:?}");
    assert_eq!(analysis.windows(&head, Direction::AlongY, 128), []);
    for reference in &analysis.references {
        analysis.own_directions(&head, reference, 32);
    }
    assert_eq!(analysis.transactions(&head, 128).len(), 3);
    assert!(analysis.line_sets(&head, 128).is_err());
}

#[test]
fn a_code_without_instructions_or_operands_has_no_addresses_and_says_so() {
    let mut load = Instruction::new("LDG.E", Class::Load).accessing(Space::Global, 4);
    load.line = 3;
    let code = Arc::new(Code {
        instructions: vec![load, Instruction::new("EXIT", Class::Exit)],
        ..Code::default()
    });
    let head = LaunchHead {
        code: &code,
        grid: [4, 1, 1],
        block: [32, 1, 1],
        arguments: &[],
        allocations: &[],
    };
    let analysis = analyse(&head);
    let cause = analysis.references[0].cause().map(ToString::to_string);
    assert_eq!(cause.as_deref(), Some("operands are not in the trace"));
}
