//! Loads of constants and textures through separate ports, checked against closed forms.

use warpweave_framework::{Link, Width};
use warpweave_trace::ReadPath;

use super::*;
use crate::cache::replacement::Lru;
use crate::cache::{Cache, CacheSpec};
use crate::launch::{CacheCommand, CacheCommandDone};

pub(super) fn constants() -> ConstantsSpec {
    ConstantsSpec {
        arguments: 1 << 44,
        lanes: ConstantLanes::Apart,
        line_bytes: 64,
        queue_depth: 4,
        requests_per_cycle: 1,
        outstanding_max: 64,
        writeback_latency: 1,
    }
}

pub(super) fn textures() -> TexturesSpec {
    TexturesSpec {
        loads: TextureLoads::Textures,
        answers: TextureAnswers::InOrder,
        line_bytes: 128,
        queue_depth: 4,
        requests_per_cycle: 1,
        outstanding_max: 64,
        writeback_latency: 1,
    }
}

fn with_constants(constants: ConstantsSpec) -> ComputeUnitSpec {
    ComputeUnitSpec {
        constants: Some(constants),
        ..spec()
    }
}

fn with_textures(textures: TexturesSpec) -> ComputeUnitSpec {
    ComputeUnitSpec {
        textures: Some(textures),
        ..spec()
    }
}

/// Unit with a scripted neighbor on one read path.
struct Aside {
    bench: TestBench,
    _dispatch: BenchSource<Dispatch>,
    completion: Sink<Completion>,
    memory: Sink<MemRequest>,
    request: Sink<MemRequest>,
    response: BenchSource<MemResponse>,
    _memory: BenchSource<MemResponse>,
}

impl Aside {
    /// Dispatches one work-group of these wavefronts for cycle 1.
    fn new(spec: ComputeUnitSpec, path: &str, wavefronts: &[Vec<Step>]) -> Self {
        let mut bench = TestBench::new();
        bench.add("cu", build(spec, vec![kernel(wavefronts, 1, 0)]));
        let dispatch = bench.source("cu.dispatch.dispatch");
        dispatch.send_at(
            1,
            Dispatch::Start {
                kernel: 0,
                work_group: 0,
                slot: 0,
                hint: 0,
            },
        );
        Self {
            _dispatch: dispatch,
            completion: bench.sink("cu.dispatch.completion"),
            memory: bench.sink("cu.memory.request"),
            _memory: bench.source("cu.memory.response"),
            request: bench.sink_behind(
                &format!("cu.{path}.request"),
                Link::latency(1).width(Width::Messages(4)),
            ),
            response: bench.source(&format!("cu.{path}.response")),
            bench,
        }
    }

    /// Returns the next request and the cycle in which it left.
    fn request(&mut self) -> (Cycle, MemRequest) {
        self.bench.receive(&self.request)
    }

    fn ends_in(&mut self, cycle: Cycle) {
        let (end, _) = self.bench.receive(&self.completion);
        assert_eq!(end, cycle);
    }

    fn counter(&mut self, name: &str) -> u64 {
        let statistics = self.bench.statistics("cu");
        let found = statistics.counter(name);
        found.unwrap_or_else(|| panic!("there is no counter {name}"))
    }
}

fn load(write: u16, space: Space, path: ReadPath, at: [u64; LANES]) -> Step {
    let mut step = access(Class::Load, &[write], &[], space, at);
    step.instruction.hints.path = path;
    step
}

fn constant(write: u16, space: Space, at: [u64; LANES]) -> Step {
    load(write, space, ReadPath::Coherent, at)
}

fn texture(write: u16, at: [u64; LANES]) -> Step {
    load(write, Space::Global, ReadPath::Texture, at)
}

fn exit_after(register: u16) -> Step {
    step(op(Class::Exit, &[], &[register]))
}

#[test]
fn an_argument_is_a_read_of_its_block_and_wakes_its_reader_after_the_writeback() {
    let steps = vec![constant(1, Space::Param, [0x48; LANES]), exit_after(1)];
    let mut aside = Aside::new(with_constants(constants()), "constants", &[steps]);
    // Issued in 3, sent after the latency of loads.
    let (cycle, request) = aside.request();
    let expected = (6, (1 << 44) + 0x40, 0b100);
    assert_eq!((cycle, request.line, request.words), expected);
    assert_eq!((request.kind, request.source.pc), (RequestKind::Read, 0));
    aside.response.send_at(20, request.answer(Level::L2));
    // The exit issues in 21.
    aside.ends_in(22);
    assert_eq!(aside.counter("slots_memory"), 17);
    assert_eq!(aside.counter("memory_slots_L2"), 17);
    assert_eq!(aside.counter("constant_loads"), 1);
    assert_eq!(aside.counter("constant_requests"), 1);
    assert_eq!(aside.counter("read_requests"), 0);
    let statistics = aside.bench.statistics("cu");
    for (name, loads) in [("constant_load_latency", 1), ("load_latency", 0)] {
        let Some(Value::Histogram(latency)) = statistics.get(name) else {
            panic!("{name} is a histogram");
        };
        assert_eq!(
            (latency.count(), latency.sum()),
            (loads, 17 * loads),
            "{name}"
        );
    }
}

