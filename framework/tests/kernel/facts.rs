//! Tests that facts reach the components concerned, with their origin.

use warpweave_framework::{
    Bundle, Claims, Component, Context, ElaborationErrors, Facts, InPort, Link, Negotiate, Next,
    Origin, OutPort, PortId, PortName, Ports, Stateful, Statistics, SystemBuilder, Unfit,
};

use crate::parts::one_clock;

/// Forwards messages and the facts about them.
#[derive(Statistics)]
struct Relay {
    inputs: Vec<InPort<u64>>,
    output: OutPort<u64>,
    aside: InPort<u64>,
}

impl Relay {
    fn of(inputs: usize) -> Self {
        Self {
            inputs: (0..inputs).map(|_| InPort::new()).collect(),
            output: OutPort::default(),
            aside: InPort::new(),
        }
    }
}

impl Bundle for Relay {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.inputs("inputs", &mut self.inputs);
        ports.output("output", &mut self.output);
        ports.advisable("nothing is looked at", |ports| {
            ports.input("aside", &mut self.aside);
        });
    }
}

impl Component for Relay {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Idle
    }

    fn negotiation(&mut self) -> Option<&mut dyn Negotiate> {
        Some(self)
    }
}

impl Negotiate for Relay {
    fn passage(&self, port: PortId, facts: &mut Facts) -> Option<u32> {
        facts.withdraw::<Kept>();
        (port.name != PortName::new("aside")).then_some(0)
    }
}

impl Stateful for Relay {}

/// Fact that relays do not pass on.
#[derive(PartialEq)]
struct Kept;

/// Sends messages, states one number, and claims another exclusively.
#[derive(Statistics)]
struct Speaker {
    output: OutPort<u64>,
    number: u64,
    own: u64,
}

impl Bundle for Speaker {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
    }
}

impl Component for Speaker {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Idle
    }

    fn negotiation(&mut self) -> Option<&mut dyn Negotiate> {
        Some(self)
    }
}

impl Negotiate for Speaker {
    fn facts(&self, _: PortId, facts: &mut Facts) {
        facts.publish_from("number", self.number);
        facts.publish(Kept);
    }

    fn learn(&mut self, port: PortId, _: &Facts) -> Result<(), Unfit> {
        panic!("what one speaker says does not come to another at {port}");
    }

    fn claims(&self, claims: &mut Claims) {
        claims.own("door", self.own..self.own + 2, "own");
    }
}

impl Stateful for Speaker {}

/// Component that rejects every number but 7.
#[derive(Default, Statistics)]
struct Listener {
    input: InPort<u64>,
}

impl Bundle for Listener {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
    }
}

impl Component for Listener {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Idle
    }

    fn negotiation(&mut self) -> Option<&mut dyn Negotiate> {
        Some(self)
    }
}

impl Negotiate for Listener {
    fn learn(&mut self, _: PortId, facts: &Facts) -> Result<(), Unfit> {
        assert!(facts.get::<Kept>().is_none());
        let number = *facts.get::<u64>().expect("it has passed two relays");
        let stated = facts.stated::<u64>().expect("a speaker did");
        let said = format!("{number} is said by {}", stated.path());
        match number {
            7 => Ok(()),
            _ => Err(Unfit::at("wanted", said).beside("it is said here", Some(stated))),
        }
    }
}

impl Stateful for Listener {}

/// Builds speakers with these numbers, two relays in series, and a listener.
fn relayed(numbers: [u64; 2], own: [u64; 2]) -> SystemBuilder {
    let (mut builder, clock) = one_clock();
    for (at, (number, own)) in numbers.into_iter().zip(own).enumerate() {
        let output = OutPort::default();
        let speaker = Speaker {
            output,
            number,
            own,
        };
        let origin = Some(Origin(at as u32));
        builder.add_boxed(
            format!("speaker{at}"),
            "Speaker",
            clock,
            Box::new(speaker),
            origin,
        );
        let (from, to) = (format!("speaker{at}.output"), format!("first.inputs[{at}]"));
        builder.connect(from, to, Link::latency(1));
    }
    builder.add("first", clock, Relay::of(2));
    builder.add("second", clock, Relay::of(1));
    builder.add("listener", clock, Listener::default());
    builder.connect("first.output", "second.inputs[0]", Link::latency(1));
    builder.connect("second.output", "listener.input", Link::latency(1));
    builder
}

fn errors(builder: SystemBuilder) -> ElaborationErrors {
    builder.elaborate().err().expect("it is refused")
}

#[test]
fn a_fact_passes_those_between_and_names_who_states_it() {
    let ElaborationErrors(errors) = errors(relayed([7, 5], [0, 2]));
    let [error] = &errors[..] else {
        panic!("{errors:?}");
    };
    assert_eq!(
        error.message,
        "`listener` (Listener): wanted: 5 is said by speaker1"
    );
    let related = &error.related[0];
    assert_eq!(related.message, "it is said here");
    assert_eq!(
        (related.origin, related.field.as_str()),
        (Some(Origin(1)), "number")
    );
}

#[test]
fn what_two_speakers_say_alike_passes_once() {
    let ElaborationErrors(errors) = errors(relayed([5, 5], [0, 2]));
    assert_eq!(errors.len(), 1, "{errors:?}");
}

#[test]
fn two_instances_that_have_a_number_to_themselves_are_shown_with_both_places() {
    let ElaborationErrors(errors) = errors(relayed([7, 7], [4, 5]));
    let [error] = &errors[..] else {
        panic!("{errors:?}");
    };
    assert_eq!(
        error.message,
        "`speaker1` (Speaker): own: door 0x5 to 0x7 is also claimed by `speaker0`"
    );
    assert_eq!(error.origin, Some(Origin(1)));
    assert_eq!(error.related[0].message, "`speaker0` has door 0x4 to 0x6");
    assert_eq!(error.related[0].origin, Some(Origin(0)));
    assert_eq!(error.related[0].field, "own");
}

#[test]
fn a_port_that_is_advisable_is_missed_unless_it_is_meant_to_have_no_wire() {
    let missed = |builder: SystemBuilder| {
        let simulation = builder.elaborate().expect("nothing is wrong");
        let warnings = simulation.warnings();
        warnings.into_iter().map(|w| w.message).collect::<Vec<_>>()
    };
    let words =
        |name: &str| format!("port `{name}.aside` (Relay) is not connected: nothing is looked at");
    let mut builder = relayed([7, 7], [0, 2]);
    builder.leave_unwired("first.aside", None);
    assert_eq!(missed(builder), [words("second")]);
    assert_eq!(
        missed(relayed([7, 7], [0, 2])),
        [words("first"), words("second")]
    );
}

#[test]
fn a_port_that_needs_a_wire_cannot_be_meant_to_have_none() {
    for (port, words) in [
        ("first.output", "`first.output` must be connected"),
        ("first.asid", "`first` (Relay) has no port `asid`"),
    ] {
        let mut builder = relayed([7, 7], [0, 2]);
        builder.leave_unwired(port, Some(Origin(9)));
        let ElaborationErrors(errors) = errors(builder);
        assert_eq!(errors[0].message, words);
        assert_eq!(errors[0].origin, Some(Origin(9)));
    }
}
