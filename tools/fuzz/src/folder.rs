//! Folder with a small input of every kind, of which a case changes one file.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use warpweave_params::to_ron;
use warpweave_systems::report::{Host, Report};
use warpweave_systems::{Machine, StateLog, standard_registry};

use crate::checkpoints::{Moment, machine_of, prepared};
use crate::indexed::Indexed;
use crate::kind::{ARGUMENTS, INDEXED, OVERRIDE};
use crate::surfaces::SURFACES;

/// Files in a temporary folder, with their original contents.
pub struct Folder {
    holder: TempDir,
    /// Names and contents, to restore files changed by a case.
    files: Arc<Vec<(String, Vec<u8>)>>,
}

/// Description files copied unchanged from the repository.
const TAKEN: [&str; 8] = [
    "systems/tiny.ron",
    "workloads/vector_add.ron",
    "workloads/bfs.ron",
    "workloads/sssp.ron",
    "workloads/cuda/vector_add.ptx",
    "workloads/cuda/bfs.ptx",
    "workloads/quicksort_device.ron",
    "workloads/cuda/quicksort_device.ptx",
];

/// Files from the foreign-format reader: their folder there, and here.
const FOREIGN: [(&str, &str, &[&str]); 2] = [
    (
        "vectors",
        "foreign",
        &[
            "kernelslist.g",
            "kernel-modes.traceg",
            "kernel-spaces.traceg",
            "kernel-classes.traceg",
            "kernel-places.traceg",
            "packed.traceg.xz",
            "packed.traceg.zst",
        ],
    ),
    (
        "option-files",
        "options",
        &[
            "fermi.config",
            "pascal.config",
            "pascal.trace.config",
            "volta.config",
        ],
    ),
];

const TEXTS: [(&str, &str); 27] = [
    ("test.ron", SCENARIO),
    ("plain.ron", PLAIN),
    ("graph.ron", GRAPH_SCENARIO),
    ("edges.ron", EDGES_SCENARIO),
    ("foreign.ron", FOREIGN_SCENARIO),
    ("imported.ron", IMPORTED_SCENARIO),
    ("systems/composed.ron", COMPOSED),
    ("systems/library.ron", LIBRARY),
    ("energy.ron", ENERGY),
    ("data/graph.mtx", MATRIX),
    ("data/weights.mtx", WEIGHTS),
    ("data/edges.txt", EDGES),
    ("data/words.txt", "abcdefgh12345678"),
    (
        "bench/dram.ron",
        include_str!("../../../scenarios/presets/gddr5/a.ron"),
    ),
    ("bench/router.ron", ROUTER),
    ("bench/cache.ron", CACHE),
    ("bench/requests.csv", REQUESTS),
    ("bench/addresses.csv", ADDRESSES),
    ("bench/packets.csv", PACKETS),
    ("bench/accesses.csv", ACCESSES),
    ("bench/commands.csv", COMMANDS),
    ("reference/noc/anchors.csv", ANCHORS),
    ("reference/noc/curves.csv", CURVES),
    ("reference/noc/theory.csv", THEORY),
    ("reference/dram/presets.csv", DRAM_PRESETS),
    ("reference/dram/summary.csv", DRAM_SUMMARY),
    ("reference/cache/summary.csv", CACHE_SUMMARY),
];

const PACKED: [(&str, &str); 8] = [
    ("data/graph.mtx.gz", MATRIX),
    ("bench/requests.csv.gz", REQUESTS),
    ("reference/cache/hitbits_L1_16k_4w.csv.gz", HIT_BITS),
    ("reference/cache/loop.trace.csv.gz", ACCESSES),
    ("reference/dram/traces/idle.csv.gz", REQUESTS),
    (
        "reference/dram/commands/A_ram2_frfcfs_idle.csv.gz",
        COMMANDS,
    ),
    (
        "reference/dram/per_request/A_ram2_frfcfs_idle.csv.gz",
        SERVED,
    ),
    ("reference/dram/constraint_gaps.csv.gz", GAPS),
];

