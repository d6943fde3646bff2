//! Mutated input: one changed file of a folder.

use std::io;

use fastrand::Rng;
use warpweave_random::nth;

use crate::folder::Folder;
use crate::indexed::Indexed;
use crate::kind::{Kind, OVERRIDE};
use crate::mutate::{Words, flip, mutated};
use crate::sealed;

/// Mutated input: a file of a [`Folder`] with other contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Kind of input that the file is.
    pub kind: Kind,
    /// Number of the input within its seed.
    pub number: u64,
    /// Name of the changed file within the folder.
    pub file: &'static str,
    /// New contents of the changed file.
    pub bytes: Vec<u8>,
    /// Random number that selects one of the ways to use the input.
    pub way: u64,
}

/// Command lines to start from, one argument per line. Commands that write only write into the
/// folder.
const COMMANDS: [&[&str]; 19] = [
    &["run", "launching.ron", "--quiet", "--check-program"],
    &["experiment", "experiment.ron", "--quiet", "--check"],
    &[
        "probe",
        "systems/tiny.ron",
        "--largest",
        "2 KiB",
        "--format",
        "json",
    ],
    &["run", "plain.ron", "--quiet", "--set", "limits.cycles=2000"],
    &[
        "run",
        "test.ron",
        "--quiet",
        "--format",
        "json",
        "--threads",
        "2",
        "--check",
    ],
    &[
        "run",
        "plain.ron",
        "--out",
        "results",
        "--state-hash",
        "100",
        "--set",
        "seed=3",
    ],
    &[
        "run",
        "plain.ron",
        "--quiet",
        "--checkpoint",
        "x-{cycle}.wwc",
        "--checkpoint-at",
        "100,200",
    ],
    &["run", "plain.ron", "--quiet", "--resume", "plain.wwc"],
    &[
        "run",
        "plain.ron",
        "--record",
        "x.vcd",
        "--record-path",
        "unit*",
        "--record-cycles",
        "10..90",
    ],
    &["check", "test.ron", "--resolved", "--threads", "3"],
    &["list", "policies", "--folder", "."],
    &["describe", "Cache"],
    &["trace", "record", "plain.ron", "x.wwt"],
    &["trace", "info", "run.wwt"],
    &[
        "trace",
        "dump",
        "run.wwt",
        "--kernel",
        "0",
        "--work-group",
        "1",
        "--wavefront",
        "0",
    ],
    &[
        "bench",
        "dram",
        "--trace",
        "bench/requests.csv",
        "--preset",
        "A",
        "--per-request",
        "x.csv",
    ],
    &[
        "bench",
        "noc",
        "--trace",
        "bench/packets.csv",
        "--preset",
        "voq_i1",
        "--inputs",
        "4",
        "--outputs",
        "6",
    ],
    &["new", "component", "WriteCounter", "--out", "made"],
    &["diff", "a", "b"],
];

impl Case {
    /// Creates input `number` of a kind and a seed.
    ///
    /// # Errors
    /// Returns an error if the unchanged file cannot be unpacked.
    pub fn new(kind: Kind, seed: u64, number: u64, folder: &Folder) -> io::Result<Self> {
        let mut rng = Rng::with_seed(nth(nth(seed, kind as u64), number));
        let files = kind.files();
        let file = files[rng.usize(..files.len())];
        let original = folder.original(file);
        let words = Words {
            texts: texts(kind, folder),
        };
        let bytes = match kind {
            Kind::Arguments => arguments(&mut rng),
            Kind::Override => overrides(original, &words, &mut rng),
            Kind::Trace | Kind::AccessLog => sealed::chunked(original, &mut rng)?,
            Kind::Checkpoint => {
                let mut bytes = original.to_vec();
                flip(&mut bytes, &mut rng);
                bytes
            }
            _ => match ending(file) {
                "gz" => sealed::gzip(original, &words, &mut rng)?,
                "zst" => sealed::zstd(original, &words, &mut rng)?,
                "tracez" => Indexed::default().mutated(&words, &mut rng)?,
                "xz" => {
                    let mut bytes = original.to_vec();
                    flip(&mut bytes, &mut rng);
                    bytes
                }
                _ => mutated(original, &words, &mut rng),
            },
        };
        Ok(Self {
            kind,
            number,
            file,
            bytes,
            way: rng.u64(..),
        })
    }

    /// Returns a file unchanged, to check that the folder's inputs are valid before mutation.
    pub fn unchanged(kind: Kind, file: &'static str, folder: &Folder) -> Self {
        Self {
            kind,
            number: 0,
            file,
            bytes: folder.original(file).to_vec(),
            way: 2,
        }
    }

    /// Returns the override or the arguments held by the file of such a case, one per line.
    pub fn lines(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.bytes);
        text.split('\n')
            .map(|line| line.replace('\0', "\u{1}"))
            .collect()
    }
}

