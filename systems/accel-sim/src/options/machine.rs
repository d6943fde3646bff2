//! Machine described by the options, in terms of our description files.

use warpweave_params::Diagnostic;

use super::cache::{CacheText, LINE_BYTES_MAX};
use super::caches::Caches;
use super::classes::{AROUND_UNIT, Classes, classes, of_traces};
use super::cycles::CYCLES_MAX;
use super::dram::Columns;
use super::form::{LATENCY_MAX, PipeTiming, clocks, pipeline, scheduler};
use super::fragment::Fragment;
use super::front_end::FrontEnd;
use super::interconnect::Router;
use super::memory::Dram;
use super::option_values::OptionValues;

/// Parameters of the machine that are written to the system file.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) clusters: u32,
    pub(super) units_per_cluster: u32,
    pub(super) slices: SliceMap,
    /// Clock frequencies of core, interconnect, second level and DRAM, as text for the file.
    pub(super) clocks: [String; 4],
    pub(super) unit: Unit,
    pub(super) caches: Caches,
    pub(super) network: Network,
    /// Number of response entries in the port of a cluster.
    pub(super) response_depth: u32,
    pub(super) dram: Dram,
    pub(super) launches: Launches,
    pub(super) invalidate: bool,
    /// True if the second level is invalidated between kernels.
    pub(super) invalidate_l2: bool,
    /// Values that are modelled differently from what they specify.
    pub(super) notes: Vec<String>,
    /// Options that have no effect in combination with others.
    pub(super) unused: Vec<&'static str>,
}

/// Slices of the second level, with the mapping of addresses to them.
#[derive(Debug)]
pub(super) struct SliceMap {
    pub(super) channels: u32,
    pub(super) per_channel: u32,
    /// Hash that maps granules to slices; `None` if they are interleaved.
    pub(super) hash: Option<String>,
    /// Interleaving granularity among slices, in bytes.
    pub(super) granule_bytes: u32,
}

/// Launch latencies in cycles, and the number of kernels that run at the same time.
#[derive(Debug)]
pub(super) struct Launches {
    pub(super) latency: u32,
    /// Additional latency of each work-group of a launch.
    pub(super) work_group_latency: u32,
    pub(super) kernels: u32,
}

#[derive(Debug)]
pub(super) struct Unit {
    pub(super) wavefront_slots: u32,
    pub(super) work_group_slots: u32,
    pub(super) registers: u32,
    pub(super) schedulers: u32,
    pub(super) scheduler: String,
    pub(super) front_end: FrontEnd,
    pub(super) classes: Classes,
    /// Local memory: size in bytes, number of banks, latency in cycles.
    pub(super) local_memory: (u32, u32, u32),
    pub(super) line_bytes: u32,
    pub(super) requests_per_cycle: u32,
    pub(super) private_bytes: u32,
}

#[derive(Debug)]
pub(super) enum Network {
    /// A router that transfers packets as flits.
    Router(Router),
    /// A network in which each packet is one flit.
    Packets {
        arbiter: &'static str,
        buffer_flits: u32,
        output_buffer_flits: u32,
    },
}

/// Interleaving granularity among channels, in bytes.
const CHANNEL_BYTES: u32 = 256;

/// Maximum number of ports on one side of a network.
const PORTS_MAX: u32 = 128;

