//! Ports of the register file: banks that operands are read from, and results written per cycle.
//!
//! ```text
//!   issue ──► a collector until its last operand is read ──► execution ──► result
//!                 │ so many registers per bank and cycle             │ so many per cycle
//! ```
//!
//! Registers of one instruction in one bank are read one after the other, and behind those of instructions that
//! issued before. An instruction issues only when a collector is free, and when its result has room in the cycle in
//! which it comes. Source: operand collectors and result buses as in GPGPU-Sim, there with an arbiter among them.
//!
//! Time is counted in steps here, of which a cycle has as many as a bank reads registers.

use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State};
use warpweave_trace::RegisterSet;

use crate::compute_unit::spec::{BANKS_MAX, ComputeUnitSpec};

/// Most registers that an instruction reads.
const MOST: usize = RegisterSet::FIRST_PREDICATE as usize;

/// What of the register file is limited, none in a unit without limits.
#[derive(State)]
pub(crate) struct RegisterFile {
    #[state(flatten)]
    banks: Option<Banks>,
    #[state(flatten)]
    results: Option<Results>,
}

/// Registers and result of an instruction, for the register file.
pub(crate) struct Operands<'a> {
    /// Registers that it reads.
    pub(crate) sources: &'a [u8],
    /// Cycles from issue to its result, if it has one.
    pub(crate) result_latency: Option<u32>,
}

#[derive(State)]
#[state(restore = Banks::find_collectors)]
struct Banks {
    #[state(skip)]
    layout: Layout,
    /// By bank, the first step in which it reads for somebody else. Those of a part lie together.
    #[state(array, rename = "bank_free_at")]
    free_at: Vec<u64>,
    /// By collector, the first cycle in which it takes an instruction again. Those of a part lie together.
    #[state(array)]
    collectors: Vec<Cycle>,
    /// By part, the first cycle in which one of its collectors does; derived from those above.
    #[state(skip)]
    collector_at: Vec<Cycle>,
}

/// Where registers lie and how they are read.
#[derive(Clone, Copy)]
struct Layout {
    by_wavefront: bool,
    one_by_one: bool,
    /// Steps of a cycle.
    steps: u64,
    /// Equal parts of banks and of collectors, of which a slot has the one of its number modulo these.
    parts: usize,
    /// Banks and collectors of each.
    banks: usize,
    collectors: usize,
    /// The longest that an instruction waits; what comes from a damaged checkpoint does not wait longer.
    wait_max: u64,
}

#[derive(State)]
#[state(restore = Results::find_last_full)]
struct Results {
    #[state(skip)]
    per_cycle: u32,
    /// A ring of cycles, longer than any result takes: a cycle, and how many results come in it.
    #[state(array, rename = "results")]
    due: Vec<Due>,
    /// The last cycle in which as many come as may; derived from those above.
    #[state(skip)]
    last_full: Cycle,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Due {
    cycle: Cycle,
    results: u32,
}

impl RegisterFile {
    /// The register file of a unit whose instructions read at most `sources` registers; `horizon` is the longest
    /// that a result takes, bank conflicts included.
    pub(crate) fn of(spec: &ComputeUnitSpec, sources: u32, horizon: u64) -> Option<Box<Self>> {
        if spec.register_banks.is_none() && spec.results_per_cycle.is_none() {
            return None;
        }
        let banks = spec.register_banks.map(|banks| {
            let parts = banks.parts(spec.schedulers) as usize;
            let (count, collectors) = (banks.banks as usize, banks.collectors as usize);
            Banks {
                layout: Layout {
                    by_wavefront: banks.by_wavefront,
                    one_by_one: banks.one_by_one,
                    steps: banks.reads_per_cycle.into(),
                    parts,
                    banks: count / parts,
                    collectors: collectors / parts,
                    wait_max: banks.longest_wait(sources).into(),
                },
                free_at: vec![0; count],
                collectors: vec![0; collectors],
                collector_at: vec![0; parts],
            }
        });
        let results = spec.results_per_cycle.map(|per_cycle| Results {
            per_cycle,
            due: vec![Due::default(); (horizon + 1) as usize],
            last_full: 0,
        });
        Some(Box::new(Self { banks, results }))
    }

    /// How much later than `now` the last of these registers of a wavefront slot is read.
    fn wait(&self, slot: usize, sources: &[u8], now: Cycle) -> u32 {
        let Some(banks) = &self.banks else { return 0 };
        let mut free_at = [0; BANKS_MAX];
        let free_at = &mut free_at[..banks.free_at.len()];
        free_at.copy_from_slice(&banks.free_at);
        banks.layout.read(free_at, slot, sources, now)
    }

    /// An instruction issues: reads its registers, and gives back how much later than `now` the last is.
    pub(crate) fn read(&mut self, slot: usize, sources: &[u8], now: Cycle) -> u32 {
        let Some(banks) = &mut self.banks else {
            return 0;
        };
        let wait = banks.layout.read(&mut banks.free_at, slot, sources, now);
        banks.collect(slot, now, now + u64::from(wait) + 1);
        wait
    }

    /// A result comes in cycle `at`.
    pub(crate) fn write(&mut self, at: Cycle) {
        let Some(results) = &mut self.results else {
            return;
        };
        let length = results.due.len() as u64;
        let due = &mut results.due[(at % length) as usize];
        if due.cycle != at {
            *due = Due {
                cycle: at,
                results: 0,
            };
        }
        due.results += 1;
        debug_assert!(due.results <= results.per_cycle);
        if due.results >= results.per_cycle {
            results.last_full = results.last_full.max(at);
        }
    }

