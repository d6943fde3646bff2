//! The machine that options describe, in the words of description files.

use warpweave_params::Diagnostic;

use super::cache::{Allocate, CacheText, Index, Write, WriteAllocate};
use super::classes::{Classes, classes, of_traces};
use super::dram::{Columns, Timing, bits};
use super::form::{Pace, clocks, counts, pipeline, scheduler};
use super::given::Given;
use super::piece::Piece;

/// What goes into the system file.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) clusters: u32,
    pub(super) units_per_cluster: u32,
    pub(super) channels: u32,
    pub(super) slices_per_channel: u32,
    /// Core, interconnect, second level, DRAM; as they are written.
    pub(super) clocks: [String; 4],
    pub(super) unit: Unit,
    /// None: loads go to the network.
    pub(super) l1: Option<Cache>,
    pub(super) l2: Cache,
    pub(super) network: Network,
    /// Entries for responses in the port of a cluster.
    pub(super) response_depth: u32,
    pub(super) dram: Dram,
    pub(super) launch_latency: u32,
    pub(super) kernels: u32,
    pub(super) invalidate: bool,
    /// Values that are modelled otherwise than they say.
    pub(super) notes: Vec<String>,
    /// Options that count for nothing beside others.
    pub(super) unused: Vec<&'static str>,
}

#[derive(Debug)]
pub(super) struct Unit {
    pub(super) wavefront_slots: u32,
    pub(super) work_group_slots: u32,
    pub(super) registers: u32,
    pub(super) schedulers: u32,
    pub(super) scheduler: String,
    pub(super) classes: Classes,
    /// Bytes, banks, latency.
    pub(super) local_memory: (u32, u32, u32),
    pub(super) line_bytes: u32,
    pub(super) requests_per_cycle: u32,
    pub(super) private_bytes: u32,
}

#[derive(Debug)]
pub(super) struct Cache {
    pub(super) size_bytes: u64,
    pub(super) line_bytes: u32,
    pub(super) below_line_bytes: u32,
    pub(super) ways: u32,
    pub(super) set_hash: &'static str,
    pub(super) replacement: &'static str,
    pub(super) allocate: &'static str,
    pub(super) write: &'static str,
    pub(super) write_allocate: bool,
    pub(super) mshr_entries: u32,
    pub(super) mshr_merges: u32,
    pub(super) miss_queue_entries: u32,
    pub(super) latency_cycles: u32,
    /// More than one: that many banks, and as many requests in a cycle.
    pub(super) banks: u32,
}

#[derive(Debug)]
pub(super) enum Network {
    /// The router of the preset, with flits of so many bytes.
    Router { flit_bytes: u32 },
    /// One flit for each packet.
    Packets {
        arbiter: &'static str,
        buffer_flits: u32,
        output_buffer_flits: u32,
    },
}

#[derive(Debug)]
pub(super) struct Dram {
    pub(super) devices: u32,
    pub(super) bank_groups: u32,
    pub(super) banks_per_group: u32,
    pub(super) rows: u64,
    pub(super) columns: u64,
    /// Column, bank group, bank, row.
    pub(super) mapping: [String; 4],
    pub(super) burst_cycles: u32,
    pub(super) timing: Timing,
    pub(super) scheduler: &'static str,
    pub(super) read_queue: u32,
    pub(super) write_queue: u32,
    /// Watermarks between which writes are drained.
    pub(super) drain: (u32, u32),
    pub(super) response_queue: u32,
    pub(super) latency_cycles: u32,
}

/// Bytes that stay together in a channel.
const CHANNEL_BYTES: u32 = 256;

/// Ports of a network on one side, at most.
const PORTS_MAX: u32 = 128;

/// Longest latency of a cache or of DRAM.
const CYCLES_MAX: u32 = 1 << 16;

