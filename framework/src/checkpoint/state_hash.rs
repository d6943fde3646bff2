//! State hashes: a fingerprint of every component and channel at a given time.
//!
//! A hash covers the state that components name and the contents of channels, but nothing internal
//! to the engine. It is therefore independent of sleeping, evaluation order, number of threads, and
//! saving and loading.

use std::sync::Arc;

use crate::channel::Direction;
use crate::checkpoint::saving::CheckpointError;
use crate::engine::Simulation;
use crate::state::State;
use crate::time::Tick;

/// The hashes of a system at one time, updated incrementally for the parts evaluated since the last
/// call.
#[derive(Default)]
pub struct StateHasher {
    /// Time of the hashes; `None` before the first.
    at: Option<Tick>,
    /// Combined hash of all hashes so far.
    rolling: u64,
    /// Hash of each component's own fields, indexed by instance number.
    pub(super) components: Vec<u64>,
    /// Contributions of the receiving and the sending end, indexed by channel number.
    pub(super) channels: Vec<[u64; 2]>,
    /// Channels of each instance as (name of the port, channel), indexed by instance number.
    ends: Vec<Vec<(Arc<str>, u32)>>,
    buffer: Vec<u8>,
}

impl StateHasher {
    /// Creates a hasher that has not hashed anything yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a hasher that continues from the [`StateHasher::rolling`] hash of an earlier one,
    /// for a run that was saved and loaded.
    pub fn resuming(rolling: u64) -> Self {
        Self {
            rolling,
            ..Self::default()
        }
    }

    /// Hashes the current state of `simulation` and adds it to the rolling hash. Every call must
    /// pass the same simulation.
    ///
    /// # Errors
    /// Returns an error if a component refuses to be saved.
    pub fn hash(&mut self, simulation: &mut Simulation) -> Result<(), CheckpointError> {
        self.look(simulation)?;
        let all = self.components.iter().chain(self.channels.as_flattened());
        self.rolling = hash_words(std::iter::once(&self.rolling).chain(all));
        Ok(())
    }

    /// Returns the rolling hash: if two runs have the same one, all their hashes were equal.
    pub fn rolling(&self) -> u64 {
        self.rolling
    }

    /// Returns, per instance, a hash of its state and of the channels that start at it.
    pub fn by_instance(&self, simulation: &Simulation) -> Vec<u64> {
        let mut words: Vec<_> = self.components.iter().map(|hash| vec![*hash]).collect();
        for (channel, hashes) in simulation.channels.iter().zip(&self.channels) {
            words[channel.from.0 as usize].extend(hashes);
        }
        words.iter().map(|words| hash_words(words.iter())).collect()
    }

    /// Updates the hashes to the current state.
    pub(super) fn look(&mut self, simulation: &mut Simulation) -> Result<(), CheckpointError> {
        let instances = simulation.instances().len();
        if self.at.is_none() {
            self.components = vec![0; instances];
            self.channels = vec![[0; 2]; simulation.channel_count()];
            self.ends = simulation.ends_by_instance();
        }
        let changed: Vec<_> = (0..instances)
            .map(|number| {
                self.at
                    .is_none_or(|at| simulation.evaluated_after(number, at))
            })
            .collect();
        let mut ports_changed = changed.clone();
        for channel in &simulation.channels {
            // What the sender put in is seen at the receiver, and the other way round.
            let (from, to) = (channel.from.0 as usize, channel.to.0 as usize);
            ports_changed[to] |= changed[from];
            ports_changed[from] |= changed[to];
        }
        for number in 0..instances {
            if changed[number] {
                self.look_at_component(simulation, number)?;
            }
            if ports_changed[number] {
                self.look_at_ports(simulation, number)?;
            }
        }
        // Time 0 stands for both before and after its edge.
        self.at = (simulation.evaluations() > 0).then(|| simulation.now());
        Ok(())
    }

    fn look_at_component(
        &mut self,
        simulation: &mut Simulation,
        number: usize,
    ) -> Result<(), CheckpointError> {
        self.buffer.clear();
        let component = simulation.component_mut(number);
        State::hash(&mut self.buffer, |state| component.state(state))
            .map_err(|problem| simulation.component_error(number, problem))?;
        self.components[number] = hash_bytes(&self.buffer);
        Ok(())
    }

    fn look_at_ports(
        &mut self,
        simulation: &mut Simulation,
        number: usize,
    ) -> Result<(), CheckpointError> {
        let (ends, channels) = (&self.ends[number], &mut self.channels);
        let now = simulation.now().0;
        let mut failed = None;
        simulation.visit_ports(number, &mut |port| {
            for (_, channel) in ends.iter().filter(|(name, _)| **name == *port.name) {
                match port.port.save(now) {
                    Ok(saved) => {
                        let end = usize::from(port.direction() == Direction::Output);
                        channels[*channel as usize][end] = hash_bytes(&saved.state);
                    }
                    Err(problem) => failed = failed.take().or(Some((*channel, problem))),
                }
            }
        });
        simulation.channel_result(failed)
    }
}

/// Returns the first 64 bits of the BLAKE3 hash.
fn hash_bytes(bytes: &[u8]) -> u64 {
    let hash = blake3::hash(bytes);
    let (first, _) = hash.as_bytes().split_first_chunk().expect("32 bytes");
    u64::from_le_bytes(*first)
}

fn hash_words<'a>(words: impl Iterator<Item = &'a u64>) -> u64 {
    let bytes: Vec<_> = words.flat_map(|word| word.to_le_bytes()).collect();
    hash_bytes(&bytes)
}
