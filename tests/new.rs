//! Checks that the crate written by `warpweave new` compiles, passes its tests and runs.

use std::collections::BTreeSet;
use std::path::Path;

use crate::harness::{Bench, Outside, told};

#[test]
fn a_component_is_one_file_and_two_lines() {
    let bench = Bench::new();
    let told = told(bench.warpweave(&["new", "component", "write-counter"]));
    insta::assert_snapshot!(told, @r"
    ./write_counter.rs holds the component WriteCounter and its tests. Two lines add it to a program:

        mod write_counter;
        registry.register::<write_counter::WriteCounter>();
    ");
    let file = bench.read("write_counter.rs");
    assert!(file.contains("impl Kind for WriteCounter"), "{file}");
    assert!(!file.contains("Throttle"), "{file}");
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let bench = Bench::new();
    bench.write("write_counter.rs", "mine");
    bench.write("my-gpu/mine", "mine");
    let component = bench.warpweave(&["new", "component", "WriteCounter"]);
    let program = bench.warpweave(&["new", "program", "my-gpu"]);
    insta::assert_snapshot!(component.refusal() + &program.refusal(), @"
    exit 2
    error: ./write_counter.rs already exists
    hint: choose another name or folder
    exit 2
    error: ./my-gpu already exists
    hint: choose another name or folder
    ");
    assert_eq!(bench.read("write_counter.rs"), "mine");
    assert!(!bench.path("my-gpu/Cargo.toml").exists());
}

#[test]
fn names_that_cannot_be_compiled_are_refused() {
    let bench = Bench::new();
    let refusal = |words: &[&str]| bench.warpweave(&[&["new"], words].concat()).refusal();
    let refusals = [
        refusal(&["component", "9-lives"]),
        refusal(&["component", "Match"]),
        refusal(&["component", "Cache"]),
        refusal(&["component", "context"]),
        refusal(&["program", "serde"]),
        refusal(&["program", "my-gpu", "--warpweave", "systems"]),
    ];
    insta::assert_snapshot!(refusals.concat(), @"
    exit 2
    error: `9-lives` is not a valid name
    hint: start with a letter, then use letters, digits, `_` or `-`, all ASCII
    exit 2
    error: `match` is a Rust keyword
    hint: choose another name
    exit 2
    error: component kind `Cache` already exists
    hint: `warpweave list components` lists all kinds
    exit 2
    error: the file of a component uses the name `Context` for something else
    hint: choose another name
    exit 2
    error: `serde` is a crate that the program uses
    hint: choose another name
    exit 2
    error: systems does not hold Warpweave's sources: Cargo.toml: No such file or directory (os error 2)
    hint: name their folder with --warpweave PATH
    ");
}

#[test]
fn the_page_shows_the_program_that_is_written() {
    let bench = Bench::new();
    told(bench.warpweave(&["new", "program", "my-gpu"]));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/extend.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(&bench.read("my-gpu/src/main.rs")), "{page}");
}

/// Lists the crates from which a package and its tests are built.
fn built_from(outside: &Outside, features: &[&str]) -> BTreeSet<String> {
    let tree = ["tree", "--prefix", "none", "--format", "{p}"];
    let tree = outside.cargo(&[&tree[..], features].concat());
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn the_first_test_of_a_new_program_builds_no_command_no_database_and_no_emulator() {
    let bench = Bench::new();
    told(bench.warpweave(&["new", "program", "my-gpu"]));
    let outside = Outside::at(bench.path("my-gpu"), "my-gpu");
    let tests = built_from(&outside, &[]);
    let own: Vec<&str> = tests
        .iter()
        .filter_map(|name| name.strip_prefix("warpweave-"))
        .collect();
    let expected = [
        "components",
        "derive",
        "files",
        "framework",
        "params",
        "random",
        "trace",
    ];
    assert_eq!(own, expected);
    let program = built_from(&outside, &["--features", "program"]);
    for name in ["clap", "rusqlite", "warpweave-cli", "warpweave-ptx"] {
        assert!(program.contains(name), "{name}");
        assert!(!tests.contains(name), "{name}");
    }
}

#[test]
fn a_new_program_with_one_more_component_passes_its_tests_and_runs() {
    let bench = Bench::new();
    told(bench.warpweave(&["new", "program", "my-gpu"]));
    let said = told(bench.warpweave(&["new", "component", "Valve", "--out", "my-gpu/src"]));
    let (modules, rest) = said.split_once("    mod ").unwrap();
    assert!(modules.contains("my-gpu/src/valve.rs"), "{modules}");
    let (module, register) = rest.split_once('\n').unwrap();
    let known = "registry.register::<throttle::Throttle>();\n";
    let bench = bench
        .edit(
            "my-gpu/src/lib.rs",
            "mod throttle;",
            &format!("mod throttle;\nmod {module}"),
        )
        .edit("my-gpu/src/lib.rs", known, &format!("{known}{register}"));

    let outside = Outside::at(bench.path("my-gpu"), "my-gpu");
    let tests = outside.test("src/lib.rs");
    assert_eq!(tests.matches("6 passed").count(), 1, "{tests}");
    outside.build();

    let kinds = outside.program(&["list", "components"]);
    for kind in ["Cache ", "Throttle ", "Valve "] {
        assert!(kinds.contains(kind), "{kinds}");
    }
    let valve = outside.program(&["describe", "Valve"]);
    assert!(
        valve.contains("interval_cycles (integer, cycles)"),
        "{valve}"
    );
    let version = outside.program(&["--version"]);
    assert!(version.starts_with("my-gpu (warpweave "), "{version}");

    let scenario = "scenarios/quickstart.ron";
    let parts = outside.program(&["check", scenario]);
    assert!(parts.contains("1 Throttle"), "{parts}");
    let full = ["run", scenario, "--quiet", "--full"];
    let report = outside.program(&[&full[..], &["--out", "results"]].concat());
    assert!(report.contains("throttle (Throttle)"), "{report}");
    let manifest = bench.read("my-gpu/results/manifest.json");
    assert!(manifest.contains("\"my-gpu\""), "{manifest}");
    let checked = outside.program(&[&full[..], &["--check"]].concat());
    assert_eq!(checked, report);
    outside.program(&["run", scenario, "--quiet", "--record", "run.vcd"]);
    let waves = bench.read("my-gpu/run.vcd");
    assert!(
        waves.contains("$scope module throttle"),
        "no throttle in the recording"
    );

    // The other component takes the place of the first from a description alone.
    let bench = bench.edit("my-gpu/scenarios/systems/small.ron", "Throttle(", "Valve(");
    let report = outside.program(&full);
    assert!(report.contains("throttle (Valve)"), "{report}");
    drop(bench);
}
