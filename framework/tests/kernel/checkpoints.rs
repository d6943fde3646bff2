//! Tests of saving and loading, of helpful errors, and of finding the divergence of two runs.

use proptest::prelude::*;
use warpweave_files::Ledger;
use warpweave_framework::{
    Bundle, Checkpoint, Component, Context, Cycle, Divergence, EngineOptions, InPort, Link, Next,
    Observed, Order, OutPort, Ports, Published, RunLimits, Simulation, State, StateHasher,
    Stateful, Statistics, SystemBuilder, TestBench, Tick,
};

use crate::parts::{Drain, Flood, one_clock};

/// Forwards numbers with their running sum; may count wrongly in one cycle.
#[derive(Default, Statistics)]
struct Summing {
    input: InPort<u64>,
    output: OutPort<u64>,
    sum: u64,
    recent: Vec<(Cycle, u64)>,
    /// Cycle from which one message is counted twice.
    slips_at: Option<Cycle>,
}

impl Bundle for Summing {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.output("output", &mut self.output);
    }
}

impl Component for Summing {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.input.peek(ctx).is_none() {
            return Next::Message;
        }
        if !self.output.can_send(ctx) {
            return Next::Credit;
        }
        if let Some(number) = self.input.pop(ctx) {
            let twice = self.slips_at.is_some_and(|at| at <= ctx.cycle());
            if twice {
                self.slips_at = None;
            }
            self.sum += number * (1 + u64::from(twice));
            self.recent.push((ctx.cycle(), number));
            self.output.send(ctx, self.sum);
        }
        if self.input.peek(ctx).is_some() {
            Next::Busy
        } else {
            Next::Message
        }
    }
}

impl Stateful for Summing {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("sum", &mut self.sum);
        state.part("history", |state| state.field("recent", &mut self.recent));
    }
}

/// Component that sends one number every cycle.
#[derive(Default, Statistics)]
struct Counting {
    output: OutPort<u64>,
    next: u64,
}

impl Bundle for Counting {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
    }
}

impl Component for Counting {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if !self.output.can_send(ctx) {
            return Next::Credit;
        }
        self.output.send(ctx, self.next);
        self.next += 1;
        Next::Busy
    }
}

impl Stateful for Counting {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("next", &mut self.next);
    }
}

/// Component that takes every message that arrives.
#[derive(Default, Statistics)]
struct Ending {
    input: InPort<u64>,
    last: u64,
}

impl Bundle for Ending {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
    }
}

impl Component for Ending {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        while let Some(number) = self.input.pop(ctx) {
            self.last = number;
        }
        Next::Message
    }
}

impl Stateful for Ending {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("last", &mut self.last);
    }
}

struct Line {
    slips_at: Option<Cycle>,
    latency: u32,
    stages: usize,
    clock: &'static str,
}

const LINE: Line = Line {
    slips_at: None,
    latency: 2,
    stages: 3,
    clock: "core",
};

impl Line {
    /// Builds counting → stage 0 → … → ending; the middle stage counts wrongly.
    fn build(&self) -> Simulation {
        let mut builder = SystemBuilder::new();
        let clock = builder.clock(self.clock, crate::parts::ghz(1));
        builder.add("source", clock, Counting::default());
        let mut from = "source.output".to_owned();
        for stage in 0..self.stages {
            let slips_at = self.slips_at.filter(|_| stage == 1);
            let summing = Summing {
                slips_at,
                ..Summing::default()
            };
            builder.add(format!("stage[{stage}]"), clock, summing);
            let link = Link::latency(self.latency);
            builder.connect(from, format!("stage[{stage}].input"), link);
            from = format!("stage[{stage}].output");
        }
        builder.add("end", clock, Ending::default());
        builder.connect(from, "end.input", Link::latency(1));
        builder.elaborate().unwrap()
    }

    fn at(&self, tick: u64) -> Simulation {
        let mut simulation = self.build();
        run(&mut simulation, tick);
        simulation
    }
}

fn run(simulation: &mut Simulation, tick: u64) {
    simulation.run(&RunLimits {
        until: Some(Tick(tick)),
        ..RunLimits::default()
    });
}

