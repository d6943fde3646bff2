//! Costs of accesses: vectors by hand, and what the emulator records.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use proptest::prelude::*;
use warpweave_affine::{Cause, Cost};
use warpweave_trace::{Class, Lanes, Space};

use crate::accesses::{access, text};
use crate::harness::{Case, case};
use crate::vectors::LOAD;

/// Lines and sectors that the only load of `in[%r1]` touches: least, most and mean of each.
fn touched(body: &str, block: [u32; 3]) -> [(u32, u32, f64); 2] {
    let case = case(&format!("{body} {LOAD}"), [4, 1, 1], block, [0; 2]);
    case.assert_exact();
    let [found] = &case.analysis.transactions(&case.head(), 128)[..] else {
        panic!("one load")
    };
    let found = found.as_ref().expect("an answer");
    [found.lines, found.sectors]
        .map(|cost| (cost.least, cost.most, cost.mean().unwrap_or_default()))
}

#[test]
fn a_stride_of_one_word_touches_one_line_and_of_a_line_one_for_each_lane() {
    let index = |factor: u32| format!("mul.lo.u32 %r1, %tx, {factor};");
    let of = |factor| touched(&index(factor), [64, 1, 1]);
    assert_eq!(of(0), [(1, 1, 1.0); 2]);
    assert_eq!(of(1), [(1, 1, 1.0), (4, 4, 4.0)]);
    assert_eq!(of(2), [(2, 2, 2.0), (8, 8, 8.0)]);
    assert_eq!(of(32), [(32, 32, 32.0); 2]);
    // One word off: every access spans two lines.
    let shifted = touched("add.u32 %r1, %tx, 1;", [64, 1, 1]);
    assert_eq!(shifted, [(2, 2, 2.0), (5, 5, 5.0)]);
    // Two rows of 16 lanes each.
    let rows = "mad.lo.u32 %r1, %ty, 64, %tx;";
    assert_eq!(touched(rows, [16, 4, 1]), [(2, 2, 2.0), (4, 4, 4.0)]);
}

#[test]
fn work_groups_and_iterations_that_begin_elsewhere_in_a_line_are_averaged() {
    // Work-groups 0 and 2 begin a line; 1 and 3 begin in its middle.
    let index = "mad.lo.u32 %r1, %bx, 16, %tx;";
    assert_eq!(touched(index, [32, 1, 1])[0], (1, 2, 1.5));
    // The last wavefront has 8 lanes.
    assert_eq!(touched("mov.u32 %r1, %tx;", [40, 1, 1])[1], (1, 4, 2.5));
    let body = format!(
        "mov.u32 %r4, 0; loop: mad.lo.u32 %r1, %r4, 8, %tx; {LOAD}
         add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 4; @%p1 bra loop;"
    );
    let case = case(&body, [1; 3], [32, 1, 1], [0; 2]);
    let found = case.analysis.transactions(&case.head(), 128);
    let lines = found[0].as_ref().unwrap().lines;
    assert_eq!((lines.least, lines.most, lines.mean()), (1, 2, Some(1.75)));
}

#[test]
fn a_load_that_may_not_happen_has_an_upper_bound_alone() {
    let body = format!(
        "mov.u32 %r1, %tx; {LOAD} setp.ne.u32 %p1, %r9, 0; @%p1 bra end;
         shl.b32 %r1, %tx, 1; {LOAD} and.b32 %r1, %r9, 255; {LOAD} end:"
    );
    let case = case(&body, [1; 3], [32, 1, 1], [0; 2]);
    let found = case.analysis.transactions(&case.head(), 128);
    let lines = found[1].as_ref().unwrap().lines;
    assert_eq!((lines.least, lines.most, lines.mean()), (0, 2, None));
    assert_eq!(found[2], Err(Cause::Loaded { line: 13 }));
}

/// Cycles of the only access to the tile, at the byte in %r1.
fn cycles(body: &str, access: &str, block: [u32; 3]) -> Result<(u32, u32), Cause> {
    let case = tile(&format!("{body} {AT} {access}"), block);
    let [found] = &case.analysis.bank_conflicts(&case.head())[..] else {
        panic!("one access")
    };
    assert!(case.analysis.references.is_empty());
    found.clone().map(|cost| (cost.least, cost.most))
}

const AT: &str = "mul.wide.u32 %rd1, %r1, 1; mov.u64 %rd2, tile; add.s64 %rd1, %rd2, %rd1;";

/// Kernel with a tile of 49000 bytes in local memory behind a variable of one word.
fn tile(body: &str, block: [u32; 3]) -> Case {
    let tile = ".shared .align 4 .b8 before[4]; .shared .align 16 .b8 tile[49000];";
    case(&format!("{tile} {body}"), [2, 1, 1], block, [0; 2])
}

