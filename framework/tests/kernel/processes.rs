//! Tests of processes: triggers, background, ends, clocks, resets, and time bounds of waits.

use std::cell::Cell;
use std::rc::Rc;

use insta::assert_snapshot;
use warpweave_framework::{
    EngineOptions, LocalTime, Next, Order, Outcome, QueueKind, Reset, RunLimits, SystemBuilder,
    Tick, Trigger,
};

use crate::events::{Diary, failure, prepare, run};
use crate::parts::{Scripted, ghz, one_clock};

fn until(tick: u64) -> RunLimits {
    RunLimits {
        until: Some(Tick(tick)),
        ..RunLimits::default()
    }
}

#[test]
fn a_next_trigger_stands_for_the_sensitivity_once() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        let (a, b) = (world.event("a"), world.event("b"));
        let mut turn = 0;
        let (d, w, on_b) = (diary.clone(), world.clone(), b.clone());
        world.method("m", &[&a], move || {
            d.note(turn);
            match turn {
                0 => w.next_trigger(Trigger::after(7)),
                1 => w.next_trigger(Trigger::any(&[&on_b])),
                2 => w.next_trigger(Trigger::any(&[&on_b]).or_after(4)),
                _ => {}
            }
            turn += 1;
        });
        world.process("driver", async move {
            let world = a;
            for _ in 0..5 {
                world.notify();
                world.notify_after(3);
                world.wait().await;
            }
            b.notify();
        });
    });
    // At 3 and 6 `a` finds a time in its place, at 9 to 15 the event `b`. The bound of the third is
    // 19; nothing is notified after that.
    assert_eq!(diary, ["0 0", "7 1", "15 2", "19 3"]);
}

#[test]
fn the_last_next_trigger_of_a_run_counts_and_the_others_are_cancelled() {
    let (builder, diary) = prepare(|builder, diary| {
        let (world, diary) = (builder.world(), diary.clone());
        let never = world.event("never");
        let mut first = true;
        let w = world.clone();
        world.method("m", &[], move || {
            diary.note("run");
            if std::mem::take(&mut first) {
                w.next_trigger(Trigger::after(1000));
                w.next_trigger(Trigger::any(&[&never]));
                w.next_trigger(Trigger::after(5));
            }
        });
    });
    let mut simulation = builder.elaborate().unwrap();
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(simulation.now(), Tick(5));
    assert_eq!(diary.lines.take(), ["0 run", "5 run"]);
}

#[test]
fn a_method_that_sets_off_its_own_next_trigger_runs_again() {
    let diary = run(|builder, diary| {
        let (world, diary) = (builder.world(), diary.clone());
        let event = world.event("e");
        let mut first = true;
        let w = world.clone();
        world.method("m", &[], move || {
            diary.note("run");
            if std::mem::take(&mut first) {
                w.next_trigger(Trigger::any(&[&event]));
                event.notify();
            }
        });
    });
    assert_eq!(diary, ["0 run", "0 run"]);
}

#[test]
fn a_process_has_no_next_trigger() {
    let message = failure(|builder, _| {
        let world = builder.world();
        let w = world.clone();
        world.process("p", async move { w.next_trigger(Trigger::after(1)) });
    });
    assert_snapshot!(message, @"`p` sets a next trigger, but only methods have one");
}

#[test]
fn a_bounded_wait_gives_up_and_leaves_nothing_behind() {
    let (builder, diary) = prepare(|builder, diary| {
        let (world, diary) = (builder.world(), diary.clone());
        let event = world.event("e");
        let w = world.clone();
        world.process("p", async move {
            diary.note(format!("{:?}", w.within(5, event.wait()).await));
            event.notify_after(3);
            // The bound is far in the future and is cancelled with the wait.
            diary.note(format!("{:?}", w.within(100_000, event.wait()).await));
            event.notify_after(4);
            // At the last moment is in time.
            diary.note(format!("{:?}", w.within(4, event.wait()).await));
            diary.note(format!("{:?}", w.within(0, w.ticks(1)).await));
        });
    });
    let mut simulation = builder.elaborate().unwrap();
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(
        diary.lines.take(),
        ["5 None", "8 Some(())", "12 Some(())", "12 None"]
    );
    assert_eq!(simulation.now(), Tick(12));
}

