//! Report of an experiment: one self-contained page with its figures.

mod figure;
mod number;
mod page;
mod published;
mod tables;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use self::figure::ForestPlot;
pub(crate) use self::number::number;
pub use self::page::VERDICT_STYLE;
pub use self::published::Published;
pub use self::text::text;

use warpweave_files::{Output, OutputError};

use self::figure::{Bars, Series as Bar, Stacks};
use crate::judge::{Interval, StudiedEnergy, StudiedMetric, Study};
use crate::model::{Provenance, Series};
use crate::store::Folder;

/// Number of coefficients shown in a figure.
const TORNADO: usize = 10;

/// Report generated in memory: page, figures and tables.
#[derive(Debug)]
pub struct ReportFiles {
    /// HTML text of the page, with figures included.
    pub html: String,
    /// File names and contents of the page's figures.
    pub figures: Vec<(String, String)>,
    /// File names and contents of tables, as CSV.
    pub tables: Vec<(String, String)>,
}

impl ReportFiles {
    /// Writes the report and its figures as complete files.
    ///
    /// # Errors
    /// Returns an error if a disk operation fails.
    pub fn write_to(&self, folder: &Folder) -> Result<(), OutputError> {
        let figures = folder.path("figures");
        std::fs::create_dir_all(&figures).map_err(|error| OutputError::of(&figures, error))?;
        for (name, figure) in &self.figures {
            Output::write(&figures.join(name), figure.as_bytes())?;
        }
        for (name, table) in &self.tables {
            Output::write(&folder.path(name), table.as_bytes())?;
        }
        Output::write(&folder.path("report.html"), self.html.as_bytes())
    }
}

/// Writes the report of a study.
pub fn write(
    study: &Study,
    series: &[Series],
    provenance: &Provenance,
    published: Option<&Published>,
) -> ReportFiles {
    let mut figures = Vec::new();
    for metric in &study.metrics {
        figures.push((file_name(&metric.name), bars(study, metric, published)));
    }
    let effects: Vec<(String, Interval, Option<f64>)> = study
        .claims
        .iter()
        .enumerate()
        .filter_map(|(number, claim)| {
            Some((format!("claim {}", number + 1), claim.effect?, claim.margin))
        })
        .collect();
    if !effects.is_empty() {
        let forest = ForestPlot {
            title: "Effects that findings claim",
            axis: "effect, in parts of the baseline or the unit of the metric".to_owned(),
            rows: effects,
        };
        figures.push(("claims.svg".to_owned(), forest.svg()));
    }
    figures.extend(study.energy.as_ref().and_then(tornado));
    figures.extend(slots(study));
    let html = page::page(study, series, provenance, published, &figures);
    let mut tables = vec![("scale.csv".to_owned(), tables::scale_csv(study))];
    let headroom = tables::headroom_csv(study);
    tables.extend(headroom.map(|table| ("headroom.csv".to_owned(), table)));
    if let Some(energy) = &study.energy {
        tables.push(("energy.csv".to_owned(), tables::energy_csv(energy)));
    }
    if study.metrics.iter().any(|metric| metric.launches.is_some()) {
        tables.push(("launches.csv".to_owned(), tables::launches_csv(study)));
    }
    if study.claims.iter().any(|claim| !claim.gates.is_empty()) {
        tables.push(("gates.csv".to_owned(), tables::gates_csv(study)));
    }
    if !study.shares.is_empty() {
        tables.push(("shares.csv".to_owned(), tables::shares_csv(&study.shares)));
    }
    ReportFiles {
        html,
        figures,
        tables,
    }
}