#[test]
fn bank_conflicts_are_different_words_of_lanes_in_one_bank() {
    let load = "ld.shared.u32 %r9, [%rd1];";
    let of = |body: &str| cycles(body, load, [32, 1, 1]);
    let stride = |bytes: u32| of(&format!("mul.lo.u32 %r1, %tx, {bytes};"));
    assert_eq!(stride(0), Ok((1, 1)), "a broadcast");
    assert_eq!(stride(4), Ok((1, 1)));
    assert_eq!(stride(8), Ok((2, 2)));
    assert_eq!(stride(128), Ok((32, 32)));
    let column = |pitch: u32| {
        let body = format!(
            "mul.lo.u32 %r1, %tx, {}; mad.lo.u32 %r1, %ty, 4, %r1;",
            4 * pitch
        );
        cycles(&body, load, [32, 8, 1])
    };
    assert_eq!(column(32), Ok((32, 32)));
    assert_eq!(column(33), Ok((1, 1)));
    let wide = "ld.shared.v4.u32 {%r9, %r10, %r11, %r12}, [%rd1];";
    assert_eq!(cycles("shl.b32 %r1, %tx, 4;", wide, [32, 1, 1]), Ok((4, 4)));
    let store = "st.shared.u32 [%rd1+8], %r9;";
    assert_eq!(
        cycles("shl.b32 %r1, %tx, 3;", store, [32, 1, 1]),
        Ok((2, 2))
    );
    let atomic = "atom.shared.add.u32 %r9, [%rd1], 1;";
    assert_eq!(cycles("mov.u32 %r1, 0;", atomic, [16, 1, 1]), Ok((16, 16)));
}

#[test]
fn narrow_accesses_have_conflicts_only_if_they_do_wherever_the_variable_is() {
    let load = "ld.shared.u8 %r9, [%rd1];";
    let of = |bytes: u32| cycles(&format!("mul.lo.u32 %r1, %tx, {bytes};"), load, [32, 1, 1]);
    assert_eq!(of(1), Ok((1, 1)));
    assert_eq!(of(128), Ok((32, 32)));
    // Lanes are apart in banks where the last byte of a word lies between them.
    let body = "mul.lo.u32 %r1, %tx, 129;";
    let name = "tile".to_owned();
    assert_eq!(cycles(body, load, [3, 1, 1]), Err(Cause::Variable { name }));
}

#[test]
fn local_memory_is_addressed_by_name_by_32_bits_and_by_number() {
    let by = |access: &str| {
        let case = tile(access, [32, 1, 1]);
        let found = case.analysis.bank_conflicts(&case.head());
        let words = case.analysis.words(&case.head(), &case.analysis.local[0]);
        (found[0].clone().map(|cost| cost.most), words[0].clone())
    };
    let narrow = "mov.u32 %r1, tile; mad.lo.u32 %r1, %tx, 8, %r1; ld.shared.u32 %r9, [%r1+16];";
    assert_eq!(by(narrow), (Ok(2), "tile + 8*tid.x + 16".to_owned()));
    let named = "ld.shared.u32 %r9, [tile+4];";
    assert_eq!(by(named), (Ok(1), "tile + 4".to_owned()));
    let number = "shl.b32 %r1, %tx, 7; ld.shared.u32 %r9, [%r1];";
    assert_eq!(by(number), (Ok(32), "128*tid.x".to_owned()));
}

#[test]
fn addresses_in_one_of_two_variables_have_no_known_conflicts() {
    let body = "mov.u64 %rd1, tile; setp.lt.u32 %p1, %tx, 7; @%p1 bra join; mov.u64 %rd1, before;
         join: ld.shared.u32 %r9, [%rd1];";
    let case = tile(body, [32, 1, 1]);
    let found = case.analysis.bank_conflicts(&case.head());
    assert!(matches!(found[0], Err(Cause::Variable { .. })), "{found:?}");
}

/// Costs of the recorded accesses of each instruction: least, most, sum and number.
type Recorded = BTreeMap<u32, (u32, u32, u64, u64)>;

/// Counts for each record of a space with `cost` of its addresses and bytes.
fn recorded(case: &Case, space: Space, cost: impl Fn(&[u64], u64) -> u32) -> Recorded {
    let mut all = Recorded::new();
    let kernel = &case.trace;
    let mut lanes = Lanes::default();
    for group in 0..kernel.work_groups() {
        for wavefront in 0..kernel.wavefronts_per_work_group() {
            let mut cursor = kernel.cursor(group, wavefront);
            while let Some(record) = cursor.next(kernel, &mut lanes) {
                let instruction = &kernel.code.instructions[record.pc as usize];
                let is_access = matches!(instruction.class, Class::Load | Class::Store);
                if record.space != space || !is_access {
                    continue;
                }
                let addresses: Vec<u64> = lanes.iter(record.mask).map(|(_, at)| at).collect();
                let cost = cost(&addresses, instruction.access_bytes.into());
                let known = all.entry(record.pc).or_insert((u32::MAX, 0, 0, 0));
                known.0 = known.0.min(cost);
                known.1 = known.1.max(cost);
                known.2 += u64::from(cost);
                known.3 += 1;
            }
        }
    }
    all
}

