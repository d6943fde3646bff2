//! Execution of the windows of several partitions, on one thread or many.

use std::time::Duration;

use crossbeam::utils::CachePadded;

use crate::engine::parallel::barrier::Barrier;
use crate::engine::parallel::coordinator::{Coordinator, Limits, RunEnd, RunStep};
use crate::engine::parallel::tally::{Cells, Tallies, Tally};
use crate::engine::partition::Window;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, host_time, scope};
use crate::world::WorldDriver;

/// Runs windows until the coordinator ends the run. `world` belongs to partition 0, which stays
/// on the calling thread.
pub(crate) fn run_windows(
    cells: &Cells<'_>,
    coordinator: &mut Coordinator,
    limits: &Limits<'_>,
    world: Option<&WorldDriver>,
    threads: usize,
) -> RunEnd {
    coordinator.begin();
    let threads = threads.clamp(1, cells.len());
    let tallies = (0..threads).map(|_| CachePadded::new(Mutex::new(Tally::new())));
    let tallies: Vec<_> = tallies.collect();
    if let Some(end) = coordinator.advance(cells, &tallies, limits) {
        return end;
    }
    let shares = Shares {
        cells,
        claims: cells.iter().map(|_| CachePadded::default()).collect(),
        threads,
        sleeping: coordinator.sleeping,
    };
    if threads > 1 {
        coordinator.crew.resume(host_time());
    }
    loop {
        let end = if threads > 1 && coordinator.crew.is_together() {
            run_together(&shares, coordinator, &tallies, limits, world)
        } else {
            run_alone(&shares, coordinator, &tallies, limits, world)
        };
        if let Some(end) = end {
            return end;
        }
    }
}

/// Runs the threads in parallel until the run ends or they stop working together.
fn run_together(
    shares: &Shares<'_, '_>,
    coordinator: &mut Coordinator,
    tallies: &Tallies,
    limits: &Limits<'_>,
    world: Option<&WorldDriver>,
) -> Option<RunEnd> {
    let meeting = Meeting {
        shares,
        tallies,
        limits,
        window: Mutex::new(coordinator.window),
        coordinator: Mutex::new((coordinator, None)),
        busy_ns: AtomicU64::new(0),
        over: AtomicBool::new(false),
        barrier: Barrier::new(shares.threads),
    };
    scope(|scope| {
        for me in 1..shares.threads {
            let meeting = &meeting;
            scope.spawn(move || meeting.work(me, None));
        }
        meeting.work(0, world);
    });
    meeting.coordinator.into_inner().1
}

/// Runs all partitions in turn and reports to the run's observer, if any. Ends when the run ends or
/// several threads are to work together.
fn run_alone(
    shares: &Shares<'_, '_>,
    coordinator: &mut Coordinator,
    tallies: &Tallies,
    limits: &Limits<'_>,
    world: Option<&WorldDriver>,
) -> Option<RunEnd> {
    let several = shares.threads > 1;
    coordinator.observe(RunStep::Begun);
    loop {
        let window = coordinator.window;
        shares.run(0, &window, &mut tallies[0].lock(), world, |number| {
            coordinator.observe(RunStep::Partition(number));
        });
        if let Some(end) = coordinator.advance(shares.cells, tallies, limits) {
            coordinator.observe(RunStep::Ended);
            return Some(end);
        }
        coordinator.observe(RunStep::Decided);
        if several {
            coordinator.crew.judge(host_time(), Duration::ZERO);
            if coordinator.crew.is_together() {
                return None;
            }
        }
    }
}

/// The partitions, with a record of the windows in which threads began them.
struct Shares<'a, 'b> {
    cells: &'a Cells<'b>,
    /// Last window in which a thread began each partition.
    claims: Vec<CachePadded<AtomicU64>>,
    threads: usize,
    sleeping: bool,
}

impl Shares<'_, '_> {
    /// Runs partitions in the window. First come those assigned round-robin to thread `me`, so that
    /// partitions mostly stay on one thread. Then come those not begun by other threads, so that no
    /// thread idles. Partition 0 always stays on the first thread.
    #[inline]
    fn run(
        &self,
        me: usize,
        window: &Window,
        tally: &mut Tally,
        world: Option<&WorldDriver>,
        mut ran: impl FnMut(usize),
    ) {
        let mine = (me..self.cells.len()).step_by(self.threads);
        let others = (1..self.cells.len()).rev();
        for number in mine.chain(others.filter(|_| self.threads > 1)) {
            if self.claim(number, window) {
                let mut partition = self.cells[number].lock();
                let world = world.filter(|_| number == 0);
                tally.run(&mut partition, window, world, self.sleeping);
                drop(partition);
                ran(number);
            }
        }
    }

    /// Claims the partition for this window. Returns true if no thread had begun it yet.
    #[inline]
    fn claim(&self, number: usize, window: &Window) -> bool {
        let claim = &self.claims[number];
        claim.load(Ordering::Relaxed) != window.number
            && claim.swap(window.number, Ordering::AcqRel) != window.number
    }
}

/// State shared by the threads of a run.
struct Meeting<'a, 'b> {
    shares: &'a Shares<'a, 'b>,
    tallies: &'a Tallies,
    limits: &'a Limits<'a>,
    window: Mutex<Window>,
    coordinator: Mutex<(&'a mut Coordinator, Option<RunEnd>)>,
    /// Time in nanoseconds for which threads ran partitions in this window, summed.
    busy_ns: AtomicU64,
    over: AtomicBool,
    barrier: Barrier,
}

impl Meeting<'_, '_> {
    fn work(&self, me: usize, world: Option<&WorldDriver>) {
        // A panic in a component must not leave the others waiting.
        let guard = ShatterOnPanic(&self.barrier);
        while !self.over.load(Ordering::Acquire) {
            let window = *self.window.lock();
            let began = host_time();
            let mut tally = self.tallies[me].lock();
            self.shares.run(me, &window, &mut tally, world, |_| ());
            drop(tally);
            let busy = host_time().saturating_sub(began).as_nanos() as u64;
            self.busy_ns.fetch_add(busy, Ordering::Relaxed);
            let advance = || {
                let (coordinator, end) = &mut *self.coordinator.lock();
                *end = coordinator.advance(self.shares.cells, self.tallies, self.limits);
                *self.window.lock() = coordinator.window;
                let busy = Duration::from_nanos(self.busy_ns.swap(0, Ordering::Relaxed));
                coordinator.crew.judge(host_time(), busy);
                let over = end.is_some() || !coordinator.crew.is_together();
                self.over.store(over, Ordering::Release);
            };
            if self.barrier.meet(advance).is_err() {
                break;
            }
        }
        drop(guard);
    }
}

struct ShatterOnPanic<'a>(&'a Barrier);

impl Drop for ShatterOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.shatter();
        }
    }
}
