//! Tests that faults injected on a wire are found by the wire's checker.

use warpweave_framework::verify::{Contract, Fault, FaultInjector, Matching, Rig, check_wire};
use warpweave_framework::{Link, Outcome, TestBench};

use crate::devices::{Buffer, Bug};

/// Sends ten messages over a wire of latency 3 with a fault; returns the checker's verdict.
fn with(fault: Option<Fault<u64>>) -> Result<(), String> {
    let leak = matches!(fault, Some(Fault::LeakCredit));
    let mut bench = TestBench::new();
    bench.add("a", Buffer::new(4, 0, Bug::None));
    bench.add("b", Buffer::new(4, 0, Bug::None));
    let input = bench.source::<u64>("a.input");
    let link = Link::latency(3).capacity(8);
    bench.builder().connect("a.output", "b.input", link);
    let output = bench.sink::<u64>("b.output");
    let simulation = bench.simulation();
    let check = check_wire::<u64>(simulation, "a.output").unwrap();
    if let Some(fault) = fault {
        let port = if leak { "b.input" } else { "a.output" };
        simulation.tap(port, FaultInjector::at(fault, 6)).unwrap();
    }
    (0..20).for_each(|n| input.send(n));
    match bench.run_for(10_000) {
        Outcome::Done => {
            assert_eq!(check.seen(), output.count());
            check.finish()
        }
        Outcome::Deadlock(report) => Err(report.to_string()),
        Outcome::Failed(message) => Err(message),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_found(fault: Fault<u64>, words: &str) {
    let message = with(Some(fault)).unwrap_err();
    assert!(message.contains(words), "{message}");
}

#[test]
fn a_wire_without_faults_passes() {
    assert_eq!(with(None), Ok(()));
    // Late is what a wire may be: nothing bounds the time above.
    assert_eq!(with(Some(Fault::Delay(9))), Ok(()));
}

#[test]
fn faults_are_found_and_named() {
    assert_found(
        Fault::Lose,
        "a.output -> b.input: in cycle 11 7 arrived before 6: a message is lost",
    );
    assert_found(Fault::Duplicate, "6 arrived again: it is a duplicate");
    assert_found(Fault::Reorder, "7 arrived before 6");
    assert_found(
        Fault::Corrupt(|n| *n += 100),
        "106 arrived, but was never sent; expected 6",
    );
    assert_found(Fault::Early(1), "6 arrived after 2 cycles, expected 3");
    assert_found(Fault::LeakCredit, "waits for room");
}

#[test]
fn random_faults_are_shrunk() {
    let contract = Contract::new(|rig: &mut Rig| {
        rig.add("dut", Buffer::new(4, 0, Bug::None));
        rig.drive("dut.input", |n| n);
        rig.expect("dut.output", Matching::InOrder, |n| n);
        rig.check(|simulation| {
            let check = check_wire::<u64>(simulation, "dut.output")?;
            let fault = FaultInjector::one_in(Fault::<u64>::Lose, 5, 3, "dut.output");
            simulation.tap("dut.output", fault)?;
            Ok(check)
        });
    });
    let failure = contract.run().unwrap_err();
    // The shortest traffic ends with the first message that is lost.
    assert!(failure.message.contains("never arrived"), "{failure}");
    let calmer = warpweave_framework::verify::Traffic {
        messages: failure.traffic.messages - 1,
        ..failure.traffic
    };
    if calmer.messages > 0 {
        contract.run_with(calmer).unwrap();
    }
}
