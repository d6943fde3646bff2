//! Constant and texture paths of the naive unit.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_trace::{Lanes, ReadPath, Record};

use super::*;

/// Index of the constant path; textures follow.
const CONSTANTS: usize = 0;
const TEXTURES: usize = 1;

/// State of one read path in the naive unit.
#[derive(Default)]
pub(super) struct Aside {
    pub(super) port: MemMaster,
    queue: VecDeque<Queued>,
    sent: Vec<Sent>,
    requests: u32,
}

/// A request whose response has not been forwarded.
struct Sent {
    id: u32,
    slot: usize,
    flight: u64,
    answer: Option<Level>,
}

/// Groups byte addresses into lines, in ascending order.
fn lines(bytes: impl Iterator<Item = u64>, line_bytes: u32) -> Vec<(u64, u32)> {
    let mut lines: BTreeMap<u64, u32> = BTreeMap::new();
    for byte in bytes {
        let offset = byte % u64::from(line_bytes);
        *lines.entry(byte - offset).or_default() |= 1 << (offset / 4);
    }
    lines.into_iter().collect()
}

impl Naive {
    /// Returns the read path that the next record uses.
    pub(super) fn aside(&self, wavefront: &Wavefront) -> Option<usize> {
        let (record, lanes) = wavefront.next();
        let instruction = &self.kernel.code.instructions[wavefront.pc()];
        if instruction.class != Class::Load || lanes.iter(record.mask).count() == 0 {
            return None;
        }
        let takes = match instruction.hints.path {
            ReadPath::Coherent => false,
            ReadPath::NonCoherent => self
                .spec
                .textures
                .is_some_and(|spec| spec.loads == TextureLoads::NonCoherent),
            ReadPath::Texture => self.spec.textures.is_some(),
        };
        match record.space {
            Space::Const | Space::Param => self.spec.constants.map(|_| CONSTANTS),
            Space::Global => takes.then_some(TEXTURES),
            _ => None,
        }
    }

    /// Returns line bytes, queue depth, requests per cycle, maximum outstanding requests and
    /// write-back latency of a path.
    fn aside_numbers(&self, path: usize) -> [u32; 5] {
        if path == CONSTANTS {
            let spec = self.spec.constants.expect("the path is there");
            [
                spec.line_bytes,
                spec.queue_depth,
                spec.requests_per_cycle,
                spec.outstanding_max,
                spec.writeback_latency,
            ]
        } else {
            let spec = self.spec.textures.expect("the path is there");
            [
                spec.line_bytes,
                spec.queue_depth,
                spec.requests_per_cycle,
                spec.outstanding_max,
                spec.writeback_latency,
            ]
        }
    }

    pub(super) fn aside_is_full(&self, wavefront: &Wavefront) -> bool {
        self.aside(wavefront).is_some_and(|path| {
            let [_, depth, ..] = self.aside_numbers(path);
            self.asides[path].queue.len() >= depth as usize
        })
    }

    /// Returns the requests of a load in order.
    fn aside_lines(
        &self,
        path: usize,
        (record, lanes): &(Record, Lanes),
        bytes: u64,
    ) -> Vec<(u64, u32)> {
        let [line_bytes, ..] = self.aside_numbers(path);
        let base = match (record.space, self.spec.constants) {
            (Space::Param, Some(constants)) => constants.arguments,
            _ => 0,
        };
        let addresses: BTreeSet<u64> = lanes.iter(record.mask).map(|(_, at)| base + at).collect();
        let read = |address: u64| address..address + bytes;
        let apart = |constants: ConstantsSpec| constants.lanes == ConstantLanes::Apart;
        if path == CONSTANTS && self.spec.constants.is_some_and(apart) {
            let addresses = addresses.into_iter();
            return addresses
                .flat_map(|address| lines(read(address), line_bytes))
                .collect();
        }
        lines(addresses.into_iter().flat_map(read), line_bytes)
    }

    pub(super) fn read_aside(&mut self, path: usize, slot: usize, bytes: u64, ready_at: Cycle) {
        let next = self.at(slot).next().clone();
        let pc = next.0.pc;
        let lines = self.aside_lines(path, &next, bytes).into();
        let kind = RequestKind::Read;
        let flight = self.starts_flight(slot, pc as usize, Some(kind));
        self.asides[path].queue.push_back(Queued {
            ready_at,
            slot,
            flight,
            pc,
            local: None,
            lines,
            bytes: None,
            kind,
        });
    }

    pub(super) fn send_aside(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        for path in 0..self.asides.len() {
            if self.asides[path].queue.is_empty() {
                continue;
            }
            let [_, _, requests_per_cycle, outstanding_max, _] = self.aside_numbers(path);
            for _ in 0..requests_per_cycle {
                let aside = &mut self.asides[path];
                let room = aside.sent.len() < outstanding_max as usize;
                let ready = aside.queue.front().is_some_and(|q| q.ready_at <= now);
                if !room || !ready || !aside.port.request.can_send(ctx) {
                    break;
                }
                let (slot, pc) = (aside.queue[0].slot, aside.queue[0].pc);
                let source = self.source(slot, pc);
                let aside = &mut self.asides[path];
                let head = &mut aside.queue[0];
                let flight = head.flight;
                let (line, words) = head.lines.pop_front().expect("it has requests");
                if head.lines.is_empty() {
                    aside.queue.pop_front();
                }
                aside.requests += 1;
                let id = aside.requests;
                let request = MemRequest {
                    source,
                    ..MemRequest::read(id, line, words)
                };
                aside.port.request.send(ctx, request);
                aside.sent.push(Sent {
                    id,
                    slot,
                    flight,
                    answer: None,
                });
            }
        }
    }

    pub(super) fn take_aside(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        let textures = self.spec.textures;
        let in_order = textures.is_some_and(|spec| spec.answers == TextureAnswers::InOrder);
        for path in 0..self.asides.len() {
            while self.asides[path].port.response.is_connected()
                && let Some(response) = self.asides[path].port.response.pop(ctx)
            {
                let sent = &mut self.asides[path].sent;
                let place = sent.iter().position(|sent| sent.id == response.id);
                sent[place.expect("it was asked")].answer = Some(response.level);
                loop {
                    let sent = &self.asides[path].sent;
                    let next = if path == TEXTURES && in_order {
                        sent.first()
                            .is_some_and(|s| s.answer.is_some())
                            .then_some(0)
                    } else {
                        sent.iter().position(|s| s.answer.is_some())
                    };
                    let Some(next) = next else { break };
                    let sent = self.asides[path].sent.remove(next);
                    self.aside_answered(path, &sent, now);
                }
            }
        }
    }

    fn aside_answered(&mut self, path: usize, sent: &Sent, now: Cycle) {
        let Sent {
            slot,
            flight,
            answer,
            ..
        } = *sent;
        let aside = &self.asides[path];
        if aside.sent.iter().any(|other| other.flight == flight)
            || aside.queue.iter().any(|queued| queued.flight == flight)
        {
            return;
        }
        let [.., later] = self.aside_numbers(path);
        let pc = self.instruction_of(slot, flight);
        let has_writes = !self.kernel.code.instructions[pc].writes.is_empty();
        if has_writes && later > 0 {
            let done = Due::Done {
                flight,
                level: answer,
            };
            self.due.push((now + u64::from(later), slot, done));
        } else {
            self.done(slot, flight, answer, now);
        }
    }
}
