//! Progress on standard error, shown by its own thread: a bar on a terminal, else a line now and
//! then.
//!
//! The thread redraws several times a second, independent of other work. Emulation stores its
//! numbers in [`EmulationProgress`]. The simulation sends its progress only if the last message was
//! received and some time has passed, and never waits.

use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use warpweave_systems::host_program::EmulationProgress;
use warpweave_systems::{Machine, Progress};

use crate::host::Stopwatch;
use crate::outcome::to_stderr;

/// Interval between two redraws of the progress bar.
const PICTURES: Duration = Duration::from_millis(200);

/// Interval between two lines where there is no terminal.
pub(crate) const LINES: Duration = Duration::from_secs(30);

/// Message to the thread that draws the bar.
enum ProgressEvent {
    Phase(&'static str),
    Emulating(Arc<EmulationProgress>),
    Simulated(Simulated),
}

/// Progress of a simulation, shown by the bar.
#[derive(Clone, Copy)]
struct Simulated {
    progress: Progress,
    /// Number of finished work-groups and their total.
    work_groups: Option<(u64, u64)>,
}

/// Progress bar that shows the phases of a run.
pub(crate) struct Bar {
    /// Drawing thread, or `None` if the bar would not be visible.
    drawing: Option<Drawing>,
}

struct Drawing {
    /// Interval between two redraws, or between two lines.
    pictures: Duration,
    sender: Sender<ProgressEvent>,
    thread: JoinHandle<()>,
    clock: Stopwatch,
    /// Time of the last progress query, in seconds.
    asked: Cell<f64>,
}

impl Bar {
    /// Creates a bar, which stays hidden if `quiet`. Where standard error is no terminal, lines
    /// take its place.
    pub(crate) fn new(quiet: bool) -> Self {
        let drawing = (!quiet).then(|| {
            let (sender, receiver) = bounded(1);
            let pictures = if io::stderr().is_terminal() {
                PICTURES
            } else {
                LINES
            };
            Drawing {
                pictures,
                sender,
                thread: std::thread::spawn(move || draw(&receiver, pictures)),
                clock: Stopwatch::start(),
                asked: Cell::new(0.0),
            }
        });
        Self { drawing }
    }

    /// Reports that a new phase has begun.
    pub(crate) fn phase(&self, name: &'static str) {
        self.tell(ProgressEvent::Phase(name));
    }

    /// Reports that emulation has begun, and the source of its progress.
    pub(crate) fn emulating(&self, progress: &Arc<EmulationProgress>) {
        self.tell(ProgressEvent::Emulating(Arc::clone(progress)));
    }

    /// Shows a simulation's progress, unless the last one is unread or recent, since a query costs
    /// time.
    pub(crate) fn show(&self, machine: &Machine) {
        let Some(drawing) = &self.drawing else { return };
        let now = drawing.clock.wall_s();
        if drawing.sender.is_empty() && now - drawing.asked.get() >= drawing.pictures.as_secs_f64()
        {
            drawing.asked.set(now);
            let _ = drawing.sender.try_send(ProgressEvent::Simulated(Simulated {
                progress: machine.progress(),
                work_groups: machine.work_groups(),
            }));
        }
    }

    fn tell(&self, news: ProgressEvent) {
        if let Some(drawing) = &self.drawing {
            // Phases are few and each is shown; the drawer has gone only if its thread failed.
            let _ = drawing.sender.send(news);
        }
    }

