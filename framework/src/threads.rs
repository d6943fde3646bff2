//! Running the windows of several partitions, on one thread or many.

use crate::barrier::Barrier;
use crate::course::{Cells, Course, End, Limits};
use crate::sync::{AtomicBool, Mutex, Ordering, scope};
use crate::world::World;

/// Runs windows until the coordinator ends the run. `world` belongs to partition 0, which stays
/// on the calling thread.
pub(crate) fn run(
    cells: &Cells<'_>,
    course: &mut Course,
    limits: &Limits<'_>,
    world: Option<&World>,
    threads: usize,
) -> End {
    if threads <= 1 || cells.len() == 1 {
        return run_alone(cells, course, limits, world);
    }
    let threads = threads.min(cells.len());
    if let Some(end) = course.advance(cells, limits) {
        return end;
    }
    let meeting = Meeting {
        cells,
        limits,
        course: Mutex::new((course, None)),
        over: AtomicBool::new(false),
        barrier: Barrier::new(threads),
        threads,
    };
    scope(|scope| {
        for me in 1..threads {
            let meeting = &meeting;
            scope.spawn(move || meeting.work(me, None));
        }
        meeting.work(0, world);
    });
    let (_, end) = meeting.course.into_inner();
    end.expect("threads stop when the coordinator says so, or panic")
}

/// All partitions in turn, watched by the observer of the run if there is one.
fn run_alone(
    cells: &Cells<'_>,
    course: &mut Course,
    limits: &Limits<'_>,
    world: Option<&World>,
) -> End {
    loop {
        let end = course.advance(cells, limits);
        course.observe(None);
        if let Some(end) = end {
            return end;
        }
        for number in 0..cells.len() {
            run_share(cells, number, cells.len(), world);
            course.observe(Some(number));
        }
    }
}

/// Runs every `step`-th partition whose turn it is, from `first` on.
fn run_share(cells: &Cells<'_>, first: usize, step: usize, world: Option<&World>) {
    for (number, cell) in cells.iter().enumerate().skip(first).step_by(step) {
        let mut partition = cell.lock();
        if partition.turn {
            partition.run(world.filter(|_| number == 0));
        }
    }
}

/// What the threads of a run share.
struct Meeting<'a, 'b> {
    cells: &'a Cells<'b>,
    limits: &'a Limits<'a>,
    course: Mutex<(&'a mut Course, Option<End>)>,
    over: AtomicBool,
    barrier: Barrier,
    threads: usize,
}

impl Meeting<'_, '_> {
    fn work(&self, me: usize, world: Option<&World>) {
        // A panic in a component must not leave the others waiting.
        let guard = ShatterOnPanic(&self.barrier);
        while !self.over.load(Ordering::Acquire) {
            run_share(self.cells, me, self.threads, world);
            let advance = || {
                let (course, end) = &mut *self.course.lock();
                *end = course.advance(self.cells, self.limits);
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
