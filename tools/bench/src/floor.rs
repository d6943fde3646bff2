//! The memory path of a GTX 480 written by hand: the floor under the cost of simulating it.
//!
//! One file of plain structs and loops does a vector addition on the machine of
//! `scenarios/systems/accelsim/gtx480.ron`. Its instruction and constant caches, operand stages,
//! register banks and result buses are left out, as by [`SWITCHES`]. There are no names,
//! statistics, checks, sleep reasons, state to be saved, policies or threads. Latencies, capacities
//! and arbitration are those of the components: wavefronts, memory stage, L1, cluster port, both
//! networks, L2 slices and DRAM.
//!
//! # Not modelled
//! Anything that a vector addition of at most 65,536 elements never does. It hits no cache, has no
//! two requests for a line in flight, and causes no copy-backs and DRAM writes. Output buffers of
//! the networks are unbounded. Flits of one packet move together. Cycles therefore agree with the
//! machine's to a few percent only.

/// The work, in a scenario of the repository.
pub const SCENARIO: &str = "scenarios/vector_add_gtx480.ron";
/// Overrides that take away from its machine what this one does not have.
pub const SWITCHES: [&str; 6] = [
    "params.fetch_instructions=false",
    "params.constant_cache=false",
    "params.texture_cache=false",
    "params.pipeline_stages=false",
    "params.register_banks=false",
    "params.result_buses=false",
];

/// Elements that a work-group adds, one a lane.
const BLOCK: u32 = 256;
/// Wavefronts of a work-group, and work-groups that a unit holds.
const WAVEFRONTS: usize = 8;
const RESIDENT: usize = 6;
/// Compute units at most, slices of L2 and channels of DRAM.
const UNITS_MAX: usize = 16;
const SLICES: usize = 12;
const CHANNELS: usize = 6;
/// Most elements for which no line of L2 is evicted.
pub const ELEMENTS_MAX: u32 = 65_536;

/// Ticks of a cycle of the units and of DRAM: 700 and 924 MHz.
const CORE_TICKS: u32 = 33;
const DRAM_TICKS: u32 = 25;

/// Cycles before the first instruction issues, and from the last answer to the end of the run.
const START: u32 = 4;
const END: u32 = 7;

/// Totals of a run, to be compared with those of our machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Cycles of the core clock until the host knows of the end.
    pub cycles: u64,
    /// Wavefront instructions issued by all units.
    pub instructions: u64,
    /// Packets through the request network, one for each line.
    pub request_packets: u64,
    /// Packets through the reply network: one for each sector.
    pub sectors: u64,
    /// Sectors read from all channels of DRAM.
    pub dram_reads: u64,
}

/// A queue of bounded length; `N` is a power of two.
struct Ring<T, const N: usize> {
    slots: Box<[T; N]>,
    head: u32,
    tail: u32,
}

