//! Environment of a device under contract: traffic, receivers, a responding memory.

use std::fmt::Debug;
use std::sync::Arc;

use parking_lot::Mutex;
use warpweave_random::CounterRng;

use crate::channel::{Bundle, Link, Message, Ports};
use crate::checkpoint::Checkpoint;
use crate::component::Component;
use crate::engine::{EngineOptions, Outcome, Simulation, TapError};
use crate::evaluation::{Context, Next};
use crate::observe::{InstanceStatistics, Instrumented};
use crate::state::{State, Stateful};
use crate::test_bench::{Sink, Source, TestBench};
use crate::time::Cycle;
use crate::verify::exchange::Exchange;
use crate::verify::responder::{Plain, Respond, Responder};
use crate::verify::rule::Rule;
use crate::verify::scoreboard::{Matching, Scoreboard};
use crate::verify::violation::{Check, Checks};
use crate::verify::watch::{Observed, Watch};

/// Traffic and back-pressure of the environment in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Seed that determines all random choices.
    pub seed: u64,
    /// Number of messages offered at each driven port.
    pub messages: u64,
    /// Maximum number of idle cycles between two messages, and of cycles until a request is
    /// answered.
    pub gap: u64,
    /// Sixteenths of all cycles in which receivers take nothing, up to 15.
    pub stall: u32,
    /// Longest stall of a port, in cycles, in runs that stall every port.
    pub longest: u64,
    /// Number of messages that fit into the wire to a receiver.
    pub room: u32,
}

impl Traffic {
    /// Creates traffic of `messages` at full rate into receivers that are always ready.
    pub fn calm(messages: u64) -> Self {
        Self {
            seed: 0,
            messages,
            gap: 0,
            stall: 0,
            longest: 1,
            room: 4,
        }
    }

    /// Creates case number `case` for `seed`; the first cases are the calmest.
    pub fn nth(seed: u64, case: u64) -> Self {
        let dice = CounterRng::new(seed, "traffic");
        let pick = |what: u64, n: u64| dice.below(case * 8 + what, n);
        if case == 0 {
            return Self::calm(16);
        }
        Self {
            seed: pick(0, 1 << 32),
            messages: 1 + pick(1, 64),
            gap: pick(2, 8),
            stall: pick(3, 13) as u32,
            longest: 1 + pick(4, 8),
            room: 1 + pick(5, 4) as u32,
        }
    }

    /// Returns simpler variants of this traffic, the simplest first.
    pub(crate) fn simpler(self) -> Vec<Self> {
        let mut list = Vec::new();
        let mut vary = |simpler: bool, traffic: Self| {
            if simpler {
                list.push(traffic);
            }
        };
        for messages in [
            1,
            self.messages / 4,
            self.messages / 2,
            self.messages.saturating_sub(1),
        ] {
            vary(
                (1..self.messages).contains(&messages),
                Self { messages, ..self },
            );
        }
        for gap in [0, self.gap / 2, self.gap.saturating_sub(1)] {
            vary(gap < self.gap, Self { gap, ..self });
        }
        for stall in [0, self.stall / 2, self.stall.saturating_sub(1)] {
            vary(stall < self.stall, Self { stall, ..self });
        }
        for longest in [1, self.longest / 2, self.longest.saturating_sub(1)] {
            let in_range = (1..self.longest).contains(&longest);
            vary(in_range, Self { longest, ..self });
        }
        vary(self.room < 4, Self { room: 4, ..self });
        for seed in [0, self.seed / 2] {
            vary(seed < self.seed, Self { seed, ..self });
        }
        list
    }
}

/// A bench that is built anew for every run of a [`super::Contract`].
pub struct Rig {
    bench: TestBench,
    traffic: Traffic,
    observed: Vec<(String, Arc<Mutex<Observed>>)>,
    drives: Vec<Box<dyn Fn() -> usize>>,
    logs: Vec<Log>,
    set_up: Vec<SetUp>,
    checks: Checks,
    pub(crate) stalled: bool,
}

type SetUp = Box<dyn FnOnce(&mut Simulation) -> Result<Arc<dyn Check>, TapError>>;
type Collect = Box<dyn Fn() -> (Vec<(Cycle, String)>, Result<(), String>)>;

struct Log {
    port: String,
    collect: Collect,
}

/// Results of one run of a rig.
pub(crate) struct Seen {
    pub(crate) traffic: Traffic,
    pub(crate) outcome: Result<(), (Rule, String)>,
    /// Number of messages offered but never accepted.
    pub(crate) pending: usize,
    /// Verdict of the scoreboards and checkers.
    pub(crate) judged: Result<(), String>,
    pub(crate) logs: Vec<(String, Vec<(Cycle, String)>)>,
    pub(crate) statistics: Vec<InstanceStatistics>,
    pub(crate) observed: Vec<(String, Observed)>,
}

