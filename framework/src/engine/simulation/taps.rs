//! Attachment of taps to the ports of an elaborated system.

use std::any::{Any, type_name};
use std::sync::Arc;

use thiserror::Error;
use warpweave_params::nearest;

use crate::channel::{Direction, InPort, Message, OutPort, Port, StallInjector, Tap};
use crate::engine::simulation::{ChannelInfo, Simulation};

/// Reason for which a port cannot be tapped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TapError {
    /// There is no instance or no port with this name.
    #[error("unknown port `{address}`{}", hint(nearest.as_ref()))]
    Unknown {
        /// Address of the port as it was given.
        address: String,
        /// The most similar address that exists, if any.
        nearest: Option<String>,
    },
    /// The port carries messages of another type.
    #[error("port `{address}` carries {found}, not {expected}")]
    Message {
        /// Address of the port as it was given.
        address: String,
        /// Name of the port's message type.
        found: &'static str,
        /// Name of the tap's message type.
        expected: &'static str,
    },
    /// The port is not connected to a wire.
    #[error("port `{address}` is not connected")]
    Unconnected {
        /// Address of the port as it was given.
        address: String,
    },
}

fn hint(nearest: Option<&String>) -> String {
    nearest.map_or(String::new(), |n| format!("; did you mean `{n}`?"))
}

/// A port of an elaborated system and the channel behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortAddress {
    /// Address of the port as `instance.port`.
    pub address: String,
    /// Kind of component of the instance.
    pub kind: String,
    /// Direction in which messages pass, seen from the component.
    pub direction: Direction,
    /// Name of the port's message type.
    pub message: &'static str,
    /// Number of slots of the channel; 0 if none is connected.
    pub capacity: usize,
}

impl Simulation {
    /// Returns every port of the system, in the order of instances.
    pub fn port_addresses(&mut self) -> Vec<PortAddress> {
        let mut ports = Vec::new();
        let owned = |(path, kind): (&str, &str)| (path.to_owned(), kind.to_owned());
        let instances: Vec<_> = self.instances().map(owned).collect();
        for (number, (path, kind)) in instances.into_iter().enumerate() {
            self.visit_ports(number, &mut |port| {
                ports.push(PortAddress {
                    address: format!("{path}.{}", port.name),
                    kind: kind.clone(),
                    direction: port.direction(),
                    message: port.message_type_name(),
                    capacity: port.state().capacity,
                });
            });
        }
        ports
    }

    /// Attaches `tap` to the port at `address` (`instance.port`), closer to the channel than
    /// existing taps.
    ///
    /// # Errors
    /// Returns an error if there is no such port, it is not connected, or it carries other
    /// messages.
    pub fn tap<T: Message>(
        &mut self,
        address: &str,
        tap: impl Tap<T> + 'static,
    ) -> Result<(), TapError> {
        let Some((number, at)) = self.find_instance_of(address) else {
            return Err(self.no_such_port(address));
        };
        let only_listens = tap.only_listens();
        let mut tap: Option<Box<dyn Tap<T>>> = Some(Box::new(tap));
        let mut result = None;
        self.visit_ports(number, &mut |port| {
            if port.name == &address[at..] {
                result = Some(attach(port, address, &mut tap));
            }
        });
        result.unwrap_or_else(|| Err(self.no_such_port(address)))?;
        if !only_listens {
            self.mark_tapped(number, &address[at..]);
        }
        Ok(())
    }

    /// Excludes a channel with a tap from being cut, because taps may hold state shared by both
    /// ends.
    pub(crate) fn mark_tapped(&mut self, number: usize, port: &str) {
        for channel in &mut self.channels {
            let ends = [&channel.from, &channel.to];
            let here = |end: &&(u32, Arc<str>)| end.0 as usize == number && *end.1 == *port;
            channel.tapped |= ends.iter().any(here);
        }
        if self.partitions.len() > 1 {
            self.divided_for = None;
            self.divide();
        }
    }

