//! Estimate of a program's duration from a sample of its launches.
//!
//! The cycles of a run are the host's work between launches, plus the added cycles of each launch.
//! A launch adds the cycles up to its completion, from the previous completion or from its start at
//! the host, whichever is later. The host's cycles are known, because it executes all its commands.
//! In each stratum, the mean of the simulated launches is used for the others. The interval is that
//! of stratified sampling without replacement (Cochran, Sampling Techniques, 3rd edition, chapter
//! 5), with Satterthwaite's degrees of freedom. It covers the variation between launches of a
//! stratum. It does not cover the effects of cache contents and overlaps in a full run.

use warpweave_components::launch_plan::LaunchPlan;
use warpweave_framework::Tick;

use super::choice::{LaunchSelection, Stratum};
use crate::digits::grouped;

/// Estimated cycles of a program from a simulated sample of its launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Estimated duration of the run in core cycles.
    pub cycles: u64,
    /// Confidence interval of 95 %, both ends included.
    pub interval: [u64; 2],
    /// Number of host launches that the estimate covers.
    pub launches: u32,
    /// Number of host launches in the simulated sample.
    pub simulated: u32,
    /// True if the estimate covers every launch of the program.
    pub whole: bool,
}

impl Estimate {
    /// Returns the estimate with its interval in words.
    pub fn in_words(&self) -> String {
        let of = if self.whole {
            "the whole program".to_owned()
        } else {
            format!("the population of {} launches", self.launches)
        };
        let [low, high] = self.interval.map(grouped);
        let cycles = grouped(self.cycles);
        format!("{cycles} cycles for {of}, 95% between {low} and {high}")
    }
}

/// Estimated sum with its variance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct EstimatedSum {
    value: f64,
    variance: f64,
    /// Degrees of freedom of the variance.
    degrees: f64,
}

/// Computes the estimate from the launches that ran. Returns `None` without a sample, or if a
/// launch is incomplete. `times` returns when a launch left the host and when it completed.
pub(super) fn of(
    choice: &LaunchSelection,
    plan: &LaunchPlan,
    period: u64,
    times: impl Fn(u32) -> (Option<Tick>, Option<Tick>),
) -> Option<Estimate> {
    let strata = &choice.strata;
    let all = || strata.iter().flat_map(|stratum| &stratum.launches);
    let begun: Option<Vec<u64>> = all().map(|launch| Some(plan.begun(*launch)?.0)).collect();
    let begun = begun?;
    let mut added = LaunchContribution::default();
    for launch in strata.iter().flat_map(|stratum| &stratum.taken) {
        let (left, completed) = times(*launch);
        added.launches.push(LaunchInterval {
            launch: *launch,
            begun: plan.begun(*launch)?.0,
            left: left?.0,
            completed: completed?.0,
        });
    }
    let known = added.split();
    let last = added.launches.iter().map(|ran| ran.completed);
    let last = last.chain(begun.iter().copied()).max()?;
    let span = last - begun.iter().min()?;
    // The cycles of a run begin when the first launch has left the host.
    let first = added.launches.iter().min_by_key(|ran| ran.begun)?;
    let launching = first.left - first.begun;
    let host = span as f64 - (known + plan.stood_still() + launching) as f64;
    let sums = strata.iter().map(|stratum| expand(stratum, &added));
    let total = add(sums);
    let half = t_975(total.degrees) * total.variance.sqrt();
    let cycles = |ticks: f64| (ticks / period as f64).round() as u64;
    let known = known as f64;
    Some(Estimate {
        cycles: cycles(host + total.value),
        interval: [
            cycles(host + (total.value - half).max(known)),
            cycles(host + total.value + half),
        ],
        launches: all().count() as u32,
        simulated: added.launches.len() as u32,
        whole: choice.unsampled == 0,
    })
}

/// Times of a simulated launch, in ticks.
struct LaunchInterval {
    launch: u32,
    begun: u64,
    left: u64,
    completed: u64,
}

/// Time that each launch adds to the run.
#[derive(Default)]
struct LaunchContribution {
    launches: Vec<LaunchInterval>,
    /// Added ticks, in the order of launches.
    ticks: Vec<u64>,
}

