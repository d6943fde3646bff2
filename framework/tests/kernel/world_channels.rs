//! Tests of channels between processes: FIFOs, semaphores, mutexes, buffers, notification queues,
//! waveforms, reports and transport.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use insta::assert_snapshot;
use proptest::prelude::*;
use warpweave_framework::{
    Bundle, Component, Context, InPort, Link, LocalTime, Next, OutPort, Outcome, Payload, Ports,
    Response, Router, RunLimits, Sample, Severity, Shape, Stateful, Statistics, Tick, Transport,
    Transported, Update, WaveSink,
};

use crate::events::{failure, prepare, run};
use crate::parts::one_clock;

#[test]
fn a_fifo_blocks_its_writer_when_full_and_its_reader_when_empty() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        let fifo = world.fifo("fifo", 2);
        let (w, d, out) = (world.clone(), diary.clone(), fifo.clone());
        world.process("producer", async move {
            for n in 0..5 {
                out.send(n).await;
                d.note(format!("sent {n}"));
            }
            w.ticks(100).await;
            out.send(5).await;
        });
        let (w, d) = (world.clone(), diary.clone());
        world.process("consumer", async move {
            w.ticks(10).await;
            for _ in 0..6 {
                d.note(format!("received {}", fifo.recv().await));
                w.ticks(10).await;
            }
        });
    });
    assert_eq!(
        diary,
        [
            "0 sent 0",
            "0 sent 1",
            "10 received 0",
            "10 sent 2",
            "20 received 1",
            "20 sent 3",
            "30 received 2",
            "30 sent 4",
            "40 received 3",
            "50 received 4",
            "130 received 5"
        ]
    );
}

#[test]
fn what_is_written_and_what_is_freed_in_a_delta_cycle_counts_from_the_next() {
    let diary = run(|builder, diary| {
        let (world, diary) = (builder.world(), diary.clone());
        let fifo = world.fifo("fifo", 1);
        let w = world.clone();
        world.process("both", async move {
            assert_eq!(fifo.try_send(1), Ok(()));
            diary.note(format!(
                "{} {} {:?}",
                fifo.len(),
                fifo.free(),
                fifo.try_recv()
            ));
            w.delta().await;
            diary.note(format!(
                "{} {} {:?}",
                fifo.len(),
                fifo.free(),
                fifo.try_recv()
            ));
            assert_eq!(fifo.try_send(2), Err(2));
            w.delta().await;
            diary.note(format!(
                "{} {} {}",
                fifo.len(),
                fifo.free(),
                fifo.is_empty()
            ));
        });
    });
    assert_eq!(diary, ["0 0 0 None", "0 1 0 Some(1)", "0 0 1 true"]);
}

#[test]
fn two_readers_of_a_fifo_are_named() {
    let message = failure(|builder, _| {
        let world = builder.world();
        let fifo = world.fifo::<u8>("fifo", 2);
        for name in ["one", "two"] {
            let fifo = fifo.clone();
            world.method(name, &[], move || assert_eq!(fifo.try_recv(), None));
        }
    });
    assert_snapshot!(message, @"FIFO `fifo` is read by both `one` and `two`");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_fifo_loses_nothing_and_keeps_the_order(
        capacity in 1..5usize,
        write in prop::collection::vec(0..6u64, 1..40),
        read in prop::collection::vec(0..6u64, 1..40),
    ) {
        let count = write.len();
        let diary = run(move |builder, diary| {
            let (world, diary) = (builder.world(), diary.clone());
            let fifo = world.fifo("fifo", capacity);
            let (w, out) = (world.clone(), fifo.clone());
            world.process("writer", async move {
                for (n, delay) in write.into_iter().enumerate() {
                    w.ticks(delay).await;
                    out.send(n).await;
                }
            });
            let w = world.clone();
            world.process("reader", async move {
                for delay in read.iter().cycle() {
                    let n = fifo.recv().await;
                    assert!(fifo.len() <= capacity);
                    diary.note(n);
                    w.ticks(*delay).await;
                }
            });
        });
        let order: Vec<usize> = diary
            .iter()
            .map(|line| line.split_once(' ').unwrap().1.parse().unwrap())
            .collect();
        prop_assert_eq!(order, (0..count).collect::<Vec<_>>());
    }
}