impl Machine {
    pub(super) fn of(given: &OptionValues) -> Result<Self, Diagnostic> {
        let mut notes = Vec::new();
        let (clusters, units_per_cluster) = clusters(given, &mut notes)?;
        let channels = given.count("-gpgpu_n_mem", 1..=PORTS_MAX, "channels")?;
        let slices = SlicesOfChannel::of(given, channels, &mut notes)?;
        let slices_per_channel = slices.count;
        let clock_text = given.value("-gpgpu_clock_domains")?;
        let frequencies = clocks(&clock_text)?;
        let written = clock_text.split(':');
        let written = written.iter().map(|part| {
            let plain = part.text().trim_end_matches('0').trim_end_matches('.');
            let text = if part.text().contains('.') {
                plain
            } else {
                part.text()
            };
            format!("{text} MHz")
        });
        let written: Vec<String> = written.collect();
        let clocks = written.try_into().expect("there are four");
        let schedulers = given.count("-gpgpu_num_sched_per_core", 1..=8, "schedulers")?;
        let front_end = FrontEnd::of(given, schedulers, &mut notes)?;
        let mut unused = unused(given, &front_end)?;
        let ports = clusters + channels * slices_per_channel;
        let network = network(given, ports, &mut unused, &mut notes)?;
        let fetch = front_end.fetch.as_ref();
        let caches = Caches::of(given, frequencies, fetch, slices.joined, &mut notes)?;
        let unit = Unit::of(given, schedulers, front_end, &caches, &mut notes)?;
        let mapping = given.value("-gpgpu_mem_addr_mapping")?;
        let columns = Columns::read(&mapping)?;
        note_turns(&columns, &mapping, slices_per_channel, &mut notes);
        let slices = (channels, slices_per_channel);
        let (hash, granule_bytes) = slice_hash(given, slices, &mut notes)?;
        let dram = Dram::of(given, &mapping, &columns, frequencies, &mut notes)?;
        let kernels = given.count("-gpgpu_max_concurrent_kernel", 1..=4096, "kernels")?;
        Ok(Self {
            clusters,
            units_per_cluster,
            slices: SliceMap {
                channels,
                per_channel: slices_per_channel,
                hash,
                granule_bytes,
            },
            clocks,
            unit,
            caches,
            network,
            response_depth: given.count(
                "-gpgpu_n_cluster_ejection_buffer_size",
                1..=4096,
                "responses",
            )?,
            dram,
            launches: Launches {
                latency: given.count("-gpgpu_kernel_launch_latency", 0..=1 << 30, "cycles")?,
                work_group_latency: given.count(
                    "-gpgpu_TB_launch_latency",
                    0..=1 << 30,
                    "cycles",
                )?,
                kernels,
            },
            invalidate_l2: flush_l2(given, &mut notes)?,
            invalidate: given.flag("-gpgpu_flush_l1_cache")?,
            notes,
            unused,
        })
    }
}

/// Returns the number of clusters and of compute units in each. Where there are more clusters than
/// ports of a network, several share one.
fn clusters(given: &OptionValues, notes: &mut Vec<String>) -> Result<(u32, u32), Diagnostic> {
    const CLUSTERS: &str = "-gpgpu_n_clusters";
    let clusters = given.count(CLUSTERS, 1..=PORTS_MAX * 4, "clusters")?;
    let units = given.count("-gpgpu_n_cores_per_cluster", 1..=64, "units")?;
    let Some(joined) = least_factor(clusters, clusters) else {
        let expected = format!("at most {PORTS_MAX} clusters, or a multiple of 2 to 4 times fewer");
        return Err(given.value(CLUSTERS)?.refuse(&expected));
    };
    if joined > 1 {
        notes.push(format!(
            "{CLUSTERS} {clusters}: {joined} clusters share a port, as a network has at most {PORTS_MAX} ports"
        ));
    }
    Ok((clusters / joined, units * joined))
}

/// Number of second-level slices of a channel, and of the simulator's slices that each replaces.
struct SlicesOfChannel {
    count: u32,
    joined: u32,
}

impl SlicesOfChannel {
    /// Reads the slices of a channel; those for which a network has no ports are joined to others.
    fn of(
        given: &OptionValues,
        channels: u32,
        notes: &mut Vec<String>,
    ) -> Result<Self, Diagnostic> {
        const SLICES: &str = "-gpgpu_n_sub_partition_per_mchannel";
        let slices = given.count(SLICES, 1..=PORTS_MAX, "slices")?;
        let Some(joined) = least_factor(slices, channels.saturating_mul(slices)) else {
            let most = PORTS_MAX / channels;
            let expected = format!("1 to {most} slices, or 2 to 4 times as many");
            return Err(given.value(SLICES)?.refuse(&expected));
        };
        if joined > 1 {
            notes.push(format!(
                "{SLICES} {slices}: {joined} slices of a channel are one with the sets and misses of all and one port, as a network has at most {PORTS_MAX} ports"
            ));
        }
        Ok(Self {
            count: slices / joined,
            joined,
        })
    }
}

/// Returns the least divisor of `count` from 1 to 4 that brings `ports` down to those of a network.
fn least_factor(count: u32, ports: u32) -> Option<u32> {
    let mut factors = (1..=4).filter(|factor| count.is_multiple_of(*factor));
    factors.find(|factor| ports / factor <= PORTS_MAX)
}