    /// True if the instance of the port at `address` exists and supports functional accesses.
    pub fn supports_functional(&mut self, address: &str) -> bool {
        let instance = self.find_instance_of(address);
        instance.is_some_and(|(instance, _)| self.component_mut(instance).functional().is_some())
    }

    /// Returns the output at the other end of the wire to the input at `address`.
    pub fn sender_of(&self, address: &str) -> Option<String> {
        let (number, at) = self.find_instance_of(address)?;
        let ends = |c: &&ChannelInfo| c.to.0 as usize == number && *c.to.1 == address[at..];
        let from = &self.channels.iter().find(ends)?.from;
        Some(format!(
            "{}.{}",
            self.instances[from.0 as usize].path, from.1
        ))
    }

    pub(crate) fn no_such_port(&mut self, address: &str) -> TapError {
        let ports = self.port_addresses();
        let known = ports.iter().map(|p| p.address.as_str());
        TapError::Unknown {
            address: address.to_owned(),
            nearest: nearest(address, known).map(str::to_owned),
        }
    }

    /// Returns the number of the instance that `instance.port` names, and the offset of the port
    /// name.
    pub(crate) fn find_instance_of(&self, address: &str) -> Option<(usize, usize)> {
        address.rmatch_indices('.').find_map(|(at, _)| {
            let path = &address[..at];
            let number = self.instances().position(|(p, _)| p == path)?;
            Some((number, at + 1))
        })
    }
}

impl Simulation {
    /// Attaches a [`StallInjector`] to every connected port whose address `chosen` accepts; returns
    /// their number. Each injector stalls independently.
    pub fn stall(
        &mut self,
        seed: u64,
        sixteenths: u32,
        longest: u64,
        chosen: impl Fn(&str) -> bool,
    ) -> usize {
        let paths: Vec<_> = self.instances().map(|(path, _)| path.to_owned()).collect();
        let mut stalled = 0;
        for (number, path) in paths.iter().enumerate() {
            let mut tapped = Vec::new();
            self.visit_ports(number, &mut |port| {
                let address = format!("{path}.{}", port.name);
                if port.is_bound() && chosen(&address) {
                    port.port
                        .stall(StallInjector::new(seed, &address, sixteenths, longest));
                    tapped.push(port.name.to_owned());
                }
            });
            stalled += tapped.len();
            for port in tapped {
                self.mark_tapped(number, &port);
            }
        }
        stalled
    }
}