#[test]
fn a_mutex_is_served_in_the_order_of_asking() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        let mutex = world.mutex("bus");
        for (name, start, hold) in [("a", 0, 10), ("b", 2, 5), ("c", 1, 5), ("d", 10, 1)] {
            let (w, d, mutex) = (world.clone(), diary.clone(), mutex.clone());
            world.process(name, async move {
                w.ticks(start).await;
                let held = mutex.lock().await;
                d.note(name);
                w.ticks(hold).await;
                drop(held);
            });
        }
        let (w, d) = (world.clone(), diary.clone());
        world.process("impatient", async move {
            w.ticks(3).await;
            d.note(w.within(4, mutex.lock()).await.is_some());
            d.note(mutex.try_lock().is_some());
            w.ticks(50).await;
            d.note(mutex.try_lock().is_some());
        });
    });
    assert_eq!(
        diary,
        [
            "0 a", "7 false", "7 false", "10 c", "15 b", "20 d", "57 true"
        ]
    );
}

#[test]
fn permits_given_together_serve_several_at_once() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        let semaphore = world.semaphore("permits", 0);
        for i in 0..3 {
            let (d, s) = (diary.clone(), semaphore.clone());
            world.process(format!("p{i}"), async move {
                s.acquire().await;
                d.note(i);
            });
        }
        let w = world.clone();
        world.process("giver", async move {
            w.ticks(5).await;
            semaphore.release();
            semaphore.release();
            w.ticks(5).await;
            semaphore.release();
            semaphore.release();
            w.ticks(5).await;
            assert_eq!(semaphore.permits(), 1);
        });
    });
    assert_eq!(diary, ["5 0", "5 1", "10 2"]);
}

#[test]
fn a_killed_holder_frees_its_mutex_and_a_killed_waiter_its_place() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        let mutex = world.mutex("bus");
        let mut processes = Vec::new();
        for name in ["holder", "waiter", "next"] {
            let (w, d, mutex) = (world.clone(), diary.clone(), mutex.clone());
            processes.push(world.process(name, async move {
                let _held = mutex.lock().await;
                d.note(name);
                w.ticks(1000).await;
            }));
        }
        let w = world.clone();
        world.process("killer", async move {
            w.ticks(5).await;
            processes[1].kill();
            w.ticks(5).await;
            processes[0].kill();
            w.ticks(5).await;
            processes[2].kill();
        });
    });
    assert_eq!(diary, ["0 holder", "10 next"]);
}

#[test]
fn every_write_of_a_buffer_is_a_change_but_no_edge() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        let buffer = world.buffer("buffer", false);
        for (name, event) in [
            ("changed", buffer.changed().clone()),
            ("rose", buffer.posedge()),
        ] {
            let d = diary.clone();
            world.handler(name, &[&event], move || d.note(name));
        }
        let w = world.clone();
        world.process("writer", async move {
            for value in [false, true, true] {
                w.ticks(1).await;
                buffer.write(value);
            }
        });
    });
    assert_eq!(diary, ["1 changed", "2 changed", "2 rose", "3 changed"]);
}

#[test]
fn a_notification_queue_forgets_none() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        let queue = world.notification_queue("irq");
        let d = diary.clone();
        world.handler("count", &[queue.event()], move || d.note("irq"));
        for delay in [20, 5, 5, 9] {
            queue.notify_after(delay);
        }
        let (w, d) = (world.clone(), diary.clone());
        world.process("canceller", async move {
            w.ticks(7).await;
            d.note("one more");
            queue.notify_after(0);
            w.ticks(10).await;
            queue.cancel_all();
        });
    });
    assert_eq!(diary, ["5 irq", "5 irq", "7 one more", "7 irq", "9 irq"]);
}

/// User-defined channel that holds the largest value written in a delta cycle.
struct Largest {
    written: RefCell<Vec<u32>>,
    shown: Cell<u32>,
}

