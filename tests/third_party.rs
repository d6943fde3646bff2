//! Checks that another crate's policies are named, described, rejected, overridden, saved and
//! checked like those shipped with Warpweave. Its roles and components are covered too.
//!
//! The crate is `tests/third-party/`, outside the workspace. It is built once. Its program runs in
//! its folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::harness::{Ended, Outside, told};

/// Policies of the crate: role, name, a misspelled name, and source file.
const POLICIES: [(&str, &str, &str, &str); 8] = [
    ("wavefront_scheduler", "Youngest", "Yongest", "scheduler"),
    ("work_group_placement", "Backwards", "Backward", "placement"),
    ("kernel_order", "FairStreams", "FairStream", "order"),
    ("cache_policy", "SharedOnly", "SharedOnce", "cache_policy"),
    ("replacement", "MostRecent", "MostRecnt", "replacement"),
    ("prefetcher", "BackAndForth", "BackandForth", "prefetcher"),
    (
        "request_order",
        "OpenRowsFirst",
        "OpenRowFirst",
        "request_order",
    ),
    ("arbiter", "LongestWaiting", "LongestWait", "arbiter"),
];

/// Scenario with a policy of the crate in every role, and its component in a wire.
const SCENARIO: &str = "scenarios/everything.ron";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn the_crate() -> PathBuf {
    root().join("tests/third-party")
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The crate, already built.
static BUILT: LazyLock<Outside> = LazyLock::new(|| {
    let outside = Outside::at(the_crate(), "third-party");
    outside.build();
    outside
});

/// Runs the crate's program in the crate's folder.
fn run(arguments: &[&str]) -> Ended {
    BUILT.run_in(&the_crate(), arguments)
}

fn json(more: &[&str]) -> Ended {
    run(&[&["run", SCENARIO, "--quiet", "--format", "json"], more].concat())
}

/// Returns the report without host-dependent values.
fn report(more: &[&str]) -> String {
    let ended = json(more);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let mut report = ended.json();
    report.as_object_mut().unwrap().remove("host").unwrap();
    serde_json::to_string_pretty(&report).unwrap()
}

#[test]
fn every_policy_passes_the_tests_beside_it() {
    let said = BUILT.test("src/main.rs");
    assert!(
        said.contains(" 0 failed") && !said.contains(" 0 passed"),
        "{said}"
    );
}

#[test]
fn every_policy_is_listed_in_its_role_and_described() {
    let list = told(run(&["list", "policies"]));
    for (role, name, ..) in POLICIES {
        let of_role = list.split("\n\n").find(|part| part.starts_with(role));
        assert!(of_role.unwrap().contains(name), "{role}/{name}: {list}");
        let described = told(run(&["describe", &format!("{role}/{name}")]));
        assert_eq!(described, told(run(&["describe", name])));
    }
    insta::assert_snapshot!(told(run(&["describe", "Youngest"])), @"
    wavefront_scheduler/Youngest: The wavefront that came last, for some instructions in a row

    fields
      patience (integer, default 16)
          Maximum number of consecutive instructions of one wavefront while another could issue, 1 to 1000. Source: own choice.

    to write
      Youngest
    ");
}

#[test]
fn a_policy_that_is_nearly_spelt_right_is_refused_with_its_place_and_the_right_name() {
    let folder = tempfile::tempdir().unwrap();
    let absolute = |file: &str| {
        text(&the_crate().join("scenarios").join(file)).replace(
            "../../../scenarios",
            &root().join("scenarios").display().to_string(),
        )
    };
    fs::write(folder.path().join("machine.ron"), absolute("machine.ron")).unwrap();
    let right = absolute("everything.ron");
    for (role, name, misspelt, _) in POLICIES {
        let path = folder.path().join("scenario.ron");
        fs::write(&path, right.replace(name, misspelt)).unwrap();
        let refused = run(&["check", path.to_str().unwrap()]).refusal();
        let caret = format!(" {}\n", "^".repeat(misspelt.len()));
        for part in [
            "exit 2\n",
            &format!("error: unknown {role} `{misspelt}`\n"),
            "scenario.ron:",
            &caret,
            &format!("did you mean `{name}`?"),
        ] {
            assert!(refused.contains(part), "{part:?} in\n{refused}");
        }
    }
}

#[test]
fn fields_of_its_policies_are_overridden_by_path_and_refused_with_their_place() {
    let resolved = |set: &str| told(run(&["check", SCENARIO, "--resolved", "--set", set]));
    let longer = resolved("unit[*].cu.scheduler.patience=9");
    assert!(longer.contains("Youngest(patience: 9)"), "{longer}");
    let other = resolved("unit[1].cu.scheduler=Lrr");
    assert!(other.contains("scheduler: Lrr"), "{other}");
    assert!(other.contains("Youngest(patience: 4)"), "{other}");
    let refused = |set: &str| run(&["check", SCENARIO, "--set", set]).refusal();
    let refusals = [
        refused("unit[*].cu.scheduler.patience=0"),
        refused("unit[*].cu.scheduler.patienc=3"),
        refused("scheduler.policy=Youngest"),
    ];
    insta::assert_snapshot!(refusals.concat(), @"
    exit 2
    error: patience: 0, expected 1 to 1000
     --> --set unit[*].cu.scheduler.patience=0:1:31
      |
    1 | unit[*].cu.scheduler.patience=0
      |                               ^
    exit 2
    error: unknown field `patienc` in Youngest
     --> --set unit[*].cu.scheduler.patienc=3:1:1
      |
    1 | unit[*].cu.scheduler.patienc=3
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      = hint: did you mean `patience`? fields of Youngest: patience
    exit 2
    error: unknown work_group_placement `Youngest`
     --> --set scheduler.policy=Youngest:1:18
      |
    1 | scheduler.policy=Youngest
      |                  ^^^^^^^^
      = hint: policies of this role: Backwards, BlockRoundRobin, DemandRoundRobin, Distributed, DistributedBlock, GlobalRoundRobin, GreedyClustering, LaPerm, Laser, Mapped, RandomRoundRobin, Repeats, ReuseChains, ShortestQueue, StrictRoundRobin, TwoLevelRoundRobin
    ");
}

#[test]
fn its_machine_gives_the_same_bits_on_1_to_8_threads_and_after_every_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let straight = report(&[]);
    for threads in ["2", "3", "4", "5", "6", "7", "8"] {
        assert_eq!(
            straight,
            report(&["--threads", threads]),
            "{threads} threads"
        );
    }
    assert_eq!(straight, report(&["--check"]), "protocols are kept");
    let file = folder.path().join("run-{cycle}.wwc").display().to_string();
    let at = "0,1000,20000,50000";
    let saved = report(&["--checkpoint", &file, "--checkpoint-at", at]);
    assert_eq!(straight, saved, "saving changes nothing");
    for cycle in at.split(',') {
        let resumed = report(&["--resume", &file.replace("{cycle}", cycle)]);
        assert_eq!(straight, resumed, "resumed after cycle {cycle}");
    }
}

#[test]
fn each_of_its_policies_is_at_work_in_its_machine() {
    let straight = report(&[]);
    for usual in [
        "unit[*].cu.scheduler=Gto",
        "scheduler.policy=TwoLevelRoundRobin",
        "unit[*].l1.policies=[]",
        "unit[*].l1.prefetchers=[]",
        "partition[*].l2[*].replacement=Lru",
        "partition[*].dram.scheduler=Fcfs",
        "crossbar.request.arbiter=Islip(iterations: 1)",
        "gate[*].timetable.cycles=9",
    ] {
        let differs = straight != report(&["--set", usual]);
        assert!(differs, "{usual} changes nothing");
    }
}

/// Runs `conform` on a policy in a separate folder.
fn conform(policy: &str, more: &[&str]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("broken").display().to_string();
    let ended = run(&[&["conform", policy, "--out", &out], more].concat());
    // What shows a broken promise is a scenario like any other.
    for line in ended.out.lines() {
        if let Some(scenario) = line.trim().strip_prefix("see ") {
            told(run(&["check", scenario]));
        }
    }
    ended
}

#[test]
fn schedulers_and_placements_keep_what_policies_promise() {
    keeps_what_policies_promise(&POLICIES[..4]);
}

#[test]
fn policies_of_the_memory_side_keep_what_policies_promise() {
    keeps_what_policies_promise(&POLICIES[4..]);
}

fn keeps_what_policies_promise(policies: &[(&str, &str, &str, &str)]) {
    for (role, name, ..) in policies {
        let ended = conform(&format!("{role}/{name}"), &["--cases", "6"]);
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
        let kept = ended.out.lines().filter(|line| line.starts_with("  kept "));
        assert!(kept.count() >= 6, "{}", ended.out);
    }
}

#[test]
fn a_policy_of_a_role_of_its_own_is_checked_where_its_scenario_has_a_place() {
    let nowhere = conform("timetable/Every", &[]);
    insta::assert_snapshot!(nowhere.refusal(), @r"
    exit 2
    error: no generated machine can use a policy of role timetable
    hint: name a scenario with --scenario FILE and the place in it with --place PATH
    ");
    let place = ["--scenario", SCENARIO, "--place", "gate[*].timetable"];
    let ended = conform("timetable/Every", &place);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
}

/// Lists the promises found broken by `conform`, by the first words of their messages.
fn broken(policy: &str, fields: &str) -> Vec<String> {
    // The default would try simpler cases for minutes.
    let few = ["--cases", "12", "--shrink", "12"];
    let ended = conform(policy, &[&few[..], &["--fields", fields]].concat());
    assert_eq!(ended.code, 1, "{policy}: {}{}", ended.out, ended.err);
    let broken = ended
        .out
        .lines()
        .filter_map(|line| line.strip_prefix("  BROKEN  "));
    broken.map(str::to_owned).collect()
}

const ONCE: &str = "every work-group runs exactly once and no protocol is violated";
const NO_STARVATION: &str = "nothing waits forever";
const REPEATABLE: &str = "repeated runs give the same results";
const ANY_ORDER: &str = "results do not depend on the order of evaluation or on sleeping";
const ANY_THREADS: &str = "results do not depend on the number of threads";
const CHECKPOINTS: &str = "a saved and resumed run gives the same results";
const WITHOUT_EFFECT: &str = "with its neutral settings, it changes nothing";

#[test]
fn a_placement_that_repeats_itself_breaks_the_first_promise() {
    assert_eq!(broken("Repeats", "")[0], ONCE);
}

#[test]
fn a_replacement_that_chooses_nothing_that_there_is_breaks_the_first_promise() {
    assert_eq!(broken("Nowhere", "")[0], ONCE);
}

/// Checks the policy with one of its planted faults, whose first broken promise is known.
fn is_found(fault: &str, promise: &str) {
    let broken = broken("Broken", &format!("fault: {fault}"));
    assert_eq!(broken[0], promise, "{fault}: {broken:?}");
}

#[test]
fn a_panic_breaks_the_first_promise() {
    is_found("Panics", ONCE);
}

#[test]
fn starvation_is_found() {
    is_found("Starves", NO_STARVATION);
}

#[test]
fn memory_of_an_earlier_run_is_found() {
    is_found("Remembers", REPEATABLE);
}

#[test]
fn a_count_of_evaluations_is_found() {
    is_found("Counts", ANY_ORDER);
}

#[test]
fn a_look_at_the_threads_is_found() {
    is_found("Threads", ANY_THREADS);
}

#[test]
fn state_that_a_checkpoint_forgets_is_found() {
    is_found("Forgets", CHECKPOINTS);
}

#[test]
fn state_that_a_checkpoint_does_not_hold_is_found() {
    is_found("Hides", CHECKPOINTS);
}

#[test]
fn a_neutral_policy_that_meddles_is_found() {
    is_found("Meddles", WITHOUT_EFFECT);
}

#[test]
fn the_page_shows_the_scheduler_and_the_cache_policy_whole_and_short() {
    let page = text(&root().join("docs/write-a-policy.md"));
    for file in ["scheduler.rs", "cache_policy.rs"] {
        let source = text(&the_crate().join("src").join(file));
        let (policy, _) = source.split_once("#[cfg(test)]").unwrap();
        assert!(
            page.contains(policy.trim_end()),
            "{file} is not on the page"
        );
        let lines = policy.trim_end().lines().count();
        assert!(lines < 80, "{file} has {lines} lines");
    }
}

#[test]
fn a_new_policy_is_the_one_of_this_crate_under_another_name() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    for (role, name, _, file) in POLICIES {
        let called = format!("My{name}");
        let said = told(run(&[
            "new", "policy", &called, "--role", role, "--out", &out,
        ]));
        assert!(said.contains(&format!("::{called}>();")), "{said}");
        let module = said
            .split("    mod ")
            .nth(1)
            .and_then(|rest| rest.split(';').next());
        let written = text(&folder.path().join(format!("{}.rs", module.unwrap())));
        let original = text(&the_crate().join(format!("src/{file}.rs")));
        assert_eq!(written, original.replace(name, &called));
    }
}
