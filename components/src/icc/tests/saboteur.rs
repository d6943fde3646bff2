//! Fault injection that breaks one rule of a unit.

use warpweave_random::CounterRng;

use warpweave_framework::Bundle;

use super::*;

/// Injected fault, applied to some of the eligible messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// A response is lost on its way.
    Lost,
    /// A response is sent two times.
    Twice,
    /// A response is sent to the next unit.
    WrongUnit,
    /// A response lacks one of its words.
    FewerWords,
    /// A response carries another line address.
    OtherLine,
    /// A response carries the oldest possible version of the line.
    Old,
    /// An untracked read is sent as a tracked one.
    SecondTracked,
    /// A tracked response appears untracked to the unit, so that only the first reader receives it.
    OneReader,
    /// An untracked response frees the entry of its line, as if no bit distinguished the two kinds.
    NoBit,
    /// A write is sent after reads that follow it.
    LateWrite,
}

/// Component between the unit and the checker that, together with the unit, acts as the faulty one.
#[derive(Statistics)]
pub(super) struct Saboteur {
    fault: Fault,
    dice: CounterRng,
    up: Vec<MemSlave>,
    unit_up: Vec<MemMaster>,
    unit_down: MemSlave,
    down: MemMaster,
    /// Messages that were eligible for the fault.
    chances: u64,
    /// Delayed writes, each with the cycle of its release.
    held: VecDeque<(Cycle, MemRequest)>,
    /// Responses on their way to each unit.
    answers: Vec<VecDeque<MemResponse>>,
}

impl Saboteur {
    pub(super) fn new(fault: Fault, ports: u32) -> Self {
        Self {
            fault,
            dice: CounterRng::new(0, "faults"),
            up: (0..ports).map(|_| MemSlave::default()).collect(),
            unit_up: (0..ports).map(|_| MemMaster::default()).collect(),
            unit_down: MemSlave::default(),
            down: MemMaster::default(),
            chances: 0,
            held: VecDeque::new(),
            answers: vec![VecDeque::new(); ports as usize],
        }
    }

    /// True if the fault is injected now: for about a quarter of the eligible messages.
    fn strikes(&mut self, fault: Fault, can: bool) -> bool {
        let chance = fault == self.fault && can;
        self.chances += u64::from(chance);
        chance && self.dice.chance(self.chances, 4)
    }

    /// Applies the fault to a response of the unit to `port`. Returns the responses to send, with
    /// their ports.
    fn spoil(&mut self, port: usize, mut response: MemResponse) -> Vec<(usize, MemResponse)> {
        let read = response.kind == RequestKind::Read;
        if self.strikes(Fault::Lost, read) {
            return Vec::new();
        }
        if self.strikes(Fault::Twice, read) {
            return vec![(port, response), (port, response)];
        }
        if self.strikes(Fault::WrongUnit, read) {
            return vec![((port + 1) % self.up.len(), response)];
        }
        if self.strikes(Fault::FewerWords, read) {
            response.words &= response.words - 1;
        }
        if self.strikes(Fault::OtherLine, read) {
            response.line += 128;
        }
        if self.strikes(Fault::Old, read) {
            response.write_sequence = 0;
        }
        vec![(port, response)]
    }

    fn move_down(&mut self, ctx: &mut Context<'_>) {
        let now = ctx.cycle();
        while self.down.request.can_send(ctx) {
            if self.held.front().is_some_and(|(until, _)| *until <= now) {
                let (_, write) = self
                    .held
                    .pop_front()
                    .expect("the list of words is not empty one");
                self.down.request.send(ctx, write);
                continue;
            }
            let Some(mut request) = self.unit_down.request.pop(ctx) else {
                return;
            };
            let read = request.kind == RequestKind::Read;
            let tracked = request.flags & flags::TRACKED != 0;
            if self.strikes(Fault::SecondTracked, read && !tracked) {
                request.flags |= flags::TRACKED;
            }
            if self.strikes(Fault::LateWrite, request.kind == RequestKind::Write) {
                self.held.push_back((now + 30, request));
                continue;
            }
            self.down.request.send(ctx, request);
        }
    }
}

impl Bundle for Saboteur {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundles("up", &mut self.up);
        ports.bundles("unit_up", &mut self.unit_up);
        ports.bundle("unit_down", &mut self.unit_down);
        ports.bundle("down", &mut self.down);
    }
}

impl Component for Saboteur {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        self.move_down(ctx);
        while self.unit_down.response.can_send(ctx)
            && let Some(mut response) = self.down.response.pop(ctx)
        {
            let read = response.kind == RequestKind::Read;
            let tracked = response.flags & flags::TRACKED != 0;
            if self.strikes(Fault::OneReader, read && tracked) {
                response.flags &= !flags::TRACKED;
            }
            if self.strikes(Fault::NoBit, read && !tracked) {
                response.flags |= flags::TRACKED;
            }
            self.unit_down.response.send(ctx, response);
        }
        for port in 0..self.up.len() {
            while self.unit_up[port].request.can_send(ctx)
                && let Some(request) = self.up[port].request.pop(ctx)
            {
                self.unit_up[port].request.send(ctx, request);
            }
            while let Some(response) = self.unit_up[port].response.pop(ctx) {
                for (to, response) in self.spoil(port, response) {
                    self.answers[to].push_back(response);
                }
            }
        }
        for (answers, up) in self.answers.iter_mut().zip(&mut self.up) {
            while up.response.can_send(ctx)
                && let Some(response) = answers.pop_front()
            {
                up.response.send(ctx, response);
            }
        }
        Next::Busy
    }
}

impl Stateful for Saboteur {}
