//! `--record`: waveforms and timelines of a run, read back by their viewers' own readers.

use crate::harness::{Bench, Ended};

fn record(bench: &Bench, arguments: &[&str]) -> Ended {
    bench.warpweave(&[&["run", "test.ron", "--quiet"], arguments].concat())
}

#[test]
fn recording_changes_nothing_in_the_report() {
    let bench = Bench::new();
    let plain = bench.run(&[]);
    let recorded = record(&bench, &["--record", "run.vcd", "--record", "run.pftrace"]);
    assert_eq!((recorded.code, recorded.err.as_str()), (0, ""));
    assert_eq!(recorded.out, plain.out);
}

#[test]
fn both_waveform_files_of_a_run_hold_the_same_levels() {
    let bench = Bench::new();
    let ended = record(&bench, &["--record", "run.vcd", "--record", "run.fst"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let [vcd, fst] = ["run.vcd", "run.fst"].map(|name| {
        let mut wave = wellen::simple::read(bench.path(name)).expect("a waveform");
        let mut variables: Vec<_> = wave
            .hierarchy()
            .all_vars()
            .map(|var| &wave.hierarchy()[var])
            .map(|var| (var.full_name(wave.hierarchy()), var.signal_ref()))
            .collect();
        variables.sort();
        let signals: Vec<_> = variables.iter().map(|(_, signal)| *signal).collect();
        wave.load_signals(&signals);
        let times = wave.time_table();
        let levels = |signal| -> Vec<_> {
            let changes = wave.get_signal(signal).expect("loaded").iter_changes();
            let mut levels: Vec<_> = changes
                .map(|(at, value)| (times[at as usize], value.to_bit_string()))
                .collect();
            levels.dedup_by(|later, earlier| later.1 == earlier.1);
            levels
        };
        variables
            .into_iter()
            .map(|(name, signal)| (name, levels(signal)))
            .collect::<Vec<_>>()
    });
    assert!(
        vcd.iter().any(|(name, _)| name.ends_with("cu.state")),
        "{vcd:?}"
    );
    assert!(vcd.iter().any(|(_, levels)| levels.len() > 100));
    assert_eq!(vcd, fst);
}

#[test]
fn a_recording_with_an_unknown_ending_is_refused_with_the_endings_there_are() {
    let ended = record(&Bench::new(), &["--record", "run.wave"]);
    assert_eq!(ended.code, 2);
    assert_eq!(
        ended.err,
        "error: run.wave: the ending of the name says what to record: .vcd, .fst, .pftrace, \
         .perfetto-trace\n"
    );
}

#[test]
fn a_pattern_or_window_that_selects_nothing_is_refused() {
    let bench = Bench::new();
    let ended = record(
        &bench,
        &["--record", "run.vcd", "--record-path", "unit[9]*"],
    );
    assert_eq!(ended.code, 2);
    assert!(
        ended
            .err
            .starts_with("error: --record-path: no instance matches `unit[9]*`; there are `"),
        "{}",
        ended.err
    );
    let ended = record(&bench, &["--record", "run.vcd", "--record-cycles", "9..3"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.err.contains("the window ends before it begins"),
        "{}",
        ended.err
    );
}
