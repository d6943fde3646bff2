//! Tests of the option table and its documentation page.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::fragment::Fragment;
use super::table::{OPTIONS, OptionMapping, known};

#[test]
fn what_holds_without_an_option_is_well_formed() {
    for option in OPTIONS.iter().filter(|option| !option.assumed.is_empty()) {
        let value = Fragment::assumed(option.assumed, "");
        assert_eq!(option.form.check(&value), Ok(()), "{}", option.name);
    }
}

#[test]
fn every_option_has_one_row() {
    let mut names: Vec<_> = OPTIONS.iter().map(|option| option.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), OPTIONS.len());
}

#[test]
fn an_older_name_leads_to_a_present_one() {
    for option in OPTIONS.iter() {
        let found = known(option.name).expect(option.name);
        assert_ne!(found.fate, OptionMapping::Renamed, "{}", option.name);
    }
}

/// Rewrites the tables of the page if `UPDATE_PAGES=1` is set.
#[test]
fn the_page_has_every_option() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/option-files.md");
    let page = fs::read_to_string(&path).expect("the page is there");
    let mut written = page.clone();
    for (name, table) in [
        ("mapped", mapped()),
        ("lost", lost()),
        ("outside", outside()),
        ("renamed", renamed()),
    ] {
        let marks = [
            format!("<!-- options: {name} -->\n"),
            "<!-- end -->".to_owned(),
        ];
        let start = written.find(&marks[0]).expect("the page has the mark") + marks[0].len();
        let end = start + written[start..].find(&marks[1]).expect("it ends");
        written.replace_range(start..end, &table);
    }
    if std::env::var_os("UPDATE_PAGES").is_some() {
        fs::write(&path, &written).expect("the page is written");
    } else {
        assert!(
            page == written,
            "`UPDATE_PAGES=1` writes the tables of the page"
        );
    }
}

fn mapped() -> String {
    let mut table = "| option | where absent | becomes |\n|---|---|---|\n".to_owned();
    for option in OPTIONS
        .iter()
        .filter(|option| option.fate == OptionMapping::Mapped)
    {
        let assumed = match option.assumed {
            "" => "needed".to_owned(),
            value => format!("`{value}`"),
        };
        let row = writeln!(table, "| `{}` | {assumed} | {} |", option.name, option.text);
        row.expect("writing to a string succeeds");
    }
    table
}

fn lost() -> String {
    let mut table = "| option | nothing is lost with | not modelled |\n|---|---|---|\n".to_owned();
    for option in OPTIONS.iter() {
        let OptionMapping::Lost { neutral } = option.fate else {
            continue;
        };
        let neutral = match neutral {
            "" => String::new(),
            "off" => "`0,…`".to_owned(),
            value => format!("`{value}`"),
        };
        let row = writeln!(table, "| `{}` | {neutral} | {} |", option.name, option.text);
        row.expect("writing to a string succeeds");
    }
    table
}

fn outside() -> String {
    let mut table = "| about | options |\n|---|---|\n".to_owned();
    let mut subjects: Vec<(&str, Vec<String>)> = Vec::new();
    for option in OPTIONS
        .iter()
        .filter(|option| option.fate == OptionMapping::Outside)
    {
        let name = format!("`{}`", option.name);
        match subjects.iter_mut().find(|(text, _)| *text == option.text) {
            Some((_, names)) => names.push(name),
            None => subjects.push((option.text, vec![name])),
        }
    }
    for (subject, names) in subjects {
        let row = writeln!(table, "| {subject} | {} |", names.join(", "));
        row.expect("writing to a string succeeds");
    }
    table
}

fn renamed() -> String {
    let mut table = "| older name | read as |\n|---|---|\n".to_owned();
    for option in OPTIONS
        .iter()
        .filter(|option| option.fate == OptionMapping::Renamed)
    {
        let row = writeln!(table, "| `{}` | `{}` |", option.name, option.text);
        row.expect("writing to a string succeeds");
    }
    table
}
