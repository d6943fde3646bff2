//! Checks that systems built from several files, presets, conditions and clocks equal systems
//! written out by hand.

use serde_json::Value;
use warpweave_params::{Node, Source, parse};

use crate::harness::{Bench, told};

/// Extends the tiny machine by `text` in a separate file.
fn extended(text: &str) -> Bench {
    let bench = Bench::new().edit("test.ron", "systems/tiny.ron", "mine/mine.ron");
    let text = format!("System(extends: \"../systems/tiny.ron\", {text})");
    bench.write("mine/mine.ron", &text);
    bench
}

/// Returns the system description as built.
fn resolved(bench: &Bench, sets: &[&str]) -> Node {
    let mut arguments = vec!["check", "test.ron", "--resolved", "--quiet"];
    for set in sets {
        arguments.extend(["--set", set]);
    }
    let text = told(bench.warpweave(&arguments));
    parse(&Source::new("resolved", text)).unwrap()
}

/// Finds a part, a wire or a clock of a resolved system.
fn entry<'n>(system: &'n Node, map: &str, name: &str) -> Option<&'n Node> {
    let entries = system.field(map)?.entries();
    let found = entries.iter().find(|(key, _)| key.as_str() == Some(name));
    found.map(|(_, value)| value)
}

fn number(system: &Node, part: &str, field: &str) -> Option<i128> {
    let part = entry(system, "parts", part)?;
    part.field(field)?.as_int()
}

#[test]
fn an_extension_without_changes_is_the_system_itself() {
    let (same, original) = (extended(""), Bench::new());
    assert_eq!(resolved(&same, &[]), resolved(&original, &[]));
}

#[test]
fn an_extension_changes_what_has_no_name_and_replaces_what_has_one() {
    let bench = extended(
        r#"parts: {
            "gmu": (queue_depth: 7),
            "host": HostDriver(copy_latency_cycles: 3, copy_bytes_per_cycle: 4, launch_latency_cycles: 5),
        },
        modules: { "Unit": (parts: { "l1": (ways: 1, size_bytes: "=8 * 128") }) },
        wires: { "host.gmu<->gmu.host": (latency: 3) },"#,
    );
    let (mine, tiny) = (resolved(&bench, &[]), resolved(&Bench::new(), &[]));
    assert_eq!(number(&mine, "gmu", "queue_depth"), Some(7));
    assert_eq!(
        number(&mine, "gmu", "pending_kernels"),
        number(&tiny, "gmu", "pending_kernels")
    );
    assert_eq!(number(&mine, "host", "copy_bytes_per_cycle"), Some(4));
    for unit in ["unit[0].l1", "unit[1].l1"] {
        assert_eq!(number(&mine, unit, "ways"), Some(1));
        assert_eq!(number(&mine, unit, "size_bytes"), Some(1024));
        assert_eq!(
            number(&mine, unit, "mshr_entries"),
            number(&tiny, unit, "mshr_entries")
        );
    }
    let wire = entry(&mine, "wires", "host.gmu <-> gmu.host").unwrap();
    assert_eq!(wire.field("latency").and_then(Node::as_int), Some(3));
}

#[test]
fn an_extension_leaves_out_and_adds() {
    let bench = extended(
        r#"without: (wires: ["unit[*].memory<->crossbar.up[*]"]),
        parts: { "fifo[u]": ClockCrossing(depth: 4, synchroniser_cycles: 1) },
        wires: {
            "unit[*].memory <-> fifo[*].up": (latency: 1),
            "fifo[*].down <-> crossbar.up[*]": (latency: 1),
        },"#,
    );
    let mine = resolved(&bench, &[]);
    assert_eq!(number(&mine, "fifo[1]", "depth"), Some(4));
    assert!(entry(&mine, "wires", "unit[1].port.down <-> crossbar.up[1]").is_none());
    assert_eq!(bench.run(&[]).code, 0);
}

const LIBRARY: &str = r#"Library(
    summary: "what the machines of these tests share",
    include: "basics.ron",
    params: { "lines": 16, "units": 1 },
    presets: { "quick": Cache(preset: "small", hit_latency_cycles: 2) },
)"#;

const BASICS: &str = r#"Library(
    presets: { "small": Cache(preset: "fermi_l1", size_bytes: "=lines * 128", ways: 2) },
)"#;