#[test]
fn each_address_of_a_constant_load_is_a_request_one_after_the_other() {
    let pairs: [u64; LANES] = std::array::from_fn(|lane| 0x1000 + 8 * (lane as u64 / 4));
    for (lanes, per_cycle, requests, last) in [
        (ConstantLanes::Apart, 1, 8, 6 + 7),
        (ConstantLanes::Apart, 4, 8, 6 + 1),
        (ConstantLanes::Together, 1, 1, 6),
    ] {
        let spec = ConstantsSpec {
            lanes,
            requests_per_cycle: per_cycle,
            ..constants()
        };
        let steps = vec![constant(1, Space::Const, pairs), exit_after(1)];
        let mut aside = Aside::new(with_constants(spec), "constants", &[steps]);
        for number in 1..=requests {
            let (cycle, request) = aside.request();
            assert_eq!(request.line, 0x1000);
            if number == requests {
                assert_eq!(cycle, last);
            }
            aside
                .response
                .send_at(30 + number, request.answer(Level::L1));
        }
        aside.ends_in(30 + requests + 2);
        assert_eq!(aside.counter("constant_requests"), requests);
    }
}

#[test]
fn a_full_queue_stops_constant_loads_alone() {
    let spec = ConstantsSpec {
        queue_depth: 1,
        ..constants()
    };
    let loads = vec![
        constant(
            1,
            Space::Const,
            std::array::from_fn(|lane| 4 * (lane as u64 % 4)),
        ),
        constant(2, Space::Const, [0; LANES]),
        access(Class::Load, &[3], &[], Space::Global, strided(0, 4)),
        exit(),
    ];
    let mut aside = Aside::new(with_constants(spec), "constants", &[loads]);
    aside.bench.step(30);
    // The first load issues in 3 and sends in 6 to 9. The second gets a queue entry in 9. The third
    // uses another path, in 10.
    let sent = |sink: &Sink<MemRequest>| {
        let requests = sink.take_all().into_iter();
        requests.map(|(cycle, _)| cycle).collect::<Vec<_>>()
    };
    assert_eq!(sent(&aside.request), [6, 7, 8, 9, 12]);
    assert_eq!(sent(&aside.memory), [13]);
    assert_eq!(aside.counter("slots_load_store_full"), 5);
    assert_eq!(aside.counter("slots_issued"), 4);
}

#[test]
fn constant_loads_share_the_accesses_of_a_cycle() {
    let mut spec = with_constants(constants());
    spec.schedulers = 4;
    spec.load_store.issues_per_cycle = Some(1);
    let steps = vec![constant(1, Space::Const, [0; LANES]), exit()];
    let mut aside = Aside::new(spec, "constants", &vec![steps; 4]);
    aside.bench.step(10);
    // One in 3, 4, 5 and 6: three, two and one scheduler wait.
    assert_eq!(aside.counter("slots_load_store_full"), 6);
}

#[test]
fn only_loads_take_a_path_and_only_with_lanes() {
    let mut none = constant(2, Space::Const, [0; LANES]);
    none.mask = 0;
    let steps = vec![
        none,
        access(Class::Store, &[], &[], Space::Const, [0; LANES]),
        access(Class::Load, &[1], &[], Space::Global, strided(0, 4)),
        exit(),
    ];
    let mut aside = Aside::new(with_constants(constants()), "constants", &[steps]);
    aside.bench.step(30);
    assert_eq!(aside.counter("constant_loads"), 0);
    assert_eq!(aside.counter("read_requests"), 1);
}

