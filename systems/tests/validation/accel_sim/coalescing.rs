//! Memory requests of accesses to many lines.

use super::super::harness::{Places, Step, named, sum};
use super::{Hand, MACHINES};

#[test]
fn an_access_to_any_number_of_lines_makes_as_many_requests() {
    for machine in &MACHINES {
        let line = |ran: &Hand| ran.cu("load_store.line_bytes");
        for degree in 1..=32 {
            let access = |apart| {
                Step::Spread(Places {
                    base: 0,
                    apart,
                    distinct: degree,
                })
            };
            let apart = line(&machine.alone(&[]).hand);
            let ran = machine.alone(&[access(apart), Step::Use]);
            let units = named(&ran.simulated, "cu");
            assert_eq!(
                sum(&units, "read_requests"),
                degree as u64,
                "{}",
                machine.file
            );
        }
    }
}

/// The lines of a hitting access go to the first level one per cycle. If the first level accepts
/// several per cycle, bank conflicts apply.
#[test]
fn hits_of_an_access_to_many_lines_follow_each_other_cycle_by_cycle() {
    for machine in MACHINES.iter().filter(|machine| machine.file == "gtx480") {
        let apart = machine.alone(&[]).hand.cu("load_store.line_bytes");
        let cycles_of = |distinct| {
            let access = Step::Spread(Places {
                base: 0,
                apart,
                distinct,
            });
            machine.each(&[access, Step::Use], |_| access)
        };
        let (one, _) = cycles_of(1);
        for degree in 1..=32_usize {
            let more = degree as u64 - 1;
            assert_eq!(cycles_of(degree).0, one + more, "{} {degree}", machine.file);
        }
    }
}
