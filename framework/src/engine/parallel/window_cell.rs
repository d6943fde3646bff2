//! The current window, as all threads of a run read it.

use crate::engine::partition::{Background, Window};
use crate::sync::{AtomicU64, Ordering};
use crate::time::Tick;

/// A window in words that threads read without excluding one another. It is written before they
/// leave the barrier.
pub(super) struct WindowCell {
    number: AtomicU64,
    end: AtomicU64,
    alive: AtomicU64,
    silence: AtomicU64,
    flags: AtomicU64,
}

const RESUMED: u64 = 1;
const ENDING: u64 = 2;
const COUNTS: u64 = 4;
/// No window follows for these threads.
const OVER: u64 = 8;

impl WindowCell {
    pub(super) fn new(window: &Window) -> Self {
        let word = || AtomicU64::new(0);
        let cell = Self {
            number: word(),
            end: word(),
            alive: word(),
            silence: word(),
            flags: word(),
        };
        cell.set(window, false);
        cell
    }

    /// Stores the next window, or that there is none for these threads.
    pub(super) fn set(&self, window: &Window, over: bool) {
        let counts = window.background == Background::Counts;
        let flags = [
            (window.resumed, RESUMED),
            (window.ending, ENDING),
            (counts, COUNTS),
            (over, OVER),
        ];
        let flags = flags.map(|(holds, flag)| u64::from(holds) * flag);
        let alive = window.alive.map_or(u64::MAX, |tick| tick.0);
        let words = [
            (&self.number, window.number),
            (&self.end, window.end),
            (&self.alive, alive),
            (&self.silence, window.silence),
            (&self.flags, flags.iter().sum()),
        ];
        for (cell, word) in words {
            cell.store(word, Ordering::Relaxed);
        }
    }

    /// Returns the window; `None` if there is none for these threads.
    pub(super) fn get(&self) -> Option<Window> {
        let flags = self.flags.load(Ordering::Relaxed);
        let alive = self.alive.load(Ordering::Relaxed);
        let background = if flags & COUNTS != 0 {
            Background::Counts
        } else {
            Background::Waits
        };
        (flags & OVER == 0).then(|| Window {
            number: self.number.load(Ordering::Relaxed),
            resumed: flags & RESUMED != 0,
            end: self.end.load(Ordering::Relaxed),
            alive: (alive != u64::MAX).then_some(Tick(alive)),
            silence: self.silence.load(Ordering::Relaxed),
            background,
            ending: flags & ENDING != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_returns_every_part_of_the_window() {
        let window = Window {
            number: 1,
            resumed: true,
            end: 2,
            alive: Some(Tick(3)),
            silence: 4,
            background: Background::Counts,
            ending: false,
        };
        let other = Window {
            resumed: false,
            alive: None,
            background: Background::Waits,
            ending: true,
            ..window
        };
        let cell = WindowCell::new(&other);
        assert_eq!(cell.get(), Some(other));
        cell.set(&window, false);
        assert_eq!(cell.get(), Some(window));
        cell.set(&window, true);
        assert_eq!(cell.get(), None);
    }
}
