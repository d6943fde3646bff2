//! Observable data of a run: statistics, events, contents, waits.
//!
//! | file | holds |
//! |---|---|
//! | `statistics` | numbers with name, unit and meaning, collected at the end |
//! | `looks`, `row` | looks at what grows, which come often: words without names |
//! | `growth` | what statistics grew by between looks, with names again |
//! | `probe` | the one instrumentation point: typed events to a sink |
//! | `contents` | what is in a component, for recordings |
//! | `sample` | values of signals, for recordings |
//! | `reason`, `waits` | why a component does not work, for activity statistics and deadlock reports |
//!
//! Plain values and visitors. [`crate::evaluation`] and [`crate::engine`] decide when they are
//! filled.

mod contents;
mod deltas;
mod probe;
mod reason;
mod sample;
mod snapshots;
mod statistics;
mod waits;

pub use contents::{ContentItem, Contents};
pub use deltas::{Amounts, StatisticDeltas};
pub use probe::{About, Probe, ProbeSink};
pub use reason::Reason;
pub use sample::{Sample, Shape};
pub use snapshots::{Changes, Look, StatisticSnapshots};
pub use statistics::{
    Combination, Histogram, InstanceStatistics, Instrumented, Label, Measured, Measurement, Role,
    Series, Statistic, Statistics, TimeWeighted, Value,
};
pub use waits::{Wait, Waits};

pub(crate) use contents::{Blocked, Shown, levels};