impl LaunchContribution {
    /// Computes the added ticks of each launch and returns their sum.
    fn split(&mut self) -> u64 {
        let mut order: Vec<usize> = (0..self.launches.len()).collect();
        order.sort_by_key(|at| (self.launches[*at].completed, self.launches[*at].launch));
        self.ticks = vec![0; order.len()];
        let mut before = 0;
        for at in order {
            let LaunchInterval {
                begun, completed, ..
            } = self.launches[at];
            self.ticks[at] = completed - begun.max(before).min(completed);
            before = completed;
        }
        self.ticks.iter().sum()
    }

    fn of(&self, launch: u32) -> Option<f64> {
        let mut launches = self.launches.iter().zip(&self.ticks);
        let (_, ticks) = launches.find(|(ran, _)| ran.launch == launch)?;
        Some(*ticks as f64)
    }
}

/// Estimates the total added by all launches of a stratum.
fn expand(stratum: &Stratum, added: &LaunchContribution) -> EstimatedSum {
    let taken = stratum.taken.iter().filter_map(|launch| added.of(*launch));
    let taken: Vec<f64> = taken.collect();
    let (n, all) = (taken.len() as f64, stratum.launches.len() as f64);
    let mean = taken.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = taken.iter().map(|value| (value - mean).powi(2)).sum();
    let spread = if n > 1.0 { squares / (n - 1.0) } else { 0.0 };
    EstimatedSum {
        value: all * mean,
        variance: all * all * (1.0 - n / all) * spread / n.max(1.0),
        degrees: n - 1.0,
    }
}

fn add(sums: impl Iterator<Item = EstimatedSum>) -> EstimatedSum {
    let (mut total, mut weighted) = (EstimatedSum::default(), 0.0);
    for sum in sums {
        total.value += sum.value;
        total.variance += sum.variance;
        if sum.degrees > 0.0 {
            weighted += sum.variance.powi(2) / sum.degrees;
        }
    }
    total.degrees = if weighted > 0.0 {
        total.variance.powi(2) / weighted
    } else {
        f64::INFINITY
    };
    total
}

/// Returns the 97.5 % quantile of Student's t for at least this many degrees of freedom. Source:
/// the usual table, three digits after the point rounded up.
fn t_975(degrees: f64) -> f64 {
    const ONE_BY_ONE: [f64; 30] = [
        12.707, 4.303, 3.183, 2.777, 2.571, 2.447, 2.365, 2.307, 2.263, 2.229, 2.201, 2.179, 2.161,
        2.145, 2.132, 2.120, 2.110, 2.101, 2.094, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.049, 2.046, 2.043,
    ];
    match degrees {
        120.0.. => 1.980,
        60.0.. => 2.001,
        40.0.. => 2.022,
        30.0.. => ONE_BY_ONE[29],
        _ => ONE_BY_ONE[(degrees.max(1.0) as usize) - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(launch: u32, begun: u64, completed: u64) -> LaunchInterval {
        LaunchInterval {
            launch,
            begun,
            left: begun,
            completed,
        }
    }

    #[test]
    fn what_launches_add_and_the_time_without_any_are_the_whole_run() {
        // 0 and 1 overlap; 2 begins after a pause; 3 waits behind 2.
        let mut added = LaunchContribution {
            launches: vec![
                ran(0, 0, 100),
                ran(1, 10, 80),
                ran(2, 150, 250),
                ran(3, 160, 300),
            ],
            ticks: Vec::new(),
        };
        assert_eq!(added.split(), 240);
        assert_eq!(added.ticks, [20, 70, 100, 50]);
    }

    #[test]
    fn a_stratum_of_which_all_ran_is_known_without_error() {
        let mut added = LaunchContribution {
            launches: vec![ran(4, 0, 10), ran(7, 20, 50)],
            ticks: Vec::new(),
        };
        added.split();
        let mut stratum = Stratum {
            launches: vec![4, 7],
            taken: vec![4, 7],
        };
        let sum = expand(&stratum, &added);
        assert_eq!((sum.value, sum.variance), (40.0, 0.0));
        // Two of four launches: mean 20, variance 200 of single values, 16 * (1 - 1/2) * 200 / 2 of
        // the sum.
        stratum.launches = vec![4, 5, 6, 7];
        let sum = expand(&stratum, &added);
        assert_eq!((sum.value, sum.variance), (80.0, 800.0));
    }

    #[test]
    fn the_interval_narrows_with_the_degrees_of_freedom() {
        let quantiles = [0.5, 1.0, 2.0, 5.5, 29.0, 35.0, 60.0, 1e9].map(t_975);
        assert!((12.7..12.71).contains(&quantiles[0]));
        assert!(quantiles.windows(2).all(|pair| pair[0] >= pair[1]));
    }
}
