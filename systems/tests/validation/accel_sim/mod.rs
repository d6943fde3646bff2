//! The machines in the manner of Accel-Sim, by micro-benchmarks whose answers the numbers of their descriptions
//! give, as `docs/timing.md` and the pages of the components say.

use super::harness::{
    Numbers, Places, REGISTERS, Step, kernel, machine, named, program, run, scenario_beside_others,
    sum,
};

/// A committed machine.
struct Machine {
    file: &'static str,
    has_l1: bool,
    /// Periods of the core clock and of that of memory, in some tick.
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

/// Granules are dealt in turn, so that address 0 and those near it are where the sums expect them.
const IN_TURN: &str = "params.hashed_slices=false";

/// One cluster and one channel, which are quick to build and take as long as many do.
const SMALL: [&str; 2] = ["params.clusters=1", "params.channels=1"];

/// What a program takes on a machine, and the numbers of the machine as built.
struct Ran {
    /// Cycles from launch to completion of the first kernel, and of all.
    cycles: u64,
    all: u64,
    simulated: warpweave_systems::Simulated,
    hand: Hand,
}

/// Numbers of a machine, added up by hand.
struct Hand {
    has_l1: bool,
    core_period: u64,
    ck_period: u64,
    numbers: Numbers,
}

impl Machine {
    /// Runs kernels of so many work-groups and wavefronts that do these steps.
    fn run(&self, sets: &[&str], kernels: &[(u32, u32, Vec<Step>)]) -> Ran {
        let path = format!("systems/accelsim/{}.ron", self.file);
        let scenario = scenario_beside_others(&path, &[&[IN_TURN], sets].concat());
        let kernels = kernels.iter().map(|(work_groups, wavefronts, steps)| {
            let steps = steps.iter().copied().chain([Step::Exit]);
            let steps: Vec<_> = steps.collect();
            kernel(*work_groups, *wavefronts, |_, _| steps.clone())
        });
        let mut machine = machine(&scenario, &program(kernels.collect()));
        let simulated = run(&mut machine);
        let completed = |number: usize| simulated.kernels[number].completed.expect("it is done");
        Ran {
            cycles: completed(0),
            all: completed(simulated.kernels.len() - 1),
            hand: Hand {
                has_l1: self.has_l1,
                core_period: self.core_period,
                ck_period: self.ck_period,
                numbers: Numbers(machine.system().resolved.to_node()),
            },
            simulated,
        }
    }

    /// Runs one wavefront that does these steps.
    fn alone(&self, steps: &[Step]) -> Ran {
        self.run(&SMALL, &[(1, 1, steps.to_vec())])
    }

