//! Validation of the Accel-Sim-like machines by micro-benchmarks. Expected results follow from the
//! numbers in their descriptions, as in `docs/timing.md` and the pages of the components.

mod bandwidth;
mod coalescing;
mod fetching;
mod latency;
mod launching;
mod registers;
mod slots;

use warpweave_systems::Scenario;

use super::harness::{
    Numbers, Places, Step, kernel, machine, program, run, scenario_beside_others,
};

/// Machine whose description is in the repository.
struct Machine {
    file: &'static str,
    has_l1: bool,
    /// Periods of the core and memory clocks, in the same tick unit.
    core_period: u64,
    ck_period: u64,
}

const MACHINES: [Machine; 4] = [
    Machine {
        file: "gtx480",
        has_l1: true,
        // 700 and 924 MHz.
        core_period: 33,
        ck_period: 25,
    },
    Machine {
        file: "titanx",
        has_l1: false,
        // 1417 and 2500 MHz.
        core_period: 2500,
        ck_period: 1417,
    },
    Machine {
        file: "titanv",
        has_l1: true,
        // 1200 and 850 MHz.
        core_period: 17,
        ck_period: 24,
    },
    Machine {
        file: "qv100",
        has_l1: true,
        // 1132 and 850 MHz.
        core_period: 425,
        ck_period: 566,
    },
];

/// Interleaves granules round-robin, so that addresses near 0 are in the expected slice.
const IN_TURN: &str = "params.hashed_slices=false";

/// Makes instructions available without fetching.
const NO_FETCH: &str = "params.fetch_instructions=false";

/// One cluster and one channel, which are fast to build and have the same timing as many.
const SMALL: [&str; 2] = ["params.clusters=1", "params.channels=1"];

/// Measured time of a program on a machine, and the numbers of the machine as built.
struct Ran {
    /// Cycles from launch to completion of the first kernel; those of all kernels follow.
    cycles: u64,
    all: u64,
    simulated: warpweave_systems::Simulated,
    hand: Hand,
}

/// Numbers of a machine, for sums by hand.
struct Hand {
    core_period: u64,
    ck_period: u64,
    numbers: Numbers,
}

/// Kernel: its work-groups, wavefronts per work-group, and the steps of each wavefront before it
/// exits.
type Work<'a> = (u32, u32, &'a dyn Fn(u32, u32) -> Vec<Step>);

