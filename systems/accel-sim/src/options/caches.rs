//! Caches described by the options, in terms of our description files.

use warpweave_params::Diagnostic;

use super::cache::{Allocate, CacheText, Index, Write, WriteAllocate};
use super::cycles::{CYCLES_MAX, in_clock};
use super::fragment::Fragment;
use super::front_end::Fetch;
use super::option_values::OptionValues;
use super::shared::Shared;

/// Parameters of a cache in a system file.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) size_bytes: u64,
    pub(super) lines: Lines,
    /// Size in bytes of upper-level requests that are split here; `None` if none are split.
    pub(super) above_line_bytes: Option<u32>,
    pub(super) ways: u32,
    pub(super) set_hash: &'static str,
    pub(super) replacement: &'static str,
    pub(super) allocate: &'static str,
    pub(super) write: &'static str,
    pub(super) write_allocate: bool,
    pub(super) mshr_entries: u32,
    pub(super) mshr_merges: u32,
    pub(super) miss_queue_entries: u32,
    /// Delay before the look-up, in clock cycles of the requester.
    pub(super) delay_cycles: u32,
    /// Number of banks if more than one; as many requests are accepted per cycle.
    pub(super) banks: u32,
}

/// Options that describe the instruction, constant and texture caches.
const INSTRUCTIONS: &str = "-gpgpu_cache:il1";
const CONSTANTS: &str = "-gpgpu_const_cache:l1";
const TEXTURES: &str = "-gpgpu_tex_cache:l1";

/// A read-only cache and the limits on its waiting requests.
#[derive(Debug)]
pub(super) struct ReadCache {
    pub(super) cache: Cache,
    /// Maximum number of requests that wait for data.
    pub(super) under_way: u32,
    /// True if hits wait in order behind earlier misses.
    pub(super) in_order: bool,
}

/// All caches of the machine in the system file.
#[derive(Debug)]
pub(super) struct Caches {
    /// First-level data cache; `None` if loads go straight to the network.
    pub(super) l1: Option<Cache>,
    /// Memory that the first level shares with local memory, if it does.
    pub(super) shared: Option<Shared>,
    /// Instruction cache; `None` if instructions are supplied without a cache.
    pub(super) l1i: Option<Cache>,
    /// Constant cache; `None` if constants take a fixed time.
    pub(super) l1c: Option<ReadCache>,
    /// Texture cache; `None` if textures share the path of other loads.
    pub(super) l1t: Option<ReadCache>,
    pub(super) l2: Cache,
}

impl Caches {
    /// Builds the caches from the options, with an instruction cache if `fetch` uses one. Each
    /// slice of the second level replaces `joined` slices.
    pub(super) fn of(
        given: &OptionValues,
        frequencies: [f64; 4],
        fetch: Option<&Fetch>,
        joined: u32,
        notes: &mut Vec<String>,
    ) -> Result<Self, Diagnostic> {
        let text = given.value(INSTRUCTIONS)?;
        let described = CacheText::read(&text)?.filter(|_| fetch.is_some_and(|it| it.has_cache));
        let own = described.as_ref().map(CacheText::unit_bytes);
        let (l1, shared, l2) = levels(given, frequencies, (own, joined), notes)?;
        let said = CacheOption {
            name: INSTRUCTIONS,
            text: &text,
        };
        let l1i = described.map(|described| {
            let lines = Lines {
                own: described.unit_bytes(),
                down: l2.lines.own,
                apart: l2.above_line_bytes.is_some(),
            };
            said.cache(&described, lines, 1, 1, notes)
        });
        let l1i = l1i.transpose()?;
        let first = l1.as_ref();
        let mut beside = |name| read_cache(given, name, first, &l2, notes);
        let l1c = if given.flag("-gpgpu_perfect_inst_const_cache")? {
            None
        } else {
            beside(CONSTANTS)?
        };
        let l1t = beside(TEXTURES)?;
        Ok(Self {
            l1,
            shared,
            l1i,
            l1c,
            l1t,
            l2,
        })
    }
}

