//! The code of `docs/write-a-component.md`, which must compile and pass its tests.

use proptest::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::verify::{Contract, strategies};
use warpweave_framework::{
    Component, Context, Cycle, Environment, InPort, Kind, Next, OutPort, Ports, Registry,
    SpecError, State, Statistics, TestBench,
};
use warpweave_params::{Diagnostics, Source, parse};

/// Passes messages on, at most one every `interval` cycles.
#[derive(Ports, State, Statistics)]
struct RateLimiter {
    #[port]
    input: InPort<u64>,
    #[port]
    output: OutPort<u64>,
    #[state(skip)]
    interval: Cycle,
    open_from: Cycle,
    /// Messages passed on.
    #[state(tally)]
    #[statistic(unit = "messages")]
    passed: u64,
}

impl Component for RateLimiter {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.input.peek(ctx).is_none() {
            return Next::Message;
        }
        if ctx.cycle() < self.open_from {
            return Next::Until(self.open_from);
        }
        if !self.output.can_send(ctx) {
            return Next::Credit;
        }
        if let Some(message) = self.input.pop(ctx) {
            self.output.send(ctx, message);
        }
        self.passed += 1;
        self.open_from = ctx.cycle() + self.interval;
        Next::Until(self.open_from)
    }
}

/// Parameters that a description sets.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RateLimiterSpec {
    /// Cycles from one message to the next, at least 1.
    interval_cycles: u32,
}

impl Kind for RateLimiter {
    const NAME: &'static str = "RateLimiter";
    const SUMMARY: &'static str = "Passes messages on at a bounded rate";
    type Spec = RateLimiterSpec;

    fn build(spec: RateLimiterSpec, _: &Environment) -> Result<Self, SpecError> {
        SpecError::require(spec.interval_cycles > 0, "interval_cycles", || {
            "interval_cycles is 0, expected at least 1".to_owned()
        })?;
        Ok(Self::new(spec.interval_cycles))
    }
}

impl RateLimiter {
    fn new(interval_cycles: u32) -> Self {
        Self {
            input: InPort::new(),
            output: OutPort::new(),
            interval: interval_cycles.into(),
            open_from: 0,
            passed: 0,
        }
    }
}

#[test]
fn messages_leave_one_interval_apart() {
    let mut bench = TestBench::new();
    bench.add("limiter", RateLimiter::new(4));
    let input = bench.source::<u64>("limiter.input");
    let output = bench.sink::<u64>("limiter.output");
    input.send_at(10, 7);
    input.send_at(11, 8);
    input.send_at(30, 9);
    bench.expect_at(&output, 10, &7);
    bench.expect_at(&output, 14, &8);
    bench.expect_at(&output, 30, &9);
    assert_eq!(bench.statistics("limiter").counter("passed"), Some(3));
}

#[test]
fn it_keeps_every_promise_under_any_traffic() {
    let limiter = || RateLimiter::new(3);
    Contract::new(|rig| rig.relay(limiter(), "input", "output", |n: u64| n)).assert();
}

proptest! {
    #[test]
    fn nothing_is_lost_whatever_the_interval(
        traffic in strategies::traffic(30),
        interval in 1..9u32,
    ) {
        let build = || RateLimiter::new(interval);
        let contract = Contract::new(|rig| rig.relay(build(), "input", "output", |n: u64| n));
        prop_assert_eq!(contract.run_with(traffic), Ok(()));
    }
}

fn describe(text: &str) -> Result<(), Diagnostics> {
    let mut registry = Registry::new();
    registry.register::<RateLimiter>();
    let node = parse(&Source::new("system.ron", text))?;
    registry
        .build(&node, &Environment::new("limiter", 1))
        .map(|_| ())
}

#[test]
fn descriptions_can_name_it() {
    assert!(describe("RateLimiter(interval_cycles: 4)").is_ok());
}

#[test]
fn wrong_descriptions_are_refused_with_their_place() {
    let zero = describe("RateLimiter(interval_cycles: 0)").unwrap_err();
    assert!(zero.to_string().contains("system.ron:1:"), "{zero}");
    assert!(zero.to_string().contains("expected at least 1"), "{zero}");
    let slip = describe("RateLimiter(interval_cycle: 4)").unwrap_err();
    assert!(slip.to_string().contains("`interval_cycles`"), "{slip}");
}

/// Checks that every block of Rust on the page is in this file, line by line.
#[test]
fn the_page_shows_this_code() {
    let page = include_str!("../../docs/write-a-component.md");
    let code = include_str!("tutorial.rs");
    let blocks: Vec<_> = page.split("```rust\n").skip(1).collect();
    assert!(blocks.len() >= 4, "the page shows code");
    for block in blocks {
        let block = block.split("```").next().unwrap_or_default();
        assert!(
            code.contains(block),
            "not in framework/tests/tutorial.rs:\n{block}"
        );
    }
}

/// Checks the sizes stated on the page in lines of code: the component (struct and behaviour), its
/// test, and its property test.
#[test]
fn the_code_is_as_short_as_the_page_says() {
    let page = include_str!("../../docs/write-a-component.md");
    let blocks: Vec<_> = page.split("```rust\n").skip(1).collect();
    let lines = |at: usize| {
        let block = blocks[at].split("```").next().unwrap_or_default();
        block.lines().filter(|line| !line.trim().is_empty()).count()
    };
    let component = lines(0);
    assert!(
        (20..40).contains(&component),
        "component: {component} lines"
    );
    assert!((10..20).contains(&lines(1)), "test: {} lines", lines(1));
    assert_eq!(lines(2), 5, "property test");
}
