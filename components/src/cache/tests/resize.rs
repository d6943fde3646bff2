//! Tests of caches that change the number of ways in use.

use super::*;
use crate::launch::{CacheSizes, Resizable};

/// Cache with a scripted sequence of commands; line 0 maps to way 0.
struct Sized {
    rig: Rig,
    command: Source<CacheCommand>,
    done: Sink<CacheCommandDone>,
}

impl Sized {
    fn new(spec: CacheSpec) -> Self {
        let mut rig = Rig::new(spec);
        let command = rig.bench.source("cache.control.command");
        let done = rig.bench.sink("cache.control.done");
        Self { rig, command, done }
    }

    /// Commands a size of `bytes` in `cycle` and expects the response in `answered`.
    fn resize(&mut self, cycle: Cycle, bytes: u32, answered: Cycle) {
        self.command.send_at(cycle, CacheCommand::Resize { bytes });
        self.rig
            .bench
            .expect_at(&self.done, answered, &CacheCommandDone);
    }

    /// Reads a line that must be present.
    fn hits(&mut self, line: u64) {
        let start = self.rig.bench.cycle() + 2;
        self.rig.read_at(start, 1, line);
        self.rig.above_at(start + 5, 1, Level::L1);
    }

    /// Returns the numbers of invalidations and of dropped lines.
    fn counts(&mut self) -> [u64; 2] {
        ["invalidations", "lines_invalidated"].map(|name| self.rig.count(name))
    }
}

#[test]
fn lines_of_ways_that_go_are_dropped_and_the_others_stay() {
    let mut cache = Sized::new(l1());
    // Ways 0 and 1 of set 0, way 0 of set 1.
    cache.rig.warm(0);
    cache.rig.warm(256);
    let start = cache.rig.warm(128);
    cache.resize(start, 256, start);
    cache.hits(0);
    cache.hits(128);
    assert_eq!(cache.counts(), [0, 1]);
    // One way is left: each line displaces the one before.
    for line in [256, 0, 256] {
        cache.rig.warm(line);
    }
    assert_eq!(cache.rig.count("evictions"), 3);
}

#[test]
fn ways_that_come_back_are_empty() {
    let mut cache = Sized::new(l1());
    cache.rig.warm(0);
    let start = cache.rig.warm(256);
    cache.resize(start, 256, start);
    cache.resize(start + 5, 512, start + 5);
    cache.hits(0);
    cache.rig.warm(256);
    cache.hits(0);
    cache.hits(256);
    assert_eq!(cache.counts(), [0, 1]);
    assert_eq!(cache.rig.count("evictions"), 0);
}

#[test]
fn another_size_waits_for_what_is_in_flight_and_holds_requests_back() {
    let mut cache = Sized::new(l1());
    let at = cache.rig.warm(256) + 8;
    cache.rig.read_at(at, 1, 0);
    cache
        .command
        .send_at(at + 1, CacheCommand::Resize { bytes: 256 });
    cache.rig.read_at(at + 2, 2, 256);
    let fetch = cache.rig.below_at(at + 2, RequestKind::Read, 0, ALL);
    cache.rig.answer_at(at + 20, &fetch);
    cache.rig.above_at(at + 23, 1, Level::DRAM);
    let done = &cache.done;
    cache.rig.bench.expect_at(done, at + 23, &CacheCommandDone);
    // Line 256 is in way 0 and stays.
    cache.rig.above_at(at + 24 + 5, 2, Level::L1);
    assert_eq!(cache.counts(), [0, 1]);
    assert_eq!(cache.rig.count("blocked_invalidation"), 22);
}

#[test]
fn dirty_lines_of_ways_that_go_are_sent_down_before_the_answer() {
    let spec = CacheSpec {
        size_bytes: 1024,
        ways: 8,
        ..l2(PartialWrite::WordMask)
    };
    let mut cache = Sized::new(spec);
    for way in 0..8 {
        cache.rig.write_at(1 + way, way as u32, way * 128, 1);
    }
    for way in 0..8 {
        cache.rig.above_at(1 + way + 5, way as u32, Level::L2);
    }
    // Four at a time fit the miss queue.
    let start = cache.rig.bench.cycle() + 2;
    cache
        .command
        .send_at(start, CacheCommand::Resize { bytes: 128 });
    for (number, cycle) in [2, 3, 4, 5, 7, 8, 9].into_iter().enumerate() {
        let line = 128 * (1 + number as u64);
        cache
            .rig
            .below_at(start + cycle, RequestKind::CopyBack, line, 1);
    }
    let done = &cache.done;
    cache
        .rig
        .bench
        .expect_at(done, start + 9, &CacheCommandDone);
    assert_eq!(cache.counts(), [0, 7]);
    assert_eq!(cache.rig.count("copy_backs"), 7);
    // The dirty line of way 0 is still here.
    let at = cache.rig.bench.cycle() + 2;
    cache.rig.read_at(at, 9, 0);
    cache.rig.above_at(at + 5, 9, Level::L2);
}

