//! Latency of each level, of stores and atomics, of each instruction class, and bytes of local
//! memory.

use super::super::harness::{CLASSES, Places, Step};
use super::{MACHINES, SMALL, at, word};

#[test]
fn a_hit_of_the_first_level_takes_the_sum_of_its_parts() {
    for machine in MACHINES.iter().filter(|machine| machine.has_l1) {
        let (cycles, hand) = machine.each(&[word(0), Step::Use], |_| word(0));
        let sum = hand.to_first("load") + hand.l1("hit_latency_cycles") + hand.since_first();
        assert_eq!(cycles, sum + hand.next_step(), "{}", machine.file);
    }
}

#[test]
fn a_hit_of_the_second_level_takes_the_sum_of_its_parts() {
    for machine in &MACHINES {
        // Consecutive lines fetched by a wavefront of another unit: none of them is in this unit.
        let line = |i: u64| word(128 * (i % 2) + 6144 * (i / 2));
        let lines: Vec<_> = (0..6).flat_map(|i| [line(i), Step::Use]).collect();
        let row = |count: usize| {
            let second = lines[..2 * count].to_vec();
            let kernels = [(1, 1, lines.clone()), (1, 1, second)];
            machine.run(&SMALL, &kernels)
        };
        // The first level is emptied between kernels.
        let (short, long) = (row(1), row(5));
        let hand = &long.hand;
        let sum = hand.to_first("load")
            + hand.around((8, 8 + 32))
            + hand.l2("hit_latency_cycles")
            // A slice answers one part in a cycle; the access waits for all.
            + hand.further_parts()
            + hand.since_first()
            + hand.next_step();
        assert_eq!(long.all - short.all, 4 * sum, "{}", machine.file);
    }
}

#[test]
fn a_load_from_a_closed_bank_takes_the_sum_of_its_parts() {
    for machine in &MACHINES {
        let none = machine.alone(&[]);
        let ran = machine.alone(&[word(0), Step::Use]);
        let hand = &ran.hand;
        let first_issue = hand.first_issue();
        let asked = first_issue + hand.to_first("load") + hand.down("l1", 8);
        let answered = hand.closed_bank_answers(asked);
        let dependent = answered + hand.up("l1", 8 + 32) + hand.since_first();
        let ended = dependent + 1 + hand.cu("classes.exit.latency");
        let ended = ended.max(dependent + hand.next_step());
        let empty = first_issue + hand.cu("classes.exit.latency");
        assert_eq!(
            ran.cycles - none.cycles,
            ended - empty,
            "{}: {} {}",
            machine.file,
            ran.cycles,
            none.cycles
        );
    }
}

/// The second level accepts a store without a fetch. The work-group ends when it is acknowledged.
#[test]
fn a_store_is_acknowledged_after_the_sum_of_its_parts() {
    for machine in &MACHINES {
        let none = machine.alone(&[]);
        let ran = machine.alone(&[Step::Put(at(0))]);
        let hand = &ran.hand;
        let acknowledged = hand.to_first("store")
            + hand.around((8 + 32, 8))
            + hand.l2("hit_latency_cycles")
            + hand.wire("cluster[0].cu[0].memory", "response");
        let empty = hand.cu("classes.exit.latency");
        let longer = ran.cycles - none.cycles;
        assert_eq!(longer, acknowledged - empty, "{}", machine.file);
    }
}

#[test]
fn an_atomic_in_the_second_level_takes_the_sum_of_its_parts() {
    for machine in &MACHINES {
        let together = ["params.atomics_apart=false"];
        let first = [word(0), Step::Use];
        let (cycles, hand) = machine.each_with(&together, &first, |_| Step::Change(at(0)));
        let sum = hand.to_first("atomic")
            + hand.around((8 + 32, 8 + 32))
            + hand.l2("hit_latency_cycles")
            + hand.l2("atomics.latency_cycles")
            + hand.since_first();
        assert_eq!(cycles, sum + hand.next_step(), "{}", machine.file);
    }
}

/// If the interval of a class is longer than its latency, the interval determines the time.
#[test]
fn dependent_instructions_of_each_class_follow_each_other_after_its_latency() {
    for machine in &MACHINES {
        for (number, (_, name)) in CLASSES.iter().enumerate() {
            let row = |count: usize| machine.alone(&vec![Step::Chain(number); count]);
            let (short, long) = (row(2), row(6));
            let hand = &long.hand;
            let latency = hand.cu(&format!("classes.{name}.latency"));
            let latency = match *name {
                "branch" | "barrier" | "fence" => latency,
                _ => latency + hand.cu("operand_latency"),
            };
            let each = latency.max(hand.cu(&format!("classes.{name}.interval")));
            let cycles = long.cycles - short.cycles;
            assert_eq!(cycles, 4 * each, "{} {name}", machine.file);
        }
    }
}

#[test]
fn a_conflict_of_any_degree_takes_as_many_cycles() {
    for machine in &MACHINES {
        for degree in 1..=32 {
            let access = Step::Local(Places {
                base: 0,
                apart: 4 * 32,
                distinct: degree,
            });
            let (cycles, hand) = machine.each(&[], |_| access);
            let latency = hand.cu("local_memory.latency") + hand.cu("operand_latency");
            let sum = latency + degree as u64 - 1;
            assert_eq!(cycles, sum + hand.next_step(), "{} {degree}", machine.file);
        }
    }
}
