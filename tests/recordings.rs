//! Tests of `--record`: waveforms and timelines, read back with the readers used by their viewers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::harness::{Bench, Ended, scenarios};

#[path = "../framework/waves/tests/decode/mod.rs"]
mod decode;

use decode::{Event, Slice, decode, slices};

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
    // Every component advances and stalls several times in the 311 cycles of the run.
    let states = vcd
        .iter()
        .filter(|(name, _)| name.rsplit('.').next() == Some("state"));
    assert!(
        states.clone().all(|(_, levels)| levels.len() > 3),
        "{vcd:?}"
    );
    assert_eq!(states.count(), 14);
    let changes: usize = vcd.iter().map(|(_, levels)| levels.len()).sum();
    assert!(changes > 1000, "{changes}");
    assert_eq!(vcd, fst);
}

#[test]
fn a_recording_with_an_unknown_ending_is_refused_with_the_endings_there_are() {
    let ended = record(&Bench::new(), &["--record", "run.wave"]);
    assert_eq!(ended.code, 2);
    assert_eq!(
        ended.err,
        "error: run.wave: the file extension must select what to record: .vcd, .fst, .pftrace, \
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
        ended.err.starts_with(
            "error: --record-path: no instance matches `unit[9]*`; instances include `"
        ),
        "{}",
        ended.err
    );
    let ended = record(&bench, &["--record", "run.vcd", "--record-cycles", "9..3"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.err.contains("the window ends before its start"),
        "{}",
        ended.err
    );
}

/// Returns the bytes of a recording with this name.
fn recorded(name: &str, arguments: &[&str]) -> Vec<u8> {
    let bench = Bench::new();
    let ended = record(&bench, &[&["--record", name], arguments].concat());
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    fs::read(bench.path(name)).unwrap()
}

fn timeline(arguments: &[&str]) -> Vec<Event> {
    decode(&recorded("run.pftrace", arguments))
}

/// Finds the slices with this name on the rows of a component.
fn named<'a>(
    slices: &'a [Slice],
    component: &str,
    name: &str,
) -> impl Iterator<Item = &'a Slice> + use<'a> {
    let row = format!("{}/{name} ", component.replace('.', "/"));
    let depth = 0;
    slices
        .iter()
        .filter(move |s| s.begin.track.starts_with(&row) && s.depth == depth)
}

#[test]
fn a_timeline_follows_the_kernel_to_its_work_groups_and_wavefronts() {
    let slices = slices(&timeline(&[]));
    let spans = |component, name| -> Vec<_> {
        named(&slices, component, name)
            .map(|s| (s.from, s.until))
            .collect()
    };
    let [host, gmu, scheduler] =
        ["host", "gmu", "scheduler"].map(|component| spans(component, "kernel"));
    assert_eq!((host.len(), gmu.len(), scheduler.len()), (1, 1, 1));
    let inside = |inner: (u64, u64), outer: (u64, u64)| outer.0 <= inner.0 && inner.1 <= outer.1;
    assert!(inside(scheduler[0], gmu[0]) && inside(gmu[0], host[0]));
    // 256 elements in blocks of 64, which are two wavefronts each.
    let mut seen = BTreeSet::new();
    let mut wavefronts = 0;
    for unit in ["unit[0].cu", "unit[1].cu"] {
        for group in named(&slices, unit, "work-group") {
            let span = (group.from, group.until);
            assert!(inside(span, scheduler[0]), "{group:?}");
            let number = group.note("work_group").unwrap();
            assert!(seen.insert(number), "work-group {number} runs once");
            let of_group = |s: &&Slice| s.note("work_group") == Some(number);
            for wavefront in named(&slices, unit, "wavefront").filter(of_group) {
                assert!(inside((wavefront.from, wavefront.until), span));
                wavefronts += 1;
            }
        }
    }
    assert_eq!((seen.len(), wavefronts), (4, 8));
    let waits: BTreeSet<_> = slices
        .iter()
        .filter(|s| s.begin.track.contains("/wavefront ") && s.depth == 1)
        .filter_map(|s| s.begin.name.as_deref())
        .collect();
    for reason in ["memory", "scoreboard", "fixed latency"] {
        assert!(waits.contains(reason), "{reason} is not in {waits:?}");
    }
}

#[test]
fn a_timeline_calls_kernels_by_their_names() {
    let slices = slices(&timeline(&[]));
    for component in ["host", "gmu", "scheduler"] {
        let names: Vec<_> = named(&slices, component, "kernel")
            .map(|s| s.begin.name.as_deref())
            .collect();
        assert_eq!(names, [Some("vector_add #0")], "{component}");
    }
    for kind in ["work-group", "wavefront"] {
        for slice in named(&slices, "unit[0].cu", kind) {
            assert_eq!(slice.begin.name.as_deref(), Some(kind));
            let name = ("kernel_name".to_owned(), "vector_add".to_owned());
            assert_eq!(slice.begin.texts, [name]);
        }
    }
}

