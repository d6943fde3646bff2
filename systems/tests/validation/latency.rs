//! Latencies by hand. The completion time of a single-wavefront kernel is the exact sum of the
//! description's numbers, added as in `docs/timing.md`.

use super::harness::{Numbers, Step, kernel, machine, program, run, scenario};

/// Level at which an access finds its line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Found {
    L1,
    L2,
    ClosedRow,
    OpenRow,
}

/// Names of the parts between unit 0 and slice 0.
struct Path {
    /// Overrides applied to the machine.
    sets: &'static [&'static str],
    cu: &'static str,
    l1: &'static str,
    port: &'static str,
    dispatch: &'static str,
    l2: &'static str,
    l2_port: &'static str,
    dram: &'static str,
    /// Coalescing unit in front of the port, if there is one.
    icc: Option<&'static str>,
    channels: u64,
    /// Ratio f(core) / f(CK) as periods: `core_period` for the core clock and `ck_period` for CK,
    /// in the same tick unit.
    core_period: u64,
    ck_period: u64,
}

const TINY: Path = Path {
    sets: &[],
    cu: "unit[0].cu",
    l1: "unit[0].l1",
    port: "unit[0].port",
    dispatch: "unit[0].cu.dispatch",
    l2: "partition[0].l2[0]",
    l2_port: "partition[0].l2[0]",
    dram: "partition[0].dram",
    icc: None,
    channels: 2,
    // 700 MHz and 924 MHz.
    core_period: 33,
    ck_period: 25,
};

const GTX480: Path = Path {
    channels: 6,
    ..TINY
};

const CLUSTERED60: Path = Path {
    sets: &[],
    cu: "cluster[0].cu[0]",
    l1: "cluster[0].l1[0]",
    port: "cluster[0].port",
    dispatch: "cluster[0].cu[0].dispatch",
    l2: "partition[0].l2",
    l2_port: "partition[0].l2",
    dram: "partition[0].dram",
    icc: None,
    channels: 8,
    core_period: 1,
    ck_period: 1,
};

const CLUSTERED60_ICC: Path = Path {
    sets: &["params.icc=true"],
    icc: Some("cluster[0].icc"),
    ..CLUSTERED60
};

struct Hand<'a> {
    path: &'a Path,
    numbers: Numbers,
}

