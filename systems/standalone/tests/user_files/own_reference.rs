//! Tests with a user's own reference data.

use std::fmt::Write as _;

use warpweave_standalone::{Comparison, Own, StandaloneError, cache, dram, environment, noc};

use super::Folder;

type Validate = fn(&std::path::Path, &Own<'_>) -> Result<Comparison, StandaloneError>;

fn held(validate: Validate, folder: &Folder, preset: &str, within: Option<f64>) -> Comparison {
    let environment = environment();
    let own = Own {
        preset,
        within,
        environment: &environment,
    };
    validate(folder.root(), &own).unwrap()
}

fn refused(validate: Validate, folder: &Folder, preset: &str) -> String {
    let environment = environment();
    let own = Own {
        preset,
        within: None,
        environment: &environment,
    };
    folder.plain(&validate(folder.root(), &own).unwrap_err())
}

const REQUESTS: &str = "arrival,rw,address\n0,R,0\n0,R,4096\n9,W,64\n50,R,131072\n";

/// Creates a folder with our own controller's results, in the form another simulator would write.
fn dram_folder() -> Folder {
    let folder = Folder::new();
    let path = folder.write("traces/mine.csv", REQUESTS);
    let rows = dram::read_requests(&path).unwrap().rows;
    let run = dram::drive(&dram::load("R").unwrap(), &rows, false, &environment()).unwrap();
    let mut served = "idx,accept,done\n".to_owned();
    for row in &run.served {
        writeln!(served, "{},{},{}", row.idx, row.accept, row.done).unwrap();
    }
    folder.write("per_request/mine.csv", &served);
    let summary = run.summary;
    let mean = summary.read_latency.unwrap().mean;
    let text = format!(
        "trace,end_cycle,lat_mean\nmine,{},{mean:.3}\n",
        summary.end_cycle
    );
    folder.write("summary.csv", &text);
    folder
}

#[test]
fn a_controller_is_held_against_data_of_ones_own() {
    let folder = dram_folder();
    let same = held(dram::validate_own, &folder, "R", None);
    assert!(same.holds(), "{}", same.text());
    assert!(
        same.text().contains("3 compared, 0 missed"),
        "{}",
        same.text()
    );
    let other = held(dram::validate_own, &folder, "A", None);
    assert_eq!(other.misses().len(), 3, "{}", other.text());
    let close = held(dram::validate_own, &folder, "R6000", Some(0.5));
    assert!(close.text().contains("within 50 %"), "{}", close.text());
}

#[test]
fn a_description_file_is_held_as_a_preset_is() {
    let folder = dram_folder();
    let r = include_str!("../../../../scenarios/presets/gddr5/r.ron");
    let path = folder.write("mine.ron", r);
    let name = path.display().to_string();
    assert!(held(dram::validate_own, &folder, &name, None).holds());
    folder.write("mine.ron", &r.replace("t_cl: 18", "t_cl: 19"));
    assert!(!held(dram::validate_own, &folder, &name, None).holds());
}

#[test]
fn what_a_folder_of_requests_lacks_is_named() {
    let folder = Folder::new();
    assert!(refused(dram::validate_own, &folder, "A").contains("neither summary.csv nor"));
    folder.write("summary.csv", "trace,end_cycle\nmine,100\n");
    assert!(refused(dram::validate_own, &folder, "A").starts_with("neither `mine`.csv"));
    folder.write("traces/mine.csv", REQUESTS);
    assert!(!held(dram::validate_own, &folder, "A", None).holds());
    folder.write("summary.csv", "trace,end_cycle\n");
    assert!(
        refused(dram::validate_own, &folder, "A")
            .starts_with("summary.csv:1: the table has no rows")
    );
    folder.write("summary.csv", "trace,end\nmine,1\n");
    let error = refused(dram::validate_own, &folder, "A");
    assert!(
        error.starts_with("summary.csv:2: column trace: the row has no number"),
        "{error}"
    );
    folder.write("summary.csv", "trace,end_cycle\n../secret,1\n");
    let error = refused(dram::validate_own, &folder, "A");
    assert!(error.contains("is not a table name in"), "{error}");
    folder.write("summary.csv", "trace,end_cycle\nmine,soon\n");
    let error = refused(dram::validate_own, &folder, "A");
    assert!(
        error.starts_with("summary.csv:2: column 2 (`end_cycle`): `soon`"),
        "{error}"
    );
    assert!(refused(dram::validate_own, &folder, "Q").contains("unknown preset `Q`"));
}

#[test]
fn a_network_is_held_against_packet_lists_of_ones_own() {
    let folder = Folder::new();
    let packets: Vec<_> = (0..40)
        .map(|n| noc::Packet {
            create: n / 2,
            src: n as usize % 3,
            dst: n as usize % 2,
            flits: 2,
        })
        .collect();
    let (_, run) = noc::bench("voq_i4", &packets, None, None, &environment()).unwrap();
    let mut list = "create,src,dst,flits,inject,arrive\n".to_owned();
    for (packet, passage) in packets.iter().zip(&run.passages) {
        let (p, t) = (packet, passage.unwrap());
        let line = (p.create, p.src, p.dst, p.flits, t.inject, t.arrive);
        writeln!(
            list,
            "{},{},{},{},{},{}",
            line.0, line.1, line.2, line.3, line.4, line.5
        )
        .unwrap();
    }
    // A packet at the end whose fate the other simulator did not see.
    writeln!(list, "90,0,0,1,,").unwrap();
    folder.write("mine.csv", &list);
    let same = held(noc::validate_own, &folder, "voq_i4", None);
    assert!(same.holds(), "{}", same.text());
    assert!(same.text().contains("1 packets"), "{}", same.text());
    assert!(!held(noc::validate_own, &folder, "fifo_s1", None).holds());
    folder.write("mine.csv", "create,src,dst,flits\n0,0,0,1\n");
    let error = refused(noc::validate_own, &folder, "fifo_s1");
    assert!(
        error.starts_with("mine.csv:1: the list has no result"),
        "{error}"
    );
    let error = refused(noc::validate_own, &Folder::new(), "fifo_s1");
    assert!(
        error.starts_with("no packet list (NAME.csv or NAME.csv.gz) in "),
        "{error}"
    );
}

#[test]
fn a_cache_is_held_against_counts_and_hit_bits_of_ones_own() {
    let folder = Folder::new();
    folder.write("mine.trace.csv", "rw,addr_hex\nR,0\nR,4\nW,80\nR,84\nR,0\n");
    folder.write("summary.csv", "trace,policy,hits,misses\nmine,FIFO,3,2\n");
    folder.write("hitbits.csv", "trace,hit_bits\nmine,01011\n");
    let same = held(cache::validate_own, &folder, "L1_16k_4w", None);
    assert!(same.holds(), "{}", same.text());
    // Lines of 64 bytes.
    assert!(held(cache::validate_own, &folder, "L1_16k_4w_l64", None).holds());
    folder.write("hitbits.csv", "trace,hit_bits\nmine,01x11\n");
    assert_eq!(
        held(cache::validate_own, &folder, "L1_16k_4w", None)
            .misses()
            .len(),
        1
    );
    folder.write("summary.csv", "trace,policy,hits\nmine,FIFA,3\n");
    let error = refused(cache::validate_own, &folder, "L1_16k_4w");
    assert!(
        error.contains("summary.csv:2: column policy: no policy is named `FIFA`"),
        "{error}"
    );
    assert!(error.contains("did you mean `FIFO`"), "{error}");
    let error = refused(cache::validate_own, &folder, "L1_16k_5w");
    assert!(
        error.contains("unknown preset `L1_16k_5w`\nhint: did you mean `L1_16k_4w`?"),
        "{error}"
    );
}