/// Returns the figures of the issue slots: of each point, and of each workload at each point.
fn slots(study: &Study) -> Vec<(String, String)> {
    let Some(first) = study.slots.first() else {
        return Vec::new();
    };
    let figure = |title, rows| {
        let stacks = Stacks {
            title,
            axis: "issue slots while kernels ran, %".to_owned(),
            parts: first.shares.iter().map(|(part, _)| part.clone()).collect(),
            rows,
        };
        stacks.svg()
    };
    let of = |shares: &[(String, f64)]| shares.iter().map(|(_, share)| *share).collect();
    let by_point = study.slots.iter();
    let by_point = by_point.map(|slots| (slots.point.clone(), of(&slots.shares)));
    let by_point = figure("Issue-slot breakdown", by_point.collect());
    let mut figures = vec![("slots.svg".to_owned(), by_point)];
    if study.workloads.len() > 1 {
        let mut rows = Vec::new();
        for workload in &study.workloads {
            for slots in &study.slots {
                let mut own = slots.workloads.iter();
                if let Some((_, shares)) = own.find(|(name, _)| name == workload) {
                    rows.push((format!("{workload}: {}", slots.point), of(shares)));
                }
            }
        }
        let by_workload = figure("Issue-slot breakdown of each workload", rows);
        figures.push(("slots_by_workload.svg".to_owned(), by_workload));
    }
    figures
}

/// Returns the figure of the coefficients that affect the energy of the last variant most.
fn tornado(energy: &StudiedEnergy) -> Option<(String, String)> {
    let row = energy.rows.last()?;
    let matters = |(_, low, high): &&(String, f64, f64)| (high - low).abs() > f64::EPSILON;
    let widest = row.tornado.iter().filter(matters);
    let rows: Vec<_> = widest
        .take(TORNADO)
        .map(|(name, low, high)| {
            let ends = Interval {
                low: low.min(*high),
                median: row.energy.nominal,
                high: low.max(*high),
            };
            (name.clone(), ends, None)
        })
        .collect();
    let figure = ForestPlot {
        title: &format!("Energy of {}, one coefficient at a time", row.point),
        axis: "energy, uncalibrated, ratio to the baseline".to_owned(),
        rows,
    };
    (!figure.rows.is_empty()).then(|| ("tornado.svg".to_owned(), figure.svg()))
}

fn bars(study: &Study, metric: &StudiedMetric, published: Option<&Published>) -> String {
    let mut groups = metric.parts(study);
    groups.push("mean".to_owned());
    let shown = study.points.iter().enumerate();
    let series = shown
        .filter(|(at, point)| !point.control && metric.rows[*at].is_measured)
        .map(|(at, point)| {
            let of = |workload| published?.of(&metric.name, &point.name, workload);
            let names = groups[..groups.len() - 1].iter();
            let names = names.map(|name| Some(name.as_str()));
            Bar {
                name: point.name.clone(),
                values: metric
                    .values(at)
                    .into_iter()
                    .chain([metric.rows[at].mean])
                    .collect(),
                published: names.chain([None]).map(of).collect(),
            }
        });
    let series = series.collect();
    let figure = Bars {
        title: &metric.name,
        axis: if metric.is_ratio {
            format!("{}, ratio to {}", metric.name, study.baseline)
        } else {
            format!("{}, {}", metric.name, unit(metric))
        },
        base: if metric.is_ratio { 1.0 } else { 0.0 },
        groups,
        series,
    };
    figure.svg()
}

fn unit(metric: &StudiedMetric) -> &str {
    if metric.unit.is_empty() {
        "a number"
    } else {
        &metric.unit
    }
}

/// Draws a bar for each of `values`, as an SVG figure. Missing values have no bar. `axis` is the
/// name of the value axis.
pub fn bars_of(title: &str, axis: &str, values: &[(String, Option<f64>)]) -> String {
    let exact = |value: f64| Interval {
        low: value,
        median: value,
        high: value,
    };
    let figure = Bars {
        title,
        axis: axis.to_owned(),
        base: 0.0,
        groups: values.iter().map(|(name, _)| name.clone()).collect(),
        series: vec![Bar {
            name: axis.to_owned(),
            values: values.iter().map(|(_, value)| value.map(exact)).collect(),
            published: Vec::new(),
        }],
    };
    figure.svg()
}

/// Returns a file name from the letters and digits of a name.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(plain).take(60).collect();
    format!("metric_{name}.svg")
}