impl<T: Copy + Default, const N: usize> Ring<T, N> {
    fn new() -> Self {
        Self {
            slots: Box::new([T::default(); N]),
            head: 0,
            tail: 0,
        }
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    #[inline(always)]
    fn push(&mut self, value: T) {
        debug_assert!((self.len() as usize) < N, "a queue overflows");
        self.slots[self.tail as usize & (N - 1)] = value;
        self.tail = self.tail.wrapping_add(1);
    }

    #[inline(always)]
    fn front(&self) -> Option<&T> {
        (self.head != self.tail).then(|| &self.slots[self.head as usize & (N - 1)])
    }

    #[inline(always)]
    fn pop(&mut self) {
        self.head = self.head.wrapping_add(1);
    }
}

/// A request or an answer on its way, with the cycle from which it can be taken.
#[derive(Clone, Copy, Default)]
struct Packet {
    at: u32,
    /// Number of the line of 128 bytes.
    line: u32,
    unit: u8,
    write: bool,
    /// Register of the unit's L1 that waits for it; before the L1, the wavefront.
    id: u8,
    /// Way of the L2 that waits for it.
    way: u8,
    /// Set of the L2, or sector of the line.
    set: u16,
}

/// Cycle from which the first packet of a queue can be taken.
#[inline(always)]
fn head<const N: usize>(queue: &Ring<Packet, N>) -> u32 {
    queue.front().map_or(NEVER, |packet| packet.at)
}

/// An instruction of the kernel: cycles until its result, and where its operands come from.
#[derive(Clone, Copy)]
struct Operation {
    latency: u32,
    first: u8,
    second: u8,
    memory: bool,
}

const fn operation(latency: u32, first: u8, second: u8) -> Operation {
    Operation {
        latency,
        first,
        second,
        memory: false,
    }
}

const fn access(first: u8, second: u8) -> Operation {
    Operation {
        latency: ACCESS,
        first,
        second,
        memory: true,
    }
}

/// No operand: a place whose result is always there.
const NONE: u8 = 22;
/// Cycles from the issue of an access to its request.
const ACCESS: u32 = 4;
const LOADS: [usize; 2] = [17, 18];
const STORE: usize = 20;

/// The 22 instructions of the kernel, as `scenarios/workloads/cuda/vector_add.ptx` has them.
const PROGRAM: [Operation; 22] = [
    operation(8, NONE, NONE),
    operation(4, NONE, NONE),
    operation(4, NONE, NONE),
    operation(4, NONE, NONE),
    operation(4, 1, 3),
    operation(4, 4, 0),
    operation(1, 5, NONE),
    operation(8, NONE, NONE),
    operation(8, NONE, NONE),
    operation(4, 8, NONE),
    operation(8, NONE, NONE),
    operation(4, 10, NONE),
    operation(4, 7, NONE),
    operation(4, 4, NONE),
    operation(4, 9, 13),
    operation(4, 11, 13),
    operation(4, 12, 13),
    access(16, NONE),
    access(15, NONE),
    operation(4, 17, 18),
    access(14, 19),
    operation(1, NONE, NONE),
];

/// Cycle of a result that is not there yet.
const NEVER: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Wavefront {
    next: u8,
    /// Cycle from which each result can be used; the last place is always there.
    done: [u32; 23],
}

/// A work-group of a unit: what it still waits for.
#[derive(Clone, Copy, Default)]
struct WorkGroup {
    number: u32,
    running: u8,
    stores: u8,
}

/// Cycles ahead for which wake-ups are noted; longer than any latency of an instruction.
const WHEEL: usize = 16;

/// The wavefronts of a compute unit and its memory stage.
struct Unit {
    number: u8,
    wavefronts: Box<[Wavefront; RESIDENT * WAVEFRONTS]>,
    groups: [WorkGroup; RESIDENT],
    /// Places of work-groups, from the oldest to the youngest.
    order: [u8; RESIDENT],
    /// Wavefronts that can issue: computations and accesses, and those that can from a cycle on.
    ready: [u64; 2],
    wheel: [[u64; 2]; WHEEL],
    /// Wavefront that each scheduler issued from last.
    last: [u8; 2],
    /// Accesses whose requests are not sent, by the cycle from which they can be.
    accesses: Ring<Packet, 8>,
    /// Requests on the wire to L1, and answers of L1.
    to_l1: Ring<Packet, 128>,
    answers: Ring<Packet, 128>,
    /// Work-groups that ended in this cycle.
    ended: u8,
    issued: u64,
}

/// Wavefronts of a scheduler: every other one.
const OF_SCHEDULER: [u64; 2] = [0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa];
/// Cycles of the wire to L1, and requests that it holds.
const TO_L1: u32 = 35;
const ON_WIRE: u32 = 70;
/// Accesses that wait for their requests to be sent.
const ACCESSES: u32 = 5;

impl Unit {
    fn new(number: usize) -> Self {
        let wavefront = Wavefront {
            next: 0,
            done: [0; 23],
        };
        Self {
            number: number as u8,
            wavefronts: Box::new([wavefront; RESIDENT * WAVEFRONTS]),
            groups: [WorkGroup::default(); RESIDENT],
            order: [0, 1, 2, 3, 4, 5],
            ready: [0; 2],
            wheel: [[0; 2]; WHEEL],
            last: [0; 2],
            accesses: Ring::new(),
            to_l1: Ring::new(),
            answers: Ring::new(),
            ended: 0,
            issued: 0,
        }
    }

    /// Starts a work-group in place `slot`, whose wavefronts can issue from cycle `from` on.
    fn start(&mut self, slot: usize, number: u32, now: u32, from: u32) {
        self.groups[slot] = WorkGroup {
            number,
            running: WAVEFRONTS as u8,
            stores: 0,
        };
        let place = self.order.iter().position(|o| usize::from(*o) == slot);
        self.order[place.unwrap_or(0)..].rotate_left(1);
        for wavefront in slot * WAVEFRONTS..(slot + 1) * WAVEFRONTS {
            self.wavefronts[wavefront].next = 0;
            self.wake(wavefront, now, from);
        }
    }

    #[inline(always)]
    fn wake(&mut self, wavefront: usize, now: u32, at: u32) {
        let next = usize::from(self.wavefronts[wavefront].next);
        let kind = usize::from(PROGRAM[next].memory);
        if at <= now {
            self.ready[kind] |= 1 << wavefront;
        } else {
            self.wheel[at as usize % WHEEL][kind] |= 1 << wavefront;
        }
    }

    #[inline(never)]
    fn evaluate(&mut self, now: u32) {
        let woken = &mut self.wheel[now as usize % WHEEL];
        self.ready[0] |= woken[0];
        self.ready[1] |= woken[1];
        *woken = [0; 2];
        while let Some(&answer) = self.answers.front()
            && answer.at <= now
        {
            self.answers.pop();
            self.answered(answer, now);
        }
        if let Some(&access) = self.accesses.front()
            && access.at <= now
            && self.to_l1.len() < ON_WIRE
        {
            self.accesses.pop();
            self.to_l1.push(Packet {
                at: now + TO_L1,
                ..access
            });
        }
        if self.ready != [0; 2] {
            let mut may_access = self.accesses.len() < ACCESSES;
            for turn in 0..2 {
                let scheduler = (now as usize + turn) % 2;
                let mut can = self.ready[0] & OF_SCHEDULER[scheduler];
                if may_access {
                    can |= self.ready[1] & OF_SCHEDULER[scheduler];
                }
                if can != 0 {
                    let wavefront = self.choose(scheduler, can);
                    may_access &= !self.issue(wavefront, now);
                }
            }
        }
    }

