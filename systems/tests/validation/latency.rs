//! Latencies by hand: the completion of a kernel of one wavefront is the sum of the numbers of the
//! description, as `docs/timing.md` adds them up, to the cycle.

use super::harness::{Numbers, Step, kernel, machine, program, run, scenario};

/// Where an access finds its line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Found {
    L1,
    L2,
    ClosedRow,
    OpenRow,
}

/// Names of the parts on the way of unit 0 to slice 0.
struct Path {
    /// What the machine is set to.
    sets: &'static [&'static str],
    cu: &'static str,
    l1: &'static str,
    port: &'static str,
    dispatch: &'static str,
    l2: &'static str,
    l2_port: &'static str,
    dram: &'static str,
    /// The coalescing unit in front of the port, if there is one.
    icc: Option<&'static str>,
    channels: u64,
    /// f(core) / f(CK) as a fraction: the period of the core clock is `core_period` of some tick,
    /// that of CK `ck_period`.
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

    /// First issue of the first wavefront.
    fn first_issue(&self) -> u64 {
        self.numbers.of("host", "launch_latency_cycles")
            + self.numbers.wire("host.gmu")
            + self.numbers.of("gmu", "dispatch_latency_cycles")
            + self.numbers.wire("gmu.scheduler")
            + self.numbers.wire(self.path.dispatch)
            + self.cu("start_latency")
    }

    /// From the cycle in which the completion leaves the unit to the kernel's completion at the
    /// host: scheduler, invalidation of the L1, scheduler, GMU, host.
    fn completion(&self) -> u64 {
        3 * self.numbers.wire(self.path.dispatch)
            + 2 * self.wire(self.path.cu, "cache_control")
            // The unit hands the invalidation on.
            + self.path.icc.map_or(0, |icc| 2 * self.wire(icc, "control_down[0]"))
            + self.numbers.wire("gmu.scheduler")
            + self.numbers.wire("host.gmu")
    }

    /// Issue to request readable at the L1.
    fn to_l1(&self, class: &str) -> u64 {
        self.cu(&format!("classes.{class}.latency")) + self.wire(self.path.cu, "memory")
    }

    fn network(&self, network: &str, bytes: u64) -> u64 {
        let number = |field: &str| self.numbers.of("crossbar", &format!("{network}.{field}"));
        number("input_cycles") + number("output_cycles") + bytes.div_ceil(number("flit_bytes")) - 1
    }

    /// Wires between L1 and L2 slice, one way.
    fn wires(&self) -> u64 {
        self.wire(self.path.l1, "down")
            + self.wire(self.path.port, "down")
            + self.wire(self.path.l2_port, "up")
    }

    /// What the coalescing unit adds to the way down: its look-ups, of which the wire to the port
    /// is the last cycle.
    fn icc_down(&self) -> u64 {
        self.path.icc.map_or(0, |icc| {
            self.numbers.of(icc, "coalesced_cache.access_cycles")
                + self.numbers.of(icc, "table_cycles")
                - 1
                + self.wire(icc, "down")
        })
    }

    /// What the coalescing unit adds to the way up.
    fn icc_up(&self) -> u64 {
        self.path.icc.map_or(0, |icc| {
            self.numbers.of(icc, "reply_cycles") - 1 + self.wire(icc, "down")
        })
    }

    /// Request readable at the L1 to request readable at the L2.
    fn to_l2(&self, bytes: u64) -> u64 {
        self.numbers.of(self.path.l1, "miss_latency_cycles")
            + self.numbers.of(self.path.port, "request_cycles")
            + self.icc_down()
            + self.network("request", bytes)
            + self.wires()
    }

    /// Answered at the L2 to response readable at the compute unit.
    fn back(&self, bytes: u64) -> u64 {
        self.wires()
            + self.network("reply", bytes)
            + self.numbers.of(self.path.port, "response_cycles")
            + self.icc_up()
            + self.numbers.of(self.path.l1, "fill_latency_cycles")
            + self.wire(self.path.cu, "memory")
    }

    /// CK cycles from a read of a line readable on an idle channel to its response: the commands
    /// one by one, row commands only when no read can go.
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

    /// Core cycle in which the L2 can read the response to a request it sent in core cycle
    /// `sent`. Edges of a clock are at multiples of its period; the latency of a wire counts in
    /// cycles of its sender, and what arrives between two edges waits for the later one.
    fn memory(&self, sent: u64, closed: bool) -> u64 {
        let wire = self.wire(self.path.l2, "down");
        let (core, ck) = (self.path.core_period, self.path.ck_period);
        let arrives = ((sent + wire) * core).div_ceil(ck);
        ((arrives + self.channel(closed) + wire) * ck).div_ceil(core)
    }

    /// Cycle in which the response to an access issued in `issue` is readable at the unit.
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

    /// Cycle in which a kernel of these accesses, each after the result of the one before, is
    /// complete at the host.
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

/// Cycle of completion as simulated and as added up.
fn both(system: &str, path: &Path, accesses: &[(Step, Found)]) -> (u64, u64) {
    both_with(&[], system, path, accesses)
}

/// The same with settings.
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

/// A line of channel 0 and slice 0 whose accesses use the rows that address 0 opened.
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

/// Its wires across the die take what dispatch, misses of the L1 and the L2 then take less, both
/// ways; only the end of a kernel crosses the die three times more without that.
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

/// The unit of the study adds 2 cycles to the way down and 1 to the way up, and a wire each way to
/// the invalidation at the end.
#[test]
fn clustered60_with_coalescing_takes_the_cycles_its_description_adds_up_to() {
    expect("systems/clustered60.ron", &CLUSTERED60_ICC);
    let load = [(Step::Load(0), Found::ClosedRow)];
    let (without, _) = both("systems/clustered60.ron", &CLUSTERED60, &load);
    let (with, _) = both("systems/clustered60.ron", &CLUSTERED60_ICC, &load);
    assert_eq!(with, without + 2 + 1 + 2);
}
