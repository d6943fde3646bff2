//! Windows of loops: vectors, and brute force over what the emulator records.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::*;
use warpweave_affine::{Direction, LoopWindows};
use warpweave_trace::{Class, Lanes, Space};

use crate::accesses::{Access, access, index};
use crate::harness::{Case, case};
use crate::vectors::{LOAD, product};

/// Loop of 8 iterations whose wavefronts touch `lines` lines of their own in each.
fn touching(lines: u32) -> String {
    let mut body = format!(
        "shr.u32 %r2, %tx, 5; mad.lo.u32 %r2, %bx, 8, %r2; mul.lo.u32 %r2, %r2, {lines}; and.b32 %r3, %tx, 31;
         mov.u32 %r4, 0; loop:\n"
    );
    // Lanes are in one line, or in one each.
    let (loads, step, factor) = match lines {
        0..32 => (lines, 1, 1),
        _ => (lines / 32, 32, 32),
    };
    for load in 0..loads {
        let _ = writeln!(
            body,
            "add.u32 %r1, %r2, {}; shl.b32 %r1, %r1, 5; mad.lo.u32 %r1, %r3, {factor}, %r1; {LOAD}",
            load * step
        );
    }
    body + "add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 8; @%p1 bra loop;"
}

/// CMP-M6: the largest group whose lines fit 115 lines.
#[test]
fn cmp_m6_lines_of_each_wavefront_give_the_group_sizes_of_the_vectors() {
    for (lines, group) in [(2, 57), (10, 11), (20, 5), (128, 1)] {
        let case = case(&touching(lines), [8, 1, 1], [256, 1, 1], [0; 2]);
        let [found] = &case.windows(Direction::AlongX)[..] else {
            panic!("{lines} lines: one loop")
        };
        let expected: Vec<u32> = (1..=64).map(|wavefronts| lines * wavefronts).collect();
        assert_eq!(found.intra, expected);
        let fitting = found.intra.iter().filter(|&&all| all <= 115).count();
        assert_eq!(fitting.max(1), group);
        assert!(found.inter.is_empty() && found.along.is_empty());
        assert_eq!(found.irregular, 0);
    }
}

#[test]
fn cmp_m6_a_load_at_a_loaded_address_counts_32_lines_and_has_no_lists() {
    let body = format!(
        "mov.u32 %r4, 0; mov.u32 %r1, 0; loop: {LOAD} add.u32 %r1, %r9, %r9;
         add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 8; @%p1 bra loop;"
    );
    let found = case(&body, [8, 1, 1], [256, 1, 1], [0; 2]).windows(Direction::AlongX);
    let instructions = found[0].instructions.clone();
    assert_eq!(
        found,
        [LoopWindows {
            instructions,
            irregular: 32,
            ..LoopWindows::default()
        }]
    );
}

/// Each wavefront has 2 rows of the first matrix, and all of a column share a row of the second.
#[test]
fn a_product_of_matrices_touches_two_lines_a_wavefront_and_one_of_all() {
    let case = case(&product(16), [4, 6, 1], [16, 16, 1], [64, 0]);
    let [along_y] = &case.windows(Direction::AlongY)[..] else {
        panic!("one loop")
    };
    // 6 work-groups of 8 wavefronts are a column; the next has the same rows, and the same line.
    let lines: Vec<u32> = (1..=64).map(|group: u32| 2 * group.min(48) + 1).collect();
    assert_eq!(along_y.intra, lines);
    assert_eq!(along_y.inter, lines);
    assert_eq!(along_y.along, lines);
    let [nowhere] = &case.windows(Direction::RoundRobin)[..] else {
        panic!("one loop")
    };
    assert!(nowhere.along.is_empty());
    // 4 work-groups of a row share 16 rows; two of them share a line of the second matrix.
    assert_eq!(nowhere.intra[..8], lines[..8]);
    assert_eq!((nowhere.intra[15], nowhere.intra[31]), (17, 18));
    // The instruction before the loop is among those of the loop, and no store is.
    let code = &case.trace.code.instructions;
    let [before, first, ..] = along_y.instructions[..] else {
        panic!("instructions")
    };
    assert_eq!(before + 1, first);
    assert!(along_y.instructions.len() < code.len());
    let loads = along_y
        .instructions
        .iter()
        .map(|&at| code[at as usize].class);
    assert_eq!(loads.filter(|&class| class == Class::Load).count(), 2);
}

