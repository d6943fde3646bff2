//! A compute unit as slow and plain as can be: every cycle is evaluated, everything is a list, nothing is
//! masked, filed by cycle or slept through. Written from `docs/components/compute_unit.md`.

mod fetch;
mod memories;
mod registers;

use warpweave_trace::{Lanes, Record};

use self::fetch::Buffer;
use super::*;

/// What a wavefront does.
#[derive(PartialEq)]
enum Doing {
    Ready,
    Pausing,
    AtBarrier,
    Ended,
}

/// Something of a wavefront that is under way.
struct Flight {
    number: u64,
    instruction: usize,
    kind: Option<RequestKind>,
}

struct Wavefront {
    group: usize,
    age: u64,
    records: VecDeque<(Record, Lanes)>,
    doing: Doing,
    flights: Vec<Flight>,
    buffer: Buffer,
}

impl Wavefront {
    fn is_ready(&self) -> bool {
        self.doing == Doing::Ready
    }

    fn next(&self) -> &(Record, Lanes) {
        &self.records[0]
    }

    fn pc(&self) -> usize {
        self.next().0.pc as usize
    }

    fn stores(&self) -> bool {
        let mut kinds = self.flights.iter().filter_map(|flight| flight.kind);
        kinds.any(RequestKind::carries_data)
    }
}

struct Group {
    work_group: u32,
    slot: u16,
    members: Vec<usize>,
}

enum Due {
    GoOn,
    Done { flight: u64, level: Option<Level> },
}

/// An access in the load/store queue.
struct Queued {
    ready_at: Cycle,
    slot: usize,
    flight: u64,
    pc: u32,
    /// Cycles of an access to local memory.
    local: Option<u64>,
    lines: VecDeque<(u64, u32)>,
    kind: RequestKind,
}

/// What happened.
#[derive(Default)]
pub(super) struct NaiveLog {
    /// Cycle, scheduler and what became of the slot.
    pub(super) slots: Vec<(Cycle, usize, IssueSlot)>,
    /// A wait of a scheduler for memory has ended.
    pub(super) answered: Vec<(Cycle, usize, Level)>,
    /// A scheduler has got a wavefront.
    pub(super) came: Vec<(Cycle, usize)>,
    pub(super) instructions: u64,
    /// For what units the slots that issued did, by the first instruction.
    pub(super) issued: Vec<&'static str>,
}

pub(super) struct Naive {
    dispatch: DispatchSlave,
    memory: MemMaster,
    instructions: MemMaster,
    spec: ComputeUnitSpec,
    kernel: KernelTrace,
    wavefronts: Vec<Option<Wavefront>>,
    groups: Vec<Option<Group>>,
    due: Vec<(Cycle, usize, Due)>,
    queue: VecDeque<Queued>,
    /// Request, slot and flight.
    outstanding: Vec<(u32, usize, u64)>,
    /// The local memory is busy until then: its own port, or the pipe.
    local_until: Cycle,
    pipe_until: Cycle,
    /// The access served holds its place until then.
    place_until: Cycle,
    pipes: Vec<[Cycle; Class::COUNT]>,
    registers: registers::File,
    last: Vec<Option<usize>>,
    fetched_last: usize,
    fetches: u32,
    counter: u64,
    requests: u32,
    writes: u32,
    accesses_now: u32,
    completions: VecDeque<Completion>,
    log: Arc<Mutex<NaiveLog>>,
}

impl Naive {
    pub(super) fn new(
        spec: ComputeUnitSpec,
        kernel: KernelTrace,
        log: Arc<Mutex<NaiveLog>>,
    ) -> Self {
        let slots = spec.wavefront_slots as usize;
        let schedulers = spec.schedulers as usize;
        Self {
            dispatch: DispatchSlave::default(),
            memory: MemMaster::default(),
            instructions: MemMaster::default(),
            kernel,
            wavefronts: (0..slots).map(|_| None).collect(),
            groups: (0..spec.work_group_slots).map(|_| None).collect(),
            due: Vec::new(),
            queue: VecDeque::new(),
            outstanding: Vec::new(),
            local_until: 0,
            pipe_until: 0,
            place_until: 0,
            pipes: vec![[0; Class::COUNT]; schedulers],
            registers: registers::File::default(),
            last: vec![None; schedulers],
            fetched_last: slots - 1,
            fetches: 0,
            counter: 0,
            requests: 0,
            writes: 0,
            accesses_now: 0,
            completions: VecDeque::new(),
            log,
            spec,
        }
    }

