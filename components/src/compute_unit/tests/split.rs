//! Units whose local memory and first-level cache divide one memory.

use super::*;
use crate::launch::{CacheCommand, CacheCommandDone, CacheSizes, Resizable};

/// Returns a unit of which half the memory can be local, in four splits.
fn sharing() -> ComputeUnitSpec {
    let mut spec = spec();
    spec.local_memory.shared_with_cache = Some(SharedMemorySpec {
        bytes: 8192,
        splits: vec![0, 1024, 2048, 4096],
    });
    spec
}

/// Unit with a scripted cache, one of a given number of units on its device.
struct Sharing {
    bench: Bench,
    command: Sink<CacheCommand>,
    done: BenchSource<CacheCommandDone>,
}

impl Sharing {
    fn new(units: u32, kernels: Vec<KernelTrace>) -> Self {
        let told = SchedulerFacts {
            units,
            register_partitions: None,
            register_granularity: None,
        };
        Self::told(told, kernels)
    }

    fn told(by_scheduler: SchedulerFacts, kernels: Vec<KernelTrace>) -> Self {
        let mut unit = build(sharing(), kernels);
        let mut facts = Facts::new();
        facts.publish(by_scheduler);
        unit.learn(port_ids::DISPATCH, &facts).unwrap();
        let mut facts = Facts::new();
        facts.publish(Resizable);
        unit.learn(port_ids::CACHE_COMMAND, &facts).unwrap();
        let mut bench = Bench::around(unit);
        let command = bench.bench.sink("cu.cache_control.command");
        let done = bench.bench.source("cu.cache_control.done");
        Self {
            bench,
            command,
            done,
        }
    }

    /// Checks that the unit commands this size in `cycle`, and replies to it five cycles later.
    fn resizes(&mut self, cycle: Cycle, bytes: u32) {
        let command = CacheCommand::Resize { bytes };
        self.bench.bench.expect_at(&self.command, cycle, &command);
        self.done.send_at(cycle + 5, CacheCommandDone);
    }

    fn completes(&mut self, cycle: Cycle, kernel: u32, slot: u16) {
        let completion = Completion::WorkGroup {
            kernel,
            work_group: 0,
            slot,
        };
        let bench = &mut self.bench;
        bench.bench.expect_at(&bench.completion, cycle, &completion);
    }

    fn is_quiet(&mut self, cycles: Cycle) {
        self.bench.bench.expect_nothing(&self.command, cycles);
    }
}

/// Creates a kernel of one short wavefront per work-group.
fn short(work_groups: u32, local_bytes: u32) -> KernelTrace {
    kernel(&[vec![exit()]], work_groups, local_bytes)
}

/// Creates a kernel whose wavefront ends when its load is answered.
fn waiting(local_bytes: u32) -> KernelTrace {
    let load = access(Class::Load, &[1], &[], Space::Global, strided(0, 4));
    let waits = step(op(Class::IntAdd, &[2], &[1]));
    kernel(&[vec![load, waits, exit()]], 1, local_bytes)
}

#[test]
fn a_dispatch_for_another_split_goes_on_when_the_cache_has_its_size() {
    // Four work-groups of 512 bytes at a time, two kilobytes.
    let mut unit = Sharing::new(1, vec![short(6, 512)]);
    unit.bench.start_at(5, 0, 0, 0);
    let command = CacheCommand::Resize { bytes: 6144 };
    unit.bench.bench.expect_at(&unit.command, 5, &command);
    unit.done.send_at(30, CacheCommandDone);
    // Start and exit take three cycles from the one in which the dispatch is taken.
    unit.completes(33, 0, 0);
    // The next one finds the split.
    unit.bench.start_at(40, 0, 0, 0);
    unit.completes(43, 0, 0);
    unit.is_quiet(20);
    assert_eq!(unit.bench.counter("split_wait_cycles"), 25);
    let statistics = unit.bench.bench.statistics("cu");
    let Some(Value::Ratio { part, whole, .. }) = statistics.get("cache_bytes_mean") else {
        panic!("there is a mean");
    };
    assert_eq!(*part, 30 * 8192 + (whole - 30) * 6144);
}

#[test]
fn the_split_is_the_smallest_that_holds_what_a_kernel_may_have_on_a_unit() {
    // Units, work-groups, bytes of each; bytes of the cache.
    let cases = [
        // No local memory: as it was.
        (1, 9, 0, None),
        // Four slots.
        (1, 9, 256, Some(8192 - 1024)),
        (1, 9, 257, Some(8192 - 2048)),
        // Three fit the most local memory.
        (1, 9, 1300, Some(8192 - 4096)),
        // Two or one for each unit.
        (1, 2, 257, Some(8192 - 1024)),
        (5, 6, 512, Some(8192 - 1024)),
        (6, 6, 512, Some(8192 - 1024)),
        (6, 6, 1100, Some(8192 - 2048)),
        (1, 1, 4096, Some(8192 - 4096)),
    ];
    for (units, work_groups, local_bytes, expected) in cases {
        let mut unit = Sharing::new(units, vec![short(work_groups, local_bytes)]);
        unit.bench.start_at(5, 0, 0, 0);
        match expected {
            Some(bytes) => unit.resizes(5, bytes),
            None => unit.is_quiet(2),
        }
        unit.completes(if expected.is_some() { 13 } else { 8 }, 0, 0);
    }
}

