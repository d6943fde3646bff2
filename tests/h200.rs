//! Checks that the machine of an H200 delivers what was measured on one. `docs/h200.md` has the
//! figures that take too long here, and says how all were measured.

use std::fs;
use std::path::Path;

use crate::harness::warpweave;

const SYSTEM: &str = "scenarios/systems/h200.ron";

/// Largest deviation from a measured figure.
const DEVIATION_MAX: f64 = 0.05;

/// Measured figures: quantity, condition and value.
const MEASURED: [(&str, &str, f64); 15] = [
    ("launch", "behind another in its stream", 7284.0),
    ("barrier", "1 wavefront", 14.6),
    ("barrier", "4 wavefronts", 20.6),
    ("barrier", "32 wavefronts", 76.6),
    ("local memory latency", "without conflicts", 23.0),
    ("local memory latency", "2 banks apart", 25.0),
    ("local memory latency", "4 banks apart", 29.0),
    ("local memory latency", "8 banks apart", 37.0),
    ("local memory latency", "16 banks apart", 53.0),
    ("local memory latency", "32 banks apart", 85.0),
    ("load latency", "1 KiB", 32.0),
    ("load latency", "128 KiB", 32.0),
    ("load latency", "512 KiB", 280.8),
    ("load latency", "untouched, 1 MiB apart", 691.0),
    ("atomic latency", "one lane", 532.0),
];

#[test]
fn latencies_of_the_h200_are_those_measured() {
    let mut arguments = vec!["probe", SYSTEM, "--largest", "512 KiB", "--format", "csv"];
    for quantity in ["launch", "barrier", "local memory latency", "load latency"] {
        arguments.extend(["--only", quantity]);
    }
    arguments.extend(["--only", "atomic latency"]);
    let told = warpweave(&arguments);
    assert_eq!((told.code, &*told.err), (0, ""));
    for (quantity, at, measured) in MEASURED {
        let begin = [quantity, at].map(|cell| {
            if cell.contains(',') {
                format!("\"{cell}\"")
            } else {
                cell.to_owned()
            }
        });
        let begin = begin.join(",") + ",";
        let row = told.out.lines().find_map(|row| row.strip_prefix(&begin));
        let value = row.and_then(|row| row.split(',').next()?.parse::<f64>().ok());
        let value = value.unwrap_or_else(|| panic!("no {begin} in {}", told.out));
        assert!(
            (value / measured - 1.0).abs() <= DEVIATION_MAX,
            "{quantity}, {at}: {value} instead of {measured}"
        );
    }
}

#[test]
fn the_protocol_has_the_hash_of_the_frozen_machine() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let hash = blake3::hash(&fs::read(root.join(SYSTEM)).unwrap()).to_hex();
    let page = fs::read_to_string(root.join("docs/hardware-protocol.md")).unwrap();
    assert!(
        page.contains(hash.as_str()),
        "{SYSTEM} has changed: it is no longer the machine whose errors are stated. Add a look to \
         docs/hardware-protocol.md, and the hash {hash}"
    );
}
