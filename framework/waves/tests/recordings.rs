//! Tests that recordings match the run. Every file is read back with its viewer's own reader.

mod decode;

use std::io::Cursor;
use std::path::Path;

use decode::{Event, decode, slices};
use warpweave_framework::{
    About, Bundle, Component, Contents, Context, Frequency, InPort, Inspect, Link, Next, OutPort,
    Ports, Probe, RunLimits, Simulation, Stateful, Statistics, SystemBuilder, Tick,
};
use warpweave_waves::{Format, Names, Selection, record_to};

/// Sends a number in every cycle with a free slot, four in all.
#[derive(Default, Statistics)]
struct Source {
    sent: u64,
    output: OutPort<u64>,
}

impl Bundle for Source {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.output("output", &mut self.output);
    }
}

impl Component for Source {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.sent == 4 {
            return Next::Idle;
        }
        if self.output.try_send(ctx, self.sent).is_err() {
            ctx.probe(|| Probe::Blocked { because: "no room" });
            return Next::Credit;
        }
        self.sent += 1;
        Next::Busy
    }
}

impl Stateful for Source {}

/// Takes three cycles to process each number.
#[derive(Default, Statistics)]
struct Worker {
    until: Option<(u64, u64)>,
    input: InPort<u64>,
}

impl Bundle for Worker {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("in[0]", &mut self.input);
    }
}

impl Component for Worker {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if let Some((until, id)) = self.until {
            if ctx.cycle() < until {
                return Next::Until(until);
            }
            self.until = None;
            ctx.probe(|| Probe::End { name: "work", id });
        }
        let Some(id) = self.input.pop(ctx) else {
            return Next::Message;
        };
        let until = ctx.cycle() + 3;
        self.until = Some((until, id));
        ctx.probe(|| Probe::Begin {
            name: "work",
            id,
            about: About::default(),
        });
        ctx.probe(|| Probe::Value {
            name: "last",
            value: id as f64,
        });
        Next::Until(until)
    }
}

impl Stateful for Worker {}

/// Builds a source and a worker at 1 GHz: 1000 ps per cycle, one tick each.
fn system() -> Simulation {
    let mut builder = SystemBuilder::new();
    let clock = builder.clock("core", Frequency::new(1_000_000_000, 1).expect("not zero"));
    builder.add("top.source", clock, Source::default());
    builder.add("top.worker[0]", clock, Worker::default());
    let link = Link::latency(1).capacity(2);
    builder.connect("top.source.output", "top.worker[0].in[0]", link);
    builder.elaborate().expect("well formed")
}

/// Records a run and returns the file.
fn record(format: Format, selection: &Selection) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run");
    let mut simulation = system();
    let sink =
        record_to(&path, format, &mut simulation, selection, &Names::default()).expect("writable");
    simulation.set_probe_sink(Some(sink));
    simulation.run(&RunLimits::default());
    simulation.finish_probes().expect("written");
    std::fs::read(&path).expect("written")
}

#[test]
fn a_full_disk_keeps_the_older_recording() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run");
    for format in [Format::Vcd, Format::Fst, Format::Perfetto] {
        warpweave_files::check_full_disks(&path, || {
            let mut simulation = system();
            let sink = record_to(
                &path,
                format,
                &mut simulation,
                &Selection::default(),
                &Names::default(),
            );
            simulation.set_probe_sink(Some(sink.map_err(|failed| failed.error)?));
            simulation.run(&RunLimits::default());
            simulation.finish_probes()
        });
        let whole = std::fs::read(&path).expect("written");
        assert!(whole == record(format, &Selection::default()), "{format:?}");
    }
}

/// Returns the (time in ps, value) pairs of a variable.
fn levels(file: Vec<u8>, path: &[&str], name: &str) -> Vec<(u64, u64)> {
    let mut wave = wellen::simple::read_from_reader(Cursor::new(file)).expect("a waveform");
    let variable = wave
        .hierarchy()
        .lookup_var(path, name)
        .unwrap_or_else(|| panic!("no variable {name}"));
    let signal = wave.hierarchy()[variable].signal_ref();
    wave.load_signals(&[signal]);
    let times = wave.time_table().to_vec();
    let changes = wave.get_signal(signal).expect("loaded").iter_changes();
    changes
        .filter_map(|(at, value)| {
            let bits = value.to_bit_string().expect("a bit vector");
            // Before the window the level is unknown.
            let known = !bits.contains('x');
            known.then(|| {
                let value = u64::from_str_radix(&bits, 2).expect("two-valued");
                (times[at as usize], value)
            })
        })
        .collect()
}

