//! Tests that all mistakes in a system are found and named in one pass.

use insta::assert_snapshot;
use warpweave_framework::{
    Bundle, Component, Context, Facts, Frequency, InPort, Link, Negotiate, Next, OutPort, PortId,
    PortName, Ports, Stateful, Statistics, SystemBuilder, Unfit, Width,
};

use crate::parts::{Drain, Flood, Refuser, Scripted, one_clock};

fn errors(builder: SystemBuilder) -> String {
    match builder.elaborate() {
        Ok(_) => "elaborates".to_owned(),
        Err(errors) => errors.to_string(),
    }
}

/// Builds a system with a sender `cpu` and a receiver `l1` that are not connected yet.
fn pair() -> SystemBuilder {
    let (mut builder, clock) = one_clock();
    builder.add("cpu", clock, Flood::of(1, |n| n).0);
    builder.add("l1", clock, Drain::<u64>::every(1).0);
    builder
}

#[test]
fn unconnected_ports_are_listed_and_optional_ones_are_not() {
    let (mut builder, clock) = one_clock();
    builder.add("cpu", clock, Flood::of(1, |n| n).0);
    builder.add("wall", clock, Refuser::default());
    assert_snapshot!(errors(builder), @r"
    port `cpu.output` (Flood) is not connected
    port `wall.input` (Refuser) is not connected
    ");
}

#[test]
#[should_panic(
    expected = "`wall` (Refuser) has different ports than the instance it was declared to be like"
)]
fn an_instance_is_like_the_one_that_it_is_said_to_be_like() {
    let (mut builder, clock) = one_clock();
    let (sender, receiver) = (Flood::of(1, |n| n).0, Drain::<u64>::every(1).0);
    let ports = builder.add_boxed("cpu", "Flood", clock, Box::new(sender), None);
    builder.add("l1", clock, receiver);
    let wall = Box::new(Refuser::default());
    builder.add_like("wall".into(), "Refuser".into(), clock, wall, None, &ports);
    builder.add("l2", clock, Drain::<u64>::every(1).0);
    builder.connect("cpu.output", "l1.input", Link::latency(1));
    builder.connect("wall.output", "l2.input", Link::latency(1));
    let _ = builder.elaborate();
}

