//! Several recordings of one run.

use std::io;

use warpweave_framework::{Probe, ProbeSink, Tick};

/// Hands every event to several sinks.
pub struct Recording {
    sinks: Vec<Box<dyn ProbeSink>>,
}

impl Recording {
    /// A recording into all of `sinks`.
    pub fn new(sinks: Vec<Box<dyn ProbeSink>>) -> Self {
        Self { sinks }
    }
}

impl ProbeSink for Recording {
    fn record(&mut self, tick: Tick, component: u32, probe: &Probe) {
        for sink in &mut self.sinks {
            sink.record(tick, component, probe);
        }
    }

    fn finish(&mut self, now: Tick) -> io::Result<()> {
        // All are finished, also behind one that failed.
        let results: Vec<_> = self.sinks.iter_mut().map(|s| s.finish(now)).collect();
        results.into_iter().collect()
    }
}
