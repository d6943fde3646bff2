//! Checks the documentation: its commands run, its description files load, its links resolve, and
//! its lists are complete.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use warpweave_params::{Source, parse};
use warpweave_systems::standard_registry;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Lists the paths of all documentation pages.
fn pages() -> Vec<String> {
    let mut pages = Vec::new();
    for folder in ["", "docs", "docs/components"] {
        for entry in fs::read_dir(root().join(folder)).expect("the folder exists") {
            let name = entry.expect("the folder can be read").file_name();
            let name = Path::new(&name);
            if name.extension().is_some_and(|ending| ending == "md") {
                pages.push(Path::new(folder).join(name).display().to_string());
            }
        }
    }
    pages.sort();
    pages
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Extracts the fenced blocks of one language from a page.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let text = text(page);
    let opening = format!("```{language}\n");
    let inner = |block: &str| block.split("```").next().unwrap_or_default().to_owned();
    text.split(&opening).skip(1).map(inner).collect()
}

fn warpweave(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpweave"))
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("the program starts")
}

fn succeeds(arguments: &[&str]) -> String {
    let output = warpweave(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("output is text")
}

#[test]
fn the_checks_run_the_commands_of_the_readme() {
    let shown: Vec<String> = blocks("README.md", "sh");
    let script = text(".ci/run");
    for command in [
        "cargo run --release -- run scenarios/quickstart.ron",
        "cargo test --workspace",
    ] {
        assert!(
            shown.iter().any(|block| block.trim() == command),
            "README.md: {command}"
        );
        assert!(
            script.lines().any(|line| line == command),
            ".ci/run: {command}"
        );
    }
    assert!(
        script.trim_end().ends_with("\ncargo test --workspace"),
        "the tests come last"
    );
}

#[test]
fn set_up_takes_two_commands() {
    let set_up = &blocks("README.md", "sh")[0];
    assert_eq!(set_up.lines().count(), 2, "{set_up}");
}

#[test]
fn the_commands_for_a_kernel_of_ones_own_work() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().join("results").display().to_string();
    let blocks = blocks("docs/bring-your-own-kernel.md", "sh").concat();
    for line in blocks.lines() {
        let words = line.split_whitespace().map(|word| match word {
            "smoothed.results" => &results,
            word => word,
        });
        let words: Vec<&str> = words.collect();
        assert_eq!(words[0], "warpweave", "{line}");
        succeeds(&words[1..]);
    }
    for name in ["smoothed.csv", "warm.npy"] {
        assert!(folder.path().join("results").join(name).is_file(), "{name}");
    }
}

#[test]
fn the_commands_of_the_pages_on_hardware_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mine = folder.path().join("mine").display().to_string();
    let pages = ["docs/hardware-protocol.md", "docs/model-your-gpu.md"];
    let blocks = pages.map(|page| blocks(page, "sh").concat()).concat();
    for line in blocks.lines() {
        let words = line.split_whitespace();
        let words = words.map(|word| if word == "mine" { &mine } else { word });
        let words: Vec<&str> = words.collect();
        assert_eq!(words[0], "warpweave", "{line}");
        let shown = succeeds(&words[1..]);
        if words[1] == "correlate" && !words.contains(&mine.as_str()) {
            assert!(shown.contains("l1_load_sectors"), "{line}: {shown}");
        }
    }
    assert!(blocks.lines().count() >= 5, "{blocks}");
}

#[test]
fn the_commands_of_the_page_on_sharing_run() {
    for line in blocks("docs/sharing.md", "sh").concat().lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], "warpweave", "{line}");
        succeeds(&words[1..]);
    }
}

