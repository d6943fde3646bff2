//! Ports of the register file: banks that operands are read from, and results written per cycle.
//!
//! ```text
//!   issue ──► a collector until its last operand is read ──► execution ──► result
//!                 │ one register per bank and cycle                  │ so many per cycle
//! ```
//!
//! Registers of one instruction in one bank are read one after the other, and behind those of instructions that
//! issued before. An instruction issues only when a collector is free, and when its result has room in the cycle in
//! which it comes. Source: operand collectors and result buses as in GPGPU-Sim, there with an arbiter among them.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State, as_many, at_most};

use super::ComputeUnit;
use super::spec::ComputeUnitSpec;

/// What of the register file is limited, none in a unit without limits.
pub(super) struct RegisterFile {
    banks: Option<Banks>,
    results: Option<Results>,
}

struct Banks {
    by_wavefront: bool,
    /// By bank, the first cycle in which it reads for somebody else.
    free_at: Vec<Cycle>,
    /// By collector, the first cycle in which it takes an instruction again.
    collectors: Vec<Cycle>,
    /// The longest that an instruction waits; what comes from a damaged checkpoint does not wait longer.
    wait_max: u64,
}

struct Results {
    per_cycle: u32,
    /// A ring of cycles, longer than any result takes: a cycle, and how many results come in it.
    due: Vec<Due>,
    /// The last cycle in which as many come as may; derived from those above.
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
    pub(super) fn of(spec: &ComputeUnitSpec, sources: u32, horizon: u64) -> Option<Box<Self>> {
        if spec.register_banks.is_none() && spec.results_per_cycle.is_none() {
            return None;
        }
        let banks = spec.register_banks.map(|banks| Banks {
            free_at: vec![0; banks.banks as usize],
            collectors: vec![0; banks.collectors as usize],
            wait_max: u64::from(banks.longest_wait(sources)),
            by_wavefront: banks.by_wavefront,
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
        let mut last = now;
        for (number, source) in sources.iter().enumerate() {
            let bank = banks.of(slot, *source);
            let before = sources[..number].iter();
            let before = before.filter(|other| banks.of(slot, **other) == bank);
            last = last.max(now.max(banks.free_at[bank]) + before.count() as u64);
        }
        (last - now).min(banks.wait_max) as u32
    }

    /// An instruction issues: reads its registers, and gives back how much later than `now` the last is.
    pub(super) fn read(&mut self, slot: usize, sources: &[u8], now: Cycle) -> u32 {
        let wait = self.wait(slot, sources, now);
        let Some(banks) = &mut self.banks else {
            return wait;
        };
        for source in sources {
            let bank = banks.of(slot, *source);
            banks.free_at[bank] = now.max(banks.free_at[bank]).saturating_add(1);
        }
        let free = banks.collectors.iter_mut().find(|at| **at <= now);
        *free.expect("no instruction issues without a collector") = now + u64::from(wait) + 1;
        wait
    }

    /// A result comes in cycle `at`.
    pub(super) fn write(&mut self, at: Cycle) {
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

    /// The first cycle in which a collector takes an instruction; now, where there are none.
    fn collector_at(&self) -> Cycle {
        let banks = self.banks.as_ref();
        let first = banks.and_then(|banks| banks.collectors.iter().min());
        first.copied().unwrap_or(0)
    }

    /// A cycle from which on nobody is kept back by what has issued until `now`, of instructions with a result or
    /// without.
    pub(super) fn settled_at(&self, now: Cycle, with_result: bool) -> Cycle {
        let banks = self.banks.as_ref();
        let read = banks.and_then(|banks| banks.collectors.iter().max());
        let results = self.results.as_ref().filter(|_| with_result);
        let written = results.map_or(0, |results| now + results.due.len() as u64);
        written.max(*read.unwrap_or(&0))
    }

    /// Names what is being read and what comes.
    pub(super) fn state(&mut self, state: &mut State<'_>) {
        if let Some(banks) = &mut self.banks {
            state.array("bank_free_at", &mut banks.free_at);
            state.array("collectors", &mut banks.collectors);
        }
        if let Some(results) = &mut self.results {
            let most = results.per_cycle as usize;
            state.fitting("results", &mut results.due, |found, built| {
                as_many("cycles", found.len(), built.len())?;
                let mut counts = found.iter().map(|due| due.results as usize);
                counts.try_for_each(|count| at_most("results of a cycle", count, most))
            });
            let full = results
                .due
                .iter()
                .filter(|due| due.results as usize >= most);
            results.last_full = full.map(|due| due.cycle).max().unwrap_or(0);
        }
    }
}

impl Banks {
    /// The bank that holds a register of a wavefront slot.
    fn of(&self, slot: usize, register: u8) -> usize {
        let shift = if self.by_wavefront { slot } else { 0 };
        (usize::from(register) + shift) % self.free_at.len()
    }
}

impl ComputeUnit {
    /// Whether the register file may keep one of these wavefronts back in cycle `now` or later, by what has issued.
    #[inline]
    pub(super) fn register_file_decides(&self, wavefronts: u64, now: Cycle) -> bool {
        let Some(file) = &self.register_file else {
            return false;
        };
        file.collector_at() > now || file.results.is_some() && self.have_results(wavefronts)
    }

    /// Whether the next instruction of one of these wavefronts, which is known, has a result.
    pub(super) fn have_results(&self, wavefronts: u64) -> bool {
        let mut left = wavefronts;
        while left != 0 {
            let wavefront = &self.wavefronts[left.trailing_zeros() as usize];
            left &= left - 1;
            if self.decoded.instructions[wavefront.next as usize].has_result {
                return true;
            }
        }
        false
    }

    /// Those of `wavefronts`, whose next instruction is known, that the register file keeps from issuing in cycle
    /// `now`.
    #[inline(never)]
    pub(super) fn behind_register_file(
        &self,
        file: &RegisterFile,
        wavefronts: u64,
        now: Cycle,
    ) -> u64 {
        if file.collector_at() > now {
            return wavefronts;
        }
        let mut behind = 0;
        let last_full = file.results.as_ref().map_or(0, |results| results.last_full);
        let mut left = if last_full > now { wavefronts } else { 0 };
        while left != 0 {
            let slot = left.trailing_zeros() as usize;
            left &= left - 1;
            let wavefront = &self.wavefronts[slot];
            let decoded = &self.decoded.instructions[wavefront.next as usize];
            // Most results come later than all that have issued.
            if !decoded.has_result || now + u64::from(decoded.latency) > last_full {
                continue;
            }
            let wait = file.wait(slot, self.decoded.sources(decoded), now);
            let at = now + u64::from(decoded.latency + wait);
            behind |= u64::from(file.is_full(at)) << slot;
        }
        behind
    }
}
