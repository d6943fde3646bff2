//! Test bench for components: scripted senders and recording receivers around a device under test.
//!
//! Cycle numbers are those of the device. The device can read a message *sent for* cycle `c` in its
//! evaluation of cycle `c`. A message *received in* cycle `c` left the device in its evaluation of
//! cycle `c`.
//!
//! ```
//! # use warpweave_framework::*;
//! # #[derive(Default, Ports, State, Statistics)]
//! # struct Increment { #[port] input: InPort<u64>, #[port] output: OutPort<u64> }
//! # impl Component for Increment {
//! #     fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
//! #         if self.input.peek(ctx).is_none() { return Next::Message; }
//! #         if !self.output.can_send(ctx) { return Next::Credit; }
//! #         let n = self.input.pop(ctx).unwrap();
//! #         self.output.send(ctx, n + 1);
//! #         Next::Busy
//! #     }
//! # }
//! let mut bench = TestBench::new();
//! bench.add("dut", Increment::default());
//! let input = bench.source::<u64>("dut.input");
//! let output = bench.sink::<u64>("dut.output");
//! input.send_at(5, 41);
//! bench.expect_at(&output, 5, &42);
//! bench.expect_nothing(&output, 10);
//! ```

mod sink;
mod source;

pub use sink::Sink;
pub use source::Source;

use std::fmt::Debug;

use crate::channel::{Link, Message};
use crate::checkpoint::{Checkpoint, Divergence, StateHasher};
use crate::component::Component;
use crate::engine::{EngineOptions, Order, Outcome, RunLimits, Simulation, SystemBuilder};
use crate::observe::InstanceStatistics;
use crate::time::{ClockId, Cycle, Frequency, Tick};

/// Cycles after which an expectation without a cycle times out.
const PATIENCE: Cycle = 100_000;

/// A system under test with its scripted environment.
pub struct TestBench {
    stage: Stage,
    clock: ClockId,
    period: u64,
    options: EngineOptions,
    /// Paths of the sources, which are woken when the script may have grown.
    sources: Vec<String>,
    source_numbers: Vec<usize>,
}

enum Stage {
    Building(SystemBuilder),
    Running(Box<Simulation>),
}

impl Default for TestBench {
    fn default() -> Self {
        Self::new()
    }
}

impl TestBench {
    /// Creates a bench with one clock of 1 GHz.
    pub fn new() -> Self {
        Self::with_clock(Frequency::new(1_000_000_000, 1).expect("not zero"))
    }

    /// Creates a bench with a clock of this frequency for sources, sinks and cycle numbers.
    pub fn with_clock(frequency: Frequency) -> Self {
        let mut builder = SystemBuilder::new();
        let clock = builder.clock("bench", frequency);
        Self {
            stage: Stage::Building(builder),
            clock,
            period: 1,
            options: EngineOptions::default(),
            sources: Vec::new(),
            source_numbers: Vec::new(),
        }
    }

    /// Sets evaluation order and sleeping; call before the first step.
    pub fn set_options(&mut self, options: EngineOptions) {
        self.options = options;
    }

    /// Returns the builder, for more clocks, instances and wires.
    ///
    /// # Panics
    /// Panics after the first step.
    pub fn builder(&mut self) -> &mut SystemBuilder {
        match &mut self.stage {
            Stage::Building(builder) => builder,
            Stage::Running(_) => panic!("the bench cannot be changed after its first step"),
        }
    }

    /// Returns the clock of the test bench.
    pub fn clock(&self) -> ClockId {
        self.clock
    }

    /// Adds a component on the clock of the bench.
    pub fn add(&mut self, path: &str, component: impl Component + 'static) {
        let clock = self.clock;
        self.builder().add(path, clock, component);
    }

    /// Attaches a scripted sender to input `address` (`instance.port`).
    pub fn source<T: Message + Clone>(&mut self, address: &str) -> Source<T> {
        let (source, component) = Source::new();
        let path = format!("bench source of {}", address.replace('.', " "));
        let clock = self.clock;
        self.builder().add(&path, clock, component);
        self.builder()
            .connect(format!("{path}.output"), address, Link::latency(1));
        self.sources.push(path);
        source
    }

    /// Attaches a recording receiver to output `address` (`instance.port`), with a wire of latency
    /// 1 that holds 2 messages.
    pub fn sink<T: Message + Clone>(&mut self, address: &str) -> Sink<T> {
        self.sink_behind(address, Link::latency(1))
    }