    fn at(&mut self, slot: usize) -> &mut Wavefront {
        self.wavefronts[slot].as_mut().expect("the slot is taken")
    }

    fn source(&self, slot: usize, pc: u32) -> Source {
        let wavefront = self.wavefronts[slot].as_ref().expect("the slot is taken");
        let group = self.groups[wavefront.group].as_ref().expect("it is there");
        Source {
            kernel: 0,
            work_group: group.work_group,
            pc,
            compute_unit: self.spec.index,
            wavefront_slot: slot as u8,
            work_group_slot: wavefront.group as u8,
        }
    }

    /// The wavefront goes on to its next record, or ends.
    fn go_on(&mut self, slot: usize, now: Cycle) {
        let wavefront = self.at(slot);
        if let Some((record, _)) = wavefront.records.front() {
            wavefront.doing = Doing::Ready;
            wavefront.buffer.go_on(record.pc);
            return;
        }
        wavefront.doing = Doing::Ended;
        let group = wavefront.group;
        self.open_barrier(group, now);
        if self.at(slot).flights.is_empty() {
            self.leave(group);
        }
    }

    fn pause(&mut self, slot: usize, cycles: u32, now: Cycle) {
        self.at(slot).doing = Doing::Pausing;
        self.due.push((now + u64::from(cycles), slot, Due::GoOn));
    }

    fn open_barrier(&mut self, group: usize, now: Cycle) {
        let members = self.groups[group]
            .as_ref()
            .expect("it is there")
            .members
            .clone();
        let waiting: Vec<usize> = (members.iter().copied())
            .filter(|slot| self.at(*slot).doing == Doing::AtBarrier)
            .collect();
        let ended = members
            .iter()
            .filter(|slot| self.at(**slot).doing == Doing::Ended);
        if waiting.len() + ended.count() == members.len() {
            for slot in waiting {
                self.pause(slot, self.spec.classes.barrier.latency, now);
            }
        }
    }

    /// The work-group leaves when every wavefront has ended and nothing is under way.
    fn leave(&mut self, number: usize) {
        let members = self.groups[number]
            .as_ref()
            .expect("it is there")
            .members
            .clone();
        let gone = |w: &Wavefront| w.doing == Doing::Ended && w.flights.is_empty();
        if !members.iter().all(|slot| gone(self.at(*slot))) {
            return;
        }
        for &slot in &members {
            self.wavefronts[slot] = None;
        }
        let stays = self.spec.scheduler == Policy::plain::<Lrr>();
        for last in &mut self.last {
            if !stays && last.is_some_and(|last| members.contains(&last)) {
                *last = None;
            }
        }
        let group = self.groups[number].take().expect("it is there");
        self.completions.push_back(Completion::WorkGroup {
            kernel: 0,
            work_group: group.work_group,
            slot: group.slot,
        });
    }

    /// The instruction of something under way.
    fn instruction_of(&self, slot: usize, number: u64) -> usize {
        let wavefront = self.wavefronts[slot].as_ref().expect("the slot is taken");
        let mut flights = wavefront.flights.iter();
        let flight = flights.find(|flight| flight.number == number);
        flight.expect("it is under way").instruction
    }

    fn starts_flight(&mut self, slot: usize, instruction: usize, kind: Option<RequestKind>) -> u64 {
        self.counter += 1;
        let number = self.counter;
        self.at(slot).flights.push(Flight {
            number,
            instruction,
            kind,
        });
        number
    }

    fn result_in(&mut self, slot: usize, cycles: u64, now: Cycle) {
        let pc = self.at(slot).pc();
        if !self.kernel.code.instructions[pc].writes.is_empty() {
            let flight = self.starts_flight(slot, pc, None);
            let done = Due::Done {
                flight,
                level: None,
            };
            self.due.push((now + cycles, slot, done));
        }
    }