    /// Removes the bar from the terminal.
    pub(crate) fn finish(self) {
        if let Some(drawing) = self.drawing {
            drop(drawing.sender);
            let _ = drawing.thread.join();
        }
    }
}

fn draw(news: &Receiver<ProgressEvent>, pictures: Duration) {
    let bar = (pictures == PICTURES)
        .then(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()));
    let mut latest = ProgressEvent::Phase("starting");
    let mut since = Stopwatch::start();
    // Of the launch under emulation: its number, and since when.
    let mut launch = (0, Stopwatch::start());
    let mut drawn = Stopwatch::start();
    loop {
        match news.recv_timeout(pictures) {
            Ok(new) => {
                if !matches!(new, ProgressEvent::Simulated(_)) {
                    since = Stopwatch::start();
                }
                latest = new;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if bar.is_none() && drawn.wall_s() < pictures.as_secs_f64() {
            continue;
        }
        drawn = Stopwatch::start();
        let (words, done) = match &latest {
            ProgressEvent::Phase(name) => ((*name).to_owned(), None),
            ProgressEvent::Emulating(progress) => {
                if progress.launches() != launch.0 {
                    launch = (progress.launches(), Stopwatch::start());
                }
                emulating(progress, launch.1.wall_s())
            }
            ProgressEvent::Simulated(simulated) => simulating(*simulated, since.wall_s()),
        };
        match &bar {
            Some(bar) => picture(bar, words, done),
            None => to_stderr(&words),
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn picture(bar: &ProgressBar, words: String, done: Option<(u64, u64)>) {
    let template = match done {
        Some((done, all)) => {
            bar.set_length(all);
            bar.set_position(done);
            "{spinner} {bar:24} {msg}"
        }
        None => "{spinner} {msg}",
    };
    bar.set_style(style(template));
    bar.set_message(words);
    bar.tick();
}

/// Text of the bar, with the done and total amounts if known.
type Picture = (String, Option<(u64, u64)>);

fn emulating(progress: &EmulationProgress, seconds: f64) -> Picture {
    let (done, all) = progress.work_groups();
    if all == 0 {
        return ("emulating the program".to_owned(), None);
    }
    let from_device = progress.from_device();
    if from_device > 0 {
        let launch = progress.launches();
        let words = format!("emulating launch {launch}, {from_device} kernels from the device");
        return (words, None);
    }
    let words = format!(
        "emulating launch {}, work-groups {done}/{all}{}",
        progress.launches(),
        left(done, all, seconds, " of it")
    );
    (words, Some((done, all)))
}

fn simulating(simulated: Simulated, seconds: f64) -> Picture {
    let Simulated {
        progress,
        work_groups,
    } = simulated;
    let rate = progress.cycle as f64 / seconds.max(1e-9);
    let kernels = (progress.kernels_done as u64, progress.kernels as u64);
    let (groups, (done, all)) = match work_groups {
        Some((done, all)) => (format!(", work-groups {done}/{all}"), (done, all)),
        None => (String::new(), kernels),
    };
    let words = format!(
        "kernel {}/{}{groups}, cycle {}, {rate:.0} cycles/s{}",
        kernels.0,
        kernels.1,
        progress.cycle,
        left(done, all, seconds, "")
    );
    (words, Some((done, all)))
}

/// Formats the remaining time, extrapolated from the `seconds` spent on the finished part. Returns
/// an empty text if nothing is finished yet.
fn left(done: u64, all: u64, seconds: f64, of: &str) -> String {
    if done == 0 || done >= all {
        return String::new();
    }
    let left = seconds * (all - done) as f64 / done as f64;
    format!(", {}{of} left", duration(left))
}

/// Formats a duration in seconds, minutes or hours, rounded up.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.ceil() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m}:{s:02} min"),
        (h, m, _) => format!("{h}:{m:02} h"),
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_what_is_done() {
        assert_eq!(left(0, 10, 5.0, ""), "");
        assert_eq!(left(5, 10, 5.0, " of it"), ", 5 s of it left");
        assert_eq!(left(1, 11, 10.0, ""), ", 1:40 min left");
        assert_eq!(left(1, 1001, 10.0, ""), ", 2:46 h left");
        assert_eq!(left(10, 10, 5.0, ""), "");
    }

    #[test]
    fn the_picture_tells_work_groups_and_falls_back_to_kernels() {
        let progress = Progress {
            cycle: 500,
            kernels_done: 1,
            kernels: 4,
        };
        let of = |work_groups| {
            let simulated = Simulated {
                progress,
                work_groups,
            };
            simulating(simulated, 5.0)
        };
        let (words, done) = of(Some((10, 20)));
        assert_eq!(
            words,
            "kernel 1/4, work-groups 10/20, cycle 500, 100 cycles/s, 5 s left"
        );
        assert_eq!(done, Some((10, 20)));
        let (words, done) = of(None);
        assert_eq!(words, "kernel 1/4, cycle 500, 100 cycles/s, 15 s left");
        assert_eq!(done, Some((1, 4)));
    }

    #[test]
    fn an_emulation_that_has_launched_nothing_has_no_bar() {
        let (words, done) = emulating(&EmulationProgress::default(), 1.0);
        assert_eq!((words.as_str(), done), ("emulating the program", None));
    }
}
