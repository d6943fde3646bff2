//! Tests of events, signals, processes and published values.

use std::cell::RefCell;
use std::rc::Rc;

use insta::assert_snapshot;
use warpweave_framework::{
    Bundle, Component, Context, EngineOptions, Link, Next, Observed, Order, Outcome, Ports,
    Published, RunLimits, Stateful, Statistics, SystemBuilder, Tick, World,
};

use crate::parts::{Drain, Flood, Log, Scripted, ghz, one_clock};

/// Lines written by processes, each with its time.
#[derive(Clone)]
pub(crate) struct Diary {
    pub(crate) world: World,
    pub(crate) lines: Rc<RefCell<Vec<String>>>,
}

impl Diary {
    pub(crate) fn of(world: &World) -> Self {
        Self {
            world: world.clone(),
            lines: Rc::default(),
        }
    }

    pub(crate) fn note(&self, line: impl std::fmt::Display) {
        let now = self.world.now().0;
        self.lines.borrow_mut().push(format!("{now} {line}"));
    }
}

/// Builds, runs to the end and returns the diary.
pub(crate) fn run(build: impl FnOnce(&mut SystemBuilder, &Diary)) -> Vec<String> {
    let (builder, diary) = prepare(build);
    let outcome = builder.elaborate().unwrap().run(&RunLimits::default());
    assert_eq!(outcome, Outcome::Done);
    diary.lines.take()
}

pub(crate) fn prepare(build: impl FnOnce(&mut SystemBuilder, &Diary)) -> (SystemBuilder, Diary) {
    let (mut builder, _) = one_clock();
    let diary = Diary::of(&builder.world());
    build(&mut builder, &diary);
    (builder, diary)
}

pub(crate) fn failure(build: impl FnOnce(&mut SystemBuilder, &Diary)) -> String {
    match prepare(build)
        .0
        .elaborate()
        .unwrap()
        .run(&RunLimits::default())
    {
        Outcome::Failed(message) => message,
        other => panic!("expected a failure, got {other:?}"),
    }
}

#[test]
fn timed_notifications_come_in_the_order_of_time_and_then_of_notification() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        for (name, delay) in [("late", 9000), ("a", 5), ("b", 5), ("soon", 1)] {
            let event = world.event(name);
            let diary = diary.clone();
            world.handler(name, &[&event], move || diary.note(name));
            event.notify_after(delay);
        }
    });
    assert_eq!(diary, ["1 soon", "5 a", "5 b", "9000 late"]);
}

#[test]
fn the_earlier_pending_notification_wins() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        let event = world.event("e");
        let inner = diary.clone();
        world.handler("h", &[&event], move || inner.note("e"));
        let (diary, w) = (diary.clone(), world.clone());
        world.process("p", async move {
            event.notify_after(10);
            event.notify_after(20); // Later than the pending one: ignored.
            event.notify_after(5); // Earlier: replaces it.
            w.ticks(50).await;
            event.notify_after(7);
            event.notify_delta(); // Earlier than any time.
            event.notify_after(3); // Ignored.
            w.ticks(50).await;
            event.notify_after(7);
            event.notify(); // Now; what was pending is cancelled.
            diary.note("after immediate");
            w.ticks(50).await;
            event.notify_after(7);
            event.cancel();
        });
    });
    assert_eq!(diary, ["5 e", "50 e", "100 after immediate", "100 e"]);
}

#[test]
fn a_cancelled_notification_does_not_keep_the_run_alive() {
    let (mut builder, _) = one_clock();
    let world = builder.world();
    let event = world.event("e");
    event.notify_after(1_000_000);
    event.cancel();
    let mut simulation = builder.elaborate().unwrap();
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(simulation.now(), Tick(0));
}

#[test]
fn methods_run_at_the_start_and_handlers_do_not() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        let event = world.event("e");
        let (one, two) = (diary.clone(), diary.clone());
        world.method("m", &[&event], move || one.note("method"));
        world.handler("h", &[&event], move || two.note("handler"));
        event.notify_after(3);
    });
    assert_eq!(diary, ["0 method", "3 method", "3 handler"]);
}

#[test]
fn a_signal_shows_its_old_value_until_the_update() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        let (a, b) = (world.signal("a", 1), world.signal("b", 2));
        let clock = world.event("clock");
        // Two registers that swap: the order of the two methods does not matter.
        for (from, to) in [(a.clone(), b.clone()), (b.clone(), a.clone())] {
            world.handler("swap", &[&clock], move || to.write(from.read()));
        }
        let diary = diary.clone();
        world.handler("watch", &[&a.changed().clone()], move || {
            diary.note(format!("a={} b={}", a.read(), b.read()));
        });
        world.process("clock", {
            let world = world.clone();
            async move {
                for _ in 0..3 {
                    world.ticks(10).await;
                    clock.notify();
                }
            }
        });
    });
    assert_eq!(diary, ["10 a=2 b=1", "20 a=1 b=2", "30 a=2 b=1"]);
}

