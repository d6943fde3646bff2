//! State hashes of a run, one line per epoch, for comparing runs.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpweave_framework::{CheckpointError, StateHasher};

use super::Machine;

/// Log of state hashes, taken at a fixed interval of core cycles.
pub struct StateLog {
    every: u64,
    hasher: StateHasher,
    /// Rows of core cycle, rolling hash and hash per instance.
    rows: Vec<(u64, u64, Vec<u64>)>,
}

/// Position of a log at the time its run was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogPosition {
    every: u64,
    rolling: u64,
}

impl StateLog {
    /// Creates a log with an epoch of this many core cycles, at least 1.
    pub fn new(every: u64) -> Self {
        Self {
            every: every.max(1),
            hasher: StateHasher::new(),
            rows: Vec::new(),
        }
    }

    /// Returns the length of an epoch in core cycles.
    pub fn every(&self) -> u64 {
        self.every
    }

    /// Returns the first core cycle after `cycle` that ends an epoch.
    pub fn next_after(&self, cycle: u64) -> u64 {
        (cycle / self.every + 1) * self.every
    }

    /// Adds the current state of the machine and returns the rolling hash.
    ///
    /// # Errors
    /// Fails if a component cannot be saved.
    pub fn record(&mut self, machine: &mut Machine) -> Result<u64, CheckpointError> {
        let cycle = machine.cycle();
        let simulation = &mut machine.system.simulation;
        self.hasher.hash(simulation)?;
        let hashes = self.hasher.by_instance(simulation);
        let rolling = self.hasher.rolling();
        self.rows.push((cycle, rolling, hashes));
        Ok(rolling)
    }

    pub(crate) fn position(&self) -> LogPosition {
        LogPosition {
            every: self.every,
            rolling: self.hasher.rolling(),
        }
    }

    /// Resumes the log after a checkpoint. Rolling hashes continue if the saved run logged the same
    /// epochs; otherwise they start anew.
    pub(crate) fn resume(&mut self, saved: Option<&LogPosition>) {
        let saved = saved.filter(|saved| saved.every == self.every);
        self.hasher = saved.map_or_else(StateHasher::new, |s| StateHasher::resuming(s.rolling));
    }

    /// Returns the log as comma-separated values, with a line per epoch. A line has the core cycle
    /// after which it was taken, the rolling hash, and the hash of every instance.
    pub fn to_csv(&self, machine: &Machine) -> String {
        let mut text = "cycle,rolling".to_owned();
        for (path, _) in machine.system.simulation.instances() {
            let _ = write!(text, ",\"{path}\"");
        }
        for (cycle, rolling, hashes) in &self.rows {
            let _ = write!(text, "\n{cycle},{rolling:016x}");
            for hash in hashes {
                let _ = write!(text, ",{hash:016x}");
            }
        }
        text.push('\n');
        text
    }
}

/// State log read back from a file, enough to find the epoch in which two runs diverge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadLog {
    /// Core cycle and rolling hash of every epoch.
    pub epochs: Vec<(u64, u64)>,
}

/// Line number of an invalid line in a state log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {0} is not a cycle with a hash")]
pub struct ReadLogError(pub usize);

impl ReadLog {
    /// Parses the output of [`StateLog::to_csv`].
    ///
    /// # Errors
    /// Returns the number of the first line that cannot be read.
    pub fn parse(text: &str) -> Result<Self, ReadLogError> {
        let line = |(number, line): (usize, &str)| {
            let mut cells = line.split(',');
            let cycle = cells.next().and_then(|cell| cell.parse().ok());
            let rolling = cells.next().and_then(|c| u64::from_str_radix(c, 16).ok());
            cycle.zip(rolling).ok_or(ReadLogError(number + 1))
        };
        let epochs = text.lines().enumerate().skip(1).map(line);
        Ok(Self {
            epochs: epochs.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the cycles between which this run and `other` diverge. They were equal after the
    /// first (`None` for the start) and differ after the second. Returns `None` if all epochs are
    /// equal; those before the start of a resumed run are ignored.
    pub fn parts_from(&self, other: &Self) -> Option<(Option<u64>, u64)> {
        let first = |log: &Self| log.epochs.first().map_or(0, |(cycle, _)| *cycle);
        let from = first(self).max(first(other));
        let (mine, theirs) = (self.since_cycle(from), other.since_cycle(from));
        let equal = mine.iter().zip(theirs).take_while(|(a, b)| a == b).count();
        // A run that ended earlier differs from the one that went on.
        let next = mine.get(equal).into_iter().chain(theirs.get(equal));
        let at = next.map(|(cycle, _)| *cycle).min()?;
        let before = equal.checked_sub(1).map(|last| mine[last].0);
        Some((before, at))
    }

    fn since_cycle(&self, from: u64) -> &[(u64, u64)] {
        let start = self.epochs.partition_point(|(cycle, _)| *cycle < from);
        &self.epochs[start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(epochs: &[(u64, u64)]) -> ReadLog {
        ReadLog {
            epochs: epochs.to_vec(),
        }
    }

    #[test]
    fn logs_part_between_the_last_equal_epoch_and_the_first_that_differs() {
        let one = log(&[(10, 1), (20, 2), (30, 3)]);
        assert_eq!(one.parts_from(&one), None);
        assert_eq!(
            one.parts_from(&log(&[(10, 1), (20, 9), (30, 3)])),
            Some((Some(10), 20))
        );
        assert_eq!(one.parts_from(&log(&[(10, 9)])), Some((None, 10)));
        assert_eq!(one.parts_from(&log(&[(10, 1)])), Some((Some(10), 20)));
        assert_eq!(log(&[(10, 1)]).parts_from(&one), Some((Some(10), 20)));
        assert_eq!(one.parts_from(&log(&[(20, 2), (30, 3)])), None);
        assert_eq!(
            one.parts_from(&log(&[(20, 2), (30, 4)])),
            Some((Some(20), 30))
        );
    }

    #[test]
    fn a_log_is_read_back_and_nonsense_named() {
        let text = "cycle,rolling,\"a\"\n100,00000000000000ff,0\n200,0000000000000001,1\n";
        assert_eq!(ReadLog::parse(text), Ok(log(&[(100, 255), (200, 1)])));
        assert_eq!(ReadLog::parse("cycle\n1,2\nx\n"), Err(ReadLogError(3)));
    }
}