#[test]
fn background_processes_run_on_the_way_and_keep_nothing_alive() {
    for sleeping in [true, false] {
        for foreground in [1, 25, 5000] {
            let (mut builder, clock) = one_clock();
            builder.add("timer", clock, Scripted::new([Next::Until(foreground)]).0);
            let world = builder.world();
            let (count, seen) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
            let (w, c) = (world.background(), count.clone());
            world.background().process("monitor", async move {
                loop {
                    w.ticks(10).await;
                    c.set(c.get() + 1);
                }
            });
            // A method's notifications are in the background too.
            let (tick, s) = (world.event("tick"), seen.clone());
            world
                .background()
                .method("pulse", &[&tick.clone()], move || {
                    s.set(s.get() + 1);
                    tick.notify_after(5);
                });
            let mut simulation = builder.elaborate().unwrap();
            simulation.set_options(EngineOptions {
                sleeping,
                ..EngineOptions::default()
            });
            assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
            assert_eq!(count.get(), foreground / 10);
            assert_eq!(seen.get(), 1 + foreground / 5);
            assert_eq!(simulation.now(), Tick(foreground));
        }
    }
}

#[test]
fn a_notification_that_somebody_else_wants_too_keeps_the_run_alive() {
    let (builder, diary) = prepare(|builder, diary| {
        let world = builder.world();
        let event = world.event("e");
        let d = diary.clone();
        world.handler("h", &[&event], move || d.note("e"));
        let e = event.clone();
        world
            .background()
            .process("b", async move { e.notify_after(10) });
        // Later than the one in the background, which stays.
        world.process("f", async move { event.notify_after(20) });
    });
    let mut simulation = builder.elaborate().unwrap();
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    assert_eq!(diary.lines.take(), ["10 e"]);
}

#[test]
fn killed_and_returned_processes_are_joined() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        let w = world.clone();
        let short = world.process("short", async move { w.ticks(3).await });
        let w = world.clone();
        let long = world.process("long", async move { w.ticks(1_000_000).await });
        let method = world.method("method", &[], || {});
        let (d, w) = (diary.clone(), world.clone());
        world.process("main", async move {
            short.join().await;
            d.note(format!("{} {}", short.name(), short.has_ended()));
            w.ticks(5).await;
            d.note(format!("{} {}", long.name(), long.has_ended()));
            long.kill();
            method.kill();
            long.join().await;
            d.note(format!("{} {}", long.name(), long.has_ended()));
        });
    });
    // Nothing is left of the long wait: the run ends.
    assert_eq!(diary, ["3 short true", "8 long false", "8 long true"]);
}

#[test]
fn a_process_that_kills_itself_runs_to_its_next_wait() {
    let diary = run(|builder, diary| {
        let (world, diary) = (builder.world(), diary.clone());
        let me = Rc::new(Cell::new(None::<warpweave_framework::Process>));
        let (w, mine) = (world.clone(), me.clone());
        let process = world.process("p", async move {
            w.ticks(2).await;
            mine.take().unwrap().kill();
            diary.note("still here");
            w.ticks(2).await;
            diary.note("never");
        });
        me.set(Some(process));
    });
    assert_eq!(diary, ["2 still here"]);
}

#[test]
fn scopes_make_hierarchical_names() {
    let (mut builder, _) = one_clock();
    let core = builder.world().scope("gpu").scope("core[1]");
    assert_eq!(core.signal("pc", 0u32).name(), "gpu.core[1].pc");
    assert_eq!(core.method("fetch", &[], || {}).name(), "gpu.core[1].fetch");
}

#[test]
fn a_clock_signal_has_the_edges_of_its_clock() {
    let mut builder = SystemBuilder::new();
    let slow = builder.clock("slow", ghz(2));
    builder.clock("fast", ghz(12));
    let world = builder.world();
    let diary = Diary::of(&world);
    let clock = world.clock("clk", slow);
    for (name, event) in [("rise", clock.posedge()), ("fall", clock.negedge())] {
        let (d, w) = (diary.clone(), world.clone());
        world.handler(name, &[event], move || {
            d.note(format!("{name} {}", w.cycle(slow)));
        });
    }
    let mut simulation = builder.elaborate().unwrap();
    assert_eq!(simulation.run(&until(13)), Outcome::Limit);
    assert_eq!(
        diary.lines.take(),
        ["0 rise 0", "3 fall 0", "6 rise 1", "9 fall 1", "12 rise 2"]
    );
}

#[test]
fn a_clock_of_one_tick_is_refused_with_a_way_out() {
    let message = failure(|builder, _| {
        let fastest = builder.clock("fastest", ghz(5));
        builder.world().clock("clk", fastest);
    });
    assert_snapshot!(message, @"clock `clk` has a period of one tick, which cannot be halved; add a clock of twice its frequency");
}

