//! Conservation in random small machines with random programs: components neither lose nor invent
//! messages.

use std::fmt::Write;

use proptest::prelude::*;
use warpweave_components::roles;
use warpweave_framework::{EngineOptions, InstanceStatistics, Order, Value};
use warpweave_random::nth;
use warpweave_systems::Simulated;

use super::harness::{
    REGISTERS, Step, histogram, kernel, named, program, run_with, scenario_of_text, scenarios, sum,
};

/// Source of random choices for one case.
struct Draws {
    seed: u64,
    made: u64,
}

impl Draws {
    fn new(seed: u64) -> Self {
        Self { seed, made: 0 }
    }

    fn next(&mut self) -> u64 {
        self.made += 1;
        nth(self.seed, self.made - 1)
    }

    fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.within(0, of.len() as u64 - 1) as usize]
    }
}

/// Properties of a machine that the checks need.
struct Shape {
    units: u32,
    schedulers: u64,
    /// Number of memory accesses that transfer one line.
    accesses: u64,
    device_bytes: u64,
    l1_writes_back: bool,
    l2_writes_back: bool,
}

/// Returns a variation of the tiny machine: its text with other wires and clocks, and overrides.
fn system(draws: &mut Draws) -> (String, Vec<String>, Shape) {
    let tiny = scenarios().join("systems/tiny.ron");
    let tiny = std::fs::read_to_string(tiny).expect("the tiny machine exists");
    let mut text = String::new();
    for (number, piece) in tiny.split("(latency: 1)").enumerate() {
        if number > 0 {
            let latency = draws.within(1, 4);
            write!(text, "(latency: {latency}").expect("strings grow");
            if draws.within(0, 2) == 0 {
                write!(text, ", capacity: {}", draws.within(1, 4)).expect("strings grow");
            }
            text.push(')');
        }
        text.push_str(piece);
    }
    let dram_clock = draws.pick(&["924 MHz", "700 MHz", "350 MHz", "1.4 GHz", "500 MHz"]);
    let text = text.replace("924 MHz", dram_clock);

    let mut sets = Vec::new();
    let mut set = |path: &str, value: String| sets.push(format!("{path}={value}"));
    let units = draws.within(1, 4);
    set("params.units", units.to_string());
    set("params.channels", draws.within(1, 3).to_string());
    set("params.slices_per_channel", draws.within(1, 2).to_string());
    let schedulers = draws.within(1, 2);
    set("unit[*].cu.schedulers", schedulers.to_string());
    set(
        "unit[*].cu.scheduler",
        draws.pick(&["Gto", "Lrr"]).to_owned(),
    );
    set(
        "unit[*].cu.load_store.queue_depth",
        draws.within(1, 4).to_string(),
    );
    set(
        "unit[*].cu.load_store.outstanding_max",
        draws.within(2, 32).to_string(),
    );
    for (part, latency) in [("unit[*].l1", 8), ("partition[*].l2[*]", 20)] {
        let field = |name: &str| format!("{part}.{name}");
        set(&field("mshr_entries"), draws.within(1, 8).to_string());
        set(&field("mshr_merges"), draws.within(1, 4).to_string());
        set(&field("pass_entries"), draws.within(1, 4).to_string());
        set(&field("miss_queue_entries"), draws.within(2, 6).to_string());
        set(
            &field("hit_latency_cycles"),
            draws.within(1, latency).to_string(),
        );
        set(
            &field("miss_latency_cycles"),
            draws.within(1, latency).to_string(),
        );
        set(
            &field("fill_latency_cycles"),
            draws.within(1, 3).to_string(),
        );
        set(
            &field("allocate"),
            draws.pick(&["OnMiss", "OnFill"]).to_owned(),
        );
    }
    let policies = [
        "WriteEvict",
        "WriteBack(partial: WordMask)",
        "WriteBack(partial: Fetch)",
    ];
    let l1_writes_back = draws.within(0, 3) == 0;
    let l1 = policies[usize::from(l1_writes_back)];
    let l2_writes_back = draws.within(0, 3) > 0;
    let l2 = policies[usize::from(l2_writes_back)];
    set("unit[*].l1.write", l1.to_owned());
    set("partition[*].l2[*].write", l2.to_owned());
    set("unit[*].port.outstanding", draws.within(1, 16).to_string());
    set("crossbar.outstanding", draws.within(1, 16).to_string());
    for network in ["request", "reply"] {
        let field = |name: &str| format!("crossbar.{network}.{name}");
        set(
            &field("flit_bytes"),
            draws.pick(&["32", "40", "136"]).to_owned(),
        );
        set(
            &field("queueing"),
            draws.pick(&["Fifo", "VirtualOutput"]).to_owned(),
        );
        set(&field("buffer_flits"), draws.within(5, 12).to_string());
        set(
            &field("output_buffer_flits"),
            draws.within(5, 12).to_string(),
        );
        set(&field("internal_speedup"), draws.within(1, 2).to_string());
    }
    let devices: u64 = 1 << draws.within(0, 2);
    set("partition[*].dram.devices", devices.to_string());
    set(
        "partition[*].dram.response_queue",
        draws.within(1, 8).to_string(),
    );
    set(
        "partition[*].dram.latency_cycles",
        draws.within(0, 20).to_string(),
    );
    let shape = Shape {
        units: units as u32,
        schedulers,
        accesses: 4 / devices,
        device_bytes: 32 * devices,
        l1_writes_back,
        l2_writes_back,
    };
    (text, sets, shape)
}