#[test]
fn the_commands_of_the_search_for_a_mapping_run_and_its_first_table_takes_fewer_cycles() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tables = folder.path().join("tables").display().to_string();
    let table = format!("work_groups=\"{tables}/1.ron\"");
    let mut cycles = Vec::new();
    for line in blocks("docs/mapping.md", "sh").concat().lines() {
        let words = line.split_whitespace().map(|word| word.trim_matches('\''));
        let words = words.map(|word| match word {
            "tables" => &tables,
            "work_groups=\"../tables/1.ron\"" => &table,
            word => word,
        });
        let mut words: Vec<&str> = words.skip(1).collect();
        if words[0] == "run" {
            words.extend(["--quiet", "--format", "csv"]);
            let report = succeeds(&words);
            let mut lines = report.lines();
            let found = lines.find_map(|line| line.strip_prefix("kernel[0],demosaic,cycles,"));
            let found = found.expect("cycles of the kernel");
            let found = found.split(',').next().expect("a number");
            cycles.push(found.parse::<u64>().expect("a number"));
        } else {
            assert!(succeeds(&words).contains("lines fetched"), "{line}");
        }
    }
    assert!(cycles.len() == 2 && cycles[1] < cycles[0], "{cycles:?}");
}

#[test]
fn the_overrides_shown_in_the_readme_fit() {
    let blocks = blocks("README.md", "sh").concat();
    let runs = blocks.lines().filter(|line| line.contains("--set"));
    let mut count = 0;
    for line in runs {
        let words: Vec<&str> = line
            .split_whitespace()
            .map(|w| w.trim_matches('\''))
            .collect();
        let run = words
            .iter()
            .rposition(|word| *word == "run")
            .expect("overrides are for runs");
        let mut arguments = vec!["check", words[run + 1]];
        for pair in words.windows(2).filter(|pair| pair[0] == "--set") {
            arguments.extend(pair);
        }
        succeeds(&arguments);
        count += 1;
    }
    assert!(count >= 2, "the README shows overrides");
}

#[test]
fn the_page_of_commands_names_every_command() {
    let page = text("docs/commands.md");
    let help = succeeds(&["--help"]);
    let commands = help.split("Commands:").nth(1).expect("help lists commands");
    let mut count = 0;
    for line in commands
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("  "))
    {
        let name = line.split_whitespace().next().unwrap_or_default();
        if name != "help" {
            assert!(page.contains(&format!("warpweave {name}")), "{name}");
            count += 1;
        }
    }
    assert!(count >= 5, "{help}");
}

/// Makes the paths of an example absolute, as if it were in `scenarios/` or one of its subfolders.
fn rooted(example: &str) -> String {
    let scenarios = root().join("scenarios");
    let mut text = example.to_owned();
    for (shown, meant) in [
        ("\"systems/", scenarios.join("systems/")),
        ("\"tiny.ron", scenarios.join("systems/tiny.ron")),
        ("\"workloads/", scenarios.join("workloads/")),
        ("\"cuda/", scenarios.join("workloads/cuda/")),
    ] {
        text = text.replace(shown, &format!("\"{}", meant.display()));
    }
    text
}

fn checks(scenario: &Path) {
    succeeds(&[
        "check",
        scenario.to_str().expect("temporary paths are text"),
    ]);
}

#[test]
fn description_files_on_the_pages_load() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut scenarios, mut workloads, mut systems) = (0, 0, 0);
    for page in &pages() {
        for module in blocks(page, "ptx") {
            fs::write(folder.path().join("sum.ptx"), module)
                .expect("a temporary folder can be written");
        }
        for (number, block) in blocks(page, "ron").into_iter().enumerate() {
            let named = block.starts_with(|c: char| c.is_ascii_uppercase());
            let whole = if named {
                block.clone()
            } else {
                format!("Part({block})")
            };
            let source = Source::new(format!("{page} block {number}"), whole);
            parse(&source).unwrap_or_else(|problems| panic!("{problems}"));
            let file = |name: &str, text: &str| -> PathBuf {
                let path = folder.path().join(name);
                fs::write(&path, text).expect("a temporary folder can be written");
                path
            };
            if block.starts_with("Scenario(") {
                checks(&file("scenario.ron", &rooted(&block)));
                scenarios += 1;
            } else if block.starts_with("Workload(") {
                file("workload.ron", &rooted(&block));
                let scenario = "Scenario(system: \"systems/tiny.ron\", workload: \"workload.ron\")";
                checks(&file("scenario.ron", &rooted(scenario)));
                workloads += 1;
            } else if block.starts_with("System(") && !block.contains("/*") {
                file("system.ron", &rooted(&block));
                let scenario = "Scenario(
                    system: \"system.ron\",
                    workload: \"workloads/vector_add.ron\",
                    overrides: { \"workload.n\": 512 },
                )";
                let path = file("scenario.ron", &rooted(scenario));
                let path = path.to_str().expect("temporary paths are text");
                let json = succeeds(&["run", path, "--quiet", "--format", "json"]);
                let report: serde_json::Value = serde_json::from_str(&json).expect("a report");
                assert_eq!(report["status"], "done", "{page}");
                systems += 1;
            }
        }
    }
    assert!(
        scenarios >= 2 && workloads >= 1 && systems >= 2,
        "{scenarios} scenarios, {workloads} workloads, {systems} systems"
    );
}

