//! Workloads in NeXosim, written as its users write them, on its single-threaded executor. A port
//! sends a message at once, and a model schedules itself to let time pass.

#![expect(
    clippy::unused_async,
    reason = "initialisation is asynchronous by the trait"
)]

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cpu_time::ProcessTime;
use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::Output;
use nexosim::simulation::{Mailbox, SimInit, Simulation};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};

use warpweave_bench::{Sample, Tally, Workload, starts_with_token};

const CYCLE: Duration = Duration::from_nanos(1);

/// Runs `workload` for about `units` units.
///
/// # Errors
/// Fails with a text if the sizes are invalid or the simulator reports an error.
pub(crate) fn run(workload: Workload, sizes: &[u64], units: u64) -> Result<Sample, String> {
    workload.check(sizes, units)?;
    match workload {
        Workload::Ring => ring(sizes[0], sizes[1], units),
        Workload::Pipe => pipe(sizes[0], sizes[1], sizes[2], units),
        Workload::Phold => phold(sizes[0], sizes[1], sizes[2], units),
        _ => Err(format!("{} is not written for NeXosim", workload.name())),
    }
}

/// Counter shared by all models of a run.
type Count = Arc<AtomicU64>;

fn add(count: &AtomicU64) {
    // One thread: a plain addition.
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Model that holds a token for a cycle.
#[derive(Serialize, Deserialize)]
struct Hop {
    output: Output<u64>,
    has_token: bool,
    place: u64,
    sum: u64,
    #[serde(skip)]
    hops: Count,
    #[serde(skip)]
    tally: Tally,
}

#[Model]
impl Hop {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        if self.has_token {
            later(cx.schedule_event(CYCLE, schedulable!(Self::pass), 0));
        }
    }

    fn arrive(&mut self, token: u64, cx: &Context<Self>) {
        self.sum = self.sum.wrapping_add(token);
        later(cx.schedule_event(CYCLE, schedulable!(Self::pass), token + 1));
    }

    #[nexosim(schedulable)]
    async fn pass(&mut self, token: u64) {
        add(&self.hops);
        self.output.send(token).await;
    }
}

impl Drop for Hop {
    fn drop(&mut self) {
        self.tally.add(self.place, self.sum);
    }
}

/// Circulates `tokens` tokens around `modules` modules for `hops` hops.
fn ring(modules: u64, tokens: u64, hops: u64) -> Result<Sample, String> {
    let (count, tally) = (Count::default(), Tally::default());
    let boxes: Vec<Mailbox<Hop>> = (0..modules).map(|_| Mailbox::new()).collect();
    let mut bench = SimInit::with_num_threads(1);
    let mut hops_made = Vec::new();
    for i in 0..modules {
        let mut hop = Hop {
            output: Output::default(),
            has_token: starts_with_token(i, modules, tokens),
            place: i,
            sum: 0,
            hops: Arc::clone(&count),
            tally: tally.clone(),
        };
        let next = &boxes[((i + 1) % modules) as usize];
        hop.output.connect(Hop::arrive, next);
        hops_made.push(hop);
    }
    for (hop, mailbox) in hops_made.into_iter().zip(boxes) {
        let name = format!("hop[{}]", hop.place);
        bench = bench.add_model(hop, mailbox, &name);
    }
    let until = CYCLE * (hops / tokens) as u32;
    measure(bench, &count, &tally, |simulation| {
        simulation.step_until(until).map_err(|e| e.to_string())
    })
}

/// Stage that sends as long as it has credit.
#[derive(Serialize, Deserialize)]
struct Stage {
    output: Output<u64>,
    credit: Output<()>,
    queue: VecDeque<u64>,
    /// Number of items left to send without an input.
    left: u64,
    credits: u64,
    /// Number of cycles between consecutive items.
    every: u64,
    is_scheduled: bool,
    is_last: bool,
    #[serde(skip)]
    moved: Count,
}

#[Model]
impl Stage {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        self.schedule(cx);
    }

    fn accept(&mut self, item: u64, cx: &Context<Self>) {
        self.queue.push_back(item);
        self.schedule(cx);
    }

    fn take_credit(&mut self, (): (), cx: &Context<Self>) {
        self.credits += 1;
        self.schedule(cx);
    }

    fn schedule(&mut self, cx: &Context<Self>) {
        let has_item = self.left > 0 || !self.queue.is_empty();
        if has_item && self.credits > 0 && !self.is_scheduled {
            self.is_scheduled = true;
            let delay = CYCLE * self.every as u32;
            later(cx.schedule_event(delay, schedulable!(Self::pass), ()));
        }
    }

    #[nexosim(schedulable)]
    async fn pass(&mut self, (): (), cx: &Context<Self>) {
        self.is_scheduled = false;
        let item = if let Some(item) = self.queue.pop_front() {
            self.credit.send(()).await;
            item
        } else {
            self.left -= 1;
            self.left + 1
        };
        if !self.is_last {
            add(&self.moved);
            self.credits -= 1;
            self.output.send(item).await;
        }
        self.schedule(cx);
    }
}

