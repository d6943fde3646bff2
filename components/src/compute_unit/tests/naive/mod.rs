//! Naive compute unit, as slow and plain as possible. Every cycle is evaluated and everything is a
//! list, without masks, timing wheels or sleep. Written from `docs/components/compute_unit.md`.

mod accesses;
mod fetch;
mod issuing;
mod memories;
mod readonly_ports;
mod registers;
mod waits;

use std::collections::BTreeMap;

use warpweave_trace::{Lanes, Record};

use self::fetch::Buffer;
use self::readonly_ports::Aside;
use super::*;

/// Execution state of a wavefront in the naive unit.
#[derive(PartialEq)]
enum Doing {
    Ready,
    Pausing,
    AtBarrier,
    Ended,
}

/// An operation of a wavefront in flight.
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
    /// End of the last arrival at the barrier.
    arrives_until: Cycle,
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
    /// Service cycles of a local-memory access; `None` for other accesses.
    local: Option<u64>,
    lines: VecDeque<(u64, u32)>,
    /// Bytes that its lanes move, until its first request is sent.
    bytes: Option<u64>,
    kind: RequestKind,
}

/// Events of the naive unit, recorded for comparison.
#[derive(Default)]
pub(super) struct NaiveLog {
    /// Cycle, scheduler and outcome of each issue slot.
    pub(super) slots: Vec<(Cycle, usize, IssueSlot)>,
    /// Ends of memory waits: cycle, scheduler and supplying level.
    pub(super) answered: Vec<(Cycle, usize, Level)>,
    /// Arrivals of wavefronts: cycle and scheduler.
    pub(super) came: Vec<(Cycle, usize)>,
    pub(super) instructions: u64,
    /// Kinds of unit of the issued slots, by the first instruction.
    pub(super) issued: Vec<&'static str>,
    /// Cycles in which a wavefront waited for one load alone, by its instruction.
    pub(super) waits: BTreeMap<usize, u64>,
}

#[derive(Statistics)]
pub(super) struct Naive {
    dispatch: DispatchSlave,
    memory: MemMaster,
    instructions: MemMaster,
    asides: [Aside; 2],
    spec: ComputeUnitSpec,
    kernel: KernelTrace,
    wavefronts: Vec<Option<Wavefront>>,
    groups: Vec<Option<Group>>,
    due: Vec<(Cycle, usize, Due)>,
    queue: VecDeque<Queued>,
    /// Outstanding requests: request ID, wavefront slot and operation in flight.
    outstanding: Vec<(u32, usize, u64)>,
    /// End of the local memory's busy time; `pipe_until` is that of the load/store pipe.
    local_until: Cycle,
    pipe_until: Cycle,
    /// End of the last access's data, in cycles times the bytes of one.
    data_until: u64,
    /// Cycle until which the access in service keeps its queue entry.
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
            asides: Default::default(),
            kernel,
            wavefronts: (0..slots).map(|_| None).collect(),
            groups: (0..spec.work_group_slots).map(|_| None).collect(),
            due: Vec::new(),
            queue: VecDeque::new(),
            outstanding: Vec::new(),
            local_until: 0,
            pipe_until: 0,
            data_until: 0,
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

    /// Advances the wavefront to its next record, or ends it.
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
            let until = self.groups[group].as_ref().map_or(0, |g| g.arrives_until);
            for slot in waiting {
                self.pause(slot, self.spec.classes.barrier.latency, until.max(now));
            }
        }
    }

    /// Completes the work-group if every wavefront has ended and nothing is in flight.
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

    /// Returns the instruction of an operation in flight.
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

    /// Returns the register hazard of the next instruction: true for a pending load, false for
    /// another result.
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

    /// Returns two flags: the wavefront waits for load data, or for stores.
    fn waits_for_memory(&self, slot: usize) -> [bool; 2] {
        let wavefront = self.wavefronts[slot].as_ref();
        let ready = wavefront.filter(|wavefront| wavefront.is_ready());
        ready.map_or([false; 2], |w| {
            [self.hazard(w) == Some(true), self.waits_for_stores(w)]
        })
    }

    /// Logs a response if it ended one of the waits in `before`.
    fn answered(&self, slot: usize, before: [bool; 2], level: Level, now: Cycle) {
        let after = self.waits_for_memory(slot);
        if before
            .iter()
            .zip(after)
            .any(|(before, after)| *before && !after)
        {
            let scheduler = slot % self.spec.schedulers as usize;
            let mut log = self.log.lock();
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
            let mut log = self.log.lock();
            log.came.push((now, free % self.spec.schedulers as usize));
        }
        self.groups[usize::from(slot)] = Some(Group {
            work_group,
            slot,
            members,
            arrives_until: 0,
        });
    }
}

impl Bundle for Naive {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("dispatch", &mut self.dispatch);
        ports.bundle("memory", &mut self.memory);
        ports.optional(|ports| ports.bundle("instructions", &mut self.instructions));
        for (name, aside) in ["constants", "textures"].into_iter().zip(&mut self.asides) {
            ports.optional(|ports| ports.bundle(name, &mut aside.port));
        }
    }
}

impl Component for Naive {
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
        self.take_aside(ctx, now);
        self.take_instructions(ctx, now);
        self.take_dispatch(ctx, now);
        self.send_requests(ctx, now);
        self.send_aside(ctx, now);
        self.count_waits();
        self.accesses_now = 0;
        let schedulers = self.spec.schedulers as usize;
        for step in 0..schedulers {
            let scheduler = (now as usize + step) % schedulers;
            let slot = self.schedule(scheduler, now);
            let mut log = self.log.lock();
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

impl Stateful for Naive {}
