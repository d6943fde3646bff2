//! Peak bandwidth of each level and peak issue rate of schedulers, without other limits.

use super::super::harness::{REGISTERS, Step, named, sum};
use super::{MACHINES, Machine, NO_FETCH, Ran, SMALL};

/// Work-groups of wavefronts that each load `length` consecutive lines of 128 bytes, wrapping
/// around after `lines` lines. If they wrap around, an earlier kernel has loaded each line once.
struct Stream<'a> {
    sets: &'a [&'a str],
    groups: u32,
    wavefronts: u32,
    lines: Option<u64>,
    load: fn(u16, u64) -> Step,
}

impl Stream<'_> {
    fn run(&self, machine: &Machine, length: u64) -> Ran {
        let all = u64::from(self.groups * self.wavefronts);
        let lines = self.lines.unwrap_or(u64::MAX);
        let loads = |length: u64| {
            move |work_group: u32, wavefront: u32| {
                let first = u64::from(work_group * self.wavefronts + wavefront);
                let load = |step: u64| {
                    let register = (step % u64::from(REGISTERS)) as u16;
                    (self.load)(register, (step * all + first) % lines * 128)
                };
                (0..length).map(load).collect::<Vec<_>>()
            }
        };
        let before = loads(self.lines.map_or(0, |lines| lines.div_ceil(all)));
        let steps = loads(length);
        let kernels = [&before as &dyn Fn(u32, u32) -> Vec<Step>, &steps];
        let kernels = kernels.map(|steps| (self.groups, self.wavefronts, steps));
        machine.run_work(&[&[NO_FETCH], self.sets].concat(), &kernels)
    }
}

/// One line per cycle, either as one request or as one for each bank.
#[test]
fn a_first_level_gives_a_line_in_every_cycle() {
    for machine in MACHINES.iter().filter(|machine| machine.has_l1) {
        let stream = Stream {
            sets: &SMALL,
            groups: 1,
            wavefronts: 16,
            lines: Some(4),
            load: Step::Stream,
        };
        let (short, long) = (stream.run(machine, 50), stream.run(machine, 150));
        let cycles = long.all - short.all;
        let share = 1600.0 / cycles as f64;
        assert!((0.99..=1.01).contains(&share), "{}: {share}", machine.file);
    }
}

/// Machine with four clusters and one channel.
const FOUR: [&str; 3] = [
    "params.channels=1",
    "params.clusters=4",
    "params.launch_latency=0",
];

fn units_of_four(machine: &Machine) -> u32 {
    let hand = machine.alone(&[]).hand;
    hand.numbers.of("scheduler", "units_per_cluster") as u32 * 4
}

/// One slice delivers a sector per cycle to four clusters that bypass their first levels.
#[test]
fn a_slice_of_the_second_level_gives_a_sector_in_every_cycle() {
    for machine in &MACHINES {
        let stream = Stream {
            sets: &[&FOUR[..], &["params.slices=1"]].concat(),
            groups: units_of_four(machine),
            wavefronts: 16,
            // Fewer would be asked for again before they have come.
            lines: Some(448),
            load: Step::StreamPast,
        };
        let (short, long) = (stream.run(machine, 16), stream.run(machine, 48));
        let reads = |ran: &Ran| sum(&named(&ran.simulated, "l2"), "reads");
        let sectors = reads(&long) - reads(&short);
        let share = sectors as f64 / (long.all - short.all) as f64;
        eprintln!("{}: {share:.3} sectors in a cycle", machine.file);
        assert!((0.97..=1.03).contains(&share), "{}: {share}", machine.file);
    }
}

/// One channel alone, read by a few units: the bandwidth of its bursts, halved if a sector is half
/// a burst.
#[test]
fn a_stream_from_one_channel_reaches_the_rate_of_its_bursts() {
    for machine in &MACHINES {
        let stream = Stream {
            sets: &FOUR,
            groups: units_of_four(machine),
            wavefronts: 16,
            lines: None,
            load: Step::Stream,
        };
        let (short, long) = (stream.run(machine, 6), stream.run(machine, 18));
        let reads = |ran: &Ran| sum(&named(&ran.simulated, "dram"), "reads");
        let hand = &long.hand;
        let cycles = (long.all - short.all) as f64 * hand.core_period as f64;
        let cycles = cycles / hand.ck_period as f64;
        let apart = hand
            .dram("timing.burst_cycles")
            .max(hand.dram("timing.t_ccd_s"));
        let share = (reads(&long) - reads(&short)) as f64 * apart as f64 / cycles;
        eprintln!("{}: {share:.3} of the bursts that fit", machine.file);
        assert!((0.85..=1.0).contains(&share), "{}: {share}", machine.file);
    }
}

/// HBM2 channel with pseudo-channels: 32 bytes per cycle, minus losses from activation windows and
/// refreshes.
#[test]
fn a_stream_from_one_channel_of_two_pseudo_channels_comes_near_its_peak_rate() {
    let machine = Machine {
        file: "titanv_plain",
        has_l1: true,
        // 1200 and 850 MHz.
        core_period: 17,
        ck_period: 24,
    };
    let stream = Stream {
        sets: &FOUR,
        groups: units_of_four(&machine),
        wavefronts: 16,
        lines: None,
        load: Step::Stream,
    };
    let (short, long) = (stream.run(&machine, 6), stream.run(&machine, 18));
    let bytes = |ran: &Ran| sum(&named(&ran.simulated, "dram"), "bytes");
    let cycles = (long.all - short.all) as f64 * 17.0 / 24.0;
    let share = (bytes(&long) - bytes(&short)) as f64 / cycles / 32.0;
    eprintln!("{share:.3} of 32 bytes in a cycle");
    assert!((0.8..=1.0).contains(&share), "{share}");
}

/// Instructions for two kinds of units: as many as a scheduler issues from one wavefront.
#[test]
fn schedulers_issue_as_often_as_units_take_instructions() {
    for machine in &MACHINES {
        let run = |length: u16| {
            let both = |i: u16| {
                [
                    Step::Compute(i % REGISTERS),
                    Step::ComputeFloat(i % REGISTERS),
                ]
            };
            let steps = (0..length).flat_map(both).collect();
            machine.run(&SMALL, &[(1, 16, steps)])
        };
        let (short, long) = (run(100), run(200));
        let hand = &long.hand;
        let schedulers = hand.cu("schedulers");
        // Each pair occupies its units for their intervals, and a scheduler for the cycles to issue
        // both.
        let interval = |class: &str| hand.cu(&format!("classes.{class}.interval"));
        let pair = interval("int_add").max(interval("fp_add"));
        let pair = pair.max(2 / hand.cu("issues_per_cycle"));
        let units = named(&long.simulated, "cu").len() as u64;
        assert_eq!(units % hand.numbers.of("scheduler", "units_per_cluster"), 0);
        assert_eq!(
            long.cycles - short.cycles,
            100 * 16 / schedulers * pair,
            "{}",
            machine.file
        );
    }
}