/// Builds a constant or texture cache on top of the second level, if the options have one.
fn read_cache(
    given: &OptionValues,
    name: &'static str,
    first: Option<&Cache>,
    second: &Cache,
    notes: &mut Vec<String>,
) -> Result<Option<ReadCache>, Diagnostic> {
    let text = given.value(name)?;
    let Some(mut described) = CacheText::read(&text)? else {
        return Ok(None);
    };
    // All requesters of the second level use one line length: that of the first level, if its
    // requests are split.
    let unit = unit_of(&described, &text)?;
    let apart = first.filter(|_| second.above_line_bytes.is_some());
    let own = apart.map_or(unit.max(second.lines.own), |first| first.lines.own);
    let way = u64::from(described.sets) * u64::from(described.line_bytes);
    if !way.is_multiple_of(u64::from(own)) {
        return Err(text.refuse(&format!("a way size that is a multiple of {own} bytes")));
    }
    let (entries, merges) = (described.mshr_entries, described.mshr_merges);
    let in_order = described.in_order;
    let under_way = if in_order { entries } else { entries * merges };
    if in_order {
        // Any number of the requests that wait may be for one line.
        described.mshr_entries = described.miss_queue;
        described.mshr_merges = entries.min(1024);
        described.miss_queue = merges;
    }
    let said = CacheOption { name, text: &text };
    let lines = Lines {
        own,
        down: second.lines.own,
        apart: apart.is_some(),
    };
    Ok(Some(ReadCache {
        cache: said.cache(&described, lines, 1, 1, notes)?,
        under_way: under_way.min(1 << 16),
        in_order,
    }))
}

/// Builds the first and second level; the second also serves a cache with lines of `beside` bytes,
/// and each of its slices replaces `joined` slices.
fn levels(
    given: &OptionValues,
    frequencies: [f64; 4],
    (beside, joined): (Option<u32>, u32),
    notes: &mut Vec<String>,
) -> Result<(Option<Cache>, Option<Shared>, Cache), Diagnostic> {
    const L1: &str = "-gpgpu_cache:dl1";
    const L2: &str = "-gpgpu_cache:dl2";
    let l2 = given.value(L2)?;
    let Some(mut below) = CacheText::read(&l2)? else {
        return Err(l2.refuse("a cache: a second level is required"));
    };
    below.join(joined);
    let l1 = given.value(L1)?;
    let first = match CacheText::read(&l1)? {
        Some(_) if given.flag("-gpgpu_gmem_skip_L1D")? => {
            let what = "no first-level cache, for private memory either";
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
    let down = down.min(beside.unwrap_or(down));
    let cores = given.count("-gpgpu_l2_rop_latency", 0..=CYCLES_MAX, "cycles")?;
    let delay = in_clock(cores, frequencies[0], frequencies[1]).max(1);
    let said = CacheOption {
        name: L2,
        text: &l2,
    };
    let mut second = said.cache(&below, Lines::alike(down), delay, 1, notes)?;
    // All that asks the second level asks for lines of one length.
    let apart = first.is_some() && unit > down && beside.is_none_or(|bytes| bytes == unit);
    second.above_line_bytes = apart.then_some(unit);
    let Some(mut first) = first else {
        return Ok((None, None, second));
    };
    let shared = Shared::of(given, &mut first, &l1, notes)?;
    let delay = given
        .count("-gpgpu_l1_latency", 0..=CYCLES_MAX, "cycles")?
        .max(1);
    let banks = given.count("-gpgpu_l1_banks", 1..=32, "banks")?;
    let banks = if first.sectored { banks } else { 1 };
    let said = CacheOption {
        name: L1,
        text: &l1,
    };
    let lines = Lines {
        own: unit,
        down,
        apart,
    };
    let first = said.cache(&first, lines, delay, banks, notes)?;
    Ok((Some(first), shared, second))
}

/// Returns the fetch granularity of a cache in bytes.
fn unit_of(cache: &CacheText, text: &Fragment) -> Result<u32, Diagnostic> {
    match cache.unit_bytes() {
        bytes @ (32 | 64 | 128) => Ok(bytes),
        _ => Err(text.refuse("a line size of 32, 64, 128, 256 or 512 bytes")),
    }
}

/// Line sizes of a cache and of the next level, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    pub(super) own: u32,
    /// Bytes per reply from the next level.
    pub(super) down: u32,
    /// True if one request fetches a line that is longer than a reply.
    pub(super) apart: bool,
}

impl Lines {
    /// Returns the line sizes of a cache whose next level has lines of the same length.
    fn alike(bytes: u32) -> Self {
        Self {
            own: bytes,
            down: bytes,
            apart: false,
        }
    }
}

/// An option that describes a cache: name and value.
struct CacheOption<'a> {
    name: &'static str,
    text: &'a Fragment,
}

