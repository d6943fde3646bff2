//! The promises that every component makes to the kernel and to its neighbours, on components of
//! the library: mixed traffic, gaps, stalls at every port, an unordered memory below.

use warpweave_components::cache::replacement::Lru;
use warpweave_components::cache::{
    AllocatePolicy, AtomicPolicy, Cache, CacheLevel, CacheSpec, PartialWrite, PrefetchSpec,
    SetHash, WritePolicy,
};
use warpweave_components::checkers::surround_with_memory;
use warpweave_components::clock_crossing::{ClockCrossing, ClockCrossingSpec};
use warpweave_components::cluster_port::{ClusterPort, ClusterPortSpec};
use warpweave_components::crossbar::{
    Crossbar, CrossbarSpec, Islip, IslipSpec, NetworkSpec, Queueing, SwitchSpec,
};
use warpweave_components::interleave::Interleave;
use warpweave_components::memory::RequestKind;
use warpweave_framework::verify::{Contract, Rig};
use warpweave_framework::{Environment, Kind, Policy};

/// Runs the contract of a component of kind `K`, built from `spec`, between `up` and `down`.
fn keeps_the_contract<K: Kind>(
    spec: K::Spec,
    kinds: &'static [RequestKind],
    up: &[&str],
    down: &[&str],
) where
    K::Spec: Clone,
{
    Contract::new(|rig: &mut Rig| {
        let dut = K::build(spec.clone(), &Environment::new("dut", 1));
        rig.add("dut", dut.expect("a valid specification"));
        surround_with_memory(rig, kinds, up, down);
    })
    .assert();
}

#[test]
fn a_clock_crossing_keeps_the_contract() {
    let spec = ClockCrossingSpec {
        depth: 4,
        synchroniser_cycles: 2,
    };
    keeps_the_contract::<ClockCrossing>(spec, &RequestKind::ALL, &["dut.up"], &["dut.down"]);
}

#[test]
fn a_cluster_port_keeps_the_contract() {
    let spec = ClusterPortSpec {
        up_ports: 2,
        injection_depth: 4,
        response_depth: 4,
        request_cycles: 2,
        response_cycles: 3,
        outstanding: 8,
        broadcast: false,
    };
    keeps_the_contract::<ClusterPort>(
        spec,
        &RequestKind::ALL,
        &["dut.up[0]", "dut.up[1]"],
        &["dut.down"],
    );
}

#[test]
fn a_crossbar_keeps_the_contract() {
    let network = NetworkSpec::Switch(SwitchSpec {
        flit_bytes: 64,
        queueing: Queueing::Fifo,
        arbiter: Policy::of::<Islip>(&IslipSpec { iterations: 1 }),
        buffer_flits: 9,
        output_buffer_flits: 8,
        internal_speedup: 1,
        input_cycles: 2,
        output_cycles: 3,
        credit_cycles: 2,
        turnaround_matchings: 0,
    });
    let spec = CrossbarSpec {
        up_ports: 2,
        down_ports: 2,
        interleave: Interleave {
            granule_bytes: 256,
            slices: 2,
        },
        outstanding: 16,
        request: network.clone(),
        reply: network,
    };
    let (up, down) = (["dut.up[0]", "dut.up[1]"], ["dut.down[0]", "dut.down[1]"]);
    keeps_the_contract::<Crossbar>(spec, &RequestKind::ALL, &up, &down);
}

/// Kinds of requests that come from a compute unit.
const FROM_ABOVE: [RequestKind; 3] = [RequestKind::Read, RequestKind::Write, RequestKind::Atomic];

fn cache(level: CacheLevel, write: WritePolicy, atomics: AtomicPolicy) -> CacheSpec {
    CacheSpec {
        level,
        size_bytes: 512,
        line_bytes: 128,
        ways: 2,
        interleave: None,
        set_hash: SetHash::default(),
        halves: None,
        sector_bytes: None,
        below_line_bytes: None,
        banks: None,
        victim_cache: None,
        policies: Vec::new(),
        peers: 0,
        prefetchers: Vec::new(),
        prefetch: PrefetchSpec::default(),
        copy_back_entries: None,
        replacement: Policy::plain::<Lru>(),
        allocate: AllocatePolicy::OnMiss,
        write,
        write_allocate: None,
        atomics,
        mshr_entries: 4,
        mshr_merges: 4,
        pass_entries: 4,
        miss_queue_entries: 4,
        hit_latency_cycles: 5,
        miss_latency_cycles: 2,
        fill_latency_cycles: 3,
        responses_per_cycle: 1,
    }
}

#[test]
fn a_first_level_cache_keeps_the_contract() {
    let spec = cache(
        CacheLevel::L1,
        WritePolicy::WriteEvict,
        AtomicPolicy::Forward,
    );
    keeps_the_contract::<Cache>(spec, &FROM_ABOVE, &["dut.up"], &["dut.down"]);
}

#[test]
fn a_second_level_cache_keeps_the_contract() {
    let partial = PartialWrite::WordMask;
    let write = WritePolicy::WriteBack { partial };
    let atomics = AtomicPolicy::Execute { latency_cycles: 4 };
    let spec = cache(CacheLevel::L2, write, atomics);
    keeps_the_contract::<Cache>(spec, &FROM_ABOVE, &["dut.up"], &["dut.down"]);
}
