//! Selection of the statistics that metrics, claims and report need, because all runs together are
//! large.

use warpweave_params::{Diagnostics, Placed};
use warpweave_systems::report::{Record, RecordedStatistics};

use crate::file::{Claim, ExperimentFile};
use crate::metric::{Expression, Pattern};

/// Pattern of the issue-slot statistics, which the report shows.
const SLOTS: &str = "*.slots_*";

/// Patterns of the statistics that an experiment needs.
#[derive(Debug)]
pub struct RequiredStatistics(Vec<Pattern>);

impl RequiredStatistics {
    /// Collects the statistics that an experiment needs.
    ///
    /// # Errors
    /// Returns an error for a metric or claim that cannot be parsed.
    pub fn of(file: &ExperimentFile) -> Result<Self, Diagnostics> {
        let mut texts: Vec<&Placed<String>> = file
            .metrics
            .iter()
            .map(|(_, metric)| &metric.value)
            .collect();
        for claim in &file.claims {
            if let Claim::Identity { claim, .. } = claim {
                texts.extend(claim.expressions());
            }
        }
        let mut patterns = vec![Pattern::new(SLOTS)];
        for text in texts {
            patterns.extend(Expression::parse(text)?.patterns().into_iter().cloned());
        }
        Ok(Self(patterns))
    }

    /// Removes all statistics from a run that are not needed.
    pub fn trim(&self, record: &mut Record) {
        self.trim_statistics(&mut record.stats);
        for kernel in &mut record.kernels {
            self.trim_statistics(&mut kernel.stats);
        }
    }

    fn trim_statistics(&self, statistics: &mut RecordedStatistics) {
        statistics.retain(|path, statistics| {
            let of_path: Vec<&Pattern> = self
                .0
                .iter()
                .filter(|pattern| pattern.is_of(path))
                .collect();
            statistics.retain(|name, _| of_path.iter().any(|pattern| pattern.is_called(name)));
            !statistics.is_empty()
        });
    }
}