/// Returns the given options that have no effect in combination with others.
fn unused(given: &OptionValues, front_end: &FrontEnd) -> Result<Vec<&'static str>, Diagnostic> {
    const PTX: [&str; 8] = [
        "-ptx_opcode_latency_int",
        "-ptx_opcode_latency_fp",
        "-ptx_opcode_latency_dp",
        "-ptx_opcode_latency_sfu",
        "-ptx_opcode_initiation_int",
        "-ptx_opcode_initiation_fp",
        "-ptx_opcode_initiation_dp",
        "-ptx_opcode_initiation_sfu",
    ];
    const PACKETS: [&str; 3] = [
        "-icnt_arbiter_algo",
        "-icnt_in_buffer_limit",
        "-icnt_out_buffer_limit",
    ];
    const FIRST_LEVEL: [&str; 3] = ["-gpgpu_cache:dl1", "-gpgpu_l1_latency", "-gpgpu_l1_banks"];
    const ADAPTIVE: [&str; 2] = ["-gpgpu_unified_l1d_size", "-gpgpu_shmem_option"];
    const SPECIALIZED: [&str; 5] = [
        "-gpgpu_operand_collector_num_units_mem",
        "-gpgpu_operand_collector_num_units_sp",
        "-gpgpu_operand_collector_num_units_dp",
        "-gpgpu_operand_collector_num_units_sfu",
        "-gpgpu_operand_collector_num_units_int",
    ];
    const FETCH: [&str; 2] = ["-gpgpu_cache:il1", "-gpgpu_inst_fetch_throughput"];
    const CONSTANTS: [&str; 1] = ["-gpgpu_const_cache:l1"];
    let is_there = CacheText::read(&given.value("-gpgpu_cache:dl1")?)?.is_some();
    let has_l1 = is_there && !given.flag("-gpgpu_gmem_skip_L1D")?;
    let adapts = has_l1 && given.flag("-gpgpu_adaptive_cache_config")?;
    let packets = given.value("-network_mode")?.text() == "2";
    let separate = given.flag("-dram_seperate_write_queue_enable")?;
    let alone = front_end.issues == 1;
    let shared = !given.flag("-gpgpu_enable_specialized_operand_collector")?;
    let perfect = given.flag("-gpgpu_perfect_inst_const_cache")?;
    let groups: [(bool, &[&str]); 10] = [
        (of_traces(given), &PTX),
        (packets, &["-icnt_flit_size", "-inter_config_file"]),
        (!packets, &PACKETS),
        (!has_l1, &FIRST_LEVEL),
        (!adapts, &ADAPTIVE),
        (!separate, &["-dram_write_queue_size"]),
        (front_end.fetch.is_none(), &FETCH),
        (perfect, &CONSTANTS),
        (alone, &["-gpgpu_dual_issue_diff_exec_units"]),
        (shared, &SPECIALIZED),
    ];
    let unused = groups.iter().filter(|(unused, _)| *unused);
    Ok(unused
        .flat_map(|(_, names)| names.iter().copied())
        .collect())
}

impl Unit {
    fn of(
        given: &OptionValues,
        schedulers: u32,
        front_end: FrontEnd,
        caches: &Caches,
        notes: &mut Vec<String>,
    ) -> Result<Self, Diagnostic> {
        let (l1, l2) = (caches.l1.as_ref(), &caches.l2);
        let stack = given.value("-gpgpu_stack_size_limit")?;
        let private_bytes = stack.within(4..=1 << 20, "bytes")?;
        if !private_bytes.is_multiple_of(4) {
            return Err(stack.refuse("a multiple of 4 bytes"));
        }
        Ok(Self {
            wavefront_slots: pipeline(&given.value("-gpgpu_shader_core_pipeline")?)?,
            work_group_slots: given.count("-gpgpu_shader_cta", 1..=64, "work-groups")?,
            registers: given.count("-gpgpu_shader_registers", 1..=1 << 24, "registers")?,
            schedulers,
            scheduler: policy(given, notes)?,
            front_end,
            classes: classes(given, schedulers, notes)?,
            local_memory: (
                given.count("-gpgpu_shmem_size", 0..=1 << 28, "bytes")?,
                given.count("-gpgpu_shmem_num_banks", 1..=128, "banks")?,
                (given.count("-gpgpu_smem_latency", 1..=CYCLES_MAX, "cycles")? + AROUND_UNIT)
                    .min(LATENCY_MAX),
            ),
            line_bytes: l1.map_or(l2.lines.own, |l1| l1.lines.own),
            requests_per_cycle: l1.map_or(1, |l1| l1.banks),
            private_bytes,
        })
    }
}

/// Returns the scheduling policy of the schedulers.
fn policy(given: &OptionValues, notes: &mut Vec<String>) -> Result<String, Diagnostic> {
    let value = given.value("-gpgpu_scheduler")?;
    let (name, numbers) = scheduler(&value)?;
    let mut note =
        |what: &str| notes.push(format!("-gpgpu_scheduler {}: {what}", value.in_a_line()));
    let policy = match name.as_str() {
        "lrr" => "Lrr".to_owned(),
        "old" => "OldestFirst".to_owned(),
        "rrr" => {
            note("modelled as Lrr, which skips warps that cannot issue");
            "Lrr".to_owned()
        }
        "two_level_active" => {
            note("modelled as groups of warps that take turns, not as one active group of warps");
            let [first, ..] = &numbers[..] else {
                return Err(value.refuse("the number of warps per group"));
            };
            if !(1..=64).contains(first) {
                return Err(value.refuse("1 to 64 warps per group"));
            }
            format!("TwoLevel(group_size: {first})")
        }
        "warp_limiting" => {
            note("modelled as Gto without a warp limit");
            "Gto".to_owned()
        }
        _ => "Gto".to_owned(),
    };
    Ok(policy)
}