#[test]
fn edges_are_notified_one_delta_cycle_after_the_write() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        let line = world.signal("line", false);
        for (name, event) in [("rose", line.posedge()), ("fell", line.negedge())] {
            let diary = diary.clone();
            world.handler(name, &[&event], move || diary.note(name));
        }
        let (w, diary) = (world.clone(), diary.clone());
        world.process("driver", async move {
            for value in [true, true, false] {
                line.write(value);
                diary.note(format!("wrote {value}, reads {}", line.read()));
                w.delta().await;
                w.ticks(1).await;
            }
            // Written back within the delta cycle: nothing changes.
            line.write(true);
            line.write(false);
        });
    });
    assert_eq!(
        diary,
        [
            "0 wrote true, reads false",
            "0 rose",
            "1 wrote true, reads true",
            "2 wrote false, reads true",
            "2 fell"
        ]
    );
}

#[test]
fn a_process_waits_for_any_and_for_all_events() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        let events = ["a", "b", "c"].map(|name| world.event(name));
        for (event, at) in events.iter().zip([30, 10, 20]) {
            event.notify_after(at);
        }
        let [a, b, c] = events;
        let (w, d, all) = (
            world.clone(),
            diary.clone(),
            [a.clone(), b.clone(), c.clone()],
        );
        world.process("any", async move {
            d.note(format!("any {}", w.any(&[&all[0], &all[1], &all[2]]).await));
            d.note(format!("any {}", w.any(&[&all[0], &all[2]]).await));
        });
        let (w, d) = (world.clone(), diary.clone());
        world.process("all", async move {
            w.all(&[&a, &b, &c]).await;
            d.note("all");
        });
    });
    assert_eq!(diary, ["10 any 1", "20 any 1", "30 all"]);
}

#[test]
fn a_process_counts_clock_cycles() {
    let mut builder = SystemBuilder::new();
    let slow = builder.clock("slow", ghz(2));
    builder.clock("fast", ghz(3));
    let world = builder.world();
    let diary = Diary::of(&world);
    let d = diary.clone();
    world.process("p", {
        let world = world.clone();
        async move {
            world.ticks(1).await;
            for cycles in [1, 1, 5] {
                world.cycles(slow, cycles).await;
                d.note(format!("cycle {}", world.cycle(slow)));
            }
        }
    });
    builder.elaborate().unwrap().run(&RunLimits::default());
    assert_eq!(diary.lines.take(), ["3 cycle 1", "6 cycle 2", "21 cycle 7"]);
}

#[test]
fn processes_that_notify_each_other_without_end_are_named() {
    let delta = failure(|builder, _| {
        let world = builder.world();
        world.set_delta_limit(100);
        let (ping, pong) = (world.event("ping"), world.event("pong"));
        let (to_pong, to_ping) = (pong.clone(), ping.clone());
        world.method("left", &[&ping], move || to_pong.notify_delta());
        world.handler("right", &[&pong], move || to_ping.notify_delta());
    });
    assert_snapshot!(delta, @"processes loop without advancing time at tick 0: more than 100 delta cycles; still runnable: `right`");
    let immediate = failure(|builder, _| {
        let world = builder.world();
        world.set_delta_limit(100);
        let (ping, pong) = (world.event("ping"), world.event("pong"));
        let (to_pong, to_ping) = (pong.clone(), ping.clone());
        world.method("left", &[&ping], move || to_pong.notify());
        world.handler("right", &[&pong], move || to_ping.notify());
    });
    assert_snapshot!(immediate, @"processes loop without advancing time at tick 0: more than 100 immediate notifications; still runnable: `left`");
}

#[test]
fn two_writers_of_a_signal_are_named() {
    let message = failure(|builder, _| {
        let world = builder.world();
        let line = world.signal("line", 0);
        for (name, value) in [("one", 1), ("two", 2)] {
            let line = line.clone();
            world.method(name, &[], move || line.write(value));
        }
    });
    assert_snapshot!(message, @"signal `line` is written by both `one` and `two`");
}