    /// Chooses the wavefront that issued last, else the oldest.
    #[inline(always)]
    fn choose(&mut self, scheduler: usize, can: u64) -> usize {
        let last = self.last[scheduler];
        if can >> last & 1 != 0 {
            return usize::from(last);
        }
        for group in self.order {
            let first = usize::from(group) * WAVEFRONTS;
            let of_group = can >> first & 0xff;
            if of_group != 0 {
                let chosen = first + of_group.trailing_zeros() as usize;
                self.last[scheduler] = chosen as u8;
                return chosen;
            }
        }
        usize::from(last)
    }

    /// Issues the next instruction of a wavefront. Returns whether it is an access.
    #[inline(always)]
    fn issue(&mut self, number: usize, now: u32) -> bool {
        self.issued += 1;
        let wavefront = &mut self.wavefronts[number];
        let place = usize::from(wavefront.next);
        let operation = PROGRAM[place];
        self.ready[usize::from(operation.memory)] &= !(1 << number);
        wavefront.next += 1;
        if operation.memory {
            wavefront.done[place] = NEVER;
            let array = match place {
                STORE => 2,
                load => (load - LOADS[0]) as u32,
            };
            let group = &mut self.groups[number / WAVEFRONTS];
            let line = group.number * WAVEFRONTS as u32 + (number % WAVEFRONTS) as u32;
            group.stores += u8::from(place == STORE);
            self.accesses.push(Packet {
                at: now + ACCESS,
                line: line_of(array, line),
                unit: self.number,
                write: place == STORE,
                id: (number * 2 + place % 2) as u8,
                ..Packet::default()
            });
        } else {
            wavefront.done[place] = now + operation.latency;
        }
        let Some(next) = PROGRAM.get(place + 1) else {
            let group = number / WAVEFRONTS;
            self.groups[group].running -= 1;
            self.end(group);
            return false;
        };
        let done = &wavefront.done;
        let operands = done[usize::from(next.first)].max(done[usize::from(next.second)]);
        // A branch holds its wavefront, any other instruction for a cycle.
        let at = operands.max(now + 1);
        if at != NEVER {
            self.wake(number, now, at);
        }
        operation.memory
    }

    /// Takes an answer of L1: the sum may issue in the cycle after the second.
    #[inline(always)]
    fn answered(&mut self, answer: Packet, now: u32) {
        let number = usize::from(answer.id) / 2;
        if answer.write {
            let group = number / WAVEFRONTS;
            self.groups[group].stores -= 1;
            self.end(group);
            return;
        }
        let wavefront = &mut self.wavefronts[number];
        let load = if answer.id % 2 == 1 { 17 } else { 18 };
        wavefront.done[load] = now + 1;
        let operands = wavefront.done[LOADS[0]].max(wavefront.done[LOADS[1]]);
        if operands != NEVER && wavefront.next == 19 {
            self.wake(number, now, now + 1);
        }
    }

    #[inline(always)]
    fn end(&mut self, group: usize) {
        let WorkGroup {
            running, stores, ..
        } = self.groups[group];
        if running == 0 && stores == 0 {
            self.ended |= 1 << group;
        }
    }
}

/// Number of a line of 128 bytes: arrays follow each other with 256 bytes between them.
#[inline(always)]
fn line_of(array: u32, line: u32) -> u32 {
    (0x1000_0000 >> 7) + array * ((0x4_0000 >> 7) + 2) + line
}

/// The way used longest ago of those that are not locked.
#[inline(always)]
fn victim<const WAYS: usize>(used: &[u32; WAYS], locked: u8) -> Option<usize> {
    let rank = |way: usize| match locked >> way & 1 {
        0 => used[way] * 8 + way as u32,
        _ => NEVER,
    };
    let oldest = (0..WAYS).map(rank).min().unwrap_or(NEVER);
    (oldest != NEVER).then_some(oldest as usize % 8)
}

/// Sets and ways of L1, lines in flight, and stores that pass.
const L1_SETS: usize = 32;
const L1_WAYS: usize = 4;
const MISSES: u32 = 64;
const PASSING: u32 = 64;
/// Requests between L1 and network: the miss queue, two wires, and the cluster port.
const BEFORE_NETWORK: u32 = 21;

/// First level of a unit, and the cluster port below it.
struct L1 {
    tags: [[u32; L1_WAYS]; L1_SETS],
    used: [[u32; L1_WAYS]; L1_SETS],
    locked: [u8; L1_SETS],
    /// Free registers of loads and of stores, what they answer, and the sectors that they lack.
    free: [u64; 2],
    waiting: Box<[(Packet, u8, u8); 128]>,
    to_network: Ring<Packet, 32>,
    from_network: Ring<Packet, 64>,
}

impl L1 {
    fn new() -> Self {
        Self {
            tags: [[0; L1_WAYS]; L1_SETS],
            used: [[0; L1_WAYS]; L1_SETS],
            locked: [0; L1_SETS],
            free: [u64::MAX; 2],
            waiting: Box::new([Default::default(); 128]),
            to_network: Ring::new(),
            from_network: Ring::new(),
        }
    }

