//! Detection of pairs that are identical runs.

use std::collections::BTreeMap;

use super::PlannedRun;
use crate::model::{EqualPairs, Point};

/// Returns the pairs of each workload that are the same run on some machine. Workloads are in the
/// order of `names`.
pub(super) fn equal_pairs<'a>(
    runs: &[PlannedRun],
    names: impl Iterator<Item = &'a str>,
) -> Vec<EqualPairs> {
    let of = |workload: &str| {
        let mut found: Vec<Vec<u32>> = Vec::new();
        for run in runs {
            let mut by_point: BTreeMap<&Point, Vec<u32>> = BTreeMap::new();
            for id in &run.ids {
                if id.workload == workload && !id.confirming {
                    by_point.entry(&id.point).or_default().push(id.pair);
                }
            }
            found.extend(by_point.into_values().filter(|pairs| pairs.len() > 1));
        }
        found.sort_unstable();
        found.dedup();
        (!found.is_empty()).then(|| EqualPairs {
            workload: workload.to_owned(),
            pairs: found,
        })
    };
    names.filter_map(of).collect()
}
