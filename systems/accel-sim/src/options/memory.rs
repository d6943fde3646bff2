//! DRAM described by the options, in terms of our description files.

use warpweave_params::Diagnostic;

use super::cache::LINE_BYTES_MAX;
use super::cycles::{CYCLES_MAX, in_clock};
use super::dram::{Columns, Timing, bits};
use super::form::counts;
use super::fragment::Fragment;
use super::option_values::OptionValues;

/// Parameters of a memory controller in a system file.
#[derive(Debug)]
pub(super) struct Dram {
    pub(super) devices: u32,
    pub(super) bank_groups: u32,
    pub(super) banks_per_group: u32,
    pub(super) rows: u64,
    pub(super) columns: u64,
    /// Address mapping of column, bank group, bank and row, as expressions.
    pub(super) mapping: [String; 4],
    pub(super) burst_cycles: u32,
    /// Number of the simulator's column commands that one column command here replaces.
    pub(super) commands_per_access: u32,
    pub(super) timing: Timing,
    pub(super) command_bus: &'static str,
    pub(super) scheduler: &'static str,
    pub(super) read_queue: u32,
    pub(super) writes: WriteQueue,
    pub(super) response_queue: u32,
    pub(super) latency_cycles: u32,
}

/// Number of entries of the write queue, and the watermarks between which it is drained.
#[derive(Debug)]
pub(super) struct WriteQueue {
    pub(super) entries: u32,
    pub(super) high: u32,
    pub(super) low: u32,
}

/// Minimum bytes of a DRAM access.
const ACCESS_BYTES_MIN: u32 = 32;

/// Maximum row bits of the memory controller.
const ROW_BITS_MAX: usize = 24;

impl Dram {
    pub(super) fn of(
        given: &OptionValues,
        mapping: &Fragment,
        places: &Columns,
        frequencies: [f64; 4],
        notes: &mut Vec<String>,
    ) -> Result<Self, Diagnostic> {
        let number = |name| given.count(name, 1..=1024, "");
        let length = number("-gpgpu_dram_burst_length")?;
        let carried = length * number("-gpgpu_dram_buswidth")? * number("-gpgpu_n_mem_per_ctrlr")?;
        let burst = given.value("-gpgpu_dram_burst_length")?;
        if !carried.is_power_of_two() || !(8..=4096).contains(&carried) {
            let message = format!(
                "burst length, bus width and devices per channel give accesses of {carried} bytes; expected a power of two from 8 to 4096"
            );
            return Err(burst.blame(&message));
        }
        let bytes = carried.clamp(ACCESS_BYTES_MIN, LINE_BYTES_MAX);
        let commands_per_access = (bytes / carried).max(1);
        if commands_per_access > 1 {
            notes.push(format!(
                "-gpgpu_dram_burst_length {length}: bursts of {carried} bytes, {commands_per_access} of which are one access with one column command"
            ));
        }
        if carried > bytes {
            notes.push(format!(
                "-gpgpu_dram_burst_length {length}: bursts of {carried} bytes, of which an access uses {bytes}"
            ));
        }
        let ratio = number("-dram_data_command_freq_ratio")?;
        let text = given.value("-gpgpu_dram_timing_opt")?;
        let timing = Timing::read(&text)?;
        let (banks, groups) = (timing.of("nbk"), timing.of("nbkgrp").max(1));
        if !banks.is_power_of_two() || !groups.is_power_of_two() || groups > banks || banks > 64 {
            return Err(
                text.refuse("power-of-two numbers of banks and bank groups, at most 64 banks")
            );
        }
        let shift = bytes.trailing_zeros();
        let above = |places: &[u32]| -> Vec<u32> {
            let above = places.iter().copied().filter(|place| *place >= shift);
            above.collect()
        };
        let (mut row, bank, column) = (above(&places.row), &places.bank, above(&places.column));
        let bank_bits = banks.trailing_zeros() as usize;
        let whole = bank.len() == bank_bits && bank.iter().all(|place| *place >= shift);
        if !whole || row.is_empty() || column.is_empty() {
            let expected = format!(
                "{bank_bits} bank bits above the {bytes} bytes of an access, at least one column bit, and at least one row bit"
            );
            return Err(mapping.refuse(&expected));
        }
        if row.len() > ROW_BITS_MAX {
            notes.push(format!(
                "-gpgpu_mem_addr_mapping: {} row bits, of which the lowest {ROW_BITS_MAX} select the row",
                row.len()
            ));
            row.truncate(ROW_BITS_MAX);
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
        let depth = "-gpgpu_frfcfs_dram_sched_queue_size";
        let read_queue = waiting(depth)?;
        if read_queue == 1 {
            return Err(given.value(depth)?.refuse("0, or 2 to 4096 requests"));
        }
        let writes = WriteQueue::of(given, read_queue, notes)?;
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
            burst_cycles: length.div_ceil(ratio) * commands_per_access,
            commands_per_access,
            timing,
            command_bus: if given.flag("-dram_dual_bus_interface")? {
                "RowAndColumn"
            } else {
                "Shared"
            },
            scheduler: match scheduler.text() {
                "0" => "Fcfs",
                "1" => "FrFcfs",
                _ => return Err(scheduler.refuse("0 or 1")),
            },
            read_queue,
            writes,
            response_queue: waiting("-gpgpu_dram_return_queue_size")?,
            latency_cycles: in_clock(latency, frequencies[0], frequencies[3]),
        })
    }
}

/// Returns the bank number as an expression.
fn hashed_bank(
    given: &OptionValues,
    bank: &[u32],
    row: &[u32],
    shift: u32,
) -> Result<String, Diagnostic> {
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
        "1" | "2" => Err(policy.refuse("0, because there are too few bits for a hash")),
        _ => Err(policy.refuse("0, 1 or 2")),
    }
}

/// Selects bits `low` to `high` of an expression; empty if the range is empty.
fn slice(text: &str, low: usize, high: usize) -> String {
    match high.saturating_sub(low) {
        0 => String::new(),
        1 => format!("{text}[{low}]"),
        _ => format!("{text}[{}:{low}]", high - 1),
    }
}

impl WriteQueue {
    /// Reads the write queue; by default it is as long as the read queue.
    fn of(
        given: &OptionValues,
        read_queue: u32,
        notes: &mut Vec<String>,
    ) -> Result<Self, Diagnostic> {
        if !given.flag("-dram_seperate_write_queue_enable")? {
            notes.push(format!(
                "-dram_seperate_write_queue_enable 0: writes have a separate queue of {read_queue} entries"
            ));
            let of = |parts: u32| (read_queue * parts / 16).max(1);
            return Ok(Self {
                entries: read_queue,
                high: of(13).min(read_queue - 1).max(1),
                low: of(3),
            });
        }
        let text = given.value("-dram_write_queue_size")?;
        let numbers = counts(&text, ':', Some(3..=3))?;
        let [size, high, low] = numbers[..] else {
            return Err(text.refuse("three numbers"));
        };
        if low >= high || high > size || size > 4096 || high < 2 {
            return Err(
                text.refuse("a size of at most 4096, a high and a low watermark, as in `32:28:16`")
            );
        }
        Ok(Self {
            entries: size,
            high: high - 1,
            low: (low + 1).min(high - 1),
        })
    }
}
