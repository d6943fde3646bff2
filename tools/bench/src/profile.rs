//! Instruction profile of a run, by crate and module and by component kind.
//!
//! Both come from one callgrind run of the `warpweave` program. Inlined code counts for the
//! function that contains it. Sending and taking messages therefore counts mostly for the component
//! that does it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::callgrind;
use crate::system::{self, SCENARIOS};

/// Marks before and after the tables of the profile in a page.
pub(crate) const MARKS: [&str; 2] = ["<!-- profile: begin -->", "<!-- profile: end -->"];

/// Minimum share for a separate row. Rows below it in every run are summed in the last one.
const LEAST_SHARE: f64 = 0.01;

/// Row for everything outside the crates of the workspace.
const LIBRARIES: &str = "libraries, allocation";

/// Crates whose modules have separate rows.
const DIVIDED: [&str; 2] = ["components", "framework"];

/// Symbol text that identifies a component's evaluation.
const EVALUATE: &str = " as warpweave_framework::component::Component>::evaluate";

/// Symbol text that identifies the hand-written memory path, and its kind as a whole.
const FLOOR: &str = "warpweave_bench::floor::";
const FLOOR_RUN: &str = "floor";

/// Calls of one component kind and their instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Evaluations {
    pub(crate) calls: u64,
    /// Instructions of the calls, including callees.
    pub(crate) instructions: u64,
}

impl Evaluations {
    /// Adds the calls of two kinds.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            instructions: self.instructions + other.instructions,
        }
    }
}

/// Instructions of one run, by module and component kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    total: u64,
    by_module: BTreeMap<String, u64>,
    by_kind: BTreeMap<String, Evaluations>,
}

/// Profiled run and the number by which it is divided.
struct Run {
    scenario: &'static str,
    profile: Profile,
    wavefront_instructions: u64,
}

/// Profiles the two speed scenarios and returns their tables.
///
/// # Errors
/// Fails with a text if a run fails.
pub(crate) fn tables(program: &Path) -> Result<String, String> {
    let runs: Result<Vec<_>, String> = SCENARIOS
        .into_iter()
        .map(|scenario| {
            let command = system::run_of(program, scenario);
            let text = callgrind::profile(&command)?;
            Ok(Run {
                scenario,
                profile: Profile::parse(&text)?,
                wavefront_instructions: system::wavefront_instructions(program, scenario)?,
            })
        })
        .collect();
    Ok(text(&runs?))
}

/// Writes the tables between the marks of a page.
///
/// # Errors
/// Fails with a text if the page cannot be read or written, or has no marks.
pub(crate) fn write(page: &Path, marks: [&str; 2], tables: &str) -> Result<(), String> {
    let name = page.display();
    let before = fs::read_to_string(page).map_err(|e| format!("{name}: {e}"))?;
    let after = between_marks(&before, marks, tables)
        .ok_or_else(|| format!("{name} has no lines {} and {}", marks[0], marks[1]))?;
    fs::write(page, after).map_err(|e| format!("{name}: {e}"))
}

fn between_marks(page: &str, [begin, end]: [&str; 2], tables: &str) -> Option<String> {
    let (before, rest) = page.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n{tables}{end}{after}"))
}

/// Returns the crate and module of a symbol, without the common crate prefix.
fn module(symbol: &str) -> String {
    let Some((_, path)) = symbol.split_once("warpweave") else {
        return LIBRARIES.to_owned();
    };
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut parts = path
        .split("::")
        .map(|part| part.split(|c| !is_name(c)).next().unwrap_or_default());
    let name = parts.next().unwrap_or_default().trim_start_matches('_');
    match parts.next() {
        Some(module) if DIVIDED.contains(&name) => format!("{name}::{module}"),
        _ if name.is_empty() => "cli".to_owned(),
        _ => name.to_owned(),
    }
}

