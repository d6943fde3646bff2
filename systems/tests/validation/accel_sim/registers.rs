//! Register banks, write-back of results per cycle, and atomics that update one word.

use super::super::harness::{OPERANDS, Places, REGISTERS, Step, named, sum};
use super::{MACHINES, SMALL};

#[test]
fn operands_of_one_bank_are_read_one_after_the_other() {
    for machine in &MACHINES {
        for switch in ["true", "false"] {
            let set = format!("params.register_banks={switch}");
            let sets = [&SMALL[..], &[&set]].concat();
            for count in 1..=OPERANDS {
                let row = |length| machine.run(&sets, &[(1, 1, vec![Step::Gather(count); length])]);
                let (short, long) = (row(2), row(6));
                let hand = &long.hand;
                let late = match switch {
                    "true" => (count as u64 - 1) / hand.cu("register_banks.reads_per_cycle"),
                    _ => 0,
                };
                let cycles = long.cycles - short.cycles;
                let expected = 4 * (hand.next_step() + late);
                assert_eq!(cycles, expected, "{} {set} {count}", machine.file);
            }
        }
    }
}

/// One wavefront per scheduler, with independent instructions.
#[test]
fn so_many_results_are_written_in_a_cycle_as_there_are_buses() {
    for machine in &MACHINES {
        for results in [1, 2] {
            let set = format!("params.results={results}");
            let sets = [&SMALL[..], &[&set]].concat();
            let schedulers = machine.alone(&[]).hand.cu("schedulers");
            let row = |count: u16| {
                let steps = (0..count).map(|i| Step::Compute(i % REGISTERS)).collect();
                machine.run(&sets, &[(1, schedulers as u32, steps)])
            };
            let (short, long) = (row(64), row(128));
            let interval = long.hand.cu("classes.int_add.interval");
            let apart = interval.max(schedulers / results);
            let cycles = long.cycles - short.cycles;
            assert_eq!(cycles, 64 * apart, "{} {results}", machine.file);
        }
    }
}

#[test]
fn an_atomic_makes_as_many_requests_as_lanes_update_one_word() {
    for machine in &MACHINES {
        for (switch, apart) in [("true", true), ("false", false)] {
            let set = format!("params.atomics_apart={switch}");
            let sets = [&SMALL[..], &[&set]].concat();
            for distinct in 1..=8 {
                let change = Step::Change(Places {
                    base: 0,
                    apart: 4,
                    distinct,
                });
                let ran = machine.run(&sets, &[(1, 1, vec![change, Step::Use])]);
                // The first word has those lanes that have no word of their own.
                let lanes = if apart { 32 - distinct as u64 + 1 } else { 1 };
                let units = named(&ran.simulated, "cu");
                assert_eq!(
                    sum(&units, "atomic_requests"),
                    lanes,
                    "{} {set}",
                    machine.file
                );
            }
        }
    }
}
