//! Register file of the naive unit: every read and every result is a list entry.

use super::*;

#[derive(Default)]
pub(super) struct File {
    /// Bank and step of each read, in request order.
    reads: Vec<(Bank, u64)>,
    /// Partition and last cycle of each instruction in a collector.
    collecting: Vec<(usize, Cycle)>,
    /// Cycle of each result of an execution unit.
    results: Vec<Cycle>,
}

/// Partition of the register file, and bank within the partition.
type Bank = (usize, usize);

impl Naive {
    /// Returns the number of register file partitions: one per scheduler, or a single shared one.
    fn parts(&self) -> usize {
        match &self.spec.register_banks {
            Some(banks) if banks.by_scheduler => self.spec.schedulers as usize,
            _ => 1,
        }
    }

    /// Returns the banks and steps at which an instruction issued now would read its registers. A
    /// cycle has as many steps as a bank has reads per cycle.
    fn reads(&self, slot: usize, pc: usize, now: Cycle) -> Vec<(Bank, u64)> {
        let mut reads: Vec<(Bank, u64)> = Vec::new();
        let Some(banks) = &self.spec.register_banks else {
            return reads;
        };
        let predicates = RegisterSet::FIRST_PREDICATE;
        let sources = self.kernel.code.instructions[pc].reads.iter();
        let sources = sources.filter(|register| *register < predicates);
        let mut left: Vec<Bank> = sources
            .map(|register| {
                let shift = if banks.by_wavefront { slot } else { 0 };
                let bank = (usize::from(register) + shift) % (banks.banks as usize / self.parts());
                (slot % self.parts(), bank)
            })
            .collect();
        while !left.is_empty() {
            // A bank serves reads in request order, and so does a sequential collector.
            let possible = |bank: Bank, reads: &[(Bank, u64)]| {
                let of_bank = self.registers.reads.iter().chain(reads);
                let of_bank = of_bank.filter(|read| read.0 == bank);
                let before = of_bank.chain(reads.iter().filter(|_| banks.one_by_one));
                let first = now * u64::from(banks.reads_per_cycle);
                before.map(|read| read.1 + 1).fold(first, u64::max)
            };
            let steps: Vec<u64> = left.iter().map(|bank| possible(*bank, &reads)).collect();
            let first = *steps.iter().min().expect("some are left");
            let next = steps.iter().position(|step| *step == first);
            let bank = left.remove(next.expect("one of them"));
            reads.push((bank, first));
        }
        reads
    }

    /// Returns the cycle of the last of these reads.
    fn last_read(&self, reads: &[(Bank, u64)], now: Cycle) -> Cycle {
        let banks = self.spec.register_banks;
        let steps = banks.map_or(1, |banks| u64::from(banks.reads_per_cycle));
        reads
            .iter()
            .map(|read| read.1 / steps)
            .fold(now, Cycle::max)
    }

    /// Returns the cycle of the execution unit's result if the instruction issued now.
    fn result_at(&self, slot: usize, pc: usize, now: Cycle) -> Option<Cycle> {
        let instruction = &self.kernel.code.instructions[pc];
        let class = instruction.class;
        let none = class.is_memory() || matches!(class, Class::Barrier | Class::Fence);
        if none || instruction.writes.is_empty() {
            return None;
        }
        let operands = match class {
            Class::Branch | Class::Exit => 0,
            _ => self.spec.operand_latency,
        };
        let latency = u64::from(self.spec.classes.of(class).latency + operands);
        Some(self.last_read(&self.reads(slot, pc, now), now) + latency)
    }

    /// True if no collector is free for an instruction, or no port for its result.
    pub(super) fn registers_keep_back(&self, slot: usize, pc: usize, now: Cycle) -> bool {
        let file = &self.registers;
        let part = slot % self.parts();
        let collecting = file.collecting.iter();
        let collecting = collecting.filter(|(of, last)| *of == part && *last >= now);
        let collectors = self.spec.register_banks.map(|banks| banks.collectors);
        if collectors
            .is_some_and(|collectors| collecting.count() >= collectors as usize / self.parts())
        {
            return true;
        }
        let (Some(most), Some(at)) = (self.spec.results_per_cycle, self.result_at(slot, pc, now))
        else {
            return false;
        };
        file.results.iter().filter(|other| **other == at).count() >= most as usize
    }

    /// Reads the registers of an issuing instruction. Returns how many cycles late the last one is
    /// read.
    pub(super) fn read_registers(&mut self, slot: usize, pc: usize, now: Cycle) -> u64 {
        let reads = self.reads(slot, pc, now);
        let last = self.last_read(&reads, now);
        let result = self.result_at(slot, pc, now);
        self.registers.results.extend(result);
        self.registers.reads.extend(reads);
        let part = slot % self.parts();
        self.registers.collecting.push((part, last));
        // What is over is of no use.
        self.registers.collecting.retain(|(_, last)| *last >= now);
        last - now
    }
}
