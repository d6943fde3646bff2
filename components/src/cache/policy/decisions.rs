//! Decisions that cache policies make, and their fields.

/// Field of a decision; see the table of [`policy`](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The `insert` field of [`MissDecision`]: allocates the line.
    Insert,
    /// The `fetch` field of [`MissDecision`]: extra words to fetch.
    Fetch,
    /// The `flags` field of [`MissDecision`]: flags added to the fetch.
    RequestFlags,
    /// The `keep` field of [`FillDecision`]: installs the line.
    Keep,
    /// The `hand_down` field of [`EvictDecision`], together with its flags.
    HandDown,
    /// The `drop` field of [`ResponseDecision`]: drops the clean line.
    Drop,
    /// The `flags` field of [`ResponseDecision`]: flags added to the response.
    ResponseFlags,
}

pub(super) const FIELDS: usize = 7;

/// Decision on a miss: allocation, extra words and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissDecision {
    /// True if the line is allocated in this cache.
    pub insert: bool,
    /// Words to fetch beyond the requested sectors; whole sectors are fetched.
    pub fetch: u32,
    /// Flags added to the fetch request.
    pub flags: u16,
}

impl Default for MissDecision {
    fn default() -> Self {
        Self {
            insert: true,
            fetch: 0,
            flags: 0,
        }
    }
}

/// Decision on a line that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillDecision {
    /// True if the line gets, or keeps, its place. A line with dirty words is kept regardless.
    pub keep: bool,
}

impl Default for FillDecision {
    fn default() -> Self {
        Self { keep: true }
    }
}

/// Decision on a clean victim that leaves the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvictDecision {
    /// Sends the victim down as a copy-back flagged [`flags::CLEAN`](crate::memory::flags::CLEAN).
    /// The next level must be a cache.
    pub hand_down: bool,
    /// Additional flags for the copy-back of the clean victim.
    pub flags: u16,
}

/// Decision on the response to a hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseDecision {
    /// Drops the line after the response if it is clean.
    pub drop: bool,
    /// Flags added to the response of the hit.
    pub flags: u16,
}
