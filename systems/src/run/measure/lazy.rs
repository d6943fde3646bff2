//! Lazy measurements, computed on first access: a run that reports only totals skips the work.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use warpweave_framework::InstanceStatistics;

use super::{Clockwork, Ends, Measured, Measurement};

/// Lazily computed [`Measured`], created on first use.
#[derive(Clone, Debug, Default)]
pub struct LazyMeasured(Arc<Lazy>);

#[derive(Debug, Default)]
struct Lazy {
    /// Source data of the measurement; `None` if nothing was to be measured.
    from: Option<Source>,
    made: OnceLock<Measured>,
}

#[derive(Debug)]
struct Source {
    measurement: Arc<Measurement>,
    ends: Ends,
    statistics: Arc<[InstanceStatistics]>,
}

impl LazyMeasured {
    /// Returns the measurements for a run that ends after core cycle `last` with these statistics.
    pub(in crate::run) fn new(
        measurement: &Arc<Measurement>,
        clockwork: &Clockwork<'_>,
        last: u64,
        statistics: &Arc<[InstanceStatistics]>,
    ) -> Self {
        let measure = clockwork.measure;
        let asked = measure.kernels || measure.every_cycles.is_some();
        let from = asked.then(|| Source {
            measurement: Arc::clone(measurement),
            ends: clockwork.ends(last),
            statistics: Arc::clone(statistics),
        });
        Self(Arc::new(Lazy {
            from,
            made: OnceLock::new(),
        }))
    }

    /// Returns whether statistics by kernel were requested, without computing them.
    pub fn by_kernel(&self) -> bool {
        let from = self.0.from.as_ref();
        from.is_some_and(|from| from.ends.measure.kernels)
    }
}

impl Deref for LazyMeasured {
    type Target = Measured;

    fn deref(&self) -> &Measured {
        self.0.made.get_or_init(|| {
            self.0.from.as_ref().map_or_else(Measured::default, |from| {
                let measurement = Measurement::clone(&from.measurement);
                measurement.result(&from.ends, &from.statistics)
            })
        })
    }
}

impl PartialEq for LazyMeasured {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
