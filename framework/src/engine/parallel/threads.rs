//! Execution of the windows of several partitions, on one thread or many.

use std::time::Duration;

use crossbeam::utils::CachePadded;

use crate::engine::parallel::barrier::Barrier;
use crate::engine::parallel::claims::Claims;
use crate::engine::parallel::coordinator::{Coordinator, Limits, RunEnd, RunStep};
use crate::engine::parallel::exchange::{Exchange, Outgoing};
use crate::engine::parallel::found::{Cells, Found, FoundCell};
use crate::engine::parallel::window_cell::WindowCell;
use crate::engine::partition::{Ahead, Window};
use crate::sync::{Arc, Mutex, host_time, scope};
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
    let cuts = Arc::clone(&coordinator.cuts);
    let shares = Shares {
        cells,
        claims: Claims::new(threads, cells.len()),
        exchange: Exchange::new(&cuts, threads),
        threads,
        sleeping: coordinator.sleeping,
    };
    // Senders that waited when the system was divided.
    let mut outgoing = shares.exchange.outgoing();
    for cell in cells {
        let across = &mut cell.lock().shared.across;
        shares.exchange.post(across, &mut outgoing);
    }
    if let Some(end) = coordinator.advance(cells, shares.deliver_all(Found::NOTHING), limits) {
        return end;
    }
    if threads > 1 {
        coordinator.governor.resume(host_time());
    }
    loop {
        let end = if threads > 1 && coordinator.governor.is_together() {
            run_together(&shares, coordinator, limits, world)
        } else {
            run_alone(&shares, coordinator, limits, world)
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
    limits: &Limits<'_>,
    world: Option<&WorldDriver>,
) -> Option<RunEnd> {
    let cell = |_| CachePadded::new(FoundCell::new());
    let meeting = Meeting {
        shares,
        limits,
        found: (0..shares.threads).map(cell).collect(),
        window: CachePadded::new(WindowCell::new(&coordinator.window)),
        coordinator: Mutex::new((coordinator, None)),
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
    limits: &Limits<'_>,
    world: Option<&WorldDriver>,
) -> Option<RunEnd> {
    let several = shares.threads > 1;
    let mut outgoing = shares.exchange.outgoing();
    coordinator.observe(RunStep::Begun);
    loop {
        let window = coordinator.window;
        let found = shares.run(0, &window, world, &mut outgoing, |number| {
            coordinator.observe(RunStep::Partition(number));
        });
        let found = shares.deliver_all(found);
        coordinator.worked.alone += 1;
        if let Some(end) = coordinator.advance(shares.cells, found, limits) {
            coordinator.observe(RunStep::Ended);
            return Some(end);
        }
        coordinator.observe(RunStep::Decided);
        if several {
            coordinator.governor.judge(host_time(), Duration::ZERO);
            if coordinator.governor.is_together() {
                return None;
            }
        }
    }
}

/// The partitions, with what threads need to share them in a window.
struct Shares<'a, 'b> {
    cells: &'a Cells<'b>,
    claims: Claims,
    exchange: Exchange<'a>,
    threads: usize,
    sleeping: bool,
}

impl Shares<'_, '_> {
    /// Runs partitions in the window and returns what they found. First come those that belong to
    /// thread `me`, so that partitions mostly stay on one thread. Then come those not begun by
    /// other threads, so that no thread idles. Partition 0 always stays on the first thread.
    #[inline]
    fn run(
        &self,
        me: usize,
        window: &Window,
        world: Option<&WorldDriver>,
        outgoing: &mut Outgoing,
        mut ran: impl FnMut(usize),
    ) -> Found {
        let mut found = Found::NOTHING;
        while let Some(number) = self.claims.next(me, window.number) {
            let mut partition = self.cells[number].lock();
            if !window.resumed || partition.turn {
                match partition.run(window, world.filter(|_| number == 0)) {
                    Ahead::Wakes(first) => found.add_foreground(&partition, first),
                    Ahead::Various => found.add(&partition, self.sleeping),
                }
                // At once, while others still run: the next meeting has less to do.
                self.exchange.post(&mut partition.shared.across, outgoing);
            }
            drop(partition);
            ran(number);
        }
        found
    }

    /// Arranges the wake-ups across cuts in all partitions, on one thread.
    #[inline]
    fn deliver_all(&self, mut found: Found) -> Found {
        for thread in 0..self.threads {
            self.exchange.deliver(thread, self.cells, &mut found);
        }
        found
    }
}

/// State shared by the threads of a run.
struct Meeting<'a, 'b> {
    shares: &'a Shares<'a, 'b>,
    limits: &'a Limits<'a>,
    found: Vec<CachePadded<FoundCell>>,
    window: CachePadded<WindowCell>,
    coordinator: Mutex<(&'a mut Coordinator, Option<RunEnd>)>,
    barrier: Barrier,
}

impl Meeting<'_, '_> {
    fn work(&self, me: usize, world: Option<&WorldDriver>) {
        // A panic in a component must not leave the others waiting.
        let guard = ShatterOnPanic(&self.barrier);
        let mut outgoing = self.shares.exchange.outgoing();
        while let Some(window) = self.window.get() {
            let began = host_time();
            let mut found = self.shares.run(me, &window, world, &mut outgoing, |_| ());
            let busy = host_time().saturating_sub(began).as_nanos() as u64;
            // Wake-ups across cuts depend on both ends, which are at rest from here on.
            if self.barrier.meet(me, || ()).is_err() {
                break;
            }
            let cells = self.shares.cells;
            self.shares.exchange.deliver(me, cells, &mut found);
            self.found[me].set(&found, busy);
            if self.barrier.meet(me, || self.advance()).is_err() {
                break;
            }
        }
        drop(guard);
    }

    /// Opens the next window from what all threads found.
    fn advance(&self) {
        let (coordinator, end) = &mut *self.coordinator.lock();
        let (mut found, mut busy) = (Found::NOTHING, 0);
        for cell in &self.found {
            let (one, ns) = cell.get();
            found.merge(&one);
            busy += ns;
        }
        coordinator.worked.together += 1;
        *end = coordinator.advance(self.shares.cells, found, self.limits);
        let busy = Duration::from_nanos(busy);
        coordinator.governor.judge(host_time(), busy);
        let over = end.is_some() || !coordinator.governor.is_together();
        self.window.set(&coordinator.window, over);
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
