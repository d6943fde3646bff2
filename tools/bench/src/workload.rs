//! Named workloads, their sizes, and the implementations that can run them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::ValueEnum;
use warpweave_random::{GAMMA, mix};

/// Workload that is simulated or emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Workload {
    /// Tokens that circulate in a ring of modules, one hop a cycle. Sizes: modules, tokens.
    Ring,
    /// Items through stages with a slow consumer. Sizes: stages, slots of each, cycles an item.
    Pipe,
    /// PHOLD (Fujimoto 1990): events with random delays at random objects. Sizes: objects, events
    /// of each, longest delay.
    Phold,
    /// Ring among many sleeping modules. Sizes: sleeping modules, busy modules.
    Sleepers,
    /// Ring of modules that alternate between two clocks, 1 GHz and 700 MHz. Sizes: modules,
    /// tokens.
    Crossing,
    /// Signal changes that ripple through chains of methods. Sizes: chains, length of each.
    Signals,
    /// Construction of a system. Sizes: 1 with a channel from each component to the next, 0
    /// without.
    Elaboration,
    /// Emulated integer arithmetic of PTX. Size: threads, at most 32.
    EmulatedInteger,
    /// Emulated arithmetic on .f32 numbers. Size: threads, at most 32.
    EmulatedFloat,
    /// Emulated accesses to neighbouring words. Size: threads, at most 32.
    EmulatedMemory,
    /// Emulated accesses to words in irregular order. Size: threads, at most 32.
    EmulatedScatter,
}

/// Implementation with which a workload is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Implementation {
    /// The simulation framework of this repository.
    Warpweave,
    /// Loop written by hand for this one workload.
    Limit,
    /// SystemC methods that notify each other's events.
    SystemcEvent,
    /// SystemC methods that are sensitive to signals.
    SystemcSignal,
    /// SystemC methods that run at every clock edge.
    SystemcClocked,
    /// SystemC threads, which suspend in calls of `wait`.
    SystemcThread,
    /// Models of the NeXosim simulator, single-threaded.
    Nexosim,
}

use Implementation as I;

impl Workload {
    /// All workloads, in the order of reports.
    pub const ALL: [Self; 11] = [
        Self::Ring,
        Self::Pipe,
        Self::Phold,
        Self::Sleepers,
        Self::Crossing,
        Self::Signals,
        Self::Elaboration,
        Self::EmulatedInteger,
        Self::EmulatedFloat,
        Self::EmulatedMemory,
        Self::EmulatedScatter,
    ];

    /// Returns the name used in reports and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Pipe => "pipe",
            Self::Phold => "phold",
            Self::Sleepers => "sleepers",
            Self::Crossing => "crossing",
            Self::Signals => "signals",
            Self::Elaboration => "elaboration",
            Self::EmulatedInteger => "emulated-integer",
            Self::EmulatedFloat => "emulated-float",
            Self::EmulatedMemory => "emulated-memory",
            Self::EmulatedScatter => "emulated-scatter",
        }
    }

    /// Returns the unit of work to which figures refer.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Ring | Self::Sleepers | Self::Crossing => "hop",
            Self::Pipe => "item and stage",
            Self::Phold => "event",
            Self::Signals => "change",
            Self::Elaboration => "component",
            Self::EmulatedInteger | Self::EmulatedFloat => "wavefront instruction",
            Self::EmulatedMemory | Self::EmulatedScatter => "access of a wavefront",
        }
    }

    /// Returns the sizes with which the workload is reported.
    pub fn sizes(self) -> &'static [u64] {
        match self {
            Self::Ring | Self::Crossing => &[1024, 64],
            Self::Pipe => &[8, 4, 3],
            Self::Phold => &[1024, 16, 1000],
            Self::Sleepers => &[1_000_000, 64],
            Self::Signals => &[64, 16],
            Self::Elaboration => &[1],
            Self::EmulatedInteger
            | Self::EmulatedFloat
            | Self::EmulatedMemory
            | Self::EmulatedScatter => &[32],
        }
    }

    /// Returns the sizes for counting instructions, which takes fifty times as long.
    pub fn counting_sizes(self) -> &'static [u64] {
        match self {
            Self::Sleepers => &[4096, 64],
            _ => self.sizes(),
        }
    }

    /// Checks the sizes and the length of a run.
    ///
    /// # Errors
    /// Fails with a text if the sizes or the length are invalid.
    pub fn check(self, sizes: &[u64], units: u64) -> Result<(), String> {
        let (name, usual) = (self.name(), self.sizes());
        if sizes.len() != usual.len() {
            let (wanted, given) = (usual.len(), sizes.len());
            return Err(format!(
                "{name} has {wanted} sizes and {given} are given\nhint: {name} has by default {usual:?}"
            ));
        }
        let smallest = u64::from(self != Self::Elaboration);
        if units == 0 || sizes.iter().any(|size| *size < smallest) {
            return Err("nothing to simulate: lengths and sizes are at least 1".to_owned());
        }
        if self.is_emulated() && (sizes[0] > 32 || units > u64::from(u32::MAX)) {
            return Err(format!(
                "{name} has at most 32 threads, and 4294967295 units"
            ));
        }
        Ok(())
    }

    fn is_emulated(self) -> bool {
        matches!(
            self,
            Self::EmulatedInteger
                | Self::EmulatedFloat
                | Self::EmulatedMemory
                | Self::EmulatedScatter
        )
    }

    /// Lists the implementations that can run it, the framework first.
    pub fn implementations(self) -> &'static [Implementation] {
        match self {
            Self::Ring => &[
                I::Warpweave,
                I::Limit,
                I::SystemcEvent,
                I::SystemcSignal,
                I::SystemcClocked,
                I::SystemcThread,
                I::Nexosim,
            ],
            Self::Pipe => &[
                I::Warpweave,
                I::Limit,
                I::SystemcClocked,
                I::SystemcThread,
                I::Nexosim,
            ],
            Self::Phold => &[I::Warpweave, I::Limit, I::SystemcEvent, I::Nexosim],
            _ => &[I::Warpweave],
        }
    }

    /// Returns the length of a timed run, long enough for a clock and short enough for many rounds.
    pub fn length(self, by: Implementation) -> u64 {
        let own = match self {
            Self::Ring
            | Self::Crossing
            | Self::EmulatedInteger
            | Self::EmulatedFloat
            | Self::EmulatedMemory
            | Self::EmulatedScatter => 5_000_000,
            // Items, each of which passes nine wires.
            Self::Pipe => 400_000,
            Self::Phold | Self::Signals | Self::Sleepers => 3_000_000,
            Self::Elaboration => 1_000_000,
        };
        match by {
            I::Warpweave | I::Limit => own,
            I::SystemcEvent | I::SystemcThread => own / 4,
            I::SystemcSignal | I::SystemcClocked => own / 10,
            I::Nexosim => own / 20,
        }
    }

    /// Returns two lengths whose difference in instructions is that of so many units, `shorter`
    /// times shorter than usual.
    pub fn counting_lengths(self, shorter: u64) -> [u64; 2] {
        let usual = match self {
            Self::Pipe => [2_000, 12_000],
            Self::Elaboration => [2_000, 6_000],
            Self::EmulatedMemory | Self::EmulatedScatter => [10_000, 30_000],
            _ => [50_000, 150_000],
        };
        usual.map(|length| (length / shorter).max(1))
    }
}

