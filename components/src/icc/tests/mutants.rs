//! Units that break one rule each; the checker must report every one.

use warpweave_framework::Outcome;

use super::saboteur::{Fault, Saboteur};
use super::tagged_memory::TaggedMemory;
use super::traffic::dense;
use super::*;
use crate::icc::checker::{CoalescingChecker, CoalescingCheckerSpec};

/// Returns the result of a run with this fault in this unit; missing responses at the end also
/// count as a failure.
fn verdict(spec: IccSpec, fault: Fault) -> Result<(), String> {
    let traffic = dense();
    let mut bench = TestBench::new();
    let up_ports = spec.up_ports;
    bench.add("icc", unit(spec));
    bench.add("saboteur", Saboteur::new(fault, up_ports));
    // What the memory makes of numbers must not matter.
    let checker = CoalescingCheckerSpec {
        up_ports,
        freshness: false,
    };
    let checker = CoalescingChecker::build(checker, &Environment::default());
    bench.add("checker", checker.expect("a valid specification"));
    let mut memory = TaggedMemory::new(traffic.seed, traffic.memory_stalls, traffic.slowest);
    memory.forgets = true;
    bench.add("memory", memory);
    let mut wire = |a: String, b: String| {
        let link = Link::latency(1).capacity(8);
        bench.builder().connect(a, b, link);
    };
    for port in 0..up_ports {
        wire(
            format!("checker.unit_up[{port}]"),
            format!("saboteur.up[{port}]"),
        );
        wire(
            format!("saboteur.unit_up[{port}]"),
            format!("icc.up[{port}]"),
        );
    }
    wire("icc.down".to_owned(), "saboteur.unit_down".to_owned());
    wire("saboteur.down".to_owned(), "checker.unit_down".to_owned());
    wire("checker.down".to_owned(), "memory.up".to_owned());
    let _sinks = traffic.send(&mut bench);
    if let Outcome::Failed(message) = bench.run_for(6_000) {
        return Err(message);
    }
    match bench.statistics("checker").counter("unanswered") {
        Some(0) => Ok(()),
        unanswered => Err(format!("{unanswered:?} requests have no answer")),
    }
}

#[test]
fn a_unit_without_fault_passes() {
    assert_eq!(verdict(spec(), Fault::None), Ok(()));
}

#[test]
fn every_broken_unit_is_noticed() {
    for (fault, sign) in [
        (Fault::Lost, "have no answer"),
        (Fault::Twice, "matches no outstanding request"),
        (Fault::WrongUnit, "up["),
        (Fault::FewerWords, "requested"),
        (Fault::OtherLine, "requested"),
        (Fault::Old, "of its cluster"),
        (Fault::SecondTracked, "tracked"),
        (Fault::OneReader, "no answer"),
        (Fault::NoBit, ""),
        (Fault::LateWrite, "of its cluster"),
    ] {
        let message = verdict(spec(), fault).expect_err("a rule is broken");
        assert!(message.contains(sign), "{fault:?}: {message}");
    }
}

/// The rule for writes, disabled in the unit itself: a read joins a line older than the write.
#[test]
fn a_unit_that_ignores_writes_is_noticed() {
    let spec = IccSpec {
        on_write: OnWrite::Ignore,
        ..spec()
    };
    let message = verdict(spec, Fault::None).expect_err("reads are stale");
    assert!(message.contains("of its cluster"), "{message}");
}
