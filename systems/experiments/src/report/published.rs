//! Published values, and their differences from measured ones.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use warpweave_files::{Budget, Ledger};
use warpweave_params::{
    Diagnostic, Diagnostics, Entries, Files, Placed, from_named, name_hint, parse,
};

use crate::judge::{Interval, Study};

/// Key of the mean over workloads or groups, in place of a name.
const MEAN: &str = "mean";

/// File of published values for an experiment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Publication from which the values are taken.
    pub source: String,
    /// Metric → point → workload, group, or `mean` → value.
    pub values: Entries<Entries<Entries<f64>>>,
    /// `metric/point/workload` → the run that explains the difference.
    #[serde(default)]
    pub explained: Entries<String>,
}

/// Published value paired with the measured one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Beside {
    pub(super) metric: String,
    pub(super) point: String,
    pub(super) workload: String,
    pub(super) published: f64,
    pub(super) ours: Interval,
    /// Measured value minus the published value.
    pub(super) difference: f64,
    /// True if the difference exceeds the interval and half of the published effect.
    pub(super) differs: bool,
    pub(super) explained: Option<String>,
}

impl Published {
    /// Reads the file that an experiment refers to, once all runs are stored.
    ///
    /// # Errors
    /// Returns the errors in the file, and names that the study does not have.
    pub fn read(
        named: &Placed<PathBuf>,
        study: &Study,
        budget: &Budget,
    ) -> Result<Self, Diagnostics> {
        let path = &named.value;
        let files = Files::of(path.parent().unwrap_or(Path::new("")));
        let files = files.charged_to(&Ledger::new(budget));
        let source = files
            .description(path, &["Published"])
            .map_err(|error| named.blame(error))?;
        let published: Self = from_named(&parse(&source)?, "Published")?;
        let mut problems = Diagnostics::new();
        let unknown = |name: &Placed<String>, what: &str, known: &[&str]| -> Option<Diagnostic> {
            (!known.contains(&name.value.as_str())).then(|| {
                let hint = name_hint(&name.value, what, known.iter().copied());
                let message = format!("the experiment has no `{}` among its {what}", name.value);
                name.error(message).hint(hint)
            })
        };
        let metrics: Vec<&str> = study.metrics.iter().map(|m| m.name.as_str()).collect();
        let points: Vec<&str> = study.points.iter().map(|p| p.name.as_str()).collect();
        let mut workloads: Vec<&str> = study.workloads.iter().map(String::as_str).collect();
        let groups = study.metrics.iter().flat_map(|metric| &metric.groups);
        workloads.extend(groups.map(|group| group.name.as_str()));
        workloads.push(MEAN);
        for (metric, by_point) in &published.values {
            problems.extend(unknown(metric, "metrics", &metrics));
            for (point, by_workload) in by_point {
                problems.extend(unknown(point, "points", &points));
                for (workload, _) in by_workload {
                    problems.extend(unknown(workload, "workloads", &workloads));
                }
            }
        }
        problems.into_result(published)
    }

    /// Returns the published value of one workload or group, or of the mean.
    pub(super) fn of(&self, metric: &str, point: &str, workload: Option<&str>) -> Option<f64> {
        let (_, by_point) = self.values.get(metric)?;
        let (_, by_workload) = by_point.get(point)?;
        by_workload
            .get(workload.unwrap_or(MEAN))
            .map(|(_, value)| *value)
    }

    /// Returns every published value that has a measured one, closest first.
    pub(super) fn beside(&self, study: &Study) -> Vec<Beside> {
        let mut all = Vec::new();
        for metric in &study.metrics {
            for (at, (point, row)) in study.points.iter().zip(&metric.rows).enumerate() {
                let names = study.workloads.iter().map(|name| Some(name.as_str()));
                let ours = row.workloads.iter().copied();
                // A workload without a group is in the list already.
                let groups = metric.groups.iter();
                let groups = groups.filter(|of| !study.workloads.contains(&of.name));
                let groups = groups.map(|of| (Some(of.name.as_str()), of.rows[at].mean));
                let cells = names.zip(ours).chain(groups).chain([(None, row.mean)]);
                for (workload, ours) in cells {
                    let published = self.of(&metric.name, &point.name, workload);
                    let (Some(published), Some(ours)) = (published, ours) else {
                        continue;
                    };
                    let workload = workload.unwrap_or(MEAN);
                    let key = format!("{}/{}/{workload}", metric.name, point.name);
                    let difference = ours.median - published;
                    let effect = if metric.is_ratio {
                        published - 1.0
                    } else {
                        published
                    };
                    let inside = ours.low <= published && published <= ours.high;
                    all.push(Beside {
                        metric: metric.name.clone(),
                        point: point.name.clone(),
                        workload: workload.to_owned(),
                        published,
                        ours,
                        difference,
                        differs: !inside && difference.abs() > effect.abs() / 2.0,
                        explained: self.explained.get(&key).map(|(_, why)| why.clone()),
                    });
                }
            }
        }
        all.sort_by(|a, b| a.difference.abs().total_cmp(&b.difference.abs()));
        all
    }
}