fn with_libraries(text: &str) -> Bench {
    let bench = extended(&format!(
        "include: [\"library.ron\", \"basics.ron\"], {text}"
    ));
    bench.write("mine/library.ron", LIBRARY);
    bench.write("mine/basics.ron", BASICS);
    bench
}

/// Module with a preset. Modules see only their own parameters, so the preset's computed values
/// enter through them.
const QUICK_L1: &str = r#"modules: { "Unit": (
    params: { "lines": 16 }, parts: { "l1": Cache(preset: "quick", mshr_entries: 3) },
) }, parts: { "unit[u]": (lines: "=lines") },"#;

#[test]
fn presets_build_on_one_another_and_what_is_beside_them_wins() {
    let mine = resolved(&with_libraries(QUICK_L1), &["params.lines=32"]);
    // `units` of the library comes after the machine that is extended.
    assert!(entry(&mine, "parts", "unit[1].l1").is_none());
    let l1 = |field| number(&mine, "unit[0].l1", field);
    assert_eq!(l1("size_bytes"), Some(32 * 128));
    assert_eq!(l1("ways"), Some(2));
    assert_eq!(l1("hit_latency_cycles"), Some(2));
    assert_eq!(l1("mshr_entries"), Some(3));
    assert_eq!(l1("miss_latency_cycles"), Some(35));
}

#[test]
fn own_definitions_take_the_place_of_included_ones() {
    let own = r#"presets: { "small": Cache(preset: "fermi_l1", ways: 8) },"#;
    let mine = resolved(&with_libraries(&format!("{own} {QUICK_L1}")), &[]);
    assert_eq!(number(&mine, "unit[0].l1", "ways"), Some(8));
    assert_eq!(number(&mine, "unit[0].l1", "hit_latency_cycles"), Some(2));
}

#[test]
fn the_manifest_has_the_hash_of_every_file_of_the_system() {
    let bench = with_libraries("");
    let hashes = |folder: &str| -> Vec<(String, String)> {
        told(bench.warpweave(&["run", "test.ron", "--quiet", "--out", folder]));
        let manifest = bench.read(&format!("{folder}/manifest.json"));
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let parts = manifest["system_parts"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        parts
            .map(|part| (text(&part["path"]), text(&part["blake3"])))
            .collect()
    };
    let before = hashes("before");
    let names = before.iter().map(|(path, _)| path.rsplit('/').next());
    assert_eq!(
        names.collect::<Vec<_>>(),
        [Some("library.ron"), Some("basics.ron"), Some("tiny.ron")]
    );
    bench.write("mine/basics.ron", &format!("{BASICS}\n"));
    let after = hashes("after");
    let changed = before.iter().zip(&after).map(|(a, b)| a != b);
    assert_eq!(changed.collect::<Vec<_>>(), [false, true, false]);
}

/// Optional FIFO between units and crossbar.
const OPTIONAL: &str = r#"
    params: { "fifos": 0 },
    parts: { "fifo[u]": ClockCrossing(if: "=u < fifos", depth: 4, synchroniser_cycles: 1) },
    without: (wires: ["unit[*].memory <-> crossbar.up[*]"]),
    wires: {
        "unit[u].memory <-> fifo[u].up": (latency: 1),
        "fifo[u].down <-> crossbar.up[u]": (latency: 1),
        "unit[u].memory <-> crossbar.up[u]": (latency: 1, if: "=u >= fifos"),
    },"#;

#[test]
fn a_part_that_is_left_out_takes_its_wires_along() {
    let bench = extended(OPTIONAL);
    let cycles = |sets: &[&str]| {
        let parts = resolved(&bench, sets);
        let there = ["fifo[0]", "fifo[1]"].map(|fifo| entry(&parts, "parts", fifo).is_some());
        let mut arguments = vec!["run", "test.ron", "--quiet", "--format", "json"];
        for set in sets {
            arguments.extend(["--set", set]);
        }
        (there, bench.warpweave(&arguments).json()["cycles"].clone())
    };
    let plain = Bench::new().warpweave(&["run", "test.ron", "--quiet", "--format", "json"]);
    assert_eq!(cycles(&[]), ([false; 2], plain.json()["cycles"].clone()));
    assert_eq!(cycles(&["params.fifos=1"]).0, [true, false]);
    assert_eq!(cycles(&["params.fifos=2"]).0, [true, true]);
    let by_hand = ["params.fifos=1", "fifo[*].if==u < fifos"];
    assert_eq!(cycles(&by_hand).0, [true, false]);
}

#[test]
fn a_module_without_its_inner_part_has_no_port_for_it() {
    let bench = extended(
        r#"modules: { "Probed": Module(
            params: { "probed": false },
            ports: { "up": "fifo.up", "down": "fifo.down" },
            parts: { "fifo": ClockCrossing(if: "=probed", depth: 4, synchroniser_cycles: 1) },
        ) },
        params: { "probed": false },
        parts: { "probed[u]": Probed(probed: "=probed") },
        without: (wires: ["unit[*].memory <-> crossbar.up[*]"]),
        wires: {
            "unit[*].memory <-> probed[*].up": (latency: 1),
            "probed[*].down <-> crossbar.up[*]": (latency: 1),
            "unit[*].memory <-> crossbar.up[*]": (latency: 1, if: "=!probed"),
        },"#,
    );
    let fifo = |set| {
        let system = resolved(&bench, &[set]);
        entry(&system, "parts", "probed[1].fifo").is_some()
    };
    assert!(fifo("params.probed=true"));
    assert!(!fifo("params.probed=1 == 2"));
}

