//! Worked examples of the reuse monitor (LSR-M14 and M14b).

use super::*;

fn monitor(key: KeyMode) -> ReuseMonitor {
    let spec = ReuseMonitorSpec {
        filter: BloomSpec {
            bits: 4840,
            hashes: 3,
        },
        key,
        threshold_percent: 50,
        warm_up_children: 2,
        warm_up_lookups: 64,
        self_all: false,
        prediction: PredictionSource::Monitor,
        clear: FilterReset::default(),
    };
    ReuseMonitor::new(spec, 0, Arc::default()).expect("the paper's numbers are in range")
}

const PARENT: WorkGroupId = WorkGroupId {
    kernel: 1,
    work_group: 4,
};

fn from_host(kernel: u32, work_group: u32) -> Reader {
    Reader {
        own: WorkGroupId { kernel, work_group },
        parent: None,
        may_launch: false,
    }
}

fn parent() -> Reader {
    Reader {
        own: PARENT,
        parent: None,
        may_launch: true,
    }
}

fn child(kernel: u32) -> Reader {
    Reader {
        own: WorkGroupId {
            kernel,
            work_group: 0,
        },
        parent: Some(PARENT),
        may_launch: false,
    }
}

fn read(monitor: &mut ReuseMonitor, reader: Reader, lines: std::ops::Range<u64>) {
    for line in lines {
        monitor.on_read(&reader, line * 128);
    }
}

fn rate(monitor: &ReuseMonitor, relation: Relation) -> (u32, u64) {
    let counter = monitor.counter(relation);
    (counter.hits, counter.lookups())
}

/// Returns the prediction of the first launch after warm-up.
fn prediction(monitor: &mut ReuseMonitor) -> Prediction {
    monitor.children = 2;
    monitor.on_child_launch()
}

#[test]
fn a_child_that_reads_what_its_parent_read_is_parent_child() {
    for key in [KeyMode::Line, KeyMode::LineOwner] {
        let mut here = monitor(key);
        read(&mut here, parent(), 0..10);
        read(&mut here, child(2), 0..10);
        assert_eq!(rate(&here, Relation::ParentChild), (10, 10));
        let expected = Prediction {
            relation: Some(Relation::ParentChild),
            is_high_priority: true,
            is_bound: false,
        };
        assert_eq!(prediction(&mut here), expected);
    }
}

#[test]
fn a_child_on_another_unit_finds_nothing_of_its_parent() {
    let mut there = monitor(KeyMode::LineOwner);
    read(&mut there, child(2), 0..10);
    assert_eq!(rate(&there, Relation::ParentChild), (0, 10));
    assert_eq!(prediction(&mut there).relation, None);
}

#[test]
fn siblings_are_predicted_once_their_rate_exceeds_one_half() {
    let mut here = monitor(KeyMode::LineOwner);
    read(&mut here, parent(), 100..120);
    read(&mut here, child(2), 0..20);
    let before = rate(&here, Relation::Sibling);
    assert_eq!(before, (0, 20));
    read(&mut here, child(3), 0..20);
    assert_eq!(rate(&here, Relation::Sibling), (20, 40));
    assert_eq!(prediction(&mut here).relation, None);
    read(&mut here, child(4), 0..20);
    assert_eq!(rate(&here, Relation::Sibling), (40, 60));
    let expected = Prediction {
        relation: Some(Relation::Sibling),
        is_high_priority: true,
        is_bound: false,
    };
    assert_eq!(prediction(&mut here), expected);
}

/// LSR-M14b (c) and (d): a kernel's own repeats are neither for nor against sibling reuse.
#[test]
fn own_repeats_are_self_reuse_and_say_nothing_about_siblings() {
    let own = Prediction {
        relation: Some(Relation::Own),
        is_high_priority: false,
        is_bound: false,
    };
    for key in [KeyMode::LineOwner, KeyMode::Line] {
        let mut here = monitor(key);
        for _ in 0..10 {
            read(&mut here, child(2), 0..5);
        }
        assert_eq!(rate(&here, Relation::Own), (45, 50));
        assert_eq!(rate(&here, Relation::Sibling), (0, 5));
        assert_eq!(prediction(&mut here), own);
    }
}

/// LSR-M14b (c): keys of lines alone take a sibling's lines for the kernel's own.
#[test]
fn keys_of_lines_alone_cannot_tell_siblings_from_repeats() {
    let mut here = monitor(KeyMode::Line);
    read(&mut here, parent(), 100..120);
    for kernel in 2..5 {
        read(&mut here, child(kernel), 0..20);
    }
    assert_eq!(rate(&here, Relation::Sibling), (0, 20));
    assert_eq!(rate(&here, Relation::Own), (40, 60));
    assert_eq!(prediction(&mut here).relation, Some(Relation::Own));
}

/// LSR-M14b (e): two siblings that read their lines twice.
#[test]
fn repeated_reads_do_not_cap_the_rate_of_siblings() {
    let mut here = monitor(KeyMode::LineOwner);
    for kernel in [2, 3] {
        read(&mut here, child(kernel), 0..20);
        read(&mut here, child(kernel), 0..20);
    }
    assert_eq!(rate(&here, Relation::Own), (40, 80));
    assert_eq!(rate(&here, Relation::Sibling), (20, 40));
}