impl Rig {
    pub(crate) fn new(traffic: Traffic, options: EngineOptions, stalled: bool) -> Self {
        let mut bench = TestBench::new();
        bench.set_options(options);
        Self {
            bench,
            traffic,
            observed: Vec::new(),
            drives: Vec::new(),
            logs: Vec::new(),
            set_up: Vec::new(),
            checks: Checks::new(),
            stalled,
        }
    }

    /// Returns the traffic parameters of this run.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Returns the bench, for clocks, wires and instances that are not under contract.
    pub fn bench(&mut self) -> &mut TestBench {
        &mut self.bench
    }

    /// Adds a component that is under contract.
    pub fn add(&mut self, path: &str, component: impl Component + 'static) {
        let observed = Arc::<Mutex<Observed>>::default();
        self.observed.push((path.to_owned(), Arc::clone(&observed)));
        self.bench.add(path, Watch::new(path, component, observed));
    }

    /// Offers messages number 0, 1, … of `message` at input `port`.
    pub fn drive<T: Message + Clone>(&mut self, port: &str, message: impl Fn(u64) -> T) {
        let times = self.times(port).into_iter();
        let messages = times.zip(0..).map(|(cycle, n)| (cycle, message(n)));
        self.drive_at(port, messages.collect());
    }

    /// Offers these messages at input `port`, each from its cycle on; cycles must ascend.
    pub fn drive_at<T: Message + Clone>(&mut self, port: &str, messages: Vec<(Cycle, T)>) {
        let source: Source<T> = self.bench.source(port);
        for (cycle, message) in messages {
            source.send_at(cycle, message);
        }
        self.drives.push(Box::new(move || source.pending()));
    }

    /// Returns the cycles from which [`Rig::drive`] offers the messages of a port of this name.
    pub fn times(&self, port: &str) -> Vec<Cycle> {
        let dice = CounterRng::new(self.traffic.seed, port);
        let mut cycle = 1;
        let mut next = |n| {
            cycle += dice.below(n, self.traffic.gap + 1);
            cycle
        };
        (0..self.traffic.messages).map(&mut next).collect()
    }

    /// Puts a component `dut` under contract that forwards messages from `input` to `output`:
    /// messages number 0, 1, … of `message`, in order.
    pub fn relay<T: Message + Clone + PartialEq + Debug>(
        &mut self,
        component: impl Component + 'static,
        input: &str,
        output: &str,
        message: impl Fn(u64) -> T,
    ) {
        self.add("dut", component);
        self.drive(&format!("dut.{input}"), &message);
        self.expect(&format!("dut.{output}"), Matching::InOrder, &message);
    }

    fn receiver<T: Message + Clone>(&mut self, port: &str) -> Sink<T> {
        let link = Link::latency(1).capacity(self.traffic.room);
        let sink = self.bench.sink_behind(port, link);
        sink.stall_randomly(self.traffic.seed, self.traffic.stall);
        sink
    }

    /// Receives all messages at output `port`, without checking them.
    pub fn drain<T: Message + Clone + Debug>(&mut self, port: &str) {
        let sink = self.receiver::<T>(port);
        self.log(port, move || {
            let all = sink.take_all();
            let text = all.iter().map(|(cycle, m)| (*cycle, format!("{m:?}")));
            (text.collect(), Ok(()))
        });
    }

    /// Expects messages number 0, 1, … of `message` at output `port`, each exactly once.
    pub fn expect<T: Message + Clone + PartialEq + Debug>(
        &mut self,
        port: &str,
        matching: Matching<T>,
        message: impl Fn(u64) -> T,
    ) {
        let messages = (0..self.traffic.messages).map(message).collect();
        self.expect_all(port, matching, messages);
    }

    /// Expects `messages` at output `port`, each exactly once.
    pub fn expect_all<T: Message + Clone + PartialEq + Debug>(
        &mut self,
        port: &str,
        matching: Matching<T>,
        messages: Vec<T>,
    ) {
        let sink = self.receiver::<T>(port);
        let name = port.to_owned();
        self.log(port, move || {
            let board = Scoreboard::new(&name, matching);
            for message in &messages {
                board.expect(0, message.clone());
            }
            let all = sink.take_all();
            let mut judged = Ok(());
            for (cycle, message) in &all {
                judged = judged.and_then(|()| board.actual(*cycle, message));
            }
            let judged = judged.and_then(|()| board.finish());
            let text = all.iter().map(|(cycle, m)| (*cycle, format!("{m:?}")));
            (text.collect(), judged)
        });
    }

    fn log(
        &mut self,
        port: &str,
        collect: impl Fn() -> (Vec<(Cycle, String)>, Result<(), String>) + 'static,
    ) {
        self.logs.push(Log {
            port: port.to_owned(),
            collect: Box::new(collect),
        });
    }

