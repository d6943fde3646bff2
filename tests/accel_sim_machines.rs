//! Checks that the committed Accel-Sim-like machines are complete, match their option values, and
//! agree with that simulator's printed results.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use warpweave_params::{Node, Source, parse};

use crate::harness::{Bench, scenarios, shown};

/// Names of the machines, each with a flag: true if its trace architecture has a branch unit.
const MACHINES: [(&str, bool); 4] = [
    ("gtx480", false),
    ("titanx", false),
    ("titanv", true),
    ("qv100", true),
];

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn machine(name: &str) -> PathBuf {
    scenarios().join(format!("systems/accelsim/{name}.ron"))
}

/// Path of the simulator's printed results and inputs, if present next to the repository.
#[expect(clippy::print_stderr, reason = "a test that checks nothing says so")]
fn reference() -> Option<PathBuf> {
    let folder = repository().join("../shared/reference/accel-sim");
    let there = folder.join("summary.json").exists();
    if !there {
        eprintln!("{} is not there: nothing is compared", folder.display());
    }
    there.then_some(folder)
}

#[test]
fn committed_machines_check_without_a_word_and_run_an_imported_trace() {
    let bench = Bench::new();
    bench.import_trace();
    let mut said = String::new();
    for (name, _) in MACHINES {
        for name in [name.to_owned(), format!("{name}_plain")] {
            said += &bench.run_trace(&name, &machine(&name));
        }
    }
    shown("accel_sim_machines", &said);
}

/// Builds the option file of a machine from the values echoed by the simulator.
fn option_file(values: &str, machine: &str) -> String {
    let mut rows = values.lines().map(row);
    let head = rows.next().expect("there are names of columns");
    let column = head.iter().position(|name| name == machine);
    let column = column.expect("the machine has a column");
    let lines = rows.filter(|row| !row[column].is_empty()).map(|row| {
        let value = match (row[0].as_str(), row[column].as_str()) {
            // A flag that was never set.
            ("-dram_dual_bus_interface", value) if value != "0" => "1".to_owned(),
            (_, value) => value.replace(": ", ":"),
        };
        format!("{} \"{value}\"\n", row[0])
    });
    lines.collect()
}

/// Splits a line into fields, some of which are in double quotes.
fn row(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => fields.last_mut().expect("there is one").push(letter),
        }
    }
    fields
}

/// Formats a path as in description files.
fn quoted(path: &Path) -> String {
    format!("{:?}", path.to_str().expect("paths of tests are text"))
}

/// Lists the parts and wires of a machine as built.
fn built(bench: &Bench, system: &Path) -> Vec<(String, String)> {
    let scenario = format!(
        "Scenario(system: {}, workload: {})",
        quoted(system),
        quoted(&scenarios().join("workloads/vector_add.ron"))
    );
    bench.write("built.ron", &scenario);
    let resolved = bench.warpweave(&["check", "built.ron", "--resolved", "--quiet"]);
    assert_eq!(resolved.code, 0, "{}", resolved.err);
    let system = parse(&Source::new("resolved", resolved.out)).unwrap();
    let entries = |field: &str| {
        let map = system.field(field).map(Node::entries).unwrap_or_default();
        // One message in a cycle need not be said.
        let text = |node: &Node| warpweave_params::to_ron(node).replace(", width: Messages(1)", "");
        let all = map.iter().map(|(key, value)| (text(key), text(value)));
        all.collect::<Vec<_>>()
    };
    let mut all = [entries("parts"), entries("wires")].concat();
    all.sort();
    all
}

#[test]
fn machines_of_the_option_values_are_built_as_the_committed_ones() {
    let Some(reference) = reference() else { return };
    let bench = Bench::new();
    let values = fs::read_to_string(reference.join("options.csv")).unwrap();
    for (name, _) in MACHINES {
        bench.write("it.config", &option_file(&values, name));
        let imported = bench.warpweave(&["system", "import", "it.config"]);
        assert_eq!((imported.code, imported.err.as_str()), (0, ""), "{name}");
        bench.write("imported.ron", &imported.out);
        let ours = built(&bench, &machine(name));
        let theirs = built(&bench, &bench.path("imported.ron"));
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs, "{name}");
        }
    }
}

/// Compared quantity of a run: our value, the reference's, and the range of allowed ratios.
struct Compared {
    what: String,
    ours: f64,
    theirs: f64,
    least: f64,
    most: f64,
}

