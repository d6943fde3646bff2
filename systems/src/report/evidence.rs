//! Statistics of a run selected by their roles, independent of the reporting component.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use warpweave_components::roles;
use warpweave_framework::{InstanceStatistics, Label, Statistic, Value};

use crate::address::any_index;
use crate::run::KernelTime;

/// Optional name prefix of issue-slot statistics.
pub(super) const SLOTS: &str = "slots_";
/// Separator between the reason and its part in the names of part statistics.
const PARTS: &str = "_slots_";
/// Name prefix of load-latency statistics.
const LATENCY: &str = "load_latency_";
/// Reason of slots whose scheduler has no wavefront, and its part for the wait before a wavefront.
const NO_WAVEFRONT: &str = "no_wavefront";
const LAUNCH: &str = "launch";

/// Breakdown of the compute units' issue slots.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Slots {
    /// Names of the reasons without `slots_`; the first is issued slots.
    pub(super) names: Vec<String>,
    /// Path and slot counts of each unit, in the order of the names.
    pub(super) units: Vec<(String, Vec<u64>)>,
    /// Parts over all units as reason, part and slots, in the order of first occurrence.
    pub(super) parts: Vec<(String, String, u64)>,
}

/// One piece of the issue-slot bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BarSegment {
    pub(super) reason: String,
    /// Part of the reason; `None` for slots without a known part.
    pub(super) part: Option<String>,
    pub(super) slots: u64,
}

/// Named ratio of a part to a whole.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NamedFraction {
    pub(super) name: String,
    pub(super) part: u64,
    pub(super) whole: u64,
}

/// Utilisation of a group of equal shared resources.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shared {
    /// Pattern of the paths, and name of the statistic.
    pub(super) name: String,
    /// Number of equal resources in the group.
    pub(super) places: usize,
    /// Mean utilisation over all of them.
    pub(super) mean: f64,
    /// Highest utilisation of any one resource.
    pub(super) busiest: f64,
}

impl Slots {
    pub(super) fn of(statistics: &[InstanceStatistics]) -> Self {
        let mut slots = Self::default();
        // Labels of the parts and of the slots. Most units report the same in the same order.
        let mut labels: [Vec<&Arc<Label>>; 2] = Default::default();
        for instance in statistics {
            let mut next = [0; 2];
            let mut counts = Vec::new();
            for statistic in &instance.values {
                let (Some(role), Value::Counter(count)) = (statistic.role, &statistic.value) else {
                    continue;
                };
                if role == roles::ISSUE_SLOT_PARTS {
                    let at =
                        place(&labels[0], &statistic.label, next[0], |name| name).or_else(|| {
                            let (reason, part) = statistic.name.split_once(PARTS)?;
                            labels[0].push(&statistic.label);
                            let of = (reason.to_owned(), part.to_owned(), 0);
                            slots.parts.push(of);
                            Some(slots.parts.len() - 1)
                        });
                    if let Some(at) = at {
                        slots.parts[at].2 += count;
                        next[0] = at + 1;
                    }
                } else if role == roles::ISSUE_SLOTS {
                    if counts.is_empty() {
                        counts.resize(slots.names.len(), 0);
                    }
                    let at = place(&labels[1], &statistic.label, next[1], reason);
                    let at = at.unwrap_or_else(|| {
                        labels[1].push(&statistic.label);
                        slots.names.push(reason(&statistic.name).to_owned());
                        counts.push(0);
                        slots.names.len() - 1
                    });
                    counts[at] = *count;
                    next[1] = at + 1;
                }
            }
            if !counts.is_empty() {
                slots.units.push((instance.path.clone(), counts));
            }
        }
        for (_, counts) in &mut slots.units {
            counts.resize(slots.names.len(), 0);
        }
        slots
    }

    /// Removes the slots of the time in which no kernel ran, such as those of copies. None of them
    /// had a wavefront, and those before a kernel count as waits for its launch.
    pub(super) fn in_kernels(mut self, time: &KernelTime) -> Self {
        let empty = self.names.iter().position(|name| name == NO_WAVEFRONT);
        let Some(empty) = empty.filter(|_| time.cycles > 0) else {
            return self;
        };
        let mut before = 0;
        for (_, counts) in self
            .units
            .iter_mut()
            .filter(|(_, counts)| counts[empty] > 0)
        {
            let all: u64 = counts.iter().sum();
            let outside = all - time.part(all, time.cycles);
            counts[empty] = counts[empty].saturating_sub(outside);
            before += time.part(all, time.before_cycles);
        }
        let waits = |(reason, part, _): &&mut (String, String, u64)| {
            reason == NO_WAVEFRONT && part == LAUNCH
        };
        if let Some((_, _, slots)) = self.parts.iter_mut().find(waits) {
            *slots = slots.saturating_sub(before);
        }
        self
    }

    /// Returns the slots of all units, summed by name.
    pub(super) fn totals(&self) -> Vec<u64> {
        let total = |at: usize| self.units.iter().map(|(_, counts)| counts[at]).sum();
        (0..self.names.len()).map(total).collect()
    }