impl Hand<'_> {
    fn cu(&self, field: &str) -> u64 {
        self.numbers.of(self.path.cu, field)
    }

    fn wire(&self, part: &str, port: &str) -> u64 {
        self.numbers.wire(&format!("{part}.{port}"))
    }

    /// Returns the cycle of the first wavefront's first issue.
    fn first_issue(&self) -> u64 {
        self.numbers.of("host", "launch_latency_cycles")
            + self.numbers.wire("host.gmu")
            + self.numbers.of("gmu", "dispatch_latency_cycles")
            + self.numbers.wire("gmu.scheduler")
            + self.numbers.wire(self.path.dispatch)
            + self.cu("start_latency")
    }

    /// Returns the cycles from the completion leaving the unit to the kernel's completion at the
    /// host: scheduler, invalidation of the L1, scheduler, GMU, host.
    fn completion(&self) -> u64 {
        3 * self.numbers.wire(self.path.dispatch)
            + 2 * self.wire(self.path.cu, "cache_control")
            // The unit hands the invalidation on.
            + self.path.icc.map_or(0, |icc| 2 * self.wire(icc, "control_down[0]"))
            + self.numbers.wire("gmu.scheduler")
            + self.numbers.wire("host.gmu")
    }

    /// Returns the cycles from issue until the request is readable at the L1.
    fn to_l1(&self, class: &str) -> u64 {
        self.cu(&format!("classes.{class}.latency")) + self.wire(self.path.cu, "memory")
    }

    fn network(&self, network: &str, bytes: u64) -> u64 {
        let number = |field: &str| self.numbers.of("crossbar", &format!("{network}.{field}"));
        number("input_cycles") + number("output_cycles") + bytes.div_ceil(number("flit_bytes")) - 1
    }

    /// Returns the latency of the wires between L1 and L2 slice, one way.
    fn wires(&self) -> u64 {
        self.wire(self.path.l1, "down")
            + self.wire(self.path.port, "down")
            + self.wire(self.path.l2_port, "up")
    }

    /// Returns the request latency added by the coalescing unit: its look-ups, whose last cycle is
    /// the wire to the port.
    fn icc_down(&self) -> u64 {
        self.path.icc.map_or(0, |icc| {
            self.numbers.of(icc, "coalesced_cache.access_cycles")
                + self.numbers.of(icc, "table_cycles")
                - 1
                + self.wire(icc, "down")
        })
    }

    /// Returns the reply latency added by the coalescing unit.
    fn icc_up(&self) -> u64 {
        self.path.icc.map_or(0, |icc| {
            self.numbers.of(icc, "reply_cycles") - 1 + self.wire(icc, "down")
        })
    }

    /// Returns the cycles from a request readable at the L1 to one readable at the L2.
    fn to_l2(&self, bytes: u64) -> u64 {
        self.numbers.of(self.path.l1, "miss_latency_cycles")
            + self.numbers.of(self.path.port, "request_cycles")
            + self.icc_down()
            + self.network("request", bytes)
            + self.wires()
    }

    /// Returns the cycles from the reply at the L2 until it is readable at the compute unit.
    fn back(&self, bytes: u64) -> u64 {
        self.wires()
            + self.network("reply", bytes)
            + self.numbers.of(self.path.port, "response_cycles")
            + self.icc_up()
            + self.numbers.of(self.path.l1, "fill_latency_cycles")
            + self.wire(self.path.cu, "memory")
    }

    /// Returns the CK cycles from a line read readable at an idle channel to its response. Commands
    /// are issued one by one, and row commands only if no read can be issued.
    fn channel(&self, closed: bool) -> u64 {
        let dram = |field: &str| self.numbers.of(self.path.dram, field);
        let timing = |field: &str| dram(&format!("timing.{field}"));
        let accesses = (128 / (32 * dram("devices"))) as usize;
        let gap = timing("t_ccd_s").max(timing("burst_cycles"));
        let mut opened: Vec<Option<u64>> = vec![if closed { None } else { Some(0) }; accesses];
        let row_to_column = if closed { timing("t_rcd_rd") } else { 0 };
        let (mut reads, mut last_activation, mut last_read) = (0, None::<u64>, None::<u64>);
        let mut cycle = 0;
        while reads < accesses {
            cycle += 1;
            let free = |last: Option<u64>, gap| last.is_none_or(|l| cycle >= l + gap);
            // Access i enters the queue in cycle i and may cause commands from i + 1 on.
            let here = cycle > reads as u64;
            let ready = opened[reads].is_some_and(|o| cycle >= o + row_to_column);
            if ready && here && free(last_read, gap) {
                last_read = Some(cycle);
                reads += 1;
            } else if let Some(next) = opened.iter().position(Option::is_none)
                && cycle > next as u64
                && free(last_activation, timing("t_rrd_s"))
            {
                last_activation = Some(cycle);
                opened[next] = Some(cycle);
            }
        }
        cycle + timing("t_cl") + timing("burst_cycles") + dram("latency_cycles")
    }

    /// Returns the core cycle in which the L2 can read the response to a request sent in core cycle
    /// `sent`. Clock edges are at multiples of the period. Wire latency counts in cycles of the
    /// sender, and arrivals between two edges wait for the later one.
    fn memory(&self, sent: u64, closed: bool) -> u64 {
        let wire = self.wire(self.path.l2, "down");
        let (core, ck) = (self.path.core_period, self.path.ck_period);
        let arrives = ((sent + wire) * core).div_ceil(ck);
        ((arrives + self.channel(closed) + wire) * ck).div_ceil(core)
    }

    /// Returns the cycle in which the response to an access issued in `issue` is readable at the
    /// unit.
    fn response(&self, issue: u64, step: Step, found: Found) -> u64 {
        let l1 = |field: &str| self.numbers.of(self.path.l1, field);
        let l2 = |field: &str| self.numbers.of(self.path.l2, field);
        match (step, found) {
            (Step::Load(_), Found::L1) => {
                issue
                    + self.to_l1("load")
                    + l1("hit_latency_cycles")
                    + self.wire(self.path.cu, "memory")
            }
            (Step::Load(_), Found::L2) => {
                issue
                    + self.to_l1("load")
                    + self.to_l2(8)
                    + l2("hit_latency_cycles")
                    + self.back(136)
            }
            (Step::Load(_), Found::ClosedRow | Found::OpenRow) => {
                let sent = issue + self.to_l1("load") + self.to_l2(8) + l2("miss_latency_cycles");
                self.memory(sent, found == Found::ClosedRow)
                    + l2("fill_latency_cycles")
                    + self.back(136)
            }
            // All words of the line: allocated without a fetch.
            (Step::Store(_), _) => {
                issue
                    + self.to_l1("store")
                    + self.to_l2(136)
                    + l2("hit_latency_cycles")
                    + self.back(8)
            }
            // Atomics carry operands down and old values up.
            (Step::Atomic(_), Found::L2) => {
                issue
                    + self.to_l1("atomic")
                    + self.to_l2(136)
                    + l2("hit_latency_cycles")
                    + self.numbers.of(self.path.l2, "atomics.latency_cycles")
                    + self.back(136)
            }
            other => panic!("no formula for {other:?}"),
        }
    }

    /// Returns the cycle in which a kernel of these dependent accesses is complete at the host.
    fn complete(&self, accesses: &[(Step, Found)]) -> u64 {
        let mut issue = self.first_issue();
        let mut ended = 0;
        for &(step, found) in accesses {
            let response = self.response(issue, step, found);
            if let Step::Store(_) = step {
                ended = response.max(issue + 1 + self.cu("classes.exit.latency"));
                continue;
            }
            let dependent = response + self.cu("load_store.writeback_latency");
            let result = dependent + self.cu("classes.int_add.latency");
            ended = result.max(dependent + 1 + self.cu("classes.exit.latency"));
            issue = result;
        }
        ended + self.completion()
    }
}