fn ending(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

fn is_packed(name: &str) -> bool {
    matches!(ending(name), "gz" | "zst" | "xz" | "tracez")
}

/// Values at the limits of the trace format.
const LIMITS_OF_TRACES: &[u8] =
    b"-grid dim = (4294967295,65535,65535)\n-block dim = (1024,1,1)\n-block dim = (1,1024,1024)\n\
    -grid dim = (1073741824,1,1)\n-shmem = 16777216\n-nregs = 255\n-shmem base_addr = 0xffffffffffffffff\n\
    -local mem base_addr = 0xffffffffff000000\ninsts = 4294967295\nwarp = 31\nthread block = 4294967295,0,0\n\
    fff0 80000000 1 R255 LDG.E 1 R254 16 1 0xfffffffffffffff0 -9223372036854775808 0\n\
    ffffffffffffffff 00000001 8 R0 R1 R2 R3 R4 R5 R6 R7 LDL 1 R2 128 2 0xffffffffffffffff 0\n\
    0000 00000003 0 STL 1 R2 4 2 0x7f2002fffce0 9223372036854775807 0\n\
    MemcpyHtoD,0xffffffffffffffff,18446744073709551615\nMemcpyHtoD,0x0,18446744073709551615\n";

/// Returns the texts in the same family as a kind.
fn texts(kind: Kind, folder: &Folder) -> Vec<&[u8]> {
    let files = match kind {
        Kind::Scenario
        | Kind::System
        | Kind::Workload
        | Kind::Preset
        | Kind::Energy
        | Kind::Experiment
        | Kind::Probe => [
            Kind::Scenario,
            Kind::System,
            Kind::Workload,
            Kind::Preset,
            Kind::Energy,
            Kind::Experiment,
        ]
        .iter()
        .flat_map(|kind| kind.files())
        .copied()
        .collect(),
        Kind::Arguments | Kind::Override => vec![OVERRIDE],
        Kind::Table | Kind::Reference => [Kind::Table, Kind::Reference]
            .iter()
            .flat_map(|kind| kind.files())
            .copied()
            .collect(),
        other => other.files().to_vec(),
    };
    let plain = files.into_iter().filter(|name| !is_packed(name));
    let texts = plain.map(|name| folder.original(name));
    match kind {
        Kind::AccelSim => texts.chain([LIMITS_OF_TRACES]).collect(),
        _ => texts.collect(),
    }
}

/// Generates one to three overrides, one of them mutated.
fn overrides(original: &[u8], words: &Words<'_>, rng: &mut Rng) -> Vec<u8> {
    let lines: Vec<_> = original.trim_ascii().split(|b| *b == b'\n').collect();
    let mut text = mutated(lines[rng.usize(..lines.len())], words, rng);
    for _ in 0..rng.usize(..3) {
        text.push(b'\n');
        text.extend(lines[rng.usize(..lines.len())]);
    }
    // The host takes arguments of 128 KiB at most, and what is no text becomes three bytes for one.
    text.truncate(40_000);
    text
}

/// Generates a command line with arguments dropped, duplicated, swapped, or misspelled.
fn arguments(rng: &mut Rng) -> Vec<u8> {
    let pick = |rng: &mut Rng| COMMANDS[rng.usize(..COMMANDS.len())];
    let mut line: Vec<Vec<u8>> = pick(rng).iter().map(|a| a.as_bytes().to_vec()).collect();
    let plain: Vec<&[u8]> = vec![
        b"plain.ron",
        b"--set",
        b"unit[*].l1.ways=4",
        b"A",
        b"x.csv",
        b"0",
    ];
    let words = Words { texts: plain };
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(..line.len().max(1));
        if at >= line.len() {
            break;
        }
        match rng.u8(..8) {
            0 => drop(line.remove(at)),
            1 => line.insert(at, line[at].clone()),
            2 => {
                let other = rng.usize(..line.len());
                line.swap(at, other);
            }
            3 | 4 => {
                let other = pick(rng);
                line[at] = other[rng.usize(..other.len())].as_bytes().to_vec();
            }
            5 => {
                let other = pick(rng);
                line.insert(at, other[rng.usize(..other.len())].as_bytes().to_vec());
            }
            _ => line[at] = harmless(mutated(&line[at], &words, rng)),
        }
    }
    line.join(&b'\n')
}

/// Sanitizes an argument so that no command leaves its folder and it is not too long for the host.
fn harmless(mut argument: Vec<u8>) -> Vec<u8> {
    argument.truncate(40_000);
    argument.retain(|byte| !matches!(byte, b'/' | b'\n' | 0));
    argument
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_follows_from_kind_seed_and_number() {
        let folder = Folder::new().expect("a temporary folder");
        let case = |seed, number| Case::new(Kind::System, seed, number, &folder).expect("packed");
        assert_eq!(case(1, 7), case(1, 7));
        assert_ne!(case(1, 7).bytes, case(1, 8).bytes);
        assert_ne!(case(1, 7).bytes, case(2, 7).bytes);
    }
}