/// Runs a counter with a reset from 20 to 47, under a clock of ten ticks.
fn counter(asynchronous: bool) -> Vec<String> {
    let mut builder = SystemBuilder::new();
    let core = builder.clock("core", ghz(1));
    builder.clock("fine", ghz(10));
    let world = builder.world();
    let diary = Diary::of(&world);
    let clock = world.clock("clk", core);
    let reset = world.signal("reset", false);
    let (ticks, d, clk) = (clock.clone(), diary.clone(), clock.posedge().clone());
    let on = if asynchronous {
        Reset::asynchronous(&reset, true)
    } else {
        Reset::synchronous(&reset, true)
    };
    world.clocked("counter", &clk, Some(on), move || {
        let (ticks, d) = (ticks.clone(), d.clone());
        async move {
            d.note("reset");
            let mut count = 0;
            loop {
                // A reset in the middle of these two cycles is not missed.
                ticks.edges(2).await;
                count += 1;
                d.note(count);
            }
        }
    });
    let w = world.clone();
    world.process("driver", async move {
        w.ticks(45).await;
        reset.write(true);
        w.ticks(17).await;
        reset.write(false);
        w.ticks(40).await;
        w.stop();
    });
    let outcome = builder.elaborate().unwrap().run(&RunLimits::default());
    assert_eq!(outcome, Outcome::Done);
    diary.lines.take()
}

#[test]
fn a_synchronous_reset_acts_at_every_edge_while_it_is_active() {
    assert_eq!(
        counter(false),
        [
            "0 reset", "20 1", "40 2", "50 reset", "60 reset", "80 1", "100 2"
        ]
    );
}

#[test]
fn an_asynchronous_reset_acts_at_once() {
    assert_eq!(
        counter(true),
        [
            "0 reset", "20 1", "40 2", "45 reset", "50 reset", "60 reset", "80 1", "100 2"
        ]
    );
}

#[test]
fn a_stopped_run_goes_on_where_it_was() {
    let (builder, diary) = prepare(|builder, diary| {
        let (world, diary) = (builder.world(), diary.clone());
        let w = world.clone();
        world.process("p", async move {
            for _ in 0..3 {
                w.ticks(4).await;
                diary.note("stop");
                w.stop();
            }
        });
    });
    let mut simulation = builder.elaborate().unwrap();
    for stop in [4, 8, 12] {
        assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
        assert_eq!(simulation.now(), Tick(stop));
    }
    assert_eq!(diary.lines.take(), ["4 stop", "8 stop", "12 stop"]);
}

#[test]
fn a_process_ahead_of_time_waits_when_its_quantum_is_used_up() {
    let diary = run(|builder, diary| {
        let (world, diary) = (builder.world(), diary.clone());
        let mut time = LocalTime::new(&world, 100);
        world.process("p", async move {
            for _ in 0..6 {
                time.advance(40);
                time.sync_if_due().await;
                diary.note(format!("{} {}", time.now().0, time.ahead()));
            }
            time.sync().await;
            diary.note("end");
        });
    });
    assert_eq!(
        diary,
        [
            "0 40 40",
            "0 80 80",
            "120 120 0",
            "120 160 40",
            "120 200 80",
            "240 240 0",
            "240 end"
        ]
    );
}

#[test]
fn the_queue_can_be_changed_while_notifications_are_pending() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        for (name, delay) in [("late", 9000), ("a", 50), ("b", 50), ("soon", 1)] {
            let (event, diary, w) = (world.event(name), diary.clone(), world.clone());
            world.handler(name, &[&event], move || {
                diary.note(name);
                w.set_queue(if name == "soon" {
                    QueueKind::Sorted
                } else {
                    QueueKind::Wheel
                });
            });
            event.notify_after(delay);
        }
    });
    assert_eq!(diary, ["1 soon", "50 a", "50 b", "9000 late"]);
}

#[test]
fn sleeping_changes_nothing_for_background_processes_beside_components() {
    let trace = |order, sleeping| {
        let (mut builder, clock) = one_clock();
        builder.add(
            "timer",
            clock,
            Scripted::new([Next::Until(33), Next::Busy]).0,
        );
        let world = builder.world();
        let diary = Diary::of(&world);
        let (w, d) = (world.background(), diary.clone());
        world.background().process("monitor", async move {
            loop {
                w.ticks(7).await;
                d.note("seen");
            }
        });
        let mut simulation = builder.elaborate().unwrap();
        simulation.set_options(EngineOptions {
            order,
            sleeping,
            ..EngineOptions::default()
        });
        assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
        diary.lines.take()
    };
    let reference = trace(Order::Added, true);
    assert_eq!(reference, ["7 seen", "14 seen", "21 seen", "28 seen"]);
    assert_eq!(reference, trace(Order::Shuffled { seed: 1 }, false));
}