    #[inline(always)]
    fn set_of(line: u32) -> usize {
        let turn = line >> 6 & 0b111 | line >> 7 & 0b1000 | line >> 8 & 0b1_0000;
        (line & 0b1_1111 ^ turn) as usize
    }

    #[inline(never)]
    fn evaluate(&mut self, unit: &mut Unit, now: u32) {
        if let Some(&answer) = self.from_network.front()
            && answer.at <= now
        {
            self.from_network.pop();
            self.fill(answer, unit, now);
        }
        if let Some(&request) = unit.to_l1.front()
            && request.at <= now
            && self.to_network.len() < BEFORE_NETWORK
            && self.accept(request, now)
        {
            unit.to_l1.pop();
        }
    }

    /// Looks up a request. Returns false if it has to wait for a register or a way.
    #[inline(always)]
    fn accept(&mut self, request: Packet, now: u32) -> bool {
        let kind = usize::from(request.write);
        if self.free[kind] == 0 {
            return false;
        }
        let set = Self::set_of(request.line);
        let tags = &mut self.tags[set];
        let hit = (0..L1_WAYS).find(|way| tags[*way] == request.line);
        let mut taken = 0;
        if request.write {
            if let Some(way) = hit {
                tags[way] = 0;
            }
        } else {
            assert!(hit.is_none(), "a vector addition reuses no line");
            let Some(way) = victim(&self.used[set], self.locked[set]) else {
                return false;
            };
            tags[way] = request.line;
            self.used[set][way] = now;
            self.locked[set] |= 1 << way;
            taken = way as u8;
        }
        let register = self.free[kind].trailing_zeros();
        self.free[kind] &= self.free[kind] - 1;
        let id = register as usize + kind * MISSES as usize;
        self.waiting[id] = (request, taken, 4);
        // To leave, two wires, and the port.
        self.to_network.push(Packet {
            at: now + 4,
            id: id as u8,
            ..request
        });
        true
    }

    /// Takes a sector. The last one answers the request.
    #[inline(always)]
    fn fill(&mut self, answer: Packet, unit: &mut Unit, now: u32) {
        let id = usize::from(answer.id);
        let (request, way, missing) = &mut self.waiting[id];
        *missing -= 1;
        if *missing != 0 {
            return;
        }
        if !request.write {
            self.locked[Self::set_of(request.line)] &= !(1 << *way);
        }
        self.free[id >> 6] |= 1 << (id & 63);
        unit.answers.push(Packet {
            at: now + 2,
            ..*request
        });
    }
}

const _: () = assert!(MISSES == 64 && PASSING == 64, "a bit each of a word");

/// Flits that an input of a network holds, and cycles of its stages.
const BUFFER: u32 = 64;
const INPUT: u32 = 2;
const OUTPUT: u32 = 3;
const CREDIT: u32 = 2;

/// An input-queued switch: one queue for each input, two matchings in a cycle.
struct Switch {
    queues: Vec<Ring<(Packet, u8, u8), 64>>,
    /// First cycle in which each input takes another packet, and its flits inside.
    taken_until: [u32; UNITS_MAX],
    held: [u32; UNITS_MAX],
    credits: Ring<(u32, u8, u8), 1024>,
    arrivals: Ring<(u32, u8), 256>,
    /// Inputs that ask for each output; outputs that are asked for, and those that are closed.
    asking: [u32; UNITS_MAX],
    asked: u32,
    closed: u32,
    /// Outputs that open again by matching, the input that each served, and inputs until then.
    opening: [u32; 16],
    served: [u8; UNITS_MAX],
    turning: u32,
    /// Input that each output prefers.
    pointer: [u8; UNITS_MAX],
    /// First cycle in which a flit can leave each output.
    leaving: [u32; UNITS_MAX],
}

impl Switch {
    fn new(inputs: usize) -> Self {
        Self {
            queues: (0..inputs).map(|_| Ring::new()).collect(),
            taken_until: [0; UNITS_MAX],
            held: [0; UNITS_MAX],
            credits: Ring::new(),
            arrivals: Ring::new(),
            asking: [0; UNITS_MAX],
            asked: 0,
            closed: 0,
            opening: [0; 16],
            served: [0; UNITS_MAX],
            turning: 0,
            pointer: [0; UNITS_MAX],
            leaving: [0; UNITS_MAX],
        }
    }

    #[inline(always)]
    fn accepts(&self, input: usize, flits: u32, now: u32) -> bool {
        self.taken_until[input] <= now && self.held[input] + flits <= BUFFER
    }

    #[inline(always)]
    fn enter(&mut self, input: usize, output: usize, flits: u32, packet: Packet, now: u32) {
        self.taken_until[input] = now + flits;
        self.held[input] += flits;
        let at = now + INPUT;
        let packet = Packet { at, ..packet };
        self.queues[input].push((packet, output as u8, flits as u8));
        self.arrivals.push((at, input as u8));
    }

    #[inline(always)]
    fn is_idle(&self) -> bool {
        self.arrivals.len() == 0 && self.asked | self.closed == 0 && self.credits.len() == 0
    }

