//! Evidence of each kernel on the page: issue slots, limit, hit rates and the busiest resource.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use warpweave_framework::{Combination, InstanceStatistics, Value};
use warpweave_params::printable;

use super::evidence::{self, Slots, quotient};
use super::groups::join;
use super::limit::limit;
use super::page::{KERNELS, LABELS, Page};
use super::paint::{WIDTH, cut};
use super::rows::{KernelRow, kernel_rows};
use crate::digits::grouped;
use crate::run::Simulated;
use crate::taps::RequestsByKernel;

/// Maximum number of hit rates shown for a kernel.
const RATES: usize = 4;

impl Page {
    /// Writes the kernels that were measured, the longest if there are many.
    pub(super) fn by_kernel(&mut self, simulated: &Simulated) -> fmt::Result {
        let Some(measured) = &simulated.measured.kernels else {
            return Ok(());
        };
        let mut rows = kernel_rows(&simulated.kernels);
        let mut order: Vec<u64> = rows.iter().map(|row| row.cycles).collect();
        order.sort_unstable_by(|a, b| b.cmp(a));
        if let Some(least) = order.get(KERNELS - 1) {
            rows.retain(|row| row.cycles >= *least);
        }
        let title = self.title("by kernel");
        writeln!(
            self.out,
            "\n{title}: issue slots, limit, read hit rates, busiest resource"
        )?;
        for row in rows.iter().take(KERNELS) {
            let launches = row
                .launches
                .iter()
                .filter_map(|number| measured.get(number));
            let launches: Vec<&[InstanceStatistics]> = launches.map(Vec::as_slice).collect();
            self.kernel_evidence(row, &merged(&launches))?;
            self.own_requests(row, &simulated.requests_by_kernel)?;
        }
        if !simulated.measured.overlaps.is_empty() {
            let words = "while kernels ran side by side, each has the slots and rates of all of \
                         them; its requests are its own";
            writeln!(self.out, "  {words}")?;
        }
        Ok(())
    }

    fn kernel_evidence(
        &mut self,
        row: &KernelRow,
        statistics: &[InstanceStatistics],
    ) -> fmt::Result {
        let slots = Slots::of(statistics);
        let bar = self.stacked(&slots, &slots.pieces(), WIDTH - LABELS - 2);
        let label = Self::kernel_label(row);
        let width = LABELS - 2;
        writeln!(self.out, "  {label:<width$}{bar}")?;
        let shared = evidence::utilisations(statistics, 1.0).unwrap_or_default();
        let found = limit(&slots, &shared);
        let found = found.map_or_else(
            || "no clear bottleneck".to_owned(),
            |limit| format!("{}: {}", limit.what, limit.evidence),
        );
        writeln!(self.out, "    {}", cut(&printable(&found), WIDTH - 4))?;
        let rates = evidence::hit_rates(statistics).unwrap_or_default();
        let mut words: Vec<String> = rates
            .iter()
            .take(RATES)
            .map(|(share, _)| {
                let rate = quotient(share.part, share.whole) * 100.0;
                format!("{} {rate:.1}%", share.name)
            })
            .collect();
        let busiest = shared.iter().max_by(|a, b| a.mean.total_cmp(&b.mean));
        words.extend(busiest.map(|shared| format!("{} {:.1}%", shared.name, shared.mean * 100.0)));
        if words.is_empty() {
            return Ok(());
        }
        writeln!(
            self.out,
            "    {}",
            cut(&printable(&words.join(", ")), WIDTH - 4)
        )
    }
}

impl Page {
    /// Writes the requests with which the launches of a row entered the memory system.
    fn own_requests(&mut self, row: &KernelRow, requests: &RequestsByKernel) -> fmt::Result {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        let launches = row.launches.iter().filter_map(|n| requests.get(n));
        for ports in launches.flatten().filter(|ports| ports.first) {
            for statistic in &ports.statistics.values {
                if let Value::Counter(count) = statistic.value {
                    *sums.entry(&*statistic.name).or_default() += count;
                }
            }
        }
        if sums.is_empty() {
            return Ok(());
        }
        let of = |name: &str| sums.get(name).copied().unwrap_or(0);
        let mut words = format!("own: {} reads", grouped(of("reads")));
        let levels = sums.iter().filter_map(|(name, count)| {
            let level = name.strip_prefix("supplied_")?;
            Some((level, *count))
        });
        let supplied: u64 = levels.clone().map(|(_, count)| count).sum();
        for (level, count) in levels {
            let share = quotient(count, supplied) * 100.0;
            write!(words, ", {level} {share:.1}%")?;
        }
        for name in ["writes", "atomics"] {
            if of(name) > 0 {
                write!(words, ", {} {name}", grouped(of(name)))?;
            }
        }
        writeln!(self.out, "    {}", cut(&printable(&words), WIDTH - 4))
    }
}

/// Adds up the increases of several launches, which name the same statistics in the same order.
fn merged<'a>(launches: &[&'a [InstanceStatistics]]) -> Cow<'a, [InstanceStatistics]> {
    let (first, others) = match launches {
        [] => return Cow::Owned(Vec::new()),
        [one] => return Cow::Borrowed(one),
        [first, others @ ..] => (first, others),
    };
    let mut sum = first.to_vec();
    for other in others {
        for (instance, other) in sum.iter_mut().zip(*other) {
            for (statistic, other) in instance.values.iter_mut().zip(&other.values) {
                join(&mut statistic.value, &other.value, Combination::Sum);
            }
        }
    }
    Cow::Owned(sum)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::run::Machine;
    use crate::{Scenario, standard_registry};

    /// Cycles by which a measured kernel may begin and end later.
    const DELAY_MAX: u64 = 64;

    #[test]
    fn slots_while_kernels_ran_are_those_of_the_measured_kernels() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/bfs.ron");
        let sets = [
            "workload.graph=Grid(width: 9, height: 5)",
            "measure.kernels=true",
        ];
        let scenario = Scenario::load(&path, &sets.map(str::to_owned)).unwrap();
        let program = scenario.emulate().unwrap().program;
        let mut machine = Machine::of(&scenario, &standard_registry(), &program).unwrap();
        let simulated = machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
        let measured = simulated.measured.kernels.as_ref().unwrap();
        let kernels: Vec<&[InstanceStatistics]> = measured.values().map(Vec::as_slice).collect();
        let measured = Slots::of(&merged(&kernels)).totals();
        let time = &simulated.kernel_time;
        let whole = Slots::of(&simulated.statistics);
        let derived = whole.clone().in_kernels(time).totals();
        assert!(time.cycles < time.run_cycles, "{time:?}");
        let of_cycle = whole.totals().iter().sum::<u64>() / time.run_cycles;
        let apart = kernels.len() as u64 * DELAY_MAX * of_cycle;
        for (name, (derived, measured)) in whole.names.iter().zip(derived.iter().zip(&measured)) {
            let exact = name != "no_wavefront";
            let apart = if exact { 0 } else { apart };
            assert!(
                derived.abs_diff(*measured) <= apart,
                "{name}: {derived} {measured}"
            );
        }
    }
}