/// Overrides, each a candidate for mutation.
pub(crate) const OVERRIDES: &[u8] = b"unit[*].l1.ways=4\nparams.units=3\nclocks.core=650 MHz\n\
    workload.n=300\nworkload.block=32\nseed=7\nlimits.silent_cycles=1000\nemulation.order=Reversed\n\
    unit[0].cu.scheduler=Lrr\nunit[*].l1=(ways: 4, hit_latency_cycles: 3)\n\
    partition[*].dram.read_queue==2 * 4\nlimits.wall=\"2 s\"\n";

impl Folder {
    /// Creates the files. The trace, the checkpoints and the state hashes come from short runs by
    /// the libraries.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    ///
    /// # Panics
    /// Panics if the unchanged inputs are rejected, since no case would be meaningful then.
    pub fn new() -> io::Result<Self> {
        let mut folder = Self::descriptions()?;
        folder.record()?;
        Ok(folder)
    }

    /// Creates the files. The trace, the checkpoints and the state hashes come from short runs of
    /// this program, since they depend on the file names it receives.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written, or the program rejects the unchanged inputs.
    pub fn of_program(program: &Path) -> io::Result<Self> {
        let mut folder = Self::descriptions()?;
        let path = folder.path();
        let run = |line: &str| {
            let mut command = Command::new(program);
            command
                .args(line.split(' '))
                .current_dir(&path)
                .env("NO_COLOR", "1");
            let ended = command.output()?;
            if ended.status.success() {
                return Ok(());
            }
            let said = String::from_utf8_lossy(&ended.stderr);
            Err(io::Error::other(format!(
                "{line}: {}: {said}",
                ended.status
            )))
        };
        run("trace record plain.ron run.wwt")?;
        for moment in Moment::ALL {
            let (scenario, file, cycle) = (moment.scenario(), moment.file(), moment.cycle());
            run(&format!(
                "run {scenario} --quiet --checkpoint {file} --checkpoint-at {cycle}"
            ))?;
        }
        run("run plain.ron --quiet --out a --state-hash 200 --accesses run.wwa")?;
        for name in RESULTS {
            folder.part(name)?;
        }
        folder.keep_recorded()?;
        Ok(folder)
    }

    /// Creates the files that need no run.
    fn descriptions() -> io::Result<Self> {
        let holder = tempfile::tempdir()?;
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        for name in TAKEN {
            files.push((name.to_owned(), fs::read(scenarios.join(name))?));
        }
        let reader = scenarios.join("../systems/accel-sim/tests/accel_sim");
        for (from, to, names) in FOREIGN {
            for name in names {
                let bytes = fs::read(reader.join(from).join(name))?;
                files.push((format!("{to}/{name}"), bytes));
            }
        }
        files.push((INDEXED.to_owned(), Indexed::default().packed()?));
        for (name, text) in TEXTS.into_iter().chain(SURFACES) {
            files.push((name.to_owned(), text.as_bytes().to_vec()));
        }
        for (name, text) in PACKED {
            files.push((name.to_owned(), packed(text.as_bytes())?));
        }
        files.push((OVERRIDE.to_owned(), OVERRIDES.to_vec()));
        files.push((ARGUMENTS.to_owned(), Vec::new()));
        let folder = Self {
            holder,
            files: Arc::new(files),
        };
        folder.write_all()?;
        Ok(folder)
    }

    /// Derives a file of results folder `b` from that of `a`. One of its hashes differs, so that
    /// both runs are repeated.
    fn part(&self, name: &str) -> io::Result<()> {
        let text = fs::read_to_string(self.path().join("a").join(name))?;
        let other: String = text
            .lines()
            .map(|line| match line.strip_prefix("400,") {
                Some(rest) if rest.starts_with('0') => format!("400,1{}\n", &rest[1..]),
                Some(rest) => format!("400,0{}\n", &rest[1..]),
                None => format!("{line}\n"),
            })
            .collect();
        fs::create_dir_all(self.path().join("b"))?;
        fs::write(self.path().join("b").join(name), other)
    }

