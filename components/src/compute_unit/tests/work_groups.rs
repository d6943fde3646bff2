//! Work-group dispatch and completion, invalidations, and rejected messages.

use super::*;
use crate::launch::{CacheCommand, CacheCommandDone};
use crate::occupancy::{UnitFacts, UnitLimits};

#[test]
fn two_work_groups_share_the_unit_and_free_it_again() {
    let steps = vec![exit()];
    let mut bench = Bench::new(spec(), vec![kernel(&vec![steps; 4], 6, 2048)]);
    bench.start_at(1, 0, 0, 0);
    bench.start_at(2, 0, 1, 1);
    // Four exits in 3 to 6, four in 7 to 10.
    bench.expect_completion(7, 0, 0);
    bench.expect_completion(11, 1, 1);
    bench.start_at(20, 0, 2, 0);
    bench.start_at(21, 0, 3, 3);
    bench.expect_completion(26, 2, 0);
    bench.expect_completion(30, 3, 3);
    assert_eq!(bench.counter("work_groups_completed"), 4);
    assert_eq!(bench.counter("wavefronts_max"), 8);
}

fn refused(local_bytes: u32, slots: [u16; 2]) {
    let steps = vec![step(op(Class::Barrier, &[], &[])), exit()];
    let mut bench = Bench::new(spec(), vec![kernel(&vec![steps; 3], 6, local_bytes)]);
    bench.start_at(1, 0, 0, slots[0]);
    bench.start_at(2, 0, 1, slots[1]);
    bench.bench.step(5);
}

#[test]
#[should_panic(expected = "but work-group 0 of kernel 0 already occupies the slot")]
fn a_slot_is_never_given_twice() {
    refused(0, [1, 1]);
}

#[test]
#[should_panic(expected = "needs 3000 bytes of local memory, but only 1096 are free")]
fn local_memory_is_never_exceeded() {
    refused(3000, [0, 1]);
}

#[test]
#[should_panic(expected = "but there are 4 slots")]
fn slots_that_do_not_exist_are_refused() {
    refused(0, [0, 4]);
}

#[test]
#[should_panic(expected = "needs 6 wavefront slots, but only 2 are free")]
fn wavefront_slots_are_never_exceeded() {
    let mut bench = Bench::new(spec(), vec![kernel(&vec![vec![exit()]; 6], 6, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.start_at(2, 0, 1, 1);
    bench.bench.step(5);
}

#[test]
#[should_panic(expected = "needs 2048 registers, but only 1000 are free")]
fn registers_are_never_exceeded() {
    let mut spec = spec();
    spec.registers = 1000;
    let mut bench = Bench::new(spec, vec![kernel(&vec![vec![exit()]; 4], 6, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(5);
}

#[test]
fn an_invalidation_is_answered_at_once_without_a_cache() {
    let mut bench = Bench::new(spec(), vec![kernel(&[vec![exit()]], 1, 0)]);
    bench
        .dispatch
        .send_at(5, Dispatch::Invalidate { kernel: 3, ran: 0 });
    let expected = Completion::Invalidated { kernel: 3 };
    bench.bench.expect_at(&bench.completion, 5, &expected);
}

#[test]
fn an_invalidation_waits_for_the_cache_and_holds_dispatches_back() {
    let mut bench = TestBench::new();
    bench.add("cu", build(spec(), vec![kernel(&[vec![exit()]], 1, 0)]));
    let dispatch = bench.source("cu.dispatch.dispatch");
    let completion = bench.sink("cu.dispatch.completion");
    let command = bench.sink("cu.cache_control.command");
    let done = bench.source("cu.cache_control.done");
    let _request = bench.sink::<MemRequest>("cu.memory.request");
    let _response = bench.source::<MemResponse>("cu.memory.response");
    dispatch.send_at(5, Dispatch::Invalidate { kernel: 0, ran: 0 });
    dispatch.send_at(
        6,
        Dispatch::Start {
            kernel: 0,
            work_group: 0,
            slot: 0,
            hint: 0,
        },
    );
    bench.expect_at(&command, 5, &CacheCommand::Invalidate);
    bench.expect_nothing(&completion, 10);
    done.send_at(30, CacheCommandDone);
    bench.expect_at(&completion, 30, &Completion::Invalidated { kernel: 0 });
    let expected = Completion::WorkGroup {
        kernel: 0,
        work_group: 0,
        slot: 0,
    };
    bench.expect_at(&completion, 33, &expected);
}

#[test]
fn a_unit_without_a_program_or_with_odd_numbers_is_refused() {
    let refusal = |spec, environment: &Environment| match ComputeUnit::build(spec, environment) {
        Ok(_) => panic!("built"),
        Err(error) => (error.field, error.message),
    };
    let (field, message) = refusal(spec(), &Environment::new("cu", 1));
    assert_eq!(field, "");
    assert!(message.contains("specify a workload"), "{message}");
    let environment = program(Vec::new());
    let mut odd = spec();
    odd.wavefront_slots = 65;
    assert_eq!(
        refusal(odd, &environment),
        (
            "wavefront_slots".to_owned(),
            "65, expected 1 to 64".to_owned()
        )
    );
    let mut odd = spec();
    odd.classes.int_div.interval = 0;
    assert_eq!(refusal(odd, &environment).0, "classes.int_div.interval");
    let mut odd = spec();
    odd.load_store.line_bytes = 96;
    assert_eq!(refusal(odd, &environment).0, "load_store.line_bytes");
}

#[test]
#[should_panic(expected = "needs 1536 registers, but only 1000 are free")]
fn registers_are_allocated_in_the_granules_stated() {
    let mut spec = spec();
    spec.registers = 1000;
    spec.register_granularity = Some(768);
    let steps = vec![exit()];
    let mut bench = Bench::new(spec, vec![kernel(&vec![steps; 2], 1, 0)]);
    bench.start_at(1, 0, 0, 0);
    bench.bench.step(5);
}

#[test]
fn the_unit_tells_its_scheduler_what_it_offers_and_nobody_else() {
    let mut spec = spec();
    spec.register_granularity = Some(256);
    let unit = build(spec, vec![kernel(&[vec![exit()]], 1, 0)]);
    let told = |port| {
        let mut facts = Facts::new();
        unit.facts(port, &mut facts);
        facts.get::<UnitFacts>().copied()
    };
    let facts = told(port_ids::DISPATCH).expect("a unit states its limits");
    assert_eq!(facts.register_partitions, None);
    let limits = UnitLimits {
        wavefront_slots: 8,
        work_group_slots: 4,
        registers: 16384,
        register_partitions: 1,
        register_granularity: 256,
        local_memory_bytes: 4096,
    };
    assert_eq!(facts.limits(), limits);
    assert_eq!(told(port_ids::MEMORY), None);
}