    /// Returns the slots of all units, with each reason split into its parts and the remainder.
    /// Their sum is the number of all slots.
    pub(super) fn pieces(&self) -> Vec<BarSegment> {
        let mut pieces = Vec::new();
        for (reason, mut left) in self.names.iter().zip(self.totals()) {
            for (_, part, slots) in self.parts.iter().filter(|(of, ..)| of == reason) {
                let slots = left.min(*slots);
                left -= slots;
                pieces.push(BarSegment {
                    reason: reason.clone(),
                    part: Some(part.clone()),
                    slots,
                });
            }
            pieces.push(BarSegment {
                reason: reason.clone(),
                part: None,
                slots: left,
            });
        }
        pieces
    }
}

/// Returns the stall reason that a statistic of this name counts.
fn reason(name: &str) -> &str {
    name.strip_prefix(SLOTS).unwrap_or(name)
}

/// Returns the index of a label of the same name in `labels`, trying `next` first.
fn place(
    labels: &[&Arc<Label>],
    label: &Arc<Label>,
    next: usize,
    called: impl Fn(&str) -> &str,
) -> Option<usize> {
    let is = |known: &&Arc<Label>| {
        Arc::ptr_eq(known, label) || called(&known.name) == called(&label.name)
    };
    if labels.get(next).is_some_and(is) {
        return Some(next);
    }
    labels.iter().position(is)
}

/// Returns the ratios of statistics with a role, in the order of first occurrence. Statistics of
/// the same name are summed.
fn shares<'s>(
    statistics: &'s [InstanceStatistics],
    role: warpweave_framework::Role,
    name: impl Fn(&'s InstanceStatistics, &'s Statistic) -> Cow<'s, str>,
) -> Vec<(NamedFraction, Vec<f64>)> {
    let mut found: Vec<(NamedFraction, Vec<f64>)> = Vec::new();
    let mut places: BTreeMap<Cow<'s, str>, usize> = BTreeMap::new();
    let mut next = 0;
    for instance in statistics {
        for statistic in instance.values.iter().filter(|s| s.role == Some(role)) {
            let Value::Ratio { part, whole } = statistic.value else {
                continue;
            };
            let name = name(instance, statistic);
            // Alike places report alike, one after the other.
            let expected = [next, 0].into_iter().find(|at| {
                let known = found.get(*at);
                known.is_some_and(|(share, _)| *share.name == *name)
            });
            let at = expected.unwrap_or_else(|| {
                *places.entry(name).or_insert_with_key(|name| {
                    let share = NamedFraction {
                        name: name.clone().into_owned(),
                        part: 0,
                        whole: 0,
                    };
                    found.push((share, Vec::new()));
                    found.len() - 1
                })
            });
            next = at + 1;
            let (share, each) = &mut found[at];
            share.part += part;
            share.whole += whole;
            each.push(quotient(part, whole));
        }
    }
    found
}

/// Returns the hit rates by pattern of cache paths, omitting caches without accesses.
pub(super) fn hit_rates(statistics: &[InstanceStatistics]) -> Option<Vec<(NamedFraction, usize)>> {
    let found = shares(statistics, roles::HIT_RATE, |instance, _| {
        any_index(&instance.path).into()
    });
    (!found.is_empty()).then(|| {
        let used = found.into_iter().filter(|(share, _)| share.whole > 0);
        used.map(|(share, each)| (share, each.len())).collect()
    })
}

/// Returns load latencies by the level that answered last, as cycles over loads. Levels without
/// loads are omitted.
pub(super) fn latencies(statistics: &[InstanceStatistics]) -> Option<Vec<NamedFraction>> {
    let found = shares(statistics, roles::LOAD_LATENCY, |_, statistic| {
        let name = statistic.name.strip_prefix(LATENCY);
        name.unwrap_or(&statistic.name).into()
    });
    (!found.is_empty()).then(|| {
        let shares = found.into_iter().map(|(share, _)| share);
        shares.filter(|share| share.whole > 0).collect()
    })
}

/// Returns the utilisation of shared resources over the fraction `time` of the statistics' time.
pub(super) fn utilisations(statistics: &[InstanceStatistics], time: f64) -> Option<Vec<Shared>> {
    let found = shares(statistics, roles::UTILISATION, |instance, statistic| {
        let name = statistic.name.split('[').next().unwrap_or_default();
        let name = name.strip_suffix("_utilisation").unwrap_or(name);
        format!("{} {}", any_index(&instance.path), name.replace('_', " ")).into()
    });
    (!found.is_empty()).then(|| {
        let shared = found.into_iter().map(|(share, each)| Shared {
            name: share.name,
            places: each.len(),
            mean: (quotient(share.part, share.whole) / time).min(1.0),
            busiest: (each.into_iter().fold(0.0, f64::max) / time).min(1.0),
        });
        shared.collect()
    })
}