    /// Adds the files written by runs to the folder's originals.
    fn keep_recorded(&mut self) -> io::Result<()> {
        let path = self.path();
        let mut recorded = vec!["run.wwt".to_owned(), "run.wwa".to_owned()];
        recorded.extend(Moment::ALL.map(|moment| moment.file().to_owned()));
        for name in RESULTS {
            recorded.extend([format!("a/{name}"), format!("b/{name}")]);
        }
        let files = Arc::get_mut(&mut self.files).expect("no copy was made yet");
        for name in recorded {
            let bytes = fs::read(path.join(&name))?;
            files.push((name, bytes));
        }
        Ok(())
    }

    /// Creates another folder with the same files.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn copy(&self) -> io::Result<Self> {
        let copy = Self {
            holder: tempfile::tempdir()?,
            files: Arc::clone(&self.files),
        };
        copy.write_all()?;
        Ok(copy)
    }

    /// Path of the files. It is a folder below the temporary one, so that `..` is also private.
    pub fn path(&self) -> PathBuf {
        self.holder.path().join("case")
    }

    /// Returns the original contents of a file.
    ///
    /// # Panics
    /// Panics if there is no such file.
    pub fn original(&self, name: &str) -> &[u8] {
        let found = self.files.iter().find(|(file, _)| file == name);
        let (_, bytes) = found.unwrap_or_else(|| panic!("the folder has no {name}"));
        bytes
    }

    /// Iterates over the names and original contents of the files.
    pub fn originals(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files
            .iter()
            .map(|(name, bytes)| (&name[..], &bytes[..]))
    }

    /// Changes a file until [`Folder::restore`].
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn change(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        fs::write(self.path().join(name), bytes)
    }

    /// Restores the original contents of a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn restore(&self, name: &str) -> io::Result<()> {
        self.change(name, self.original(name))
    }

    /// Deletes everything and writes it again, after a command that may have written anywhere.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn renew(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.holder.path())? {
            let path = entry?.path();
            if path.is_dir() {
                fs::remove_dir_all(path)?;
            } else {
                fs::remove_file(path)?;
            }
        }
        self.write_all()
    }

    fn write_all(&self) -> io::Result<()> {
        for (name, bytes) in self.files.iter() {
            let path = self.path().join(name);
            fs::create_dir_all(path.parent().expect("a file in a folder"))?;
            fs::write(path, bytes)?;
        }
        Ok(())
    }

    /// Writes the outputs of runs: the trace, the checkpoints, and two results folders.
    fn record(&mut self) -> io::Result<()> {
        let path = self.path();
        let (_, program) = prepared(&path, "plain.ron");
        program
            .save(path.join("run.wwt"))
            .expect("a folder of our own");
        log_accesses(&path)?;
        for moment in Moment::ALL {
            let saved = moment
                .machine(&path)
                .write_checkpoint(&path.join(moment.file()), None);
            saved.expect("every component can be saved");
        }
        let manifest = MANIFEST
            .replace("VERSION", env!("CARGO_PKG_VERSION"))
            .replace("HASH", &program.hash().to_string());
        let log = state_hashes(&mut machine_of(&path, "plain.ron"));
        let (report, system) = report_of(&path, "plain.ron");
        fs::create_dir_all(path.join("a"))?;
        for (name, text) in RESULTS.into_iter().zip([manifest, log, report, system]) {
            fs::write(path.join("a").join(name), text)?;
            self.part(name)?;
        }
        self.keep_recorded()
    }
}

/// Files of a results folder that `warpweave diff` and `warpweave compare` read.
const RESULTS: [&str; 4] = [
    "manifest.json",
    "state-hashes.csv",
    "report.json",
    "system.ron",
];