impl Machine {
    pub(super) fn of(given: &Given) -> Result<Self, Diagnostic> {
        let mut notes = Vec::new();
        let clusters = given.count("-gpgpu_n_clusters", 1..=PORTS_MAX, "clusters")?;
        let units_per_cluster = given.count("-gpgpu_n_cores_per_cluster", 1..=64, "units")?;
        let channels = given.count("-gpgpu_n_mem", 1..=PORTS_MAX, "channels")?;
        let per_channel = "-gpgpu_n_sub_partition_per_mchannel";
        let slices_per_channel = given.count(per_channel, 1..=PORTS_MAX / channels, "slices")?;
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
        let (l1, l2) = caches(given, frequencies, &mut notes)?;
        let line_bytes = l1.as_ref().map_or(l2.line_bytes, |l1| l1.line_bytes);
        let requests = l1.as_ref().map_or(1, |l1| l1.banks);
        let unit = Unit::of(given, line_bytes, requests, &mut notes)?;
        let mapping = given.value("-gpgpu_mem_addr_mapping")?;
        let columns = Columns::read(&mapping)?;
        note_turns(&columns, &mapping, slices_per_channel, &mut notes);
        let dram = Dram::of(given, &mapping, &columns, frequencies, &mut notes)?;
        let kernels = given.count("-gpgpu_max_concurrent_kernel", 1..=4096, "kernels")?;
        Ok(Self {
            clusters,
            units_per_cluster,
            channels,
            slices_per_channel,
            clocks,
            unit,
            l1,
            l2,
            network: network(given)?,
            response_depth: given.count(
                "-gpgpu_n_cluster_ejection_buffer_size",
                1..=4096,
                "responses",
            )?,
            dram,
            launch_latency: given.count("-gpgpu_kernel_launch_latency", 0..=1 << 30, "cycles")?,
            kernels,
            invalidate: given.flag("-gpgpu_flush_l1_cache")?,
            notes,
            unused: unused(given)?,
        })
    }
}

/// Options that count for nothing beside others.
fn unused(given: &Given) -> Result<Vec<&'static str>, Diagnostic> {
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
    let is_there = CacheText::read(&given.value("-gpgpu_cache:dl1")?)?.is_some();
    let has_l1 = is_there && !given.flag("-gpgpu_gmem_skip_L1D")?;
    let adapts = has_l1 && given.flag("-gpgpu_adaptive_cache_config")?;
    let packets = given.value("-network_mode")?.text() == "2";
    let separate = given.flag("-dram_seperate_write_queue_enable")?;
    let groups: [(bool, &[&str]); 6] = [
        (of_traces(given), &PTX),
        (packets, &["-icnt_flit_size"]),
        (!packets, &PACKETS),
        (!has_l1, &FIRST_LEVEL),
        (!adapts, &ADAPTIVE),
        (!separate, &["-dram_write_queue_size"]),
    ];
    let unused = groups.iter().filter(|(unused, _)| *unused);
    Ok(unused
        .flat_map(|(_, names)| names.iter().copied())
        .collect())
}

impl Unit {
    fn of(
        given: &Given,
        line_bytes: u32,
        requests_per_cycle: u32,
        notes: &mut Vec<String>,
    ) -> Result<Self, Diagnostic> {
        let schedulers = given.count("-gpgpu_num_sched_per_core", 1..=8, "schedulers")?;
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
            classes: classes(given, schedulers)?,
            local_memory: (
                given.count("-gpgpu_shmem_size", 0..=1 << 28, "bytes")?,
                given.count("-gpgpu_shmem_num_banks", 1..=128, "banks")?,
                given.count("-gpgpu_smem_latency", 1..=CYCLES_MAX, "cycles")?,
            ),
            line_bytes,
            requests_per_cycle,
            private_bytes,
        })
    }
}