    /// Answers the requests of output `request_port` at input `answer_port`. Each reply takes a
    /// random time; replies are out of order except where [`Exchange::order`] requires order.
    pub fn answer<Q: Exchange>(
        &mut self,
        request_port: &str,
        answer_port: &str,
        answer: impl Fn(&Q) -> Q::Answer + Send + 'static,
    ) {
        self.answer_with(request_port, answer_port, Plain(answer));
    }

    /// Answers requests like [`Rig::answer`], with a responder that keeps state.
    pub fn answer_with<Q: Exchange>(
        &mut self,
        request_port: &str,
        answer_port: &str,
        respond: impl Respond<Q>,
    ) {
        let path = format!("bench answers of {}", request_port.replace('.', " "));
        let dice = CounterRng::new(self.traffic.seed, request_port);
        let responder = Responder::new(respond, dice, self.traffic.gap * 4 + 1);
        self.bench.add(&path, responder);
        let link = Link::latency(1).capacity(self.traffic.room);
        let builder = self.bench.builder();
        builder.connect(request_port, format!("{path}.requests"), link);
        builder.connect(format!("{path}.answers"), answer_port, link);
    }

    /// Adds a checker to the elaborated system.
    pub fn check(
        &mut self,
        set_up: impl FnOnce(&mut Simulation) -> Result<Arc<dyn Check>, TapError> + 'static,
    ) {
        self.set_up.push(Box::new(set_up));
    }

    /// Adds a checker that bounds times or order of service, for runs in which ports are not
    /// stalled.
    pub fn check_timing(
        &mut self,
        set_up: impl FnOnce(&mut Simulation) -> Result<Arc<dyn Check>, TapError> + 'static,
    ) {
        if !self.stalled {
            self.check(set_up);
        }
    }

    /// Keeps a run without sleeping going when no component is awake any more, which reveals
    /// components that oversleep.
    pub(crate) fn linger(&mut self) {
        self.bench.add("bench metronome", Metronome);
    }

    /// Runs for `cycles` and saves; returns `None` if a component does not describe its state.
    pub(crate) fn save_after(mut self, cycles: Cycle) -> Option<Checkpoint> {
        self.bench.run_for(cycles);
        self.bench.simulation().save().ok()
    }

    /// Resumes from the checkpoint of another rig. Checkers have not seen the messages before it.
    pub(crate) fn resume(mut self, checkpoint: &Checkpoint) -> Result<Seen, String> {
        self.set_up.clear();
        let loaded = self.bench.simulation().load(checkpoint);
        loaded.map_err(|error| error.to_string())?;
        Ok(self.run())
    }

    pub(crate) fn run(mut self) -> Seen {
        let traffic = self.traffic;
        let simulation = self.bench.simulation();
        for set_up in self.set_up.drain(..) {
            match set_up(simulation) {
                Ok(check) => self.checks.add(check),
                Err(error) => panic!("the contract names a port that does not exist: {error}"),
            }
        }
        if self.stalled {
            let (stall, longest) = (traffic.stall.max(2), traffic.longest);
            simulation.stall(traffic.seed, stall, longest, |_| true);
        }
        let patience = 20_000 + traffic.messages * 400;
        let outcome = match self.bench.run_for(patience) {
            Outcome::Done => Ok(()),
            Outcome::Deadlock(report) => Err((Rule::Completion, report.to_string())),
            Outcome::Failed(message) => Err((Rule::Protocol, message)),
            _ => {
                let message = format!("still busy after {patience} cycles");
                Err((Rule::Completion, message))
            }
        };
        let statistics = self.bench.simulation().statistics();
        let mut judged = Ok(());
        let mut logs = Vec::new();
        for log in &self.logs {
            let (list, judgement) = (log.collect)();
            judged = judged.and(judgement);
            logs.push((log.port.clone(), list));
        }
        let of = |(path, observed): &(String, Arc<Mutex<Observed>>)| {
            (path.clone(), std::mem::take(&mut *observed.lock()))
        };
        Seen {
            traffic,
            outcome,
            pending: self.drives.iter().map(|pending| pending()).sum(),
            judged: judged.and_then(|()| self.checks.finish()),
            logs,
            statistics,
            observed: self.observed.iter().map(of).collect(),
        }
    }
}

/// Component that is awake in every cycle for some time.
struct Metronome;

impl Bundle for Metronome {
    fn ports(&mut self, _: &mut Ports<'_>) {}
}

impl Component for Metronome {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        const CYCLES: Cycle = 5_000;
        if ctx.cycle() < CYCLES {
            Next::Busy
        } else {
            Next::Idle
        }
    }
}

impl Stateful for Metronome {
    fn state(&mut self, _: &mut State<'_>) {}
}

impl Instrumented for Metronome {}
