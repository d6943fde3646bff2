//! Lines that get a place, copy-backs that are ignored, and hits by sharing.

use super::*;
use crate::cache::CacheLevel;

/// A shared level with 2 sets of 2 ways and a policy that only watches.
fn watched(spec: CacheSpec) -> Rig {
    let policies = vec![Policy::plain::<HitsBySharing>()];
    let spec = CacheSpec {
        level: CacheLevel::L2,
        policies,
        ..spec
    };
    Rig::new(Cache::new(spec).unwrap())
}

/// Reads a line for a core and returns the supplying level.
fn read(rig: &mut Rig, line: u64, core: u16) -> Level {
    let mut request = MemRequest::read(1, line, u32::MAX);
    request.source.compute_unit = core;
    rig.request.send(request);
    for _ in 0..60 {
        rig.bench.step(1);
        if let Some((_, fetch)) = rig.below.take()
            && fetch.kind == RequestKind::Read
        {
            rig.answer.send(fetch.answer(Level::DRAM));
        }
        if let Some((_, response)) = rig.response.take() {
            return response.level;
        }
    }
    panic!("no answer");
}

fn copy_back(rig: &mut Rig, line: u64, core: u16) {
    let mut request = MemRequest {
        kind: RequestKind::CopyBack,
        flags: flags::CLEAN,
        ..MemRequest::read(0, line, u32::MAX)
    };
    request.source.compute_unit = core;
    rig.request.send(request);
    rig.bench.step(10);
}

#[test]
fn inc_m2_2_a_copy_back_of_a_line_that_is_present_refreshes_it_and_is_counted() {
    let mut rig = watched(l1());
    read(&mut rig, 0, 0);
    read(&mut rig, 256, 0);
    copy_back(&mut rig, 0, 1);
    assert_eq!(rig.count("copy_backs_ignored"), 1);
    // The line used least recently is the other one.
    read(&mut rig, 512, 0);
    assert_eq!(read(&mut rig, 0, 0), Level::L2);
    assert_eq!(read(&mut rig, 256, 0), Level::DRAM);
}

#[test]
fn inc_m2_2_a_copy_back_that_meets_a_line_in_flight_is_dropped_and_counted() {
    let spec = CacheSpec {
        allocate: AllocatePolicy::OnFill,
        ..l1()
    };
    let mut rig = watched(spec);
    rig.request.send(MemRequest::read(1, 0, u32::MAX));
    let (_, fetch) = rig.bench.receive(&rig.below.clone());
    copy_back(&mut rig, 0, 1);
    rig.answer.send(fetch.answer(Level::DRAM));
    rig.bench.receive(&rig.response.clone());
    let counts = ["copy_backs_ignored", "lines_installed"].map(|name| rig.count(name));
    assert_eq!(counts, [1, 1]);
}

#[test]
fn a_line_is_installed_once_however_many_parts_it_comes_in() {
    for allocate in [AllocatePolicy::OnMiss, AllocatePolicy::OnFill] {
        let spec = CacheSpec {
            allocate,
            sector_bytes: Some(32),
            ..l1()
        };
        let mut rig = watched(spec);
        for words in [1, 1 << 8, 1 << 16, 1] {
            rig.request.send(MemRequest::read(1, 0, words));
            rig.bench.step(10);
            if let Some((_, fetch)) = rig.below.take() {
                rig.answer.send(fetch.answer(Level::DRAM));
            }
            rig.bench.step(10);
        }
        assert_eq!((rig.count("fills"), rig.count("lines_installed")), (3, 1));
        copy_back(&mut rig, 128, 0);
        assert_eq!(rig.count("lines_installed"), 2, "made by a copy-back");
    }
}

#[test]
fn a_refused_line_is_not_installed() {
    let policies = vec![Policy::of::<StaticBypass>(&StaticBypassSpec {
        pcs: vec![4],
    })];
    let spec = CacheSpec { policies, ..l1() };
    let mut rig = Rig::new(Cache::new(spec).unwrap());
    rig.read(0, 4);
    rig.read(0, 5);
    let counts = ["fills", "fills_not_installed", "lines_installed"].map(|name| rig.count(name));
    assert_eq!(counts, [2, 1, 1]);
}

#[test]
fn gmh_4_a_hit_is_private_until_another_core_touched_the_line() {
    let mut rig = watched(l1());
    let mut hits = |line, core| {
        read(&mut rig, line, core);
        (rig.count("private_hits"), rig.count("shared_hits"))
    };
    assert_eq!(hits(0, 3), (0, 0));
    assert_eq!(hits(0, 3), (1, 0));
    assert_eq!(hits(0, 4), (1, 1));
    assert_eq!(hits(0, 3), (1, 2), "the other core has touched it");
    copy_back(&mut rig, 0, 3);
    read(&mut rig, 0, 3);
    assert_eq!(rig.count("private_hits"), 2, "a copy-back starts anew");
}