/// Writes a log of the accesses of a run.
fn log_accesses(folder: &Path) -> io::Result<()> {
    let mut machine = machine_of(folder, "plain.ron");
    let started = machine.log_accesses(&folder.join("run.wwa"));
    started.map_err(io::Error::other)?;
    machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
    machine.finish_log().map_err(io::Error::other)
}

fn state_hashes(machine: &mut Machine) -> String {
    let never = Arc::new(AtomicBool::new(false));
    let mut log = StateLog::new(200);
    for cycle in [200, 400, 600] {
        machine.advance(cycle, &never);
        log.record(machine).expect("every component can be saved");
    }
    log.to_csv(machine)
}

/// Returns the report of a scenario and its system as built.
fn report_of(folder: &Path, scenario: &str) -> (String, String) {
    let (scenario, program) = prepared(folder, scenario);
    let machine = Machine::of(&scenario, &standard_registry(), &program);
    let mut machine = machine.unwrap_or_else(|problems| panic!("{problems}"));
    let simulated = machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
    let report = Report::of(
        &scenario,
        simulated,
        (Some(true), Vec::new()),
        Host::default(),
    );
    let system = to_ron(&machine.system().resolved.to_node());
    (report.to_json(), system)
}

/// Compresses the bytes in gzip format.
pub(crate) fn packed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes)?;
    packer.finish()
}

const SCENARIO: &str = r#"Scenario(
    summary: "256 additions on a machine put together from parts",
    system: "systems/composed.ron",
    workload: "workloads/vector_add.ron",
    seed: 1,
    energy: "energy.ron",
    checks: false,
    taps: {
        "near": Locality(at: "unit[*].l1.down", accesses: "unit[*].l1.up", units_per_cluster: 2, windows: [20, 100],
            window_unit: Cycles, refresh: true, global_end: 1099511627776),
    },
    overrides: { "workload.n": 256, "workload.block": 64, "unit[*].l1.ways": 2 },
    limits: (cycles: 20000, silent_cycles: 5000),
    emulation: (order: Linear, resident_work_groups: 4),
)
"#;

const PLAIN: &str = r#"Scenario(
    summary: "256 additions on the tiny machine",
    system: "systems/tiny.ron",
    workload: "workloads/vector_add.ron",
    taps: { "l1": Accesses(at: "unit[*].l1.up") },
    overrides: { "workload.n": 256, "workload.block": 64 },
    limits: (cycles: 20000, silent_cycles: 5000),
)
"#;

const GRAPH_SCENARIO: &str = r#"Scenario(
    summary: "breadth-first search on a graph in a file",
    system: "systems/tiny.ron",
    workload: "workloads/bfs.ron",
    overrides: {
        "workload.graph": File(path: "../data/graph.mtx.gz", format: MatrixMarket),
        "workload.block": 32,
    },
    limits: (cycles: 50000),
)
"#;

const EDGES_SCENARIO: &str = r#"Scenario(
    summary: "shortest paths on edges in a file",
    system: "systems/tiny.ron",
    workload: "workloads/bfs.ron",
    overrides: {
        "workload.graph": File(path: "../data/edges.txt", format: EdgeList),
        "workload.block": 32,
    },
    limits: (cycles: 50000),
)
"#;

/// Scenario that runs an imported Accel-Sim trace.
const FOREIGN_SCENARIO: &str = r#"Scenario(
    summary: "a trace of another simulator on the tiny machine",
    system: "systems/tiny.ron",
    trace: "foreign.wwt",
    limits: (cycles: 20000),
)
"#;

/// Scenario with a machine imported from option files.
const IMPORTED_SCENARIO: &str = r#"Scenario(
    summary: "256 additions on a machine made of option files",
    system: "systems/imported.ron",
    workload: "workloads/vector_add.ron",
    overrides: { "workload.n": 256, "workload.block": 64 },
    limits: (cycles: 20000, silent_cycles: 5000),
)
"#;

