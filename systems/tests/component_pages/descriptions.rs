//! Descriptions of every kind that together report every statistic: the plain form, and forms with
//! optional features enabled.

macro_rules! cache_with {
    ($level:literal, $policies:literal) => {
        concat!(
            "Cache(
    level: ",
            $level,
            ", size_bytes: 4096, line_bytes: 128, ways: 4, replacement: Lru, allocate: OnFill,
    write: WriteEvict, atomics: Forward, mshr_entries: 4, mshr_merges: 2, pass_entries: 4,
    miss_queue_entries: 4, hit_latency_cycles: 2, miss_latency_cycles: 2, fill_latency_cycles: 1,
    responses_per_cycle: 1, policies: ",
            $policies,
            ")"
        )
    };
}

/// Descriptions of instances to build, one text for each.
pub(super) const DESCRIPTIONS: &[&str] = &[
    CACHE,
    CACHE_WITH_EVERYTHING,
    cache_with!("L1", "[MemoryAddressTable, SpatialPattern, SectorsTouched]"),
    cache_with!("L1", "[AdaptiveBypass, BimodalGranularity]"),
    cache_with!("L1", "[OptimalBypass, NeighbourAccess]"),
    cache_with!("L1", "[RandomBypass(probability: 0.5)]"),
    cache_with!("L1", "[BypassCopyBack]"),
    cache_with!("L2", "[BypassCopyBack]"),
    CROSSBAR_OF_SWITCHES,
    CROSSBAR_OF_ROUTERS,
    ICC,
    ICC_WITH_CACHE,
    COMPUTE_UNIT,
    COMPUTE_UNIT_WITH_EVERYTHING,
    GDDR5,
    GDDR5_CHECKED,
    "ClockCrossing(depth: 4, synchroniser_cycles: 2)",
    "ClusterPort(up_ports: 2, injection_depth: 2, response_depth: 2, request_cycles: 1, \
     response_cycles: 1, outstanding: 8)",
    "ClusterPort(up_ports: 2, injection_depth: 2, response_depth: 2, request_cycles: 1, \
     response_cycles: 1, outstanding: 8, broadcast: true)",
    "CoalescingChecker(up_ports: 2, freshness: true)",
    "HostDriver(copy_latency_cycles: 10, copy_bytes_per_cycle: 4, launch_latency_cycles: 10)",
    "Gmu(hardware_queues: 1, queue_depth: 2, pending_kernels: 2, dispatch_latency_cycles: 1)",
    "LaunchUnit(units: 2, base_cycles: 4, cycles_per_kernel: 2, kernels_in_flight: 32)",
    "WorkGroupScheduler(clusters: 1, units_per_cluster: 1, policy: Distributed, unit: ( \
     wavefront_slots: 8, work_group_slots: 2, registers: 1024, register_partitions: 1, \
     register_granularity: 64, local_memory_bytes: 1024), kernel_slots: 1, \
     dispatches_per_cycle: 1, invalidate_at: KernelEnd)",
];

const CACHE: &str = "Cache(
    level: L1, size_bytes: 4096, line_bytes: 128, ways: 4, replacement: Lru, allocate: OnMiss,
    write: WriteEvict, atomics: Forward, mshr_entries: 4, mshr_merges: 2, pass_entries: 4,
    miss_queue_entries: 4, hit_latency_cycles: 2, miss_latency_cycles: 2, fill_latency_cycles: 1,
    responses_per_cycle: 1,
)";

const CACHE_WITH_EVERYTHING: &str = "Cache(
    level: L1, size_bytes: 4096, line_bytes: 128, ways: 4, replacement: Lru, allocate: OnMiss,
    write: WriteEvict, atomics: Forward, mshr_entries: 4, mshr_merges: 2, pass_entries: 4,
    miss_queue_entries: 16, hit_latency_cycles: 2, miss_latency_cycles: 2, fill_latency_cycles: 1,
    responses_per_cycle: 1, sector_bytes: 32,
    banks: (count: 2, busy_cycles: 1, requests_per_cycle: 2),
    victim_cache: (lines: 8, latency_cycles: 1),
    policies: [CcwsVictimTags, ReuseBypass(
        entries: 16, counter_max: 15, threshold: 4, sample: 32, period_requests: 1000,
    ), Flexclusion(below: (sets: 8)), HitsBySharing, RegionExclusive(regions: 0),
    EagerWriteBack(dirty_lines: 2)],
    prefetchers: [NextLine], copy_back_entries: 4,
)";

const CROSSBAR_OF_SWITCHES: &str = "Crossbar(
    up_ports: 2, down_ports: 2, interleave: (granule_bytes: 256, slices: 2), outstanding: 8,
    request: Switch(
        flit_bytes: 32, queueing: Fifo, arbiter: Islip(iterations: 1), buffer_flits: 8,
        output_buffer_flits: 8, internal_speedup: 1, input_cycles: 1, output_cycles: 1,
        credit_cycles: 1, turnaround_matchings: 0,
    ),
    reply: Switch(
        flit_bytes: 32, queueing: Fifo, arbiter: Islip(iterations: 1), buffer_flits: 8,
        output_buffer_flits: 8, internal_speedup: 1, input_cycles: 1, output_cycles: 1,
        credit_cycles: 1, turnaround_matchings: 0,
    ),
)";