/// Returns the component kind that a symbol evaluates, or the stage of the hand-written path.
fn kind(symbol: &str) -> Option<&str> {
    if let Some((_, place)) = symbol.split_once(FLOOR) {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let (name, rest) = place.split_at(place.find(|c| !is_name(c)).unwrap_or(place.len()));
        return match name {
            "run" => Some(FLOOR_RUN),
            _ => rest.contains("::evaluate").then_some(name),
        };
    }
    let (path, _) = symbol.split_once(EVALUATE)?;
    path.trim_start_matches('<').rsplit("::").next()
}

impl Profile {
    /// Evaluations of a kind of component, or of a stage of the hand-written path.
    pub(crate) fn of_kind(&self, kind: &str) -> Evaluations {
        self.by_kind.get(kind).copied().unwrap_or_default()
    }

    /// Own instructions of a module, without those of callees.
    pub(crate) fn of_module(&self, module: &str) -> u64 {
        self.by_module.get(module).copied().unwrap_or_default()
    }

    /// Parses the output of callgrind into a profile.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut profile = Self::default();
        let mut names: BTreeMap<&str, &str> = BTreeMap::new();
        let (mut function, mut callee) = ("", "");
        // Calls whose costs the next line tells.
        let mut calls: Option<u64> = None;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("fn=") {
                function = named(&mut names, name);
            } else if let Some(name) = line.strip_prefix("cfn=") {
                callee = named(&mut names, name);
            } else if let Some(words) = line.strip_prefix("calls=") {
                let count = words.split(' ').next().and_then(|n| n.parse().ok());
                calls = Some(count.ok_or_else(|| format!("callgrind wrote: {line}"))?);
            } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
                // A line without a count costs nothing.
                let cost = line.split(' ').nth(1).map_or(Ok(0), str::parse);
                let cost: u64 = cost.map_err(|e| format!("callgrind wrote: {line}: {e}"))?;
                if let Some(calls) = calls.take() {
                    if let Some(kind) = kind(callee) {
                        let kind = profile.by_kind.entry(kind.to_owned()).or_default();
                        kind.calls += calls;
                        kind.instructions += cost;
                    }
                } else {
                    profile.total += cost;
                    *profile.by_module.entry(module(function)).or_default() += cost;
                }
            }
        }
        if profile.total == 0 {
            return Err("callgrind wrote no counts".to_owned());
        }
        Ok(profile)
    }
}

/// Resolves a callgrind name, which is spelled out once and then numbered: `(7) name`, `(7)`.
fn named<'a>(names: &mut BTreeMap<&'a str, &'a str>, text: &'a str) -> &'a str {
    match text.split_once(' ') {
        Some((number, name)) => {
            names.insert(number, name);
            name
        }
        None => names.get(text).copied().unwrap_or(text),
    }
}

fn text(runs: &[Run]) -> String {
    let mut out = String::new();
    let head = |first: &str, columns: &[&str]| {
        let names: Vec<_> = runs
            .iter()
            .flat_map(|run| {
                columns
                    .iter()
                    .map(|c| format!("{}: {c}", stem(run.scenario)))
            })
            .collect();
        let rule = "|---:".repeat(names.len());
        format!("| {first} | {} |\n|---{rule}|\n", names.join(" | "))
    };
    let in_module = head("instructions in", &["share", "per wavefront instruction"]);
    let in_kind = head("evaluations of", &["number", "instructions each"]);
    out += &in_module;
    let row = |out: &mut String, name: &str, count: &dyn Fn(&Run) -> u64| {
        let _ = write!(out, "| {name}");
        for run in runs {
            let count = count(run) as f64;
            let share = 100.0 * count / run.profile.total as f64;
            let each = count / run.wavefront_instructions as f64;
            let _ = write!(out, " | {share:.1} % | {each:.0}");
        }
        out.push_str(" |\n");
    };
    let of = |run: &Run, module: &str| run.profile.of_module(module);
    let is_small = |module: &str| {
        runs.iter()
            .all(|run| (of(run, module) as f64) < LEAST_SHARE * run.profile.total as f64)
    };
    let mut modules: Vec<&String> = runs
        .iter()
        .flat_map(|r| r.profile.by_module.keys())
        .collect();
    modules.sort_unstable();
    modules.dedup();
    let (small, mut large): (Vec<_>, Vec<_>) = modules.into_iter().partition(|m| is_small(m));
    let over_all = |module: &str| runs.iter().map(|run| of(run, module)).sum::<u64>();
    large.sort_by_key(|module| std::cmp::Reverse(over_all(module)));
    for module in large {
        row(&mut out, &format!("`{module}`"), &|run| of(run, module));
    }
    row(&mut out, "all others", &|run| {
        small.iter().map(|module| of(run, module)).sum()
    });
    row(&mut out, "**all**", &|run| run.profile.total);
    out.push('\n');
    out += &in_kind;
    let mut kinds: Vec<&String> = runs.iter().flat_map(|r| r.profile.by_kind.keys()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let _ = write!(out, "| `{kind}`");
        for run in runs {
            let of_kind = run.profile.of_kind(kind);
            let each = of_kind.instructions.checked_div(of_kind.calls).unwrap_or(0);
            let _ = write!(out, " | {} | {each}", of_kind.calls);
        }
        out.push_str(" |\n");
    }
    out
}