/// Rows of 512 bytes of which each is loaded again after two iterations.
#[test]
fn a_window_is_as_long_as_the_nearest_reuse() {
    let row = |ahead: u32| {
        format!("add.u32 %r1, %r4, {ahead}; shl.b32 %r1, %r1, 7; add.u32 %r1, %r1, %tx; {LOAD}")
    };
    let body = format!(
        "mov.u32 %r4, 0; loop: {} {} add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 20; @%p1 bra loop;",
        row(0),
        row(2)
    );
    let found = case(&body, [1; 3], [128, 1, 1], [0; 2]).windows(Direction::RoundRobin);
    // Two iterations touch 4 rows; the launch has 4 wavefronts.
    let lines: Vec<u32> = (1..=64).map(|group: u32| 4 * group.min(4)).collect();
    assert_eq!(found[0].intra, lines);
    assert!(found[0].inter.is_empty());
    // Another load has the same line in each iteration, but the longer window counts.
    let body = body.replace("loop: ", &format!("loop: mov.u32 %r1, 100000; {LOAD} "));
    let found = case(&body, [1; 3], [128, 1, 1], [0; 2]).windows(Direction::RoundRobin);
    let lines: Vec<u32> = lines.iter().map(|lines| lines + 1).collect();
    assert_eq!(found[0].intra, lines);
    assert_eq!(found[0].inter[..4], [3, 5, 7, 9]);
}

#[test]
fn only_the_innermost_loop_with_loads_has_an_entry() {
    let inner = "mov.u32 %r5, 0; inner: mad.lo.u32 %r1, %r4, 4096, %r5; INNER
         add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 6; @%p1 bra inner;";
    let body = |load: &str| {
        format!(
            "mov.u32 %r4, 0; outer: mov.u32 %r1, %r4; {LOAD} {}
             add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 9; @%p1 bra outer;",
            inner.replace("INNER", load)
        )
    };
    let count = |load: &str| {
        let found = case(&body(load), [1; 3], [32, 1, 1], [0; 2]).windows(Direction::RoundRobin);
        let counts = found.iter().map(|found| found.instructions.len());
        (counts.collect::<Vec<usize>>(), found[0].intra[0])
    };
    let (with_load, lines) = count(LOAD);
    assert_eq!((with_load.len(), lines), (1, 1));
    let (without, lines) = count("");
    assert_eq!((without.len(), lines), (1, 1));
    assert!(without[0] > with_load[0]);
}

/// The inner loop repeats as often as the outer one has before: 4 times in the middle.
#[test]
fn loops_around_are_in_the_middle_of_their_iterations() {
    let body = format!(
        "mov.u32 %r4, 0; outer: mov.u32 %r5, 0;
         inner: setp.ge.u32 %p1, %r5, %r4; @%p1 bra next;
         mad.lo.u32 %r1, %r5, 32, %r4; {LOAD} add.u32 %r5, %r5, 1; bra inner;
         next: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 9; @%p2 bra outer;"
    );
    let found = case(&body, [1; 3], [64, 1, 1], [0; 2]).windows(Direction::RoundRobin);
    assert_eq!(found.len(), 1);
    // No line is touched again by the same wavefront; both touch each in the same iteration.
    assert!(found[0].intra.is_empty());
    assert_eq!(found[0].inter, [1; 64]);
}

/// Data decides after each iteration; 64 of them are taken to happen.
#[test]
fn a_loop_whose_iterations_are_not_known_counts_what_it_loads_in_each() {
    let body = format!(
        "mov.u32 %r1, %tx; loop: {LOAD} ld.global.u32 %r8, [%rd1 + 512];
         setp.ne.u32 %p1, %r9, 0; @%p1 bra loop;"
    );
    let found = case(&body, [1; 3], [64, 1, 1], [0; 2]).windows(Direction::RoundRobin);
    let lines: Vec<u32> = (1..=64).map(|group: u32| 2 * group.min(2)).collect();
    assert_eq!((&found[0].intra, found[0].irregular), (&lines, 0));
}

#[test]
fn a_loop_with_more_loads_than_are_followed_has_no_entry() {
    let body = |loads: usize| {
        format!(
            "mov.u32 %r4, 0; loop: mov.u32 %r1, %r4; {} add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 64; @%p1 bra loop;",
            LOAD.repeat(loads)
        )
    };
    let count = |loads: usize| {
        let case = case(&body(loads), [8, 1, 1], [256, 1, 1], [0; 2]);
        case.windows(Direction::AlongX).len()
    };
    assert_eq!((count(32), count(33)), (1, 0));
}

/// One loop with all accesses; guards hold for some threads and iterations.
fn text(accesses: &[Access], trips: u32) -> String {
    let mut body = String::from("mov.u32 %r2, 0; loop:\n");
    for access in accesses {
        body += &index(access);
        let (sum, least) = access.guard.unwrap_or((0, -1));
        let sum = ["%tx", "%r2", "%ty", "%bx"][usize::from(sum) % 4];
        let least = least % 6;
        let action = if access.is_store {
            "st.global.u32 [%rd1], %r2;"
        } else {
            "ld.global.u32 %r9, [%rd1];"
        };
        let _ = writeln!(
            body,
            "mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %in, %rd1; setp.ge.s32 %p1, {sum}, {least}; @%p1 {action}"
        );
    }
    let _ = writeln!(
        body,
        "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, {trips}; @%p1 bra loop;"
    );
    body
}