/// Builds a network with the given number of ports, both sides counted together.
fn network(
    given: &OptionValues,
    ports: u32,
    unused: &mut Vec<&'static str>,
    notes: &mut Vec<String>,
) -> Result<Network, Diagnostic> {
    let arbiter = given.value("-icnt_arbiter_algo")?;
    let flits = |name| given.count(name, 1..=1 << 12, "flits");
    let mode = given.value("-network_mode")?;
    match mode.text() {
        "1" => {
            let (router, has_flits) = Router::of(given, ports, notes)?;
            if has_flits {
                unused.push("-icnt_flit_size");
            }
            Ok(Network::Router(router))
        }
        "2" => Ok(Network::Packets {
            arbiter: match arbiter.text() {
                "0" => "RoundRobin",
                "1" => "Islip(iterations: 1)",
                _ => return Err(arbiter.refuse("0 or 1")),
            },
            buffer_flits: flits("-icnt_in_buffer_limit")?,
            output_buffer_flits: flits("-icnt_out_buffer_limit")?,
        }),
        _ => Err(mode.refuse("1 or 2")),
    }
}

/// True if the second level is invalidated between kernels.
fn flush_l2(given: &OptionValues, notes: &mut Vec<String>) -> Result<bool, Diagnostic> {
    const FLUSH: &str = "-gpgpu_flush_l2_cache";
    let flushes = given.flag(FLUSH)?;
    if flushes {
        notes.push(format!(
            "{FLUSH} 1: flushed at the end of every kernel, which takes time; dirty lines stay in the cache"
        ));
    }
    Ok(flushes)
}

/// Returns the hash that maps granules to slices (`None` if interleaved) and the granule size in
/// bytes.
fn slice_hash(
    given: &OptionValues,
    (channels, per_channel): (u32, u32),
    notes: &mut Vec<String>,
) -> Result<(Option<String>, u32), Diagnostic> {
    const INDEXING: &str = "-gpgpu_memory_partition_indexing";
    let policy = given.value(INDEXING)?;
    let slices = channels * per_channel;
    match policy.text() {
        "0" => Ok((None, CHANNEL_BYTES)),
        "1" if slices.is_power_of_two() => Ok((Some("Xor".to_owned()), CHANNEL_BYTES)),
        "1" => {
            Err(policy.refuse("0, 2, 4 or 5, because the number of slices is not a power of two"))
        }
        "2" => {
            let hash = format!("Polynomial(per_channel: {per_channel})");
            Ok((Some(hash), CHANNEL_BYTES))
        }
        // Also mixes in the address bits below the channel bits, as many as select a slice within
        // the channel.
        "4" => {
            let granule = CHANNEL_BYTES >> per_channel.ilog2();
            Ok((Some("Random".to_owned()), granule.max(LINE_BYTES_MAX)))
        }
        "3" => {
            let why =
                "the PAE hash requires 32 slices, and GPGPU-Sim versions compute it differently";
            Err(policy.refuse("0, 1, 2, 4 or 5").hint(why))
        }
        "5" => {
            notes.push(format!(
                "{INDEXING} 5: slices are interleaved in order, because a custom function needs its own code"
            ));
            Ok((None, CHANNEL_BYTES))
        }
        _ => Err(policy.refuse("0, 1, 2, 4 or 5")),
    }
}

/// Adds a note if the lowest bank bits, which select the slice of a channel, are not the bits
/// directly above the channel granule. The model interleaves slices at that granule.
fn note_turns(
    columns: &Columns,
    text: &Fragment,
    slices_per_channel: u32,
    notes: &mut Vec<String>,
) {
    let bits = slices_per_channel.ilog2();
    let wanted = (0..bits).map(|bit| CHANNEL_BYTES.trailing_zeros() + bit);
    let there = columns.bank.iter().copied().take(bits as usize);
    if !slices_per_channel.is_power_of_two() || !wanted.eq(there) {
        let what = "slices of a channel are interleaved every 256 bytes of the channel";
        notes.push(format!(
            "-gpgpu_mem_addr_mapping {}: {what}",
            text.in_a_line()
        ));
    }
}

/// Formats a pace for the system file.
impl std::fmt::Display for PipeTiming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "(latency: {}, interval: {})",
            self.latency, self.interval
        )
    }
}