#[test]
fn what_takes_the_path_of_textures_is_chosen() {
    let of = |path| load(1, Space::Global, path, strided(0, 4));
    let paths = [ReadPath::Coherent, ReadPath::NonCoherent, ReadPath::Texture];
    for (loads, expected) in [(TextureLoads::Textures, 1), (TextureLoads::NonCoherent, 2)] {
        let spec = TexturesSpec {
            loads,
            ..textures()
        };
        let wavefronts = paths.map(|path| vec![of(path), exit()]);
        let mut aside = Aside::new(with_textures(spec), "textures", &wavefronts);
        aside.bench.step(20);
        assert_eq!(aside.counter("texture_loads"), expected);
        assert_eq!(aside.counter("read_requests"), 3 - expected);
    }
}

#[test]
fn answers_for_textures_go_on_in_the_order_of_their_requests_or_as_they_come() {
    // The second load is answered in 20 and the first in 30. The second's dependent instruction
    // issues one cycle after that of the first.
    for (answers, exits, end) in [
        (TextureAnswers::InOrder, 31, 32),
        (TextureAnswers::AsTheyCome, 21, 31),
    ] {
        let spec = TexturesSpec {
            answers,
            ..textures()
        };
        let steps = vec![
            texture(1, strided(0, 4)),
            texture(2, strided(0x1000, 4)),
            exit_after(2),
        ];
        let mut aside = Aside::new(with_textures(spec), "textures", &[steps]);
        let (_, first) = aside.request();
        let (_, second) = aside.request();
        assert_eq!((first.line, second.line), (0, 0x1000));
        aside.response.send_at(20, second.answer(Level::L1));
        aside.response.send_at(30, first.answer(Level::L2));
        aside.ends_in(end);
        // Issued in 3 and 4.
        assert_eq!(aside.counter("slots_memory"), exits - 5);
        assert_eq!(aside.counter("memory_slots_L1"), exits - 5);
        let statistics = aside.bench.statistics("cu");
        let Some(Value::Histogram(latency)) = statistics.get("texture_load_latency") else {
            panic!("the latency is a histogram");
        };
        let second = if answers == TextureAnswers::InOrder {
            30
        } else {
            20
        };
        assert_eq!((latency.count(), latency.sum()), (2, 30 - 3 + second - 4));
    }
}

#[test]
fn an_answer_that_waits_for_its_turn_is_under_way() {
    let spec = TexturesSpec {
        outstanding_max: 2,
        ..textures()
    };
    let steps = vec![texture(1, strided(0, 16)), exit_after(1)];
    let mut aside = Aside::new(with_textures(spec), "textures", &[steps]);
    let (_, first) = aside.request();
    let (_, second) = aside.request();
    aside.response.send_at(20, second.answer(Level::L1));
    aside.response.send_at(30, first.answer(Level::L1));
    let (cycle, _) = aside.request();
    assert_eq!(cycle, 30);
}

#[test]
#[should_panic(expected = "at `textures`: a response has id 7, which matches no request in flight")]
fn an_answer_to_no_read_of_a_texture_is_a_failure() {
    let steps = vec![texture(1, strided(0, 4)), exit()];
    let mut aside = Aside::new(with_textures(textures()), "textures", &[steps]);
    let answer = MemRequest::read(7, 0, 1).answer(Level::L1);
    aside.response.send_at(12, answer);
    aside.bench.step(20);
}

#[test]
fn every_cache_that_is_wired_drops_its_lines_and_the_last_one_ends_an_invalidation() {
    let spec = ComputeUnitSpec {
        textures: Some(textures()),
        ..with_constants(constants())
    };
    let mut bench = TestBench::new();
    bench.add("cu", build(spec, vec![kernel(&[vec![exit()]], 1, 0)]));
    let dispatch = bench.source("cu.dispatch.dispatch");
    let completion = bench.sink::<Completion>("cu.dispatch.completion");
    let mut wires = Vec::new();
    for path in ["memory", "constants", "textures"] {
        wires.push((
            bench.sink::<MemRequest>(&format!("cu.{path}.request")),
            bench.source::<MemResponse>(&format!("cu.{path}.response")),
        ));
    }
    let told = |bench: &mut TestBench, name: &str| {
        let command = bench.sink::<CacheCommand>(&format!("cu.{name}.command"));
        let done = bench.source::<CacheCommandDone>(&format!("cu.{name}.done"));
        (command, done)
    };
    let data = told(&mut bench, "cache_control");
    let constants = told(&mut bench, "constants_control");
    let textures = told(&mut bench, "textures_control");
    dispatch.send_at(5, Dispatch::Invalidate { kernel: 0, ran: 1 });
    for (cache, answer) in [(&data, 20), (&constants, 40), (&textures, 30)] {
        let (cycle, command) = bench.receive(&cache.0);
        assert_eq!((cycle, command), (5, CacheCommand::Invalidate));
        cache.1.send_at(answer, CacheCommandDone);
    }
    bench.expect_at(&completion, 40, &Completion::Invalidated { kernel: 0 });
}

