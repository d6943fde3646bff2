//! Running the windows of several partitions, on one thread or many.

use crate::engine::parallel::barrier::Barrier;
use crate::engine::parallel::coordinator::{Coordinator, Limits, RunEnd, RunStep};
use crate::engine::parallel::tally::{Cells, Tally};
use crate::engine::partition::Window;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, scope};
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
    let tallies: Vec<_> = (0..threads).map(|_| Mutex::new(Tally::new())).collect();
    if let Some(end) = coordinator.advance(cells, &tallies, limits) {
        return end;
    }
    let shares = Shares {
        cells,
        claims: (0..cells.len()).map(|_| AtomicU64::new(0)).collect(),
        threads,
        sleeping: coordinator.sleeping,
    };
    if threads == 1 {
        return run_alone(&shares, coordinator, &tallies, limits, world);
    }
    let meeting = Meeting {
        shares,
        tallies,
        limits,
        window: Mutex::new(coordinator.window),
        coordinator: Mutex::new((coordinator, None)),
        over: AtomicBool::new(false),
        barrier: Barrier::new(threads),
    };
    scope(|scope| {
        for me in 1..threads {
            let meeting = &meeting;
            scope.spawn(move || meeting.work(me, None));
        }
        meeting.work(0, world);
    });
    let (_, end) = meeting.coordinator.into_inner();
    end.expect("threads stop when the coordinator says so, or panic")
}

/// All partitions in turn, watched by the observer of the run if there is one.
fn run_alone(
    shares: &Shares<'_, '_>,
    coordinator: &mut Coordinator,
    tallies: &[Mutex<Tally>],
    limits: &Limits<'_>,
    world: Option<&WorldDriver>,
) -> RunEnd {
    coordinator.observe(RunStep::Begun);
    loop {
        let window = coordinator.window;
        shares.run(0, &window, &mut tallies[0].lock(), world, |number| {
            coordinator.observe(RunStep::Partition(number));
        });
        if let Some(end) = coordinator.advance(shares.cells, tallies, limits) {
            coordinator.observe(RunStep::Ended);
            return end;
        }
        coordinator.observe(RunStep::Decided);
    }
}

/// The partitions and who has begun them.
struct Shares<'a, 'b> {
    cells: &'a Cells<'b>,
    /// Per partition the last window in which a thread began it.
    claims: Vec<AtomicU64>,
    threads: usize,
    sleeping: bool,
}

impl Shares<'_, '_> {
    /// Runs partitions in the window: first every so-many-th from `me` on, so that they mostly stay
    /// where they are, then those that others have not begun, so that nobody waits for somebody with
    /// more work in this window. Partition 0 is never taken from the first thread.
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

    /// Whether nobody had begun the partition in this window; now somebody has.
    #[inline]
    fn claim(&self, number: usize, window: &Window) -> bool {
        let claim = &self.claims[number];
        claim.load(Ordering::Relaxed) != window.number
            && claim.swap(window.number, Ordering::AcqRel) != window.number
    }
}

/// What the threads of a run share.
struct Meeting<'a, 'b> {
    shares: Shares<'a, 'b>,
    /// Per thread.
    tallies: Vec<Mutex<Tally>>,
    limits: &'a Limits<'a>,
    window: Mutex<Window>,
    coordinator: Mutex<(&'a mut Coordinator, Option<RunEnd>)>,
    over: AtomicBool,
    barrier: Barrier,
}

impl Meeting<'_, '_> {
    fn work(&self, me: usize, world: Option<&WorldDriver>) {
        // A panic in a component must not leave the others waiting.
        let guard = ShatterOnPanic(&self.barrier);
        while !self.over.load(Ordering::Acquire) {
            let window = *self.window.lock();
            let mut tally = self.tallies[me].lock();
            self.shares.run(me, &window, &mut tally, world, |_| ());
            drop(tally);
            let advance = || {
                let (coordinator, end) = &mut *self.coordinator.lock();
                *end = coordinator.advance(self.shares.cells, &self.tallies, self.limits);
                *self.window.lock() = coordinator.window;
                self.over.store(end.is_some(), Ordering::Release);
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