/// Returns the completion cycle as simulated and as computed by hand.
fn both(system: &str, path: &Path, accesses: &[(Step, Found)]) -> (u64, u64) {
    both_with(&[], system, path, accesses)
}

/// Like `both`, with additional overrides.
fn both_with(sets: &[&str], system: &str, path: &Path, accesses: &[(Step, Found)]) -> (u64, u64) {
    let scenario = scenario(system, "vector_add.ron", &[path.sets, sets].concat());
    let with_uses = |step: Step| match step {
        Step::Load(_) | Step::Atomic(_) => vec![step, Step::Use],
        _ => vec![step],
    };
    let steps = accesses.iter().flat_map(|&(step, _)| with_uses(step));
    let steps: Vec<_> = steps.chain([Step::Exit]).collect();
    let program = program(vec![kernel(1, 1, |_, _| steps.clone())]);
    let mut machine = machine(&scenario, &program);
    let simulated = run(&mut machine);
    let hand = Hand {
        path,
        numbers: Numbers(machine.system().resolved.to_node()),
    };
    let completed = simulated.kernels[0].completed.expect("the run is done");
    (completed, hand.complete(accesses))
}

/// Returns a line of channel 0 and slice 0 whose accesses use the rows that address 0 opened.
fn same_rows(system: &str, path: &Path) -> u64 {
    let scenario = scenario(system, "vector_add.ron", path.sets);
    let machine = machine(
        &scenario,
        &program(vec![kernel(1, 1, |_, _| vec![Step::Exit])]),
    );
    let numbers = Numbers(machine.system().resolved.to_node());
    let rotation = 32 * numbers.of(path.dram, "devices") * 4;
    rotation.max(256) * path.channels
}

fn expect(system: &str, path: &Path) {
    let row = same_rows(system, path);
    let line = 0;
    let cases: [&[(Step, Found)]; 7] = [
        &[(Step::Load(line), Found::ClosedRow)],
        &[
            (Step::Load(line), Found::ClosedRow),
            (Step::Load(line), Found::L1),
        ],
        &[
            (Step::Load(line), Found::ClosedRow),
            (Step::Load(row), Found::OpenRow),
        ],
        &[
            (Step::Load(line), Found::ClosedRow),
            (Step::Load(row), Found::OpenRow),
            (Step::Load(2 * row), Found::OpenRow),
        ],
        &[(Step::Store(line), Found::L2)],
        &[
            (Step::Load(line), Found::ClosedRow),
            (Step::Atomic(line), Found::L2),
        ],
        &[
            (Step::Load(line), Found::ClosedRow),
            (Step::Atomic(line), Found::L2),
            // The atomic dropped the copy in the L1.
            (Step::Load(line), Found::L2),
        ],
    ];
    for accesses in cases {
        let (simulated, added_up) = both(system, path, accesses);
        assert_eq!(simulated, added_up, "{system} {accesses:?}");
    }
}

#[test]
fn tiny_takes_the_cycles_its_description_adds_up_to() {
    expect("systems/tiny.ron", &TINY);
}

#[test]
fn gtx480_takes_the_cycles_its_description_adds_up_to() {
    expect("systems/gtx480.ron", &GTX480);
}

#[test]
fn clustered60_takes_the_cycles_its_description_adds_up_to() {
    expect("systems/clustered60.ron", &CLUSTERED60);
}

/// With links, its wires across the die take the cycles that dispatch and misses of the L1 and the
/// L2 save, in both directions. Only the end of a kernel crosses the die three more times without
/// such a saving.
#[test]
fn loads_on_clustered60_take_the_same_time_whatever_its_links_do() {
    let load = |line, found| (Step::Load(line), found);
    let row = same_rows("systems/clustered60.ron", &CLUSTERED60);
    let accesses = [
        load(0, Found::ClosedRow),
        load(row, Found::OpenRow),
        load(0, Found::L1),
    ];
    let completed = |links: u64| {
        let sets = format!("params.link_cycles={links}");
        let (simulated, added_up) =
            both_with(&[&sets], "systems/clustered60.ron", &CLUSTERED60, &accesses);
        assert_eq!(simulated, added_up, "{links}");
        simulated
    };
    let shortest = completed(1);
    for links in [2, 4, 11] {
        assert_eq!(completed(links), shortest + 3 * (links - 1), "{links}");
    }
}

/// The study's unit adds 2 cycles to requests and 1 to replies. It also adds a wire in each
/// direction to the invalidation at the end.
#[test]
fn clustered60_with_coalescing_takes_the_cycles_its_description_adds_up_to() {
    expect("systems/clustered60.ron", &CLUSTERED60_ICC);
    let load = [(Step::Load(0), Found::ClosedRow)];
    let (without, _) = both("systems/clustered60.ron", &CLUSTERED60, &load);
    let (with, _) = both("systems/clustered60.ron", &CLUSTERED60_ICC, &load);
    assert_eq!(with, without + 2 + 1 + 2);
}