/// LSR-M14 item 6: hits of different lines read once are false positives of full filters.
#[test]
fn a_filter_that_is_emptied_in_time_has_few_false_positives() {
    let own_hits = |clear, lines: u64, times: u32| {
        let mut here = monitor(KeyMode::Line);
        here.spec.clear = clear;
        for _ in 0..times {
            read(&mut here, child(2), 0..lines);
        }
        rate(&here, Relation::Own).0
    };
    let in_time = FilterReset::Insertions(1000);
    let never = FilterReset::KernelOnly;
    assert_eq!(own_hits(in_time, 10_000, 1), 301);
    assert_eq!(own_hits(never, 10_000, 1), 7075);
    for clear in [in_time, never] {
        assert_eq!(own_hits(clear, 900, 2), 919);
    }
    assert_eq!(own_hits(in_time, 1500, 2), 85);
    assert_eq!(own_hits(never, 1500, 2), 1612);
    let mut exact = monitor(KeyMode::Line);
    exact.spec.prediction = PredictionSource::Exact;
    exact = ReuseMonitor::new(exact.spec, 0, Arc::default()).unwrap();
    read(&mut exact, child(2), 0..1500);
    read(&mut exact, child(2), 0..1500);
    assert_eq!(rate(&exact, Relation::Own), (1500, 3000));
}

#[test]
fn plain_kernels_are_measured_for_self_reuse_only_on_request() {
    let reader = from_host(0, 3);
    let mut quiet = monitor(KeyMode::LineOwner);
    read(&mut quiet, reader, 0..5);
    assert_eq!(rate(&quiet, Relation::Own), (0, 0));
    let mut all = monitor(KeyMode::LineOwner);
    all.spec.self_all = true;
    read(&mut all, reader, 0..5);
    read(&mut all, from_host(0, 4), 0..5);
    read(&mut all, from_host(1, 4), 0..5);
    assert_eq!(rate(&all, Relation::Own), (5, 15));
    assert_eq!(rate(&all, Relation::Sibling), (0, 0));
}

#[test]
fn the_first_children_follow_their_parent_until_the_filters_are_warm() {
    let warm = Prediction {
        relation: Some(Relation::ParentChild),
        is_high_priority: true,
        is_bound: true,
    };
    let mut few = monitor(KeyMode::LineOwner);
    assert_eq!(few.on_child_launch(), warm);
    assert_eq!(few.on_child_launch(), warm);
    assert_eq!(few.on_child_launch().relation, None);
    let mut warmed = monitor(KeyMode::LineOwner);
    read(&mut warmed, child(2), 0..64);
    assert_eq!(warmed.on_child_launch().relation, None);
}

#[test]
fn a_finished_parent_clears_the_filters_and_keeps_the_counters() {
    let mut here = monitor(KeyMode::LineOwner);
    read(&mut here, parent(), 0..10);
    read(&mut here, child(2), 0..10);
    here.on_parent_finished();
    assert_eq!(rate(&here, Relation::ParentChild), (10, 10));
    read(&mut here, child(2), 0..10);
    assert_eq!(rate(&here, Relation::ParentChild), (10, 20));
    assert_eq!(rate(&here, Relation::Own), (0, 20));
}

#[test]
fn full_counters_are_halved_together() {
    let mut counter = HitCounter {
        hits: u32::MAX,
        misses: 11,
    };
    counter.count(false);
    assert_eq!((counter.hits, counter.misses), (u32::MAX / 2, 6));
}

fn deciding(prediction: PredictionSource) -> ReuseMonitor {
    let mut monitor = monitor(KeyMode::LineOwner);
    monitor.spec.prediction = prediction;
    monitor
}

#[test]
fn controls_predict_the_same_for_all_or_the_contrary() {
    let high = |source, reads: bool| {
        let mut monitor = deciding(source);
        if reads {
            read(&mut monitor, parent(), 0..10);
            read(&mut monitor, child(2), 0..10);
        }
        prediction(&mut monitor).is_high_priority
    };
    let decided = |source| [high(source, true), high(source, false)];
    assert_eq!(decided(PredictionSource::Monitor), [true, false]);
    assert_eq!(decided(PredictionSource::Exact), [true, false]);
    assert_eq!(decided(PredictionSource::Inverted), [false, true]);
    assert_eq!(decided(PredictionSource::Always), [true, true]);
    assert_eq!(decided(PredictionSource::Never), [false, false]);
    // Not even while the filters are cold.
    assert!(
        !deciding(PredictionSource::Never)
            .on_child_launch()
            .is_high_priority
    );
}

#[test]
fn random_predictions_are_those_of_a_seed_and_fall_both_ways() {
    let decided = |seed| {
        let mut monitor = deciding(PredictionSource::Random(seed));
        let high = || monitor.on_child_launch().is_high_priority;
        std::iter::repeat_with(high).take(200).collect::<Vec<_>>()
    };
    assert_eq!(decided(1), decided(1));
    assert_ne!(decided(1), decided(2));
    let high = decided(1).into_iter().filter(|high| *high).count();
    assert!((70..130).contains(&high), "{high}");
}

#[test]
fn decisions_are_counted() {
    let mut monitor = deciding(PredictionSource::Always);
    for _ in 0..3 {
        monitor.on_child_launch();
    }
    assert_eq!(monitor.predicted, [0, 3, 0, 0]);
}