fn attach<T: Message>(
    port: Port<'_>,
    address: &str,
    tap: &mut Option<Box<dyn Tap<T>>>,
) -> Result<(), TapError> {
    let address = address.to_owned();
    let found = port.message_type_name();
    if !port.is_bound() {
        return Err(TapError::Unconnected { address });
    }
    let port: &mut dyn Any = port.port;
    let tap = tap.take().expect("port names are unique");
    if let Some(end) = port.downcast_mut::<OutPort<T>>() {
        end.add_tap(tap);
    } else if let Some(end) = port.downcast_mut::<InPort<T>>() {
        end.add_tap(tap);
    } else {
        return Err(TapError::Message {
            address,
            found,
            expected: type_name::<T>(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_bench::Sink;
    use crate::test_bench::Source;
    use crate::test_bench::TestBench;
    use crate::{
        Bundle, Component, Context, Credit, Instrumented, Link, Next, Outcome, Ports, Stateful,
        Transit,
    };

    #[derive(Default)]
    struct Relay {
        input: InPort<u64>,
        output: OutPort<u64>,
    }

    impl Bundle for Relay {
        fn ports(&mut self, ports: &mut Ports<'_>) {
            ports.input("input", &mut self.input);
            ports.output("output", &mut self.output);
        }
    }

    impl Component for Relay {
        fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
            while self.input.peek(ctx).is_some() && self.output.can_send(ctx) {
                let message = self.input.pop(ctx).expect("peeked");
                self.output.send(ctx, message);
            }
            Next::Message
        }
    }

    impl Stateful for Relay {}

    impl Instrumented for Relay {}

    /// Applies a function to the message 7 only.
    struct At7(fn(Transit<u64>, &mut Vec<Transit<u64>>));

    impl Tap<u64> for At7 {
        fn send(
            &mut self,
            _: &mut Context<'_>,
            transit: Transit<u64>,
            wire: &mut Vec<Transit<u64>>,
        ) {
            if transit.message == 7 {
                self.0(transit, wire);
            } else {
                wire.push(transit);
            }
        }
    }

    fn bench() -> (TestBench, Source<u64>, Sink<u64>) {
        let mut bench = TestBench::new();
        bench.add("relay", Relay::default());
        let source = bench.source("relay.input");
        let sink = bench.sink_behind("relay.output", Link::latency(1).capacity(4));
        (bench, source, sink)
    }

    fn tapped(tap: fn(Transit<u64>, &mut Vec<Transit<u64>>)) -> Vec<(u64, u64)> {
        let (mut bench, source, sink) = bench();
        let tap = bench.simulation().tap("relay.output", At7(tap));
        tap.expect("the port exists");
        (5..10).for_each(|n| source.send_at(n, n));
        assert_eq!(bench.run_until_quiet(), Outcome::Done);
        sink.take_all()
    }

    #[test]
    fn a_tap_that_does_nothing_changes_nothing() {
        let plain = [(5, 5), (6, 6), (7, 7), (8, 8), (9, 9)];
        assert_eq!(tapped(|t, wire| wire.push(t)), plain);
    }

    #[test]
    fn a_message_can_be_dropped_doubled_changed_and_delayed() {
        assert_eq!(tapped(|_, _| ()), [(5, 5), (6, 6), (8, 8), (9, 9)]);
        let doubled = tapped(|t, wire| wire.extend([t, t]));
        assert_eq!(doubled.iter().filter(|(_, n)| *n == 7).count(), 2);
        let changed = tapped(|t, wire| wire.push(Transit { message: 70, ..t }));
        assert_eq!(changed[2], (7, 70));
        let late = tapped(|t, wire| wire.push(Transit { delay: 5, ..t }));
        assert_eq!(late, [(5, 5), (6, 6), (12, 7), (12, 8), (12, 9)]);
        let held = tapped(|t, wire| wire.push(Transit { hold: 3, ..t }));
        assert_eq!(held, [(5, 5), (6, 6), (7, 7), (11, 8), (12, 9)]);
    }

    struct Leak;

    impl Tap<u64> for Leak {
        fn credit(&mut self, _: &mut Context<'_>) -> Credit {
            Credit::Lost
        }
    }

    #[test]
    fn lost_credits_end_in_a_deadlock_that_names_the_port() {
        let (mut bench, source, _sink) = bench();
        let tap = bench.simulation().tap("relay.input", Leak);
        tap.expect("the port exists");
        (0..5).for_each(|n| source.send(n));
        let Outcome::Deadlock(report) = bench.run_until_quiet() else {
            panic!("a wire without credits cannot go on");
        };
        let text = report.to_string();
        assert!(
            text.contains("waits for room (0 of 2 slots taken)"),
            "{text}"
        );
    }

    #[test]
    fn ports_that_cannot_be_tapped_are_named() {
        let (mut bench, _source, _sink) = bench();
        let error = bench.simulation().tap("relay.outptu", Leak).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown port `relay.outptu`; did you mean `relay.output`?"
        );
        struct Bytes;
        impl Tap<u8> for Bytes {}
        let error = bench.simulation().tap("relay.output", Bytes).unwrap_err();
        assert_eq!(error.to_string(), "port `relay.output` carries u64, not u8");
    }
}
