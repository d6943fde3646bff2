//! Parser for cache descriptions such as `S:64:128:8,L:B:m:L:L,A:256:4,4:0,32`.

use warpweave_params::Diagnostic;

use super::fragment::Fragment;

/// Parameters of a cache, parsed from its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CacheText {
    /// True if lines have sectors of 32 bytes, which are fetched and counted separately.
    pub(super) sectored: bool,
    pub(super) sets: u32,
    pub(super) line_bytes: u32,
    pub(super) ways: u32,
    pub(super) fifo: bool,
    pub(super) write: Write,
    pub(super) allocate: Allocate,
    pub(super) write_allocate: WriteAllocate,
    pub(super) index: Index,
    pub(super) mshr_entries: u32,
    pub(super) mshr_merges: u32,
    pub(super) miss_queue: u32,
    /// True if hits wait behind misses in a FIFO between tags and data. The FIFO has `mshr_entries`
    /// entries; `mshr_merges` misses wait to be sent, and `miss_queue` lines are in flight.
    pub(super) in_order: bool,
}

/// Write policy selected by the cache description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    ReadOnly,
    Back,
    Through,
    Evict,
    /// Write-back for private memory, write-through for global memory.
    LocalBack,
}

/// Time at which a miss allocates its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allocate {
    OnMiss,
    OnFill,
    /// Allocates on fill and allows as many outstanding misses as there are lines.
    Streaming,
}

/// Action of a write that misses in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteAllocate {
    No,
    /// Writes the line and fetches it.
    Allocate,
    /// Waits until the line has been fetched.
    Fetch,
    /// Marks the written bytes; the rest is fetched when it is read.
    LazyFetch,
}

/// Hash function that maps lines to sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    Linear,
    Fermi,
    Polynomial,
    Xor,
}

/// Maximum line size in bytes; a line is never interleaved.
pub(super) const LINE_BYTES_MAX: u32 = 128;

/// Maximum number of misses under way, and of those that wait to be sent.
const MISSES_MAX: u32 = 4096;
const QUEUE_MAX: u32 = 1024;

const SHAPE: &str =
    "kind, sets, line size in bytes and ways, as in `N:64:128:6`, or the last three";

const GROUPS: &str = "a cache such as `N:64:128:6,L:R:m:N:H,A:64:8,8`, or `none`";

impl CacheText {
    /// Parses a description; returns `None` if there is no cache.
    pub(super) fn read(value: &Fragment) -> Result<Option<Self>, Diagnostic> {
        if value.text() == "none" {
            return Ok(None);
        }
        let groups = value.split(',');
        let [shape, policies, mshrs, queues, rest @ ..] = &groups[..] else {
            return Err(value.refuse(GROUPS));
        };
        if let [port, more @ ..] = rest {
            port_of_data(port)?;
            if let [more, ..] = more {
                return Err(more.refuse("the end of the cache"));
            }
        }
        let shape_parts = shape.split(':');
        // Before release 4 the kind was omitted: no cache had sectors.
        let (sectored, sets, line, ways) = match &shape_parts[..] {
            [kind, sets, line, ways] => {
                let sectored = letter(kind, &[("N", false), ("S", true)])?;
                (sectored, sets, line, ways)
            }
            [sets, line, ways] => (false, sets, line, ways),
            _ => return Err(shape.refuse(SHAPE)),
        };
        let line_bytes = line.number("the line size in bytes")?;
        if sectored && line_bytes != 128 {
            return Err(line.refuse("a line size of 128 bytes, as required for sectors"));
        }
        let mshr = mshrs.split(':');
        let [mshr_kind, entries, merges, ..] = &mshr[..] else {
            return Err(mshrs.refuse("kind, entries and merged requests per entry, as in `A:64:8`"));
        };
        let kinds = [("A", false), ("S", false), ("F", true), ("T", true)];
        let in_order = letter(mshr_kind, &kinds)?;
        let queue = queues.split(':');
        if let [_, fifo] = &queue[..] {
            fifo.number::<u32>("a queue depth")?;
        } else if queue.len() != 1 {
            return Err(queues.refuse("one or two queue depths, as in `16:0`"));
        }
        let (fifo, write, allocate, write_allocate, index) = self::policies(policies)?;
        Ok(Some(Self {
            sectored,
            sets: sets.within(1..=1 << 20, "sets")?,
            line_bytes,
            ways: ways.within(1..=1 << 16, "ways")?,
            fifo,
            write,
            allocate,
            write_allocate,
            index,
            mshr_entries: entries.within(1..=MISSES_MAX, "misses under way")?,
            mshr_merges: merges.within(1..=1024, "merged requests per miss")?,
            miss_queue: queue[0].within(1..=QUEUE_MAX, "misses that wait")?,
            in_order,
        }))
    }

