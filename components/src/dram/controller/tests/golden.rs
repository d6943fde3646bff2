//! Comparison with public simulators on recorded request traces.
//!
//! `testdata` holds the beginnings of traces (`arrival, rw, bg, ba, row, col`) for FR-FCFS on one
//! x32 channel of 4 groups of 4 banks. They include the cycles of acceptance and completion
//! reported by Ramulator 2.1 (`accept, done`). Requests at the end of each file have no expectation
//! and serve only as competing traffic.

use std::io::Read as _;

use super::drive::{drive, parse_trace, reference};
use crate::dram::tests::presets::reference_geometry;
use crate::dram::tests::presets::{preset_a, preset_r};
use crate::dram::{Checker, Refresh, Timing};

fn gunzip(bytes: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes)
        .read_to_string(&mut text)
        .unwrap();
    text
}

/// Compares every expectation of a file and checks all commands.
fn agrees(timing: Timing, bytes: &[u8]) {
    let text = gunzip(bytes);
    let mut controller = reference(timing);
    let result = drive(&mut controller, &parse_trace(&text));
    let mut compared = 0;
    for (line, got) in text.lines().skip(1).zip(&result) {
        let fields: Vec<&str> = line.split(',').collect();
        if let [accept, done] = fields[6..] {
            let got = (
                got.0.to_string(),
                got.1.map_or("-1".to_owned(), |d| d.to_string()),
            );
            assert_eq!(got, (accept.to_owned(), done.to_owned()), "{line}");
            compared += 1;
        }
    }
    assert_eq!(compared, 300);
    let mut checker = Checker::new(
        &reference_geometry(),
        timing,
        Refresh::AllBank { postponed_max: 0 },
    );
    for issued in controller.commands() {
        checker.check(issued);
    }
    assert_eq!(checker.violations(), []);
}

macro_rules! golden {
    ($($name:ident: $preset:ident, $file:literal;)*) => { $(
        #[test]
        fn $name() {
            agrees($preset(), include_bytes!(concat!("../../testdata/", $file, ".csv.gz")));
        }
    )* };
}

golden! {
    idle_reads_match_to_the_cycle: preset_a, "a_idle";
    light_random_reads_match_to_the_cycle: preset_a, "a_rand_r_lo";
    saturated_random_reads_match_to_the_cycle: preset_a, "a_rand_r_sat";
    row_hits_match_to_the_cycle: preset_a, "a_hits90_hi";
    row_hits_of_a_slow_device_match_to_the_cycle: preset_r, "r_hits90_hi";
    streams_over_bank_groups_match_to_the_cycle: preset_a, "a_seqbgi_r_sat";
    streams_in_one_bank_group_match_to_the_cycle: preset_a, "a_bghostile_sat";
    row_conflicts_match_to_the_cycle: preset_a, "a_rowconf_sat";
    mixed_reads_and_writes_match_to_the_cycle: preset_r, "r_mix50_lo";
}
