//! Loosely timed modelling: blocking transport of a memory-mapped payload, and processes that run
//! ahead of time (IEEE 1666-2011, 11 and 14).
//!
//! ```text
//!   initiator ── transport(&mut payload, &mut time) ──► router ──► target
//!        time: ticks the initiator is ahead of the world; everybody on the way adds to it
//! ```

use std::future::Future;
use std::ops::Range;
use std::pin::Pin;

use crate::time::Tick;
use crate::world::World;

/// Direction of a [`Payload`]: read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Fills the payload's data from the target.
    Read,
    /// Stores the payload's data in the target.
    Write,
}

/// Status of the response to a [`Payload`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Response {
    /// No target has answered the access yet.
    #[default]
    Incomplete,
    /// The target completed the access successfully.
    Ok,
    /// No target has this address, or not the complete range.
    AddressError,
    /// The target does not support this command.
    CommandError,
    /// The target failed for another reason.
    GenericError,
}

/// A memory-mapped read or write access with its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Direction of the access: read or write.
    pub command: Command,
    /// Address of the first byte accessed.
    pub address: u64,
    /// Data bytes; the length is the number of bytes accessed.
    pub data: Vec<u8>,
    /// Byte enables, one flag per byte of data, repeated cyclically; if empty, all bytes are
    /// enabled.
    pub byte_enable: Vec<bool>,
    /// Status of the response, set by the target.
    pub response: Response,
}

impl Payload {
    /// Creates a read of `length` bytes at `address`.
    pub fn read(address: u64, length: usize) -> Self {
        Self::new(Command::Read, address, vec![0; length])
    }

    /// Creates a write of `data` at `address`.
    pub fn write(address: u64, data: impl Into<Vec<u8>>) -> Self {
        Self::new(Command::Write, address, data.into())
    }

    fn new(command: Command, address: u64, data: Vec<u8>) -> Self {
        Self {
            command,
            address,
            data,
            byte_enable: Vec::new(),
            response: Response::Incomplete,
        }
    }

    /// Performs the access on `memory`, whose first byte has address `base`; a convenience for
    /// targets that hold bytes.
    pub fn access(&mut self, memory: &mut [u8], base: u64) {
        let bytes = self
            .address
            .checked_sub(base)
            .and_then(|from| usize::try_from(from).ok())
            .and_then(|from| memory.get_mut(from..from.checked_add(self.data.len())?));
        let Some(bytes) = bytes else {
            self.response = Response::AddressError;
            return;
        };
        let enabled = |at: usize| {
            self.byte_enable.is_empty() || self.byte_enable[at % self.byte_enable.len()]
        };
        for (at, (mine, theirs)) in self.data.iter_mut().zip(bytes).enumerate() {
            match self.command {
                _ if !enabled(at) => {}
                Command::Read => *mine = *theirs,
                Command::Write => *theirs = *mine,
            }
        }
        self.response = Response::Ok;
    }
}

/// Future of a transport call in progress.
pub type Transported<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Receiver of payloads: a target, or a router in front of several (SystemC's `b_transport`).
pub trait Transport {
    /// Carries out `payload` and sets its response. The caller is `time` ahead of the world; the
    /// callee adds the duration of the access, or waits.
    fn transport<'a>(
        &'a self,
        payload: &'a mut Payload,
        time: &'a mut LocalTime,
    ) -> Transported<'a>;
}

/// Local time of a process that runs ahead of the world (SystemC's quantum keeper).
///
/// Accumulates delays instead of waiting for each, and waits once they reach the quantum. A larger
/// quantum is faster, but makes the interaction of processes less precise.
#[derive(Clone)]
pub struct LocalTime {
    world: World,
    quantum: u64,
    ahead: u64,
}

impl LocalTime {
    /// Creates a local time equal to the world's, with a quantum of `quantum` ticks. With 0 every
    /// synchronisation waits.
    pub fn new(world: &World, quantum: u64) -> Self {
        Self {
            world: world.clone(),
            quantum,
            ahead: 0,
        }
    }

    /// Advances the local time by `ticks`.
    pub fn advance(&mut self, ticks: u64) {
        self.ahead += ticks;
    }

    /// Returns the number of ticks ahead of the world.
    pub fn ahead(&self) -> u64 {
        self.ahead
    }

    /// Returns the local time of this process.
    pub fn now(&self) -> Tick {
        Tick(self.world.now().0 + self.ahead)
    }

    /// Waits for the world to catch up if the quantum is used up.
    pub async fn sync_if_due(&mut self) {
        if self.ahead > 0 && self.ahead >= self.quantum {
            self.sync().await;
        }
    }

    /// Waits for the world to catch up.
    pub async fn sync(&mut self) {
        let ahead = std::mem::take(&mut self.ahead);
        if ahead > 0 {
            self.world.ticks(ahead).await;
        }
    }
}

/// Routes each payload to the target with its address.
#[derive(Default)]
pub struct Router {
    targets: Vec<(Range<u64>, Box<dyn Transport>)>,
}

impl Router {
    /// Creates a router without any targets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a target for `addresses`. Targets receive unmodified addresses.
    #[must_use]
    pub fn with(mut self, addresses: Range<u64>, target: impl Transport + 'static) -> Self {
        self.targets.push((addresses, Box::new(target)));
        self
    }
}

impl Transport for Router {
    fn transport<'a>(
        &'a self,
        payload: &'a mut Payload,
        time: &'a mut LocalTime,
    ) -> Transported<'a> {
        let last = payload.address + (payload.data.len() as u64).saturating_sub(1);
        let target = self
            .targets
            .iter()
            .find(|(range, _)| range.contains(&payload.address) && range.contains(&last));
        match target {
            Some((_, target)) => target.transport(payload, time),
            None => Box::pin(async move { payload.response = Response::AddressError }),
        }
    }
}