/// Constant cache with two lines of 64 bytes in one set, and latencies that differ from a
/// connection's.
const CACHE: &str = r#"(
    level: Named("Constant"), size_bytes: 128, line_bytes: 64, ways: 2, replacement: Lru, allocate: OnFill,
    write: WriteEvict, atomics: Forward, miss_queue_entries: 4, hit_latency_cycles: 4, miss_latency_cycles: 2,
    fill_latency_cycles: 3,
)"#;

#[test]
fn through_a_cache_a_miss_takes_the_way_down_and_a_hit_that_to_the_cache() {
    let at = |address| constant(1, Space::Const, [address; LANES]);
    let then = |address| {
        let mut step = at(address);
        step.instruction.reads = set(&[1]);
        step
    };
    let steps = vec![at(0x100), then(0x13c), then(0x140), exit_after(1)];
    let mut bench = TestBench::new();
    let spec = with_constants(constants());
    bench.add("cu", build(spec, vec![kernel(&[steps], 1, 0)]));
    let source = warpweave_params::Source::new("cache", CACHE);
    let node = warpweave_params::parse(&source).expect("the cache is written");
    let mut cache: CacheSpec = warpweave_params::from_node(&node).expect("the cache is described");
    cache.replacement = Policy::plain::<Lru>();
    bench.add(
        "l1c",
        Cache::build(cache, &Environment::new("l1c", 1)).expect("the cache is in range"),
    );
    let builder = bench.builder();
    builder.connect("cu.constants", "l1c.up", Link::latency(1));
    let dispatch = bench.source("cu.dispatch.dispatch");
    let completion = bench.sink::<Completion>("cu.dispatch.completion");
    let down = bench.sink::<MemRequest>("l1c.down.request");
    let up = bench.source::<MemResponse>("l1c.down.response");
    let _memory = (
        bench.sink::<MemRequest>("cu.memory.request"),
        bench.source::<MemResponse>("cu.memory.response"),
    );
    let start = Dispatch::Start {
        kernel: 0,
        work_group: 0,
        slot: 0,
        hint: 0,
    };
    dispatch.send_at(1, start);
    // Issued in 3, sent in 6, looked up in 7 and sent down in 9.
    let (cycle, miss) = bench.receive(&down);
    assert_eq!((cycle, miss.line), (9, 0x100));
    up.send_at(50, miss.answer(Level::L2));
    // The fill arrives in 53 and the response reaches the unit in 54, so the dependent load issues
    // in 55. It hits: sent in 58, looked up in 59, answered in 63, and at the unit in 64. The third
    // load issues in 65, is sent in 68, looked up in 69 and sent to the next level in 71.
    let (cycle, miss) = bench.receive(&down);
    assert_eq!((cycle, miss.line), (71, 0x140));
    up.send_at(90, miss.answer(Level::L2));
    // Up in 93, at the unit in 94; the exit issues in 95.
    let (end, _) = bench.receive(&completion);
    assert_eq!(end, 96);
    let statistics = bench.statistics("cu");
    assert_eq!(statistics.counter("memory_slots_Constant"), Some(64 - 55));
    assert_eq!(
        statistics.counter("memory_slots_L2"),
        Some((54 - 3) + (94 - 65))
    );
    let statistics = bench.statistics("l1c");
    assert_eq!(statistics.counter("read_hits"), Some(1));
    assert_eq!(statistics.counter("read_misses"), Some(2));
}

#[test]
fn specifications_that_no_unit_has_are_refused() {
    let refusal = |spec| {
        let refused = ComputeUnit::build(spec, &program(vec![kernel(&[vec![exit()]], 1, 0)]));
        match refused {
            Err(error) => format!("{}: {}\n", error.field, error.message),
            Ok(_) => panic!("it is refused"),
        }
    };
    let refusals = [
        with_constants(ConstantsSpec {
            line_bytes: 48,
            ..constants()
        }),
        with_constants(ConstantsSpec {
            arguments: 128,
            ..constants()
        }),
        with_constants(ConstantsSpec {
            queue_depth: 0,
            ..constants()
        }),
        with_textures(TexturesSpec {
            requests_per_cycle: 33,
            ..textures()
        }),
        with_textures(TexturesSpec {
            outstanding_max: 0,
            ..textures()
        }),
    ];
    insta::assert_snapshot!(refusals.map(refusal).concat());
}
