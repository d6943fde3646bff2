//! Selection of statistics by patterns, and output as a table.

use std::fmt::Write as _;

use warpweave_framework::{InstanceStatistics, Label, Statistic, Value};
use warpweave_params::printable_lines;
use wildmatch::WildMatch;

use super::Report;
use super::csv_table::CsvTable;
use super::groups::{Combined, Total};
use super::text::write_total;

/// Returns the first pattern that matches none of the statistics.
pub fn chooses_nothing<'p>(
    patterns: &'p [String],
    statistics: &[InstanceStatistics],
) -> Option<&'p str> {
    let chooses = |pattern: &&String| {
        let pattern = std::slice::from_ref(*pattern);
        let mut instances = statistics.iter();
        instances.any(|instance| {
            let mut values = instance.values.iter();
            values.any(|s| matches(pattern, &instance.path, &s.name))
        })
    };
    let nothing = patterns.iter().find(|pattern| !chooses(pattern));
    nothing.map(String::as_str)
}

impl Report {
    /// Returns the statistics that match a pattern, by instance path or by path, dot and name. `*`
    /// matches any text and `?` any character; brackets are literal. Instances are listed
    /// separately.
    pub fn selected(&self, patterns: &[String]) -> String {
        let mut text = String::new();
        for (instance, chosen) in self.chosen(patterns) {
            let _ = writeln!(text, "{} ({})", instance.path, instance.kind);
            for statistic in chosen {
                let _ = write_total(&mut text, &alone(statistic), false);
                if let Value::Series(series) = &statistic.value {
                    let sums: Vec<_> = series.sums().iter().map(u64::to_string).collect();
                    let Label { name, unit, .. } = &*statistic.label;
                    let sums = sums.join(" ");
                    let every = series.interval();
                    let _ = writeln!(text, "  {name:<36}{sums} {unit} every {every} cycles");
                }
            }
        }
        printable_lines(&text).into_owned()
    }

    /// Returns the statistics that match the patterns, or all if there are none, as CSV. Columns
    /// are `path`, `kind`, `statistic`, `value`, `unit`, `combination`, `part` and `whole`. Without
    /// patterns, rows of the run come first with path `run`, and those of each launch with
    /// `kernel[N]`. A series has a row per interval.
    pub fn to_csv(&self, patterns: &[String]) -> String {
        let mut table = CsvTable::new(&[
            "path",
            "kind",
            "statistic",
            "value",
            "unit",
            "combination",
            "part",
            "whole",
        ]);
        for (path, kind, name, value, unit) in self.own_rows() {
            if patterns.is_empty() {
                table.row([&path, &kind, name, &value, unit, "none", "", ""]);
            }
        }
        for (instance, chosen) in self.chosen(patterns) {
            for statistic in chosen {
                for (name, value, part, whole) in cells(statistic) {
                    let combination = statistic.combination.name();
                    table.row([
                        &instance.path,
                        &instance.kind,
                        &name,
                        &value,
                        statistic.unit,
                        combination,
                        &part,
                        &whole,
                    ]);
                }
            }
        }
        table.take()
    }

    /// Returns rows for values other than statistics: path, kind, name, value, unit.
    fn own_rows(&self) -> Vec<(String, String, &'static str, String, &'static str)> {
        let simulated = &self.simulated;
        let run = |name, value, unit| ("run".to_owned(), String::new(), name, value, unit);
        let mut rows = vec![
            run("status", self.status.name().to_owned(), ""),
            run("cycles", simulated.cycles.to_string(), "cycles"),
            run("simulated_s", simulated.seconds.to_string(), "s"),
            run(
                "wavefront_instructions",
                simulated.wavefront_instructions.to_string(),
                "instructions",
            ),
            run("ipc", simulated.ipc().to_string(), "instructions/cycle"),
        ];
        if let Some(region) = &simulated.region {
            rows.push(run("region_cycles", text_of(region.cycles), "cycles"));
            if let Some(estimate) = &region.estimate {
                let [low, high] = estimate.interval.map(|end| end.to_string());
                rows.push(run(
                    "estimated_cycles",
                    estimate.cycles.to_string(),
                    "cycles",
                ));
                rows.push(run("estimated_cycles_low", low, "cycles"));
                rows.push(run("estimated_cycles_high", high, "cycles"));
            }
        }
        for kernel in &simulated.kernels {
            let of = |name, value, unit| {
                let path = format!("kernel[{}]", kernel.number);
                (path, kernel.name.clone(), name, value, unit)
            };
            rows.push(of("cycles", text_of(kernel.cycles()), "cycles"));
            rows.push(of("run_cycles", text_of(kernel.run_cycles()), "cycles"));
            rows.push(of(
                "wavefront_instructions",
                kernel.wavefront_instructions.to_string(),
                "instructions",
            ));
            rows.push(of("ipc", text_of(kernel.ipc()), "instructions/cycle"));
        }
        rows
    }

    /// Returns instances with their statistics that match the patterns; all without patterns.
    fn chosen<'r>(
        &'r self,
        patterns: &[String],
    ) -> Vec<(&'r InstanceStatistics, Vec<&'r Statistic>)> {
        let instances = self.simulated.statistics.iter().map(|instance| {
            let values = instance.values.iter();
            let chosen = values
                .filter(|s| patterns.is_empty() || matches(patterns, &instance.path, &s.name));
            (instance, chosen.collect::<Vec<_>>())
        });
        instances.filter(|(_, chosen)| !chosen.is_empty()).collect()
    }
}

fn matches(patterns: &[String], path: &str, name: &str) -> bool {
    let whole = format!("{path}.{name}");
    patterns.iter().any(|pattern| {
        let pattern = WildMatch::new(pattern);
        pattern.matches(path) || pattern.matches(&whole)
    })
}

/// Converts a statistic to that of a group of one.
fn alone(statistic: &Statistic) -> Total {
    Total {
        name: statistic.name.to_string(),
        unit: statistic.unit,
        combination: statistic.combination,
        combined: Combined::One(statistic.value.clone()),
    }
}

fn text_of<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Returns name, value, part and whole for each row of a statistic.
fn cells(statistic: &Statistic) -> Vec<(String, String, String, String)> {
    let name = || statistic.name.to_string();
    let one = |value: String| vec![(name(), value, String::new(), String::new())];
    let mean = |part: u64, whole: u64| {
        let value = (whole > 0).then(|| part as f64 / whole as f64);
        vec![(name(), text_of(value), part.to_string(), whole.to_string())]
    };
    match &statistic.value {
        Value::Counter(n) | Value::Number(n) => one(n.to_string()),
        Value::Gauge(x) => one(text_of(x.is_finite().then_some(*x))),
        Value::Ratio { part, whole } => mean(*part, *whole),
        Value::Histogram(h) => mean(h.sum(), h.count()),
        Value::Series(series) => {
            let sums = series.sums().iter().enumerate();
            let rows = sums.map(|(at, sum)| {
                let from = at as u64 * series.interval();
                let name = format!("{}@{from}", statistic.name);
                (name, sum.to_string(), String::new(), String::new())
            });
            rows.collect()
        }
    }
}
