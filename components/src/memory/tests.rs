//! Tests of words and bytes of messages, and of levels passed upstream.

use std::thread;

use warpweave_framework::{Environment, Kind, Link, Sink, State, TestBench};

use super::*;
use crate::cache::Cache;
use crate::cluster_port::{ClusterPort, ClusterPortSpec};
use crate::icc::{IccSpec, IccUnit};
use crate::{cache, cluster_port, icc};

#[test]
fn word_masks_cover_every_touched_word() {
    assert_eq!(word_mask(0, 4), 1);
    assert_eq!(word_mask(2, 4), 0b11);
    assert_eq!(word_mask(124, 4), 1 << 31);
    assert_eq!(full_line(128), u32::MAX);
    assert_eq!(full_line(32), 0xff);
}

#[test]
fn packets_count_control_and_data() {
    assert_eq!(MemRequest::read(0, 0, u32::MAX).wire_bytes(), 8);
    assert_eq!(MemRequest::write(0, 0, u32::MAX).wire_bytes(), 136);
    assert_eq!(
        MemRequest::read(0, 0, u32::MAX)
            .answer(Level::L2)
            .wire_bytes(),
        136
    );
    assert_eq!(
        MemRequest::write(0, 0, u32::MAX)
            .answer(Level::L2)
            .wire_bytes(),
        8
    );
}

#[test]
fn a_name_is_one_level_whoever_names_it() {
    let known = [Level::L1, Level::COALESCED, Level::L2, Level::DRAM];
    let names = ["L1", "Coalesced", "L2", "Dram"];
    assert_eq!(known.map(Level::name), names);
    assert_eq!(names.map(Level::named), known);
    let named = || thread::spawn(|| ["third level", "stacked memory"].map(Level::named));
    let threads: Vec<_> = (0..4).map(|_| named()).collect();
    for thread in threads {
        let levels = thread.join().expect("naming does not fail");
        assert_eq!(levels.map(Level::name), ["third level", "stacked memory"]);
        assert_eq!(levels, ["third level", "stacked memory"].map(Level::named));
    }
}

#[test]
fn a_level_is_saved_by_its_name() {
    let mut level = Some(Level::named("third level"));
    let bytes = State::save(|state| state.field("level", &mut level)).expect("plain data");
    let name = b"third level";
    assert!(bytes.windows(name.len()).any(|part| part == name));
    let mut loaded = Some(Level::L1);
    State::load(&bytes, |state| state.field("level", &mut loaded)).expect("the same field");
    assert_eq!(loaded, level);
}

/// Builds a first-level cache, a coalescing unit and a cluster port, answered by a level that this
/// crate does not know.
fn answered_by(level: Level) -> (TestBench, Sink<MemResponse>) {
    let environment = Environment::default();
    let mut bench = TestBench::new();
    let l1 = Cache::new(cache::tests::l1());
    bench.add("l1", l1.expect("a valid specification"));
    let unit = IccSpec {
        up_ports: 1,
        ..icc::tests::spec()
    };
    let unit = IccUnit::build(unit, &environment);
    bench.add("icc", unit.expect("a valid specification"));
    let port = ClusterPortSpec {
        up_ports: 1,
        ..cluster_port::tests::spec()
    };
    let port = ClusterPort::build(port, &environment);
    bench.add("port", port.expect("a valid specification"));
    for (a, b) in [("l1.down", "icc.up[0]"), ("icc.down", "port.up[0]")] {
        bench.builder().connect(a, b, Link::latency(1));
    }
    let requests = bench.source("l1.up.request");
    let below = bench.source("port.down.response");
    bench.sink::<MemRequest>("port.down.request");
    for id in 0..2 {
        let line = u64::from(id) * 128;
        requests.send_at(5, MemRequest::read(id, line, 1));
        let fetch = MemRequest {
            flags: flags::TRACKED,
            ..MemRequest::read(id, line, u32::MAX)
        };
        below.send_at(40, fetch.answer(level));
    }
    let responses = bench.sink("l1.up.response");
    (bench, responses)
}

#[test]
fn a_foreign_level_passes_every_block_and_a_checkpoint() {
    let level = Level::named("victim buffer");
    let (mut bench, responses) = answered_by(level);
    bench.step(60);
    let levels: Vec<_> = responses.take_all().iter().map(|(_, r)| r.level).collect();
    assert_eq!(levels, [level; 2]);
    let cuts: Vec<_> = (38..52).collect();
    TestBench::check_state(|| answered_by(level).0, &cuts, 60);
}
