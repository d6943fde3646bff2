//! What policies decide.

/// A field of a decision; see the table of [`policy`](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Of [`MissDecision`].
    Insert,
    /// Of [`MissDecision`].
    Fetch,
    /// Of [`MissDecision`].
    RequestFlags,
    /// Of [`FillDecision`].
    Keep,
    /// Of [`EvictDecision`], with the flags.
    HandDown,
    /// Of [`ResponseDecision`].
    Drop,
    /// Of [`ResponseDecision`].
    ResponseFlags,
}

pub(super) const FIELDS: usize = 7;

/// What becomes of a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissDecision {
    /// The line gets a place here.
    pub insert: bool,
    /// Words to fetch beyond the sectors asked for; whole sectors are fetched.
    pub fetch: u32,
    /// Flags added to the fetch.
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

/// What becomes of a line that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillDecision {
    /// It gets, or keeps, its place. A line that has words newer than below keeps it anyhow.
    pub keep: bool,
}

impl Default for FillDecision {
    fn default() -> Self {
        Self { keep: true }
    }
}

/// What becomes of a clean victim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvictDecision {
    /// It is sent down as a copy-back flagged [`flags::CLEAN`](crate::memory::flags::CLEAN). The
    /// level below must be a cache.
    pub hand_down: bool,
    /// Further flags of that copy-back.
    pub flags: u16,
}

/// What goes with the answer of a hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseDecision {
    /// A line that is clean leaves.
    pub drop: bool,
    /// Flags added to the response.
    pub flags: u16,
}