/// How a scheduler chooses.
fn policy(given: &Given, notes: &mut Vec<String>) -> Result<String, Diagnostic> {
    let value = given.value("-gpgpu_scheduler")?;
    let (name, numbers) = scheduler(&value)?;
    let mut note =
        |what: &str| notes.push(format!("-gpgpu_scheduler {}: {what}", value.in_a_line()));
    let policy = match name.as_str() {
        "lrr" => "Lrr".to_owned(),
        "old" => "OldestFirst".to_owned(),
        "rrr" => {
            note("Lrr, which passes over warps that cannot issue");
            "Lrr".to_owned()
        }
        "two_level_active" => {
            note("groups of warps take turns, rather than warps of one active group");
            let [first, ..] = &numbers[..] else {
                return Err(value.refuse("the warps of a group"));
            };
            if !(1..=64).contains(first) {
                return Err(value.refuse("1 to 64 warps of a group"));
            }
            format!("TwoLevel(group_size: {first})")
        }
        "warp_limiting" => {
            note("Gto without a limit of warps");
            "Gto".to_owned()
        }
        _ => "Gto".to_owned(),
    };
    Ok(policy)
}

/// First and second level.
fn caches(
    given: &Given,
    frequencies: [f64; 4],
    notes: &mut Vec<String>,
) -> Result<(Option<Cache>, Cache), Diagnostic> {
    const L1: &str = "-gpgpu_cache:dl1";
    const L2: &str = "-gpgpu_cache:dl2";
    let l2 = given.value(L2)?;
    let Some(below) = CacheText::read(&l2)? else {
        return Err(l2.refuse("a cache: machines here have a second level"));
    };
    let l1 = given.value(L1)?;
    let first = match CacheText::read(&l1)? {
        Some(_) if given.flag("-gpgpu_gmem_skip_L1D")? => {
            let what = "there is no first level, for private memory either";
            notes.push(format!("-gpgpu_gmem_skip_L1D 1: {what}"));
            None
        }
        first => first,
    };
    // Accesses to lines of one length go down; a longer line is cut.
    let coalesced = match given.count("-gpgpu_coalesce_arch", 0..=u32::MAX, "")? {
        40.. => 32,
        _ => 128,
    };
    let unit = match &first {
        Some(first) => unit_of(first, &l1)?,
        None => coalesced,
    };
    let down = unit.min(unit_of(&below, &l2)?);
    let cores = given.count("-gpgpu_l2_rop_latency", 0..=CYCLES_MAX, "cycles")?;
    let latency = in_clock(cores, frequencies[0], frequencies[2]);
    let said = Said {
        name: L2,
        text: &l2,
    };
    let second = said.cache(&below, (down, down), latency, 1, notes)?;
    let Some(mut first) = first else {
        return Ok((None, second));
    };
    if given.flag("-gpgpu_adaptive_cache_config")? {
        adapt(given, &mut first, &l1, notes)?;
    }
    let latency = given.count("-gpgpu_l1_latency", 0..=CYCLES_MAX, "cycles")?;
    let banks = given.count("-gpgpu_l1_banks", 1..=32, "banks")?;
    let banks = if first.sectored { banks } else { 1 };
    let said = Said {
        name: L1,
        text: &l1,
    };
    let first = said.cache(&first, (unit, down), latency, banks, notes)?;
    Ok((Some(first), second))
}

/// Bytes that a cache fetches together.
fn unit_of(cache: &CacheText, text: &Piece) -> Result<u32, Diagnostic> {
    match cache.unit_bytes() {
        bytes @ (32 | 64 | 128) => Ok(bytes),
        _ => Err(text.refuse("lines of 32, 64 or 128 bytes")),
    }
}

