//! Shares of the reasons for which wavefronts wait, in the profiler's names.

use std::collections::BTreeMap;

use crate::launch::{OwnLaunch, Places};
use crate::metric;
use crate::profile::{Profile, ProfiledLaunch};
use crate::quantity::sums;

/// Reason to wait that both sides, or one of them, distinguish.
pub(crate) struct Stall {
    /// Name in results: that of the profiler if it has one.
    pub(crate) name: &'static str,
    /// Outcomes of issue slots that have this reason.
    ours: &'static [&'static str],
    /// Reasons of the profiler that are part of it.
    theirs: &'static [&'static str],
}

/// All reasons; each share is of their sum. Reasons of one side alone have no counterpart.
pub(crate) static STALLS: [Stall; 14] = [
    stall(
        "long_scoreboard",
        &["memory"],
        &["long_scoreboard", "membar", "imc_miss"],
    ),
    stall("wait", &["scoreboard"], &["wait", "short_scoreboard"]),
    stall(
        "lg_throttle",
        &["load_store_full"],
        &["lg_throttle", "tex_throttle"],
    ),
    stall("mio_throttle", &["local_memory_busy"], &["mio_throttle"]),
    stall(
        "math_pipe_throttle",
        &["pipe_busy"],
        &["math_pipe_throttle"],
    ),
    stall("branch_resolving", &["control"], &["branch_resolving"]),
    stall("barrier", &["barrier"], &["barrier"]),
    stall("no_instruction", &["fetch"], &["no_instruction"]),
    stall("throttled", &["throttled"], &[]),
    stall("ended", &["ended"], &[]),
    stall("dispatch_stall", &[], &["dispatch_stall"]),
    stall("drain", &[], &["drain"]),
    stall("sleeping", &[], &["sleeping"]),
    stall("misc", &[], &["misc", "gmma"]),
];

const fn stall(
    name: &'static str,
    ours: &'static [&'static str],
    theirs: &'static [&'static str],
) -> Stall {
    Stall { name, ours, theirs }
}

impl Stall {
    /// Returns the reasons of the profiler that this one joins, if there are several.
    pub(crate) fn joined(&self) -> Option<String> {
        (self.theirs.len() > 1).then(|| self.theirs.join(" + "))
    }
}

/// Share of each reason in percent; `None` for what the side does not distinguish.
pub(crate) type Shares = [Option<f64>; STALLS.len()];

/// Returns the shares of the slots that a launch of ours lost while schedulers had wavefronts.
pub(crate) fn ours(launch: &OwnLaunch, places: &Places) -> Option<Shares> {
    let sums = sums(launch).ok()?;
    let slots: BTreeMap<&str, u64> = sums.slots(places.units.as_ref()?).collect();
    let of = |stall: &Stall| {
        let known = stall.ours.iter().filter_map(|outcome| slots.get(outcome));
        known.fold(None, |sum, slots| Some(sum.unwrap_or(0.0) + *slots as f64))
    };
    shares(STALLS.each_ref().map(of))
}

/// Returns the shares of the wavefronts that waited in a launch of the profile.
pub(crate) fn theirs(profile: &Profile, launch: &ProfiledLaunch) -> Option<Shares> {
    let mut forms: BTreeMap<[&str; 2], BTreeMap<&str, f64>> = BTreeMap::new();
    for (name, value) in profile.values(launch) {
        if let Some((form, reason)) = metric::stall(name) {
            forms.entry(form).or_default().insert(reason, value);
        }
    }
    // Forms differ in their units: the one with most reasons counts, the first of several.
    let most = forms.values().map(BTreeMap::len).max()?;
    let reasons = forms.values().find(|reasons| reasons.len() == most)?;
    let of = |stall: &Stall| {
        let known = stall.theirs.iter().filter_map(|reason| reasons.get(reason));
        known.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
    };
    shares(STALLS.each_ref().map(of))
}

/// Divides the amounts by their sum. Without any wait there are no shares.
fn shares(amounts: [Option<f64>; STALLS.len()]) -> Option<Shares> {
    let sum: f64 = amounts.iter().flatten().sum();
    (sum > 0.0).then(|| amounts.map(|amount| amount.map(|amount| 100.0 * amount / sum)))
}

#[cfg(test)]
mod tests {
    use warpweave_files::{Budget, Ledger};

    use super::*;

    #[test]
    fn shares_of_a_profile_leave_out_what_is_no_wait() {
        let text = "ID,Kernel Name,\
            smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio,\
            smsp__average_warps_issue_stalled_membar_per_issue_active.ratio,\
            smsp__average_warps_issue_stalled_wait_per_issue_active.ratio,\
            smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio,\
            smsp__pcsamp_warps_issue_stalled_barrier\n0,k,2,1,1,50,7\n";
        let ledger = Ledger::new(&Budget::unlimited());
        let profile = Profile::read("p", text, &[], &ledger).unwrap();
        let found = theirs(&profile, &profile.launches[0]).unwrap();
        assert_eq!(found[0], Some(75.0));
        assert_eq!(found[1], Some(25.0));
        assert!(found[2..].iter().all(Option::is_none), "{found:?}");
    }

    #[test]
    fn every_reason_belongs_to_one_row() {
        for of in [|stall: &Stall| stall.ours, |stall: &Stall| stall.theirs] {
            let mut names: Vec<&str> = STALLS.iter().flat_map(of).copied().collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all);
        }
    }
}
