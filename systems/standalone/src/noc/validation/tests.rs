//! Tests of the comparison itself, on excerpts of every golden table.

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

/// Returns the misses after swapping the names of two configurations in a table.
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

/// Checks that every table distinguishes the right router from another one.
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

/// Compares with the given rows of a theory table.
fn theory(rows: &str) -> Result<Comparison, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("theory.csv");
    let head = "model,src_ports,dst_ports,islip_iterations,arrival_prob_per_src,\
                throughput_per_dst,mean_delay_slots";
    std::fs::write(&path, format!("{head}\n{rows}\n")).expect("written");
    let table = Table::<TheoryRow>::read(&path).map_err(|e| e.to_string())?;
    let mut comparison = Comparison::new();
    for (number, row) in table.rows.iter().enumerate() {
        row.check()
            .map_err(|(column, problem)| wrong(&table, number, column, problem).to_string())?;
        row.compare(1, &mut comparison).map_err(|e| e.to_string())?;
    }
    Ok(comparison)
}

#[test]
fn rows_that_are_not_compared_are_named() {
    let text = theory("oq,8,8,1,0.5,0.5,1.2").expect("a row").text();
    assert!(text.contains("slotted oq 8x8"), "{text}");
    assert!(
        text.contains("not compared: an output-queued switch is not a crossbar"),
        "{text}"
    );
    assert!(text.ends_with("0 compared, 0 missed; 0 shown for information, 1 not compared\n"));
}

#[test]
fn absurd_rows_of_a_reference_are_refused_at_their_column() {
    for (row, column) in [
        ("oq,0,8,1,0.5,0.5,1", "src_ports"),
        ("oq,8,129,1,0.5,0.5,1", "dst_ports"),
        ("fifo,8,8,1,2,0.5,1", "arrival_prob_per_src"),
        ("fifo,8,8,1,NaN,0.5,1", "arrival_prob_per_src"),
        ("islip,128,128,4294967295,1,0.5,1", "islip_iterations"),
        ("magic,8,8,1,1,0.5,1", "model"),
    ] {
        let error = theory(row).expect_err("absurd");
        assert!(
            error.contains(&format!("theory.csv:2: column {column}: ")),
            "{error}"
        );
    }
}
