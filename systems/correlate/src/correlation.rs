//! Comparison of a profile with runs: values by launch, means by kernel, figures.

use std::collections::BTreeMap;

use warpweave_files::{Ledger, OverBudget};

use crate::launch::OwnRun;
use crate::name::base_name;
use crate::pairs::{MatchBy, Unmatched, pairs};
use crate::profile::Profile;
use crate::quantity::{CYCLES, Own, QUANTITIES};
use crate::score::{Mean, Score};
use crate::stall::{self, STALLS, Shares};

/// Number of quantities that are compared.
pub(crate) const COUNT: usize = QUANTITIES.len();

/// Rules of a comparison as given by the user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    pub match_by: MatchBy,
    /// Cycles of an empty launch, for errors without it.
    pub floor: Option<f64>,
}

/// Comparison of a profile with runs of ours.
pub struct Correlation {
    /// Name of the profile and number of its launches.
    pub(crate) profile: (String, usize),
    /// Name of each run and number of its launches.
    pub(crate) runs: Vec<(String, usize)>,
    pub(crate) floor: Option<f64>,
    /// Launches that both sides have, in the order of the profile.
    pub(crate) launches: Vec<Compared>,
    /// Kernels in the order of their first launch.
    pub(crate) kernels: Vec<KernelRow>,
    /// Figures of each quantity over all kernels.
    pub(crate) scores: Vec<Score>,
    /// Mean shares over kernels, ours and theirs.
    pub(crate) stalls: [Option<Shares>; 2],
    pub(crate) missing: Vec<Missing>,
    pub(crate) unmatched: Vec<Unmatched>,
    /// Ceilings of the first run that has some.
    pub(crate) ceilings: Option<(f64, f64)>,
}

/// Values of a launch that both sides have.
pub(crate) struct Compared {
    pub(crate) kernel: String,
    /// Identifier that the profile gives the launch.
    pub(crate) id: u64,
    /// Position of the run, and number of the launch in it.
    pub(crate) own: (usize, u32),
    /// Values of each quantity, ours and theirs.
    pub(crate) values: Vec<(Own, Option<f64>)>,
    /// Shares of stalls, ours and theirs.
    pub(crate) stalls: [Option<Shares>; 2],
}

/// Means over the launches of a kernel.
pub(crate) struct KernelRow {
    pub(crate) kernel: String,
    pub(crate) launches: usize,
    /// Means of each quantity over launches for which both sides have it.
    pub(crate) means: Vec<Option<Mean>>,
    /// Mean shares of stalls, ours and theirs.
    pub(crate) stalls: [Option<Shares>; 2],
}

/// Value that some launches lack on one side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Missing {
    pub(crate) quantity: usize,
    /// Reason on our side; `None` if the profile lacks the metric.
    pub(crate) ours: Option<&'static str>,
    pub(crate) launches: usize,
}

impl Correlation {
    /// Compares a profile with runs. The values are charged to `ledger`.
    ///
    /// # Errors
    /// Returns an error if the values exceed the memory budget.
    pub fn of(
        profile: &Profile,
        runs: &[OwnRun],
        rules: Rules,
        ledger: &Ledger,
    ) -> Result<Self, OverBudget> {
        let all = profile.launches.len() + runs.iter().map(|run| run.launches.len()).sum::<usize>();
        let bytes = size_of::<Compared>()
            + COUNT * size_of::<(Own, Option<f64>)>()
            + 2 * size_of::<KernelRow>()
            + COUNT * size_of::<Option<Mean>>()
            + size_of::<Unmatched>()
            + 256;
        ledger.charge("the comparison of launches", (all * bytes) as u64)?;
        let (pairs, unmatched) = pairs(profile, runs, rules.match_by);
        let mut launches = Vec::new();
        for pair in pairs {
            let theirs = &profile.launches[pair.theirs];
            let run = &runs[pair.ours.0];
            let own = &run.launches[pair.ours.1];
            let values = QUANTITIES.iter().map(|quantity| {
                let ours = quantity.ours(own, &run.places);
                (ours, quantity.theirs(profile, theirs))
            });
            launches.push(Compared {
                kernel: base_name(&theirs.kernel).to_owned(),
                id: theirs.id,
                own: (pair.ours.0, own.number),
                values: values.collect(),
                stalls: [
                    stall::ours(own, &run.places),
                    stall::theirs(profile, theirs),
                ],
            });
        }
        let kernels = kernels(&launches);
        let scores = (0..COUNT).map(|quantity| {
            let means = kernels.iter().filter_map(|row| {
                let mean = row.means[quantity]?;
                Some((row.kernel.as_str(), mean))
            });
            let floor = rules.floor.filter(|_| quantity == CYCLES);
            Score::of(&means.collect::<Vec<_>>(), floor)
        });
        let scores = scores.collect();
        let stalls = [0, 1].map(|side| mean_shares(kernels.iter().map(|row| &row.stalls[side])));
        Ok(Self {
            profile: (profile.file.clone(), profile.launches.len()),
            runs: runs
                .iter()
                .map(|run| (run.name.clone(), run.launches.len()))
                .collect(),
            floor: rules.floor,
            missing: missing(&launches),
            launches,
            kernels,
            scores,
            stalls,
            unmatched,
            ceilings: runs.iter().find_map(|run| run.ceilings),
        })
    }

