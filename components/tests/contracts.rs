//! Contract tests for library components, covering their obligations to the kernel and to
//! neighbouring components. They use mixed traffic, gaps, stalls at every port, unordered
//! lower-level memory, numbered writes and kernel ends.

mod line_buffer;

use warpweave_components::cache::replacement::Lru;
use warpweave_components::cache::{
    AllocatePolicy, AtomicPolicy, Cache, CacheLevel, CacheSpec, Cut, PartialWrite, PrefetchSpec,
    SetHash, WaitFor, WritePolicy,
};
use warpweave_components::checkers::{surround_with_kernel_ends, surround_with_memory};
use warpweave_components::clock_crossing::{ClockCrossing, ClockCrossingSpec};
use warpweave_components::cluster_port::{ClusterPort, ClusterPortSpec};
use warpweave_components::crossbar::{
    Crossbar, CrossbarSpec, Islip, IslipSpec, NetworkSpec, Queueing, SwitchSpec,
};
use warpweave_components::icc::{
    BusPriority, CoalescedCacheSpec, Delivery, FillRule, IccSpec, IccUnit, Joins, OnWrite,
    TableFull,
};
use warpweave_components::interleave::Interleave;
use warpweave_components::memory::RequestKind;
use warpweave_framework::verify::{Contract, Failure, Rig, Rule};
use warpweave_framework::{Environment, Kind, Policy};

use self::line_buffer::{Bug, LineBuffer};

/// Runs the contract tests of a component of kind `K`, built from `spec`, between `up` and `down`.
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
        interleave: Interleave::in_turn(256, 2),
        outstanding: 16,
        control_flit: false,
        request: network.clone(),
        reply: network,
    };
    let (up, down) = (["dut.up[0]", "dut.up[1]"], ["dut.down[0]", "dut.down[1]"]);
    keeps_the_contract::<Crossbar>(spec, &RequestKind::ALL, &up, &down);
}

/// Request kinds that a compute unit sends.
const FROM_ABOVE: [RequestKind; 3] = [RequestKind::Read, RequestKind::Write, RequestKind::Atomic];

