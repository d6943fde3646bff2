//! Port listener, which copies the messages passing a port for analysis outside the system.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::channel::{Message, Tap, Transit};
use crate::engine::{Simulation, TapError};
use crate::evaluation::Context;
use crate::time::Tick;

/// Messages that passed one port and were not fetched yet, oldest first, each with its time. A
/// listener costs no cycle and changes no result. The system may still be partitioned and saved.
pub struct PortRecording<T>(Arc<Mutex<Vec<(Tick, T)>>>);

impl<T: Message + Copy> PortRecording<T> {
    /// Listens at the port at `address` (`instance.port`) to the messages it sends or takes.
    ///
    /// # Errors
    /// Fails in the same cases as [`Simulation::tap`].
    pub fn at(simulation: &mut Simulation, address: &str) -> Result<Self, TapError> {
        let heard = Arc::default();
        simulation.tap::<T>(address, Listener(Arc::clone(&heard)))?;
        Ok(Self(heard))
    }

    /// Returns the messages since the last call. Call only between runs: during one, the progress
    /// of a port depends on thread timing.
    pub fn fetch(&self) -> Vec<(Tick, T)> {
        std::mem::take(&mut self.0.lock())
    }
}

struct Listener<T>(Arc<Mutex<Vec<(Tick, T)>>>);

impl<T: Message + Copy> Tap<T> for Listener<T> {
    fn only_listens(&self) -> bool {
        true
    }

    fn send(&mut self, ctx: &mut Context<'_>, transit: Transit<T>, wire: &mut Vec<Transit<T>>) {
        self.0.lock().push((ctx.now(), transit.message));
        wire.push(transit);
    }

    fn take(&mut self, ctx: &mut Context<'_>, message: &mut T) {
        self.0.lock().push((ctx.now(), *message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{State, Stateful};
    use crate::test_bench::TestBench;
    use crate::{Bundle, Component, InPort, Instrumented, Link, Next, OutPort, Outcome, Ports};

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

    impl Stateful for Relay {
        fn state(&mut self, _: &mut State<'_>) {}
    }

    impl Instrumented for Relay {}

    /// Returns the arrivals with their times, with listeners on these ports, and the messages that
    /// each listener recorded.
    fn run(ports: &[&str]) -> (Vec<(u64, u64)>, Vec<Vec<(Tick, u64)>>) {
        let mut bench = TestBench::new();
        bench.add("relay", Relay::default());
        let source = bench.source("relay.input");
        let sink = bench.sink_behind("relay.output", Link::latency(1).capacity(2));
        let heard = ports.iter().map(|port| {
            PortRecording::<u64>::at(bench.simulation(), port).expect("a port of the relay")
        });
        let heard: Vec<_> = heard.collect();
        (0..20).for_each(|n| source.send_at(n + n / 7 * 3, n));
        assert_eq!(bench.run_until_quiet(), Outcome::Done);
        (
            sink.take_all(),
            heard.iter().map(PortRecording::fetch).collect(),
        )
    }

    #[test]
    fn listeners_hear_everything_once_and_change_nothing() {
        let (arrived, heard) = run(&["relay.input", "relay.output"]);
        assert_eq!(arrived, run(&[]).0);
        for heard in heard {
            let messages: Vec<u64> = heard.iter().map(|(_, n)| *n).collect();
            assert_eq!(messages, (0..20).collect::<Vec<_>>());
            assert!(heard.is_sorted());
        }
    }

    #[test]
    fn a_system_with_listeners_is_saved_and_divided_as_without() {
        let saved = |ports: &[&str]| {
            let mut bench = TestBench::new();
            bench.add("relay", Relay::default());
            let source = bench.source("relay.input");
            let _sink = bench.sink::<u64>("relay.output");
            for port in ports {
                PortRecording::<u64>::at(bench.simulation(), port).expect("a port of the relay");
            }
            source.send_at(3, 1_u64);
            bench.run_for(3);
            let simulation = bench.simulation();
            assert!(simulation.channels.iter().all(|channel| !channel.tapped));
            simulation.save().expect("a listener holds nothing")
        };
        assert_eq!(saved(&["relay.input", "relay.output"]), saved(&[]));
    }
}
