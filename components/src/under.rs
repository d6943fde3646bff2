//! Statistics of a part that a component has several of.

use warpweave_framework::Statistics;

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
        statistics.again(&name, statistic);
    }
}
