//! The kinds of inputs that are mutated.

use clap::ValueEnum;

/// A kind of input, named as on the command line of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum Kind {
    /// A scenario file.
    Scenario,
    /// A system file, or a library that it includes.
    System,
    /// A workload file.
    Workload,
    /// A preset file of `warpweave bench`.
    Preset,
    /// A file of energies.
    Energy,
    /// An override as `--set` takes it.
    Override,
    /// A PTX module.
    Ptx,
    /// A graph or a matrix, plain or gzip, or a file of words.
    Graph,
    /// A table of requests, packets, accesses or commands, plain or gzip.
    Table,
    /// A table of reference data.
    Reference,
    /// A recorded program trace.
    Trace,
    /// A log of accesses.
    AccessLog,
    /// A checkpoint.
    Checkpoint,
    /// The state hashes or the manifest of a results folder.
    StateLog,
    /// The arguments of a command line.
    Arguments,
    /// What `warpweave compare` reads of a results folder.
    Results,
    /// A trace of Accel-Sim: a list of kernels, or the trace of one, plain, packed or with an index.
    AccelSim,
    /// An option file of GPGPU-Sim or Accel-Sim.
    Options,
}

impl Kind {
    /// Its name on the command line.
    pub fn name(self) -> String {
        let value = self.to_possible_value().expect("no kind is skipped");
        value.get_name().to_owned()
    }

    /// Whether the libraries take it; arguments are the program's alone.
    pub fn is_for_libraries(self) -> bool {
        self != Self::Arguments
    }

    /// Files of the [folder](crate::Folder) that are inputs of this kind.
    pub fn files(self) -> &'static [&'static str] {
        match self {
            Self::Scenario => &["test.ron", "graph.ron", "edges.ron"],
            Self::System => &[
                "systems/composed.ron",
                "systems/library.ron",
                "systems/tiny.ron",
            ],
            Self::Workload => &["workloads/vector_add.ron", "workloads/bfs.ron"],
            Self::Preset => &["bench/dram.ron", "bench/router.ron", "bench/cache.ron"],
            Self::Energy => &["energy.ron"],
            Self::Override => &[OVERRIDE],
            Self::Ptx => &["workloads/cuda/vector_add.ptx", "workloads/cuda/bfs.ptx"],
            Self::Graph => &[
                "data/graph.mtx",
                "data/weights.mtx",
                "data/edges.txt",
                "data/graph.mtx.gz",
                "data/words.txt",
            ],
            Self::Table => &[
                "bench/requests.csv",
                "bench/addresses.csv",
                "bench/packets.csv",
                "bench/accesses.csv",
                "bench/commands.csv",
                "bench/requests.csv.gz",
            ],
            Self::Reference => &[
                "reference/cache/summary.csv",
                "reference/cache/hitbits_L1_16k_4w.csv.gz",
                "reference/cache/loop.trace.csv.gz",
                "reference/noc/anchors.csv",
                "reference/noc/curves.csv",
                "reference/noc/theory.csv",
                "reference/dram/presets.csv",
                "reference/dram/summary.csv",
                "reference/dram/traces/idle.csv.gz",
                "reference/dram/commands/A_ram2_frfcfs_idle.csv.gz",
                "reference/dram/per_request/A_ram2_frfcfs_idle.csv.gz",
                "reference/dram/constraint_gaps.csv.gz",
            ],
            Self::Trace => &["run.wwt"],
            Self::AccessLog => &["run.wwa"],
            Self::Checkpoint => &["early.wwc", "middle.wwc", "plain.wwc", "late.wwc"],
            Self::StateLog => &["a/state-hashes.csv", "a/manifest.json"],
            Self::Arguments => &[ARGUMENTS],
            Self::Results => &["a/report.json", "a/system.ron"],
            Self::AccelSim => &[
                "foreign/kernelslist.g",
                "foreign/kernel-modes.traceg",
                "foreign/kernel-spaces.traceg",
                "foreign/kernel-classes.traceg",
                "foreign/kernel-places.traceg",
                "foreign/packed.traceg.xz",
                "foreign/packed.traceg.zst",
                INDEXED,
            ],
            Self::Options => &[
                "options/fermi.config",
                "options/pascal.config",
                "options/pascal.trace.config",
                "options/volta.config",
            ],
        }
    }
}

/// The file that holds the override of an input of [`Kind::Override`], for it has to be somewhere.
pub(crate) const OVERRIDE: &str = "override.txt";

/// The trace of a kernel that has an index.
pub(crate) const INDEXED: &str = "foreign/kernel.tracez";

/// The option files that make a machine with that of this name.
pub(crate) fn options_of(file: &str) -> Vec<&str> {
    match file {
        "options/pascal.config" | "options/pascal.trace.config" => {
            vec!["options/pascal.config", "options/pascal.trace.config"]
        }
        file => vec![file],
    }
}

/// The file that holds the command line of an input of [`Kind::Arguments`], an argument a line.
pub(crate) const ARGUMENTS: &str = "arguments.txt";
