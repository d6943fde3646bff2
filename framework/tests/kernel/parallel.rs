//! Tests that random systems give identical results for any partitioning and number of threads.

use proptest::prelude::*;
use warpweave_framework::{
    Bundle, Component, Context, Cycle, EngineOptions, Link, Next, Order, OutPort, Outcome, Ports,
    Probe, ProbeSink, RunLimits, Simulation, Stateful, Statistics, Tick,
};

use crate::parts::{Drain, Log, one_clock};
use crate::random_systems::{Results, System, build, cuts, results, same, system};

struct Recorder(Log<(Tick, u32, String)>);

impl ProbeSink for Recorder {
    fn record(&mut self, tick: Tick, component: u32, probe: &Probe) {
        self.0.push((tick, component, format!("{probe:?}")));
    }
}

/// Results of a run in pieces.
struct Pieces {
    /// Outcome and time of each piece but the last.
    ends: Vec<(Outcome, Tick)>,
    results: Results,
    /// Instrumentation events, in order of evaluation.
    probes: Vec<(Tick, u32, String)>,
}

impl Pieces {
    fn compare(&self, other: &Self, what: &str) -> Result<(), TestCaseError> {
        prop_assert_eq!(&self.ends, &other.ends, "{}", what);
        same(&self.results, &other.results, what)
    }

    /// Compares everything, including instrumentation in the order of evaluation.
    fn compare_all(&self, other: &Self, what: &str) -> Result<(), TestCaseError> {
        self.compare(other, what)?;
        prop_assert_eq!(&self.probes, &other.probes, "{}", what);
        Ok(())
    }
}

/// Runs in pieces that end at `cuts`, then to the end; `each` is called between pieces.
fn run(
    system: &System,
    options: EngineOptions,
    cuts: &[u64],
    silence: Option<u64>,
    each: &mut dyn FnMut(&mut Simulation),
) -> Pieces {
    let (mut simulation, log) = build(system, options);
    let probes = Log::default();
    simulation.set_probe_sink(Some(Box::new(Recorder(probes.clone()))));
    let mut ends = Vec::new();
    let mut untils = cuts.iter().map(|c| Some(Tick(*c))).chain([None]);
    let outcome = loop {
        let outcome = simulation.run(&RunLimits {
            until: untils.next().flatten(),
            silence,
            interrupt: None,
        });
        if outcome != Outcome::Limit {
            break outcome;
        }
        ends.push((outcome, simulation.now()));
        each(&mut simulation);
    };
    Pieces {
        ends,
        results: results(&simulation, outcome, &log),
        probes: probes.all(),
    }
}

fn divided(partitions: usize, threads: usize) -> EngineOptions {
    EngineOptions {
        partitions,
        threads,
        ..EngineOptions::default()
    }
}

/// Sends one message at each of these cycles and is busy between them.
#[derive(Statistics)]
struct Restless {
    output: OutPort<u64>,
    at: Vec<Cycle>,
}

impl Bundle for Restless {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
    }
}

impl Component for Restless {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.at.contains(&ctx.cycle()) {
            self.output.send(ctx, ctx.cycle());
        }
        if self.at.iter().all(|at| *at <= ctx.cycle()) {
            Next::Idle
        } else {
            Next::Busy
        }
    }
}

impl Stateful for Restless {}

#[test]
fn patience_ends_at_the_same_tick_in_any_division() {
    for silence in 1..20 {
        for pause in 1..25 {
            let ends = [(1, true), (2, true), (2, false)].map(|(partitions, sleeping)| {
                let (mut builder, clock) = one_clock();
                let output = OutPort::new();
                let at = vec![3, 3 + pause];
                builder.add("restless", clock, Restless { output, at });
                let (drain, received) = Drain::<u64>::every(1);
                builder.add("drain", clock, drain);
                builder.connect("restless.output", "drain.input", Link::latency(8));
                let mut simulation = builder.elaborate().unwrap();
                simulation.set_options(EngineOptions {
                    sleeping,
                    ..divided(partitions, 1)
                });
                let outcome = simulation.run(&RunLimits {
                    silence: Some(silence),
                    ..RunLimits::default()
                });
                (outcome, simulation.now(), received.all())
            });
            let (outcome, now, _) = &ends[0];
            // The three cycles before the first message, and those between the two, are silent. If
            // patience would end while the first is in flight, it begins anew when it arrives.
            let end = if silence < 3 {
                Some(silence)
            } else {
                let since = if silence < 8 { 3 + 8 } else { 3 };
                (since + silence < 3 + pause).then_some(since + silence)
            };
            assert_eq!(matches!(outcome, Outcome::Livelock(_)), end.is_some());
            assert!(end.is_none_or(|end| *now == Tick(end)), "{now:?}");
            assert_eq!(
                ends[1], ends[0],
                "two partitions, silence {silence}, pause {pause}"
            );
            assert_eq!(
                ends[2], ends[0],
                "and awake, silence {silence}, pause {pause}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn partitions_change_nothing(
        system in system(),
        cuts in cuts(),
        silence in prop::option::of(1..3000u64),
        seed in any::<u64>(),
    ) {
        let serial = run(&system, divided(1, 1), &cuts, silence, &mut |_| {});
        for partitions in [2, 3, 4, 8] {
            let other = run(&system, divided(partitions, 1), &cuts, silence, &mut |_| {});
            serial.compare_all(&other, &format!("{partitions} partitions"))?;
        }
        for sleeping in [true, false] {
            let order = Order::Shuffled { seed };
            let shuffled = EngineOptions { order, sleeping, ..divided(3, 1) };
            let other = run(&system, shuffled, &cuts, silence, &mut |_| {});
            serial.compare(&other, &format!("3 partitions, shuffled, sleeping {sleeping}"))?;
        }
    }

    #[test]
    fn dividing_anew_between_runs_changes_nothing(system in system(), cuts in cuts()) {
        let serial = run(&system, divided(1, 1), &cuts, None, &mut |_| {});
        let mut partitions = 3;
        let other = run(&system, divided(3, 1), &cuts, None, &mut |simulation| {
            partitions = partitions % 5 + 1;
            simulation.set_options(divided(partitions, 1));
        });
        serial.compare_all(&other, "divided anew")?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn threads_change_nothing(system in system(), cuts in cuts()) {
        let serial = run(&system, divided(1, 1), &cuts, None, &mut |_| {});
        for (partitions, threads) in [(2, 2), (3, 2), (3, 3), (4, 4), (8, 8)] {
            let other = run(&system, divided(partitions, threads), &cuts, None, &mut |_| {});
            serial.compare_all(&other, &format!("{partitions} partitions, {threads} threads"))?;
        }
    }
}