    /// Why the next instruction cannot issue for its registers: a pending load, or something else.
    fn hazard(&self, wavefront: &Wavefront) -> Option<bool> {
        let next = &self.kernel.code.instructions[wavefront.pc()];
        let uses = next.reads.union(&next.writes);
        let pending = wavefront.flights.iter().filter(|flight| {
            let writes = &self.kernel.code.instructions[flight.instruction].writes;
            writes.iter().any(|register| uses.contains(register))
        });
        pending
            .map(|flight| flight.kind.is_some())
            .reduce(|a, b| a | b)
    }

    fn waits_for_stores(&self, wavefront: &Wavefront) -> bool {
        let next = &self.kernel.code.instructions[wavefront.pc()];
        next.class == Class::Fence && wavefront.stores()
    }

    /// Whether a wavefront waits for load data, and for stores.
    fn waits_for_memory(&self, slot: usize) -> [bool; 2] {
        let wavefront = self.wavefronts[slot].as_ref();
        let ready = wavefront.filter(|wavefront| wavefront.is_ready());
        ready.map_or([false; 2], |w| {
            [self.hazard(w) == Some(true), self.waits_for_stores(w)]
        })
    }

    /// Notes an answer if it ended one of the waits there were `before`.
    fn answered(&self, slot: usize, before: [bool; 2], level: Level, now: Cycle) {
        let after = self.waits_for_memory(slot);
        if before
            .iter()
            .zip(after)
            .any(|(before, after)| *before && !after)
        {
            let scheduler = slot % self.spec.schedulers as usize;
            let mut log = self.log.lock().expect("nobody panics with the log");
            log.answered.push((now, scheduler, level));
        }
    }

    fn done(&mut self, slot: usize, flight: u64, level: Option<Level>, now: Cycle) {
        let waited = self.waits_for_memory(slot);
        self.at(slot).flights.retain(|f| f.number != flight);
        if let Some(level) = level {
            self.answered(slot, waited, level, now);
        }
        let wavefront = self.at(slot);
        if wavefront.doing == Doing::Ended && wavefront.flights.is_empty() {
            let group = wavefront.group;
            self.leave(group);
        }
    }

    fn take_responses(&mut self, ctx: &mut Context<'_>, now: Cycle) {
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

    fn take_dispatch(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        let Some(Dispatch::Start {
            work_group, slot, ..
        }) = self.dispatch.dispatch.pop(ctx)
        else {
            return;
        };
        let mut members = Vec::new();
        for number in 0..self.kernel.wavefronts_per_work_group() {
            let free = self.wavefronts.iter().position(Option::is_none);
            let free = free.expect("there is a free slot");
            let mut cursor = self.kernel.cursor(work_group, number);
            let mut records = VecDeque::new();
            let mut lanes = Lanes::default();
            while let Some(record) = cursor.next(&self.kernel, &mut lanes) {
                records.push_back((record, lanes.clone()));
            }
            self.counter += 1;
            self.wavefronts[free] = Some(Wavefront {
                group: usize::from(slot),
                age: self.counter,
                records,
                doing: Doing::Pausing,
                flights: Vec::new(),
                buffer: Buffer::default(),
            });
            self.pause(free, self.spec.start_latency, now);
            members.push(free);
            let mut log = self.log.lock().expect("nobody panics with the log");
            log.came.push((now, free % self.spec.schedulers as usize));
        }
        self.groups[usize::from(slot)] = Some(Group {
            work_group,
            slot,
            members,
        });
    }

    fn send_requests(&mut self, ctx: &mut Context<'_>, now: Cycle) {
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
                    let cycles = cycles - 1 + u64::from(local - to_pipe);
                    let done = Due::Done {
                        flight,
                        level: None,
                    };
                    self.due.push((now + cycles, slot, done));
                }
                return;
            }
            if self.outstanding.len() >= self.spec.load_store.outstanding_max as usize
                || !self.memory.request.can_send(ctx)
            {
                return;
            }
            let source = self.source(slot, self.queue[0].pc);
            let head = &mut self.queue[0];
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

    /// What the next record accesses: outside the unit, or local memory.
    fn accesses(&self, wavefront: &Wavefront) -> (bool, bool) {
        let (record, lanes) = wavefront.next();
        let class = self.kernel.code.instructions[wavefront.pc()].class;
        let touches = class.is_memory() && record.mask != 0 && lanes.iter(record.mask).count() > 0;
        (
            touches && matches!(record.space, Space::Global | Space::Local),
            touches && record.space == Space::Shared,
        )
    }