#[test]
fn a_full_disk_keeps_the_older_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wwc");
    let checkpoint = LINE.at(50).save().unwrap();
    warpweave_files::check_full_disks(&path, || checkpoint.write(&path, &7u32).map(drop));
    let (read, beside) = Checkpoint::read::<u32>(&path, &Ledger::default()).unwrap();
    assert_eq!((read, beside), (checkpoint, 7));
}

#[test]
fn a_checkpoint_of_another_system_is_refused_naming_what_differs() {
    let checkpoint = LINE.at(50).save().unwrap();
    let refusal = |line: Line| line.build().load(&checkpoint).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            refusal(Line { latency: 3, ..LINE }),
            refusal(Line { stages: 2, ..LINE }),
            refusal(Line { stages: 4, ..LINE }),
            refusal(Line { clock: "base", ..LINE }),
        ]
        .join("\n"),
        @"
    the checkpoint is for a different system: `source.output -> stage[0].input` (wire): field `latency`: the checkpoint has 2, this system has 3
    the checkpoint is for a different system: the checkpoint has `stage[2]` (Summing), but this system does not
    the checkpoint is for a different system: this system has `stage[3]` (Summing), but the checkpoint does not
    the checkpoint is for a different system: the checkpoint has `core` (clock), but this system does not
    "
    );
}

#[test]
fn who_cannot_be_saved_says_so_by_name() {
    let (mut builder, clock) = one_clock();
    let (flood, _) = Flood::of(3, |n| n);
    let (drain, _) = Drain::<u64>::every(1);
    builder.add("flood", clock, flood);
    builder.add("drain", clock, drain);
    builder.connect("flood.output", "drain.input", Link::latency(1));
    let component = builder.elaborate().unwrap().save().unwrap_err();

    let (mut builder, clock) = one_clock();
    let world = builder.world();
    world.process("stimulus", {
        let world = world.clone();
        async move { world.cycles(clock, 10).await }
    });
    let process = builder.elaborate().unwrap().save().unwrap_err();
    insta::assert_snapshot!(
        format!("{component}\n{process}"),
        @"
    `flood` (Flood): cannot be saved: its kind does not implement `state`
    process `stimulus` cannot be saved
    hint: save systems of components only, or replay the inputs of the process
    "
    );
}

#[test]
fn a_file_is_refused_when_cut_off_damaged_or_of_another_time() {
    let bytes = LINE.at(50).save().unwrap().to_bytes();
    let refusal = |bytes: &[u8]| Checkpoint::from_bytes(bytes).unwrap_err().to_string();
    let changed = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 3;
        bytes
    };
    let all = [
        refusal(b""),
        refusal(b"RON(...)"),
        refusal(&changed(8)),
        refusal(&bytes[..20]),
        refusal(&bytes[..bytes.len() - 1]).replace(&bytes.len().to_string(), "N"),
        refusal(&changed(60)),
        refusal(&changed(30)),
    ];
    insta::assert_snapshot!(all.join("\n").replace(&(bytes.len() - 1).to_string(), "N - 1"), @"
    not a checkpoint: wrong file header
    not a checkpoint: wrong file header
    the checkpoint has format 6, but this program reads format 5
    hint: resume it with the version of warpweave that wrote it
    the checkpoint is truncated: 20 of 52 bytes
    the checkpoint is truncated: N - 1 of N bytes
    the checkpoint is damaged: checksum mismatch
    the checkpoint is damaged: checksum mismatch
    ");
}

#[test]
fn a_file_that_cannot_be_written_leaves_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.wwc");
    let checkpoint = LINE.at(50).save().unwrap();
    checkpoint.write(&path, &7u64).unwrap();
    assert_eq!(
        Checkpoint::read::<u64>(&path, &Ledger::default()).unwrap(),
        (checkpoint.clone(), 7)
    );
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    let nowhere = folder.path().join("none/run.wwc");
    let error = checkpoint.write(&nowhere, &7u64).unwrap_err().to_string();
    assert!(error.contains("cannot write") && error.contains("none/run.wwc"));
    // A folder is in the way of the new name: the temporary file is gone again.
    let taken = folder.path().join("taken");
    std::fs::create_dir(&taken).unwrap();
    checkpoint.write(&taken, &7u64).unwrap_err();
    assert_eq!(folder.path().read_dir().unwrap().count(), 2);
}