    /// Whether as many results come in cycle `at` as may.
    fn is_full(&self, at: Cycle) -> bool {
        self.results.as_ref().is_some_and(|results| {
            let due = results.due[(at % results.due.len() as u64) as usize];
            due.cycle == at && due.results >= results.per_cycle
        })
    }

    /// The first cycle in which a collector takes an instruction of this scheduler; 0, where there are none.
    #[inline]
    fn collector_at(&self, scheduler: usize) -> Cycle {
        let banks = self.banks.as_ref();
        // Parts are those of schedulers, or there is one.
        banks.map_or(0, |banks| {
            banks.collector_at[scheduler % banks.collector_at.len()]
        })
    }

    /// A cycle from which on nobody is kept back by what has issued until `now`, of instructions with a result or
    /// without.
    pub(crate) fn settled_at(&self, now: Cycle, with_result: bool) -> Cycle {
        let banks = self.banks.as_ref();
        let read = banks.and_then(|banks| banks.collectors.iter().max());
        let results = self.results.as_ref().filter(|_| with_result);
        let written = results.map_or(0, |results| now + results.due.len() as u64);
        written.max(*read.unwrap_or(&0))
    }

    /// Returns true if the register file may keep an instruction of this scheduler back in cycle
    /// `now` or later, by what has issued; `have_results` tells if one has a result.
    #[inline]
    pub(crate) fn may_block(
        &self,
        scheduler: usize,
        now: Cycle,
        have_results: impl FnOnce() -> bool,
    ) -> bool {
        self.collector_at(scheduler) > now || self.results.is_some() && have_results()
    }

    /// Those of a scheduler's `wavefronts` that the register file keeps from issuing in cycle `now`; `next` tells
    /// their next instructions.
    #[inline]
    pub(crate) fn blocked<'a>(
        &self,
        scheduler: usize,
        wavefronts: u64,
        now: Cycle,
        next: impl Fn(usize) -> Operands<'a>,
    ) -> u64 {
        if self.collector_at(scheduler) > now {
            return wavefronts;
        }
        let mut blocked = 0;
        let last_full = self.results.as_ref().map_or(0, |results| results.last_full);
        let mut left = if last_full > now { wavefronts } else { 0 };
        while left != 0 {
            let slot = left.trailing_zeros() as usize;
            left &= left - 1;
            let Operands {
                sources,
                result_latency,
            } = next(slot);
            // Most results come later than all that have issued.
            let Some(latency) =
                result_latency.filter(|latency| now + u64::from(*latency) <= last_full)
            else {
                continue;
            };
            let at = now + u64::from(latency + self.wait(slot, sources, now));
            blocked |= u64::from(self.is_full(at)) << slot;
        }
        blocked
    }
}

impl Results {
    fn find_last_full(&mut self) {
        let most = self.per_cycle;
        let full = self.due.iter().filter(|due| due.results >= most);
        self.last_full = full.map(|due| due.cycle).max().unwrap_or(0);
    }
}

impl Banks {
    /// An instruction of a slot takes a collector that is free in cycle `now`, until `end`.
    fn collect(&mut self, slot: usize, now: Cycle, end: Cycle) {
        let part = slot % self.layout.parts;
        let mut own = self.of_part(part).iter_mut();
        let free = own.find(|at| **at <= now);
        *free.expect("no instruction issues without a collector") = end;
        self.find_collector(part);
    }

    fn find_collectors(&mut self) {
        (0..self.layout.parts).for_each(|part| self.find_collector(part));
    }

    fn find_collector(&mut self, part: usize) {
        let mut first = Cycle::MAX;
        for at in self.of_part(part) {
            first = first.min(*at);
        }
        self.collector_at[part] = first;
    }

    /// The collectors of a part.
    #[inline]
    fn of_part(&mut self, part: usize) -> &mut [Cycle] {
        let count = self.layout.collectors;
        &mut self.collectors[part * count..][..count]
    }
}

/// Reads a register from a bank that is free from some step on, not before `open`; gives back the step.
#[inline]
fn take(free_at: &mut u64, open: u64) -> u64 {
    let step = (*free_at).max(open);
    *free_at = step.saturating_add(1);
    step
}

impl Layout {
    /// The bank that holds a register of a wavefront slot.
    #[inline]
    fn bank(self, slot: usize, register: u8) -> usize {
        let shift = if self.by_wavefront { slot } else { 0 };
        slot % self.parts * self.banks + (usize::from(register) + shift) % self.banks
    }

    /// Reads these registers from banks that are free from the steps `free_at` on, which become those of what comes
    /// after; gives back how much later than cycle `now` the last one is read.
    #[inline]
    fn read(self, free_at: &mut [u64], slot: usize, sources: &[u8], now: Cycle) -> u32 {
        // The first step in which the collector takes a register.
        let mut open = now.saturating_mul(self.steps);
        let mut last = open;
        match sources {
            [] => return 0,
            [source] => last = take(&mut free_at[self.bank(slot, *source)], open),
            _ if !self.one_by_one => {
                for source in sources {
                    last = last.max(take(&mut free_at[self.bank(slot, *source)], open));
                }
            }
            _ => {
                let banks = sources.iter().map(|source| self.bank(slot, *source));
                let mut left: ArrayVec<usize, MOST> = banks.collect();
                while !left.is_empty() {
                    // The first of those that can be read first.
                    let (mut first, mut number) = (u64::MAX, 0);
                    for (other, bank) in left.iter().enumerate() {
                        let step = free_at[*bank].max(open);
                        if step < first {
                            (first, number) = (step, other);
                        }
                    }
                    last = take(&mut free_at[left.remove(number)], open);
                    open = last.saturating_add(1);
                }
            }
        }
        (last / self.steps).saturating_sub(now).min(self.wait_max) as u32
    }
}
