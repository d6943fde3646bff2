//! Worked examples of the reuse monitor (LSR-M14 and M14b).

use warpweave_framework::Environment;
use warpweave_trace::{LaunchGraph, Parent, Program};

use super::*;
use crate::artefact::Artefacts;
use crate::reuse_profile::{ChildReuse, ReuseProfile};

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
    ReuseMonitor::new(spec, 0, Arc::default(), None).expect("the paper's numbers are in range")
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
    launch(monitor)
}

/// Launches the first child of the parent.
fn launch(monitor: &mut ReuseMonitor) -> Prediction {
    monitor.on_child_launch(child_number(0))
}

/// Returns the place of a child of the parent, whose wavefront launches all with its first record.
fn child_number(number: u32) -> LaunchPlace {
    LaunchPlace {
        by: PARENT,
        wavefront: 0,
        record: 0,
        number,
    }
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

/// LSR-M14 item 6, `ParentWorkGroup`: all filters are emptied, and nothing else empties them.
#[test]
fn lsr_m14_the_end_of_a_launching_work_group_clears_filters_if_so_specified() {
    let after = |clear, source| {
        let mut here = deciding(source);
        here.spec.clear = clear;
        here = ReuseMonitor::new(here.spec, 0, Arc::default(), None).unwrap();
        read(&mut here, parent(), 0..10);
        read(&mut here, child(2), 0..10);
        read(&mut here, child(3), 0..10);
        here.on_work_group_family_finished();
        read(&mut here, child(3), 0..10);
        let relations = [Relation::ParentChild, Relation::Sibling, Relation::Own];
        relations.map(|relation| rate(&here, relation))
    };
    let kept = [(30, 30), (10, 20), (10, 30)];
    let cleared = [(20, 30), (10, 30), (0, 30)];
    let with_groups = FilterReset::ParentWorkGroup;
    assert_eq!(after(with_groups, PredictionSource::Monitor), cleared);
    for clear in [FilterReset::KernelOnly, FilterReset::default()] {
        assert_eq!(after(clear, PredictionSource::Monitor), kept);
    }
    // Sets are emptied at the end of a parent kernel alone.
    assert_eq!(after(with_groups, PredictionSource::Exact), kept);
    // However many keys the filters hold.
    let mut full = deciding(PredictionSource::Monitor);
    full.spec.clear = with_groups;
    read(&mut full, child(2), 0..10_000);
    let misses = u64::from(full.counter(Relation::Own).misses);
    assert_eq!(full.own.filter.insertions(), misses);
    assert!(misses > 2000, "{misses}");
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
    exact = ReuseMonitor::new(exact.spec, 0, Arc::default(), None).unwrap();
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
    assert_eq!(launch(&mut few), warm);
    assert_eq!(launch(&mut few), warm);
    assert_eq!(launch(&mut few).relation, None);
    let mut warmed = monitor(KeyMode::LineOwner);
    read(&mut warmed, child(2), 0..64);
    assert_eq!(launch(&mut warmed).relation, None);
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
    assert!(!launch(&mut deciding(PredictionSource::Never)).is_high_priority);
}

#[test]
fn random_predictions_are_those_of_a_seed_and_fall_both_ways() {
    let decided = |seed| {
        let mut monitor = deciding(PredictionSource::Random(seed));
        let high = || launch(&mut monitor).is_high_priority;
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
        launch(&mut monitor);
    }
    assert_eq!(monitor.predicted, [0, 3, 0, 0]);
}

/// Returns the monitor of a unit whose predictions come from a profile. The parent launches
/// kernels 2, 3, … with these accesses: all, to own lines, to its parent's, to a sibling's.
fn knowing(children: &[[u64; 4]], shuffle: Option<u64>) -> ReuseMonitor {
    let parents = [None, None]
        .into_iter()
        .chain((0_u8..).zip(children).map(|(lane, _)| {
            Some(Parent {
                kernel: PARENT.kernel,
                work_group: PARENT.work_group,
                wavefront: 0,
                record: 0,
                lane,
                stream: 7,
            })
        }));
    let program = Arc::new(Program::default());
    let reuse = (2..).zip(children).map(|(kernel, &counts)| {
        let [accesses, own, parent, sibling] = counts;
        let reuse = ChildReuse {
            accesses,
            own,
            parent,
            sibling,
        };
        (kernel, reuse)
    });
    let mut profile = ReuseProfile::default().with_children(reuse);
    if let Some(seed) = shuffle {
        profile = profile.shuffled(seed);
    }
    let mut artefacts = Artefacts::of(Arc::clone(&program));
    artefacts.add(program.hash(), profile);
    let mut environment = Environment::new("unit", 0);
    environment.provide(Arc::new(artefacts));
    let oracle = Oracle::of(&environment, Arc::new(LaunchGraph::of(parents))).unwrap();
    let spec = deciding(PredictionSource::Profile).spec;
    ReuseMonitor::new(spec, 0, Arc::default(), Some(oracle)).unwrap()
}

/// Returns what the oracle says of the children of the parent, after the warm-up.
fn foretold(monitor: &mut ReuseMonitor, children: u32) -> Vec<Option<Relation>> {
    monitor.children = 2;
    let predicted = (0..children).map(|number| monitor.on_child_launch(child_number(number)));
    predicted.map(|predicted| predicted.relation).collect()
}

/// LSR-M14 item 5, `Profile`: the rule on the ratios of LSR-M7.
#[test]
fn lsr_m14_the_oracle_applies_the_rule_to_profiled_ratios() {
    let [parent, sibling, own] =
        [Relation::ParentChild, Relation::Sibling, Relation::Own].map(Some);
    let vectors = [
        // LSR-M7: 0.6 with its parent.
        ([5, 2, 3, 0], parent),
        ([4, 1, 0, 3], sibling),
        ([50, 45, 10, 20], own),
        // One half is not more than one half.
        ([4, 1, 0, 2], None),
        ([100, 0, 51, 50], parent),
        // Ties.
        ([100, 0, 90, 90], None),
        ([100, 70, 70, 0], None),
        // The largest of all decides, not the first above the threshold.
        ([100, 60, 70, 80], sibling),
        // Shares that only differ beyond the precision of floating point.
        ([u64::MAX, 0, u64::MAX - 1, u64::MAX - 2], parent),
        ([0, 0, 0, 0], None),
    ];
    let mut monitor = knowing(&vectors.map(|(counts, _)| counts), None);
    let expected = vectors.map(|(_, relation)| relation);
    assert_eq!(foretold(&mut monitor, 10), expected);
    // What the unit has read says nothing, and a kernel that the profile does not know is none.
    read(&mut monitor, child(2), 0..5);
    read(&mut monitor, child(2), 0..5);
    assert_eq!(foretold(&mut monitor, 11)[..10], expected);
    assert_eq!(foretold(&mut monitor, 11)[10], None);
}

#[test]
fn the_oracle_binds_the_first_children_like_the_monitor() {
    let mut monitor = knowing(&[[10, 0, 0, 0]; 3], None);
    let first = |monitor: &mut ReuseMonitor, number| {
        let predicted = monitor.on_child_launch(child_number(number));
        (predicted.relation, predicted.is_bound)
    };
    let bound = (Some(Relation::ParentChild), true);
    assert_eq!(first(&mut monitor, 0), bound);
    assert_eq!(first(&mut monitor, 1), bound);
    assert_eq!(first(&mut monitor, 2), (None, false));
    assert_eq!((monitor.bound, monitor.predicted), (2, [1, 0, 0, 0]));
}

#[test]
fn a_profile_dealt_out_at_random_gives_the_same_predictions_to_other_children() {
    let children: Vec<[u64; 4]> = (0..20).map(|child| [100, 0, 5 * child, 0]).collect();
    let mut told = foretold(&mut knowing(&children, None), 20);
    let mut dealt = foretold(&mut knowing(&children, Some(1)), 20);
    assert_ne!(told, dealt);
    assert_eq!(dealt, foretold(&mut knowing(&children, Some(1)), 20));
    told.sort_unstable();
    dealt.sort_unstable();
    assert_eq!(told, dealt);
}

#[test]
fn an_oracle_without_a_profile_is_refused_with_what_gives_one() {
    let environment = Environment::new("unit", 0);
    let error = Oracle::of(&environment, Arc::default()).unwrap_err();
    assert_eq!(error.field, "prediction");
    let expected = "a reuse profile is required, but none was provided; with `Profile`, set `profile: Compute` in the scenario";
    assert_eq!(error.message, expected);
}