impl CacheOption<'_> {
    /// Builds a cache with lines of `own` bytes over a level that replies with `down` bytes at a
    /// time. Sectors become separate lines, with the number of sets multiplied accordingly.
    fn cache(
        &self,
        text: &CacheText,
        lines: Lines,
        delay_cycles: u32,
        banks: u32,
        notes: &mut Vec<String>,
    ) -> Result<Cache, Diagnostic> {
        let Lines { own, down, apart } = lines;
        let mut note =
            |what: &str| notes.push(format!("{} {}: {what}", self.name, self.text.in_a_line()));
        if text.line_bytes > own {
            note("each fetch unit becomes its own line, with correspondingly more sets");
        }
        if text.unit_bytes() < own {
            note(
                "lines are as long as the second level's requests, with correspondingly fewer sets",
            );
        }
        let sets = text.sets * text.line_bytes / own;
        let set_hash = match text.index {
            Index::Linear => "Modulo",
            Index::Polynomial => "Polynomial",
            Index::Xor => "Xor",
            Index::Fermi if text.line_bytes == 128 && [32, 64].contains(&text.sets) => "Fermi",
            Index::Fermi => {
                return Err(self
                    .text
                    .refuse("32 or 64 sets of 128-byte lines, as required by the Fermi hash"));
            }
        };
        if !sets.is_power_of_two() && set_hash != "Modulo" {
            return Err(self
                .text
                .refuse("a power-of-two number of sets, as required by a hash"));
        }
        let (write, write_allocate) = match (text.write, text.write_allocate) {
            // Nothing is written to instructions, constants and textures.
            _ if [INSTRUCTIONS, CONSTANTS, TEXTURES].contains(&self.name) => ("WriteEvict", false),
            (Write::ReadOnly, _) => return Err(self.text.refuse("a cache that accepts writes")),
            (Write::Evict | Write::LocalBack, allocate) => {
                if text.write == Write::LocalBack {
                    note("private memory is written through, like global memory");
                }
                if allocate != WriteAllocate::No && text.write == Write::Evict {
                    note("a write does not allocate a line");
                }
                ("WriteEvict", false)
            }
            (Write::Through, WriteAllocate::LazyFetch) => {
                note("a write miss does not allocate a line");
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
                note(
                    "outstanding misses are limited by the MSHR table, not by the number of lines",
                );
                "OnFill"
            }
        };
        let size_bytes = text.bytes();
        if size_bytes > 1 << 28 {
            return Err(self.text.refuse("a cache of at most 268435456 bytes"));
        }
        let requests = if apart { 1 } else { own / down };
        Ok(Cache {
            size_bytes,
            lines,
            above_line_bytes: None,
            ways: text.ways,
            set_hash,
            replacement: if text.fifo { "Fifo" } else { "Lru" },
            allocate,
            write,
            write_allocate,
            mshr_entries: text.mshr_entries,
            mshr_merges: text.mshr_merges,
            // One more is on its way out.
            miss_queue_entries: text.miss_queue.max(3) * requests + 1,
            delay_cycles,
            banks,
        })
    }
}