impl Machine {
    fn run_work(&self, sets: &[&str], kernels: &[Work<'_>]) -> Ran {
        let path = format!("systems/accelsim/{}.ron", self.file);
        let scenario = scenario_beside_others(&path, &[&[IN_TURN], sets].concat());
        self.run_scenario(&scenario, kernels)
    }

    /// Runs kernels on the machine of a scenario, which must have the same clocks.
    fn run_scenario(&self, scenario: &Scenario, kernels: &[Work<'_>]) -> Ran {
        let kernels = kernels.iter().map(|(work_groups, wavefronts, steps)| {
            kernel(*work_groups, *wavefronts, |work_group, wavefront| {
                let steps = steps(work_group, wavefront).into_iter();
                steps.chain([Step::Exit]).collect()
            })
        });
        let mut machine = machine(scenario, &program(kernels.collect()));
        let simulated = run(&mut machine);
        let completed = |number: usize| simulated.kernels[number].completed.expect("it is done");
        Ran {
            cycles: completed(0),
            all: completed(simulated.kernels.len() - 1),
            hand: Hand {
                core_period: self.core_period,
                ck_period: self.ck_period,
                numbers: Numbers(machine.system().resolved.to_node()),
            },
            simulated,
        }
    }

    /// Runs kernels with these numbers of work-groups and wavefronts and these steps, without
    /// instruction fetch.
    fn run(&self, sets: &[&str], kernels: &[(u32, u32, Vec<Step>)]) -> Ran {
        let steps: Vec<_> = kernels
            .iter()
            .map(|(.., steps)| move |_: u32, _: u32| steps.clone())
            .collect();
        let kernels = kernels.iter().zip(&steps);
        let kernels: Vec<Work<'_>> = kernels
            .map(|(kernel, steps)| (kernel.0, kernel.1, steps as &dyn Fn(u32, u32) -> Vec<Step>))
            .collect();
        self.run_work(&[&[NO_FETCH], sets].concat(), &kernels)
    }

    /// Runs one wavefront with these steps.
    fn alone(&self, steps: &[Step]) -> Ran {
        self.run(&SMALL, &[(1, 1, steps.to_vec())])
    }

    /// Returns the cycles per step, measured over many steps that are each followed by a use of the
    /// loaded value.
    fn each(&self, first: &[Step], step: impl Fn(u64) -> Step) -> (u64, Hand) {
        self.each_with(&[], first, step)
    }

    /// Like `each`, with additional overrides.
    fn each_with(&self, sets: &[&str], first: &[Step], step: impl Fn(u64) -> Step) -> (u64, Hand) {
        let row = |count: u64| {
            let steps = first.iter().copied();
            let steps = steps.chain((0..count).flat_map(|i| [step(i), Step::Use]));
            let sets = [&SMALL[..], sets].concat();
            self.run(&sets, &[(1, 1, steps.collect())])
        };
        let (short, long) = (row(1), row(5));
        assert_eq!((long.cycles - short.cycles) % 4, 0, "{}", self.file);
        ((long.cycles - short.cycles) / 4, long.hand)
    }
}

/// Places every lane at the same word.
fn at(base: u64) -> Places {
    Places {
        base,
        apart: 0,
        distinct: 1,
    }
}

fn word(base: u64) -> Step {
    Step::Spread(at(base))
}

impl Hand {
    fn cu(&self, field: &str) -> u64 {
        self.numbers.of("cluster[0].cu[0]", field)
    }

    fn l1(&self, field: &str) -> u64 {
        self.numbers.of("cluster[0].l1[0]", field)
    }

    fn l2(&self, field: &str) -> u64 {
        self.numbers.of("l2[0]", field)
    }

    fn dram(&self, field: &str) -> u64 {
        self.numbers.of("dram[0]", field)
    }

    /// Returns the number of flits of a packet.
    fn network(&self, network: &str, bytes: u64) -> u64 {
        let number = |field: &str| self.numbers.of("crossbar", &format!("{network}.{field}"));
        number("input_cycles") + number("output_cycles") + bytes.div_ceil(number("flit_bytes")) - 1
    }

    /// Returns the latency of a wire in one direction, which may be part of a pair.
    fn wire(&self, end: &str, direction: &str) -> u64 {
        let single = format!("{end}.{direction}");
        self.numbers
            .find_wire(&single)
            .unwrap_or_else(|| self.numbers.wire(end))
    }

    /// Returns the cycle of the first wavefront's first issue.
    fn first_issue(&self) -> u64 {
        self.numbers.of("host", "launch_latency_cycles")
            + self.numbers.wire("host.gmu")
            + self.numbers.of("gmu", "dispatch_latency_cycles")
            + self.numbers.wire("gmu.scheduler")
            + self.numbers.wire("cluster[0].cu[0].dispatch")
            + self.cu("start_latency")
    }

    /// Returns the cycles from issue of an access to its request at the first level, or at the port
    /// if there is none.
    fn to_first(&self, class: &str) -> u64 {
        self.cu("operand_latency")
            + self.cu(&format!("classes.{class}.latency"))
            + self.wire("cluster[0].cu[0].memory", "request")
    }

    fn since_first(&self) -> u64 {
        self.wire("cluster[0].cu[0].memory", "response") + self.cu("load_store.writeback_latency")
    }

    /// Returns the number of parts of a line after the first, for slices that split line requests.
    fn further_parts(&self) -> u64 {
        self.cu("load_store.line_bytes") / self.l2("line_bytes") - 1
    }

    /// Returns the cycles from the first level to the slice and back, without those of the slice
    /// itself.
    fn around(&self, (bytes_down, bytes_back): (u64, u64)) -> u64 {
        self.down("l1", bytes_down) + self.up("l1", bytes_back)
    }

    /// Returns the cycles from a request at a first level to one at the slice.
    fn down(&self, first: &str, bytes: u64) -> u64 {
        let fields = ["miss_latency_cycles", "request_cycles"];
        self.one_way(first, fields, ("request", "request"), bytes)
    }

    /// Returns the cycles from a reply of the slice to that of a first level.
    fn up(&self, first: &str, bytes: u64) -> u64 {
        let fields = ["fill_latency_cycles", "response_cycles"];
        self.one_way(first, fields, ("reply", "response"), bytes)
    }

    /// Returns the one-way cycles between a first level and the slice. Arguments are the latency
    /// fields of the level and of its cluster's port, and the names of network and wire. Without a
    /// first level it starts at the port.
    fn one_way(
        &self,
        first: &str,
        [of_level, of_port]: [&str; 2],
        (network, wire): (&str, &str),
        bytes: u64,
    ) -> u64 {
        let first = format!("cluster[0].{first}[0]");
        let below = format!("{first}.down");
        let level = match self.numbers.find_wire(&below) {
            Some(_) => self.numbers.of(&first, of_level) + self.numbers.wire(&below),
            None => 0,
        };
        level
            + self.numbers.of("cluster[0].port", of_port)
            + self.numbers.wire("cluster[0].port.down")
            + self.network(network, bytes)
            + self.wire("l2[0].up", wire)
    }

    /// Returns the cycle in which the slice answers the last sector of a line from a closed bank,
    /// for a request sent in `sent`. Its sectors are in one row of one bank.
    fn closed_bank_answers(&self, sent: u64) -> u64 {
        let timing = |field: &str| self.dram(&format!("timing.{field}"));
        let wire = self.numbers.wire("l2[0].down");
        let (core, ck) = (self.core_period, self.ck_period);
        let sent = sent + self.l2("miss_latency_cycles");
        let arrives = ((sent + wire) * core).div_ceil(ck);
        let read = arrives + 1 + timing("t_rcd_rd");
        let read = read + self.further_parts() * timing("t_ccd_l");
        let answered = read + timing("t_cl") + timing("burst_cycles") + self.dram("latency_cycles");
        ((answered + wire) * ck).div_ceil(core) + self.l2("fill_latency_cycles")
    }

    fn next_step(&self) -> u64 {
        self.cu("operand_latency") + self.cu("classes.int_add.latency")
    }
}
