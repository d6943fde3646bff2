//! Statistics of a part that a component has several of.

use warpweave_framework::{Statistics, Value};

/// Reports what `report` does, each statistic as `prefix_name`.
pub(crate) fn under(
    prefix: &str,
    statistics: &mut Statistics<'_>,
    report: impl FnOnce(&mut Statistics<'_>),
) {
    let mut own = Vec::new();
    let (cycle, now) = (statistics.cycle(), statistics.now());
    report(&mut Statistics::new(cycle, now, &mut own));
    for statistic in own {
        let name = format!("{prefix}_{}", statistic.name);
        let (unit, meaning) = (statistic.unit, statistic.meaning);
        if let Some(role) = statistic.role {
            statistics.role(role);
        }
        match statistic.value {
            Value::Counter(n) => statistics.counter(&name, unit, meaning, n),
            Value::Gauge(n) => statistics.gauge(&name, unit, meaning, n),
            Value::Ratio { part, whole } => statistics.ratio(&name, meaning, part, whole),
            Value::Histogram(h) => statistics.histogram(&name, unit, meaning, &h),
            Value::Series(s) => statistics.series(&name, unit, meaning, &s),
        }
    }
}
