//! Units that break one rule each: the checker notices every one.

use warpweave_framework::{Link, Outcome, Sink, TestBench};

use super::checker::{CoalescingChecker, CoalescingCheckerSpec};
use super::tests::{TaggedMemory, dense, scramble, spec, unit};
use super::*;

/// What goes wrong, at some of the messages that it can happen to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
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
struct Saboteur {
    fault: Fault,
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
    fn new(fault: Fault, ports: u32) -> Self {
        Self {
            fault,
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
        chance && scramble(self.chances).is_multiple_of(4)
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

/// How a run with this fault in this unit ended; answers missing at its end are a failure too.
fn verdict(spec: IccSpec, fault: Fault) -> Result<(), String> {
    let traffic = dense();
    let mut bench = TestBench::new();
    let up_ports = spec.up_ports;
    bench.add("icc", unit(spec));
    bench.add("saboteur", Saboteur::new(fault, up_ports));
    // What the memory makes of numbers must not matter.
    let checker = CoalescingCheckerSpec {
        up_ports,
        freshness: false,
    };
    let checker = CoalescingChecker::build(checker, &Environment::default());
    bench.add("checker", checker.expect("a valid specification"));
    let mut memory = TaggedMemory::new(traffic.seed, traffic.memory_stalls, traffic.slowest);
    memory.forgets = true;
    bench.add("memory", memory);
    let mut wire = |a: String, b: String| {
        let link = Link::latency(1).capacity(8);
        bench.builder().connect(a, b, link);
    };
    for port in 0..up_ports {
        wire(
            format!("checker.unit_up[{port}]"),
            format!("saboteur.up[{port}]"),
        );
        wire(
            format!("saboteur.unit_up[{port}]"),
            format!("icc.up[{port}]"),
        );
    }
    wire("icc.down".to_owned(), "saboteur.unit_down".to_owned());
    wire("saboteur.down".to_owned(), "checker.unit_down".to_owned());
    wire("checker.down".to_owned(), "memory.up".to_owned());
    let mut sinks: Vec<Sink<MemResponse>> = Vec::new();
    for (port, requests) in traffic.requests.iter().enumerate() {
        let source = bench.source(&format!("checker.up[{port}].request"));
        for (id, &(cycle, line, kind, words, flags)) in requests.iter().enumerate() {
            let read = MemRequest::read(id as u32, line * 128, words);
            source.send_at(
                1 + cycle,
                MemRequest {
                    kind,
                    flags,
                    ..read
                },
            );
        }
        sinks.push(bench.sink(&format!("checker.up[{port}].response")));
    }
    if let Outcome::Failed(message) = bench.run_for(6_000) {
        return Err(message);
    }
    match bench.statistics("checker").counter("unanswered") {
        Some(0) => Ok(()),
        unanswered => Err(format!("{unanswered:?} requests have no answer")),
    }
}

#[test]
fn a_unit_without_fault_passes() {
    assert_eq!(verdict(spec(), Fault::None), Ok(()));
}

#[test]
fn every_broken_unit_is_noticed() {
    for (fault, sign) in [
        (Fault::Lost, "have no answer"),
        (Fault::Twice, "waits for"),
        (Fault::WrongUnit, "up["),
        (Fault::FewerWords, "asked"),
        (Fault::OtherLine, "asked"),
        (Fault::Old, "of its cluster"),
        (Fault::SecondTracked, "tracked"),
        (Fault::OneReader, "no answer"),
        (Fault::NoBit, ""),
        (Fault::LateWrite, "of its cluster"),
    ] {
        let message = verdict(spec(), fault).expect_err("a rule is broken");
        assert!(message.contains(sign), "{fault:?}: {message}");
    }
}

/// The rule for writes, left out of the unit itself: a read joins a line older than the write.
#[test]
fn a_unit_that_ignores_writes_is_noticed() {
    let spec = IccSpec {
        on_write: OnWrite::Ignore,
        ..spec()
    };
    let message = verdict(spec, Fault::None).expect_err("reads are stale");
    assert!(message.contains("of its cluster"), "{message}");
}