#[test]
fn clocks_are_parameters_and_can_be_set() {
    let bench = extended(
        r#"params: { "fast": "1.4 GHz", "slow": "350 MHz", "hurry": true },
        clocks: { "core": "=if hurry then fast else slow" },"#,
    );
    let core = |sets: &[&str]| {
        let system = resolved(&bench, sets);
        let clock = entry(&system, "clocks", "core").and_then(Node::as_str);
        clock.unwrap_or_default().to_owned()
    };
    assert_eq!(core(&[]), "1.4 GHz");
    assert_eq!(core(&["params.hurry=false"]), "350 MHz");
    assert_eq!(core(&["params.fast=\"2 GHz\""]), "2 GHz");
    assert_eq!(core(&["clocks.core=\"800 MHz\""]), "800 MHz");
    assert_eq!(core(&["clocks.core==slow"]), "350 MHz");
}

#[test]
fn values_on_the_command_line_are_expressions() {
    let bench = Bench::new();
    for (set, part, field, value) in [
        (
            "unit[*].l1.size_bytes=32*128",
            "unit[1].l1",
            "size_bytes",
            4096,
        ),
        (
            "unit[*].l1.size_bytes==32*128",
            "unit[1].l1",
            "size_bytes",
            4096,
        ),
        (
            "unit[*].l1.mshr_entries=\"=2 + number\"",
            "unit[1].l1",
            "mshr_entries",
            3,
        ),
        ("unit[1].number=units-1", "unit[1].cu", "index", 1),
        ("params.slices_per_channel=1*2", "crossbar", "down_ports", 4),
        (
            "gmu.queue_depth=if units == 2 then 9 else 8",
            "gmu",
            "queue_depth",
            9,
        ),
    ] {
        let system = resolved(&bench, &[set]);
        assert_eq!(number(&system, part, field), Some(value), "{set}");
    }
    let run = bench.warpweave(&[
        "run",
        "test.ron",
        "--quiet",
        "--format",
        "json",
        "--set",
        "limits.cycles=10*30",
        "--set",
        "workload.n=16 * 32",
    ]);
    assert_eq!(run.json()["status"], "limit");
}

#[test]
fn an_override_reaches_a_part_that_is_called_as_a_parameter_of_its_module_is() {
    let bench = Bench::new().edit("test.ron", "systems/tiny.ron", "mine.ron");
    bench.write(
        "mine.ron",
        r#"System(
            extends: "systems/tiny.ron",
            modules: { "Unit": (params: { "l1": 4 }, parts: { "l1": (ways: "=l1") }) },
        )"#,
    );
    let ways = |sets: &[&str]| number(&resolved(&bench, sets), "unit[0].l1", "ways");
    assert_eq!(ways(&[]), Some(4));
    assert_eq!(ways(&["unit[*].l1=2"]), Some(2));
    assert_eq!(ways(&["unit[*].l1.ways=1"]), Some(1));
}