    #[inline(always)]
    fn ask(&mut self, input: usize, output: u8) {
        self.asking[usize::from(output)] |= 1 << input;
        self.asked |= 1 << output;
    }

    #[inline(never)]
    fn evaluate(&mut self, now: u32, mut deliver: impl FnMut(usize, Packet, u32)) {
        while let Some(&(at, input, flits)) = self.credits.front()
            && at <= now
        {
            self.credits.pop();
            self.held[usize::from(input)] -= u32::from(flits);
        }
        while let Some(&(at, input)) = self.arrivals.front()
            && at <= now
        {
            self.arrivals.pop();
            let input = usize::from(input);
            let queue = &self.queues[input];
            if queue.front().is_some_and(|first| first.0.at == now)
                && self.turning >> input & 1 == 0
            {
                let output = queue.front().map_or(0, |first| first.1);
                self.ask(input, output);
            }
        }
        for matching in now * 2..now * 2 + 2 {
            self.open(matching);
            let mut outputs = self.asked & !self.closed;
            while outputs != 0 {
                let output = outputs.trailing_zeros() as usize;
                outputs &= outputs - 1;
                let asking = self.asking[output];
                let after = asking & u32::MAX << self.pointer[output];
                let chosen = if after == 0 { asking } else { after };
                self.pass(
                    chosen.trailing_zeros() as usize,
                    output,
                    matching,
                    &mut deliver,
                );
            }
        }
    }

    /// Opens outputs after their turnaround. The inputs that they served go on.
    #[inline(always)]
    fn open(&mut self, matching: u32) {
        let mut opening = std::mem::take(&mut self.opening[matching as usize % 16]);
        self.closed &= !opening;
        while opening != 0 {
            let output = opening.trailing_zeros() as usize;
            opening &= opening - 1;
            let input = usize::from(self.served[output]);
            self.turning &= !(1 << input);
            if let Some(first) = self.queues[input].front()
                && first.0.at * 2 <= matching
            {
                let output = first.1;
                self.ask(input, output);
            }
        }
    }

    /// Moves the first packet of an input to its output.
    #[inline(always)]
    fn pass(
        &mut self,
        input: usize,
        output: usize,
        matching: u32,
        deliver: &mut impl FnMut(usize, Packet, u32),
    ) {
        let queue = &mut self.queues[input];
        let Some(&(packet, _, flits)) = queue.front() else {
            return;
        };
        queue.pop();
        let flits = u32::from(flits);
        self.asking[output] &= !(1 << input);
        if self.asking[output] == 0 {
            self.asked &= !(1 << output);
        }
        let inputs = self.queues.len() as u8;
        self.pointer[output] = if input as u8 + 1 == inputs {
            0
        } else {
            input as u8 + 1
        };
        let tail = (matching + flits - 1).max((packet.at + flits - 1) * 2);
        self.closed |= 1 << output;
        self.turning |= 1 << input;
        self.served[output] = input as u8;
        self.opening[(tail + 2) as usize % 16] |= 1 << output;
        self.credits
            .push((matching / 2 + CREDIT, input as u8, flits as u8));
        let head = (matching / 2 + OUTPUT).max(self.leaving[output]);
        let last = (head + flits - 1).max(tail / 2 + OUTPUT);
        self.leaving[output] = last + 1;
        deliver(output, packet, last);
    }
}

/// Sets and ways of a slice of L2; reads in flight, requests on their way down, and queued answers
/// of stores.
const L2_SETS: usize = 256;
const L2_WAYS: usize = 8;
const L2_MISSES: u32 = 256;
const L2_DOWN: u32 = 7;
const L2_ANSWERS: u32 = 2;
/// Cycles of the wire from the network to a slice, and requests that it holds.
const TO_L2: u32 = 120;

/// A slice of the second level, with lines of a sector.
struct L2 {
    tags: Box<[[u32; L2_WAYS]; L2_SETS]>,
    used: Box<[[u32; L2_WAYS]; L2_SETS]>,
    locked: Box<[u8; L2_SETS]>,
    dirty: Box<[u8; L2_SETS]>,
    reads: u32,
    stores: u32,
    /// Sectors of the request at the head that were looked up.
    sector: u16,
    /// Cycle before which nothing can happen.
    due: u32,
    requests: Ring<Packet, 512>,
    down: Ring<Packet, 8>,
    fills: Ring<Packet, 512>,
    answers: Ring<Packet, 512>,
}

impl L2 {
    fn new() -> Self {
        Self {
            tags: Box::new([[0; L2_WAYS]; L2_SETS]),
            used: Box::new([[0; L2_WAYS]; L2_SETS]),
            locked: Box::new([0; L2_SETS]),
            dirty: Box::new([0; L2_SETS]),
            reads: 0,
            stores: 0,
            sector: 0,
            due: NEVER,
            requests: Ring::new(),
            down: Ring::new(),
            fills: Ring::new(),
            answers: Ring::new(),
        }
    }