fn step(draws: &mut Draws, lines: u64) -> Vec<Step> {
    // Half a line off, an access is two requests.
    let address = draws.within(0, lines) * 128 + 64 * u64::from(draws.within(0, 4) == 0);
    let register = draws.within(0, u64::from(REGISTERS) - 1) as u16;
    match draws.within(0, 9) {
        0 | 1 => vec![Step::Load(address), Step::Use],
        2..=4 => vec![Step::Stream(register, address)],
        5 | 6 => vec![Step::Store(address)],
        7 => vec![Step::Atomic(address), Step::Use],
        _ => vec![Step::Compute(register)],
    }
}

fn value(s: &InstanceStatistics, name: &str) -> f64 {
    match s.get(name) {
        Some(Value::Gauge(value)) => *value,
        Some(Value::Ratio { part, whole }) => *part as f64 / *whole as f64,
        other => panic!("{}.{name} is {other:?}", s.path),
    }
}

/// Checks every balance of one run.
fn check(simulated: &Simulated, shape: &Shape) {
    let count = |part: &str, counter: &str| sum(&named(simulated, part), counter);
    // The front end.
    let program: u64 = simulated
        .kernels
        .iter()
        .map(|k| k.wavefront_instructions)
        .sum();
    assert_eq!(count("cu", "wavefront_instructions"), program);
    let cycles = slots(simulated, shape.schedulers);
    // Compute unit to L1.
    for (cu, cache) in [
        ("read", "reads"),
        ("write", "writes"),
        ("atomic", "atomics"),
    ] {
        assert_eq!(
            count("cu", &format!("{cu}_requests")),
            count("l1", cache),
            "{cu}"
        );
    }
    for cache in ["l1", "l2"] {
        let looked_up = ["hits", "hits_reserved", "misses", "forwarded"];
        let kinds = [
            "reads",
            "writes",
            "atomics",
            "prefetches",
            "copy_backs_received",
        ];
        let total = |names: &[&str]| names.iter().map(|name| count(cache, name)).sum::<u64>();
        assert_eq!(total(&looked_up), total(&kinds), "outcomes of {cache}");
        let fetched = histogram(&named(simulated, cache), "read_miss_latency").0;
        assert_eq!(
            fetched,
            count(cache, "read_misses"),
            "{cache} answers its misses"
        );
    }
    // L1 to L2: lines fetched, what is handed down, copy-backs.
    let sent = count("port", "requests");
    let written = if shape.l1_writes_back {
        0
    } else {
        count("l1", "writes")
    };
    let down = count("l1", "fills") + count("l1", "atomics") + written + count("l1", "copy_backs");
    assert_eq!(down, sent, "the L1s send what the ports take");
    assert_eq!(sent, count("crossbar", "request_packets"));
    let answered = sent - count("l1", "copy_backs");
    assert_eq!(answered, count("crossbar", "reply_packets"));
    assert_eq!(answered, count("port", "responses"));
    assert_eq!(
        count("port", "request_bytes"),
        count("crossbar", "request_bytes")
    );
    assert_eq!(
        count("port", "response_bytes"),
        count("crossbar", "reply_bytes")
    );
    // A line present in part is fetched in part.
    let reply = (count("l1", "fills") - count("l1", "partial_misses")) * 128;
    assert!(count("crossbar", "reply_bytes") >= reply + 8 * answered);
    assert_eq!(count("l2", "reads"), count("l1", "fills"));
    assert_eq!(count("l2", "writes"), written);
    assert_eq!(count("l2", "atomics"), count("l1", "atomics"));
    assert_eq!(
        count("l2", "copy_backs_received"),
        count("l1", "copy_backs")
    );
    // L2 to memory.
    assert_eq!(count("dram", "read_requests"), count("l2", "fills"));
    let below = count("dram", "write_requests") + count("dram", "copy_backs");
    let through = if shape.l2_writes_back {
        0
    } else {
        written + count("l2", "copy_backs_received")
    };
    assert_eq!(
        below,
        through + count("l2", "copy_backs"),
        "writes to memory"
    );
    let reads = count("dram", "reads") + count("dram", "reads_forwarded");
    // A line present in part is fetched in part.
    let whole = count("l2", "fills") * shape.accesses;
    let partial = count("l2", "partial_misses") * (shape.accesses - 1);
    assert!(
        (whole - partial..=whole).contains(&reads),
        "{reads} of {whole}, {partial} partial"
    );
    let moved = (count("dram", "reads") + count("dram", "writes")) * shape.device_bytes;
    assert_eq!(moved, count("dram", "bytes"));
    assert_eq!(
        histogram(&named(simulated, "dram"), "read_latency").0,
        count("dram", "read_requests")
    );
    little(simulated, cycles);
}

