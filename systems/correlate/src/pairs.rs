//! Pairs of launches: one of the profile and one of ours.

use std::collections::BTreeMap;

use crate::launch::{OwnLaunch, OwnRun};
use crate::name::base_name;
use crate::profile::{Profile, ProfiledLaunch};

/// Rule by which launches find their partners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchBy {
    /// Launches of kernels with equal names are paired in their order.
    #[default]
    Name,
    /// The number of a launch is the identifier in the profile.
    Id,
}

/// Positions of two launches that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// Position among the launches of the profile.
    pub(crate) theirs: usize,
    /// Position of the run, and in its launches.
    pub(crate) ours: (usize, usize),
}

/// Launch without a partner, or with one of another shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unmatched {
    pub(crate) kernel: String,
    /// Identifier in the profile, if it has the launch.
    pub(crate) id: Option<u64>,
    /// Run and number of our launch, if there is one.
    pub(crate) own: Option<(String, u32)>,
    pub(crate) why: String,
}

/// Pairs the launches, in the order of the profile.
pub(crate) fn pairs(
    profile: &Profile,
    runs: &[OwnRun],
    by: MatchBy,
) -> (Vec<Pair>, Vec<Unmatched>) {
    // Our launches by name and, where it counts, by number; each list is in order.
    let mut ours: BTreeMap<(&str, Option<u64>), Vec<(usize, usize)>> = BTreeMap::new();
    let number = |launch: &OwnLaunch| (by == MatchBy::Id).then_some(u64::from(launch.number));
    for (run, of) in runs.iter().enumerate() {
        for (at, launch) in of.launches.iter().enumerate() {
            let key = (base_name(&launch.kernel), number(launch));
            ours.entry(key).or_default().push((run, at));
        }
    }
    let mut taken: BTreeMap<(&str, Option<u64>), usize> = BTreeMap::new();
    let (mut found, mut unmatched) = (Vec::new(), Vec::new());
    for (theirs, launch) in profile.launches.iter().enumerate() {
        let id = (by == MatchBy::Id).then_some(launch.id);
        let key = (base_name(&launch.kernel), id);
        let count = taken.entry(key).or_default();
        let partner = ours.get(&key).and_then(|list| list.get(*count)).copied();
        *count += 1;
        let Some(ours) = partner else {
            unmatched.push(Unmatched {
                kernel: key.0.to_owned(),
                id: Some(launch.id),
                own: None,
                why: "no run has this launch".to_owned(),
            });
            continue;
        };
        let own = &runs[ours.0].launches[ours.1];
        match other_shape(launch, own) {
            None => found.push(Pair { theirs, ours }),
            Some(why) => unmatched.push(Unmatched {
                kernel: key.0.to_owned(),
                id: Some(launch.id),
                own: Some((runs[ours.0].name.clone(), own.number)),
                why,
            }),
        }
    }
    for (key, list) in &ours {
        let used = taken.get(key).copied().unwrap_or(0).min(list.len());
        for (run, at) in &list[used..] {
            let number = runs[*run].launches[*at].number;
            unmatched.push(Unmatched {
                kernel: key.0.to_owned(),
                id: None,
                own: Some((runs[*run].name.clone(), number)),
                why: "the profile does not have this launch".to_owned(),
            });
        }
    }
    (found, unmatched)
}

/// Returns how the shapes of two launches differ.
fn other_shape(theirs: &ProfiledLaunch, own: &OwnLaunch) -> Option<String> {
    let words = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
    for (what, theirs, ours) in [
        ("grid", theirs.grid, own.grid),
        ("block", theirs.block, own.block),
    ] {
        if let Some(theirs) = theirs.filter(|theirs| *theirs != ours) {
            let (theirs, ours) = (words(theirs), words(ours));
            return Some(format!(
                "the {what} is {ours} in ours and {theirs} in the profile"
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use warpweave_files::{Budget, Ledger};

    use super::*;
    use crate::launch::{Counted, Places};
    use crate::traffic::Traffic;

    fn profile(rows: &str) -> Profile {
        let text = format!("ID,Kernel Name,Grid Size\n{rows}");
        Profile::read("p", &text, &[], &Ledger::new(&Budget::unlimited())).unwrap()
    }

    fn run(launches: &[(u32, &str, u32)]) -> OwnRun {
        let launches = launches.iter().map(|(number, kernel, groups)| OwnLaunch {
            number: *number,
            kernel: (*kernel).to_owned(),
            grid: [*groups, 1, 1],
            block: [32, 1, 1],
            wavefront_instructions: 0,
            thread_instructions: 0,
            registers: None,
            counted: Counted::Traced(Traffic::default()),
        });
        OwnRun {
            name: "r".to_owned(),
            launches: launches.collect(),
            places: Places::default(),
            ceilings: None,
        }
    }

    fn theirs_and_ours(pairs: &[Pair]) -> Vec<(usize, (usize, usize))> {
        pairs.iter().map(|pair| (pair.theirs, pair.ours)).collect()
    }

    #[test]
    fn launches_are_paired_by_name_in_order_over_all_runs() {
        let profile = profile("0,a(int),4\n1,b,2\n2,a(int),8\n3,a(int),9\n");
        let runs = [
            run(&[(0, "a", 4)]),
            run(&[(0, "_Z1bv", 2), (1, "a", 8), (2, "c", 1)]),
        ];
        let (pairs, unmatched) = pairs(&profile, &runs, MatchBy::Name);
        assert_eq!(
            theirs_and_ours(&pairs),
            [(0, (0, 0)), (1, (1, 0)), (2, (1, 1))]
        );
        let [no_run, no_row] = &unmatched[..] else {
            panic!("{unmatched:?}")
        };
        assert_eq!((no_run.kernel.as_str(), no_run.id), ("a", Some(3)));
        assert_eq!(no_row.own, Some(("r".to_owned(), 2)));
    }

    #[test]
    fn launches_of_another_shape_are_named_and_left_out() {
        let runs = [run(&[(0, "a", 5), (1, "a", 8)])];
        let (pairs, unmatched) = pairs(&profile("0,a,4\n1,a,8\n"), &runs, MatchBy::Name);
        assert_eq!(theirs_and_ours(&pairs), [(1, (0, 1))]);
        assert!(
            unmatched[0].why.contains("5 x 1 x 1 in ours and 4 x 1 x 1"),
            "{unmatched:?}"
        );
    }

    #[test]
    fn a_launch_of_a_region_finds_its_number() {
        let runs = [run(&[(2, "a", 8)])];
        let profile = profile("0,a,4\n1,b,4\n2,a,8\n");
        let (found, unmatched) = pairs(&profile, &runs, MatchBy::Id);
        assert_eq!(theirs_and_ours(&found), [(2, (0, 0))]);
        assert_eq!(unmatched.len(), 2);
    }
}