fn assert_cost(cost: &Cost, pc: u32, recorded: &Recorded) {
    let mean = |&(least, most, sum, count): &(u32, u32, u64, u64)| {
        (least, most, Some(sum as f64 / count as f64))
    };
    let expected = recorded.get(&pc).map_or((0, 0, None), mean);
    assert!(cost.is_exact);
    assert_eq!((cost.least, cost.most, cost.mean()), expected);
}

fn pieces(size: u64) -> impl Fn(&[u64], u64) -> u32 {
    move |addresses, bytes| {
        let touched = addresses
            .iter()
            .flat_map(|at| at / size..=(at + bytes - 1) / size);
        touched.collect::<BTreeSet<u64>>().len() as u32
    }
}

fn banks(addresses: &[u64], bytes: u64) -> u32 {
    let mut in_bank: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for word in addresses
        .iter()
        .flat_map(|at| at / 4..=(at + bytes - 1) / 4)
    {
        in_bank.entry(word % 32).or_default().insert(word);
    }
    let most = in_bank.values().map(BTreeSet::len).max();
    most.unwrap_or_default() as u32
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_transactions_of_random_kernels_are_those_of_the_recorded_accesses(
        accesses in proptest::collection::vec(access(), 1..4),
        grid in [1..5_u32, 1..4_u32],
        block in (prop_oneof![Just(8_u32), Just(16), 1..40_u32], 1..5_u32),
        line_bytes in prop_oneof![Just(32_u32), Just(128), Just(64)],
    ) {
        let mut body = String::from("setp.lt.u32 %p0, %tx, 9;\n");
        for (number, access) in accesses.iter().enumerate() {
            body += &text(access, number);
        }
        let ([gx, gy], (bx, by)) = (grid, block);
        let case = case(&body, [gx, gy, 2], [bx, by, 1], [7, 9]);
        let found = case.analysis.transactions(&case.head(), line_bytes);
        let lines = recorded(&case, Space::Global, pieces(line_bytes.into()));
        let sectors = recorded(&case, Space::Global, pieces(32));
        for (reference, found) in case.analysis.references.iter().zip(found) {
            let found = found.expect("an answer");
            assert_cost(&found.lines, reference.pc, &lines);
            assert_cost(&found.sectors, reference.pc, &sectors);
        }
    }

    #[test]
    fn the_bank_conflicts_of_random_kernels_are_those_of_the_recorded_accesses(
        factors in [0..40_u32, 0..40_u32, 0..40_u32, 0..3_u32],
        twist in 0..4_u32,
        log in 0..4_u32,
        guard in 0..20_u32,
        block in (prop_oneof![Just(32_u32), Just(16), 1..40_u32], 1..5_u32),
    ) {
        let [tx, ty, k, bx] = factors;
        let mut body = format!(
            "mov.u32 %r4, 0; loop: mad.lo.u32 %r1, %tx, {tx}, {k}; mad.lo.u32 %r1, %ty, {ty}, %r1;
             mad.lo.u32 %r1, %r4, {k}, %r1; mad.lo.u32 %r1, %bx, {bx}, %r1;\n"
        );
        match twist {
            1 => body += "rem.u32 %r1, %r1, 100;",
            2 => body += "and.b32 %r1, %r1, 255;",
            3 => body += "min.u32 %r1, %r1, 60;",
            _ => {}
        }
        let ty = ["u8", "u16", "u32", "u64"][log as usize];
        let register = if log == 3 { "%rd4" } else { "%r9" };
        let _ = writeln!(
            body,
            "setp.lt.u32 %p1, %tx, {guard}; shl.b32 %r1, %r1, {log}; {AT}
             @!%p1 ld.shared.{ty} {register}, [%rd1+8];
             add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 3; @%p1 bra loop;"
        );
        let body = body.replace("tile", "whole");
        let (bx, by) = block;
        let case = case(
            &format!(".shared .align 8 .b8 whole[40000]; {body}"), [2, 1, 1], [bx, by, 1], [7, 9],
        );
        let [found] = &case.analysis.bank_conflicts(&case.head())[..] else {
            panic!("one access")
        };
        let expected = recorded(&case, Space::Shared, banks);
        match found {
            Ok(cost) => assert_cost(cost, case.analysis.local[0].pc, &expected),
            // A narrow access may depend on where the variable begins in a word.
            Err(cause) => {
                let name = "whole".to_owned();
                prop_assert_eq!(cause, &Cause::Variable { name });
                prop_assert!(log < 2);
            }
        }
    }
}
