//! The progress bar: on terminals only, on standard error.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use warpweave_systems::Progress;

use crate::host::Stopwatch;

/// Shows how far a run has come.
pub(crate) struct Bar {
    bar: ProgressBar,
    watch: Stopwatch,
}

impl Bar {
    /// A bar, or nothing visible when `quiet` or when standard error is no terminal.
    pub(crate) fn new(quiet: bool) -> Self {
        let target = if quiet || !io::stderr().is_terminal() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        Self { bar: ProgressBar::with_draw_target(None, target), watch: Stopwatch::start() }
    }

    /// Says which phase has begun.
    pub(crate) fn phase(&self, name: &str) {
        self.bar.set_style(
            ProgressStyle::with_template("{spinner} {msg}").expect("the template is constant"),
        );
        self.bar.set_message(name.to_owned());
        self.bar.tick();
    }

    /// Shows a simulation's progress; the time left is known once launches complete.
    pub(crate) fn show(&self, progress: Progress) {
        self.bar.set_style(
            ProgressStyle::with_template("{bar:24} kernel {pos}/{len}, {msg}, {eta} left")
                .expect("the template is constant"),
        );
        self.bar.set_length(progress.kernels as u64);
        self.bar.set_position(progress.kernels_done as u64);
        let rate = progress.cycle as f64 / self.watch.wall_s().max(1e-9);
        self.bar.set_message(format!("cycle {}, {:.0} cycles/s", progress.cycle, rate));
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
