//! Interval statistics as CSV in long form, for tables and plots.

use std::fmt::Write as _;

use warpweave_framework::Value;

use super::Measured;

impl Measured {
    /// Returns the intervals as comma-separated values, with a line for each statistic that
    /// changed: `from,to,path,statistic,value,part,whole`. Returns `None` without intervals.
    ///
    /// An empty `value` means that nothing was counted. `part` and `whole` belong to a ratio, or
    /// are sum and count of a distribution, and are empty otherwise. The value of a series is the
    /// amount added to it.
    pub fn intervals_csv(&self) -> Option<String> {
        let intervals = self.intervals.as_ref()?;
        let mut text = "from,to,path,statistic,value,part,whole\n".to_owned();
        for interval in intervals {
            for instance in &interval.statistics {
                for statistic in &instance.values {
                    let (from, to) = (interval.from_cycle, interval.to_cycle);
                    let (path, name) = (&instance.path, &statistic.name);
                    let cells = cells(&statistic.value);
                    let _ = writeln!(text, "{from},{to},\"{path}\",\"{name}\",{cells}");
                }
            }
        }
        Some(text)
    }
}

/// Returns the last three cells of a line.
fn cells(value: &Value) -> String {
    let mean = |part: u64, whole: u64| {
        let mean = (whole > 0).then(|| (part as f64 / whole as f64).to_string());
        format!("{},{part},{whole}", mean.unwrap_or_default())
    };
    match value {
        Value::Counter(count) | Value::Number(count) => format!("{count},,"),
        Value::Gauge(value) => format!("{value},,"),
        Value::Ratio { part, whole } => mean(*part, *whole),
        Value::Histogram(histogram) => mean(histogram.sum(), histogram.count()),
        Value::Series(series) => format!("{},,", series.sums().iter().sum::<u64>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_nothing_has_no_value() {
        assert_eq!(cells(&Value::Ratio { part: 0, whole: 0 }), ",0,0");
        assert_eq!(cells(&Value::Ratio { part: 1, whole: 4 }), "0.25,1,4");
        assert_eq!(cells(&Value::Counter(3)), "3,,");
    }
}