#[test]
fn policies_and_prefetchers_hear_of_lines_whose_ways_go() {
    use crate::cache::prefetcher::{NextLine, NextLineSpec};
    let spec = CacheSpec {
        prefetchers: vec![Policy::of::<NextLine>(&NextLineSpec { degree: 1 })],
        size_bytes: 512,
        ways: 4,
        ..l1()
    };
    let mut cache = Sized::new(spec);
    // The line that follows comes into way 1.
    let start = cache.rig.bench.cycle() + 2;
    cache.rig.read_at(start, 1, 0);
    for kind in [RequestKind::Read, RequestKind::Prefetch] {
        let (at, fetch) = cache.rig.bench.receive(&cache.rig.below);
        assert_eq!(fetch.kind, kind);
        cache.rig.answer_at(at + 20, &fetch);
    }
    cache.rig.bench.step(100);
    let start = cache.rig.bench.cycle() + 2;
    cache.resize(start, 128, start);
    assert_eq!(cache.rig.count("prefetches_unused"), 1);
}

#[test]
#[should_panic(
    expected = "a first-level cache with 2 ways of 256 bytes cannot be resized to 384 bytes"
)]
fn a_part_of_a_way_ends_the_run() {
    let mut cache = Sized::new(l1());
    cache.resize(10, 384, 10);
}

#[test]
fn a_cache_says_that_it_can_change_its_size_and_refuses_sizes_that_it_cannot_have() {
    let mut cache = Cache::new(l1()).unwrap();
    let mut said = Facts::new();
    cache.facts(port_ids::CONTROL, &mut said);
    assert!(said.get::<Resizable>().is_some());
    let mut refusal = |sizes: &[u32]| {
        let mut facts = Facts::new();
        facts.publish(CacheSizes(sizes.to_vec()));
        let unfit = cache.learn(port_ids::CONTROL, &facts).err();
        unfit.map(|unfit| format!("{}: {}", unfit.field, unfit.message))
    };
    assert_eq!(refusal(&[512, 256]), None);
    insta::assert_snapshot!(
        refusal(&[768, 256]).unwrap(),
        @"size_bytes: 512 differs from the 768 bytes left by the smallest split of local memory"
    );
    insta::assert_snapshot!(
        refusal(&[512, 300]).unwrap(),
        @"ways: a first-level cache with 2 ways of 256 bytes cannot be resized to 300 bytes"
    );
    insta::assert_snapshot!(
        refusal(&[512, 0]).unwrap(),
        @"ways: a first-level cache with 2 ways of 256 bytes cannot be resized to 0 bytes"
    );
}

#[test]
fn a_flush_leaves_no_line_and_passes_modified_words_on() {
    let mut cache = Cache::new(l2(PartialWrite::WordMask)).unwrap();
    let mut onward = Onward::default();
    let up = port_ids::UP;
    for (line, kind) in [(0x000, RequestKind::Read), (0x080, RequestKind::Write)] {
        let mut request = MemRequest {
            kind,
            write_sequence: 7,
            ..MemRequest::read(0, line, 0b11)
        };
        let taken = cache.functional_access(up, &mut request, &mut onward);
        taken.unwrap();
    }
    let sent = |onward: &mut Onward| -> Vec<(u64, RequestKind, u32)> {
        let requests = onward.take_sent::<MemRequest>().into_iter();
        requests
            .map(|(_, r)| (r.line, r.kind, r.write_sequence))
            .collect()
    };
    sent(&mut onward);
    cache.flush(&mut onward);
    assert_eq!(sent(&mut onward), [(0x080, RequestKind::CopyBack, 7)]);
    cache.flush(&mut onward);
    assert_eq!(sent(&mut onward), []);
}