    /// Attaches a recording receiver to output `address` with a wire of these terms. Its `latency`
    /// must be 1, so that cycle numbers remain those of the device.
    pub fn sink_behind<T: Message + Clone>(&mut self, address: &str, link: Link) -> Sink<T> {
        assert_eq!(link.latency, 1, "a sink requires a wire of latency 1");
        let (sink, component) = Sink::new();
        let path = format!("bench sink of {}", address.replace('.', " "));
        let clock = self.clock;
        self.builder().add(&path, clock, component);
        self.builder()
            .connect(address, format!("{path}.input"), link);
        sink
    }

    /// Returns the simulation, elaborated at the first call.
    ///
    /// # Panics
    /// Panics if elaboration of the bench fails; the message lists the errors.
    pub fn simulation(&mut self) -> &mut Simulation {
        if let Stage::Building(builder) = &mut self.stage {
            let mut simulation = match std::mem::take(builder).elaborate() {
                Ok(simulation) => simulation,
                Err(errors) => panic!("the bench failed to elaborate:\n{errors}"),
            };
            simulation.set_options(self.options);
            self.period = simulation.time().period(0);
            let number = |path: &String| {
                simulation
                    .instances()
                    .position(|(p, _)| p == path)
                    .expect("the component was added by the bench")
            };
            self.source_numbers = self.sources.iter().map(number).collect();
            self.stage = Stage::Running(Box::new(simulation));
        }
        match &mut self.stage {
            Stage::Running(simulation) => simulation,
            Stage::Building(_) => unreachable!("elaborated above"),
        }
    }

    /// Returns the last cycle that has passed.
    pub fn cycle(&mut self) -> Cycle {
        let now = self.simulation().now().0;
        now / self.period
    }

    /// Advances the simulation by `cycles` cycles (the first step also evaluates cycle 0).
    ///
    /// # Panics
    /// Panics if a component reports a failure.
    pub fn step(&mut self, cycles: Cycle) {
        let until = Tick((self.cycle() + cycles) * self.period);
        self.run(until);
    }

    fn run(&mut self, until: Tick) {
        let numbers = std::mem::take(&mut self.source_numbers);
        let simulation = self.simulation();
        for number in &numbers {
            simulation.wake(*number);
        }
        if let Outcome::Failed(message) = simulation.pass_time(until) {
            panic!("{message}");
        }
        self.source_numbers = numbers;
    }

    /// Runs until no work is left and returns the outcome.
    ///
    /// # Panics
    /// Panics if work continues for more than 100 000 cycles, or if a component reports a failure.
    pub fn run_until_quiet(&mut self) -> Outcome {
        match self.run_for(PATIENCE) {
            Outcome::Limit => panic!("still busy after {PATIENCE} cycles"),
            Outcome::Failed(message) => panic!("{message}"),
            outcome => outcome,
        }
    }

    /// Runs until no work is left, but at most `cycles` cycles, and returns the outcome.
    pub fn run_for(&mut self, cycles: Cycle) -> Outcome {
        let until = Tick((self.cycle() + cycles) * self.period);
        let numbers = std::mem::take(&mut self.source_numbers);
        let simulation = self.simulation();
        for number in &numbers {
            simulation.wake(*number);
        }
        let outcome = simulation.run(&RunLimits {
            until: Some(until),
            ..RunLimits::default()
        });
        self.source_numbers = numbers;
        outcome
    }

    /// Expects the next message at `sink` to be `message` and to have left the device in `cycle`.
    ///
    /// The sink reads the message in `cycle + 1`, and that cycle has then passed. The device can
    /// read a message given to a source next in `cycle + 3` at the earliest.
    ///
    /// # Panics
    /// Panics if the message differs, comes in another cycle, or does not come.
    pub fn expect_at<T: Message + Clone + PartialEq + Debug>(
        &mut self,
        sink: &Sink<T>,
        cycle: Cycle,
        message: &T,
    ) {
        let last = cycle + 1;
        if self.cycle() < last {
            self.run(Tick(last * self.period));
        }
        match sink.take() {
            Some((at, got)) => assert_eq!(
                (at, &got),
                (cycle, message),
                "left: received, right: expected (cycle, message)"
            ),
            None => panic!("expected {message:?} in cycle {cycle}, received nothing"),
        }
    }

    /// Returns the next message at `sink`, in whichever cycle it arrives.
    ///
    /// # Panics
    /// Panics if no message arrives within 100 000 cycles.
    pub fn receive<T: Message + Clone + Debug>(&mut self, sink: &Sink<T>) -> (Cycle, T) {
        for _ in 0..PATIENCE {
            if let Some(received) = sink.take() {
                return received;
            }
            self.step(1);
        }
        panic!("received nothing within {PATIENCE} cycles");
    }

