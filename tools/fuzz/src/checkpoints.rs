//! Checkpoints of several machines and moments, and mutation of encoded numbers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fastrand::Rng;
use warpweave_systems::{Machine, Scenario, standard_registry};
use warpweave_trace::Program;

/// Machine and cycle at which a checkpoint is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Composed machine with the first accesses in flight.
    Early,
    /// Composed machine with its caches and queues full.
    Middle,
    /// Tiny machine without any changes.
    Plain,
    /// Breadth-first search, saved between two launches.
    Late,
}

impl Moment {
    /// All moments, in order of declaration.
    pub const ALL: [Self; 4] = [Self::Early, Self::Middle, Self::Plain, Self::Late];

    /// Returns the checkpoint's file name in a [`Folder`](crate::Folder).
    pub fn file(self) -> &'static str {
        match self {
            Self::Early => "early.wwc",
            Self::Middle => "middle.wwc",
            Self::Plain => "plain.wwc",
            Self::Late => "late.wwc",
        }
    }

    /// Returns the file name of the saved scenario.
    pub fn scenario(self) -> &'static str {
        match self {
            Self::Early | Self::Middle => "test.ron",
            Self::Plain => "plain.ron",
            Self::Late => "graph.ron",
        }
    }

    /// Returns the core cycle after which the machine is saved.
    pub(crate) fn cycle(self) -> u64 {
        match self {
            Self::Early => 170,
            Self::Middle => 330,
            Self::Plain => 300,
            Self::Late => 1500,
        }
    }

    /// Builds the machine and runs it to this moment.
    ///
    /// # Panics
    /// Panics if the files of the machine are rejected.
    pub fn machine(self, folder: &Path) -> Machine {
        let mut machine = machine_of(folder, self.scenario());
        machine.advance(self.cycle(), &Arc::new(AtomicBool::new(false)));
        machine
    }

    /// Loads the saved scenario and its program.
    pub(crate) fn prepared(self, folder: &Path) -> (Scenario, Arc<Program>) {
        prepared(folder, self.scenario())
    }
}

/// Builds the machine of a scenario, before its first cycle.
pub(crate) fn machine_of(folder: &Path, scenario: &str) -> Machine {
    let (scenario, program) = prepared(folder, scenario);
    let machine = Machine::of(&scenario, &standard_registry(), &program);
    machine.unwrap_or_else(|problems| panic!("{problems}"))
}

/// Loads a scenario and emulates its program.
pub(crate) fn prepared(folder: &Path, scenario: &str) -> (Scenario, Arc<Program>) {
    let loaded = Scenario::load(&folder.join(scenario), &[]);
    let scenario = loaded.unwrap_or_else(|problems| panic!("{problems}"));
    let program = scenario.emulate().expect("a sound program").program;
    (scenario, program)
}

/// Numbers at the limits of tables and types.
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

/// Replaces one postcard-encoded number of a part by a hostile or a nearby one. Sometimes it flips
/// a bit instead.
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

/// Decodes the number that starts here. Returns its value and its length in bytes.
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