/// Computed by hand. Sent in cycles 0, 1, 2 (credit of the first pop at 1 is back at 2), then 5
/// (second pop at 4). Taken in 1, 4, 7, 10.
const OCCUPANCY: [(u64, u64); 7] = [
    (0, 1),
    // In cycle 1 one is sent and one taken: no change. The same count again is no change either.
    (2000, 2),
    (4000, 1),
    (5000, 2),
    (7000, 1),
    (10_000, 0),
    (13_000, 0),
];

fn changes_only(levels: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    for level in levels {
        if out.last().is_none_or(|(_, value)| *value != level.1) {
            out.push(*level);
        }
    }
    out
}

#[test]
fn both_waveform_files_show_how_full_the_channel_is() {
    for format in [Format::Vcd, Format::Fst] {
        let file = record(format, &Selection::default());
        let seen = levels(file, &["top", "worker(0)"], "in(0)");
        assert_eq!(changes_only(&seen), changes_only(&OCCUPANCY), "{format:?}");
    }
}

#[test]
fn both_waveform_files_show_what_components_wait_for() {
    let [busy, timer, message, _, idle] = [0, 1, 2, 3, 4];
    for format in [Format::Vcd, Format::Fst] {
        let file = record(format, &Selection::default());
        let seen = changes_only(&levels(file, &["top", "worker(0)"], "state"));
        assert_eq!(
            seen,
            [(0, message), (1000, timer), (13_000, message)],
            "{format:?}"
        );
        let file = record(format, &Selection::default());
        let seen = changes_only(&levels(file, &["top", "source"], "state"));
        assert_eq!(seen.last(), Some(&(6000, idle)), "{format:?}: {seen:?}");
        assert_eq!(seen[0], (0, busy));
    }
}

#[test]
fn a_selection_leaves_out_other_components_and_times() {
    let selection = Selection {
        paths: vec!["top.work*".to_owned()],
        from: Tick(3),
        until: Some(Tick(7)),
    };
    let file = record(Format::Vcd, &selection);
    let text = String::from_utf8(file.clone()).expect("text");
    assert!(!text.contains("source"), "{text}");
    let seen = levels(file, &["top", "worker(0)"], "in(0)");
    assert_eq!(
        changes_only(&seen),
        [(3000, 2), (4000, 1), (5000, 2), (7000, 1)]
    );
    // Nothing happens in cycles 8 and 9; the window still begins with the level of its start.
    let selection = Selection {
        from: Tick(8),
        ..Selection::default()
    };
    let seen = levels(
        record(Format::Fst, &selection),
        &["top", "worker(0)"],
        "in(0)",
    );
    assert_eq!(changes_only(&seen), [(8000, 1), (10_000, 0)]);
}

#[test]
fn a_pattern_that_matches_nothing_is_named_with_what_there_is() {
    let selection = Selection {
        paths: vec!["top.wroker*".to_owned()],
        ..Selection::default()
    };
    let error = selection.check(&system()).expect_err("a typing mistake");
    assert_eq!(
        error.to_string(),
        "no instance matches `top.wroker*`; instances include `top.source`, `top.worker[0]`"
    );
}

fn event(time: u64, track: &str, name: Option<&str>) -> Event {
    Event {
        time,
        track: track.to_owned(),
        name: name.map(str::to_owned),
        value: None,
        flow: None,
        notes: Vec::new(),
        texts: Vec::new(),
    }
}

#[test]
fn a_timeline_shows_work_messages_waits_and_counters_on_their_tracks() {
    let events = decode(&record(Format::Perfetto, &Selection::default()));
    let on = |track: &str| -> Vec<Event> {
        events
            .iter()
            .filter(|e| e.track == track)
            .cloned()
            .collect()
    };
    let slice = |from: u64, to: u64, name: &str, track: &str| {
        [event(from, track, Some(name)), event(to, track, None)]
    };
    let work = "top/worker[0]/work 0";
    let expected: Vec<_> = (0..4u64)
        .flat_map(|id| {
            let [mut begin, end] = slice((3 * id + 1) * 1000, (3 * id + 4) * 1000, "work", work);
            begin.notes.push(("id".to_owned(), id));
            [begin, end]
        })
        .collect();
    assert_eq!(on(work), expected);
    // The first message waits from 0 to 1 on the first row, the third from 2 to 7.
    let first = "top/worker[0]/in[0] 0";
    assert_eq!(on(first)[..2], slice(0, 1000, "in[0]", first));
    // The source gave its own words for waiting.
    let source = "top/source";
    assert!(
        on(source).contains(&event(3000, source, Some("no room"))),
        "{:?}",
        on(source)
    );
    let counter = on("top/worker[0]/last");
    let values: Vec<_> = counter.iter().map(|e| (e.time, e.value)).collect();
    assert_eq!(
        values,
        [
            (1000, Some(0.0)),
            (4000, Some(1.0)),
            (7000, Some(2.0)),
            (10_000, Some(3.0))
        ]
    );
}