/// Sends `items` items through `stages` stages of `depth` slots, with one accepted every `every`
/// cycles.
fn pipe(stages: u64, depth: u64, every: u64, items: u64) -> Result<Sample, String> {
    let (count, tally) = (Count::default(), Tally::default());
    let all = stages + 2;
    let boxes: Vec<Mailbox<Stage>> = (0..all).map(|_| Mailbox::new()).collect();
    let mut bench = SimInit::with_num_threads(1);
    let mut models = Vec::new();
    for i in 0..all {
        let is_last = i + 1 == all;
        let mut stage = Stage {
            output: Output::default(),
            credit: Output::default(),
            queue: VecDeque::new(),
            left: if i == 0 { items } else { 0 },
            credits: depth,
            every: if is_last { every } else { 1 },
            is_scheduled: false,
            is_last,
            moved: Arc::clone(&count),
        };
        if !is_last {
            stage.output.connect(Stage::accept, &boxes[i as usize + 1]);
        }
        if i > 0 {
            stage
                .credit
                .connect(Stage::take_credit, &boxes[i as usize - 1]);
        }
        models.push(stage);
    }
    for (i, (stage, mailbox)) in models.into_iter().zip(boxes).enumerate() {
        bench = bench.add_model(stage, mailbox, &format!("stage[{i}]"));
    }
    measure(bench, &count, &tally, |simulation| {
        simulation.run().map_err(|e| e.to_string())
    })
}

/// State shared by all PHOLD objects of a run.
#[derive(Default)]
struct Shared {
    handled: Vec<AtomicU64>,
    left: AtomicU64,
}

/// Object that keeps its events in flight. Each destination is drawn at random and counted.
#[derive(Serialize, Deserialize)]
struct Object {
    random: u64,
    events: u64,
    delay_max: u64,
    #[serde(skip)]
    shared: Arc<Shared>,
    #[serde(skip)]
    count: Count,
}

#[Model]
impl Object {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        for _ in 0..self.events {
            self.send(cx);
        }
    }

    #[nexosim(schedulable)]
    fn handle(&mut self, object: u64, cx: &Context<Self>) {
        let left = self.shared.left.load(Ordering::Relaxed);
        if left > 0 {
            self.shared.left.store(left - 1, Ordering::Relaxed);
            add(&self.shared.handled[object as usize]);
            add(&self.count);
            self.send(cx);
        }
    }

    fn send(&mut self, cx: &Context<Self>) {
        let draw = self.draw();
        let object = ((draw >> 32) * self.shared.handled.len() as u64) >> 32;
        let delay = 1 + (((draw & 0xffff_ffff) * self.delay_max) >> 32);
        let delay = Duration::from_nanos(delay);
        later(cx.schedule_event(delay, schedulable!(Self::handle), object));
    }

    /// Draws a number by xorshift (Marsaglia 2003).
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

/// Runs PHOLD until `total` events are handled.
fn phold(objects: u64, events: u64, delay_max: u64, total: u64) -> Result<Sample, String> {
    let (count, tally) = (Count::default(), Tally::default());
    let shared = Arc::new(Shared {
        handled: (0..objects).map(|_| AtomicU64::new(0)).collect(),
        left: AtomicU64::new(total),
    });
    let mut bench = SimInit::with_num_threads(1);
    for i in 0..objects {
        let object = Object {
            random: 88_172_645_463_325_252 + i,
            events,
            delay_max,
            shared: Arc::clone(&shared),
            count: Arc::clone(&count),
        };
        bench = bench.add_model(object, Mailbox::new(), &format!("object[{i}]"));
    }
    measure(bench, &count, &tally, |simulation| {
        simulation.run().map_err(|e| e.to_string())
    })
}

/// Unwraps the result of scheduling. Delays are at least a cycle, so the scheduled time is never in
/// the past.
fn later<E: std::fmt::Debug>(scheduled: Result<(), E>) {
    scheduled.expect("a delay of at least a cycle lies in the future");
}

fn measure(
    bench: SimInit,
    count: &Count,
    tally: &Tally,
    run: impl FnOnce(&mut Simulation) -> Result<(), String>,
) -> Result<Sample, String> {
    let mut simulation = bench
        .init(MonotonicTime::EPOCH)
        .map_err(|e| e.to_string())?;
    let start = ProcessTime::now();
    run(&mut simulation)?;
    let ns = start.elapsed().as_nanos() as u64;
    drop(simulation);
    Ok(Sample {
        ns,
        units: count.load(Ordering::Relaxed),
        checksum: tally.sum(),
        bytes: 0,
    })
}

#[cfg(test)]
mod tests {
    use warpweave_bench::Implementation;

    use super::*;

    #[test]
    fn models_do_as_many_units_as_the_framework_and_pass_the_same_tokens() {
        for (workload, sizes, units) in [
            (Workload::Ring, &[64, 8][..], 1000),
            (Workload::Pipe, &[8, 4, 3], 100),
            (Workload::Phold, &[64, 4, 100], 1000),
        ] {
            let ours = warpweave_bench::run(workload, Implementation::Warpweave, sizes, units);
            let (ours, theirs) = (ours.unwrap(), run(workload, sizes, units).unwrap());
            assert!(
                ours.units.abs_diff(theirs.units) <= sizes[1],
                "{ours:?} {theirs:?}"
            );
            if workload == Workload::Ring {
                assert_eq!(ours.checksum, theirs.checksum);
            }
        }
    }
}