/// Machine that uses every feature of system composition.
const COMPOSED: &str = r#"System(
    extends: "tiny.ron",
    include: ["library.ron"],
    params: { "fast": "900 MHz", "slow": "700 MHz", "hurry": true, "lines": 16, "fifo": true },
    clocks: { "core": "=if hurry && units > 1 then fast else slow" },
    without: (wires: ["unit[*].memory <-> crossbar.up[*]"]),
    modules: { "Unit": (params: { "lines": 8 }, parts: { "l1": Cache(preset: "quick") }) },
    parts: {
        "unit[u]": (lines: "=lines"),
        "fifo[u]": ClockCrossing(if: "=fifo", depth: 4, synchroniser_cycles: 1),
    },
    wires: {
        "unit[*].memory <-> fifo[*].up": (latency: 1),
        "fifo[*].down <-> crossbar.up[*]": (latency: 1),
        "unit[*].memory <-> crossbar.up[*]": (latency: 1, if: "=!fifo"),
    },
)"#;

const LIBRARY: &str = r#"Library(
    params: { "units": 2 },
    presets: {
        "small": Cache(preset: "fermi_l1", size_bytes: "=lines * 128", ways: 2),
        "quick": Cache(preset: "small", hit_latency_cycles: "=max(lines / 8, 1)"),
    },
)"#;

const ENERGY: &str = r#"Energy(
    summary: "A few events of the tiny machine",
    static: (power: "2 W", source: "PROPOSED"),
    components: {
        "unit[*].cu": (
            events: {
                "wavefront_instructions": (
                    energy: "23.2 pJ", per: "instructions", source: "PROPOSED"),
            },
            static: (power: "280 mW", source: "PROPOSED"),
        ),
        "unit[*].l1": (
            optional: true,
            events: { "reads": (energy: "1.1 nJ", per: "requests", source: "PROPOSED") },
        ),
    },
)"#;

const MATRIX: &str = "%%MatrixMarket matrix coordinate pattern symmetric\n% a ring with chords\n\
    12 12 15\n2 1\n3 2\n4 3\n5 4\n6 5\n7 6\n8 7\n9 8\n10 9\n11 10\n12 11\n12 1\n7 1\n9 3\n11 5\n";

const WEIGHTS: &str = "%%MatrixMarket matrix coordinate integer general\n5 5 7\n1 2 3\n2 3 1\n\
    3 4 4\n4 5 1\n5 1 5\n1 3 9\n2 5 2\n";

const EDGES: &str = "# from to\n0 1\n1 2\n2 3\n3 4\n4 5\n5 6\n6 7\n7 0\n0 4\n2 6\n";

const ROUTER: &str = "Switch(\n    flit_bytes: 40, queueing: Fifo, arbiter: Islip(iterations: 1), \
    buffer_flits: 64,\n    output_buffer_flits: 64, internal_speedup: 2, input_cycles: 2, \
    output_cycles: 3,\n    credit_cycles: 2, turnaround_matchings: 1,\n)\n";

const CACHE: &str = "(\n    cache: (\n        level: L1, size_bytes: 16384, line_bytes: 128, ways: 4, \
    replacement: Lru,\n        allocate: OnMiss, write: WriteEvict, atomics: Forward, \
    mshr_entries: 8, mshr_merges: 8,\n        pass_entries: 8, miss_queue_entries: 8, \
    hit_latency_cycles: 20,\n        miss_latency_cycles: 10, fill_latency_cycles: 5, \
    responses_per_cycle: 1,\n    ),\n    memory_latency_cycles: 100,\n)\n";

const REQUESTS: &str = "arrival,rw,bg,ba,row,col\n0,R,0,0,0,0\n1,R,1,0,0,0\n2,W,2,0,0,3\n5,R,3,1,17,63\n\
    90,W,0,0,1,1\n91,R,0,0,0,2\n400,R,2,3,4095,5\n";

const ADDRESSES: &str = "arrival,rw,address\n0,R,0\n1,R,128\n2,W,0x4000\n9,R,65536\n300,R,64\n";