#[test]
fn every_slice_that_begins_ends_whatever_the_window() {
    let whole = slices(&decode(&record(Format::Perfetto, &Selection::default())));
    for (from, until) in (0..14).flat_map(|from| (from..14).map(move |until| (from, until))) {
        let selection = Selection {
            from: Tick(from),
            until: Some(Tick(until)),
            ..Selection::default()
        };
        let events = decode(&record(Format::Perfetto, &selection));
        let (from, until) = (from * 1000, until * 1000);
        let inside = |slice: &decode::Slice| from <= slice.from && slice.until <= until;
        let seen = slices(&events);
        assert!(seen.iter().all(inside), "{from}..{until}: {seen:?}");
        // What is worked on in the middle of the window is there, from its beginning on.
        let work = |slice: &&decode::Slice| slice.begin.name.as_deref() == Some("work");
        for slice in whole.iter().filter(work) {
            let (begin, end) = (slice.from.max(from), slice.until.min(until));
            let found = seen
                .iter()
                .filter(work)
                .any(|s| (s.from, s.until) == (begin, end));
            assert!(
                found || begin >= end,
                "{from}..{until}: {slice:?} is not in {seen:?}"
            );
        }
    }
}

/// Holds a number for two cycles. In the first it waits for a key.
#[derive(Default, Statistics)]
struct Safe {
    inside: Option<(u64, bool)>,
    taken: u64,
}

impl Bundle for Safe {
    fn ports(&mut self, _: &mut Ports<'_>) {}
}

impl Component for Safe {
    fn evaluate(&mut self, _: &mut Context<'_>) -> Next {
        self.inside = match self.inside {
            Some((number, true)) => Some((number, false)),
            _ if self.taken == 3 => None,
            _ => {
                self.taken += 1;
                Some((self.taken * 10, true))
            }
        };
        if self.inside.is_some() {
            Next::Busy
        } else {
            Next::Idle
        }
    }