    /// Expects that nothing arrives at `sink` for `cycles` cycles from now.
    ///
    /// # Panics
    /// Panics if a message arrives.
    pub fn expect_nothing<T: Message + Clone + Debug>(&mut self, sink: &Sink<T>, cycles: Cycle) {
        self.step(cycles);
        if let Some((cycle, message)) = sink.take() {
            panic!("expected nothing, received {message:?} in cycle {cycle}");
        }
    }

    /// Checks the requirements on every component's state. `build` must create the same bench, with
    /// its traffic, at every call. A bench is saved at each of `cuts`, written to a file, read, and
    /// loaded into a fresh bench. It must end at `end` like an uninterrupted run. The state hash at
    /// each cut must be the same asleep, awake and shuffled.
    ///
    /// # Panics
    /// Panics if a requirement is violated; the message names the component and the field.
    pub fn check_state(build: impl Fn() -> Self, cuts: &[Cycle], end: Cycle) {
        let mut straight = build();
        let expected = straight.hashes_at(cuts);
        for cut in cuts {
            let checkpoint = build().simulation_at(*cut).save();
            let bytes = checkpoint.map_or_else(|error| panic!("{error}"), |c| c.to_bytes());
            let read = Checkpoint::from_bytes(&bytes);
            let read = read.unwrap_or_else(|error| panic!("{error}"));
            let mut resumed = build();
            if let Err(error) = resumed.simulation().load(&read) {
                panic!("{error}");
            }
            let what = format!("saved and loaded after cycle {cut}");
            same_state(
                straight.simulation_at(end),
                resumed.simulation_at(end),
                &what,
            );
        }
        for order in [Order::Added, Order::Shuffled { seed: 1 }] {
            for (sleeping, partitions) in [(true, 1), (false, 1), (true, 2)] {
                let options = EngineOptions {
                    order,
                    sleeping,
                    partitions,
                    ..EngineOptions::default()
                };
                Self::check_hashes(&build, cuts, &expected, options);
            }
        }
    }

    fn check_hashes(
        build: impl Fn() -> Self,
        cuts: &[Cycle],
        expected: &[u64],
        options: EngineOptions,
    ) {
        let with_options = || {
            let mut bench = build();
            bench.set_options(options);
            bench
        };
        let hashes = with_options().hashes_at(cuts);
        let differs = expected.iter().zip(&hashes).position(|(a, b)| a != b);
        if let Some(first) = differs {
            let (mut usual, mut other) = (build(), with_options());
            let pair = (
                usual.simulation_at(cuts[first]),
                other.simulation_at(cuts[first]),
            );
            let what = format!("with {options:?}, after cycle {}", cuts[first]);
            same_state(pair.0, pair.1, &what);
            panic!("{what}: the state hash differs");
        }
    }

    fn hashes_at(&mut self, cycles: &[Cycle]) -> Vec<u64> {
        let mut hasher = StateHasher::new();
        let mut hashes = Vec::new();
        for cycle in cycles {
            if let Err(error) = hasher.hash(self.simulation_at(*cycle)) {
                panic!("{error}");
            }
            hashes.push(hasher.rolling());
        }
        hashes
    }

    /// Returns the simulation, advanced past `cycle`.
    fn simulation_at(&mut self, cycle: Cycle) -> &mut Simulation {
        self.simulation();
        self.run(Tick(cycle * self.period));
        self.simulation()
    }

    /// Returns the statistics of the instance at `path`.
    ///
    /// # Panics
    /// Panics if the instance has none.
    pub fn statistics(&mut self, path: &str) -> InstanceStatistics {
        let all = self.simulation().statistics();
        all.into_iter()
            .find(|s| s.path == path)
            .expect("the instance must report statistics")
    }
}

/// Panics unless two systems of the same parts are in the same state and report the same.
fn same_state(a: &mut Simulation, b: &mut Simulation, what: &str) {
    match Divergence::find(a, b, Tick(0)) {
        Ok(None) => {}
        Ok(Some(parting)) => panic!("{what}:\n{parting}"),
        Err(error) => panic!("{error}"),
    }
    for (a, b) in a.statistics().iter().zip(&b.statistics()) {
        assert_eq!(a, b, "{what}");
    }
    for number in 0..a.instances().len() {
        assert_eq!(a.activity(number), b.activity(number), "{what}");
    }
}
