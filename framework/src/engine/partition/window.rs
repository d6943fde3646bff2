//! Window in which a partition may run independently, and its pending work afterwards.

use crate::time::Tick;

/// Effect of background wake-ups on the continuation of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Background {
    /// Background wake-ups fire only before foreground work.
    Waits,
    /// Background wake-ups fire like all others, because the test bench lets time pass.
    Counts,
}

/// Extent to which a partition may evaluate without information from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Number of the window from 1, resumed windows included.
    pub(crate) number: u64,
    /// True if some partitions continue within the previous window: those marked to take part.
    pub(crate) resumed: bool,
    /// First tick after the end of the window.
    pub(crate) end: u64,
    /// Some partition has foreground work at or after this tick, so background work up to it fires.
    pub(crate) alive: Option<Tick>,
    /// Number of ticks without progress after which to stop, checked here by a lone partition.
    pub(crate) silence: u64,
    pub(crate) background: Background,
    /// True if the end of the run is decided: until then only awake components are evaluated.
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

/// Pending work of a partition after a window.
pub(crate) enum Ahead {
    /// Only foreground wake-ups of components, the first at this tick.
    Wakes(Option<Tick>),
    /// Other work that the coordinator has to examine.
    Various,
}