#[test]
fn a_port_connected_twice_is_named_once() {
    let mut builder = pair();
    let clock = builder.clock("other", crate::parts::ghz(1));
    builder.add("spare", clock, Flood::of(1, |n| n).0);
    builder.connect("cpu.output", "l1.input", Link::latency(1));
    builder.connect("spare.output", "l1.input", Link::latency(1));
    assert_snapshot!(errors(builder), @r"
    `l1.input` is connected twice
      hint: a port can have only one wire; use a crossbar, a fan-out or another port
    ");
}

#[test]
fn ports_of_different_messages_do_not_join() {
    let (mut builder, clock) = one_clock();
    builder.add("cpu", clock, Flood::of(1, |n| n).0);
    builder.add("l1", clock, Drain::<u32>::every(1).0);
    builder.connect("l1.input", "cpu.output", Link::latency(1));
    assert_snapshot!(errors(builder), @r"
    `cpu.output` sends u64 but `l1.input` receives u32
      hint: the two ports use different protocols
    ");
}

#[test]
fn two_senders_or_two_receivers_do_not_join() {
    let (mut builder, clock) = one_clock();
    for name in ["a", "b"] {
        builder.add(name, clock, Flood::of(1, |n| n).0);
    }
    for name in ["c", "d"] {
        builder.add(name, clock, Drain::<u64>::every(1).0);
    }
    builder.connect("a.output", "b.output", Link::latency(1));
    builder.connect("c.input", "d.input", Link::latency(1));
    assert_snapshot!(errors(builder), @r"
    `a.output` and `b.output` both send
      hint: a wire connects an output to an input
    `c.input` and `d.input` both receive
      hint: a wire connects an output to an input
    ");
}

#[test]
fn an_unknown_instance_or_port_names_the_nearest() {
    let mut builder = pair();
    builder.connect("cpo.output", "l1.input", Link::latency(1));
    builder.connect("cpu.ouput", "l1", Link::latency(1));
    assert_snapshot!(errors(builder), @r"
    `cpo.output` names an instance that does not exist
      hint: did you mean `cpu`?
    `cpu` (Flood) has no port `ouput`
      hint: did you mean `output`? its ports are output
    `l1` is an instance; a wire must end at a port
      hint: its ports are input
    port `cpu.output` (Flood) is not connected
    ");
}

#[test]
fn wires_of_zero_latency_capacity_or_width_are_refused() {
    let mut builder = pair();
    let link = Link::latency(0).capacity(0).width(Width::Bytes(0));
    builder.connect("cpu.output", "l1.input", link);
    assert_snapshot!(errors(builder), @r"
    the wire `cpu.output` to `l1.input` has latency 0
      hint: a wire takes at least one cycle; RTL-like zero-time wires are `Signal`s
    the wire `cpu.output` to `l1.input` has credit latency 0
      hint: a credit takes at least one cycle
    the wire `cpu.output` to `l1.input` has capacity 0
      hint: a channel holds at least one message
    the wire `cpu.output` to `l1.input` has width 0
      hint: a wire of width 0 carries nothing
    ");
}

#[test]
fn a_wire_too_large_for_memory_is_refused() {
    let mut builder = pair();
    builder.connect("cpu.output", "l1.input", Link::latency(u32::MAX));
    assert_snapshot!(errors(builder), @r"
    the wire `cpu.output` to `l1.input` holds more than 16777216 messages
      hint: specify a smaller capacity or latency
    ");
}

#[test]
fn paths_and_clock_names_are_unique() {
    let (mut builder, clock) = one_clock();
    builder.clock("core", crate::parts::ghz(2));
    builder.add("timer", clock, Scripted::new([]).0);
    builder.add("timer", clock, Scripted::new([]).0);
    assert_snapshot!(errors(builder), @r"
    two clocks are named `core`
    two instances are named `timer`
    ");
}

/// Component with two ports of the same name, the second of which is unreachable.
#[derive(Default, Statistics)]
struct Twins {
    one: OutPort<u64>,
    two: OutPort<u64>,
}

impl Bundle for Twins {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.optional(|p| {
            p.output("twin", &mut self.one);
            p.output("twin", &mut self.two);
        });
    }
}

impl Component for Twins {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Idle
    }
}

impl Stateful for Twins {}

#[test]
fn a_component_that_names_two_ports_alike_is_refused() {
    let (mut builder, clock) = one_clock();
    builder.add("twins", clock, Twins::default());
    assert_snapshot!(errors(builder), @"`twins` (Twins) has two ports named `twin`");
}

#[test]
fn clocks_without_common_tick_are_refused_together_with_other_mistakes() {
    let mut builder = SystemBuilder::new();
    let clock = builder.clock("core", Frequency::new(999_999_937, 1).unwrap());
    builder.clock("noc", Frequency::new(999_999_929, 1).unwrap());
    builder.add("cpu", clock, Flood::of(1, |n| n).0);
    assert_snapshot!(errors(builder), @r#"
    the clocks have no usable common tick: with `noc` added, 64-bit time would last less than 1000 simulated seconds; choose frequencies with a common divisor
      hint: write derived clocks as ratios, such as "28/15 GHz"
    port `cpu.output` (Flood) is not connected
    "#);
}

#[derive(Default)]
struct MemoryPort {
    request: OutPort<u64>,
    response: InPort<u64>,
}

impl Bundle for MemoryPort {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("request", &mut self.request);
        ports.input("response", &mut self.response);
    }
}

#[derive(Default, Statistics)]
struct MemoryUser {
    mem: MemoryPort,
}

impl Bundle for MemoryUser {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("mem", &mut self.mem);
    }
}

impl Component for MemoryUser {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Idle
    }
}

impl Stateful for MemoryUser {}

#[test]
fn a_bundle_joins_only_a_bundle_of_the_same_parts() {
    let (mut builder, clock) = one_clock();
    builder.add("a", clock, MemoryUser::default());
    builder.add("b", clock, MemoryUser::default());
    builder.add("l1", clock, Drain::<u64>::every(1).0);
    builder.connect("a.mem", "b.mem", Link::latency(1));
    builder.connect("a.mem", "l1.input", Link::latency(1));
    assert_snapshot!(errors(builder), @r"
    `a.mem.request` and `b.mem.request` both send
      hint: a wire connects an output to an input
    `a.mem.response` and `b.mem.response` both receive
      hint: a wire connects an output to an input
    `a.mem` is a bundle (2 in all) and `l1.input` is one port (1)
      hint: connect a port to a port, and a bundle to a bundle of the same size
    ");
}

/// States its maximum number of messages, and requires the other side's number.
#[derive(Statistics)]
struct Talker {
    output: OutPort<u64>,
    input: InPort<u64>,
    takes: Option<Takes>,
    told: Option<u32>,
}

/// Maximum number of messages a component takes.
#[derive(Clone, Copy, PartialEq)]
struct Takes(u32);

impl Talker {
    fn new(takes: Option<u32>) -> Self {
        Self {
            output: OutPort::default(),
            input: InPort::default(),
            takes: takes.map(Takes),
            told: None,
        }
    }
}

impl Bundle for Talker {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
        ports.optional(|ports| ports.input("input", &mut self.input));
    }
}

impl Component for Talker {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Idle
    }

    fn negotiation(&mut self) -> Option<&mut dyn Negotiate> {
        Some(self)
    }
}

impl Negotiate for Talker {
    fn facts(&self, port: PortId, facts: &mut Facts) {
        if let Some(takes) = self.takes.filter(|_| port == PortName::new("input").into()) {
            facts.publish(takes);
        }
    }

    fn learn(&mut self, port: PortId, facts: &Facts) -> Result<(), Unfit> {
        assert_eq!(port, PortName::new("output").into());
        let Some(&Takes(count)) = facts.get() else {
            return Ok(());
        };
        self.told = Some(count);
        if count == 0 {
            return Err(Unfit::at("rate", "the other end takes nothing"));
        }
        Ok(())
    }

    fn elaborated(&mut self) -> Result<(), Unfit> {
        match self.told {
            Some(_) => Ok(()),
            None => Err(Unfit::at("", "nobody said how much `output` takes")),
        }
    }
}

impl Stateful for Talker {}

/// Builds two talkers that are wired to each other.
fn talkers(takes: [Option<u32>; 2]) -> SystemBuilder {
    let (mut builder, clock) = one_clock();
    builder.add("a", clock, Talker::new(takes[0]));
    builder.add("b", clock, Talker::new(takes[1]));
    builder.connect("a.output", "b.input", Link::latency(1));
    builder.connect("a.input", "b.output", Link::latency(1));
    builder
}

#[test]
fn each_end_of_a_wire_is_told_what_the_other_states() {
    assert_eq!(errors(talkers([Some(1), Some(2)])), "elaborates");
}

#[test]
fn a_component_may_refuse_what_it_is_told_and_what_it_is_not() {
    assert_snapshot!(errors(talkers([Some(1), Some(0)])), @"`a` (Talker): rate: the other end takes nothing");
    assert_snapshot!(errors(talkers([None, Some(2)])), @"`b` (Talker): nobody said how much `output` takes");
}