impl Update for Largest {
    fn update(&self) {
        let largest = self.written.take().into_iter().max();
        self.shown.set(largest.unwrap_or(0));
    }
}

#[test]
fn a_channel_of_ones_own_takes_its_state_in_the_update_phase() {
    let diary = run(|builder, diary| {
        let world = builder.world();
        let channel = Rc::new(Largest {
            written: RefCell::default(),
            shown: Cell::new(0),
        });
        for value in [3, 9, 4] {
            let (w, d, channel) = (world.clone(), diary.clone(), channel.clone());
            world.process(format!("p{value}"), async move {
                if channel.written.borrow().is_empty() {
                    w.request_update(channel.clone());
                }
                channel.written.borrow_mut().push(value);
                d.note(channel.shown.get());
                w.delta().await;
                d.note(channel.shown.get());
            });
        }
    });
    assert_eq!(diary, ["0 0", "0 0", "0 0", "0 9", "0 9", "0 9"]);
}

struct Lines(Rc<RefCell<Vec<String>>>);

impl WaveSink for Lines {
    fn declare(&mut self, id: u32, name: &str, shape: Shape, value: Sample) {
        let line = format!("{id} = {name}: {shape:?} {value:?}");
        self.0.borrow_mut().push(line);
    }

    fn change(&mut self, tick: Tick, id: u32, value: Sample) {
        self.0
            .borrow_mut()
            .push(format!("{} {id} {value:?}", tick.0));
    }
}

#[test]
fn a_wave_sink_sees_every_signal_and_every_change() {
    let lines = Rc::new(RefCell::new(Vec::new()));
    let (mut builder, _) = one_clock();
    let world = builder.world();
    let early = world.scope("top").signal("early", -1i8);
    let hidden = world.signal("hidden", (1u8, 2u8));
    world.set_wave_sink(Some(Box::new(Lines(lines.clone()))));
    let level = world.signal("level", 0.5);
    let fifo = world.fifo("fifo", 4);
    let w = world.clone();
    world.process("p", async move {
        early.write(3);
        hidden.write((3, 4));
        w.ticks(2).await;
        early.write(3);
        level.write(1.5);
        fifo.send('x').await;
        w.ticks(2).await;
        early.write(-2);
    });
    let outcome = builder.elaborate().unwrap().run(&RunLimits::default());
    assert_eq!(outcome, Outcome::Done);
    assert_snapshot!(lines.borrow().join("\n"), @r"
    0 = top.early: Bits(8) Bits(255)
    2 = level: Real Real(0.5)
    3 = fifo: Bits(32) Bits(0)
    0 0 Bits(3)
    2 2 Real(1.5)
    2 3 Bits(1)
    4 0 Bits(254)
    ");
}

#[test]
fn reports_are_counted_heard_and_end_the_run_when_too_bad() {
    let heard = Rc::new(RefCell::new(Vec::new()));
    let (builder, diary) = prepare(|builder, diary| {
        let (world, diary) = (builder.world(), diary.clone());
        let lines = heard.clone();
        world.on_report(move |r| {
            let who = r.process.as_deref().unwrap_or("-");
            let line = format!(
                "{} {:?} {who} {}: {}",
                r.tick.0, r.severity, r.id, r.message
            );
            lines.borrow_mut().push(line);
        });
        world.tolerate_errors(1);
        let w = world.clone();
        world.process("p", async move {
            for severity in [
                Severity::Info,
                Severity::Warning,
                Severity::Error,
                Severity::Error,
            ] {
                w.ticks(1).await;
                w.report(severity, "bus/overflow", "too much");
            }
            w.ticks(1).await;
            diary.note("never");
        });
    });
    let outcome = builder.elaborate().unwrap().run(&RunLimits::default());
    assert_eq!(
        outcome,
        Outcome::Failed("bus/overflow: too much".to_owned())
    );
    assert!(diary.lines.borrow().is_empty());
    assert_eq!(diary.world.report_count(Severity::Error), 2);
    assert_snapshot!(heard.borrow().join("\n"), @r"
    1 Info p bus/overflow: too much
    2 Warning p bus/overflow: too much
    3 Error p bus/overflow: too much
    4 Error p bus/overflow: too much
    ");
}

/// Memory of bytes from `base` on, with 20 ticks per access.
struct Memory {
    base: u64,
    bytes: RefCell<Vec<u8>>,
}

impl Transport for Memory {
    fn transport<'a>(
        &'a self,
        payload: &'a mut Payload,
        time: &'a mut LocalTime,
    ) -> Transported<'a> {
        Box::pin(async move {
            payload.access(&mut self.bytes.borrow_mut(), self.base);
            time.advance(20);
            time.sync_if_due().await;
        })
    }
}

