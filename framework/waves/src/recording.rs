//! Combination of several recordings of one run.

use std::io;

use warpweave_framework::{Probe, ProbeSink, Tick};

/// Sink that forwards every event to several sinks.
pub struct Recording {
    sinks: Vec<(String, Box<dyn ProbeSink>)>,
}

impl Recording {
    /// Creates a recording into all of `sinks`. Error messages begin with their names.
    pub fn new(sinks: Vec<(String, Box<dyn ProbeSink>)>) -> Self {
        Self { sinks }
    }
}

impl ProbeSink for Recording {
    fn record(&mut self, tick: Tick, component: u32, probe: &Probe) {
        for (_, sink) in &mut self.sinks {
            sink.record(tick, component, probe);
        }
    }

    fn wants_contents(&self, component: u32) -> bool {
        self.sinks
            .iter()
            .any(|(_, sink)| sink.wants_contents(component))
    }

    fn finish(&mut self, now: Tick) -> io::Result<()> {
        // All are finished, also behind one that failed.
        let finished = self.sinks.iter_mut().map(|(name, sink)| {
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
            sink.finish(now).map_err(named)
        });
        let results: Vec<_> = finished.collect();
        results.into_iter().collect()
    }
}
