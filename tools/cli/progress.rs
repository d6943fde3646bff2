//! The progress bar: on terminals only, on standard error, drawn by its own thread.
//!
//! The simulation hands its progress to a channel of one place and goes on; when the terminal is
//! slow, it misses a report rather than a cycle.

use std::io::{self, IsTerminal};
use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, Sender, bounded};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use warpweave_systems::Progress;

use crate::host::Stopwatch;

/// What the bar is told.
enum News {
    Phase(&'static str),
    Progress(Progress),
}

/// Shows how far a run has come.
pub(crate) struct Bar {
    /// Absent when nobody would see the bar.
    drawing: Option<(Sender<News>, JoinHandle<()>)>,
}

impl Bar {
    /// A bar, or nothing when `quiet` or when standard error is no terminal.
    pub(crate) fn new(quiet: bool) -> Self {
        let visible = !quiet && io::stderr().is_terminal();
        let drawing = visible.then(|| {
            let (sender, receiver) = bounded(1);
            (sender, std::thread::spawn(move || draw(&receiver)))
        });
        Self { drawing }
    }

    /// Says which phase has begun.
    pub(crate) fn phase(&self, name: &'static str) {
        if let Some((sender, _)) = &self.drawing {
            // Phases are few and each is shown; the drawer has gone only if its thread failed.
            let _ = sender.send(News::Phase(name));
        }
    }

    /// Shows a simulation's progress, unless the last one is still being drawn.
    pub(crate) fn show(&self, progress: Progress) {
        if let Some((sender, _)) = &self.drawing {
            let _ = sender.try_send(News::Progress(progress));
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(self) {
        if let Some((sender, thread)) = self.drawing {
            drop(sender);
            let _ = thread.join();
        }
    }
}

fn draw(news: &Receiver<News>) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let mut since = Stopwatch::start();
    for news in news {
        match news {
            News::Phase(name) => {
                since = Stopwatch::start();
                bar.set_style(style("{spinner} {msg}"));
                bar.set_message(name);
                bar.tick();
            }
            News::Progress(progress) => {
                let rate = progress.cycle as f64 / since.wall_s().max(1e-9);
                // The time left follows from the launches completed; before the first it is
                // unknown.
                let left = if progress.kernels_done > 0 {
                    ", {eta} left"
                } else {
                    ""
                };
                bar.set_style(style(&format!(
                    "{{bar:24}} kernel {{pos}}/{{len}}, {{msg}}{left}"
                )));
                bar.set_length(progress.kernels as u64);
                bar.set_position(progress.kernels_done as u64);
                bar.set_message(format!("cycle {}, {rate:.0} cycles/s", progress.cycle));
            }
        }
    }
    bar.finish_and_clear();
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are written here")
}
