//! Tests of properties of every run of any system, independent of engine options.

use proptest::prelude::*;
use warpweave_framework::{EngineOptions, Order, Outcome, RunLimits, Tick};

use crate::parts::Log;
use crate::random_systems::{
    Did, FOREVER, Results, build, cuts, endless_system, options, results, run, same, system,
};

fn sum(results: &Results, name: &str) -> u64 {
    results
        .statistics
        .iter()
        .filter_map(|s| s.counter(name))
        .sum()
}

/// Checks the outcome of a piece that ended before the run did. Only a failure is reported at once,
/// although it has a delay like every other end.
fn failed_early(outcome: Outcome, whole: &Results) -> Result<(), TestCaseError> {
    prop_assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    prop_assert_eq!(&outcome, &whole.outcome);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn sleeping_and_order_change_nothing(system in system(), seed in any::<u64>()) {
        let reference = run(&system, EngineOptions::default());
        for sleeping in [true, false] {
            for order in [Order::Added, Order::Shuffled { seed }] {
                let other = EngineOptions { order, sleeping, ..EngineOptions::default() };
                same(&reference, &run(&system, other), &format!("sleeping {sleeping}, {order:?}"))?;
            }
        }
    }

    #[test]
    fn nothing_is_lost_or_duplicated(system in endless_system()) {
        let results = run(&system, EngineOptions::default());
        let in_wires: usize = match &results.outcome {
            Outcome::Done => 0,
            Outcome::Deadlock(report) => report.occupied.iter().map(|(_, n, _)| n).sum(),
            other => return Err(TestCaseError::fail(format!("{other:?}"))),
        };
        prop_assert_eq!(
            sum(&results, "born"),
            sum(&results, "consumed") + sum(&results, "held") + in_wires as u64
        );
        let mut seen: Vec<_> = results
            .log
            .iter()
            .filter_map(|entry| match entry.did {
                Did::Take(_, message) => Some(message),
                Did::See(_) => None,
            })
            .collect();
        seen.sort_unstable();
        prop_assert!(seen.windows(2).all(|w| w[0] != w[1]), "a hop was taken twice");
        prop_assert_eq!(results.messages, seen.len() as u64 + in_wires as u64);
    }

    #[test]
    fn occupancy_over_time_is_the_sum_of_residences(system in endless_system()) {
        let results = run(&system, EngineOptions::default());
        for node in &results.statistics {
            // Little's law: exact for nodes that are empty at the end.
            if node.counter("held") == Some(0) {
                prop_assert_eq!(node.counter("level"), node.counter("residence"));
            }
        }
    }

    #[test]
    fn activity_sums_to_the_cycles_that_passed(system in system(), until in 0..2000u64) {
        let limits = RunLimits { until: Some(Tick(until)), ..FOREVER };
        let (mut simulation, _) = build(&system, EngineOptions::default());
        simulation.run(&limits);
        for (number, node) in system.nodes.iter().enumerate() {
            let elapsed = simulation.now().0 / simulation.time().period(node.clock) + 1;
            prop_assert_eq!(simulation.activity(number).iter().sum::<u64>(), elapsed);
        }
    }

    #[test]
    fn a_run_in_pieces_is_the_same_run(system in system(), cuts in cuts(), options in options()) {
        let whole = run(&system, options);
        let (mut simulation, log) = build(&system, options);
        for until in cuts.into_iter().filter(|c| *c < whole.now.0) {
            let outcome = simulation.run(&RunLimits { until: Some(Tick(until)), ..FOREVER });
            if outcome != Outcome::Limit {
                return failed_early(outcome, &whole);
            }
            prop_assert_eq!(simulation.now(), Tick(until));
        }
        let outcome = simulation.run(&FOREVER);
        same(&whole, &results(&simulation, outcome, &log), "in pieces")?;
    }

    #[test]
    fn a_run_saved_and_loaded_into_fresh_systems_is_the_same_run(
        system in system(),
        cuts in cuts(),
        saving in options(),
        loading in options(),
    ) {
        let whole = run(&system, saving);
        let (mut used, _) = build(&system, loading);
        used.run(&FOREVER);
        let (mut simulation, mut log) = build(&system, saving);
        let passed = Log::default();
        for until in cuts.into_iter().filter(|c| *c < whole.now.0) {
            let outcome = simulation.run(&RunLimits { until: Some(Tick(until)), ..FOREVER });
            if outcome != Outcome::Limit {
                return failed_early(outcome, &whole);
            }
            let checkpoint = simulation.save().unwrap();
            prop_assert_eq!(checkpoint.now(), Tick(until));
            used.load(&checkpoint).unwrap();
            prop_assert_eq!(&used.save().unwrap(), &checkpoint);
            log.all().into_iter().for_each(|entry| passed.push(entry));
            (simulation, log) = build(&system, loading);
            simulation.load(&checkpoint).unwrap();
            prop_assert_eq!(&simulation.save().unwrap(), &checkpoint);
        }
        let outcome = simulation.run(&FOREVER);
        log.all().into_iter().for_each(|entry| passed.push(entry));
        same(&whole, &results(&simulation, outcome, &passed), "saved and loaded")?;
    }
}
