//! Wavefront selection and issue in the naive unit.

use super::*;

impl Naive {
    /// Returns two flags for the next record: accesses memory outside the unit, accesses local
    /// memory.
    pub(super) fn accesses(&self, wavefront: &Wavefront) -> (bool, bool) {
        let (record, lanes) = wavefront.next();
        let class = self.kernel.code.instructions[wavefront.pc()].class;
        let touches = class.is_memory() && record.mask != 0 && lanes.iter(record.mask).count() > 0;
        let aside = self.aside(wavefront).is_some();
        (
            touches && !aside && matches!(record.space, Space::Global | Space::Local),
            touches && record.space == Space::Shared,
        )
    }

    /// True if the next record needs a queue entry.
    fn queues(&self, wavefront: &Wavefront) -> bool {
        let (outside, local) = self.accesses(wavefront);
        outside || local && self.spec.load_store.pipe == MemoryPipe::InOrder
    }

    pub(super) fn lacks_instruction(&self, wavefront: &Wavefront) -> bool {
        self.spec.fetch.is_some() && !wavefront.buffer.has(wavefront.pc() as u32)
    }

    fn queue_is_full(&self, now: Cycle) -> bool {
        let held = usize::from(now < self.place_until);
        self.queue.len() + held >= self.spec.load_store.queue_depth as usize
    }

    /// Returns the first reason in order why the wavefront cannot issue now; `None` if it can.
    fn reason(&self, slot: usize, scheduler: usize, now: Cycle) -> Option<IssueSlot> {
        let wavefront = self.wavefronts[slot].as_ref().expect("the slot is taken");
        match wavefront.doing {
            Doing::Pausing => return Some(IssueSlot::Control),
            Doing::AtBarrier => return Some(IssueSlot::Barrier),
            Doing::Ended => return Some(IssueSlot::Ended),
            Doing::Ready => {}
        }
        let pc = wavefront.pc();
        match self.hazard(wavefront) {
            Some(false) => return Some(IssueSlot::Scoreboard),
            Some(true) => return Some(IssueSlot::Memory),
            None if self.waits_for_stores(wavefront) => return Some(IssueSlot::Memory),
            None => {}
        }
        if self.lacks_instruction(wavefront) {
            return Some(IssueSlot::Fetch);
        }
        let class = self.kernel.code.instructions[pc].class;
        if self.pipes[scheduler][class.index()] > now {
            return Some(IssueSlot::PipeBusy);
        }
        if self.registers_keep_back(slot, pc, now) {
            return Some(IssueSlot::PipeBusy);
        }
        let (outside, local) = self.accesses(wavefront);
        let in_order = self.spec.load_store.pipe == MemoryPipe::InOrder;
        if local && !in_order && self.local_until > now {
            return Some(IssueSlot::LocalMemoryBusy);
        }
        let most = self.spec.load_store.issues_per_cycle;
        let aside = self.aside(wavefront).is_some();
        let too_many =
            (outside || local || aside) && most.is_some_and(|most| self.accesses_now >= most);
        let is_full = self.queues(wavefront) && self.queue_is_full(now);
        (is_full || self.aside_is_full(wavefront) || too_many).then_some(IssueSlot::LoadStoreFull)
    }

    /// Returns the slots among which the scheduler chooses.
    fn eligible(&self, scheduler: usize, now: Cycle) -> Vec<usize> {
        let schedulers = self.spec.schedulers as usize;
        let mine = (scheduler..self.wavefronts.len()).step_by(schedulers);
        let mine: Vec<usize> = mine
            .filter(|slot| self.wavefronts[*slot].is_some())
            .collect();
        if self.spec.scheduler == Policy::plain::<GtoLongLatency>()
            && let Some(last) = self.last[scheduler]
            && mine.contains(&last)
        {
            let wavefront = self.wavefronts[last].as_ref().expect("it is mine");
            let stays = match wavefront.doing {
                Doing::Pausing => true,
                Doing::AtBarrier | Doing::Ended => false,
                Doing::Ready => match self.hazard(wavefront) {
                    Some(from_memory) => !from_memory,
                    None if self.waits_for_stores(wavefront) => false,
                    None if self.lacks_instruction(wavefront) => false,
                    None if self.aside_is_full(wavefront) => false,
                    None => !(self.queues(wavefront) && self.queue_is_full(now)),
                },
            };
            if stays {
                return vec![last];
            }
        }
        mine
    }