    /// Cycles that each of these steps takes, followed by one that needs what it loads, in a long row of them.
    fn each(&self, first: &[Step], step: impl Fn(u64) -> Step) -> (u64, Hand) {
        let row = |count: u64| {
            let steps = first.iter().copied();
            let steps = steps.chain((0..count).flat_map(|i| [step(i), Step::Use]));
            self.alone(&steps.collect::<Vec<_>>())
        };
        let (short, long) = (row(1), row(5));
        assert_eq!((long.cycles - short.cycles) % 4, 0, "{}", self.file);
        ((long.cycles - short.cycles) / 4, long.hand)
    }
}

/// Every lane at one word.
fn word(base: u64) -> Step {
    Step::Spread(Places {
        base,
        apart: 0,
        distinct: 1,
    })
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

    /// Flits of a packet.
    fn network(&self, network: &str, bytes: u64) -> u64 {
        let number = |field: &str| self.numbers.of("crossbar", &format!("{network}.{field}"));
        number("input_cycles") + number("output_cycles") + bytes.div_ceil(number("flit_bytes")) - 1
    }

    /// A wire of one direction, which may stand in a pair of them.
    fn wire(&self, end: &str, direction: &str) -> u64 {
        let single = format!("{end}.{direction}");
        self.numbers
            .find_wire(&single)
            .unwrap_or_else(|| self.numbers.wire(end))
    }

    /// From issue of a load to its request at the first level, or where there is none, at the port.
    fn to_first(&self) -> u64 {
        self.cu("classes.load.latency") + self.wire("cluster[0].cu[0].memory", "request")
    }

    fn since_first(&self) -> u64 {
        self.wire("cluster[0].cu[0].memory", "response") + self.cu("load_store.writeback_latency")
    }

    /// From the first level to the slice and back, but for what the slice takes. Where a line is cut into sectors, the one
    /// with the word goes first, and the access does not wait for the others.
    fn around(&self, bytes_back: u64) -> u64 {
        let level = if self.has_l1 {
            self.l1("miss_latency_cycles")
                + self.l1("fill_latency_cycles")
                + 2 * self.numbers.wire("cluster[0].l1[0].down")
        } else {
            0
        };
        level
            + self.numbers.of("cluster[0].port", "request_cycles")
            + self.numbers.of("cluster[0].port", "response_cycles")
            + 2 * self.numbers.wire("cluster[0].port.down")
            + self.network("request", 8)
            + self.network("reply", bytes_back)
            + self.wire("l2[0].up", "request")
            + self.wire("l2[0].up", "response")
    }

    fn next_step(&self) -> u64 {
        self.cu("classes.int_add.latency")
    }
}

#[test]
fn a_hit_of_the_first_level_takes_the_sum_of_its_parts() {
    for machine in MACHINES.iter().filter(|machine| machine.has_l1) {
        let (cycles, hand) = machine.each(&[word(0), Step::Use], |_| word(0));
        let sum = hand.to_first() + hand.l1("hit_latency_cycles") + hand.since_first();
        assert_eq!(cycles, sum + hand.next_step(), "{}", machine.file);
    }
}

#[test]
fn a_hit_of_the_second_level_takes_the_sum_of_its_parts() {
    for machine in &MACHINES {
        // One line after the other that a wavefront of another unit has fetched: none of them is in this unit.
        let line = |i: u64| word(128 * (i % 2) + 6144 * (i / 2));
        let lines: Vec<_> = (0..6).flat_map(|i| [line(i), Step::Use]).collect();
        let row = |count: usize| {
            let second = lines[..2 * count].to_vec();
            let kernels = [(1, 1, lines.clone()), (1, 1, second)];
            machine.run(&SMALL, &kernels)
        };
        // The first level is emptied between kernels.
        let (short, long) = (row(1), row(5));
        let hand = &long.hand;
        let sum = hand.to_first()
            + hand.around(8 + 32)
            + hand.l2("hit_latency_cycles")
            + hand.since_first()
            + hand.next_step();
        assert_eq!(long.all - short.all, 4 * sum, "{}", machine.file);
    }
}

#[test]
fn a_load_from_a_closed_bank_takes_the_sum_of_its_parts() {
    for machine in &MACHINES {
        let none = machine.alone(&[]);
        let ran = machine.alone(&[word(0), Step::Use]);
        let hand = &ran.hand;
        let timing = |field: &str| hand.dram(&format!("timing.{field}"));
        let first_issue = hand.numbers.of("host", "launch_latency_cycles")
            + hand.numbers.wire("host.gmu")
            + hand.numbers.of("gmu", "dispatch_latency_cycles")
            + hand.numbers.wire("gmu.scheduler")
            + hand.numbers.wire("cluster[0].cu[0].dispatch")
            + hand.cu("start_latency");
        let down = {
            let level = if machine.has_l1 {
                hand.l1("miss_latency_cycles") + hand.numbers.wire("cluster[0].l1[0].down")
            } else {
                0
            };
            level
                + hand.numbers.of("cluster[0].port", "request_cycles")
                + hand.numbers.wire("cluster[0].port.down")
                + hand.network("request", 8)
                + hand.wire("l2[0].up", "request")
        };
        let wire = hand.numbers.wire("l2[0].down");
        let (core, ck) = (hand.core_period, hand.ck_period);
        let sent = first_issue + hand.to_first() + down + hand.l2("miss_latency_cycles");
        let arrives = ((sent + wire) * core).div_ceil(ck);
        let read = arrives + 1 + timing("t_rcd_rd");
        let answered = read + timing("t_cl") + timing("burst_cycles") + hand.dram("latency_cycles");
        let filled = ((answered + wire) * ck).div_ceil(core);
        let up = hand.around(8 + 32) - down;
        let response = filled + hand.l2("fill_latency_cycles") + up + hand.since_first()
            - hand.cu("load_store.writeback_latency");
        let dependent = response + hand.cu("load_store.writeback_latency");
        let ended = dependent + 1 + hand.cu("classes.exit.latency");
        let ended = ended.max(dependent + hand.next_step());
        let empty = first_issue + hand.cu("classes.exit.latency");
        assert_eq!(
            ran.cycles - none.cycles,
            ended - empty,
            "{}: {} {}",
            machine.file,
            ran.cycles,
            none.cycles
        );
    }
}

#[test]
fn a_conflict_of_any_degree_takes_as_many_cycles() {
    for machine in &MACHINES {
        for degree in 1..=32 {
            let access = Step::Local(Places {
                base: 0,
                apart: 4 * 32,
                distinct: degree,
            });
            let (cycles, hand) = machine.each(&[], |_| access);
            let sum = hand.cu("local_memory.latency") + degree as u64 - 1;
            assert_eq!(cycles, sum + hand.next_step(), "{} {degree}", machine.file);
        }
    }
}

#[test]
fn an_access_to_any_number_of_lines_makes_as_many_requests() {
    for machine in &MACHINES {
        let line = |ran: &Hand| ran.cu("load_store.line_bytes");
        for degree in 1..=32 {
            let access = |apart| {
                Step::Spread(Places {
                    base: 0,
                    apart,
                    distinct: degree,
                })
            };
            let apart = line(&machine.alone(&[]).hand);
            let ran = machine.alone(&[access(apart), Step::Use]);
            let units = named(&ran.simulated, "cu");
            assert_eq!(
                sum(&units, "read_requests"),
                degree as u64,
                "{}",
                machine.file
            );
        }
    }
}

/// The lines of an access that hits go to the first level one in a cycle. Where it takes several, banks conflict.
#[test]
fn hits_of_an_access_to_many_lines_follow_each_other_cycle_by_cycle() {
    for machine in MACHINES.iter().filter(|machine| machine.file == "gtx480") {
        let apart = machine.alone(&[]).hand.cu("load_store.line_bytes");
        let cycles_of = |distinct| {
            let access = Step::Spread(Places {
                base: 0,
                apart,
                distinct,
            });
            machine.each(&[access, Step::Use], |_| access)
        };
        let (one, _) = cycles_of(1);
        for degree in 1..=32_usize {
            let more = degree as u64 - 1;
            assert_eq!(cycles_of(degree).0, one + more, "{} {degree}", machine.file);
        }
    }
}

#[test]
fn kernels_of_a_stream_follow_each_other_after_the_latency_of_a_launch() {
    for machine in &MACHINES {
        let (one, three) = (
            machine.run(&SMALL, &[(1, 1, vec![])]),
            machine.run(&SMALL, &vec![(1, 1, vec![]); 3]),
        );
        let hand = &three.hand;
        let dispatch = hand.numbers.wire("cluster[0].cu[0].dispatch");
        let control = if machine.has_l1 {
            2 * hand.numbers.wire("cluster[0].cu[0].cache_control")
        } else {
            0
        };
        let gap = hand.numbers.of("gmu", "dispatch_latency_cycles")
            + 2 * hand.numbers.wire("gmu.scheduler")
            + 4 * dispatch
            + hand.cu("start_latency")
            + hand.cu("classes.exit.latency")
            + control;
        assert_eq!(three.all - one.all, 2 * gap, "{}", machine.file);
    }
}

/// Work-groups of four wavefronts: a unit holds what its slots, its registers and its grid leave.
#[test]
fn a_unit_holds_as_many_work_groups_as_its_resources_allow() {
    for machine in &MACHINES {
        let units = |hand: &Hand| {
            hand.numbers.of("scheduler", "clusters")
                * hand.numbers.of("scheduler", "units_per_cluster")
        };
        let empty = machine.alone(&[]);
        let work_groups = 40 * units(&empty.hand) as u32;
        let steps: Vec<_> = (0..200).map(|i| Step::Compute(i % REGISTERS)).collect();
        let ran = machine.run(&SMALL, &[(work_groups, 4, steps)]);
        let hand = &ran.hand;
        // 16 registers of 32 threads, rounded up to what is given out together.
        let granularity = hand.cu("register_granularity");
        let registers = (16 * 32_u64).next_multiple_of(granularity) * 4;
        let held = (hand.cu("wavefront_slots") / 4)
            .min(hand.cu("work_group_slots"))
            .min(hand.cu("registers") / registers);
        for unit in named(&ran.simulated, "cu") {
            assert_eq!(
                unit.counter("wavefronts_max"),
                Some(4 * held),
                "{}",
                unit.path
            );
        }
    }
}

/// One channel alone, read from by a few units: what its bursts carry, half of it where a sector is half a burst.
#[test]
fn a_stream_from_one_channel_reaches_the_rate_of_its_bursts() {
    for machine in &MACHINES {
        let sets = [
            "params.channels=1",
            "params.clusters=4",
            "params.launch_latency=0",
        ];
        let run_length = |length: u64| {
            let path = format!("systems/accelsim/{}.ron", machine.file);
            let scenario = scenario_beside_others(&path, &[&[IN_TURN], &sets[..]].concat());
            let empty = machine.run(&sets, &[(1, 1, vec![])]);
            let units = (empty.hand.numbers.of("scheduler", "units_per_cluster") * 4) as u32;
            let all = u64::from(units) * 16;
            let kernel = kernel(units, 16, |work_group, wavefront| {
                let first = u64::from(work_group * 16 + wavefront);
                let load = |step: u64| {
                    let register = (step % u64::from(REGISTERS)) as u16;
                    Step::Stream(register, (step * all + first) * 128)
                };
                (0..length).map(load).chain([Step::Exit]).collect()
            });
            let mut built = super::harness::machine(&scenario, &program(vec![kernel]));
            let simulated = super::harness::run(&mut built);
            let reads = sum(&named(&simulated, "dram"), "reads");
            (simulated.cycles, reads, empty.hand)
        };
        let (short, long) = (run_length(6), run_length(18));
        let hand = &long.2;
        let cycles = (long.0 - short.0) as f64 * hand.core_period as f64 / hand.ck_period as f64;
        let apart = hand
            .dram("timing.burst_cycles")
            .max(hand.dram("timing.t_ccd_s"));
        let share = (long.1 - short.1) as f64 * apart as f64 / cycles;
        eprintln!("{}: {share:.3} of the bursts that fit", machine.file);
        assert!((0.85..=1.0).contains(&share), "{}: {share}", machine.file);
    }
}