    #[inline(never)]
    fn evaluate(&mut self, slice: usize, replies: &mut Switch, now: u32) {
        if let Some(&answer) = self.answers.front()
            && answer.at <= now
            && replies.accepts(slice, 1, now)
        {
            self.answers.pop();
            self.stores -= u32::from(answer.write);
            replies.enter(slice, usize::from(answer.unit), 1, answer, now);
        }
        if let Some(&fill) = self.fills.front()
            && fill.at <= now
        {
            self.fills.pop();
            self.locked[usize::from(fill.set)] &= !(1 << fill.way);
            self.reads -= 1;
            self.answers.push(Packet {
                at: now + 2,
                ..fill
            });
        }
        if let Some(&request) = self.requests.front()
            && request.at <= now
            && self.accept(request, now)
        {
            self.sector += 1;
            if self.sector == 4 {
                self.sector = 0;
                self.requests.pop();
            }
        }
        let due = head(&self.answers)
            .min(head(&self.fills))
            .min(head(&self.requests));
        self.due = due.max(now + 1);
    }

    /// Looks up a sector. Returns false if it has to wait for a register, a way or room.
    #[inline(always)]
    fn accept(&mut self, request: Packet, now: u32) -> bool {
        let full = if request.write {
            self.stores >= L2_ANSWERS
        } else {
            self.reads >= L2_MISSES || self.down.len() >= L2_DOWN
        };
        if full {
            return false;
        }
        // A granule is two lines, eight sectors.
        let local = request.line / 2 / SLICES as u32 * 8 + request.line % 2 * 4;
        let set = (local + u32::from(self.sector)) as usize % L2_SETS;
        let tag = request.line * 4 + u32::from(self.sector);
        let tags = &mut self.tags[set];
        assert!(!tags.contains(&tag), "a vector addition reuses no sector");
        let Some(way) = victim(&self.used[set], self.locked[set]) else {
            return false;
        };
        assert!(self.dirty[set] >> way & 1 == 0, "more data than L2 holds");
        tags[way] = tag;
        self.used[set][way] = now + 1;
        if request.write {
            self.dirty[set] |= 1 << way;
            self.stores += 1;
            self.answers.push(Packet {
                at: now + 2,
                ..request
            });
        } else {
            self.reads += 1;
            self.locked[set] |= 1 << way;
            // The wire ends in the other clock.
            let at = ((now + 2) * CORE_TICKS).div_ceil(DRAM_TICKS);
            self.down.push(Packet {
                at,
                set: set as u16,
                way: way as u8,
                ..request
            });
        }
        true
    }
}

/// Banks of a channel and its queue of reads; reads in flight at most.
const BANKS: usize = 16;
const READS: u32 = 64;
const IN_FLIGHT: u32 = 269;
/// Cycles from a column command to the answer.
const ANSWER: u32 = 12 + 2 + 132;

#[derive(Clone, Copy, Default)]
struct Read {
    packet: Packet,
    row: u32,
    age: u32,
}

/// A bank: the reads that wait for it in order of age, and its earliest commands.
#[derive(Default)]
struct Bank {
    reads: Vec<Read>,
    row: Option<u32>,
    /// True from an activation to the read that it is for.
    owes: bool,
    column_from: u32,
    activate_from: u32,
    precharge_from: u32,
}

/// The next command of a channel: its cycle, the read that it serves, and its bank.
#[derive(Clone, Copy)]
struct Planned {
    at: u32,
    age: u32,
    bank: usize,
    command: Command,
}

impl Planned {
    /// The earlier of two, or that for the older read.
    #[inline(always)]
    fn or(self, other: Option<Self>) -> Self {
        match other {
            Some(other) if (other.at, other.age) < (self.at, self.age) => other,
            _ => self,
        }
    }
}

#[derive(Clone, Copy)]
enum Command {
    Column(usize),
    Activate,
    Precharge,
}

/// A channel of DRAM with its banks and queue.
struct Dram {
    banks: [Bank; BANKS],
    waiting: u32,
    queued: u32,
    age: u32,
    turn: usize,
    any_column: u32,
    group_column: [u32; 4],
    any_activate: u32,
    next: Option<Planned>,
    /// Cycle before which nothing can happen.
    due: u32,
    in_flight: Ring<u32, 512>,
    reads: u64,
}

impl Dram {
    fn new() -> Self {
        Self {
            banks: Default::default(),
            waiting: 0,
            queued: 0,
            age: 0,
            turn: 0,
            any_column: 0,
            group_column: [0; 4],
            any_activate: 0,
            next: None,
            due: NEVER,
            in_flight: Ring::new(),
            reads: 0,
        }
    }

    #[inline(never)]
    fn evaluate(&mut self, slices: &mut [L2; SLICES], channel: usize, now: u32) {
        if let Some(planned) = self.next
            && planned.at <= now
        {
            if let Some((packet, slice)) = self.command(planned, now) {
                let slice = &mut slices[slice];
                slice.fills.push(packet);
                slice.due = slice.due.min(packet.at);
            }
            self.next = self.plan(now + 1);
        }
        while let Some(&at) = self.in_flight.front()
            && at <= now
        {
            self.in_flight.pop();
        }
        let has_room = self.queued < READS && self.queued + self.in_flight.len() < IN_FLIGHT;
        let mut due = self.next.map_or(NEVER, |next| next.at);
        for turn in [self.turn, 1 - self.turn] {
            let down = &mut slices[channel + turn * CHANNELS].down;
            if has_room && head(down) <= now {
                let packet = down.front().copied().unwrap_or_default();
                down.pop();
                self.turn = 1 - turn;
                self.admit(packet, now);
                due = now + 1;
                break;
            }
            due = due.min(head(down));
        }
        self.due = due.max(now + 1);
    }