#[test]
fn a_process_receives_one_message_per_cycle_when_it_arrives() {
    let (mut builder, clock) = one_clock();
    builder.add("flood", clock, Flood::of(4, |n| n).0);
    let mut input = builder.process_input::<u64>("checker", clock);
    builder.connect("flood.output", "checker.input", Link::latency(3));
    let world = builder.world();
    let diary = Diary::of(&world);
    let d = diary.clone();
    world.process("checker", async move {
        for _ in 0..4 {
            d.note(input.recv().await);
        }
    });
    let mut simulation = builder.elaborate().unwrap();
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(diary.lines.take(), ["3 0", "4 1", "5 2", "6 3"]);
}

#[test]
fn a_process_sends_when_the_wire_takes_it() {
    let (mut builder, clock) = one_clock();
    let (drain, received) = Drain::<u64>::every(4);
    builder.add("drain", clock, drain);
    let mut output = builder.process_output::<u64>("driver", clock);
    builder.connect("driver.output", "drain.input", Link::latency(1).capacity(1));
    let world = builder.world();
    let diary = Diary::of(&world);
    let d = diary.clone();
    world.process("driver", async move {
        for n in 0..3 {
            output.send(n).await;
            d.note(n);
        }
    });
    let mut simulation = builder.elaborate().unwrap();
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(diary.lines.take(), ["1 0", "5 1", "9 2"]);
    assert_eq!(received.all(), [(4, 0), (8, 1), (12, 2)]);
}

/// Runs components with processes at both ends; returns all observations.
fn round_trip(options: EngineOptions) -> (Vec<String>, Vec<(u64, u64)>, Tick) {
    let mut builder = SystemBuilder::new();
    let (core, noc) = (builder.clock("core", ghz(3)), builder.clock("noc", ghz(2)));
    let world = builder.world();
    let diary = Diary::of(&world);
    let (drain, received) = Drain::<u64>::every(3);
    builder.add("drain", noc, drain);
    builder.add("flood", noc, Flood::of(30, |n| n).0);
    let mut relays = Vec::new();
    for i in 0..2 {
        let input = builder.process_input::<u64>(format!("in{i}"), core);
        let output = builder.process_output::<u64>(format!("out{i}"), [core, noc][i]);
        relays.push((input, output));
    }
    builder.connect("flood.output", "in0.input", Link::latency(1));
    builder.connect("out0.output", "in1.input", Link::latency(2));
    builder.connect("out1.output", "drain.input", Link::latency(1));
    for (i, (mut input, mut output)) in relays.into_iter().enumerate() {
        let (world, diary) = (world.clone(), diary.clone());
        builder.world().process(format!("relay{i}"), async move {
            loop {
                let message = input.recv().await;
                diary.note(format!("relay{i} {message}"));
                world.ticks(message % 5).await;
                output.send(message).await;
            }
        });
    }
    let mut simulation = builder.elaborate().unwrap();
    simulation.set_options(options);
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    let now = simulation.now();
    (diary.lines.take(), received.all(), now)
}

#[test]
fn processes_see_the_same_whatever_the_order_of_components() {
    let reference = round_trip(EngineOptions::default());
    assert_eq!(reference.1.len(), 30);
    for sleeping in [true, false] {
        for seed in 0..4 {
            let order = Order::Shuffled { seed };
            assert_eq!(
                reference,
                round_trip(EngineOptions {
                    order,
                    sleeping,
                    ..EngineOptions::default()
                })
            );
        }
    }
}

