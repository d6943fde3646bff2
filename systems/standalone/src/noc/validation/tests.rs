//! The comparison itself, with a selection of every golden table.

use super::*;

fn selection() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/noc/testdata")
}

#[test]
fn a_selection_of_every_golden_table_holds() {
    let comparison = validate(&selection()).expect("committed tables");
    assert_eq!(comparison.misses(), [""; 0]);
    assert!(comparison.holds());
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