#[test]
fn a_timeline_shows_what_was_foretold_of_each_launched_kernel_beside_what_is_so() {
    let bench = Bench::new();
    let root = scenarios().display().to_string();
    let scenario = format!(
        "Scenario(system: \"{root}/systems/laser.ron\", size: \"T\", profile: Compute, workload: \
         \"{root}/workloads/quicksort_device.ron\", overrides: {{ \"params.reduced\": true }})"
    );
    bench.write("test.ron", &scenario);
    let path = ["--record", "run.pftrace", "--record-path", "launcher"];
    let ended = record(&bench, &[&path[..], &["--format", "json"]].concat());
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let slices = slices(&decode(&fs::read(bench.path("run.pftrace")).unwrap()));
    let mut counts = [[0; 2]; 2];
    let kernels = named(&slices, "launcher", "kernel");
    for kernel in kernels {
        let text = |name: &str| {
            let mut texts = kernel.begin.texts.iter();
            texts.find(|(n, _)| n == name).map(|(_, text)| &**text)
        };
        assert!(kernel.note("unit").is_some_and(|unit| unit < 13));
        let said = text("predicted_name").unwrap();
        let near = text("near_name").unwrap();
        counts[usize::from(["parent", "sibling"].contains(&said))][usize::from(near == "yes")] += 1;
    }
    let report = ended.json();
    let launcher = &report["stats"]["launcher"];
    let names = [
        ["prediction_true_negatives", "prediction_false_negatives"],
        ["prediction_false_positives", "prediction_true_positives"],
    ];
    let counted = names.map(|names| names.map(|name| launcher[name]["value"].as_u64().unwrap()));
    assert_eq!(counts, counted, "{launcher}");
    assert!(counts[1][1] > 0 && counts[0][1] > 0, "{counts:?}");
}

#[test]
fn a_request_is_followed_from_the_compute_unit_to_memory_and_back() {
    let slices = slices(&timeline(&[]));
    let mut places = BTreeMap::<u64, BTreeSet<&str>>::new();
    for slice in &slices {
        if let Some(flow) = slice.begin.flow {
            let row = slice
                .begin
                .track
                .rsplit_once(' ')
                .expect("rows are numbered");
            places.entry(flow).or_default().insert(row.0);
        }
    }
    let whole = |rows: &BTreeSet<&str>| {
        [
            "cu/request",
            "l1/up.request",
            "l1/miss",
            "crossbar/up[0].request",
            "l2[0]/up.request",
            "l2[0]/miss",
            "dram/read",
            "l2[0]/down.response",
            "crossbar/down[0].response",
            "l1/down.response",
            "cu/memory.response",
        ]
        .iter()
        .all(|place| rows.iter().any(|row| row.ends_with(place)))
    };
    let followed = places.values().filter(|rows| whole(rows)).count();
    assert!(followed >= 2, "{followed} of {}", places.len());
    // Each miss begins after the request of the compute unit and ends before its answer.
    for request in named(&slices, "unit[0].cu", "request") {
        let same = |s: &&Slice| s.begin.flow == request.begin.flow;
        for miss in named(&slices, "unit[0].l1", "miss").filter(same) {
            assert!(request.from < miss.from && miss.until <= request.until);
        }
    }
}

#[test]
fn counters_of_channels_agree_with_the_slices_of_their_messages() {
    let events = timeline(&[]);
    let slices = slices(&events);
    let mut counters = 0;
    for component in ["unit[0].l1", "partition[0].l2[0]", "crossbar"] {
        let track = component.replace('.', "/");
        for port in ["up.request", "down.response", "up[0].request"] {
            let name = format!("{track}/messages in {port}");
            let values = events.iter().filter(|event| event.track == name);
            for event in values {
                let time = event.time;
                let held = named(&slices, component, port)
                    .filter(|s| s.from <= time && time < s.until)
                    .count();
                assert_eq!(event.value, Some(held as f64), "{name} at {time}");
                counters += 1;
            }
        }
    }
    assert!(counters > 50, "{counters}");
}

#[test]
fn recordings_are_the_same_for_any_number_of_threads() {
    for name in ["run.vcd", "run.fst", "run.pftrace"] {
        let one = recorded(name, &["--threads", "1"]);
        for threads in ["2", "4"] {
            let many = recorded(name, &["--threads", threads]);
            assert!(one == many, "{name} differs with {threads} threads");
        }
    }
}

