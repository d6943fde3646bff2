//! The pipes behind one scheduler: a class with an initiation interval above 1 occupies one.

use warpweave_framework::{Cycle, State};
use warpweave_trace::Class;

/// The pipes behind one scheduler, by instruction class.
#[derive(Clone, State)]
#[state(restore = ClassPipes::note_used)]
pub(crate) struct ClassPipes {
    /// Bit mask of possibly busy pipes; `free_at` is the first cycle in which each accepts an
    /// instruction again.
    #[state(skip)]
    busy: u32,
    #[state(array)]
    free_at: [Cycle; Class::COUNT],
}

impl ClassPipes {
    pub(crate) fn new() -> Self {
        Self {
            busy: 0,
            free_at: [0; Class::COUNT],
        }
    }

    /// Returns the wavefronts whose next instruction needs a pipe that is busy in cycle `now`;
    /// `next_of_pipe` has the wavefronts by pipe.
    #[inline]
    pub(crate) fn blocked(&self, next_of_pipe: &[u64; Class::COUNT], now: Cycle) -> u64 {
        let mut behind = 0;
        let mut busy = self.busy;
        while busy != 0 {
            let pipe = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            if self.free_at[pipe] > now {
                behind |= next_of_pipe[pipe];
            }
        }
        behind
    }

    /// Clears the busy bits of pipes that accept an instruction in cycle `now`.
    #[inline]
    pub(crate) fn release(&mut self, now: Cycle) {
        let mut busy = self.busy;
        while busy != 0 {
            let pipe = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            if self.free_at[pipe] <= now {
                self.busy &= !(1 << pipe);
            }
        }
    }

    /// A pipe takes no instruction before cycle `until`.
    #[inline(always)]
    pub(crate) fn occupy(&mut self, pipe: usize, until: Cycle) {
        self.busy |= 1 << pipe;
        self.free_at[pipe] = until;
    }

    /// The first cycle after `now` in which a pipe that one of `candidates` needs is free.
    pub(crate) fn next_free(
        &self,
        next_of_pipe: &[u64; Class::COUNT],
        candidates: u64,
        now: Cycle,
    ) -> Cycle {
        let mut first = Cycle::MAX;
        let mut busy = self.busy;
        while busy != 0 {
            let pipe = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            let needed = next_of_pipe[pipe] & candidates != 0;
            if needed && self.free_at[pipe] > now {
                first = first.min(self.free_at[pipe]);
            }
        }
        first
    }

    /// The first cycle in which every pipe takes an instruction.
    pub(crate) fn all_free_at(&self) -> Cycle {
        self.free_at.iter().copied().max().unwrap_or(0)
    }

    /// Takes every pipe that was ever used for one that may be busy.
    fn note_used(&mut self) {
        let used = self.free_at.iter().enumerate().filter(|(_, at)| **at > 0);
        self.busy = used.fold(0, |busy, (pipe, _)| busy | 1 << pipe);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_pipe_keeps_back_those_that_need_it_until_it_is_free() {
        let mut pipes = ClassPipes::new();
        let mut next_of_pipe = [0; Class::COUNT];
        next_of_pipe[3] = 0b011;
        pipes.occupy(3, 9);
        let behind = [8, 9].map(|now| pipes.blocked(&next_of_pipe, now));
        assert_eq!(behind, [0b011, 0]);
        assert_eq!(pipes.next_free(&next_of_pipe, 0b001, 5), 9);
        assert_eq!(pipes.next_free(&next_of_pipe, 0b100, 5), Cycle::MAX);
        assert_eq!(pipes.all_free_at(), 9);
        pipes.release(9);
        assert_eq!(pipes.busy, 0);
    }
}