    /// Whether the next record needs a place in the queue.
    fn queues(&self, wavefront: &Wavefront) -> bool {
        let (outside, local) = self.accesses(wavefront);
        outside || local && self.spec.load_store.pipe == MemoryPipe::InOrder
    }

    fn lacks_instruction(&self, wavefront: &Wavefront) -> bool {
        self.spec.fetch.is_some() && !wavefront.buffer.has(wavefront.pc() as u32)
    }

    fn queue_is_full(&self, now: Cycle) -> bool {
        let held = usize::from(now < self.place_until);
        self.queue.len() + held >= self.spec.load_store.queue_depth as usize
    }

    /// Why the wavefront cannot issue now; none if it can. Of several reasons the first in order.
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
        let too_many = (outside || local) && most.is_some_and(|most| self.accesses_now >= most);
        (self.queues(wavefront) && self.queue_is_full(now) || too_many)
            .then_some(IssueSlot::LoadStoreFull)
    }

    /// Slots among which the scheduler chooses.
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

    fn schedule(&mut self, scheduler: usize, now: Cycle) -> IssueSlot {
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
        let mut log = self.log.lock().expect("nobody panics with the log");
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
        let mut log = self.log.lock().expect("nobody panics with the log");
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

    fn access(
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
        self.accesses_now += u32::from(outside || local);
        let operands = u64::from(self.spec.operand_latency) + wait;
        let ready_at = now + executes;
        if outside {
            let lines = memories::lines(&self.spec, &next, (bytes, kind), slot).into();
            let flight = self.starts_flight(slot, pc as usize, Some(kind));
            self.queue.push_back(Queued {
                ready_at,
                slot,
                flight,
                pc,
                local: None,
                lines,
                kind,
            });
        } else if local {
            let atomic = kind == RequestKind::Atomic;
            let cycles = memories::conflict_cycles(&self.spec, &next, bytes, atomic);
            if self.spec.load_store.pipe == MemoryPipe::InOrder {
                let flight = self.starts_flight(slot, pc as usize, None);
                self.queue.push_back(Queued {
                    ready_at,
                    slot,
                    flight,
                    pc,
                    local: Some(cycles),
                    lines: VecDeque::new(),
                    kind,
                });
                return;
            }
            self.local_until = now + wait + cycles;
            let latency = u64::from(self.spec.local_memory.latency) + operands;
            self.result_in(slot, latency + cycles - 1, now);
        } else if next.1.iter(record.mask).count() == 0 {
            self.result_in(slot, executes, now);
        } else {
            self.result_in(slot, u64::from(self.spec.constant_latency) + operands, now);
        }
    }
}

impl Component for Naive {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("dispatch", &mut self.dispatch);
        ports.bundle("memory", &mut self.memory);
        ports.optional(|ports| ports.bundle("instructions", &mut self.instructions));
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        // What was said last happens first: completions of one cycle leave in this order.
        while let Some(place) = self.due.iter().rposition(|(at, ..)| *at == now) {
            match self.due.remove(place) {
                (_, slot, Due::GoOn) => self.go_on(slot, now),
                (_, slot, Due::Done { flight, level }) => self.done(slot, flight, level, now),
            }
        }
        self.take_responses(ctx, now);
        self.take_instructions(ctx, now);
        self.take_dispatch(ctx, now);
        self.send_requests(ctx, now);
        self.accesses_now = 0;
        let schedulers = self.spec.schedulers as usize;
        for step in 0..schedulers {
            let scheduler = (now as usize + step) % schedulers;
            let slot = self.schedule(scheduler, now);
            let mut log = self.log.lock().expect("nobody panics with the log");
            log.slots.push((now, scheduler, slot));
        }
        if self.spec.fetch.is_some() {
            self.fetch(ctx, now);
        }
        while let Some(&completion) = self.completions.front() {
            if self.dispatch.completion.try_send(ctx, completion).is_err() {
                break;
            }
            self.completions.pop_front();
        }
        Next::Until(now + 1)
    }
}