const PACKETS: &str =
    "create,src,dst,flits\n0,2,4,1\n0,4,5,1\n0,1,5,5\n3,2,0,1\n9,0,3,2\n40,1,1,9\n";

const ACCESSES: &str = "rw,addr_hex\nR,0\nR,80\nW,1000\nR,0x2000\nR,80\nR,ffff80\nR,0\n";

const COMMANDS: &str = "cycle,cmd,bg,ba,row,col\n1,ACT,1,1,3424,\n13,RD,1,1,3424,53\n401,ACT,2,1,3924,\n\
    413,WR,2,1,3924,5\n500,PRE,1,1,,\n700,REF,,,,\n";

const ANCHORS: &str = "quantity,variation,speedup,num_vcs,vc_buf_flits,packet_flits,value\n\
    zero_load_latency,s1 default,,1,64,1,6\nzero_load_latency,s1 default,,1,64,5,10\n";

const CURVES: &str = "config,src_ports,dst_ports,pattern,packet_flits,hotspot_frac,seed,\
    offered_flits_per_cycle_per_src,offered_busiest_output,active_src,\
    accepted_flits_per_cycle_per_src,accepted_flits_per_cycle,max_output_util,min_output_util,\
    jain_src_fairness,pkts_measured,pkts_unfinished,lat_mean,lat_min,lat_p50,lat_p95,lat_p99,lat_max,\
    nlat_mean,nlat_p99,sim_cycles\n\
    fifo_s1,4,2,uniform,5,,130,0.2,0.3,4,0.19604,2.3525,0.3105,0.2805,0.99774,4708,0,13.20879,10,\
    10.0,24.0,33.0,48,12.72218,30.0,500\n";

const THEORY: &str = "model,src_ports,dst_ports,islip_iterations,arrival_prob_per_src,slots,seed,\
    throughput_per_src,throughput_per_dst,mean_delay_slots\n\
    fifo,2,2,1,1.000000,200,1,0.748625,0.748625,66.1831\n";

const DRAM_PRESETS: &str = "parameter,A,D,R\ntCCD_S,2,2,2\ntCL,12,24,18\ntCK_ns,0.714,0.357,0.5\n";

const DRAM_SUMMARY: &str = "trace,preset,tool,reads,writes,reads_done,reads_forwarded,n_act,n_pre,\
    n_prea,n_rd,n_wr,n_ref,row_hit_rate,end_cycle,bus_util,achieved_GBps,lat_mean,lat_min,lat_p50,\
    lat_p90,lat_p99,lat_max,qlat_mean,qlat_p50,qlat_p90,qlat_p99,qlat_max\n\
    idle,A,ram2_frfcfs,20000,0,20000,0,20095,95,0,20000,0,51,0.0,136840,0.29231,6.5504,\
    1102.654,28,1101,1309,1423,1494,58367.823,58333,105180,115571,116841\n";

const CACHE_SUMMARY: &str = "trace,geometry,policy,size_bytes,ways,line_bytes,l2_size_bytes,l2_ways,\
    accesses,hits,misses,l2_hits,l2_misses,note\n\
    loop,L1_16k_4w,LRU,16384,4,128,0,0,7,2,5,,,\nloop,L1_16k_4w,FIFO,16384,4,128,0,0,7,2,5,,,\n";

const HIT_BITS: &str = "trace,policy,hit_bits\nloop,LRU,0000101\nloop,FIFO,0000101\n";

const SERVED: &str = "idx,accept,done\n0,0,27\n1,1,28\n2,2,-1\n3,5,55\n";

const GAPS: &str = "trace,preset,tool,constraint,min_gap_seen,required_gap,pairs_checked,violations\n\
    idle,A,ram2_frfcfs,CMDBUS any->any,1,1,5,0\n";

const MANIFEST: &str = r#"{
  "command": ["warpweave", "run", "plain.ron"],
  "trace_hash": "HASH",
  "warpweave_version": "VERSION",
  "state_hash_every": 200
}
"#;
