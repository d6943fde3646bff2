//! Tests of the two event queues: random worlds leave the same trace with either.

use proptest::prelude::*;
use warpweave_framework::{
    Event, Fifo, Link, Outcome, QueueKind, RunLimits, Semaphore, Signal, Tick, Trigger, World,
};

use crate::events::{Diary, prepare};
use crate::parts::Flood;

const EVENTS: usize = 5;
const SIGNALS: usize = 3;

/// One action of a process in a random world.
#[derive(Clone, Debug)]
enum Step {
    Notify(usize),
    NotifyDelta(usize),
    NotifyAfter(usize, u64),
    Cancel(usize),
    Write(u64),
    Ticks(u64),
    Any(usize, usize),
    AllWithin(usize, usize, u64),
    SignalWithin(usize, u64),
    Hold(u64),
    /// Sends an item to the FIFO, if there is room.
    Send,
    Receive(u64),
}

fn delay() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => 0..4u64,
        3 => 1..40u64,
        1 => 4090..4100u64,
        1 => 1..30_000u64,
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let event = || 0..EVENTS;
    prop_oneof![
        1 => event().prop_map(Step::Notify),
        1 => event().prop_map(Step::NotifyDelta),
        3 => (event(), delay()).prop_map(|(e, d)| Step::NotifyAfter(e, d)),
        1 => event().prop_map(Step::Cancel),
        1 => any::<u64>().prop_map(Step::Write),
        3 => delay().prop_map(Step::Ticks),
        1 => (event(), event()).prop_map(|(a, b)| Step::Any(a, b)),
        2 => (event(), event(), delay()).prop_map(|(a, b, d)| Step::AllWithin(a, b, d)),
        1 => (0..SIGNALS, delay()).prop_map(|(s, d)| Step::SignalWithin(s, d)),
        1 => delay().prop_map(Step::Hold),
        1 => Just(Step::Send),
        1 => delay().prop_map(Step::Receive),
    ]
}

/// Action of a method at its runs: notify an event after a delay, or set its next trigger.
#[derive(Clone, Debug)]
struct Method {
    sensitivity: usize,
    target: usize,
    delay: u64,
    trigger: Option<(usize, u64)>,
}

fn method() -> impl Strategy<Value = Method> {
    let trigger = prop::option::of((0..EVENTS, delay()));
    (0..EVENTS, 0..EVENTS, delay(), trigger).prop_map(|(sensitivity, target, delay, trigger)| {
        Method {
            sensitivity,
            target,
            delay,
            trigger,
        }
    })
}

struct Stage {
    world: World,
    diary: Diary,
    events: Vec<Event>,
    signals: Vec<Signal<u64>>,
    fifo: Fifo<usize>,
    semaphore: Semaphore,
}

impl Stage {
    async fn act(&self, me: usize, step: &Step) {
        let (world, events) = (&self.world, &self.events);
        match *step {
            Step::Notify(e) => events[e].notify(),
            Step::NotifyDelta(e) => events[e].notify_delta(),
            Step::NotifyAfter(e, ticks) => events[e].notify_after(ticks),
            Step::Cancel(e) => events[e].cancel(),
            Step::Write(value) => self.signals[me].write(value),
            Step::Ticks(ticks) => world.ticks(ticks).await,
            Step::Any(a, b) => {
                // Bounded, so that there is more to see.
                let which = world.any(&[&events[a], &events[b]]);
                let which = world.within(5000, which).await;
                self.diary.note(format!("{me} any {which:?}"));
            }
            Step::AllWithin(a, b, ticks) => {
                let both = world.all(&[&events[a], &events[b]]);
                let both = world.within(ticks, both).await;
                self.diary.note(format!("{me} all {both:?}"));
            }
            Step::SignalWithin(s, ticks) => {
                let changed = self.signals[s].changed().wait();
                let changed = world.within(ticks, changed).await;
                self.diary
                    .note(format!("{me} {changed:?} {}", self.signals[s].read()));
            }
            Step::Hold(ticks) => {
                self.semaphore.acquire().await;
                self.diary.note(format!("{me} holds"));
                world.ticks(ticks).await;
                self.semaphore.release();
            }
            // One writer, one reader.
            Step::Send if me == 0 => {
                let sent = self.fifo.try_send(me).is_ok();
                self.diary.note(format!("sent {sent}"));
            }
            Step::Receive(ticks) if me == 1 => {
                let got = world.within(ticks, self.fifo.recv()).await;
                self.diary.note(format!("received {got:?}"));
            }
            Step::Send | Step::Receive(_) => {}
        }
        self.diary.note(format!("{me} {step:?}"));
    }
}

/// Returns everything observable of a world with this queue.
fn trace(
    scripts: &[Vec<Step>],
    methods: &[Method],
    background: bool,
    queue: QueueKind,
) -> (Vec<String>, Outcome, Tick) {
    let (builder, diary) = prepare(|builder, diary| {
        let world = builder.world();
        world.set_queue(queue);
        world.set_delta_limit(200);
        let clock = builder.clock("second", crate::parts::ghz(1));
        builder.add("flood", clock, Flood::of(20, |n| n * 40).0);
        let mut input = builder.process_input::<u64>("inlet", clock);
        builder.connect("flood.output", "inlet.input", Link::latency(3).capacity(2));
        let (w, d) = (world.clone(), diary.clone());
        world.process("inlet", async move {
            loop {
                let message = input.recv().await;
                d.note(format!("inlet {message}"));
                w.ticks(message).await;
            }
        });
        let stage = std::rc::Rc::new(Stage {
            events: (0..EVENTS).map(|i| world.event(format!("e{i}"))).collect(),
            signals: (0..SIGNALS)
                .map(|i| world.signal(format!("s{i}"), 0))
                .collect(),
            fifo: world.fifo("fifo", 2),
            semaphore: world.semaphore("semaphore", 2),
            world: world.clone(),
            diary: diary.clone(),
        });
        for (me, script) in scripts.iter().enumerate() {
            let world = if background && me == 2 {
                world.background()
            } else {
                world.clone()
            };
            let (stage, script) = (stage.clone(), script.clone());
            world.process(format!("p{me}"), async move {
                for step in &script {
                    stage.act(me, step).await;
                }
            });
        }
        for (m, method) in methods.iter().cloned().enumerate() {
            let stage = stage.clone();
            let sensitivity = stage.events[method.sensitivity].clone();
            let mut left = 30;
            world.handler(format!("m{m}"), &[&sensitivity], move || {
                stage.diary.note(format!("m{m}"));
                if left > 0 {
                    left -= 1;
                    stage.events[method.target].notify_after(method.delay);
                    if let Some((event, ticks)) = method.trigger {
                        let trigger = Trigger::any(&[&stage.events[event]]).or_after(ticks);
                        stage.world.next_trigger(trigger);
                    }
                }
            });
        }
    });
    let mut simulation = builder.elaborate().unwrap();
    let limits = RunLimits {
        until: Some(Tick(200_000)),
        ..RunLimits::default()
    };
    let outcome = simulation.run(&limits);
    let lines = diary.lines.take();
    (lines, outcome, simulation.now())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_random_world_is_the_same_with_either_queue(
        scripts in prop::collection::vec(prop::collection::vec(step(), 0..40), SIGNALS),
        methods in prop::collection::vec(method(), 0..4),
        background in any::<bool>(),
    ) {
        let wheel = trace(&scripts, &methods, background, QueueKind::Wheel);
        let sorted = trace(&scripts, &methods, background, QueueKind::Sorted);
        prop_assert_eq!(wheel, sorted);
    }
}