#[test]
fn registers_are_counted_as_the_scheduler_counts_them() {
    // Four work-groups in single registers; in granules of a quarter of the register file two.
    for (register_granularity, local) in [(None, 4096), (Some(4096), 2048)] {
        let kernel = kernel(&vec![vec![exit()]; 2], 9, 1024);
        let told = SchedulerFacts {
            units: 1,
            register_partitions: None,
            register_granularity,
        };
        let mut unit = Sharing::told(told, vec![kernel]);
        unit.bench.start_at(5, 0, 0, 0);
        unit.resizes(5, 8192 - local);
    }
}

#[test]
fn no_dispatch_waits_for_a_work_group_that_is_resident() {
    let kernels = vec![waiting(512), short(1, 1024), short(1, 0)];
    let mut unit = Sharing::new(1, kernels);
    unit.bench.start_at(5, 0, 0, 0);
    unit.resizes(5, 8192 - 1024);
    let (_, load) = unit.bench.bench.receive(&unit.bench.request);
    // Both kernels together.
    let at = unit.bench.bench.cycle() + 5;
    unit.bench.start_at(at, 1, 0, 1);
    unit.resizes(at, 8192 - 2048);
    unit.completes(at + 8, 1, 1);
    // The first one alone.
    let at = at + 20;
    unit.bench.start_at(at, 2, 0, 1);
    unit.resizes(at, 8192 - 1024);
    unit.completes(at + 8, 2, 1);
    // It stays until another work-group comes.
    unit.bench.response.send_at(at + 20, load.answer(Level::L2));
    let (end, _) = unit.bench.bench.receive(&unit.bench.completion);
    unit.is_quiet(20);
    let at = end + 40;
    unit.bench.start_at(at, 2, 0, 0);
    unit.resizes(at, 8192);
    unit.completes(at + 8, 2, 0);
}

#[test]
fn more_work_groups_than_a_units_share_find_room() {
    let mut unit = Sharing::new(4, vec![short(4, 512)]);
    // One of four for each of four units; but all come here, one per cycle.
    for (cycle, group) in (5..).zip(0..4) {
        unit.bench.start_at(cycle, 0, group, group as u16);
    }
    unit.resizes(5, 8192 - 1024);
    // Two are taken in cycles 10 and 11; the third is one too many.
    unit.resizes(12, 8192 - 2048);
    // When the fourth could be taken the first two have ended.
    unit.resizes(18, 8192 - 1024);
    for (group, cycle) in [13, 14, 20, 26].into_iter().enumerate() {
        unit.bench
            .expect_completion(cycle, group as u32, group as u16);
    }
    assert_eq!(unit.bench.counter("split_changes"), 3);
}

#[test]
fn splits_that_do_not_go_together_are_refused() {
    let refusal = |bytes: u32, splits: &[u32]| {
        let mut spec = spec();
        spec.local_memory.shared_with_cache = Some(SharedMemorySpec {
            bytes,
            splits: splits.to_vec(),
        });
        match ComputeUnit::build(spec, &program(Vec::new())) {
            Ok(_) => panic!("built"),
            Err(error) => format!("{}: {}", error.field, error.message),
        }
    };
    insta::assert_snapshot!(
        refusal(8192, &[]),
        @"local_memory.shared_with_cache.splits: expected 1 to 64 numbers in strictly ascending order"
    );
    insta::assert_snapshot!(
        refusal(8192, &[1024, 1024, 4096]),
        @"local_memory.shared_with_cache.splits: expected 1 to 64 numbers in strictly ascending order"
    );
    insta::assert_snapshot!(
        refusal(8192, &[0, 2048]),
        @"local_memory.shared_with_cache.splits: the last must equal local_memory.bytes, 4096"
    );
    insta::assert_snapshot!(
        refusal(4096, &[0, 4096]),
        @"local_memory.shared_with_cache.bytes: 4096 leave nothing for the cache with 4096 of local memory"
    );
}

#[test]
fn a_unit_that_cannot_command_its_cache_is_refused() {
    let refusal = |is_wired: bool| {
        let mut bench = TestBench::new();
        bench.add("cu", build(sharing(), vec![short(1, 0)]));
        let _dispatch = bench.source::<Dispatch>("cu.dispatch.dispatch");
        let _completion = bench.sink::<Completion>("cu.dispatch.completion");
        let _request = bench.sink::<MemRequest>("cu.memory.request");
        let _response = bench.source::<MemResponse>("cu.memory.response");
        let control = is_wired.then(|| {
            let command = bench.sink::<CacheCommand>("cu.cache_control.command");
            (
                command,
                bench.source::<CacheCommandDone>("cu.cache_control.done"),
            )
        });
        let builder = std::mem::take(bench.builder());
        drop(control);
        builder.elaborate().err().map(|errors| errors.to_string())
    };
    insta::assert_snapshot!(refusal(false).unwrap());
    insta::assert_snapshot!(refusal(true).unwrap());
}

#[test]
fn the_cache_is_told_what_it_may_be_commanded() {
    let told = |spec: ComputeUnitSpec| {
        let unit = build(spec, vec![short(1, 0)]);
        let mut facts = Facts::new();
        unit.facts(port_ids::CACHE_COMMAND, &mut facts);
        facts.get::<CacheSizes>().cloned()
    };
    let sizes = [8192, 7168, 6144, 4096].to_vec();
    assert_eq!(told(sharing()), Some(CacheSizes(sizes)));
    assert_eq!(told(spec()), None);
}
