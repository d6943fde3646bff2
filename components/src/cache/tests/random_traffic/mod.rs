//! Random traffic through one or two caches of random shape ([`cases`]), against a [`memory`] that
//! answers late and out of order between lines. Every line's responses leave in the order of its
//! requests, so the write sequence of each is known exactly ([`checks`]). A cache may be
//! [`renewed`] in the middle of the run.

mod cases;
mod checks;
mod memory;
mod renewed;

use std::sync::Arc;

use parking_lot::Mutex;
use proptest::prelude::*;
use warpweave_framework::{
    EngineOptions, InstanceStatistics, Link, Order, Outcome as RunOutcome, TestBench, Width,
};
use warpweave_random::CounterRng;

use self::cases::{Case, case};
use self::checks::{check_answers, check_memory, check_statistics, compare};
use self::memory::{Memory, Record};
use self::renewed::Renewed;
use crate::cache::*;
use crate::launch::{CacheCommand, CacheCommandDone};
use crate::memory::MemResponse;

/// Results that must not depend on the engine's scheduling.
#[derive(Clone, Debug, PartialEq)]
struct Observed {
    responses: Vec<(Cycle, MemResponse)>,
    commands: usize,
    below: Record,
    statistics: InstanceStatistics,
}

/// Returns the line of this length that a request touches, and the words within it.
fn place(request: &MemRequest, line_bytes: u32) -> (u64, u32) {
    let line = request.line & !u64::from(line_bytes - 1);
    (line, request.words << ((request.line - line) / 4))
}

fn observe(case: &Case, options: EngineOptions, renewed_at: Option<Cycle>) -> Observed {
    let mut bench = TestBench::new();
    bench.set_options(options);
    let cache = Renewed {
        cache: Cache::new(case.spec.clone()).unwrap(),
        at: renewed_at,
    };
    bench.add("cache", cache);
    let record = Arc::<Mutex<Record>>::default();
    let memory = Memory {
        line_bytes: case.spec.line_bytes,
        order_bytes: match &case.second {
            Some(second) => second.line_bytes,
            None => case.spec.answer_bytes(),
        },
        parts: case.second.is_none() && case.spec.cut == Cut::Below,
        delays: CounterRng::new(case.seed, "delays"),
        stalls: CounterRng::new(case.seed, "stalls"),
        delay_max: case.delay_max,
        record: record.clone(),
        pending: Vec::new(),
        up: MemSlave::default(),
    };
    bench.add("memory", memory);
    if let Some(second) = &case.second {
        bench.add("second", Cache::new(second.clone()).unwrap());
        let builder = bench.builder();
        builder.connect("cache.down", "second.up", Link::latency(1));
        builder.connect("second.down", "memory.up", Link::latency(1));
    } else {
        let builder = bench.builder();
        builder.connect("cache.down", "memory.up", Link::latency(1));
    }
    let requests = bench.source::<MemRequest>("cache.up.request");
    let wide = Link::latency(1).width(Width::Messages(2)).capacity(4);
    let responses = bench.sink_behind::<MemResponse>("cache.up.response", wide);
    let commands = bench.source::<CacheCommand>("cache.control.command");
    let done = bench.sink::<CacheCommandDone>("cache.control.done");
    responses.stall_randomly(case.seed, case.stall);
    let mut cycle = 1;
    for (gap, request) in &case.requests {
        cycle += gap;
        requests.send_at(cycle, *request);
    }
    let mut at = 1;
    for (gap, command) in &case.commands {
        at += gap;
        commands.send_at(at, *command);
    }
    assert_eq!(bench.run_until_quiet(), RunOutcome::Done);
    let below = record.lock().clone();
    Observed {
        responses: responses.take_all(),
        commands: done.take_all().len(),
        below,
        statistics: bench.statistics("cache"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn random_traffic_is_answered_once_in_order_and_fresh_however_the_engine_works(case in case()) {
        let usual = observe(&case, EngineOptions::default(), None);
        check_answers(&case, &usual);
        check_memory(&case, &usual);
        check_statistics(&case, &usual);
        let awake = EngineOptions { sleeping: false, ..EngineOptions::default() };
        compare(&observe(&case, awake, None), &usual);
        let shuffled =
            EngineOptions { order: Order::Shuffled { seed: case.seed }, ..EngineOptions::default() };
        compare(&observe(&case, shuffled, None), &usual);
        let renewed_at = Some(1 + case.seed % 300);
        compare(&observe(&case, EngineOptions::default(), renewed_at), &usual);
    }
}

/// Extends a case to a cache with `more` additional ways per set, of which the original ones are in
/// use. The order of lines in the used part is unchanged.
fn with_ways_out_of_use(case: &Case, more: u32) -> Case {
    let mut larger = case.clone();
    let spec = &mut larger.spec;
    let way = spec.size_bytes / spec.ways;
    spec.ways += more;
    spec.size_bytes = way * spec.ways;
    larger
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_cache_told_to_use_some_of_its_ways_does_what_one_built_with_them_does(
        case in case(), more in 1u32..5,
    ) {
        let mut case = case;
        let bytes = case.spec.size_bytes;
        case.commands.retain(|(_, command)| *command == CacheCommand::Invalidate);
        case.commands.insert(0, (0, CacheCommand::Resize { bytes }));
        // The tree needs a power of two of ways.
        let doubles = case.spec.replacement.name() == "PseudoLru";
        let more = if doubles { case.spec.ways } else { more };
        let larger = with_ways_out_of_use(&case, more);
        let built = observe(&case, EngineOptions::default(), None);
        compare(&observe(&larger, EngineOptions::default(), None), &built);
        let renewed_at = Some(2 + case.seed % 300);
        compare(&observe(&larger, EngineOptions::default(), renewed_at), &built);
    }
}
