//! Ports of processes as parts of a system.

use crate::channel::Message;
use crate::engine::elaboration::builder::SystemBuilder;
use crate::time::ClockId;
use crate::world::{ProcessInput, ProcessOutput, ProcessRequester};

impl SystemBuilder {
    /// Adds an input for processes, clocked by `clock`; its wire ends at `path.input`.
    pub fn process_input<T: Message>(
        &mut self,
        path: impl Into<String>,
        clock: ClockId,
    ) -> ProcessInput<T> {
        let path = path.into();
        let (input, component) = self.world().process_input(&path, self.instance_count());
        self.add(path, clock, component);
        input
    }

    /// Adds an output for processes, clocked by `clock`; its wire starts at `path.output`.
    pub fn process_output<T: Message>(
        &mut self,
        path: impl Into<String>,
        clock: ClockId,
    ) -> ProcessOutput<T> {
        let path = path.into();
        let (output, component) = self.world().process_output(&path, self.instance_count());
        self.add(path, clock, component);
        output
    }

    /// Adds an output for requests and an input for responses, both clocked by `clock`.
    pub fn process_requester<Q: Message, R: Message>(
        &mut self,
        path: impl Into<String>,
        clock: ClockId,
    ) -> ProcessRequester<Q, R> {
        let path = path.into();
        ProcessRequester::new(
            self.process_output(format!("{path}.request"), clock),
            self.process_input(format!("{path}.response"), clock),
        )
    }
}