    #[inline(always)]
    fn admit(&mut self, packet: Packet, now: u32) {
        // Accesses of 64 bytes: two sectors share one.
        let granule = packet.line / 2 / CHANNELS as u32;
        let sector = u32::from(packet.set) % 8;
        let access = granule * 4 + sector / 2;
        let bank = (access >> 7 & 1) << 1 | access >> 2 & 1 | (access >> 8 & 3) << 2;
        self.banks[bank as usize].reads.push(Read {
            packet,
            row: access >> 10 & 0xfff,
            age: self.age,
        });
        self.age += 1;
        self.waiting |= 1 << bank;
        self.queued += 1;
        // Nothing changes for the other banks.
        self.next = Some(self.plan_bank(bank as usize, now + 1).or(self.next));
    }

    /// Finds the legal command of the oldest read.
    #[inline(always)]
    fn plan(&self, from: u32) -> Option<Planned> {
        let mut best = None;
        let mut waiting = self.waiting;
        while waiting != 0 {
            let bank = waiting.trailing_zeros() as usize;
            waiting &= waiting - 1;
            best = Some(self.plan_bank(bank, from).or(best));
        }
        best
    }

    /// Finds the next command of a bank for which reads wait.
    #[inline(always)]
    fn plan_bank(&self, number: usize, from: u32) -> Planned {
        let bank = &self.banks[number];
        let planned = |at: u32, age: u32, command: Command| Planned {
            at: at.max(from),
            age,
            bank: number,
            command,
        };
        let first = &bank.reads[0];
        let Some(row) = bank.row else {
            let at = bank.activate_from.max(self.any_activate);
            return planned(at, first.age, Command::Activate);
        };
        let column = bank.column_from.max(self.any_column);
        let column = column.max(self.group_column[number & 3]);
        if first.row == row {
            return planned(column, first.age, Command::Column(0));
        }
        let hit = bank.reads.iter().position(|read| read.row == row);
        let hit = hit.map(|place| planned(column, bank.reads[place].age, Command::Column(place)));
        match hit {
            Some(hit) if bank.owes => hit,
            _ => planned(bank.precharge_from, first.age, Command::Precharge).or(hit),
        }
    }

    /// Issues a command. Returns the answer of a read, and its slice.
    #[inline(always)]
    fn command(&mut self, planned: Planned, now: u32) -> Option<(Packet, usize)> {
        let number = planned.bank;
        let bank = &mut self.banks[number];
        match planned.command {
            Command::Activate => {
                bank.row = Some(bank.reads[0].row);
                bank.owes = true;
                bank.column_from = now + 12;
                bank.precharge_from = now + 28;
                bank.activate_from = now + 40;
                self.any_activate = now + 6;
                None
            }
            Command::Precharge => {
                bank.row = None;
                bank.activate_from = bank.activate_from.max(now + 12);
                None
            }
            Command::Column(place) => {
                let Read { packet, .. } = bank.reads.remove(place);
                bank.owes = false;
                bank.precharge_from = bank.precharge_from.max(now + 2);
                if bank.reads.is_empty() {
                    self.waiting &= !(1 << number);
                }
                self.queued -= 1;
                self.reads += 1;
                self.any_column = now + 2;
                self.group_column[number & 3] = now + 3;
                self.in_flight.push(now + ANSWER);
                let at = ((now + ANSWER + 1) * DRAM_TICKS).div_ceil(CORE_TICKS);
                let slice = (packet.line / 2 % SLICES as u32) as usize;
                Some((Packet { at, ..packet }, slice))
            }
        }
    }
}

/// Deals work-groups to units as places become free.
struct Dealer {
    next: u32,
    groups: u32,
    done: u32,
    last: u32,
}

impl Dealer {
    /// Gives each unit a first work-group, then a second, until all are full.
    fn fill(&mut self, units: &mut [Unit]) {
        for slot in 0..RESIDENT {
            for unit in units.iter_mut() {
                if self.next < self.groups {
                    // A work-group arrives in each cycle; the wheel holds so many.
                    unit.start(slot, self.next, 0, START + slot as u32);
                    self.next += 1;
                }
            }
        }
    }