/// Returns the file name of a scenario without folder and ending.
fn stem(scenario: &str) -> &str {
    let name = scenario.rsplit('/').next().unwrap_or(scenario);
    name.strip_suffix(".ron").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
events: Ir
fl=(1) ???
fn=(1) <warpweave_components::cache::Cache as warpweave_framework::component::Component>::evaluate
0 100
cfn=(2) warpweave_components::cache::request::<impl warpweave_components::cache::Cache>::decide
calls=3 0
0 30
+4 5
fn=(2)
* 30
fn=(3) warpweave_framework::engine::partition::Partition::run
12 7
cfn=(1)
calls=10 0
-2 135
fn=(4) core::fmt::write
0 8
fn=(5) warpweave_cli::run::run
0 2
";

    #[test]
    fn own_costs_go_to_modules_and_costs_of_calls_to_kinds() {
        let profile = Profile::parse(TEXT).unwrap();
        assert_eq!(profile.total, 152);
        let modules: Vec<_> = profile.by_module.iter().map(|(m, n)| (&**m, *n)).collect();
        assert_eq!(
            modules,
            [
                ("cli", 2),
                ("components::cache", 135),
                ("framework::engine", 7),
                (LIBRARIES, 8)
            ]
        );
        let cache = Evaluations {
            calls: 10,
            instructions: 135,
        };
        assert_eq!(
            Vec::from_iter(profile.by_kind),
            [("Cache".to_owned(), cache)]
        );
        assert!(Profile::parse("events: Ir\n").is_err());
        assert!(Profile::parse("fn=(1) a\n0 many\n").is_err());
    }

    #[test]
    fn small_rows_are_added_up_and_all_add_up_to_the_total() {
        let run = Run {
            scenario: "scenarios/some.ron",
            profile: Profile {
                total: 1000,
                by_module: [
                    ("a".to_owned(), 985),
                    ("b".to_owned(), 9),
                    ("c".to_owned(), 6),
                ]
                .into(),
                by_kind: BTreeMap::new(),
            },
            wavefront_instructions: 10,
        };
        let text = text(&[run]);
        assert!(
            text.contains("| `a` | 98.5 % | 98 |\n| all others | 1.5 % | 2 |\n"),
            "{text}"
        );
        assert!(text.contains("| **all** | 100.0 % | 100 |\n"), "{text}");
    }

    #[test]
    fn tables_replace_what_stands_between_the_marks_alone() {
        let page = format!("a\n{}\nold\n{}\nb\n", MARKS[0], MARKS[1]);
        let expected = format!("a\n{}\nnew\n{}\nb\n", MARKS[0], MARKS[1]);
        assert_eq!(between_marks(&page, MARKS, "new\n"), Some(expected));
        assert_eq!(between_marks("a\n", MARKS, "new\n"), None);
    }
}
