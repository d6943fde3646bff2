//! Tests of functional accesses: along the wires, with all their consequences, and never counted.

use std::any::Any;

use warpweave_framework::{
    Component, Context, Functional, FunctionalError, FunctionalWires, InPort, Link, Next, Onward,
    OutPort, PortId, PortName, Ports, Simulation, Stateful, Statistics,
};

use crate::parts::{Log, one_clock};

/// Forwards every functional access to both outputs, then processes it in as many pieces as it
/// requests.
#[derive(Statistics, Ports)]
struct Splitter {
    #[port]
    input: InPort<u64>,
    #[port]
    outputs: Vec<OutPort<u64>>,
    log: Log<String>,
}

struct Piece {
    of: u64,
    left: u64,
}

impl Component for Splitter {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Idle
    }

    fn functional(&mut self) -> Option<&mut dyn Functional> {
        Some(self)
    }
}

impl Functional for Splitter {
    fn functional_access(
        &mut self,
        port: PortId,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), FunctionalError> {
        assert_eq!(port, Self::INPUT.into());
        let (of, left) = if let Some(piece) = message.downcast_ref::<Piece>() {
            (piece.of, piece.left)
        } else {
            let number = *message.downcast_ref::<u64>().unwrap();
            onward.send(Self::OUTPUTS.at(0), number);
            onward.send(Self::OUTPUTS.at(1), number + 1);
            (number, number)
        };
        self.log.push(format!("piece {left} of {of}"));
        if left > 1 {
            let left = left - 1;
            onward.again(Piece { of, left });
        }
        Ok(())
    }

    fn flush(&mut self, onward: &mut Onward) {
        if self.log.all().iter().all(|entry| entry != "flushed") {
            self.log.push("flushed".to_owned());
            onward.send(Self::OUTPUTS.at(1), 9_u64);
        }
    }
}

impl Stateful for Splitter {}

/// Takes every access, or rejects all.
#[derive(Statistics, Ports)]
struct End {
    #[port]
    input: InPort<u64>,
    name: &'static str,
    log: Option<Log<String>>,
}

impl Component for End {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Idle
    }

    fn functional(&mut self) -> Option<&mut dyn Functional> {
        Some(self)
    }
}

impl Functional for End {
    fn functional_access(
        &mut self,
        _: PortId,
        message: &mut dyn Any,
        _: &mut Onward,
    ) -> Result<(), FunctionalError> {
        let number = message.downcast_ref::<u64>().unwrap();
        match &self.log {
            Some(log) => log.push(format!("{} {number}", self.name)),
            None => return Err("it takes nothing".to_owned().into()),
        }
        Ok(())
    }

    fn flush(&mut self, _: &mut Onward) {
        if let Some(log) = &self.log {
            log.push(format!("{} is empty", self.name));
        }
    }
}

impl Stateful for End {}

/// Component that only sends functional accesses.
#[derive(Default, Statistics, Ports)]
struct Start {
    #[port]
    output: OutPort<u64>,
}

impl Component for Start {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Idle
    }
}

impl Stateful for Start {}

/// Builds a start, a splitter, and two ends; the second accepts accesses only if `takes` is true.
fn system(log: &Log<String>, takes: bool) -> Simulation {
    let (mut builder, clock) = one_clock();
    builder.add("start", clock, Start::default());
    let splitter = Splitter {
        input: InPort::new(),
        outputs: vec![OutPort::new(), OutPort::new()],
        log: log.clone(),
    };
    builder.add("splitter", clock, splitter);
    for (name, log) in [("a", Some(log)), ("b", takes.then_some(log))] {
        let input = InPort::new();
        let log = log.cloned();
        builder.add(name, clock, End { input, name, log });
    }
    builder.connect("start.output", "splitter.input", Link::latency(1));
    builder.connect("splitter.outputs[0]", "a.input", Link::latency(1));
    builder.connect("splitter.outputs[1]", "b.input", Link::latency(1));
    builder.elaborate().unwrap()
}

#[test]
fn what_follows_from_a_message_happens_before_the_next_and_pieces_come_last() {
    let log = Log::default();
    let mut simulation = system(&log, true);
    let mut wires = FunctionalWires::of(&mut simulation);
    wires
        .send(&mut simulation, 0, Start::OUTPUT, 3_u64)
        .unwrap();
    let expected = ["piece 3 of 3", "a 3", "b 4", "piece 2 of 3", "piece 1 of 3"];
    assert_eq!(log.all(), expected);
    assert_eq!((simulation.messages(), simulation.evaluations()), (0, 0));
}

#[test]
fn a_component_that_takes_no_such_message_is_named() {
    let log = Log::default();
    let mut simulation = system(&log, false);
    let mut wires = FunctionalWires::of(&mut simulation);
    let error = wires.send(&mut simulation, 0, Start::OUTPUT, 1_u64);
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("b (") && error.ends_with("port `input`: it takes nothing"),
        "{error}"
    );
    // What was under way is forgotten.
    let nowhere = wires.send(&mut simulation, 0, PortName::new("elsewhere"), 1_u64);
    let nowhere = nowhere.unwrap_err().to_string();
    assert!(
        nowhere.ends_with("port `elsewhere`: no wire starts at this port"),
        "{nowhere}"
    );
    assert_eq!(log.all(), ["piece 1 of 1", "a 1"]);
}

#[test]
fn a_flush_goes_on_until_nothing_is_passed_on() {
    let log = Log::default();
    let mut simulation = system(&log, true);
    let mut wires = FunctionalWires::of(&mut simulation);
    wires.flush(&mut simulation).unwrap();
    // What arrives at an end that was empty already is flushed again.
    let once = ["a is empty", "b is empty"];
    let expected = [&["flushed", "b 9"], &once[..], &once[..]].concat();
    assert_eq!(log.all(), expected);
}