#[test]
fn the_machine_on_the_page_takes_sixty_lines_and_has_the_unit_in_one_cluster() {
    let blocks = blocks("docs/compose-a-machine.md", "ron");
    let lines = blocks[0].lines().count();
    assert!(lines <= 60, "{lines} lines");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("scenario.ron");
    fs::write(folder.path().join("machine.ron"), &blocks[0]).expect("it can be written");
    let scenario = "Scenario(system: \"machine.ron\", workload: \"workloads/bfs.ron\")";
    fs::write(&path, rooted(scenario)).expect("it can be written");
    let path = path.to_str().expect("temporary paths are text");
    let parts = succeeds(&["check", path]);
    for count in ["6 ComputeUnit", "1 IccUnit", "3 ClusterPort", "2 Gddr5"] {
        assert!(parts.contains(count), "{parts}");
    }
}

#[test]
fn links_lead_to_files() {
    for page in &pages() {
        let folder = root()
            .join(page)
            .parent()
            .expect("pages are files")
            .to_owned();
        for target in text(page)
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let target = target.split('#').next().unwrap_or_default();
            if !target.contains("://") {
                assert!(folder.join(target).exists(), "{page} links to {target}");
            }
        }
    }
}

/// Resolves `..` after a folder in a path.
fn without_detours(path: &Path) -> String {
    let mut direct = PathBuf::new();
    for part in path {
        if part == ".." && direct.file_name().is_some() {
            direct.pop();
        } else {
            direct.push(part);
        }
    }
    direct.display().to_string()
}

#[test]
fn every_page_can_be_reached_from_the_readme() {
    let (mut reached, mut next) = (Vec::new(), vec!["README.md".to_owned()]);
    while let Some(page) = next.pop() {
        let folder = Path::new(&page)
            .parent()
            .expect("pages are files")
            .to_owned();
        for target in text(&page)
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let to = folder.join(target.split('#').next().unwrap_or_default());
            let is_page = to.extension().is_some_and(|ending| ending == "md");
            let to = without_detours(&to);
            if is_page && !to.contains("://") && !reached.contains(&to) {
                next.push(to.clone());
                reached.push(to);
            }
        }
    }
    for page in pages() {
        assert!(
            reached.contains(&page) || page == "README.md",
            "nothing leads to {page}"
        );
    }
}

#[test]
fn every_kind_has_its_line() {
    let page = text("docs/components.md");
    for kind in standard_registry().kinds() {
        assert!(
            page.contains(&format!("| `{}` |", kind.name)),
            "{}",
            kind.name
        );
    }
}

/// Runs a small scenario on the tiny machine and returns the JSON report.
fn small_run() -> serde_json::Value {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("scenario.ron");
    let scenario = "Scenario(
        system: \"systems/tiny.ron\",
        workload: \"workloads/vector_add.ron\",
        overrides: { \"workload.n\": 32 },
    )";
    fs::write(&path, rooted(scenario)).expect("a temporary folder can be written");
    let path = path.to_str().expect("temporary paths are text");
    let json = succeeds(&["run", path, "--quiet", "--format", "json"]);
    serde_json::from_str(&json).expect("the report is JSON")
}