fn cache(level: CacheLevel, write: WritePolicy, atomics: AtomicPolicy) -> CacheSpec {
    CacheSpec {
        level,
        size_bytes: 512,
        line_bytes: 128,
        ways: 2,
        interleave: None,
        set_hash: SetHash::default(),
        partitions: None,
        sector_bytes: None,
        below_line_bytes: None,
        cut: Cut::Here,
        above_line_bytes: None,
        wait_for: WaitFor::Words,
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

const READS_AND_WRITES: [RequestKind; 2] = [RequestKind::Read, RequestKind::Write];
const READS: [RequestKind; 1] = [RequestKind::Read];

/// Returns the results of the write and kernel-end contracts for a single-line buffer.
fn line_buffer(bug: Bug) -> [Result<(), Box<Failure>>; 2] {
    let writes = Contract::new(|rig: &mut Rig| {
        rig.add("dut", LineBuffer::new(bug));
        surround_with_memory(rig, &READS_AND_WRITES, &["dut.up"], &["dut.down"]);
    });
    let kernel_ends = Contract::new(|rig: &mut Rig| {
        rig.add("dut", LineBuffer::new(bug));
        let up = [("dut.up", "dut.control")];
        surround_with_kernel_ends(rig, &READS, &up, &[], &["dut.down"]);
    });
    [writes.run(), kernel_ends.run()]
}

/// Checks that the failure reports a stale line and was shrunk to a few requests.
fn is_stale_after(result: &Result<(), Box<Failure>>, what: &str) {
    let failure = result.as_ref().expect_err("the bug is found");
    assert_eq!(failure.rule, Rule::Protocol, "{failure}");
    assert!(failure.message.contains("stale"), "{failure}");
    assert!(failure.message.contains(what), "{failure}");
    assert!(failure.traffic.messages <= 24, "{failure}");
    assert_eq!(
        (failure.traffic.stall, failure.traffic.longest),
        (0, 1),
        "{failure}"
    );
}

#[test]
fn a_buffer_that_drops_its_line_in_time_keeps_the_contract() {
    for result in line_buffer(Bug::None) {
        result.unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn a_buffer_that_keeps_a_written_line_is_found_and_shrunk() {
    let [writes, kernel_ends] = line_buffer(Bug::KeepsWritten);
    is_stale_after(&writes, "write");
    assert_eq!(kernel_ends, Ok(()));
}

#[test]
fn a_buffer_that_keeps_its_line_when_a_kernel_ends_is_found_and_shrunk() {
    let [writes, kernel_ends] = line_buffer(Bug::KeepsAtKernelEnd);
    assert_eq!(writes, Ok(()));
    is_stale_after(&kernel_ends, "the end of a kernel");
}

#[test]
fn a_first_level_cache_drops_its_lines_when_a_kernel_ends() {
    for write in [WritePolicy::WriteEvict, WritePolicy::WriteThrough] {
        let spec = cache(CacheLevel::L1, write, AtomicPolicy::Forward);
        Contract::new(|rig: &mut Rig| {
            let dut = Cache::build(spec.clone(), &Environment::new("dut", 1));
            rig.add("dut", dut.expect("a valid specification"));
            let up = [("dut.up", "dut.control")];
            surround_with_kernel_ends(rig, &READS_AND_WRITES, &up, &[], &["dut.down"]);
        })
        .assert();
    }
}

fn coalescing_unit(coalesced_cache: bool) -> IccSpec {
    IccSpec {
        up_ports: 2,
        line_bytes: 128,
        table_entries: 4,
        table_cycles: 1,
        reply_cycles: 1,
        delivery: Delivery::Broadcast,
        outstanding: 16,
        global_end: None,
        table_full: TableFull::Untracked,
        joins: Joins::Contained,
        window_cycles: None,
        on_write: OnWrite::Close,
        coalesced_cache: coalesced_cache.then(|| CoalescedCacheSpec {
            lines: 4,
            access_cycles: 1,
            replacement: Policy::plain::<Lru>(),
            fill: FillRule::All,
            hit_queue: 4,
            priority: BusPriority::Replies,
            serve_bypassing: false,
            invalidate_at_kernel_end: true,
        }),
    }
}

/// Tests the coalescing unit with answered control ports, under traffic of `kinds`.
fn coalescing(kinds: &'static [RequestKind], coalesced_cache: bool) {
    let spec = coalescing_unit(coalesced_cache);
    Contract::new(|rig: &mut Rig| {
        let dut = IccUnit::build(spec.clone(), &Environment::new("dut", 1));
        rig.add("dut", dut.expect("a valid specification"));
        let up = [
            ("dut.up[0]", "dut.control_up[0]"),
            ("dut.up[1]", "dut.control_up[1]"),
        ];
        let told = ["dut.control_down[0]", "dut.control_down[1]"];
        surround_with_kernel_ends(rig, kinds, &up, &told, &["dut.down"]);
    })
    .assert();
}

#[test]
fn a_coalescing_unit_keeps_the_contract() {
    let kinds = &RequestKind::ALL;
    keeps_the_contract::<IccUnit>(
        coalescing_unit(false),
        kinds,
        &["dut.up[0]", "dut.up[1]"],
        &["dut.down"],
    );
}

#[test]
fn a_coalescing_unit_joins_nothing_over_the_end_of_a_kernel() {
    coalescing(&READS, false);
}

#[test]
fn a_coalesced_cache_drops_its_lines_when_a_kernel_ends_or_one_is_written() {
    coalescing(&READS_AND_WRITES, true);
    let spec = IccSpec {
        coalesced_cache: coalescing_unit(true)
            .coalesced_cache
            .map(|cache| CoalescedCacheSpec {
                invalidate_at_kernel_end: false,
                ..cache
            }),
        ..coalescing_unit(true)
    };
    let up = ["dut.up[0]", "dut.up[1]"];
    keeps_the_contract::<IccUnit>(spec, &RequestKind::ALL, &up, &["dut.down"]);
}

#[test]
fn a_coalescing_unit_that_ignores_writes_is_found_and_shrunk() {
    let spec = IccSpec {
        on_write: OnWrite::Ignore,
        coalesced_cache: coalescing_unit(true)
            .coalesced_cache
            .map(|cache| CoalescedCacheSpec {
                invalidate_at_kernel_end: false,
                ..cache
            }),
        ..coalescing_unit(true)
    };
    let result = Contract::new(|rig: &mut Rig| {
        let dut = IccUnit::build(spec.clone(), &Environment::new("dut", 1));
        rig.add("dut", dut.expect("a valid specification"));
        let up = ["dut.up[0]", "dut.up[1]"];
        surround_with_memory(rig, &READS_AND_WRITES, &up, &["dut.down"]);
    })
    .run();
    is_stale_after(&result, "write");
}