    /// Returns the quantities that both sides have in some launch.
    pub(crate) fn compared(&self) -> impl Iterator<Item = usize> {
        (0..COUNT).filter(|quantity| self.scores[*quantity].equal[1] > 0)
    }
}

fn kernels(launches: &[Compared]) -> Vec<KernelRow> {
    let mut order: Vec<(&str, Vec<&Compared>)> = Vec::new();
    let mut at: BTreeMap<&str, usize> = BTreeMap::new();
    for launch in launches {
        let place = *at.entry(&launch.kernel).or_insert_with(|| {
            order.push((&launch.kernel, Vec::new()));
            order.len() - 1
        });
        order[place].1.push(launch);
    }
    let row = |(kernel, launches): (&str, Vec<&Compared>)| {
        let mean = |quantity: usize| {
            let both = launches.iter().filter_map(|launch| {
                let (ours, theirs) = launch.values[quantity];
                ours.ok().zip(theirs)
            });
            Mean::of(&both.collect::<Vec<_>>())
        };
        KernelRow {
            kernel: kernel.to_owned(),
            launches: launches.len(),
            means: (0..COUNT).map(mean).collect(),
            stalls: [0, 1].map(|side| mean_shares(launches.iter().map(|one| &one.stalls[side]))),
        }
    };
    order.into_iter().map(row).collect()
}

/// Averages shares. A reason that no member distinguishes stays without a share.
fn mean_shares<'s>(all: impl Iterator<Item = &'s Option<Shares>>) -> Option<Shares> {
    let mut sums: Shares = [None; STALLS.len()];
    let mut count = 0;
    for shares in all.flatten() {
        count += 1;
        for (sum, share) in sums.iter_mut().zip(shares) {
            if let Some(share) = share {
                *sum = Some(sum.unwrap_or(0.0) + share);
            }
        }
    }
    (count > 0).then(|| sums.map(|sum| sum.map(|sum| sum / f64::from(count))))
}

/// Lists what launches lack, once for each quantity and reason. A quantity that neither side has is
/// not listed.
fn missing(launches: &[Compared]) -> Vec<Missing> {
    let mut all: Vec<Missing> = Vec::new();
    for launch in launches {
        for (quantity, (ours, theirs)) in launch.values.iter().enumerate() {
            let why = match (ours, theirs) {
                (Err(why), Some(_)) => Some(*why),
                (Ok(_), None) => None,
                _ => continue,
            };
            let found = all
                .iter_mut()
                .find(|one| one.quantity == quantity && one.ours == why);
            match found {
                Some(found) => found.launches += 1,
                None => all.push(Missing {
                    quantity,
                    ours: why,
                    launches: 1,
                }),
            }
        }
    }
    all.sort_by_key(|one| one.quantity);
    all
}

#[cfg(test)]
pub(crate) mod example {
    use warpweave_files::{Budget, Ledger};

    use crate::correlation::{Correlation, Rules};
    use crate::launch::{Counted, OwnLaunch, OwnRun, Places};
    use crate::profile::Profile;
    use crate::traffic::Traffic;

