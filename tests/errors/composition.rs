//! Tests of errors in system composition: presets, conditions, clocks, and multiple files.

use super::{refused, shown};
use crate::harness::Bench;

/// Extends the tiny machine by `text` in a separate file.
fn extended(text: &str) -> Bench {
    let bench = Bench::new().edit("test.ron", "systems/tiny.ron", "systems/mine.ron");
    let text = format!("System(\n    extends: \"tiny.ron\",\n    {text}\n)\n");
    bench.write("systems/mine.ron", &text);
    bench
}

/// Creates the tiny machine with a library that holds `text`.
fn with_library(text: &str) -> Bench {
    let bench = extended("include: \"library.ron\",");
    bench.write("systems/library.ron", text);
    bench
}

#[test]
fn misspelt_preset() {
    let bench = Bench::new().edit("systems/tiny.ron", "\"fermi_l1\"", "\"fermy_l1\"");
    refused("misspelt_preset", &bench, &[]);
}

#[test]
fn preset_of_another_kind() {
    let bench = extended("presets: { \"small\": ClusterPort(up_ports: 1) },");
    refused(
        "preset_of_another_kind",
        &bench,
        &["unit[*].l1.preset=\"small\""],
    );
}

#[test]
fn preset_that_begins_with_itself() {
    let bench = extended("presets: { \"small\": Cache(preset: \"small\", ways: 1) },");
    refused(
        "preset_that_begins_with_itself",
        &bench,
        &["unit[*].l1.preset=\"small\""],
    );
}

#[test]
fn wrong_value_in_a_preset_of_a_library() {
    let bench = with_library(
        "Library(\n    presets: { \"small\": Cache(preset: \"fermi_l1\", pass_entries: Many) },\n)\n",
    )
    .edit("systems/tiny.ron", "                    pass_entries: 4,\n", "");
    refused(
        "wrong_value_in_a_preset_of_a_library",
        &bench,
        &["unit[*].l1.preset=\"small\""],
    );
}

#[test]
fn missing_library() {
    let bench = extended("include: [\"libary.ron\"],");
    bench.write("systems/library.ron", "Library()");
    refused("missing_library", &bench, &[]);
}

#[test]
fn library_that_includes_itself() {
    let bench = with_library("Library(include: [\"second.ron\"])\n");
    bench.write(
        "systems/second.ron",
        "Library(include: [\"../systems/library.ron\"])\n",
    );
    refused("library_that_includes_itself", &bench, &[]);
}

#[test]
fn too_many_files_in_a_row() {
    let bench = extended("include: \"l0.ron\",");
    for number in 0..140 {
        let text = format!("Library(include: \"l{}.ron\")\n", number + 1);
        bench.write(&format!("systems/l{number}.ron"), &text);
    }
    refused("too_many_files_in_a_row", &bench, &[]);
}

#[test]
fn name_that_two_libraries_define() {
    let bench = extended("include: [\"a.ron\", \"b.ron\"],");
    for name in ["a", "b"] {
        let text = "Library(presets: { \"small\": Cache(ways: 1) })\n";
        bench.write(&format!("systems/{name}.ron"), text);
    }
    refused("name_that_two_libraries_define", &bench, &[]);
}

#[test]
fn library_with_parts() {
    let bench = with_library("Library(parts: {})\n");
    refused("library_with_parts", &bench, &[]);
}

#[test]
fn system_as_library() {
    let bench = extended("include: \"tiny.ron\",");
    refused("system_as_library", &bench, &[]);
}

#[test]
fn change_of_an_unknown_part() {
    let bench = extended("parts: { \"schedular\": (kernel_slots: 2) },");
    refused("change_of_an_unknown_part", &bench, &[]);
}

#[test]
fn change_of_an_unknown_part_in_a_module() {
    let bench = extended("modules: { \"Unit\": (parts: { \"l2\": (ways: 2) }) },");
    refused("change_of_an_unknown_part_in_a_module", &bench, &[]);
}

#[test]
fn unknown_wire_left_out() {
    let bench = extended("without: (wires: [\"host.gmu <-> gmu.hosts\"]),");
    refused("unknown_wire_left_out", &bench, &[]);
}

#[test]
fn system_that_extends_itself() {
    let bench = Bench::new().edit(
        "systems/tiny.ron",
        "System(",
        "System(\n    extends: \"tiny.ron\",",
    );
    refused("system_that_extends_itself", &bench, &[]);
}

#[test]
fn nothing_to_leave_out() {
    let bench = Bench::new().edit(
        "systems/tiny.ron",
        "System(",
        "System(\n    without: (parts: [\"gmu\"]),",
    );
    refused("nothing_to_leave_out", &bench, &[]);
}

#[test]
fn condition_that_is_a_number() {
    let bench = extended("parts: { \"gmu\": (if: \"=units\") },");
    refused("condition_that_is_a_number", &bench, &[]);
}

#[test]
fn override_of_a_part_left_out() {
    let bench = extended("parts: { \"checker\": CoalescingChecker(if: false, up_ports: 1) },");
    refused(
        "override_of_a_part_left_out",
        &bench,
        &["checker.up_ports=2"],
    );
}

/// Leaves out the memory and its wires but keeps the cache above it.
#[test]
fn port_without_the_part_at_its_other_end() {
    let bench = Bench::new();
    refused(
        "port_without_the_part_at_its_other_end",
        &bench,
        &["partition[*].dram.if=false"],
    );
}

#[test]
fn clock_that_is_no_frequency() {
    let bench = extended("params: { \"fast\": 5 },\n    clocks: { \"core\": \"=fast\" },");
    refused("clock_that_is_no_frequency", &bench, &[]);
}

#[test]
fn set_unknown_clock() {
    refused(
        "set_unknown_clock",
        &Bench::new(),
        &["clocks.cor=\"1 GHz\""],
    );
}

#[test]
fn set_expression_with_an_unknown_name() {
    refused(
        "set_expression_with_an_unknown_name",
        &Bench::new(),
        &["unit[*].l1.size_bytes=2*numbr"],
    );
}

#[test]
fn parameter_that_is_a_word_of_expressions() {
    let bench = extended("params: { \"then\": 1 },");
    refused("parameter_that_is_a_word_of_expressions", &bench, &[]);
}

/// Checks that an error found while wiring a part is reported at the part's field.
#[test]
fn scheduler_without_its_wire() {
    let bench = Bench::new().edit("systems/tiny.ron", "scheduler: Lrr", "scheduler: Ccws");
    refused("scheduler_without_its_wire", &bench, &[]);
}

#[test]
fn set_preset_without_quotes() {
    let ended =
        Bench::new().warpweave(&["check", "test.ron", "--set", "unit[*].l1.preset=fermi_l1"]);
    shown("set_preset_without_quotes", &ended.refusal());
}
