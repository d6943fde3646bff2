//! How far a partition may go on by itself, and what it has before it then.

use crate::time::Tick;

/// Whether background wake-ups alone keep a run going.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Background {
    /// They fire only on the way to foreground work.
    Waits,
    /// They fire like all others: somebody lets time pass.
    Counts,
}

/// What a partition may evaluate without hearing of the others.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    /// Counted from 1, those resumed too.
    pub(crate) number: u64,
    /// Some partitions go on within the window before: those whose turn it is.
    pub(crate) resumed: bool,
    /// The first tick after the window.
    pub(crate) end: u64,
    /// Some partition has foreground work at or after this tick, so background work up to it
    /// fires.
    pub(crate) alive: Option<Tick>,
    /// Ticks without progress after which to stop, watched here by a partition that is alone.
    pub(crate) silence: u64,
    pub(crate) background: Background,
    /// The end of the run is decided: only those awake are evaluated until it comes.
    pub(crate) ending: bool,
}

impl Window {
    pub(crate) fn none() -> Self {
        Self {
            number: 0,
            resumed: false,
            end: 0,
            alive: None,
            silence: u64::MAX,
            background: Background::Waits,
            ending: false,
        }
    }
}

/// What a partition has before it after a window.
pub(crate) enum Ahead {
    /// Components woken in the foreground, the first at this tick, and nothing else.
    Wakes(Option<Tick>),
    /// Something else, which is to be looked at.
    Various,
}
