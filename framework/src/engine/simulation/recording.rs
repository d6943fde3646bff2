//! Data that a system shows to recordings, and the sink of its instrumentation events.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::channel::Direction;
use crate::engine::simulation::Simulation;
use crate::evaluation::Sink;
use crate::observe::{ProbeSink, levels};
use crate::time::Tick;
use crate::world::{SignalLine, WorldDriver};

impl Simulation {
    /// Sends all further instrumentation events to `sink`, or drops them if it is `None`.
    pub fn set_probe_sink(&mut self, sink: Option<Box<dyn ProbeSink>>) {
        for slot in self.partitions.iter_mut().flat_map(|p| &mut p.slots) {
            for slot in slot {
                let views = sink
                    .as_ref()
                    .is_some_and(|sink| sink.wants_contents(slot.number));
                slot.shown = views.then(Box::default);
            }
        }
        if let Some(world) = &self.world {
            world.record_changes(sink.is_some());
        }
        let listens = sink.is_some();
        self.place_sink(sink);
        if listens && self.now > Tick(0) {
            for partition in &mut self.partitions {
                partition.show(self.now);
            }
        }
    }

    /// Returns the levels that instance `number` shows to recordings, see
    /// [`crate::Contents::level`].
    pub fn levels(&self, number: u32) -> Vec<(&'static str, u64)> {
        let slot = self.slot(number as usize);
        levels(|contents| {
            if let Some(component) = slot.component.inspection() {
                component.contents(contents);
            }
        })
    }

    /// Returns every signal and FIFO of the event world that has a waveform.
    pub fn signals(&self) -> Vec<SignalLine> {
        let world = self.world.as_ref();
        world.map_or(Vec::new(), WorldDriver::signals)
    }

    /// Returns the number of messages in each channel now, in flight and queued.
    pub fn occupancies(&mut self) -> Vec<usize> {
        let mut held = BTreeMap::new();
        for number in 0..self.instances.len() {
            self.visit_ports(number, &mut |port| {
                if port.direction() == Direction::Input {
                    held.insert(
                        (number as u32, Arc::from(port.name)),
                        port.state().occupancy,
                    );
                }
            });
        }
        let ends = self.channels.iter().map(|channel| &channel.to);
        ends.map(|end| held.get(end).copied().unwrap_or(0))
            .collect()
    }

    /// Removes the sink from its current owner and returns it.
    pub(crate) fn take_sink(&mut self) -> Option<Box<dyn ProbeSink>> {
        let buffered = self.coordinator.sink.take();
        buffered.or_else(|| match self.partitions[0].shared.sink.take()? {
            Sink::Direct(sink) => Some(sink),
            Sink::Buffer(_) => None,
        })
    }

    /// Installs the sink with the owner required for this number of partitions.
    pub(crate) fn place_sink(&mut self, sink: Option<Box<dyn ProbeSink>>) {
        if let [only] = &mut self.partitions[..] {
            only.shared.sink = sink.map(Sink::Direct);
            self.coordinator.sink = None;
        } else {
            for partition in &mut self.partitions {
                partition.shared.sink = sink.is_some().then(|| Sink::Buffer(Vec::new()));
            }
            self.coordinator.sink = sink;
        }
    }

    /// Ends the recording of instrumentation events and drops the sink.
    ///
    /// # Errors
    /// Returns the error that occurred while recording, such as a full disk.
    pub fn finish_probes(&mut self) -> std::io::Result<()> {
        let sink = self.take_sink();
        self.set_probe_sink(None);
        match sink {
            Some(mut sink) => sink.finish(self.now),
            None => Ok(()),
        }
    }
}