/// Gives a first level the room that the smallest local memory leaves.
fn adapt(
    given: &Given,
    cache: &mut CacheText,
    text: &Piece,
    notes: &mut Vec<String>,
) -> Result<(), Diagnostic> {
    let whole = given.count("-gpgpu_unified_l1d_size", 1..=1 << 16, "KB")?;
    let options = given.value("-gpgpu_shmem_option")?;
    let taken = counts(&options, ',', None)?.into_iter().min().unwrap_or(0);
    let way = u64::from(cache.sets) * u64::from(cache.line_bytes);
    let bytes = u64::from(whole.saturating_sub(taken)) * 1024;
    if bytes == 0 || !bytes.is_multiple_of(way) || bytes / way > 1 << 16 {
        let message = format!("{bytes} bytes are left for a first level with ways of {way} bytes");
        return Err(text.blame(&message));
    }
    cache.ways = (bytes / way) as u32;
    notes.push(format!(
        "-gpgpu_adaptive_cache_config 1: the first level has {bytes} bytes, whatever local memory a kernel takes"
    ));
    Ok(())
}

/// The option that describes a cache.
struct Said<'a> {
    name: &'static str,
    text: &'a Piece,
}

impl Said<'_> {
    /// The cache with lines of `own` bytes over one with lines of `down` bytes. Sectors become lines of their
    /// own, in so many times the sets.
    fn cache(
        &self,
        text: &CacheText,
        (own, down): (u32, u32),
        latency_cycles: u32,
        banks: u32,
        notes: &mut Vec<String>,
    ) -> Result<Cache, Diagnostic> {
        let mut note =
            |what: &str| notes.push(format!("{} {}: {what}", self.name, self.text.in_a_line()));
        if text.line_bytes > own {
            note("what is fetched together is a line of its own, in as many more sets");
        }
        let sets = text.sets * (text.line_bytes / own);
        let set_hash = match text.index {
            Index::Linear => "Modulo",
            Index::Polynomial => "Polynomial",
            Index::Xor => "Xor",
            Index::Fermi => {
                note("the hash of Fermi is an exclusive or of all fields of the line number");
                "Xor"
            }
        };
        if !sets.is_power_of_two() && set_hash != "Modulo" {
            return Err(self
                .text
                .refuse("a power of two of sets, which a hash needs"));
        }
        let (write, write_allocate) = match (text.write, text.write_allocate) {
            (Write::ReadOnly, _) => return Err(self.text.refuse("a cache that takes writes")),
            (Write::Evict | Write::LocalBack, allocate) => {
                if text.write == Write::LocalBack {
                    note("private memory is written through, as global memory is");
                }
                if allocate != WriteAllocate::No && text.write == Write::Evict {
                    note("a written line is not brought in");
                }
                ("WriteEvict", false)
            }
            (Write::Through, WriteAllocate::LazyFetch) => {
                note("a line that is written and not there is not brought in");
                ("WriteThrough", false)
            }
            (Write::Through, allocate) => ("WriteThrough", allocate != WriteAllocate::No),
            (Write::Back, WriteAllocate::LazyFetch | WriteAllocate::No) => (
                "WriteBack(partial: WordMask)",
                text.write_allocate != WriteAllocate::No,
            ),
            (Write::Back, _) => ("WriteBack(partial: Fetch)", true),
        };
        let allocate = match text.allocate {
            Allocate::OnMiss => "OnMiss",
            Allocate::OnFill => "OnFill",
            Allocate::Streaming => {
                note("misses under way are those of its table, not as many as lines");
                "OnFill"
            }
        };
        let size_bytes = text.bytes();
        if size_bytes > 1 << 28 {
            return Err(self.text.refuse("a cache of at most 268435456 bytes"));
        }
        let pieces = own / down;
        Ok(Cache {
            size_bytes,
            line_bytes: own,
            below_line_bytes: down,
            ways: text.ways,
            set_hash,
            replacement: if text.fifo { "Fifo" } else { "Lru" },
            allocate,
            write,
            write_allocate,
            mshr_entries: text.mshr_entries,
            mshr_merges: text.mshr_merges,
            // Misses stay for their latency, so one in each cycle fits beside those that wait.
            miss_queue_entries: text.miss_queue.max(3) * pieces + latency_cycles,
            latency_cycles,
            banks,
        })
    }
}