#[test]
fn waiting_processes_alone_are_no_deadlock_but_stand_in_its_report() {
    let build = |oblige: bool| {
        let (mut builder, clock) = one_clock();
        builder.add("idle", clock, Scripted::new([]).0);
        let world = builder.world();
        let (never, also) = (world.event("never"), world.event("also"));
        let w = world.clone();
        world.process("server", async move {
            if oblige {
                w.take_obligation();
            }
            w.any(&[&never, &also]).await;
        });
        builder.elaborate().unwrap().run(&RunLimits::default())
    };
    assert_eq!(build(false), Outcome::Done);
    let Outcome::Deadlock(report) = build(true) else {
        panic!("an obligation is open");
    };
    assert_snapshot!(report.to_string(), @r"
    no progress at tick 0 (0.000000000 s); last progress at tick 0; 1 obligations open
    waiting components:
        process server: waits for event `never` or `also`
    ");
}

#[test]
fn an_obligation_of_a_process_ends_the_run() {
    let (mut builder, clock) = one_clock();
    builder.add(
        "busy",
        clock,
        Scripted::new(std::iter::repeat_n(Next::Busy, 1000)).0,
    );
    let world = builder.world();
    let w = world.clone();
    world.process("test", async move {
        w.take_obligation();
        w.ticks(20).await;
        w.discharge_obligation();
    });
    let mut simulation = builder.elaborate().unwrap();
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(simulation.now(), Tick(20));
}

#[test]
fn a_world_run_in_pieces_is_the_same_run() {
    let whole = run(ticker);
    let (builder, diary) = prepare(ticker);
    let mut simulation = builder.elaborate().unwrap();
    for until in [0, 5, 7, 4300] {
        let limits = RunLimits {
            until: Some(Tick(until)),
            ..RunLimits::default()
        };
        assert_eq!(simulation.run(&limits), Outcome::Limit);
        assert_eq!(simulation.now(), Tick(until));
    }
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(diary.lines.take(), whole);
}

fn ticker(builder: &mut SystemBuilder, diary: &Diary) {
    let (world, diary) = (builder.world(), diary.clone());
    builder.world().process("ticker", async move {
        for delay in [7, 0, 4096, 1, 5000, 3] {
            world.ticks(delay).await;
            diary.note(delay);
        }
    });
}

#[test]
fn a_bench_may_notify_and_write_between_runs() {
    for sleeping in [true, false] {
        let (mut builder, clock) = one_clock();
        builder.add("timer", clock, Scripted::new([Next::Until(100)]).0);
        let world = builder.world();
        let diary = Diary::of(&world);
        let line = world.signal("line", 0);
        let (d, l) = (diary.clone(), line.clone());
        world.handler("watch", &[&line.changed().clone()], move || {
            d.note(l.read());
        });
        let mut simulation = builder.elaborate().unwrap();
        simulation.set_options(EngineOptions {
            sleeping,
            ..EngineOptions::default()
        });
        let limits = RunLimits {
            until: Some(Tick(40)),
            ..RunLimits::default()
        };
        assert_eq!(simulation.run(&limits), Outcome::Limit);
        line.write(7);
        assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
        assert_eq!(diary.lines.take(), ["40 7"]);
    }
}

#[test]
fn the_end_of_a_system_frees_its_processes() {
    let witness = Rc::new(());
    let (mut builder, _) = one_clock();
    let world = builder.world();
    let (event, inner) = (world.event("never"), Rc::clone(&witness));
    world.process("p", async move {
        event.wait().await;
        drop(inner);
    });
    let mut simulation = builder.elaborate().unwrap();
    simulation.run(&RunLimits::default());
    drop(simulation);
    assert_eq!(Rc::strong_count(&witness), 1);
}

/// Publishes its cycle number every `every` cycles, `count` times.
#[derive(Statistics)]
struct Announcer {
    mode: Published<u64>,
    every: u64,
    count: u64,
}

impl Bundle for Announcer {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.published("mode", &mut self.mode);
    }
}

impl Component for Announcer {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if ctx.cycle() > self.every * self.count {
            return Next::Idle;
        }
        if ctx.cycle().is_multiple_of(self.every) {
            let cycle = ctx.cycle();
            self.mode.publish(ctx, cycle);
        }
        Next::Until((ctx.cycle() / self.every + 1) * self.every)
    }
}

impl Stateful for Announcer {}

#[derive(Statistics)]
struct Watcher {
    mode: Observed<u64>,
    seen: u64,
    log: Log<(u64, u64)>,
}

impl Bundle for Watcher {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.observed("mode", &mut self.mode);
    }
}

impl Component for Watcher {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let mode = self.mode.get(ctx);
        if mode != self.seen {
            self.seen = mode;
            self.log.push((ctx.now().0, mode));
        }
        Next::Message
    }
}

impl Stateful for Watcher {}

#[test]
fn a_published_value_reaches_every_reader_after_its_own_latency() {
    for sleeping in [true, false] {
        for order in [Order::Added, Order::Shuffled { seed: 3 }] {
            let (mut builder, clock) = one_clock();
            let announcer = Announcer {
                mode: Published::new(0),
                every: 2,
                count: 3,
            };
            builder.add("announcer", clock, announcer);
            let mut logs = Vec::new();
            for (i, latency) in [1, 5].into_iter().enumerate() {
                let log = Log::default();
                let watcher = Watcher {
                    mode: Observed::new(),
                    seen: 0,
                    log: log.clone(),
                };
                builder.add(format!("w{i}"), clock, watcher);
                builder.connect(
                    "announcer.mode",
                    format!("w{i}.mode"),
                    Link::latency(latency),
                );
                logs.push(log);
            }
            let mut simulation = builder.elaborate().unwrap();
            simulation.set_options(EngineOptions {
                order,
                sleeping,
                ..EngineOptions::default()
            });
            assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
            assert_eq!(logs[0].all(), [(3, 2), (5, 4), (7, 6)]);
            assert_eq!(logs[1].all(), [(7, 2), (9, 4), (11, 6)]);
        }
    }
}
