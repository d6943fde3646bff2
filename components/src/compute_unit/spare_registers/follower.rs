//! A wavefront in a loop: its iteration, and what is prefetched for later ones (PRE-M8).

use serde::{Deserialize, Serialize};
use warpweave_trace::{Code, KernelTrace, Lanes, Record};

use super::distance::IterationsLeft;
use super::plan::{LoadRole, PAIRS_MAX};
use crate::compute_unit::front::source::{Ahead, Source};
use crate::compute_unit::front::wavefront::Wavefront;
use crate::compute_unit::spec::spare_registers::DISTANCE_MAX;

/// Progress of one wavefront, and what it has prefetched.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Follower {
    /// Registers per thread that its launch leaves unused.
    pub(super) spare: u32,
    /// Header of the loop that it is in.
    pub(super) header: Option<u32>,
    /// Number of the iteration, from 1.
    pub(super) iteration: u32,
    pub(super) following: Option<Following>,
}

/// A loop whose plan is known, from the first iteration in which the wavefront learnt of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Following {
    pub(super) plan: u32,
    pub(super) since: u32,
    /// Iterations from a prefetch to its use; 0 if nothing is prefetched.
    pub(super) distance: u32,
    /// Latest execution of each head: iteration, mask and addresses.
    pub(super) last: [Option<(u32, u32, Lanes)>; PAIRS_MAX],
    /// Stride of each head, if it is derived; it holds for the whole loop.
    pub(super) derived: [Option<i64>; PAIRS_MAX],
    filled: [[Option<Filled>; DISTANCE_MAX]; 2 * PAIRS_MAX],
}

/// Place of a circular list that holds, or will hold, a prefetched value for some lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Filled {
    /// Iteration for which it was filled.
    pub(super) iteration: u32,
    pub(super) mask: u32,
}

impl Following {
    pub(super) fn new(plan: u32, since: u32, distance: u32) -> Self {
        Self {
            plan,
            since,
            distance,
            last: Default::default(),
            derived: Default::default(),
            filled: Default::default(),
        }
    }

    /// Returns the place for an iteration: writing and reading go round the same entries.
    pub(super) fn place(&self, iteration: u32) -> usize {
        (iteration % self.distance) as usize
    }

    fn list(&mut self, pair: usize, role: LoadRole) -> &mut [Option<Filled>; DISTANCE_MAX] {
        &mut self.filled[2 * pair + usize::from(role == LoadRole::Tail)]
    }

    /// Notes a value prefetched for an iteration.
    pub(super) fn fill(&mut self, pair: usize, role: LoadRole, filled: Filled) {
        let place = self.place(filled.iteration);
        self.list(pair, role)[place] = Some(filled);
    }

    /// Returns the lanes for which a value was prefetched for an iteration.
    pub(super) fn filled(&mut self, pair: usize, role: LoadRole, iteration: u32) -> u32 {
        let place = self.place(iteration);
        let filled = self.list(pair, role)[place];
        filled.map_or(0, |filled| {
            if filled.iteration == iteration {
                filled.mask
            } else {
                0
            }
        })
    }
}

/// The rest of a loop in a wavefront's stream.
pub(super) struct LoopAhead<'a> {
    pub(super) source: &'a mut Source,
    pub(super) wavefront: &'a mut Wavefront,
    pub(super) kernel: &'a KernelTrace,
    pub(super) header: u32,
}

/// A later iteration: its lanes, and the places of its records in the window.
pub(super) struct Iteration {
    pub(super) mask: u32,
    start: usize,
    end: usize,
}

/// True if an instruction is in the innermost loop of a header.
fn is_inside(code: &Code, header: u32, record: &Record) -> bool {
    let instruction = code.instructions.get(record.pc as usize);
    instruction.is_some_and(|instruction| instruction.loop_head == Some(header))
}

impl LoopAhead<'_> {
    /// Reads the records of this iteration and of so many later ones, or to the end of the loop.
    pub(super) fn read(&mut self, iterations: u32) {
        let (code, header) = (&self.kernel.code, self.header);
        let mut headers = 0;
        self.source
            .read_ahead(self.wavefront, self.kernel, |record| {
                headers += u32::from(record.pc == header);
                headers > iterations || !is_inside(code, header, record)
            });
    }

    /// Returns the records of the loop that were read ahead, with their places.
    pub(super) fn records(&self) -> impl Iterator<Item = (usize, &Ahead)> {
        let (code, header) = (&self.kernel.code, self.header);
        let inside = move |(_, ahead): &(usize, &Ahead)| is_inside(code, header, &ahead.record);
        self.source.window().enumerate().take_while(inside)
    }

    /// Counts the iterations after this one for each lane of `mask`, and `more` for each.
    pub(super) fn left(&self, mask: u32, more: u32) -> IterationsLeft {
        let headers = || self.records().filter(|(_, a)| a.record.pc == self.header);
        let lanes = (0..32).filter(|lane| mask >> lane & 1 != 0);
        let of_lane = |lane: u32| {
            let runs = headers().filter(|(_, a)| a.record.mask >> lane & 1 != 0);
            (runs.count() as u32 + more).min(IterationsLeft::MOST)
        };
        IterationsLeft {
            sum: lanes.map(of_lane).sum(),
            lanes: mask.count_ones(),
        }
    }

    /// Returns those of some lanes whose last record in the loop is none of these instructions.
    pub(super) fn ending_elsewhere(&self, lanes: u32, instructions: &[u32]) -> u32 {
        self.records().fold(lanes, |elsewhere, (_, ahead)| {
            let mask = ahead.record.mask & lanes;
            if instructions.contains(&ahead.record.pc) {
                elsewhere & !mask
            } else {
                elsewhere | mask
            }
        })
    }

    /// Returns the iteration that is so many after this one; none if the loop ends before.
    pub(super) fn iteration(&self, distance: u32) -> Option<Iteration> {
        let mut headers = 0;
        let mut found = None;
        for (place, ahead) in self.records() {
            headers += u32::from(ahead.record.pc == self.header);
            if headers > distance {
                break;
            }
            if headers == distance {
                let iteration = found.get_or_insert(Iteration {
                    mask: ahead.record.mask,
                    start: place,
                    end: place,
                });
                iteration.end = place + 1;
            }
        }
        found
    }

    /// Returns the place of an iteration's first record of an instruction.
    pub(super) fn find(&self, iteration: &Iteration, pc: u32) -> Option<(usize, &Ahead)> {
        let within = self.records().skip(iteration.start);
        let mut within = within.take(iteration.end - iteration.start);
        within.find(|(_, ahead)| ahead.record.pc == pc && !ahead.record.continues)
    }
}