/// Runs the first three kernels of the search by default. With `WARPWEAVE_WHOLE_REFERENCE=1` it
/// runs the whole search, which takes minutes in a test build.
#[test]
fn committed_machines_agree_with_what_the_simulator_printed() {
    let Some(reference) = reference() else { return };
    let whole = std::env::var_os("WARPWEAVE_WHOLE_REFERENCE").is_some();
    let printed = fs::read_to_string(reference.join("summary.json")).unwrap();
    let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let bench = Bench::new();
    for trace in ["vecadd", "bfs16k"] {
        for folder in ["branches", "none"] {
            unpack(&bench, &reference, trace, folder);
            if trace == "bfs16k" && !whole {
                let file = format!("{folder}/{trace}/kernelslist.g");
                let list = bench.read(&file);
                let (mut kernels, mut kept) = (0, String::new());
                for line in list.lines() {
                    kernels += u32::from(line.starts_with("kernel"));
                    if !line.starts_with("kernel") || kernels <= 3 {
                        kept += line;
                        kept.push('\n');
                    }
                }
                bench.write(&file, &kept);
            }
        }
    }
    let mut wrong = Vec::new();
    for (name, branches) in &MACHINES[..3] {
        for trace in ["vecadd", "bfs16k"] {
            let folder = if *branches { "branches" } else { "none" };
            let list = bench.path(&format!("{folder}/{trace}/kernelslist.g"));
            let arguments = ["--quiet", "run", "--format", "json", "--trace"];
            let (list, system) = (list.display().to_string(), machine(name));
            let system = system.display().to_string();
            let ran = bench.warpweave(&[&arguments[..], &[&list, "--system", &system]].concat());
            let rows = compare(name, &ran.json(), &printed[format!("{name}_{trace}")]);
            for Compared {
                what,
                ours,
                theirs,
                least,
                most,
            } in rows
            {
                let ratio = ours / theirs;
                eprintln!("{name} {trace} {what}: {ours} / {theirs} = {ratio:.3}");
                if !(least..=most).contains(&ratio) {
                    wrong.push(format!("{name} {trace} {what}: {ratio:.3}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Unpacks a trace, for an architecture with or without a branch unit.
fn unpack(bench: &Bench, reference: &Path, trace: &str, folder: &str) {
    let archive = reference.join(format!("{trace}.tar.xz"));
    let to = bench.path(folder);
    fs::create_dir_all(&to).unwrap();
    let mut tar = Command::new("tar");
    let unpacked = tar.arg("-xf").arg(archive).arg("-C").arg(&to).status();
    assert!(unpacked.unwrap().success());
    if folder == "branches" {
        return;
    }
    for file in fs::read_dir(to.join(trace)).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "traceg") {
            let text = fs::read_to_string(&path).unwrap();
            let text = text.replacen("-binary version = 70", "-binary version = 61", 1);
            fs::write(&path, text).unwrap();
        }
    }
}

fn compare(name: &str, ours: &serde_json::Value, theirs: &serde_json::Value) -> Vec<Compared> {
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let all = theirs["kernels"].as_array().unwrap();
    let ran = ours["kernels"].as_array().unwrap();
    let whole = all.len() == ran.len();
    let (kernels, last) = (&all[..ran.len()], &all[ran.len() - 1]);
    let mut rows = Vec::new();
    let mut row = |what: &str, ours: f64, theirs: f64, (least, most): (f64, f64)| {
        rows.push(Compared {
            what: what.to_owned(),
            ours,
            theirs,
            least,
            most,
        });
    };
    let exact = (1.0, 1.0);
    row(
        "warp instructions",
        number(&ours["wavefront_instructions"]),
        number(&last["cum_warp_insts"]),
        exact,
    );
    row(
        "thread instructions",
        number(&ours["thread_instructions"]),
        kernels
            .iter()
            .map(|kernel| number(&kernel["gpu_sim_insn"]))
            .sum(),
        exact,
    );
    let mut before = 0.0_f64;
    for (i, (ours, theirs)) in ran.iter().zip(kernels).enumerate() {
        let completed = number(&ours["completed"]);
        let took = completed - before.max(number(&ours["launched"]));
        before = completed;
        row(
            &format!("cycles of kernel {i}"),
            took,
            number(&theirs["gpu_sim_cycle"]),
            (0.8, 1.2),
        );
    }
    let sum = |part: &str, counter: &str| -> f64 {
        let stats = ours["stats"].as_object().unwrap().iter();
        let stats = stats.filter(|(path, _)| path.contains(part));
        stats
            .map(|(_, counters)| number(&counters[counter]["value"]))
            .sum()
    };
    let accesses = sum("l2[", "reads") + sum("l2[", "writes");
    row(
        "accesses of the second level",
        accesses,
        number(&last["cum_L2_accesses"]),
        (0.9, 1.1),
    );
    if whole {
        let summary = &theirs["summary"];
        let cycles = (
            number(&ours["cycles"]),
            number(&summary["gpu_tot_sim_cycle"]),
        );
        row("cycles", cycles.0, cycles.1, (0.9, 1.1));
        row(
            "reads of DRAM",
            sum("dram[", "reads"),
            number(&summary["dram_n_rd"]),
            (0.98, 1.02),
        );
        let missed = ["MISS", "SECTOR_MISS", "HIT_RESERVED"];
        let missed = missed.map(|what| number(&summary[format!("L2.GLOBAL_ACC_R.{what}")]));
        row(
            "read misses of the second level",
            sum("l2[", "read_misses") + sum("l2[", "read_hits_reserved"),
            missed.iter().sum(),
            (0.9, 1.1),
        );
        if name == "gtx480" {
            // Both since a slice took the request apart.
            let ours = &ours["stats"]["crossbar"]["slice_latency"]["value"];
            let theirs = &summary["averagemflatency"];
            row("mean latency", number(ours), number(theirs), (0.9, 1.1));
        }
        if name != "titanx" {
            let counts = ["MISS", "SECTOR_MISS"];
            let counts = counts.map(|what| number(&summary[format!("L1.GLOBAL_ACC_R.{what}")]));
            row(
                "read misses of the first level",
                sum(".l1[", "read_misses"),
                counts.iter().sum(),
                (0.9, 1.1),
            );
            row(
                "reads of the first level",
                sum(".l1[", "reads"),
                number(&summary["L1.GLOBAL_ACC_R.TOTAL_ACCESS"]),
                exact,
            );
        }
    }
    rows
}
