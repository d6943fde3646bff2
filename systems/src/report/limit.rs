//! Performance limit of a run, found by a rule that requires evidence.
//!
//! The rule is documented for readers in `docs/results.md`.

use super::evidence::{Shared, Slots, quotient};

/// Minimum fraction of issued slots for issue itself to be the limit.
const ISSUED: f64 = 0.8;
/// Minimum mean utilisation for a shared resource to be the limit.
const BUSY: f64 = 0.7;
/// Minimum utilisation of one resource in a group for it to be the limit.
const HOT: f64 = 0.9;
/// Minimum fraction of issue slots waiting for memory for a shared resource to be the limit.
const WAITING: f64 = 0.2;
/// Minimum fraction of issue slots lost to one reason for it to be the limit.
const MOST: f64 = 0.5;

/// Performance limit with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) what: String,
    pub(super) evidence: String,
}

/// Returns the dominant limit, if there is one.
pub(super) fn limit(slots: &Slots, shared: &[Shared]) -> Option<Limit> {
    let totals = slots.totals();
    let whole: u64 = totals.iter().sum();
    let shares: Vec<(&str, f64)> = slots
        .names
        .iter()
        .zip(&totals)
        .map(|(name, count)| (name.as_str(), quotient(*count, whole)))
        .collect();
    let (_, issued) = *shares.first()?;
    if issued >= ISSUED {
        return Some(Limit {
            what: "issue".to_owned(),
            evidence: format!("{} of the issue slots used", percent(issued)),
        });
    }
    let waiting = shares
        .iter()
        .filter(|(name, _)| matches!(*name, "memory" | "load_store_full"));
    let waiting: f64 = waiting.map(|(_, share)| share).sum();
    if waiting >= WAITING
        && let Some(limit) = bandwidth(shared, waiting)
    {
        return Some(limit);
    }
    let lost = shares.iter().skip(1);
    let (name, share) = *lost.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (share >= MOST).then(|| lost_to(name, share, slots))
}

/// Returns the shared resource that is busy most of the time while units wait for memory.
fn bandwidth(shared: &[Shared], waiting: f64) -> Option<Limit> {
    let waits = format!("{} of the issue slots stalled on memory", percent(waiting));
    let busiest = shared.iter().max_by(|a, b| a.mean.total_cmp(&b.mean))?;
    if busiest.mean >= BUSY {
        return Some(Limit {
            what: format!("bandwidth of {}", busiest.name),
            evidence: format!("{} busy; {waits}", percent(busiest.mean)),
        });
    }
    let hottest = shared
        .iter()
        .max_by(|a, b| a.busiest.total_cmp(&b.busiest))?;
    (hottest.busiest >= HOT).then(|| Limit {
        what: format!("one instance of {}", hottest.name),
        evidence: format!(
            "{} busy, {} on average over all {}; {waits}",
            percent(hottest.busiest),
            percent(hottest.mean),
            hottest.places
        ),
    })
}

fn lost_to(name: &str, share: f64, slots: &Slots) -> Limit {
    let share = percent(share);
    match name {
        "memory" => Limit {
            what: "memory latency".to_owned(),
            evidence: format!(
                "{share} of the issue slots stalled on data; no shared resource is saturated"
            ),
        },
        "no_wavefront" => {
            let idle = slots.units.iter().filter(|(_, counts)| counts[0] == 0);
            let units = match (idle.count(), slots.units.len()) {
                (0, _) => String::new(),
                (idle, all) => format!("; {idle} of {all} units issued nothing"),
            };
            Limit {
                what: "too few wavefronts".to_owned(),
                evidence: format!("{share} of the issue slots had no wavefront{units}"),
            }
        }
        name => Limit {
            what: name.replace('_', " "),
            evidence: format!("{share} of the issue slots were lost to this cause"),
        },
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(counts: &[(&str, u64)]) -> Slots {
        Slots {
            names: counts.iter().map(|(name, _)| (*name).to_owned()).collect(),
            units: vec![("unit".into(), counts.iter().map(|(_, n)| *n).collect())],
            ..Slots::default()
        }
    }

    fn shared(name: &str, mean: f64, busiest: f64) -> Shared {
        Shared {
            name: name.to_owned(),
            places: 4,
            mean,
            busiest,
        }
    }

    fn what(counts: &[(&str, u64)], shared: &[Shared]) -> Option<String> {
        limit(&slots(counts), shared).map(|limit| limit.what)
    }

    #[test]
    fn full_issue_slots_are_the_limit_whatever_else_is_busy() {
        let busy = [shared("dram", 1.0, 1.0)];
        let found = what(&[("issued", 80), ("memory", 20)], &busy);
        assert_eq!(found.as_deref(), Some("issue"));
    }

    #[test]
    fn bandwidth_is_the_limit_only_where_units_wait_for_memory() {
        let busy = [shared("crossbar reply", 0.5, 0.6), shared("dram", 0.7, 0.8)];
        let found = what(&[("issued", 30), ("memory", 70)], &busy);
        assert_eq!(found.as_deref(), Some("bandwidth of dram"));
        let found = what(&[("issued", 30), ("scoreboard", 60), ("memory", 10)], &busy);
        assert_eq!(found.as_deref(), Some("scoreboard"));
    }

    #[test]
    fn one_hot_place_is_the_limit_where_the_mean_is_low() {
        let busy = [shared("crossbar reply", 0.2, 0.95)];
        let found = limit(&slots(&[("issued", 30), ("load_store_full", 70)]), &busy).unwrap();
        assert_eq!(found.what, "one instance of crossbar reply");
        assert_eq!(
            found.evidence,
            "95.0% busy, 20.0% on average over all 4; 70.0% of the issue slots stalled on memory"
        );
    }

    #[test]
    fn waits_for_memory_behind_idle_links_are_latency() {
        let idle = [shared("dram", 0.1, 0.1)];
        let found = what(&[("issued", 30), ("memory", 70)], &idle);
        assert_eq!(found.as_deref(), Some("memory latency"));
    }

    #[test]
    fn empty_units_are_named() {
        let mut slots = slots(&[("issued", 10), ("no_wavefront", 30)]);
        slots.units.push(("idle".into(), vec![0, 40]));
        let found = limit(&slots, &[]).unwrap();
        assert_eq!(found.what, "too few wavefronts");
        assert_eq!(
            found.evidence,
            "87.5% of the issue slots had no wavefront; 1 of 2 units issued nothing"
        );
    }

    #[test]
    fn nothing_stands_out_where_nothing_does() {
        let mixed = [("issued", 40), ("memory", 30), ("scoreboard", 30)];
        assert_eq!(what(&mixed, &[shared("dram", 0.3, 0.4)]), None);
        assert_eq!(what(&[], &[shared("dram", 1.0, 1.0)]), None);
        assert_eq!(what(&[("issued", 0), ("memory", 0)], &[]), None);
    }
}
