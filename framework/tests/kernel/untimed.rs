//! Tests of functional accesses: along the wires, with all their consequences, and never counted.

use std::any::Any;

use warpweave_framework::{
    Bundle, Component, Context, InPort, Link, Next, Onward, OutPort, PortName, Ports, Simulation,
    Stateful, Statistics, UntimedWires,
};

use crate::parts::{Log, one_clock};

/// Forwards every functional access to both outputs, then processes it in as many pieces as it
/// requests.
#[derive(Statistics)]
struct Splitter {
    input: InPort<u64>,
    outputs: Vec<OutPort<u64>>,
    log: Log<String>,
}

struct Piece {
    of: u64,
    left: u64,
}

impl Bundle for Splitter {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.outputs("outputs", &mut self.outputs);
    }
}

impl Component for Splitter {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Idle
    }

    fn untimed(
        &mut self,
        port: PortName<'_>,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), String> {
        assert_eq!(port, PortName::only("input"));
        let (of, left) = if let Some(piece) = message.downcast_ref::<Piece>() {
            (piece.of, piece.left)
        } else {
            let number = *message.downcast_ref::<u64>().unwrap();
            onward.send("outputs", 0, number);
            onward.send("outputs", 1, number + 1);
            (number, number)
        };
        self.log.push(format!("piece {left} of {of}"));
        if left > 1 {
            let left = left - 1;
            onward.again(Piece { of, left });
        }
        Ok(())
    }
}

impl Stateful for Splitter {}

/// Takes every access, or rejects all.
#[derive(Statistics)]
struct End {
    input: InPort<u64>,
    name: &'static str,
    log: Option<Log<String>>,
}

impl Bundle for End {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
    }
}

impl Component for End {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Idle
    }

    fn untimed(
        &mut self,
        _: PortName<'_>,
        message: &mut dyn Any,
        _: &mut Onward,
    ) -> Result<(), String> {
        let number = message.downcast_ref::<u64>().unwrap();
        match &self.log {
            Some(log) => log.push(format!("{} {number}", self.name)),
            None => return Err("it takes nothing".to_owned()),
        }
        Ok(())
    }
}

impl Stateful for End {}

/// Component that only sends functional accesses.
#[derive(Default, Statistics)]
struct Start {
    output: OutPort<u64>,
}

impl Bundle for Start {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
    }
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
    let mut wires = UntimedWires::of(&simulation);
    wires
        .send(&mut simulation, 0, ("output", 0), 3_u64)
        .unwrap();
    let expected = ["piece 3 of 3", "a 3", "b 4", "piece 2 of 3", "piece 1 of 3"];
    assert_eq!(log.all(), expected);
    assert_eq!((simulation.messages(), simulation.evaluations()), (0, 0));
}

#[test]
fn a_component_that_takes_no_such_message_is_named() {
    let log = Log::default();
    let mut simulation = system(&log, false);
    let mut wires = UntimedWires::of(&simulation);
    let error = wires.send(&mut simulation, 0, ("output", 0), 1_u64);
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("b (") && error.ends_with("port `input`: it takes nothing"),
        "{error}"
    );
    // What was under way is forgotten.
    let nowhere = wires.send(&mut simulation, 0, ("elsewhere", 0), 1_u64);
    let nowhere = nowhere.unwrap_err().to_string();
    assert!(
        nowhere.ends_with("port `elsewhere`: no wire begins there"),
        "{nowhere}"
    );
    assert_eq!(log.all(), ["piece 1 of 1", "a 1"]);
}