#[test]
fn payloads_find_their_target_and_local_time_runs_ahead() {
    let diary = run(|builder, diary| {
        let (world, diary) = (builder.world(), diary.clone());
        let memory = |base| Memory {
            base,
            bytes: RefCell::new(vec![0; 16]),
        };
        let router = Router::new()
            .with(0..16, memory(0))
            .with(0x100..0x110, memory(0x100));
        let mut time = LocalTime::new(&world, 50);
        world.process("cpu", async move {
            for mut payload in [
                Payload::write(0x104, [1, 2, 3]),
                Payload::read(4, 2),
                Payload::read(0x105, 2),
                Payload::read(0x20, 1),
                Payload::read(14, 4),
            ] {
                router.transport(&mut payload, &mut time).await;
                let Payload { response, data, .. } = payload;
                diary.note(format!("+{} {response:?} {data:?}", time.ahead()));
            }
        });
    });
    assert_snapshot!(diary.join("\n"), @r"
    0 +20 Ok [1, 2, 3]
    0 +40 Ok [0, 0]
    60 +0 Ok [2, 3]
    60 +0 AddressError [0]
    60 +0 AddressError [0, 0, 0, 0]
    ");
}

#[test]
fn a_payload_keeps_to_its_byte_enables_and_to_the_memory() {
    let mut memory = [9; 4];
    let mut payload = Payload::write(100, [1, 2, 3, 4]);
    payload.byte_enable = vec![true, false];
    payload.access(&mut memory, 100);
    assert_eq!((payload.response, memory), (Response::Ok, [1, 9, 3, 9]));
    for address in [99, 101, u64::MAX] {
        let mut payload = Payload::read(address, 4);
        payload.access(&mut memory, 100);
        assert_eq!(payload.response, Response::AddressError, "{address}");
    }
}

/// Answers each request with twice its value, one cycle later.
#[derive(Default, Statistics)]
struct Doubler {
    requests: InPort<u64>,
    responses: OutPort<u64>,
    held: VecDeque<u64>,
}

impl Bundle for Doubler {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("requests", &mut self.requests);
        ports.output("responses", &mut self.responses);
    }
}

impl Component for Doubler {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if let Some(request) = self.held.pop_front() {
            self.responses.send(ctx, 2 * request);
        }
        self.held.extend(self.requests.pop(ctx));
        if self.held.is_empty() {
            Next::Message
        } else {
            Next::Busy
        }
    }
}

impl Stateful for Doubler {}

#[test]
fn a_requester_waits_for_each_response() {
    let diary = run(|builder, diary| {
        let (world, diary) = (builder.world(), diary.clone());
        let clock = builder.clock("doubler", crate::parts::ghz(1));
        builder.add("doubler", clock, Doubler::default());
        let mut requester = builder.process_requester::<u64, u64>("cpu", clock);
        builder.connect("cpu.request.output", "doubler.requests", Link::latency(2));
        builder.connect("doubler.responses", "cpu.response.input", Link::latency(3));
        world.process("cpu", async move {
            for n in [4, 7] {
                diary.note(requester.call(n).await);
            }
        });
    });
    // Sent at the edge after asking (1 and 8), there 2 later, answered 1 later, back 3 later.
    assert_eq!(diary, ["7 8", "14 14"]);
}