#[test]
fn every_key_of_a_report_is_explained() {
    let page = text("docs/results.md");
    let report = small_run();
    for object in [&report, &report["host"], &report["kernels"][0]] {
        for key in object.as_object().expect("an object").keys() {
            let shown = [
                format!("`{key}`"),
                format!("`{key}[]`"),
                format!("`kernels[].{key}`"),
            ];
            assert!(
                shown.iter().any(|shown| page.contains(shown)),
                "docs/results.md: {key}"
            );
        }
    }
}

/// One wavefront loads a line from each of two arrays, with cold caches and closed banks.
/// `docs/timing.md` gives 85 or 86 cycles to a dependent instruction, one of them the write-back.
/// The second load issues a cycle later and waits for the 4 flits of the first reply.
#[test]
fn a_load_takes_as_long_as_the_page_on_timing_says() {
    let report = small_run();
    let units = ["unit[0].cu", "unit[1].cu"].map(|path| &report["stats"][path]["load_latency"]);
    let busy: Vec<_> = units
        .iter()
        .filter(|latency| latency["count"] == 2)
        .collect();
    assert_eq!(busy.len(), 1, "one unit loads twice: {units:?}");
    let cycles = |end: &str| busy[0][end].as_u64().expect("loads were measured");
    assert!((84..=85).contains(&cycles("min")), "{}", cycles("min"));
    assert_eq!(cycles("max"), cycles("min") - 1 + 4);
}

#[test]
fn the_report_of_the_quickstart_begins_as_the_readme_shows() {
    let shown = blocks("README.md", "text")
        .into_iter()
        .find(|block| block.starts_with("scenarios/quickstart.ron"))
        .expect("the README shows a report");
    let report = succeeds(&["run", "scenarios/quickstart.ron", "--quiet"]);
    assert!(
        report.starts_with(&shown),
        "the README shows\n{shown}\nthe report is\n{report}"
    );
}

#[test]
fn the_recordings_shown_on_the_page_are_made() {
    let scenarios = format!("{}/", root().join("scenarios").display());
    let mut files = 0;
    let folder = tempfile::tempdir().expect("a temporary folder");
    for line in blocks("docs/waveforms.md", "sh").concat().lines() {
        let line = line.replace("scenarios/", &scenarios);
        let words: Vec<&str> = line
            .split_whitespace()
            .map(|word| word.trim_matches('\''))
            .collect();
        assert_eq!(words[0], "warpweave", "{line}");
        let output = Command::new(env!("CARGO_BIN_EXE_warpweave"))
            .args(&words[1..])
            .arg("--quiet")
            .current_dir(folder.path())
            .output()
            .expect("the program starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {errors}");
        for pair in words.windows(2).filter(|pair| pair[0] == "--record") {
            let file = fs::metadata(folder.path().join(pair[1])).expect("a recording");
            assert!(file.len() > 1000, "{line}: {} bytes", file.len());
            files += 1;
        }
    }
    assert!(files >= 2, "the page records both sorts");
}

#[test]
fn every_level_of_a_waveform_is_explained() {
    let page = text("docs/waveforms.md");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut levels = 0;
    for (system, set) in [("tiny", ""), ("clustered60", "\"params.icc\": true,")] {
        let path = folder.path().join("scenario.ron");
        let scenario = format!(
            "Scenario(
                system: \"systems/{system}.ron\",
                workload: \"workloads/vector_add.ron\",
                overrides: {{ {set} \"workload.n\": 32 }},
            )"
        );
        fs::write(&path, rooted(&scenario)).expect("a temporary folder can be written");
        let path = path.to_str().expect("temporary paths are text");
        let wave = folder.path().join("run.vcd");
        let wave = wave.to_str().expect("temporary paths are text");
        let window = ["--record-cycles", "0..1"];
        succeeds(&[&["run", path, "--quiet", "--record", wave], &window[..]].concat());
        let declarations = fs::read_to_string(wave).expect("a recording");
        for line in declarations
            .lines()
            .filter(|line| line.starts_with("$var wire 32 "))
        {
            let name = line.split(' ').nth(4).expect("a name");
            assert!(
                page.contains(&format!("`{name}`")),
                "docs/waveforms.md: {name}"
            );
            levels += 1;
        }
    }
    assert!(levels > 100, "{levels}");
}
