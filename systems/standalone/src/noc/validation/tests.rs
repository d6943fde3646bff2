//! The comparison itself, with a selection of every golden table.

use super::*;

fn selection() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/noc/testdata")
}

#[test]
fn a_selection_of_every_golden_table_holds() {
    let comparison = tables(&selection(), 4).expect("committed tables");
    assert_eq!(comparison.misses(), [""; 0]);
    assert!(comparison.holds());
}

/// The misses when two configurations have changed names in a table.
fn misses_with(table: &str, one: &str, other: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for entry in std::fs::read_dir(selection()).expect("committed tables") {
        let path = entry.expect("committed tables").path();
        let name = path.file_name().expect("a file").to_owned();
        let text = std::fs::read_to_string(&path).expect("a table");
        let swapped = text
            .replace(one, "\u{1}")
            .replace(other, one)
            .replace('\u{1}', other);
        let of_table = name.to_string_lossy().starts_with(table);
        let text = if of_table { swapped } else { text };
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let comparison = tables(folder.path(), 1).expect("whole tables");
    assert_eq!(comparison.holds(), comparison.misses().is_empty());
    comparison.misses()
}

/// Every table tells the right router from another one.
#[test]
fn a_router_with_the_results_of_another_misses() {
    let replayed = misses_with("replay_", "gpgpusim_s2", "fifo_s1");
    assert!(replayed.len() >= 12, "{replayed:#?}");
    let curves = misses_with("curves", "gpgpusim_s2", "voq_i1");
    assert!(curves.len() >= 2, "{curves:#?}");
    assert!(
        curves.iter().any(|miss| miss.contains("saturation")),
        "{curves:#?}"
    );
    let anchors = misses_with("anchors", "s1 default", "internal_speedup 2");
    assert!(anchors.len() >= 2, "{anchors:#?}");
}

#[test]
fn a_configuration_without_curve_is_a_miss() {
    let table = Table::read(&selection().join("curves.csv")).expect("a table");
    let mut comparison = Comparison::new();
    coverage(&table.rows, &mut comparison);
    assert_eq!(
        comparison.misses().len(),
        1,
        "the selection has five of ten"
    );
}

#[test]
fn a_router_that_is_not_the_references_is_noticed() {
    let anchor = Anchor {
        quantity: "zero_load_latency".into(),
        variation: "vc_alloc_delay 3".into(),
        speedup: String::new(),
        num_vcs: 1,
        vc_buf_flits: 64,
        packet_flits: 1,
        value: 7.0,
    };
    let mut comparison = Comparison::new();
    anchor.compare(&mut comparison).expect("a known option");
    assert_eq!(comparison.misses().len(), 1, "8 cycles are not 7");
}

#[test]
fn a_folder_without_tables_is_named() {
    let error = validate(Path::new("nowhere")).expect_err("there is none");
    assert!(error.to_string().contains("anchors.csv"), "{error}");
}
