//! Checkpoints of several machines and moments, and the forging of what is in them.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fastrand::Rng;
use warpweave_framework::Checkpoint;
use warpweave_systems::{Machine, Scenario};
use warpweave_trace::Program;

use crate::folder::registry;

/// A machine and a cycle at which it is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The composed machine as the first accesses are under way.
    Early,
    /// The composed machine with its caches and queues full.
    Middle,
    /// The tiny machine as it comes.
    Plain,
    /// Breadth-first search between two launches.
    Late,
}

impl Moment {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Early, Self::Middle, Self::Plain, Self::Late];

    /// The checkpoint's name in a [`Folder`](crate::Folder).
    pub fn file(self) -> &'static str {
        match self {
            Self::Early => "early.wwc",
            Self::Middle => "middle.wwc",
            Self::Plain => "plain.wwc",
            Self::Late => "late.wwc",
        }
    }

    /// The scenario that is saved.
    pub fn scenario(self) -> &'static str {
        match self {
            Self::Early | Self::Middle => "test.ron",
            Self::Plain => "plain.ron",
            Self::Late => "graph.ron",
        }
    }

    /// The core cycle after which it is saved.
    pub(crate) fn cycle(self) -> u64 {
        match self {
            Self::Early => 170,
            Self::Middle => 330,
            Self::Plain => 300,
            Self::Late => 1500,
        }
    }

    /// The machine at this moment.
    ///
    /// # Panics
    /// When its files are refused.
    pub fn machine(self, folder: &Path) -> Machine {
        let mut machine = machine_of(folder, self.scenario());
        machine.advance(self.cycle(), &Arc::new(AtomicBool::new(false)));
        machine
    }

    /// The scenario that is saved and its program.
    pub(crate) fn prepared(self, folder: &Path) -> (Scenario, Arc<Program>) {
        prepared(folder, self.scenario())
    }
}

/// The machine of a scenario before its first cycle.
pub(crate) fn machine_of(folder: &Path, scenario: &str) -> Machine {
    let (scenario, program) = prepared(folder, scenario);
    let machine = scenario.machine(&registry(), &program);
    machine.unwrap_or_else(|problems| panic!("{problems}"))
}

/// A scenario and its program.
pub(crate) fn prepared(folder: &Path, scenario: &str) -> (Scenario, Arc<Program>) {
    let loaded = Scenario::load(&folder.join(scenario), &[]);
    let scenario = loaded.unwrap_or_else(|problems| panic!("{problems}"));
    let program = scenario.emulate().expect("a sound program").program;
    (scenario, program)
}

/// Bytes before the compressed rest: magic, format, length, digest.
const HEAD: usize = 52;
/// Of them, magic and format.
const NAME: usize = 12;

/// A checkpoint taken apart, to be put together with other contents and the right checksum.
pub struct Forger {
    name: Vec<u8>,
    version: String,
    checkpoint: Checkpoint,
    beside: Vec<u8>,
}

impl Forger {
    /// Takes the bytes of a file apart.
    ///
    /// # Errors
    /// When they are no checkpoint of this version.
    pub fn new(bytes: &[u8]) -> io::Result<Self> {
        let damaged = |_| io::Error::from(io::ErrorKind::InvalidData);
        let (head, rest) = bytes
            .split_at_checked(HEAD)
            .ok_or(io::ErrorKind::InvalidData)?;
        let mut plain = Vec::new();
        zstd::Decoder::new(rest)?.read_to_end(&mut plain)?;
        let ((version, checkpoint), beside) = postcard::take_from_bytes(&plain).map_err(damaged)?;
        Ok(Self {
            name: head[..NAME].to_vec(),
            version,
            checkpoint,
            beside: beside.to_vec(),
        })
    }

    /// The parts that can be forged: the engine, what the caller keeps beside it, components, ends of
    /// channels.
    pub fn parts(&self) -> Vec<Vec<u8>> {
        let mut parts = self.checkpoint.encoded_parts();
        parts.push(self.beside.clone());
        parts
    }

    /// A file with part `number` in this form; `None` when it is not even a value of its type.
    ///
    /// # Panics
    /// When there is no such part.
    pub fn forged(&self, number: usize, part: Vec<u8>) -> Option<Vec<u8>> {
        let mut parts = self.checkpoint.encoded_parts();
        if number == parts.len() {
            return Some(self.sealed(&self.checkpoint, &part));
        }
        parts[number] = part;
        let forged = self.checkpoint.with_encoded_parts(parts).ok()?;
        Some(self.sealed(&forged, &self.beside))
    }

    fn sealed(&self, checkpoint: &Checkpoint, beside: &[u8]) -> Vec<u8> {
        let plain = postcard::to_stdvec(&(&self.version, checkpoint));
        let mut plain = plain.expect("it was decoded from this form");
        plain.extend(beside);
        let rest = zstd::encode_all(&plain[..], 1).expect("memory does not fail to be read");
        let mut bytes = self.name.clone();
        bytes.extend((rest.len() as u64).to_le_bytes());
        bytes.extend(blake3::hash(&rest).as_bytes());
        bytes.extend(rest);
        bytes
    }

    /// A file in which one to three values of one part are others.
    pub(crate) fn mutated(&self, rng: &mut Rng) -> Vec<u8> {
        let parts = self.parts();
        loop {
            let number = rng.usize(..parts.len());
            let mut part = parts[number].clone();
            for _ in 0..rng.usize(1..=3) {
                forge(&mut part, rng);
            }
            if let Some(bytes) = self.forged(number, part) {
                return bytes;
            }
        }
    }
}

/// Numbers that lie at the edges of tables and types.
pub(crate) const HOSTILE: [u64; 24] = [
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    255,
    256,
    65_535,
    1 << 20,
    u32::MAX as u64,
    1 << 40,
    1 << 62,
    u64::MAX,
];

/// Replaces one number of a part, as postcard writes numbers, by a hostile or a near one; now and then
/// flips a bit instead.
pub(crate) fn forge(part: &mut Vec<u8>, rng: &mut Rng) {
    if part.is_empty() {
        part.push(rng.u8(..));
        return;
    }
    let at = rng.usize(..part.len());
    if rng.u8(..8) == 0 {
        part[at] ^= 1 << rng.u8(..8);
        return;
    }
    let (old, length) = number_at(&part[at..]);
    let new = match rng.u8(..4) {
        0 => old.wrapping_add(1),
        1 => old.wrapping_sub(1),
        _ => HOSTILE[rng.usize(..HOSTILE.len())],
    };
    part.splice(at..at + length, number(new));
}

/// The number that begins here and the bytes it takes.
fn number_at(bytes: &[u8]) -> (u64, usize) {
    let last = bytes.iter().take(10).position(|byte| byte & 0x80 == 0);
    let length = last.map_or(bytes.len().min(10), |last| last + 1);
    let value = bytes[..length].iter().rev();
    let value = value.fold(0_u64, |value, byte| value << 7 | u64::from(byte & 0x7f));
    (value, length)
}

fn number(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
