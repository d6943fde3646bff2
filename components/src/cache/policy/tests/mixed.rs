//! A test policy that owns most decisions, over one level and over two.

use proptest::prelude::*;
use warpweave_framework::{EngineOptions, Link, Order, Outcome};

use super::*;
use crate::building_blocks::{EchoMemory, EchoMemorySpec};
use crate::cache::AtomicPolicy;

/// Policy whose hits leave and whose clean victims go down, both depending on the instruction.
#[derive(State, Statistics)]
struct Mixed;

impl PolicyKind for Mixed {
    type Role = CachePolicies;
    const NAME: &'static str = "Mixed";
    const SUMMARY: &'static str = "Hits leave and clean victims go down";
    type Spec = NoFields;
    fn build(
        _spec: NoFields,
        _context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        Ok(Box::new(Self))
    }
}

impl CachePolicy for Mixed {
    fn owns(&self) -> &'static [Field] {
        &[
            Field::HandDown,
            Field::Drop,
            Field::ResponseFlags,
            Field::RequestFlags,
            Field::Keep,
        ]
    }

    fn decide_miss(&self, _: &TagLookup<'_>, decision: &mut MissDecision) {
        decision.flags = 0x80;
        // Not its field: without effect.
        decision.insert = false;
    }

    fn decide_fill(&self, fill: &Fill, decision: &mut FillDecision) {
        decision.keep = fill.source.pc != 13;
    }

    fn decide_evict(&self, _: &Eviction, decision: &mut EvictDecision) {
        decision.hand_down = true;
    }

    fn decide_response(&self, hit: &TagLookup<'_>, decision: &mut ResponseDecision) {
        decision.drop = hit.request.source.pc == 2;
        decision.flags = 0x40;
    }
}

fn mixed(spec: CacheSpec) -> Rig {
    let policies = vec![Policy::plain::<Mixed>()];
    Rig::new(Cache::new(CacheSpec { policies, ..spec }).unwrap())
}

#[test]
fn hits_leave_when_a_policy_drops_them() {
    let mut rig = mixed(l1());
    rig.read(0, 1);
    assert_eq!(rig.read(0, 1), (Level::L1, 0));
    assert_eq!(rig.read(0, 2), (Level::L1, 0));
    assert_eq!(rig.read(0, 1), (Level::L2, u32::MAX));
}

#[test]
fn clean_victims_go_down_flagged_and_flags_ride_with_requests_and_responses() {
    let mut rig = mixed(l1());
    for n in 0..2 {
        rig.read(n * 256, 1);
    }
    let request = MemRequest::read(1, 512, 1);
    rig.request.send(request);
    let (_, victim) = rig.bench.receive(&rig.below.clone());
    assert_eq!(
        (victim.kind, victim.line, victim.flags, victim.words),
        (RequestKind::CopyBack, 0, flags::CLEAN, u32::MAX)
    );
    let (_, fetch) = rig.bench.receive(&rig.below.clone());
    assert_eq!(
        (fetch.kind, fetch.line, fetch.flags),
        (RequestKind::Read, 512, 0x80)
    );
    rig.answer.send(fetch.answer(Level::L2));
    let (_, response) = rig.bench.receive(&rig.response.clone());
    assert_eq!(response.flags, 0);
    rig.request.send(request);
    let (_, response) = rig.bench.receive(&rig.response.clone());
    assert_eq!((response.level, response.flags), (Level::L1, 0x40));
}

#[test]
fn a_line_refused_when_it_comes_gives_its_place_back() {
    let mut rig = mixed(l1());
    assert_eq!(rig.read(0, 13), (Level::L2, u32::MAX));
    assert_eq!(rig.read(0, 13), (Level::L2, u32::MAX));
    assert_eq!(rig.count("fills_not_installed"), 2);
}

#[test]
fn a_line_with_words_newer_than_below_keeps_its_place_whatever_a_policy_says() {
    let spec = CacheSpec {
        write: WritePolicy::WriteBack {
            partial: PartialWrite::WordMask,
        },
        ..l1()
    };
    let mut rig = mixed(spec);
    rig.request.send(MemRequest::write(1, 0, 2));
    rig.bench.receive(&rig.response.clone());
    assert_eq!(rig.read(0, 13), (Level::L2, !2));
    for n in 1..3 {
        rig.read(n * 256, 1);
    }
    assert_eq!((rig.count("copy_backs"), rig.count("evictions")), (1, 1));
}

/// Builds a first and a second level with it, both with small copy-back buffers, over a memory
/// that stalls at random. Returns the responses and the lines copied back to the second level.
fn hierarchy(
    entries: [u32; 2],
    memory: EchoMemorySpec,
    requests: &[(u64, u64, bool)],
    options: EngineOptions,
) -> (Vec<(u64, MemResponse)>, u64) {
    let write = WritePolicy::WriteBack {
        partial: PartialWrite::WordMask,
    };
    let first = CacheSpec {
        allocate: AllocatePolicy::OnFill,
        copy_back_entries: Some(entries[0]),
        policies: vec![Policy::plain::<Mixed>()],
        atomics: AtomicPolicy::Execute { latency_cycles: 3 },
        write,
        ..l1()
    };
    let second = CacheSpec {
        allocate: AllocatePolicy::OnFill,
        copy_back_entries: Some(entries[1]),
        mshr_entries: 2,
        mshr_merges: 2,
        miss_queue_entries: 2,
        write,
        ..l1()
    };
    let mut bench = TestBench::new();
    bench.set_options(options);
    bench.add("l1", Cache::new(first).unwrap());
    bench.add("l2", Cache::new(second).unwrap());
    bench.add("memory", EchoMemory::new(&memory).unwrap());
    let narrow = Link::latency(1).capacity(1);
    for (a, b) in [("l1.down", "l2.up"), ("l2.down", "memory.up")] {
        bench.builder().connect(a, b, narrow);
    }
    let source = bench.source("l1.up.request");
    let responses = bench.sink("l1.up.response");
    responses.stall_randomly(memory.seed, memory.stalls);
    let mut cycle = 1;
    for (id, &(gap, line, writes)) in (0..).zip(requests) {
        cycle += gap;
        let request = if writes {
            MemRequest::write(id, line * 128, 1)
        } else {
            MemRequest::read(id, line * 128, 1)
        };
        source.send_at(cycle, request);
    }
    assert_eq!(bench.run_until_quiet(), Outcome::Done);
    let received = bench.statistics("l2").counter("copy_backs_received");
    (responses.take_all(), received.unwrap())
}

proptest! {
    #[test]
    fn inc_m2_full_copy_back_buffers_never_stand_still(
        entries in [1u32..3, 1u32..3],
        (latency_cycles, stalls, seed) in (1u32..20, 0u32..15, any::<u64>()),
        requests in prop::collection::vec((0u64..3, 0u64..24, any::<bool>()), 1..120),
    ) {
        let memory = EchoMemorySpec { stalls, seed, ..EchoMemorySpec::latency(latency_cycles) };
        let run = |options| hierarchy(entries, memory, &requests, options);
        let usual = run(EngineOptions::default());
        prop_assert_eq!(usual.0.len(), requests.len());
        let awake = EngineOptions { sleeping: false, ..EngineOptions::default() };
        prop_assert_eq!(&run(awake), &usual);
        let shuffled =
            EngineOptions { order: Order::Shuffled { seed }, ..EngineOptions::default() };
        prop_assert_eq!(&run(shuffled), &usual);
    }
}
