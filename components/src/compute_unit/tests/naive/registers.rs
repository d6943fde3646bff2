//! The register file of the naive unit: every read and every result is an entry of a list.

use super::*;

#[derive(Default)]
pub(super) struct File {
    /// Bank and cycle of each read.
    reads: Vec<(usize, Cycle)>,
    /// The last cycle of each instruction in a collector.
    collecting: Vec<Cycle>,
    /// The cycle of each result of an execution unit.
    results: Vec<Cycle>,
}

impl Naive {
    /// The cycles in which the registers of an instruction would be read if it issued now, with their banks.
    fn reads(&self, slot: usize, pc: usize, now: Cycle) -> Vec<(usize, Cycle)> {
        let mut reads = Vec::new();
        let Some(banks) = &self.spec.register_banks else {
            return reads;
        };
        let predicates = RegisterSet::FIRST_PREDICATE;
        let sources = self.kernel.code.instructions[pc].reads.iter();
        for register in sources.filter(|register| *register < predicates) {
            let shift = if banks.by_wavefront { slot } else { 0 };
            let bank = (usize::from(register) + shift) % banks.banks as usize;
            let mut read = (bank, now);
            while self.registers.reads.contains(&read) || reads.contains(&read) {
                read.1 += 1;
            }
            reads.push(read);
        }
        reads
    }

    fn last_read(reads: &[(usize, Cycle)], now: Cycle) -> Cycle {
        reads.iter().map(|read| read.1).fold(now, Cycle::max)
    }

    /// When the result of an execution unit would come if the instruction issued now.
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
        Some(Self::last_read(&self.reads(slot, pc, now), now) + latency)
    }

    /// Whether there is no collector for an instruction, or no room for its result.
    pub(super) fn registers_keep_back(&self, slot: usize, pc: usize, now: Cycle) -> bool {
        let file = &self.registers;
        let collecting = file.collecting.iter().filter(|last| **last >= now).count();
        let collectors = self.spec.register_banks.map(|banks| banks.collectors);
        if collectors.is_some_and(|collectors| collecting >= collectors as usize) {
            return true;
        }
        let (Some(most), Some(at)) = (self.spec.results_per_cycle, self.result_at(slot, pc, now))
        else {
            return false;
        };
        file.results.iter().filter(|other| **other == at).count() >= most as usize
    }

    /// An instruction issues: how many cycles late its last register is read.
    pub(super) fn read_registers(&mut self, slot: usize, pc: usize, now: Cycle) -> u64 {
        let reads = self.reads(slot, pc, now);
        let last = Self::last_read(&reads, now);
        let result = self.result_at(slot, pc, now);
        self.registers.results.extend(result);
        self.registers.reads.extend(reads);
        self.registers.collecting.push(last);
        // What is over is of no use.
        self.registers.reads.retain(|read| read.1 >= now);
        self.registers.collecting.retain(|last| *last >= now);
        last - now
    }
}