    fn pick(&self, scheduler: usize, ready: &[usize]) -> usize {
        let age = |slot: &usize| self.wavefronts[*slot].as_ref().map(|w| w.age);
        let oldest = *ready
            .iter()
            .min_by_key(|slot| age(slot))
            .expect("some are ready");
        let last = self.last[scheduler];
        if self.spec.scheduler == Policy::plain::<Lrr>() {
            let after = ready
                .iter()
                .find(|slot| last.is_some_and(|last| **slot > last));
            return *after.unwrap_or(&ready[0]);
        }
        if self.spec.scheduler == Policy::plain::<OldestFirst>() {
            return oldest;
        }
        last.filter(|last| ready.contains(last)).unwrap_or(oldest)
    }

    pub(super) fn schedule(&mut self, scheduler: usize, now: Cycle) -> IssueSlot {
        let eligible = self.eligible(scheduler, now);
        let reasons: Vec<_> = eligible
            .iter()
            .map(|slot| self.reason(*slot, scheduler, now))
            .collect();
        let ready: Vec<usize> = (eligible.iter().zip(&reasons))
            .filter_map(|(slot, reason)| reason.is_none().then_some(*slot))
            .collect();
        if ready.is_empty() {
            let nearest = reasons
                .into_iter()
                .flatten()
                .min_by_key(|reason| *reason as usize);
            return nearest.unwrap_or(IssueSlot::NoWavefront);
        }
        let slot = self.pick(scheduler, &ready);
        self.last[scheduler] = Some(slot);
        let mut kinds = vec![self.kind_of_unit(slot)];
        let mut log = self.log.lock();
        log.issued.push(kinds[0]);
        drop(log);
        self.issue(slot, scheduler, now);
        for _ in 1..self.spec.issues_per_cycle {
            let there = self.wavefronts[slot].is_some();
            if !there || self.reason(slot, scheduler, now).is_some() {
                break;
            }
            let kind = self.kind_of_unit(slot);
            if self.spec.issue_together == IssueTogether::DifferentUnits && kinds.contains(&kind) {
                break;
            }
            kinds.push(kind);
            self.issue(slot, scheduler, now);
        }
        IssueSlot::Issued
    }

    fn kind_of_unit(&self, slot: usize) -> &'static str {
        let wavefront = self.wavefronts[slot].as_ref().expect("the slot is taken");
        let class = self.kernel.code.instructions[wavefront.pc()].class.name();
        match class {
            "load" | "store" | "atomic" | "prefetch" => "memory",
            "special" => "special",
            "convert" | "shuffle" | "vote" => "single",
            _ if class.starts_with("int_") => "integer",
            _ if class.starts_with("fp_") => "single",
            _ if class.starts_with("dp_") => "double",
            _ => "control",
        }
    }

    fn issue(&mut self, slot: usize, scheduler: usize, now: Cycle) {
        let pc = self.at(slot).pc();
        let instruction = self.kernel.code.instructions[pc].clone();
        let timing = self.spec.classes.of(instruction.class);
        let record = self.at(slot).next().0;
        let mut log = self.log.lock();
        log.instructions += u64::from(!record.continues);
        drop(log);
        if timing.interval > 1 {
            self.pipes[scheduler][instruction.class.index()] = now + u64::from(timing.interval);
        }
        let latency = timing.latency;
        let wait = self.read_registers(slot, pc, now);
        let executes = u64::from(latency + self.spec.operand_latency) + wait;
        match instruction.class {
            Class::Barrier if record.mask != 0 => {
                let wavefront = self.at(slot);
                wavefront.records.pop_front();
                wavefront.doing = Doing::AtBarrier;
                let group = wavefront.group;
                let interval = u64::from(self.spec.barrier_interval);
                let there = self.groups[group].as_mut().expect("it is there");
                there.arrives_until = there.arrives_until.max(now) + interval;
                self.open_barrier(group, now);
                return;
            }
            Class::Barrier => {}
            Class::Branch | Class::Exit => {
                self.result_in(slot, u64::from(latency) + wait, now);
                if latency > 1 || instruction.class == Class::Exit {
                    self.at(slot).records.pop_front();
                    self.pause(slot, latency, now);
                    return;
                }
            }
            Class::Fence => {
                if latency > 1 {
                    self.at(slot).records.pop_front();
                    self.pause(slot, latency, now);
                    return;
                }
            }
            class if class.is_memory() => self.access(slot, &instruction, (executes, wait), now),
            _ => self.result_in(slot, executes, now),
        }
        self.at(slot).records.pop_front();
        self.go_on(slot, now);
    }
}
