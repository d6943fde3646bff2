//! A bus with several masters, under two arbiters.
//!
//! ```text
//!   master 0 ─┐ request          ┌─ grant ─► master
//!   master 1 ─┼─────────► arbiter┘
//!   master 2 ─┘                      bus ─► memory, 4 bytes per cycle
//! ```
//!
//! A master raises its request, waits for its grant, and holds the bus for its transfer. Fixed
//! priority starves the last master; round robin does not.
//! `cargo run -p warpweave-framework --example bus`

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

use warpweave_framework::{
    Clock, Event, Frequency, Outcome, Payload, Response, RunLimits, Signal, SystemBuilder, World,
};

const MASTERS: usize = 3;
const TRANSFERS: u64 = 40;
const BYTES_PER_CYCLE: usize = 4;

fn main() {
    print!("{}", run());
}

/// Runs the model under both arbiters and returns a table of waiting times.
pub(crate) fn run() -> String {
    let mut table = String::from("arbiter         master  transfers  mean wait  longest wait\n");
    for arbiter in [Arbiter::FixedPriority, Arbiter::RoundRobin] {
        for (master, waits) in simulate(arbiter).iter().enumerate() {
            let mean = waits.iter().sum::<u64>() as f64 / waits.len() as f64;
            let longest = waits.iter().max().copied().unwrap_or(0);
            let name = format!("{arbiter:?}");
            writeln!(
                table,
                "{name:14}  {master:6}  {:9}  {mean:9.1}  {longest:12}",
                waits.len()
            )
            .expect("writing to a string succeeds");
        }
    }
    table
}

#[derive(Clone, Copy, Debug)]
enum Arbiter {
    /// The master with the lowest number wins.
    FixedPriority,
    /// The first requesting master after the last winner wins.
    RoundRobin,
}

impl Arbiter {
    fn choose(self, requests: &[Signal<bool>], last: usize) -> Option<usize> {
        let first = match self {
            Arbiter::FixedPriority => 0,
            Arbiter::RoundRobin => last + 1,
        };
        (first..first + MASTERS)
            .map(|master| master % MASTERS)
            .find(|master| requests[*master].read())
    }
}

struct Bus {
    clock: Clock,
    requests: Vec<Signal<bool>>,
    grants: Vec<Event>,
    done: Event,
    memory: RefCell<Vec<u8>>,
}

impl Bus {
    fn new(world: &World, clock: Clock) -> Self {
        let world = world.scope("bus");
        Self {
            clock,
            requests: (0..MASTERS)
                .map(|i| world.signal(format!("request[{i}]"), false))
                .collect(),
            grants: (0..MASTERS)
                .map(|i| world.event(format!("grant[{i}]")))
                .collect(),
            done: world.event("done"),
            memory: RefCell::new(vec![0; 4096]),
        }
    }

    /// Carries out `payload` for `master`: the blocking interface of the bus.
    async fn transport(&self, master: usize, payload: &mut Payload) {
        self.requests[master].write(true);
        self.grants[master].wait().await;
        self.requests[master].write(false);
        let cycles = payload.data.len().div_ceil(BYTES_PER_CYCLE) as u64;
        self.clock.edges(cycles).await;
        payload.access(&mut self.memory.borrow_mut(), 0);
        self.done.notify_delta();
    }

    /// Grants one request after the other.
    async fn arbitrate(&self, arbiter: Arbiter) {
        let mut last = MASTERS - 1;
        loop {
            self.clock.edges(1).await;
            if let Some(winner) = arbiter.choose(&self.requests, last) {
                last = winner;
                self.grants[winner].notify_delta();
                self.done.wait().await;
            }
        }
    }
}

/// Returns, for each master, the number of cycles it waited for each of its transfers.
fn simulate(arbiter: Arbiter) -> Vec<Vec<u64>> {
    let mut builder = SystemBuilder::new();
    let megahertz = |n: u64| Frequency::new(n * 1_000_000, 1).expect("not zero");
    let core = builder.clock("core", megahertz(100));
    builder.clock("half", megahertz(200)); // Ticks of half a cycle, for the falling edge.
    let world = builder.world();
    let bus = Rc::new(Bus::new(&world, world.clock("clock", core)));
    let waits = Rc::new(RefCell::new(vec![Vec::new(); MASTERS]));

    let arbitrated = Rc::clone(&bus);
    world.process(
        "arbiter",
        async move { arbitrated.arbitrate(arbiter).await },
    );

    for master in 0..MASTERS {
        let (w, bus, waits) = (world.clone(), Rc::clone(&bus), Rc::clone(&waits));
        // The run ends when every master has done its transfers.
        world.take_obligation();
        world.process(format!("master[{master}]"), async move {
            for n in 0..TRANSFERS {
                let address = 64 * master as u64;
                let data = [master as u8, n as u8].repeat(8);
                let asked = w.cycle(core);
                let mut written = Payload::write(address, data.clone());
                bus.transport(master, &mut written).await;
                let held = (data.len() / BYTES_PER_CYCLE) as u64;
                waits.borrow_mut()[master].push(w.cycle(core) - asked - held);

                bus.clock.edges(1 + n % 3).await;
                let mut read = Payload::read(address, data.len());
                bus.transport(master, &mut read).await;
                assert_eq!((read.response, read.data), (Response::Ok, data));
            }
            w.discharge_obligation();
        });
    }

    let mut simulation = builder.elaborate().expect("the wiring is valid");
    assert_eq!(simulation.run(&RunLimits::default()), Outcome::Done);
    waits.take()
}
