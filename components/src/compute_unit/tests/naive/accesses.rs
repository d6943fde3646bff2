//! Memory accesses of the naive unit: from issue through the queue to the last response.

use super::*;

impl Naive {
    pub(super) fn take_responses(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        while let Some(response) = self.memory.response.pop(ctx) {
            let place = self
                .outstanding
                .iter()
                .position(|(id, ..)| *id == response.id);
            let (_, slot, flight) = self.outstanding.remove(place.expect("it was asked"));
            let waiting = |q: &Queued| q.flight == flight;
            if self.outstanding.iter().any(|(.., other)| *other == flight)
                || self.queue.iter().any(waiting)
            {
                continue;
            }
            let flights = &self.at(slot).flights;
            let of = flights
                .iter()
                .find(|f| f.number == flight)
                .expect("it is under way");
            let (pc, kind) = (of.instruction, of.kind.expect("it is an access"));
            let level = Some(response.level);
            let later = self.spec.load_store.writeback_latency;
            let has_writes = !self.kernel.code.instructions[pc].writes.is_empty();
            if !has_writes || later == 0 {
                self.done(slot, flight, level, now);
                continue;
            }
            if kind.carries_data() {
                // Its result is still to be written, but the store is answered.
                let waited = self.waits_for_memory(slot);
                let of = self
                    .at(slot)
                    .flights
                    .iter_mut()
                    .find(|f| f.number == flight);
                of.expect("it is under way").kind = Some(RequestKind::Read);
                self.answered(slot, waited, response.level, now);
            }
            let done = Due::Done { flight, level };
            self.due.push((now + u64::from(later), slot, done));
        }
    }

    pub(super) fn send_requests(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        for sent in 0..self.spec.load_store.requests_per_cycle {
            if now < self.pipe_until || self.queue.front().is_none_or(|q| q.ready_at > now) {
                return;
            }
            let head = &self.queue[0];
            let (slot, flight) = (head.slot, head.flight);
            if let Some(cycles) = head.local {
                if sent > 0 {
                    return;
                }
                self.queue.pop_front();
                self.pipe_until = now + cycles;
                self.place_until = now + cycles - 1;
                let pc = self.instruction_of(slot, flight);
                let instruction = &self.kernel.code.instructions[pc];
                if instruction.writes.is_empty() {
                    self.done(slot, flight, None, now);
                } else {
                    let local = self.spec.local_memory.latency;
                    let to_pipe = self.spec.classes.of(instruction.class).latency;
                    let late = (cycles - 1) * u64::from(self.spec.local_memory.conflict_latency);
                    let cycles = late + u64::from(local - to_pipe);
                    let done = Due::Done {
                        flight,
                        level: None,
                    };
                    self.due.push((now + cycles, slot, done));
                }
                return;
            }
            let rate = self.spec.load_store.bytes_per_cycle.map(u64::from);
            if let (Some(rate), Some(_)) = (rate, head.bytes)
                && self.data_until / rate > now
            {
                return;
            }
            if self.outstanding.len() >= self.spec.load_store.outstanding_max as usize
                || !self.memory.request.can_send(ctx)
            {
                return;
            }
            let source = self.source(slot, self.queue[0].pc);
            let head = &mut self.queue[0];
            if let (Some(rate), Some(bytes)) = (rate, head.bytes.take()) {
                self.data_until = self.data_until.max(now * rate) + bytes;
            }
            let (line, words) = head.lines.pop_front().expect("it has lines");
            let kind = head.kind;
            if head.lines.is_empty() {
                self.queue.pop_front();
            }
            self.requests += 1;
            if kind.carries_data() {
                self.writes += 1;
            }
            let request = MemRequest {
                source,
                kind,
                write_sequence: if kind.carries_data() { self.writes } else { 0 },
                ..MemRequest::read(self.requests, line, words)
            };
            self.outstanding.push((self.requests, slot, flight));
            self.memory.request.send(ctx, request);
        }
    }

    pub(super) fn access(
        &mut self,
        slot: usize,
        instruction: &Instruction,
        (executes, wait): (u64, u64),
        now: Cycle,
    ) {
        let next = self.at(slot).next().clone();
        let (record, pc) = (next.0, next.0.pc);
        let bytes = u64::from(instruction.access_bytes.max(1));
        let kind = match instruction.class {
            Class::Load => RequestKind::Read,
            Class::Store => RequestKind::Write,
            Class::Prefetch => RequestKind::Prefetch,
            _ => RequestKind::Atomic,
        };
        let (outside, local) = self.accesses(self.wavefronts[slot].as_ref().expect("it issues"));
        let aside = self.aside(self.wavefronts[slot].as_ref().expect("it issues"));
        self.accesses_now += u32::from(outside || local || aside.is_some());
        let operands = u64::from(self.spec.operand_latency) + wait;
        let ready_at = now + executes;
        if let Some(path) = aside {
            self.read_aside(path, slot, bytes, ready_at);
        } else if outside {
            let lines = memories::lines(&self.spec, &next, (bytes, kind), slot).into();
            let flight = self.starts_flight(slot, pc as usize, Some(kind));
            self.queue.push_back(Queued {
                ready_at,
                slot,
                flight,
                pc,
                local: None,
                lines,
                bytes: Some(u64::from(record.mask.count_ones()) * bytes),
                kind,
            });
        } else if local {
            let cycles = memories::conflict_cycles(&self.spec, &next, bytes, kind);
            if self.spec.load_store.pipe == MemoryPipe::InOrder {
                let flight = self.starts_flight(slot, pc as usize, None);
                self.queue.push_back(Queued {
                    ready_at,
                    slot,
                    flight,
                    pc,
                    local: Some(cycles),
                    lines: VecDeque::new(),
                    bytes: None,
                    kind,
                });
                return;
            }
            self.local_until = now + wait + cycles;
            let latency = u64::from(self.spec.local_memory.latency) + operands;
            let late = (cycles - 1) * u64::from(self.spec.local_memory.conflict_latency);
            self.result_in(slot, latency + late, now);
        } else if next.1.iter(record.mask).count() == 0 {
            self.result_in(slot, executes, now);
        } else {
            self.result_in(slot, u64::from(self.spec.constant_latency) + operands, now);
        }
    }
}