fn network(given: &Given) -> Result<Network, Diagnostic> {
    let arbiter = given.value("-icnt_arbiter_algo")?;
    let flits = |name| given.count(name, 1..=1 << 12, "flits");
    let mode = given.value("-network_mode")?;
    match mode.text() {
        "1" => Ok(Network::Router {
            flit_bytes: given.count("-icnt_flit_size", 1..=4096, "bytes")?,
        }),
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

/// Notes where the lowest bits of the bank, which tell the slices of a channel apart, are not those above what
/// stays together in a channel: there they take turns here.
fn note_turns(columns: &Columns, text: &Piece, slices_per_channel: u32, notes: &mut Vec<String>) {
    let bits = slices_per_channel.ilog2();
    let wanted = (0..bits).map(|bit| CHANNEL_BYTES.trailing_zeros() + bit);
    let there = columns.bank.iter().copied().take(bits as usize);
    if !slices_per_channel.is_power_of_two() || !wanted.eq(there) {
        let what = "slices of a channel take turns every 256 of its bytes";
        notes.push(format!(
            "-gpgpu_mem_addr_mapping {}: {what}",
            text.in_a_line()
        ));
    }
}

/// Cycles of one clock in those of another.
fn in_clock(cycles: u32, from: f64, to: f64) -> u32 {
    (f64::from(cycles) * to / from)
        .round()
        .min(f64::from(CYCLES_MAX)) as u32
}

impl Dram {
    fn of(
        given: &Given,
        mapping: &Piece,
        places: &Columns,
        frequencies: [f64; 4],
        notes: &mut Vec<String>,
    ) -> Result<Self, Diagnostic> {
        let number = |name| given.count(name, 1..=1024, "");
        let length = number("-gpgpu_dram_burst_length")?;
        let bytes = length * number("-gpgpu_dram_buswidth")? * number("-gpgpu_n_mem_per_ctrlr")?;
        let burst = given.value("-gpgpu_dram_burst_length")?;
        if ![32, 64, 128].contains(&bytes) {
            let message = format!(
                "burst length, bus width and devices of a channel make accesses of {bytes} bytes; expected 32, 64 or 128"
            );
            return Err(burst.blame(&message));
        }
        let ratio = number("-dram_data_command_freq_ratio")?;
        let text = given.value("-gpgpu_dram_timing_opt")?;
        let timing = Timing::read(&text)?;
        let (banks, groups) = (timing.of("nbk"), timing.of("nbkgrp").max(1));
        if !banks.is_power_of_two() || !groups.is_power_of_two() || groups > banks || banks > 64 {
            return Err(text.refuse("powers of two of banks and groups, at most 64 banks"));
        }
        let shift = bytes.trailing_zeros();
        let above = |places: &[u32]| -> Vec<u32> {
            let above = places.iter().copied().filter(|place| *place >= shift);
            above.collect()
        };
        let (row, bank, column) = (above(&places.row), &places.bank, above(&places.column));
        let bank_bits = banks.trailing_zeros() as usize;
        let whole = bank.len() == bank_bits && bank.iter().all(|place| *place >= shift);
        if !whole || row.is_empty() || column.is_empty() || row.len() > 24 {
            let expected = format!(
                "{bank_bits} bits of the bank above the {bytes} bytes of an access, bits of the column, and 1 to 24 of the row"
            );
            return Err(mapping.refuse(&expected));
        }
        let group_bits = groups.trailing_zeros() as usize;
        let hashed = hashed_bank(given, bank, &row, shift)?;
        let (bank_part, group_part) = match given.value("-dram_bnkgrp_indexing_policy")? {
            policy if policy.text() == "0" => {
                let low = bank_bits - group_bits;
                (slice(&hashed, 0, low), slice(&hashed, low, bank_bits))
            }
            policy if policy.text() == "1" => (
                slice(&hashed, group_bits, bank_bits),
                slice(&hashed, 0, group_bits),
            ),
            policy => return Err(policy.refuse("0 or 1")),
        };
        let scheduler = given.value("-gpgpu_dram_scheduler")?;
        let waiting = |name| -> Result<u32, Diagnostic> {
            let depth = given.count(name, 0..=4096, "requests")?;
            Ok(if depth == 0 { 64 } else { depth })
        };
        let read_queue = waiting("-gpgpu_frfcfs_dram_sched_queue_size")?;
        let (write_queue, drain) = writes(given, read_queue, notes)?;
        let latency = given.count("-dram_latency", 0..=CYCLES_MAX, "cycles")?;
        Ok(Self {
            devices: bytes / 32,
            bank_groups: groups,
            banks_per_group: banks / groups,
            rows: 1 << row.len(),
            columns: 1 << column.len(),
            mapping: [
                bits(&column, shift),
                group_part,
                bank_part,
                bits(&row, shift),
            ],
            burst_cycles: length.div_ceil(ratio),
            timing,
            scheduler: match scheduler.text() {
                "0" => "Fcfs",
                "1" => "FrFcfs",
                _ => return Err(scheduler.refuse("0 or 1")),
            },
            read_queue,
            write_queue,
            drain,
            response_queue: waiting("-gpgpu_dram_return_queue_size")?,
            latency_cycles: in_clock(latency, frequencies[0], frequencies[3]),
        })
    }
}

/// The number of the bank as an expression.
fn hashed_bank(given: &Given, bank: &[u32], row: &[u32], shift: u32) -> Result<String, Diagnostic> {
    let plain = bits(bank, shift);
    let policy = given.value("-dram_bnk_indexing_policy")?;
    match policy.text() {
        "0" => Ok(plain),
        "1" if row.len() >= bank.len() => {
            let low = bits(&row[..bank.len()], shift);
            Ok(format!("({plain} ^ {low})"))
        }
        "2" if (2..=8).contains(&bank.len()) => {
            let row = bits(row, shift);
            Ok(format!("poly({{{row}, {plain}}}, {})", bank.len()))
        }
        "1" | "2" => Err(policy.refuse("0, as there are too few bits for a hash")),
        _ => Err(policy.refuse("0, 1 or 2")),
    }
}

/// Bits `low` to `high` of an expression; nothing where there are none.
fn slice(text: &str, low: usize, high: usize) -> String {
    match high.saturating_sub(low) {
        0 => String::new(),
        1 => format!("{text}[{low}]"),
        _ => format!("{text}[{}:{low}]", high - 1),
    }
}

/// Room for writes, and when they are drained.
fn writes(
    given: &Given,
    read_queue: u32,
    notes: &mut Vec<String>,
) -> Result<(u32, (u32, u32)), Diagnostic> {
    if !given.flag("-dram_seperate_write_queue_enable")? {
        notes.push(format!(
            "-dram_seperate_write_queue_enable 0: writes have a queue of their own, of {read_queue}"
        ));
        let of = |parts: u32| (read_queue * parts / 16).max(1);
        return Ok((read_queue, (of(13).min(read_queue - 1).max(1), of(3))));
    }
    let text = given.value("-dram_write_queue_size")?;
    let numbers = counts(&text, ':', Some(3))?;
    let [size, high, low] = numbers[..] else {
        return Err(text.refuse("three numbers"));
    };
    if low >= high || high > size || size > 4096 || high < 2 {
        return Err(text.refuse("a size up to 4096 and two lower marks, as in `32:28:16`"));
    }
    Ok((size, (high - 1, (low + 1).min(high - 1))))
}

/// How a pace is written.
impl std::fmt::Display for Pace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "(latency: {}, interval: {})",
            self.latency, self.interval
        )
    }
}