/// Returns `part` divided by `whole`, or 0 if `whole` is 0.
pub(super) fn quotient(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use warpweave_framework::{Statistics, Tick};

    use super::*;

    fn instance(path: &str, report: impl FnOnce(&mut Statistics<'_>)) -> InstanceStatistics {
        let mut values = Vec::new();
        report(&mut Statistics::new(10, Tick(10), &mut values));
        InstanceStatistics {
            path: path.into(),
            kind: "Any".into(),
            values,
        }
    }

    #[test]
    fn slots_of_units_of_different_kinds_stand_side_by_side() {
        let units = [
            instance("a", |s| {
                s.role(roles::ISSUE_SLOTS)
                    .counter("slots_issued", "", "", 3);
                s.role(roles::ISSUE_SLOTS)
                    .counter("slots_memory", "", "", 7);
            }),
            instance("b", |s| {
                s.role(roles::ISSUE_SLOTS).counter("elsewhere", "", "", 5);
                s.role(roles::ISSUE_SLOTS)
                    .counter("slots_issued", "", "", 1);
            }),
            instance("memory", |s| s.counter("slots_memory", "", "", 9)),
        ];
        let slots = Slots::of(&units);
        assert_eq!(slots.names, ["issued", "memory", "elsewhere"]);
        assert_eq!(slots.units[0].1, [3, 7, 0]);
        assert_eq!(slots.units[1].1, [1, 0, 5]);
        assert_eq!(slots.totals(), [4, 7, 5]);
    }

    #[test]
    fn reasons_are_cut_into_the_parts_that_are_known() {
        let unit = |path: &str, scale: u64| {
            instance(path, |s| {
                let mut slots = |name: &'static str, count: u64| {
                    s.role(roles::ISSUE_SLOTS)
                        .counter(name, "", "", count * scale);
                };
                slots("slots_issued", 3);
                slots("slots_memory", 7);
                for (part, count) in [("memory_slots_L1", 1), ("memory_slots_L2", 4)] {
                    s.role(roles::ISSUE_SLOT_PARTS)
                        .counter(part, "", "", count * scale);
                }
            })
        };
        let slots = Slots::of(&[unit("a", 1), unit("b", 10)]);
        let pieces = slots.pieces();
        let shown: Vec<_> = pieces
            .iter()
            .map(|p| (p.reason.as_str(), p.part.as_deref(), p.slots))
            .collect();
        let expected = [
            ("issued", None, 33),
            ("memory", Some("L1"), 11),
            ("memory", Some("L2"), 44),
            ("memory", None, 22),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn slots_outside_kernels_are_taken_from_those_without_a_wavefront() {
        let units = [instance("a", |s| {
            let mut slots = |name: &'static str, count: u64| {
                s.role(roles::ISSUE_SLOTS).counter(name, "", "", count);
            };
            slots("slots_issued", 40);
            slots("slots_no_wavefront", 160);
            for (part, count) in [
                ("no_wavefront_slots_launch", 110),
                ("no_wavefront_slots_tail", 30),
            ] {
                s.role(roles::ISSUE_SLOT_PARTS).counter(part, "", "", count);
            }
        })];
        let time = |cycles, before_cycles| KernelTime {
            cycles,
            before_cycles,
            run_cycles: 100,
        };
        let slots = Slots::of(&units).in_kernels(&time(40, 50));
        assert_eq!(slots.totals(), [40, 40]);
        let pieces = slots.pieces();
        let shown: Vec<_> = pieces
            .iter()
            .map(|p| (p.part.as_deref(), p.slots))
            .collect();
        let expected = [
            (None, 40),
            (Some("launch"), 10),
            (Some("tail"), 30),
            (None, 0),
        ];
        assert_eq!(shown, expected);
        // Without a kernel there is nothing else to show.
        assert_eq!(Slots::of(&units).in_kernels(&time(0, 0)), Slots::of(&units));
    }

    #[test]
    fn shares_of_alike_places_are_means_of_their_parts() {
        let caches = |hits: u64, whole: u64| {
            move |s: &mut Statistics<'_>| {
                s.role(roles::HIT_RATE).ratio("hits", "", "", hits, whole);
                s.role(roles::UTILISATION)
                    .ratio("port_utilisation[0]", "", "", hits, 10);
                s.role(roles::UTILISATION)
                    .ratio("port_utilisation[1]", "", "", 0, 10);
            }
        };
        let all = [
            instance("u[0].l1", caches(9, 10)),
            instance("u[1].l1", caches(1, 40)),
            instance("idle", |s| {
                s.role(roles::HIT_RATE).ratio("hits", "", "", 0, 0);
            }),
        ];
        let rates = hit_rates(&all).unwrap();
        assert_eq!(rates.len(), 1);
        assert_eq!((rates[0].0.name.as_str(), rates[0].1), ("u[*].l1", 2));
        assert_eq!((rates[0].0.part, rates[0].0.whole), (10, 50));
        let shared = utilisations(&all, 1.0).unwrap();
        assert_eq!(shared.len(), 1);
        assert_eq!(shared[0].name, "u[*].l1 port");
        assert_eq!(shared[0].places, 4);
        assert!((shared[0].mean - 0.25).abs() < 1e-12 && (shared[0].busiest - 0.9).abs() < 1e-12);
        assert_eq!(latencies(&all), None);
    }
}
