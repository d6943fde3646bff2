//! Component pages and their required contents.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_systems::{Machine, Scenario, standard_registry};

use super::shared_rows::covers;
use super::tables::{any_index, names, parameters, policies, reported_names, statistics};

const END: &str = "<!-- end -->";

/// Required sections of every component page, by the start of their titles.
const SECTIONS: [&str; 7] = [
    "What it models",
    "What it does not model",
    "Deviations",
    "Parameters",
    "Timing",
    "Statistics",
    "Checkers",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn updating() -> bool {
    std::env::var_os("UPDATE_PAGES").is_some_and(|value| value == "1")
}

/// Returns the component pages as path from the root and text.
fn pages() -> Vec<(String, String)> {
    let folder = root().join("docs/components");
    let entries = fs::read_dir(&folder).expect("docs/components is a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("it can be listed").file_name())
        .map(|name| name.into_string().expect("names of pages are text"))
        .filter(|name| Path::new(name).extension().is_some_and(|e| e == "md"))
        .collect();
    names.sort();
    let read = |name: String| {
        let text = fs::read_to_string(folder.join(&name)).expect("pages are text");
        (format!("docs/components/{name}"), text)
    };
    names.into_iter().map(read).collect()
}

/// Returns the text between `marker` and the next end marker.
fn between<'a>(page: &'a str, marker: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(marker)?;
    Some(
        rest.split_once(END)
            .unwrap_or_else(|| panic!("{marker} has no {END}"))
            .0,
    )
}

/// Compares the text after `marker` with `table`, or replaces it.
fn expect(path: &str, marker: &str, table: &str) -> Result<(), String> {
    let file = root().join(path);
    let page = fs::read_to_string(&file).expect("the page was read before");
    let shown = between(&page, marker).ok_or_else(|| format!("{path} has no {marker}"))?;
    let wanted = format!("\n{table}");
    if shown == wanted {
        return Ok(());
    }
    if updating() {
        let changed = page.replacen(&format!("{marker}{shown}"), &format!("{marker}{wanted}"), 1);
        fs::write(&file, changed).expect("the page can be written");
        return Ok(());
    }
    let line = wanted
        .lines()
        .find(|line| !shown.lines().any(|l| l == *line));
    let old = shown
        .lines()
        .find(|line| !wanted.lines().any(|l| l == *line));
    Err(format!(
        "{path}, {marker}: the code says\n  {}\nthe page\n  {}\nrun this test with UPDATE_PAGES=1",
        line.unwrap_or("(nothing more)"),
        old.unwrap_or("(nothing more)"),
    ))
}

#[test]
fn every_kind_and_role_has_its_tables_on_one_page_as_the_code_has_them() {
    let (pages, registry) = (pages(), standard_registry());
    let mut tables = Vec::new();
    for kind in registry.kinds() {
        let name = kind.name;
        tables.push((format!("<!-- parameters: {name} -->"), parameters(kind)));
        tables.push((format!("<!-- statistics: {name} -->"), statistics(name)));
    }
    for (role, _) in registry.roles() {
        let marker = format!("<!-- policies: {role} -->");
        tables.push((marker, policies(&registry, role)));
    }
    let mut problems = Vec::new();
    for (marker, table) in tables {
        let holders: Vec<_> = pages
            .iter()
            .filter(|(_, text)| text.contains(&marker))
            .collect();
        match holders[..] {
            [(path, _)] => problems.extend(expect(path, &marker, &table).err()),
            ref other => problems.push(format!("{} pages have {marker}", other.len())),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_field_and_every_statistic_has_one_row() {
    for kind in standard_registry().kinds() {
        let fields = kind.fields().into_iter().map(|field| field.name);
        for (table, documented) in [
            (parameters(kind), fields.collect()),
            (statistics(kind.name), reported_names(kind.name)),
        ] {
            for name in &documented {
                let rows = names(&table).filter(|row| covers(row, name)).count();
                assert_eq!(rows, 1, "{}: rows of {name}", kind.name);
            }
        }
    }
}

#[test]
fn every_default_that_is_a_choice_says_where_it_comes_from() {
    let registry = standard_registry();
    let policies = registry
        .roles()
        .flat_map(|(role, _)| registry.policies(role));
    let kinds = registry.kinds().map(|kind| (kind.name, kind.fields()));
    for (name, fields) in kinds.chain(policies.map(|policy| (policy.name, policy.fields()))) {
        for field in fields {
            let default = field.default.as_deref();
            let choice = !field.required && !["[]", ""].contains(&default.unwrap_or_default());
            let sourced = field.doc.contains("Source: ");
            assert!(
                sourced || !choice,
                "{name}.{}: its default {:?} has no source; end its doc comment with `Source: ...`",
                field.name,
                field.default
            );
        }
    }
}

/// Returns the second-level titles of a page.
fn titles(page: &str) -> Vec<&str> {
    page.lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect()
}

#[test]
fn every_page_has_its_sections() {
    for (path, text) in pages() {
        if !text.contains("<!-- parameters: ") {
            continue;
        }
        for section in SECTIONS {
            assert!(
                titles(&text).iter().any(|title| title.starts_with(section)),
                "{path} has no section `## {section}`"
            );
        }
    }
}

#[test]
fn deviations_of_every_page_are_linked() {
    let list = fs::read_to_string(root().join("DEVIATIONS.md")).expect("the list is text");
    for (path, text) in pages() {
        let linked = list.contains(&format!("({path}#deviations)"));
        let has_section = titles(&text).contains(&"Deviations");
        assert_eq!(linked, has_section, "DEVIATIONS.md and {path}");
    }
}

/// Checks that every statistic reported by the repository's machines is documented on a page.
#[test]
fn whatever_a_run_reports_is_on_a_page() {
    let pages = pages();
    let has_row = |kind: &str, name: &str| {
        let marker = format!("<!-- statistics: {kind} -->");
        let tables = pages.iter().filter_map(|(_, text)| between(text, &marker));
        tables.flat_map(names).any(|row| covers(row, name))
    };
    let mut kinds = BTreeSet::new();
    let icc = ["params.icc=true".to_owned()];
    for (system, sets) in [
        ("tiny", &[][..]),
        ("clustered60", &icc[..]),
        ("gtx480", &[]),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let scenarios = root().join("scenarios");
        let text = format!(
            "Scenario(system: \"{}/systems/{system}.ron\", workload: \"{}/workloads/vector_add.ron\", \
             overrides: {{ \"workload.n\": 64 }})",
            scenarios.display(),
            scenarios.display()
        );
        let path = folder.path().join("scenario.ron");
        fs::write(&path, text).expect("a temporary folder can be written");
        let scenario = Scenario::load(&path, sets).unwrap_or_else(|problems| panic!("{problems}"));
        let executed = scenario.emulate().unwrap_or_else(|error| panic!("{error}"));
        let mut machine = Machine::of(&scenario, &standard_registry(), &executed.program)
            .unwrap_or_else(|problems| panic!("{problems}"));
        let simulated = machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
        for instance in simulated.statistics.iter() {
            kinds.insert(instance.kind.clone());
            for statistic in &instance.values {
                let name = any_index(&statistic.name);
                assert!(
                    has_row(&instance.kind, &name),
                    "{}: {name} is on no page",
                    instance.kind
                );
            }
        }
    }
    assert!(kinds.len() >= 8, "{kinds:?}");
}