/// Checks that the slots of every unit sum to schedulers × cycles, and returns the cycles.
fn slots(simulated: &Simulated, schedulers: u64) -> u64 {
    let total = |cu: &InstanceStatistics| {
        let slots = cu.values.iter();
        slots
            .filter(|v| v.role == Some(roles::ISSUE_SLOTS))
            .map(|v| match v.value {
                Value::Counter(count) => count,
                _ => panic!("slots are counted"),
            })
            .sum::<u64>()
    };
    let completed = simulated.kernels.iter().filter_map(|k| k.completed).max();
    let cycles = completed.expect("the run is done") + 1;
    for cu in named(simulated, "cu") {
        assert_eq!(total(cu), schedulers * cycles, "{}", cu.path);
        for (parts, whole) in [
            ("memory_slots_", "slots_memory"),
            ("no_wavefront_slots_", "slots_no_wavefront"),
        ] {
            let names = cu.values.iter().filter(|v| v.name.starts_with(parts));
            let parts: u64 = names.filter_map(|v| cu.counter(&v.name)).sum();
            assert!(Some(parts) <= cu.counter(whole), "{whole} of {}", cu.path);
        }
        assert_eq!(
            cu.counter("slots_issued"),
            cu.counter("wavefront_instructions"),
            "{}",
            cu.path
        );
        let by_unit = cu.values.iter();
        let by_unit = by_unit.filter(|v| v.name.starts_with("issued_slots_"));
        let by_unit: u64 = by_unit.filter_map(|v| cu.counter(&v.name)).sum();
        assert_eq!(Some(by_unit), cu.counter("slots_issued"), "{}", cu.path);
    }
    cycles
}

/// Checks Little's law: occupancy × time equals the sum of latencies, for single-flit packets.
/// Packets that found the input queue full waited before the network.
fn little(simulated: &Simulated, cycles: u64) {
    let crossbar = named(simulated, "crossbar")[0];
    for network in ["request", "reply"] {
        let name = |what: &str| format!("{network}_{what}");
        let (packets, latencies) = histogram(&[crossbar], &name("latency"));
        assert_eq!(Some(packets), crossbar.counter(&name("packets")));
        if crossbar.counter(&name("flits")) == Some(packets) {
            let outside = sum(&[crossbar], &name("credit_stalls")) as f64;
            let held = value(crossbar, &name("occupancy")) * cycles as f64 + outside;
            let slack = (held - latencies as f64).abs();
            assert!(
                slack < 1e-6 * held + 1e-6,
                "{network}: {held} held, {latencies} waited"
            );
        }
    }
}

fn case(seed: u64) {
    let mut draws = Draws::new(seed);
    let (text, sets, shape) = system(&mut draws);
    let sets: Vec<_> = sets.iter().map(String::as_str).collect();
    let scenario = scenario_of_text(&text, "vector_add.ron", &sets);
    let lines = draws.within(4, 200);
    let length = draws.within(1, 12);
    let (groups, wavefronts) = (
        draws.within(1, 2) as u32 * shape.units,
        draws.within(1, 4) as u32,
    );
    let steps = |draws: &mut Draws| -> Vec<Step> {
        let steps = (0..length).flat_map(|_| step(draws, lines));
        steps
            .collect::<Vec<_>>()
            .into_iter()
            .chain([Step::Exit])
            .collect()
    };
    let base = draws.next();
    let kernels = (0..draws.within(1, 2)).map(|number| {
        kernel(groups, wavefronts, |group, wavefront| {
            let own = number << 32 | u64::from(group) << 16 | u64::from(wavefront);
            steps(&mut Draws::new(base ^ own))
        })
    });
    // Copy-backs are posted; computation at the end gives the last ones time to arrive.
    let mut drain = vec![Step::Use; 500];
    drain.push(Step::Exit);
    let kernels = kernels.chain([kernel(1, 1, |_, _| drain.clone())]);
    let program = program(kernels.collect());
    let options = [
        EngineOptions::default(),
        EngineOptions {
            sleeping: false,
            ..EngineOptions::default()
        },
        EngineOptions {
            order: Order::Shuffled { seed },
            ..EngineOptions::default()
        },
    ];
    let [plain, awake, shuffled] = options.map(|o| run_with(&scenario, &program, o));
    check(&plain, &shape);
    assert_eq!(
        plain.statistics, awake.statistics,
        "sleeping changes nothing"
    );
    assert_eq!(
        plain.statistics, shuffled.statistics,
        "the order in a cycle changes nothing"
    );
    assert_eq!(plain.kernels, awake.kernels);
    assert_eq!(plain.kernels, shuffled.kernels);
}

fn cases() -> u32 {
    std::env::var("WARPWEAVE_CONSERVATION_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(20)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(), max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// `WARPWEAVE_CONSERVATION_CASES` sets a larger number of cases.
    #[test]
    fn random_machines_lose_and_invent_nothing(seed: u64) {
        case(seed);
    }
}