    /// Makes this cache as many of them in one.
    pub(super) fn join(&mut self, caches: u32) {
        self.sets *= caches;
        self.mshr_entries = (self.mshr_entries * caches).min(MISSES_MAX);
        self.miss_queue = (self.miss_queue * caches).min(QUEUE_MAX);
    }

    /// Returns the granularity of look-up, fetch and counting, in bytes.
    pub(super) fn unit_bytes(&self) -> u32 {
        match self.line_bytes {
            _ if self.sectored => 32,
            // Longer than the lines here: fetched in parts, each a line of its own.
            256 | 512 => LINE_BYTES_MAX,
            bytes => bytes,
        }
    }

    /// Returns the capacity of the cache in bytes.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.sets) * u64::from(self.line_bytes) * u64::from(self.ways)
    }
}

type Policies = (bool, Write, Allocate, WriteAllocate, Index);

fn policies(group: &Fragment) -> Result<Policies, Diagnostic> {
    let parts = group.split(':');
    // Before release 3.2 the index function was omitted: it was linear.
    let linear = Fragment::assumed("L", "");
    let parts: Vec<&Fragment> = match parts.len() {
        4 => parts.iter().chain([&linear]).collect(),
        _ => parts.iter().collect(),
    };
    let [replacement, write, allocate, write_allocate, index] = parts[..] else {
        let expected = "replacement, write policy, allocation, write allocation and index function, as in `L:B:m:L:L`";
        return Err(group.refuse(expected));
    };
    Ok((
        letter(replacement, &[("L", false), ("F", true)])?,
        letter(
            write,
            &[
                ("R", Write::ReadOnly),
                ("B", Write::Back),
                ("T", Write::Through),
                ("E", Write::Evict),
                ("L", Write::LocalBack),
            ],
        )?,
        letter(
            allocate,
            &[
                ("m", Allocate::OnMiss),
                ("f", Allocate::OnFill),
                ("s", Allocate::Streaming),
            ],
        )?,
        letter(
            write_allocate,
            &[
                ("N", WriteAllocate::No),
                ("W", WriteAllocate::Allocate),
                ("F", WriteAllocate::Fetch),
                ("L", WriteAllocate::LazyFetch),
            ],
        )?,
        letter(
            index,
            &[
                ("L", Index::Linear),
                ("H", Index::Fermi),
                ("P", Index::Polynomial),
                ("X", Index::Xor),
            ],
        )?,
    ))
}

fn port_of_data(port: &Fragment) -> Result<(), Diagnostic> {
    port.number::<u32>("the data port width in bytes")
        .map(|_| ())
}

/// Returns the meaning of a letter in the description.
fn letter<T: Copy>(piece: &Fragment, letters: &[(&str, T)]) -> Result<T, Diagnostic> {
    let found = letters.iter().find(|(name, _)| *name == piece.text());
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = letters.iter().map(|(name, _)| *name).collect();
        piece.refuse(&format!("one of {}", names.join(", ")))
    })
}
