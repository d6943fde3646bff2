//! Instruction fetch through a cache to the second level.

use super::super::harness::{Step, named, sum};
use super::{MACHINES, Machine, Ran, SMALL};

/// Returns the machine with instruction fetch enabled.
fn machine() -> &'static Machine {
    let mut machines = MACHINES.iter();
    machines
        .find(|machine| machine.file == "gtx480")
        .expect("it is there")
}

/// Runs kernels of this many wavefronts with these steps.
fn fetching(sets: &[&str], kernels: u32, wavefronts: u32, steps: &[Step]) -> Ran {
    let work = |_: u32, _: u32| steps.to_vec();
    let kernels = vec![(1, wavefronts, &work as &dyn Fn(u32, u32) -> Vec<Step>); kernels as usize];
    machine().run_work(&[&SMALL, sets].concat(), &kernels)
}

#[test]
fn the_first_instruction_comes_from_memory_after_the_sum_of_its_parts() {
    let without = machine().alone(&[]);
    let with = fetching(&[], 1, 1, &[]);
    let hand = &with.hand;
    let wire = hand.numbers.wire("cluster[0].cu[0].instructions");
    // A wavefront fetches in the cycle in which it could issue first.
    let fetched = hand.first_issue();
    let asked = fetched + wire + hand.down("l1i", 8);
    let issues = hand.closed_bank_answers(asked) + hand.up("l1i", 8 + 32) + wire;
    assert_eq!(with.cycles - without.cycles, issues - hand.first_issue());
}

/// The instruction cache is not invalidated between kernels.
#[test]
fn a_line_of_instructions_is_fetched_once_by_each_unit() {
    let reads = |kernels, wavefronts| {
        let ran = fetching(
            &[],
            kernels,
            wavefronts,
            &[Step::Compute(0), Step::Compute(1)],
        );
        let missed = sum(&named(&ran.simulated, "l1i"), "read_misses");
        (missed, sum(&named(&ran.simulated, "l2"), "reads"))
    };
    // The exit is in a different line than the two additions.
    let once = reads(1, 1);
    assert_eq!(once, (2, 8), "two lines of four sectors");
    assert_eq!(reads(3, 8), once);
}

/// Two instructions arrive together, and are fetched when the buffer is empty.
#[test]
fn instructions_that_hit_come_in_pairs() {
    let run = |pairs: usize| {
        // After the first kernel they are cached: the third addition and those after it are in one
        // line.
        let steps: Vec<_> = (0..2 * pairs as u16)
            .map(|i| Step::Compute(3 + i))
            .collect();
        let ran = fetching(&[], 2, 1, &steps);
        (ran.all - ran.cycles, ran.hand)
    };
    let ((short, _), (long, hand)) = (run(1), run(3));
    let there_and_back = 2 * hand.numbers.wire("cluster[0].cu[0].instructions");
    let each = 1 + there_and_back + hand.numbers.of("cluster[0].l1i[0]", "hit_latency_cycles");
    assert_eq!(long - short, 2 * each);
}