#[test]
fn published_values_under_way_are_saved() {
    #[derive(Statistics)]
    struct Clocking(Published<u64>);
    impl Bundle for Clocking {
        fn ports(&mut self, ports: &mut Ports<'_>) {
            ports.published("value", &mut self.0);
        }
    }

    impl Component for Clocking {
        fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
            let cycle = ctx.cycle();
            self.0.publish(ctx, cycle * 10);
            Next::Busy
        }
    }

    impl Stateful for Clocking {
        fn state(&mut self, _: &mut State<'_>) {}
    }

    #[derive(Statistics)]
    struct Seeing(Observed<u64>, Vec<u64>);
    impl Bundle for Seeing {
        fn ports(&mut self, ports: &mut Ports<'_>) {
            ports.observed("value", &mut self.0);
        }
    }

    impl Component for Seeing {
        fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
            let value = self.0.get(ctx);
            if self.1.last() != Some(&value) {
                self.1.push(value);
            }
            Next::Message
        }
    }

    impl Stateful for Seeing {
        fn state(&mut self, state: &mut State<'_>) {
            state.field("seen", &mut self.1);
        }
    }

    let build = || {
        let mut bench = TestBench::new();
        bench.add("clocking", Clocking(Published::new(1)));
        for (number, latency) in [1, 7].into_iter().enumerate() {
            let name = format!("seeing[{number}]");
            bench.add(&name, Seeing(Observed::new(), Vec::new()));
            let link = Link::latency(latency);
            let to = format!("{name}.value");
            bench.builder().connect("clocking.value", to, link);
        }
        bench
    };
    TestBench::check_state(build, &[1, 5, 6, 30], 60);
}

#[test]
fn two_runs_part_at_the_cycle_and_component_that_slipped() {
    let slip = Line {
        slips_at: Some(400),
        ..LINE
    };
    assert_eq!(
        Divergence::find(&mut LINE.build(), &mut LINE.build(), Tick(999)),
        Ok(None)
    );
    for start in [0, 380] {
        let (mut right, mut wrong) = (LINE.at(start), slip.at(start));
        let parting = Divergence::find(&mut right, &mut wrong, Tick(999)).unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(parting.unwrap(), @"
            the two runs diverge at tick 400:
              `stage[1]` (Summing)
                sum: 10428396 | 10507002
              `stage[1].output -> stage[2].input` (channel)
                holds[1].message: 10428396 | 10507002
            ");
        }
    }
    // Too short a look finds nothing.
    let found = Divergence::find(&mut LINE.build(), &mut slip.build(), Tick(399));
    assert_eq!(found, Ok(None));
}

#[test]
fn systems_that_differ_from_the_start_say_so() {
    let (mut a, mut b) = (LINE.build(), Line { stages: 2, ..LINE }.build());
    let error = Divergence::find(&mut a, &mut b, Tick(10)).unwrap_err();
    assert!(
        error.to_string().contains("`stage[2]` (Summing)"),
        "{error}"
    );
    let slip = Line {
        slips_at: Some(20),
        ..LINE
    };
    let mut ahead = slip.at(30);
    let parting = Divergence::find(&mut LINE.at(30), &mut ahead, Tick(90)).unwrap();
    assert_eq!(parting.unwrap().tick, None);
}

fn hashes(simulation: &mut Simulation, ticks: &[u64]) -> Vec<u64> {
    let mut hasher = StateHasher::new();
    let hash = |tick: &u64| {
        run(simulation, *tick);
        hasher.hash(simulation).unwrap();
        hasher.rolling()
    };
    ticks.iter().map(hash).collect()
}