#[test]
fn a_pattern_and_a_window_leave_out_what_is_not_asked_for() {
    let period = 1_000_000_000_000 / 700_000_000; // Picoseconds, rounded down.
    let events = timeline(&["--record-path", "unit[1].*", "--record-cycles", "300..400"]);
    slices(&events);
    assert!(
        events
            .iter()
            .any(|event| event.track.starts_with("unit[1]/cu/wavefront"))
    );
    for event in &events {
        // A channel to another component is shown at its receiver.
        let track = &event.track;
        let neighbour = [
            "crossbar/up[1]",
            "crossbar/messages in up[1]",
            "scheduler/units[1]",
        ]
        .iter()
        .any(|port| track.starts_with(port));
        let neighbour = neighbour || track.starts_with("scheduler/messages in units[1]");
        assert!(track.starts_with("unit[1]/") || neighbour, "{event:?}");
        assert!(
            (300 * period..=400 * (period + 1)).contains(&event.time),
            "{event:?}"
        );
    }
}

#[test]
fn a_resumed_run_records_what_is_in_the_machine_when_it_resumes() {
    let bench = Bench::new();
    let window = ["--record-cycles", "151.."];
    let whole = record(&bench, &[&["--record", "whole.vcd"], &window[..]].concat());
    assert_eq!((whole.code, whole.err.as_str()), (0, ""));
    let saved = record(
        &bench,
        &["--checkpoint", "run.wwc", "--checkpoint-at", "150"],
    );
    assert_eq!((saved.code, saved.err.as_str()), (0, ""));
    let resume = ["--resume", "run.wwc", "--record", "rest.vcd"];
    let rest = record(&bench, &[&resume[..], &window[..]].concat());
    assert_eq!((rest.code, rest.err.as_str()), (0, ""));
    assert_eq!(bench.read("rest.vcd"), bench.read("whole.vcd"));

    let timeline = |arguments: &[&str]| {
        let ended = record(
            &bench,
            &[&["--record", "run.pftrace"], arguments, &window].concat(),
        );
        assert_eq!((ended.code, ended.err.as_str()), (0, ""));
        let file = fs::read(bench.path("run.pftrace")).unwrap();
        // Of messages on their way nothing but their number is known; rows may be others.
        let things = slices(&decode(&file))
            .into_iter()
            .filter(|s| s.note("id").is_some());
        let mut things: Vec<_> = things
            .map(|s| (s.from, s.until, s.begin.name, s.begin.notes, s.begin.flow))
            .collect();
        things.sort();
        things
    };
    let whole = timeline(&[]);
    assert!(whole.len() > 30, "{whole:?}");
    assert_eq!(timeline(&resume[..2]), whole);
}

#[test]
fn a_timeline_says_who_waited_how_long() {
    let bench = Bench::new();
    let ended = record(&bench, &["--record", "run.pftrace"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    // What the published field numbers make of the file, added up by hand.
    let bytes = fs::read(bench.path("run.pftrace")).unwrap();
    let mut expected = BTreeMap::<[String; 3], (u64, u64)>::new();
    for slice in slices(&decode(&bytes)) {
        let (parents, last) = match slice.begin.track.rsplit_once('/') {
            Some((parents, last)) => (parents.to_owned(), last),
            None => (String::new(), slice.begin.track.as_str()),
        };
        let (path, thing) = match last.split_once(' ') {
            Some(_) if slice.depth == 0 => continue,
            Some((thing, _)) => (parents, thing),
            None => (slice.begin.track.clone(), ""),
        };
        let path = path.replace('/', ".");
        let folded: String = path
            .split('[')
            .enumerate()
            .map(|(at, part)| match part.split_once(']') {
                Some((_, rest)) if at > 0 => format!("[*]{rest}"),
                _ => part.to_owned(),
            })
            .collect();
        let reason = slice.begin.name.clone().unwrap();
        let sum = expected
            .entry([folded, thing.to_owned(), reason])
            .or_default();
        sum.0 += 1;
        sum.1 += slice.until - slice.from;
    }
    let csv = bench.warpweave(&["timeline", "run.pftrace", "--format", "csv"]);
    assert_eq!(csv.code, 0, "{}", csv.err);
    let mut found = BTreeMap::new();
    for line in csv.out.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let key = [cells[0], cells[1], cells[2]].map(|cell| cell.trim_matches('"').to_owned());
        found.insert(key, (cells[3].parse().unwrap(), cells[4].parse().unwrap()));
    }
    assert!(!expected.is_empty());
    assert_eq!(found, expected);
    let page = bench.warpweave(&["timeline", "run.pftrace", "--top", "3"]);
    assert_eq!(page.code, 0, "{}", page.err);
    assert!(page.out.contains("vector_add #0"), "{}", page.out);
    assert!(page.out.contains("waits of components"), "{}", page.out);
    bench.write("cut.pftrace", "no timeline");
    let refused = bench.warpweave(&["timeline", "cut.pftrace"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("cut.pftrace: byte 0"),
        "{}",
        refused.err
    );
}