    /// Compares three launches of two kernels; those of `scale` differ in their sectors.
    pub(crate) fn example() -> Correlation {
        let text = "\
ID,Kernel Name,Block Size,Grid Size,sm__cycles_elapsed.max,smsp__inst_executed.sum,\
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,launch__registers_per_thread,\
smsp__average_warps_issue_stalled_wait_per_issue_active.ratio
0,\"scale(int)\",\"(32, 1, 1)\",\"(4, 1, 1)\",5000,40,16,16,1
1,sum,\"(32, 1, 1)\",\"(1, 1, 1)\",3000,10,4,16,3
2,sum,\"(32, 1, 1)\",\"(1, 1, 1)\",3200,10,5,16,3
3,lost,\"(32, 1, 1)\",\"(1, 1, 1)\",3200,10,5,16,3
";
        let ledger = Ledger::new(&Budget::unlimited());
        let profile = Profile::read("profile.csv", text, &[], &ledger).unwrap();
        let launch = |number, kernel: &str, groups, cycles: u64| OwnLaunch {
            number,
            kernel: kernel.to_owned(),
            grid: [groups, 1, 1],
            block: [32, 1, 1],
            wavefront_instructions: 10 * u64::from(groups),
            thread_instructions: 320,
            registers: None,
            counted: Counted::Timed {
                cycles: Ok(cycles),
                sums: Err("the run was not measured"),
            },
        };
        let timed = OwnRun {
            name: "timed".to_owned(),
            launches: vec![launch(0, "_Z5scalei", 4, 4500), launch(1, "sum", 1, 3100)],
            places: Places::default(),
            ceilings: None,
        };
        let traffic = Traffic {
            load_sectors: 5,
            ..Traffic::default()
        };
        let mut traced = launch(0, "sum", 1, 0);
        traced.counted = Counted::Traced(traffic);
        traced.registers = Some(12);
        let traced = OwnRun {
            name: "traced".to_owned(),
            launches: vec![traced],
            places: Places::default(),
            ceilings: None,
        };
        let rules = Rules {
            floor: Some(2000.0),
            ..Rules::default()
        };
        Correlation::of(&profile, &[timed, traced], rules, &ledger).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use warpweave_files::Budget;

    use super::example::example;
    use super::*;

    #[test]
    fn kernels_have_means_of_launches_that_both_sides_have() {
        let found = example();
        let names: Vec<_> = found
            .kernels
            .iter()
            .map(|row| (row.kernel.as_str(), row.launches))
            .collect();
        assert_eq!(names, [("scale", 1), ("sum", 2)]);
        let cycles = found.kernels[1].means[CYCLES].unwrap();
        assert_eq!(cycles.launches, 1);
        let score = &found.scores[CYCLES];
        // 10 % of 5,000 and 3.3 % of 3,000; 500 of 3,000 and 100 of 1,000.
        assert!((score.mape.unwrap() - 6.666_666).abs() < 1e-3, "{score:?}");
        assert!((score.body.unwrap() - 13.333_333).abs() < 1e-3, "{score:?}");
        assert_eq!(found.unmatched.len(), 1);
        assert_eq!(found.unmatched[0].kernel, "lost");
    }

    #[test]
    fn what_a_side_lacks_is_listed_once_with_the_number_of_launches() {
        let found = example();
        let of = |key: &str| -> Vec<(Option<&str>, usize)> {
            let missing = found.missing.iter();
            let missing = missing.filter(|one| QUANTITIES[one.quantity].key == key);
            missing.map(|one| (one.ours, one.launches)).collect()
        };
        assert_eq!(
            of("l1_load_sectors"),
            [(Some("the run was not measured"), 2)]
        );
        assert_eq!(of("thread_instructions"), [(None, 3)]);
        assert_eq!(of("cycles").len(), 1);
        assert!(of("warp_instructions").is_empty());
    }

    #[test]
    fn values_are_charged_before_they_are_computed() {
        let text = "ID,Kernel Name\n0,k\n1,k\n";
        let ledger = Ledger::new(&Budget::unlimited());
        let profile = Profile::read("p", text, &[], &ledger).unwrap();
        let small = Ledger::new(&Budget::of(100));
        assert!(Correlation::of(&profile, &[], Rules::default(), &small).is_err());
    }
}