#[test]
fn hashes_show_a_slip_from_its_cycle_on_and_only_where_it_reached() {
    let slip = Line {
        slips_at: Some(400),
        ..LINE
    };
    let ticks = [0, 100, 399, 400, 401];
    let (right, wrong) = (
        hashes(&mut LINE.build(), &ticks),
        hashes(&mut slip.build(), &ticks),
    );
    assert_eq!(right[..3], wrong[..3]);
    assert!(right[3] != wrong[3] && right[4] != wrong[4]);
    let by_instance = |line: &Line| {
        let mut hasher = StateHasher::new();
        let mut simulation = line.at(400);
        hasher.hash(&mut simulation).unwrap();
        hasher.by_instance(&simulation)
    };
    let differ = by_instance(&LINE)
        .iter()
        .zip(by_instance(&slip))
        .map(|(a, b)| *a != b)
        .collect::<Vec<_>>();
    assert_eq!(differ, [false, false, true, false, false]);
}

/// Omits one field, or counts evaluations, which the contract check must detect.
#[derive(Default, Statistics)]
struct Careless {
    inner: Summing,
    forgets: bool,
    counts: bool,
    evaluations: u64,
}

impl Bundle for Careless {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        self.inner.ports(ports);
    }
}

impl Component for Careless {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        self.evaluations += 1;
        self.inner.evaluate(ctx)
    }
}

impl Stateful for Careless {
    fn state(&mut self, state: &mut State<'_>) {
        if !self.forgets {
            state.field("sum", &mut self.inner.sum);
        }
        if self.counts {
            state.field("evaluations", &mut self.evaluations);
        }
    }
}

fn careless(forgets: bool, counts: bool) -> impl Fn() -> TestBench {
    move || {
        let mut bench = TestBench::new();
        let component = Careless {
            forgets,
            counts,
            ..Careless::default()
        };
        bench.add("dut", component);
        let source = bench.source::<u64>("dut.input");
        bench.sink::<u64>("dut.output").stall_randomly(1, 6);
        (1..40).for_each(|n| source.send_at(n * 3, n));
        bench
    }
}

#[test]
fn the_contract_check_passes_a_component_that_keeps_it() {
    TestBench::check_state(careless(false, false), &[0, 17, 60], 200);
}

#[test]
#[should_panic(expected = "received[20][1]")]
fn the_contract_check_finds_a_forgotten_field() {
    TestBench::check_state(careless(true, false), &[60], 200);
}

#[test]
#[should_panic(expected = "evaluations: ")]
fn the_contract_check_finds_state_that_counts_evaluations() {
    TestBench::check_state(careless(false, true), &[60], 200);
}

fn options() -> impl Strategy<Value = EngineOptions> {
    let order = prop_oneof![Just(Order::Added), Just(Order::Shuffled { seed: 9 })];
    (order, any::<bool>()).prop_map(|(order, sleeping)| EngineOptions {
        order,
        sleeping,
        ..EngineOptions::default()
    })
}

proptest! {
    #[test]
    fn bytes_changed_anywhere_give_errors_and_no_panic(
        at in 0..4000usize,
        bit in 0..8u32,
        cut in prop::option::of(0..4000usize),
    ) {
        let mut bytes = LINE.at(70).save().unwrap().to_bytes();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        bytes.truncate(cut.unwrap_or(usize::MAX));
        prop_assert!(Checkpoint::from_bytes(&bytes).is_err());
    }

    #[test]
    fn hashes_go_on_after_loading_whatever_the_engine(
        cut in 1..6usize,
        saving in options(),
        loading in options(),
    ) {
        let ticks = [0, 13, 14, 40, 90, 91, 300];
        let expected = hashes(&mut LINE.build(), &ticks);
        let mut simulation = LINE.build();
        simulation.set_options(saving);
        let before = hashes(&mut simulation, &ticks[..cut]);
        let checkpoint = simulation.save().unwrap();
        let mut simulation = LINE.build();
        simulation.set_options(loading);
        simulation.load(&checkpoint).unwrap();
        let mut hasher = StateHasher::resuming(before[cut - 1]);
        prop_assert_eq!(&before[..], &expected[..cut]);
        for (tick, expected) in ticks.iter().zip(&expected).skip(cut) {
            run(&mut simulation, *tick);
            hasher.hash(&mut simulation).unwrap();
            prop_assert_eq!(hasher.rolling(), *expected);
        }
    }
}
