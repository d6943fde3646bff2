//! Description of a system by name: clocks, instances, channels.

use crate::component::Origin;
use crate::engine::simulation::{ChannelInfo, Simulation};

/// A legal property of a system that is probably unintended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemWarning {
    /// Describes the property with instance paths and ports.
    pub message: String,
    /// Suggests a next step, if there is a useful one.
    pub hint: Option<String>,
    /// Place where the part or wire was described.
    pub origin: Option<Origin>,
    /// Name of the unwired port or bundle of the instance, if the warning is about one.
    pub unwired: Option<String>,
}

impl Simulation {
    /// Returns the index of the clock with this name, for [`crate::TimeBase::period`].
    pub fn clock(&self, name: &str) -> Option<usize> {
        self.clock_names.iter().position(|n| n == name)
    }

    /// Iterates over the paths and kinds of all instances, in the order they were added.
    pub fn instances(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.instances.iter().map(|i| (&*i.path, &*i.kind))
    }

    /// Returns `from -> to` of channel `number`, as in [`crate::Probe::Sent`].
    pub fn channel_name(&self, number: u32) -> String {
        let ChannelInfo { from, to, .. } = &self.channels[number as usize];
        format!(
            "{}.{} -> {}.{}",
            self.instances[from.0 as usize].path, from.1, self.instances[to.0 as usize].path, to.1
        )
    }

    /// Returns instance number and port name of the sending and of the receiving end of channel
    /// `number`.
    pub fn channel_ends(&self, number: u32) -> [(u32, &str); 2] {
        let ChannelInfo { from, to, .. } = &self.channels[number as usize];
        [(from.0, &from.1), (to.0, &to.1)]
    }

    /// Returns the latency of channel `number` in cycles of its sender, and its credit latency in
    /// cycles of its receiver.
    pub fn channel_latencies(&self, number: u32) -> [u32; 2] {
        let link = &self.channels[number as usize].link;
        [link.latency, link.credit_latency]
    }

    /// Returns the number of messages that channel `number` can hold, in flight and queued.
    pub fn channel_capacity(&self, number: u32) -> u32 {
        let link = &self.channels[number as usize].link;
        link.capacity.unwrap_or_else(|| link.full_rate_capacity())
    }

    /// Returns the number of channels in the system.
    pub fn channel_count(&self) -> usize {
        self.channels.len()
    }

    /// Returns warnings about legal but probably unintended properties. These are unwired optional
    /// ports whose absence changes the machine's behavior, and wires whose capacity does not
    /// sustain full rate.
    pub fn warnings(&self) -> Vec<SystemWarning> {
        let mut warnings = self.unwired.clone();
        for (number, channel) in self.channels.iter().enumerate() {
            let full = channel.link.full_rate_capacity();
            if let Some(capacity) = channel.link.capacity
                && capacity < full
            {
                warnings.push(SystemWarning {
                    message: format!(
                        "{} holds {capacity} messages; full rate needs {full} (width × (latency + \
                         credit latency))",
                        self.channel_name(number as u32)
                    ),
                    hint: None,
                    origin: None,
                    unwired: None,
                });
            }
        }
        warnings
    }

    pub(crate) fn clock_names(&self) -> impl Iterator<Item = &str> {
        self.clock_names.iter().map(String::as_str)
    }
}