    /// Replaces the work-groups of a unit that ended.
    #[inline(always)]
    fn replace(&mut self, unit: &mut Unit, now: u32) {
        let mut ended = std::mem::take(&mut unit.ended);
        while ended != 0 {
            let slot = ended.trailing_zeros() as usize;
            ended &= ended - 1;
            self.done += 1;
            self.last = now;
            if self.next < self.groups {
                // To the scheduler, back, and a cycle to start.
                unit.start(slot, self.next, now, now + 3);
                self.next += 1;
            }
        }
    }
}

/// Adds two vectors of `elements` on this many units, and tells what moved.
///
/// # Panics
/// Panics if there are no units or more than 15. Panics if the elements are no multiple of 256 or
/// more than L2 holds.
#[inline(never)]
pub fn run(units: usize, elements: u32) -> Moved {
    assert!((1..UNITS_MAX).contains(&units), "{units} units");
    let fits = (1..=ELEMENTS_MAX).contains(&elements) && elements.is_multiple_of(BLOCK);
    assert!(fits, "{elements} elements");
    let mut dealer = Dealer {
        next: 0,
        groups: elements / BLOCK,
        done: 0,
        last: 0,
    };
    let mut cores: Vec<Unit> = (0..units).map(Unit::new).collect();
    let mut firsts: Vec<L1> = (0..units).map(|_| L1::new()).collect();
    let mut slices: [L2; SLICES] = std::array::from_fn(|_| L2::new());
    let mut channels: [Dram; CHANNELS] = std::array::from_fn(|_| Dram::new());
    let (mut requests, mut replies) = (Switch::new(units), Switch::new(SLICES));
    let mut moved = Moved::default();
    dealer.fill(&mut cores);
    let mut dram_cycle = 0;
    let mut now = 0;
    while dealer.done < dealer.groups {
        for (number, (unit, first)) in cores.iter_mut().zip(&mut firsts).enumerate() {
            let awake = unit.ready[0] | unit.ready[1];
            let woken = unit.wheel[now as usize % WHEEL];
            if awake | woken[0] | woken[1] != 0
                || head(&unit.answers).min(head(&unit.accesses)) <= now
            {
                unit.evaluate(now);
                if unit.ended != 0 {
                    dealer.replace(unit, now);
                }
            }
            if head(&first.from_network).min(head(&unit.to_l1)) <= now {
                first.evaluate(unit, now);
            }
            if let Some(&packet) = first.to_network.front()
                && packet.at <= now
            {
                let flits = if packet.write { 4 } else { 1 };
                if requests.accepts(number, flits, now) {
                    first.to_network.pop();
                    let slice = (packet.line / 2 % SLICES as u32) as usize;
                    requests.enter(number, slice, flits, packet, now);
                    moved.request_packets += 1;
                }
            }
        }
        if !requests.is_idle() {
            requests.evaluate(now, |slice, packet, left| {
                let at = left + TO_L2;
                slices[slice].requests.push(Packet { at, ..packet });
                slices[slice].due = slices[slice].due.min(at);
            });
        }
        for (number, slice) in slices.iter_mut().enumerate() {
            if slice.due <= now {
                slice.evaluate(number, &mut replies, now);
                let channel = &mut channels[number % CHANNELS];
                channel.due = channel.due.min(head(&slice.down));
            }
        }
        if !replies.is_idle() {
            replies.evaluate(now, |unit, packet, left| {
                // A wire, the port, and a wire.
                let at = left + 3;
                firsts[unit].from_network.push(Packet { at, ..packet });
                moved.sectors += 1;
            });
        }
        now += 1;
        while dram_cycle * DRAM_TICKS < now * CORE_TICKS {
            for (number, channel) in channels.iter_mut().enumerate() {
                if channel.due <= dram_cycle {
                    channel.evaluate(&mut slices, number, dram_cycle);
                }
            }
            dram_cycle += 1;
        }
    }
    moved.cycles = u64::from(dealer.last + END);
    moved.instructions = cores.iter().map(|unit| unit.issued).sum();
    moved.dram_reads = channels.iter().map(|channel| channel.reads).sum();
    moved
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use warpweave_systems::{Machine, Scenario, standard_registry};

    use super::*;

    /// Runs our machine on the same work.
    fn ours(units: usize, elements: u32) -> Moved {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(SCENARIO);
        let mut sets: Vec<_> = SWITCHES.map(str::to_owned).to_vec();
        sets.push(format!("params.clusters={units}"));
        sets.push(format!("workload.n={elements}"));
        let scenario = Scenario::load(&path, &sets).unwrap();
        let executed = scenario.emulate().unwrap();
        let registry = standard_registry();
        let mut machine = Machine::of(&scenario, &registry, &executed.program).unwrap();
        let never = Arc::new(AtomicBool::new(false));
        let simulated = machine.simulate(&never, &mut |_| {});
        let sum = |kind: &str, name: &str| -> u64 {
            let of_kind = simulated.statistics.iter().filter(|i| i.kind == kind);
            of_kind.map(|i| i.counter(name).unwrap()).sum()
        };
        Moved {
            cycles: simulated.cycles,
            instructions: simulated.wavefront_instructions,
            request_packets: sum("Crossbar", "request_packets"),
            sectors: sum("Crossbar", "reply_packets"),
            dram_reads: sum("Gddr5", "reads"),
        }
    }

    #[test]
    fn the_floor_moves_what_our_machine_moves_in_as_many_cycles_to_three_percent() {
        for (units, elements) in [(1, 8192), (4, 8192), (15, 8192), (15, 65_536)] {
            let (ours, floor) = (ours(units, elements), run(units, elements));
            let cycles = floor.cycles;
            assert_eq!(Moved { cycles, ..ours }, floor, "{units} units, {elements}");
            let ratio = cycles as f64 / ours.cycles as f64;
            assert!(
                (0.97..=1.03).contains(&ratio),
                "{units} units, {elements}: {ratio}"
            );
        }
    }
}
