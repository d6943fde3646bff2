//! What makes a unit a broken one.

use warpweave_random::CounterRng;

use super::*;

/// What goes wrong, at some of the messages that it can happen to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// An answer is lost.
    Lost,
    /// An answer comes twice.
    Twice,
    /// An answer goes to the next unit.
    WrongUnit,
    /// An answer lacks a word.
    FewerWords,
    /// An answer has another line.
    OtherLine,
    /// An answer is as old as the line can be.
    Old,
    /// An untracked read leaves as a tracked one.
    SecondTracked,
    /// A tracked response looks untracked to the unit, so only the first reader hears of it.
    OneReader,
    /// An untracked response ends the entry of its line: no bit tells the two apart.
    NoBit,
    /// A write leaves after reads behind it.
    LateWrite,
}

/// Stands between the unit and the checker, and together with the unit is the broken one.
pub(super) struct Saboteur {
    fault: Fault,
    dice: CounterRng,
    up: Vec<MemSlave>,
    unit_up: Vec<MemMaster>,
    unit_down: MemSlave,
    down: MemMaster,
    /// Messages that the fault could have befallen.
    chances: u64,
    /// A write held back, and until when.
    held: VecDeque<(Cycle, MemRequest)>,
    /// Answers on their way to each unit.
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

    /// Whether the fault strikes now: at about a quarter of its chances.
    fn strikes(&mut self, fault: Fault, can: bool) -> bool {
        let chance = fault == self.fault && can;
        self.chances += u64::from(chance);
        chance && self.dice.chance(self.chances, 4)
    }

    /// What becomes of an answer of the unit to `port`: who gets what.
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
                let (_, write) = self.held.pop_front().expect("there is a first one");
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

impl Component for Saboteur {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundles("up", &mut self.up);
        ports.bundles("unit_up", &mut self.unit_up);
        ports.bundle("unit_down", &mut self.unit_down);
        ports.bundle("down", &mut self.down);
    }

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
