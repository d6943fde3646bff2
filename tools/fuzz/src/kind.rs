//! Kinds of input files and arguments that are mutated.

use clap::ValueEnum;

/// Kind of input, named as on the driver's command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum Kind {
    /// Scenario file that describes a run.
    Scenario,
    /// System file, or a library that it includes.
    System,
    /// Workload file with buffers, commands and launches.
    Workload,
    /// Preset file for the command `warpweave bench`.
    Preset,
    /// File with energies for the power model.
    Energy,
    /// Override in the form accepted by `--set`.
    Override,
    /// Module of PTX assembly that a workload loads.
    Ptx,
    /// Graph or matrix, plain or gzip, or a file of words.
    Graph,
    /// Table of requests, packets, accesses or commands, plain or gzip.
    Table,
    /// Table of reference data for `warpweave validate`.
    Reference,
    /// Program trace recorded by `warpweave trace record`.
    Trace,
    /// Log of accesses written by `--accesses`.
    AccessLog,
    /// Checkpoint of a machine in mid-run.
    Checkpoint,
    /// State hashes or manifest of a results folder.
    StateLog,
    /// Arguments of a `warpweave` command line.
    Arguments,
    /// Files of a results folder that `warpweave compare` reads.
    Results,
    /// Accel-Sim trace: a list of kernels, or the trace of one, plain, packed or with an index.
    AccelSim,
    /// Option file of GPGPU-Sim or Accel-Sim.
    Options,
    /// Experiment file, read with everything that it names.
    Experiment,
    /// System file that `warpweave probe` measures.
    Probe,
}

impl Kind {
    /// Returns the name used on the command line.
    pub fn name(self) -> String {
        let value = self.to_possible_value().expect("no kind is skipped");
        value.get_name().to_owned()
    }

    /// True if the libraries accept this kind; the program alone accepts the others.
    pub fn is_for_libraries(self) -> bool {
        !matches!(self, Self::Arguments | Self::Experiment | Self::Probe)
    }

    /// Lists the files of the [folder](crate::Folder) that are inputs of this kind.
    pub fn files(self) -> &'static [&'static str] {
        match self {
            Self::Scenario => &["test.ron", "graph.ron", "edges.ron"],
            Self::System => &[
                "systems/composed.ron",
                "systems/library.ron",
                "systems/tiny.ron",
                "systems/launching.ron",
            ],
            Self::Workload => &[
                "workloads/vector_add.ron",
                "workloads/bfs.ron",
                "workloads/quicksort_device.ron",
                "workloads/forms.ron",
            ],
            Self::Preset => &["bench/dram.ron", "bench/router.ron", "bench/cache.ron"],
            Self::Energy => &["energy.ron"],
            Self::Override => &[OVERRIDE],
            Self::Ptx => &[
                "workloads/cuda/vector_add.ptx",
                "workloads/cuda/bfs.ptx",
                "workloads/cuda/quicksort_device.ptx",
                "workloads/cuda/forms.ptx",
            ],
            Self::Graph => &[
                "data/graph.mtx",
                "data/weights.mtx",
                "data/reals.mtx",
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
                "foreign/kernel-newer.traceg",
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
            Self::Experiment => &["experiment.ron"],
            Self::Probe => &["systems/tiny.ron"],
        }
    }
}

/// Returns the scenario that reads a system, a workload or a module of PTX.
pub(crate) fn scenario_of(file: &str) -> &'static str {
    let readers = [
        ("bfs", "graph.ron"),
        ("quicksort", "launching.ron"),
        ("launching", "launching.ron"),
        ("forms", "forms.ron"),
        ("systems/", "test.ron"),
    ];
    let reader = readers.into_iter().find(|(part, _)| file.contains(part));
    reader.map_or("plain.ron", |(_, scenario)| scenario)
}

/// File that stores the override of an input of [`Kind::Override`].
pub(crate) const OVERRIDE: &str = "override.txt";

/// Indexed trace of a kernel, in the folder.
pub(crate) const INDEXED: &str = "foreign/kernel.tracez";

/// Lists the option files that form a machine together with this one.
pub(crate) fn options_of(file: &str) -> Vec<&str> {
    match file {
        "options/pascal.config" | "options/pascal.trace.config" => {
            vec!["options/pascal.config", "options/pascal.trace.config"]
        }
        file => vec![file],
    }
}

/// File that stores the command line of an input of [`Kind::Arguments`], one argument per line.
pub(crate) const ARGUMENTS: &str = "arguments.txt";