const CROSSBAR_OF_ROUTERS: &str = "Crossbar(
    up_ports: 2, down_ports: 2, interleave: (granule_bytes: 256, slices: 2), outstanding: 8,
    request: Router(
        flit_bytes: 32, queueing: Fifo, virtual_channels: 2, ordered: true, buffer_flits: 8,
        output_buffer_flits: 8, arbiter: Islip(iterations: 1), internal_speedup: 1,
        input_speedup: 1, speculative: false, routing_cycles: 0, vc_allocation_cycles: 1,
        switch_allocation_cycles: 1, traversal_cycles: 1, input_wire_cycles: 2,
        output_wire_cycles: 2, credit_wire_cycles: 2, credit_cycles: 0,
    ),
    reply: Router(
        flit_bytes: 32, queueing: Fifo, virtual_channels: 2, ordered: true, buffer_flits: 8,
        output_buffer_flits: 8, arbiter: Islip(iterations: 1), internal_speedup: 1,
        input_speedup: 1, speculative: false, routing_cycles: 0, vc_allocation_cycles: 1,
        switch_allocation_cycles: 1, traversal_cycles: 1, input_wire_cycles: 2,
        output_wire_cycles: 2, credit_wire_cycles: 2, credit_cycles: 0,
    ),
)";

const ICC: &str = "IccUnit(
    up_ports: 2, line_bytes: 128, table_entries: 4, table_cycles: 1, reply_cycles: 1,
    delivery: Broadcast, outstanding: 8,
)";

const ICC_WITH_CACHE: &str = "IccUnit(
    up_ports: 2, line_bytes: 128, table_entries: 4, table_cycles: 1, reply_cycles: 1,
    delivery: Broadcast, outstanding: 8,
    coalesced_cache: (
        lines: 4, access_cycles: 1, replacement: Lru, fill: Coalesced, hit_queue: 4,
        priority: Replies, serve_bypassing: false, invalidate_at_kernel_end: false,
    ),
)";

macro_rules! compute_unit {
    ($scheduler:literal, $local_memory:literal, $rest:literal) => {
        concat!(
            "ComputeUnit(
    index: 0, wavefront_slots: 8, work_group_slots: 2, registers: 1024, schedulers: 1,
    start_latency: 1, scheduler: ",
            $scheduler,
            ",
    classes: (
        int_add: (latency: 4, interval: 1), int_mul: (latency: 5, interval: 1),
        int_div: (latency: 145, interval: 8), fp_add: (latency: 4, interval: 1),
        fp_mul: (latency: 5, interval: 1), fp_div: (latency: 39, interval: 4),
        dp_add: (latency: 8, interval: 8), dp_mul: (latency: 8, interval: 8),
        dp_div: (latency: 330, interval: 130), special: (latency: 8, interval: 8),
        convert: (latency: 4, interval: 1), shuffle: (latency: 32, interval: 4),
        vote: (latency: 4, interval: 1), branch: (latency: 4, interval: 1),
        barrier: (latency: 4, interval: 1), fence: (latency: 4, interval: 1),
        load: (latency: 4, interval: 1), store: (latency: 4, interval: 1),
        atomic: (latency: 4, interval: 1), exit: (latency: 1, interval: 1),
    ),
    constant_latency: 8,
    load_store: (
        line_bytes: 128, queue_depth: 2, requests_per_cycle: 1, outstanding_max: 16,
        writeback_latency: 1,
    ),
    private_memory: (base: 1099511627776, bytes_per_thread: 512),
    local_memory: (bytes: 1024, banks: 32, latency: 26",
            $local_memory,
            "),
",
            $rest,
            ")"
        )
    };
}

const COMPUTE_UNIT: &str = compute_unit!("Lrr", "", "");

const COMPUTE_UNIT_WITH_EVERYTHING: &str = compute_unit!(
    "Ccws",
    ", shared_with_cache: (bytes: 2048, splits: [0, 512, 1024])",
    "fetch: (
        base: 35184372088832, instruction_bytes: 8, bytes: 16, line_bytes: 128, buffer: 2,
        latency: 2,
    ),
    constants: (
        arguments: 70368744177664, line_bytes: 64, queue_depth: 2, requests_per_cycle: 1,
        outstanding_max: 16, writeback_latency: 1,
    ),
    textures: (
        loads: NonCoherent, line_bytes: 128, queue_depth: 2, requests_per_cycle: 1,
        outstanding_max: 16, writeback_latency: 1,
    ),
    spare_registers: (),
    load_waits: true,
    reuse_monitor: (
        filter: (bits: 4840, hashes: 3), key: LineOwner, threshold_percent: 50,
        warm_up_children: 2, warm_up_lookups: 64, self_all: true,
    ),"
);

macro_rules! gddr5 {
    ($rest:literal) => {
        concat!(
            "Gddr5(
    ports: 1, devices: 1,
    geometry: (bank_groups: 4, banks_per_group: 4, rows: 4096, columns: 64),
    mapping: Order([BankGroup, Column, Bank, Row]),
    timing: (
        burst_cycles: 2, t_cl: 12, t_wl: 4, t_rcd_rd: 12, t_rcd_wr: 12, t_rp: 12, t_ras: 28,
        t_rc: 40, t_rrd_s: 6, t_rrd_l: 6, t_ccd_s: 2, t_ccd_l: 3, t_wtr_s: 5, t_wtr_l: 5,
        t_rtp: 2, t_wr: 12, t_faw: 23, t_32aw: 184, t_ppd: 1, t_refi: 2660, t_rfc: 154,
    ),
    read_queue: 64, write_queue: 64, drain: Watermarks(high: 52, low: 12), response_queue: 16,
    refresh: AllBank(postponed_max: 0), latency_cycles: 20,
",
            $rest,
            ")"
        )
    };
}

const GDDR5: &str = gddr5!("");

const GDDR5_CHECKED: &str = gddr5!("check: true, column_pairs: true,");