impl Implementation {
    /// Returns the name used in reports and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warpweave => "warpweave",
            Self::Limit => "limit",
            Self::SystemcEvent => "systemc_event",
            Self::SystemcSignal => "systemc_signal",
            Self::SystemcClocked => "systemc_clocked",
            Self::SystemcThread => "systemc_thread",
            Self::Nexosim => "nexosim",
        }
    }

    /// Returns the style name in the SystemC program, if the implementation uses SystemC.
    pub fn systemc_style(self) -> Option<&'static str> {
        self.name().strip_prefix("systemc_")
    }
}

/// Result of one run of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// CPU time of the run phase, in nanoseconds.
    pub ns: u64,
    /// Units of work done in the run phase.
    pub units: u64,
    /// Checksum of the computed results; equal for all implementations with the same semantics.
    pub checksum: u64,
    /// Resident bytes added by elaboration, if measured.
    pub bytes: u64,
}

impl Sample {
    /// CPU nanoseconds per unit of the run phase.
    pub fn ns_per_unit(&self) -> f64 {
        self.ns as f64 / self.units.max(1) as f64
    }

    /// Formats one line of numbers, read back by [`Sample::parse`].
    pub fn line(&self) -> String {
        let Self {
            ns,
            units,
            checksum,
            bytes,
        } = self;
        format!("{ns} {units} {checksum} {bytes}")
    }

    /// Parses a line of at least nanoseconds and units.
    pub fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.split_whitespace().map(|word| word.parse().ok());
        let mut optional = || numbers.next().unwrap_or(Some(0));
        Some(Self {
            ns: optional()?,
            units: optional().filter(|units| *units > 0)?,
            checksum: optional()?,
            bytes: optional()?,
        })
    }
}

/// Checksum accumulated on drop: each part of a model adds its result when dropped. Only a sum per
/// part is kept while time is measured.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<AtomicU64>);

impl Tally {
    /// Adds the result of the part at `place`. The order of parts does not matter.
    pub fn add(&self, place: u64, value: u64) {
        // Mixing keeps places and values apart.
        let mixed = mix(value ^ (place + 1).wrapping_mul(GAMMA));
        self.0.fetch_add(mixed, Ordering::Relaxed);
    }

    /// Returns the checksum accumulated so far.
    pub fn sum(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// True if module `i` of a ring of `modules` starts with one of `tokens` evenly spread tokens.
pub fn starts_with_token(i: u64, modules: u64, tokens: u64) -> bool {
    i * tokens / modules != (i + 1) * tokens / modules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_read_back_from_its_line() {
        let sample = Sample {
            ns: 5,
            units: 6,
            checksum: u64::MAX,
            bytes: 7,
        };
        assert_eq!(Sample::parse(&sample.line()), Some(sample));
    }

    #[test]
    fn a_line_without_work_or_numbers_is_no_sample() {
        assert_eq!(Sample::parse("17 0"), None);
        assert_eq!(Sample::parse("usage: something"), None);
        assert_eq!(Sample::parse(""), None);
        let peer = Sample::parse("17 2").unwrap();
        assert_eq!((peer.ns, peer.units), (17, 2));
    }

    #[test]
    fn a_tally_depends_on_places_and_values_and_not_on_their_order() {
        let of = |parts: &[(u64, u64)]| {
            let tally = Tally::default();
            for (place, value) in parts {
                tally.add(*place, *value);
            }
            tally.sum()
        };
        assert_eq!(of(&[(0, 5), (1, 6)]), of(&[(1, 6), (0, 5)]));
        assert_ne!(of(&[(0, 5), (1, 6)]), of(&[(0, 6), (1, 5)]));
    }
}
