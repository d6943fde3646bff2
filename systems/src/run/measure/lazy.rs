//! What was measured, put together when somebody looks at it: a run that is only summed up needs none
//! of it.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use warpweave_framework::InstanceStatistics;

use super::{Clockwork, Ends, Measured, Measurement};

/// A [`Measured`] that is made when it is first used.
#[derive(Clone, Debug, Default)]
pub struct LazyMeasured(Arc<Lazy>);

#[derive(Debug, Default)]
struct Lazy {
    /// What it is made from; `None` where nothing was to be measured.
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
    /// What was measured, if the run ends after core cycle `last` with these statistics.
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