    fn inspection(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

impl Inspect for Safe {
    fn contents(&self, contents: &mut Contents<'_>) {
        if let Some((number, locked)) = self.inside {
            contents
                .thing("deposit", 0)
                .number("number", number)
                .flow(Some(number + 1))
                .waits(locked.then_some("key"));
        }
        contents.level("deposits", u64::from(self.inside.is_some()));
        let locked = self.inside.is_some_and(|(_, locked)| locked);
        contents.blocked(locked.then_some("the door is shut"));
    }
}

impl Stateful for Safe {}

fn record_safe(format: Format) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run");
    let mut builder = SystemBuilder::new();
    let clock = builder.clock("core", Frequency::new(1_000_000_000, 1).expect("not zero"));
    builder.add("safe", clock, Safe::default());
    let mut simulation = builder.elaborate().expect("well formed");
    let everything = Selection::default();
    let sink = record_to(
        &path,
        format,
        &mut simulation,
        &everything,
        &Names::default(),
    )
    .expect("writable");
    simulation.set_probe_sink(Some(sink));
    simulation.run(&RunLimits::default());
    simulation.finish_probes().expect("written");
    std::fs::read(&path).expect("written")
}

#[test]
fn a_timeline_shows_what_is_in_a_component_and_what_it_waits_for_inside() {
    let events = decode(&record_safe(Format::Perfetto));
    let slices = slices(&events);
    let row = "safe/deposit 0";
    let seen: Vec<_> = slices
        .iter()
        .filter(|slice| slice.begin.track == row)
        .map(|slice| {
            let name = slice.begin.name.as_deref().expect("slices have names");
            (slice.depth, name, slice.from, slice.until)
        })
        .collect();
    let expected =
        [0, 2000, 4000].map(|at| [(1, "key", at, at + 1000), (0, "deposit", at, at + 2000)]);
    assert_eq!(seen, expected.concat());
    let deposits = slices
        .iter()
        .filter(|s| s.begin.name.as_deref() == Some("deposit"));
    for (slice, number) in deposits.zip([10, 20, 30]) {
        assert_eq!(slice.note("number"), Some(number));
        assert_eq!(slice.begin.flow, Some(number + 1));
    }
    let blocked = slices.iter().filter(|s| s.begin.track == "safe");
    let blocked: Vec<_> = blocked.map(|s| (s.from, s.until)).collect();
    assert_eq!(blocked, [(0, 1000), (2000, 3000), (4000, 5000)]);
    let levels = events.iter().filter(|e| e.track == "safe/deposits");
    let levels: Vec<_> = levels.map(|e| (e.time, e.value)).collect();
    assert_eq!(levels, [(0, Some(1.0)), (6000, Some(0.0))]);
}

#[test]
fn both_waveform_files_show_the_levels_of_components() {
    for format in [Format::Vcd, Format::Fst] {
        let seen = levels(record_safe(format), &["safe"], "deposits");
        assert_eq!(changes_only(&seen), [(0, 1), (6000, 0)], "{format:?}");
    }
}

/// Records a process that counts, also in words, next to the components.
fn record_signals(format: Format, selection: &Selection) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run");
    let mut builder = SystemBuilder::new();
    let clock = builder.clock("core", Frequency::new(1_000_000_000, 1).expect("not zero"));
    builder.add("safe", clock, Safe::default());
    let world = builder.world().scope("bench");
    let (wide, real) = (world.signal("wide", 0u128), world.signal("real", 0.5));
    let text = world.signal("text", "no word".to_owned());
    let w = world.clone();
    world.process("count", async move {
        for n in 1..4u32 {
            w.ticks(2).await;
            wide.write(u128::from(n) << 100);
            real.write(f64::from(n) / 4.0);
            text.write(format!("word {n}"));
        }
    });
    let mut simulation = builder.elaborate().expect("well formed");
    selection.check(&simulation).expect("something is selected");
    let sink =
        record_to(&path, format, &mut simulation, selection, &Names::default()).expect("writable");
    simulation.set_probe_sink(Some(sink));
    simulation.run(&RunLimits::default());
    simulation.finish_probes().expect("written");
    std::fs::read(&path).expect("written")
}

#[test]
fn both_waveform_files_show_the_signals_of_the_event_world() {
    for format in [Format::Vcd, Format::Fst] {
        let file = record_signals(format, &Selection::default());
        let mut wave = wellen::simple::read_from_reader(Cursor::new(file)).expect("a waveform");
        let mut seen = |name: &str| -> Vec<(u64, String)> {
            let variable = wave.hierarchy().lookup_var(&["bench"], name);
            let variable = variable.unwrap_or_else(|| panic!("{format:?} has no {name}"));
            let signal = wave.hierarchy()[variable].signal_ref();
            wave.load_signals(&[signal]);
            let times = wave.time_table();
            let changes = wave.get_signal(signal).expect("loaded").iter_changes();
            changes
                .map(|(at, value)| (times[at as usize], value.to_string()))
                .collect()
        };
        let wide = seen("wide");
        let expected = (0..4u64).map(|n| (2000 * n, format!("{:0128b}", u128::from(n) << 100)));
        assert_eq!(wide, expected.collect::<Vec<_>>(), "{format:?}");
        let real: Vec<_> = seen("real")
            .into_iter()
            .map(|(at, r)| (at, r.parse()))
            .collect();
        let expected = [(0, 0.5), (2000, 0.25), (4000, 0.5), (6000, 0.75)];
        assert_eq!(real, expected.map(|(at, r)| (at, Ok(r))), "{format:?}");
        if format == Format::Vcd {
            let words: Vec<_> = seen("text").into_iter().map(|(_, word)| word).collect();
            assert_eq!(words, ["no_word", "word_1", "word_2", "word_3"]);
        }
    }
}

#[test]
fn signals_are_selected_by_name_and_counters_of_a_timeline() {
    let selection = Selection {
        paths: vec!["bench.r*".to_owned()],
        ..Selection::default()
    };
    let text = String::from_utf8(record_signals(Format::Vcd, &selection)).expect("text");
    assert!(text.contains(" real $end"), "{text}");
    assert!(!text.contains("wide") && !text.contains("safe"), "{text}");
    let events = decode(&record_signals(Format::Perfetto, &selection));
    let values: Vec<_> = events.iter().map(|e| (e.time, e.value)).collect();
    assert_eq!(
        values,
        [(2000, Some(0.25)), (4000, Some(0.5)), (6000, Some(0.75))]
    );
    assert!(events.iter().all(|event| event.track == "bench/real"));
}

#[test]
fn a_disk_that_is_full_is_reported_at_the_end() {
    let mut simulation = system();
    let sink = record_to(
        Path::new("/dev/full"),
        Format::Vcd,
        &mut simulation,
        &Selection::default(),
        &Names::default(),
    );
    // The declarations fit a buffer. Later errors are reported when it is flushed.
    let Ok(sink) = sink else { return };
    simulation.set_probe_sink(Some(sink));
    simulation.run(&RunLimits::default());
    assert!(simulation.finish_probes().is_err());
}
