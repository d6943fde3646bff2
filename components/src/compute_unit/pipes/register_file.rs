//! Register file ports: operand reads by bank, and result writes per cycle.
//!
//! ```text
//!   issue ──► a collector until its last operand is read ──► execution ──► result
//!                 │ so many registers per bank and cycle             │ so many per cycle
//! ```
//!
//! Registers of one instruction in the same bank are read in sequence, after those of instructions
//! that issued earlier. An instruction issues only if a collector is free and its result has a
//! write port in the cycle of its arrival. Source: operand collectors and result buses as in
//! GPGPU-Sim, there with an arbiter among them.
//!
//! Time is counted in steps: a cycle has as many steps as a bank has reads per cycle.

use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State};
use warpweave_trace::RegisterSet;

use crate::compute_unit::spec::{BANKS_MAX, ComputeUnitSpec};

/// Maximum number of registers that an instruction reads.
const MOST: usize = RegisterSet::FIRST_PREDICATE as usize;

/// Register file limits; a unit without limits has no such object.
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
    /// First step in which each bank is free. Banks of one partition are contiguous.
    #[state(array, rename = "bank_free_at")]
    free_at: Vec<u64>,
    /// First cycle in which each collector accepts an instruction. Collectors of one partition are
    /// contiguous.
    #[state(array)]
    collectors: Vec<Cycle>,
    /// First cycle in which any collector of each partition is free; derived from `collectors`.
    #[state(skip)]
    collector_at: Vec<Cycle>,
}

/// Mapping of registers to banks, and the read order.
#[derive(Clone, Copy)]
struct Layout {
    by_wavefront: bool,
    one_by_one: bool,
    /// Number of steps in one cycle, equal to the reads per bank and cycle.
    steps: u64,
    /// Number of equal partitions of banks and collectors; a slot uses the partition given by its
    /// number modulo `parts`.
    parts: usize,
    /// Number of banks per partition; `collectors` likewise.
    banks: usize,
    collectors: usize,
    /// Upper bound of an instruction's wait in cycles, also enforced for state from a damaged
    /// checkpoint.
    wait_max: u64,
}

#[derive(State)]
#[state(restore = Results::find_last_full)]
struct Results {
    #[state(skip)]
    per_cycle: u32,
    /// Ring buffer of cycles with their result counts, longer than any result latency.
    #[state(array, rename = "results")]
    due: Vec<Due>,
    /// Last cycle whose result ports are all taken; derived from `due`.
    #[state(skip)]
    last_full: Cycle,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Due {
    cycle: Cycle,
    results: u32,
}

impl RegisterFile {
    /// Creates the register file of a unit whose instructions read at most `sources` registers.
    /// `horizon` is the longest result latency, including bank conflicts.
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

    /// Returns how many cycles after `now` the last of these registers of a wavefront slot is read.
    fn wait(&self, slot: usize, sources: &[u8], now: Cycle) -> u32 {
        let Some(banks) = &self.banks else { return 0 };
        let mut free_at = [0; BANKS_MAX];
        let free_at = &mut free_at[..banks.free_at.len()];
        free_at.copy_from_slice(&banks.free_at);
        banks.layout.read(free_at, slot, sources, now)
    }

    /// Reads the registers of an issuing instruction. Returns how many cycles after `now` the last
    /// one is read.
    pub(crate) fn read(&mut self, slot: usize, sources: &[u8], now: Cycle) -> u32 {
        let Some(banks) = &mut self.banks else {
            return 0;
        };
        let wait = banks.layout.read(&mut banks.free_at, slot, sources, now);
        banks.collect(slot, now, now + u64::from(wait) + 1);
        wait
    }

    /// Reserves a result port in cycle `at`.
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

    /// True if all result ports are taken in cycle `at`.
    fn is_full(&self, at: Cycle) -> bool {
        self.results.as_ref().is_some_and(|results| {
            let due = results.due[(at % results.due.len() as u64) as usize];
            due.cycle == at && due.results >= results.per_cycle
        })
    }

    /// Returns the first cycle in which a collector accepts an instruction of this scheduler; 0
    /// without collectors.
    #[inline]
    fn collector_at(&self, scheduler: usize) -> Cycle {
        let banks = self.banks.as_ref();
        // Parts are those of schedulers, or there is one.
        banks.map_or(0, |banks| {
            banks.collector_at[scheduler % banks.collector_at.len()]
        })
    }

    /// Returns a cycle from which instructions issued until `now` block no wavefront. `with_result`
    /// includes the limit on results.
    pub(crate) fn settled_at(&self, now: Cycle, with_result: bool) -> Cycle {
        let banks = self.banks.as_ref();
        let read = banks.and_then(|banks| banks.collectors.iter().max());
        let results = self.results.as_ref().filter(|_| with_result);
        let written = results.map_or(0, |results| now + results.due.len() as u64);
        written.max(*read.unwrap_or(&0))
    }

    /// Returns true if instructions already issued may make the register file block this scheduler
    /// in cycle `now` or later. `have_results` returns true if an instruction has a result.
    #[inline]
    pub(crate) fn may_block(
        &self,
        scheduler: usize,
        now: Cycle,
        have_results: impl FnOnce() -> bool,
    ) -> bool {
        self.collector_at(scheduler) > now || self.results.is_some() && have_results()
    }

    /// Returns those of a scheduler's `wavefronts` that the register file blocks in cycle `now`.
    /// `next` returns the operands of a wavefront's next instruction.
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
    /// Allocates a collector that is free in cycle `now` to an instruction of a slot, until `end`.
    fn collect(&mut self, slot: usize, now: Cycle, end: Cycle) {
        let part = slot % self.layout.parts;
        let mut own = self.of_part(part).iter_mut();
        let free = own.find(|at| **at <= now);
        *free.expect("instructions issue only with a free collector") = end;
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

    /// Returns the collectors of one partition by mutable reference.
    #[inline]
    fn of_part(&mut self, part: usize) -> &mut [Cycle] {
        let count = self.layout.collectors;
        &mut self.collectors[part * count..][..count]
    }
}

/// Reads a register from a bank, not before step `open`, and updates the bank's first free step.
/// Returns the step of the read.
#[inline]
fn take(free_at: &mut u64, open: u64) -> u64 {
    let step = (*free_at).max(open);
    *free_at = step.saturating_add(1);
    step
}

impl Layout {
    /// Returns the bank that holds a register of a wavefront slot.
    #[inline]
    fn bank(self, slot: usize, register: u8) -> usize {
        let shift = if self.by_wavefront { slot } else { 0 };
        slot % self.parts * self.banks + (usize::from(register) + shift) % self.banks
    }

    /// Reads these registers from banks that are free from the steps in `free_at`, and updates
    /// those. Returns how many cycles after `now` the last register is read.
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