/// Line that a load touches in one iteration of a wavefront.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Touch {
    line: u64,
    iteration: u32,
    wavefront: usize,
    load: u32,
    work_group: u32,
    row: u32,
}

/// Returns all lines of loads of a launch whose wavefronts are all followed.
fn touches(case: &Case, direction: Direction) -> BTreeSet<Touch> {
    let kernel = &case.trace;
    let [x, y, _] = kernel.grid;
    let mut groups: Vec<(u32, u32)> = (0..kernel.work_groups())
        .map(|group| match direction {
            Direction::AlongY => (group % x * y + group / x, group),
            _ => (group, group),
        })
        .collect();
    groups.sort_unstable();
    let mut all = BTreeSet::new();
    let mut lanes = Lanes::default();
    let mut number = 0;
    for (_, group) in groups {
        for wavefront in 0..kernel.wavefronts_per_work_group() {
            let mut cursor = kernel.cursor(group, wavefront);
            let mut iteration = 0;
            while let Some(record) = cursor.next(kernel, &mut lanes) {
                let instruction = &kernel.code.instructions[record.pc as usize];
                iteration += u32::from(instruction.class == Class::Branch);
                if instruction.class != Class::Load || record.space != Space::Global {
                    continue;
                }
                for (_, address) in lanes.iter(record.mask) {
                    for line in [address / 128, (address + 3) / 128] {
                        all.insert(Touch {
                            line,
                            iteration,
                            wavefront: number,
                            load: record.pc,
                            work_group: group,
                            row: if direction == Direction::AlongY {
                                group % x
                            } else {
                                group / x
                            },
                        });
                    }
                }
            }
            number += 1;
        }
    }
    assert!(number <= 64);
    all
}

/// Counts lines by the definition: of each load the nearest reuse, of those the farthest.
fn counted(all: &BTreeSet<Touch>, is_reuse: impl Fn(&Touch, &Touch) -> bool) -> Vec<u32> {
    let loads: BTreeSet<u32> = all.iter().map(|touch| touch.load).collect();
    let nearest = |load: u32| {
        let own = all.iter().filter(|touch| touch.load == load);
        let pairs = own.flat_map(|a| all.iter().map(move |b| (a, b)));
        let reuses =
            pairs.filter(|(a, b)| a.line == b.line && b.iteration >= a.iteration && is_reuse(a, b));
        reuses.map(|(a, b)| b.iteration - a.iteration).min()
    };
    let Some(window) = loads.into_iter().filter_map(nearest).max() else {
        return Vec::new();
    };
    let window = window.max(1);
    let lines = |group: usize| {
        let counts = (0..64).map(|number| {
            let inside = all
                .iter()
                .filter(|touch| touch.wavefront < group && touch.iteration / window == number);
            inside
                .map(|touch| touch.line)
                .collect::<BTreeSet<u64>>()
                .len() as u32
        });
        counts.max().unwrap_or_default()
    };
    (1..=64).map(lines).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_windows_of_random_loops_are_those_of_the_recorded_accesses(
        accesses in proptest::collection::vec(access(), 1..5),
        ahead in proptest::collection::vec(0..5_i32, 4),
        trips in 1..9_u32,
        grid in [1..4_u32, 1..4_u32],
        block in (prop_oneof![Just(8_u32), Just(16), 1..20_u32], 1..4_u32),
        direction in prop_oneof![
            Just(Direction::RoundRobin), Just(Direction::AlongX), Just(Direction::AlongY)
        ],
    ) {
        let ([gx, gy], (bx, by)) = (grid, block);
        let mut accesses = accesses;
        // The second and fourth may be what the one before is some iterations later.
        for at in (1..accesses.len()).step_by(2) {
            if ahead[at] > 0 {
                accesses[at - 1].factors[4] = 32 * ahead[at - 1];
                accesses[at] = accesses[at - 1].clone();
                accesses[at].constant += accesses[at].factors[4] * ahead[at];
            }
        }
        let case = case(&text(&accesses, trips), [gx, gy, 1], [bx, by, 1], [7, 9]);
        let found = case.windows(direction);
        let loads = accesses.iter().filter(|access| !access.is_store).count();
        prop_assert_eq!(found.len(), usize::from(loads > 0));
        let Some(found) = found.first() else { return Ok(()) };
        let all = touches(&case, direction);
        prop_assert_eq!(found.irregular, 0);
        let intra = |a: &Touch, b: &Touch| a.wavefront == b.wavefront && a.iteration < b.iteration;
        prop_assert_eq!(&found.intra, &counted(&all, intra));
        let inter = |a: &Touch, b: &Touch| a.wavefront != b.wavefront && a.work_group == b.work_group;
        prop_assert_eq!(&found.inter, &counted(&all, inter));
        let along = |a: &Touch, b: &Touch| {
            direction != Direction::RoundRobin && a.wavefront != b.wavefront && a.row == b.row
        };
        prop_assert_eq!(&found.along, &counted(&all, along));
    }
}
