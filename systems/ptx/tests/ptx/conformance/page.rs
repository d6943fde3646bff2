//! Coverage page of the conformance tests; every form that the emulator accepts must be listed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use warpweave_ptx::{ScalarType, opcodes};

use super::cases::{Case, Model};

/// Opcodes that compute no value from operands, with the tests that cover them.
const ELSEWHERE: [(&str, &str); 20] = [
    ("alloca", "indirect"),
    ("bar", "lanes"),
    ("barrier", "lanes"),
    ("bra", "control"),
    ("brkpt", "control"),
    ("brx", "indirect"),
    ("cvta", "conformance/memory"),
    ("exit", "control"),
    ("griddepcontrol", "forms"),
    ("isspacep", "memory"),
    ("pmevent", "forms"),
    ("ret", "control"),
    ("stackrestore", "indirect"),
    ("stacksave", "indirect"),
    ("tex", "texture"),
    ("tld4", "texture"),
    ("trap", "control"),
    ("txq", "texture"),
    ("createpolicy", "conformance/memory"),
    ("nanosleep", "conformance/memory"),
];

/// Coverage of one opcode by the tests.
#[derive(Default)]
struct Covered<'c> {
    forms: BTreeSet<&'c str>,
    types: BTreeSet<&'c str>,
    modifiers: BTreeSet<&'c str>,
    near: bool,
    exact: bool,
}

fn covered(cases: &[Case]) -> BTreeMap<&str, Covered<'_>> {
    let mut all = BTreeMap::<&str, Covered<'_>>::new();
    for case in cases {
        let covered = all.entry(case.opcode()).or_default();
        covered.forms.insert(&case.form);
        covered.types.extend(&case.types);
        for word in case.form.split('.').skip(1) {
            let is_type = ScalarType::all().iter().any(|(name, _)| *name == word);
            let words = if is_type {
                &mut covered.types
            } else {
                &mut covered.modifiers
            };
            words.insert(word);
        }
        let near = matches!(case.model, Model::Near(..));
        covered.near |= near;
        covered.exact |= !near;
    }
    all
}

fn tests(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/ptx/{name}.rs"))
}

/// Returns emulator opcodes that neither a model nor another test covers.
pub(super) fn without_model(cases: &[Case]) -> Vec<String> {
    let covered = covered(cases);
    let mut missing = Vec::new();
    for opcode in opcodes().iter().map(|opcode| opcode.name) {
        let elsewhere = ELSEWHERE.iter().find(|(known, _)| *known == opcode);
        match (covered.contains_key(opcode), elsewhere) {
            (true, None) => {}
            (true, Some(_)) => {
                missing.push(format!("`{opcode}` has a model and is listed as without"));
            }
            (false, None) => missing.push(format!("no model for `{opcode}`")),
            (false, Some((_, test))) => {
                let text = std::fs::read_to_string(tests(test)).expect("the test is there");
                let spelled = [".", " ", ";"]
                    .iter()
                    .any(|end| text.contains(&format!("{opcode}{end}")));
                if !spelled {
                    missing.push(format!("tests/ptx/{test}.rs does not use `{opcode}`"));
                }
            }
        }
    }
    // Types and modifiers that the emulator lists for an opcode, and no form of a case has.
    for opcode in opcodes() {
        let (name, words) = (opcode.name, opcode.words.iter().flatten());
        let held = covered.get(name);
        for word in words
            .flat_map(|list| list.split(' '))
            .filter(|word| !word.is_empty())
        {
            if !held.is_some_and(|of| of.types.contains(word) || of.modifiers.contains(word)) {
                missing.push(format!("no model for `{name}` with `.{word}`"));
            }
        }
    }
    let listed = |name: &str| opcodes().iter().any(|opcode| opcode.name == name);
    let unknown = covered.keys().filter(|opcode| !listed(opcode));
    missing.extend(
        unknown.map(|opcode| format!("`{opcode}` has a model, but the emulator does not list it")),
    );
    missing
}

/// Returns the rows of the coverage table in `docs/ptx-coverage.md`.
pub(super) fn table(cases: &[Case]) -> String {
    let covered = covered(cases);
    let mut rows =
        String::from("| opcode | forms | types | modifiers | held |\n|---|---|---|---|---|\n");
    let words = |words: &BTreeSet<&str>| {
        let words: Vec<String> = words.iter().map(|word| format!("`.{word}`")).collect();
        words.join(" ")
    };
    for opcode in opcodes().iter().map(|opcode| opcode.name) {
        if let Some(of) = covered.get(opcode) {
            let held = match (of.exact, of.near) {
                (true, true) => "exactly; approximate forms within their bound",
                (true, false) => "exactly",
                _ => "within its bound",
            };
            let (types, modifiers) = (words(&of.types), words(&of.modifiers));
            let _ = writeln!(
                rows,
                "| `{opcode}` | {} | {types} | {modifiers} | {held} |",
                of.forms.len()
            );
        } else if let Some((_, test)) = ELSEWHERE.iter().find(|(known, _)| *known == opcode) {
            let _ = writeln!(rows, "| `{opcode}` | | | | by examples, `{test}.rs` |");
        }
    }
    let forms: usize = covered.values().map(|of| of.forms.len()).sum();
    let _ = writeln!(rows, "| all | {forms} | | | |");
    rows
}

/// Compares the table with the page, or rewrites the page.
pub(super) fn compare(rows: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ptx-coverage.md");
    let text = std::fs::read_to_string(&page).expect("the page is there");
    let (head, end) = ("<!-- table -->\n", "<!-- end -->");
    let (before, rest) = text.split_once(head).expect("the page has a table");
    let (table, after) = rest.split_once(end).expect("the table ends");
    if std::env::var_os("UPDATE_PAGES").is_some() {
        let text = format!("{before}{head}{rows}{end}{after}");
        std::fs::write(&page, text).expect("the page can be written");
        return;
    }
    assert_eq!(table, rows, "UPDATE_PAGES=1 writes the table anew");
}
