//! Issue-slot accounting: every slot of every cycle is charged to one cause, by kernel and by
//! interval.

use warpweave_framework::{InstanceStatistics, Value};

use super::super::harness::{Places, Step};
use super::{MACHINES, SMALL};

/// Returns the issue slots of a unit.
fn slots(statistics: &[InstanceStatistics]) -> Vec<(&str, u64)> {
    let units = statistics.iter().filter(|one| one.path.contains(".cu["));
    let counted = units.map(|unit| {
        let slots = unit
            .values
            .iter()
            .filter(|value| value.name.starts_with("slots_"));
        let slots = slots.map(|value| match value.value {
            Value::Counter(count) => count,
            _ => panic!("slots are counted"),
        });
        (unit.path.as_str(), slots.sum())
    });
    counted.collect()
}

#[test]
fn slots_of_every_kernel_and_interval_are_schedulers_times_cycles() {
    let measured = ["measure.kernels=true", "measure.every_cycles=333"];
    for machine in &MACHINES {
        let spread = |base| {
            Step::Spread(Places {
                base,
                apart: 128,
                distinct: 7,
            })
        };
        let steps = |work_group: u32, wavefront: u32| {
            let base = u64::from(work_group * 8 + wavefront) * 640;
            let local = Step::Local(Places {
                base: 0,
                apart: 128,
                distinct: 5,
            });
            let mut steps = vec![
                spread(base),
                Step::Use,
                Step::Compute(0),
                local,
                Step::Chain(14),
            ];
            steps.extend([
                Step::ComputeFloat(1),
                Step::Store(base),
                Step::Chain(15),
                Step::Use,
            ]);
            steps
        };
        let kernels = [(3, 8, &steps as &dyn Fn(u32, u32) -> Vec<Step>); 2];
        let ran = machine.run_work(&[&SMALL[..], &measured].concat(), &kernels);
        let schedulers = ran.hand.cu("schedulers");
        let units = ran.hand.numbers.of("scheduler", "units_per_cluster");
        let intervals = ran
            .simulated
            .measured
            .intervals
            .as_ref()
            .expect("asked for");
        assert!(intervals.len() > 3);
        for interval in intervals {
            let cycles = interval.to_cycle - interval.from_cycle;
            let counted = slots(&interval.statistics);
            assert_eq!(counted.len() as u64, units, "{}", machine.file);
            for (unit, slots) in counted {
                assert_eq!(
                    slots,
                    schedulers * cycles,
                    "{} {unit} {interval:?}",
                    machine.file
                );
            }
        }
        let kernels = ran.simulated.measured.kernels.as_ref().expect("asked for");
        // The last one ends with the run.
        let (started, completed) = (
            &ran.simulated.kernels[0].started,
            &ran.simulated.kernels[0].completed,
        );
        let cycles = completed.expect("it is done") - started.expect("it is done");
        for (unit, slots) in slots(&kernels[&0]) {
            assert_eq!(slots, schedulers * cycles, "{} {unit}", machine.file);
        }
    }
}
