//! Checks that the kernel tables of the workloads' pages match the committed PTX.

#![expect(clippy::unwrap_used, reason = "a failed read fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Row of the kernel table in the README.
struct Row {
    file: String,
    entry: String,
    /// PTX types of the kernel's parameters, in order.
    params: Vec<&'static str>,
    /// Number of threads per block, if the kernel requires it.
    block: Option<u32>,
}

/// Folders of workloads, and the entries that a row of their kernel table stands for.
const FOLDERS: [(&str, fn(&str) -> Vec<Row>); 3] = [
    (".", |line| vec![row(line)]),
    ("clustering", forms),
    ("graphs", |line| vec![row(line)]),
];

#[test]
fn readme_lists_every_entry_with_its_parameters_and_block() {
    for (folder, row_of) in FOLDERS {
        let folder = workloads().join(folder);
        let readme = fs::read_to_string(folder.join("README.md")).unwrap();
        let rows = readme.lines().filter(|line| line.starts_with("| `"));
        // Other tables have two columns. Rows of the kernel table name a file and an entry.
        let rows = rows.filter(|line| line.split('|').count() > 5);
        let rows = rows.filter(|line| line.split('|').nth(1).unwrap().contains("`, `"));
        let rows: Vec<Row> = rows.flat_map(row_of).collect();
        for row in &rows {
            let ptx = fs::read_to_string(folder.join(format!("cuda/{}.ptx", row.file))).unwrap();
            let (params, block) = declaration(&ptx, &row.entry);
            assert_eq!(params, row.params, "parameters of {}", row.entry);
            assert_eq!(block, row.block, "block of {}", row.entry);
        }

        let listed: BTreeSet<_> = rows.into_iter().map(|row| (row.file, row.entry)).collect();
        assert_eq!(listed, entries_on_disk(&folder));
    }
}

#[test]
fn every_source_has_its_ptx() {
    for (folder, _) in FOLDERS {
        let with = |extension: &str| -> BTreeSet<PathBuf> {
            let paths = fs::read_dir(workloads().join(folder).join("cuda"))
                .unwrap()
                .map(|f| f.unwrap().path());
            let wanted = paths.filter(|path| path.extension().is_some_and(|e| e == extension));
            wanted.map(|path| path.with_extension("")).collect()
        };
        assert_eq!(with("cu"), with("ptx"));
    }
}

/// A host reference can match bit for bit only if nothing is fused and every rounding is explicit.
#[test]
fn ptx_rounds_every_float_operation() {
    let entries = FOLDERS.map(|(folder, _)| {
        let folder = workloads().join(folder);
        let entries = entries_on_disk(&folder).into_iter();
        entries.map(move |(file, entry)| (folder.join(format!("cuda/{file}.ptx")), entry))
    });
    for (file, entry) in entries.into_iter().flatten() {
        let ptx = fs::read_to_string(file).unwrap();
        for form in [
            "fma.",
            "mad.f32",
            "mad.rn.f32",
            "add.f32",
            "mul.f32",
            "sub.f32",
            ".ftz",
        ] {
            assert!(!ptx.contains(form), "{entry}: {form}");
        }
    }
}

fn workloads() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/workloads")
}

/// Parses a row "| `file`, `entry` | `name: type`, ... | block | grid |".
fn row(line: &str) -> Row {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let (file, entry) = cells[1].split_once(", ").unwrap();
    let name = |cell: &str| cell.trim_matches('`').to_string();
    let (file, entry) = (name(file), name(entry));
    let params = cells[2]
        .split('`')
        .filter(|part| part.contains(": "))
        .map(ptx_type)
        .collect();
    let block = cells[3].strip_prefix("**(").map(|rest| {
        let sides = rest.trim_end_matches(")**").split(", ");
        sides
            .map(|side| side.trim().parse::<u32>().unwrap())
            .product()
    });
    Row {
        file,
        entry,
        params,
        block,
    }
}

/// Parses a row of the clustering study: a kernel and its forms, which take `tasks` as well.
fn forms(line: &str) -> Vec<Row> {
    let plain = row(line);
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let listed = |cell: usize| cells[cell].split(", ").filter(|form| !form.is_empty());
    let redirected =
        listed(4).flat_map(|order| ["15", "16", "20"].map(|units| format!("_rd_{order}_{units}")));
    let agents =
        listed(5).flat_map(|order| ["slot", "arrival"].map(|by| format!("_agents_{order}_{by}")));
    let endings: Vec<String> = redirected.chain(agents).collect();
    if endings.is_empty() {
        return vec![plain];
    }
    let all = endings.iter().map(String::as_str).chain([""]);
    let form = |ending| Row {
        file: plain.file.clone(),
        entry: format!("{}{ending}", plain.entry),
        params: plain.params.iter().copied().chain(["align"]).collect(),
        block: plain.block,
    };
    all.map(form).collect()
}

fn ptx_type(param: &str) -> &'static str {
    match param.split_once(": ").unwrap().1 {
        "u32" | "s32" => "u32",
        "f32" => "f32",
        "u64" => "u64",
        pointer if pointer.ends_with('*') => "u64",
        other => panic!("the table has an unknown type {other}"),
    }
}

/// Returns the parameter types and block size that an entry declares.
fn declaration(ptx: &str, entry: &str) -> (Vec<String>, Option<u32>) {
    let (_, rest) = ptx
        .split_once(&format!(".entry {entry}("))
        .expect("the entry exists");
    let (head, _) = rest.split_once('{').unwrap();
    let params = head
        .lines()
        .filter_map(|line| line.trim().strip_prefix(".param ."));
    let types = params
        .map(|param| param.split(' ').next().unwrap().to_string())
        .collect();
    let block = head
        .lines()
        .find_map(|line| line.split("//").next()?.strip_prefix(".maxntid "))
        .map(|sides| {
            sides
                .split(", ")
                .map(|side| side.trim().parse::<u32>().unwrap())
                .product()
        });
    (types, block)
}

fn entries_on_disk(folder: &Path) -> BTreeSet<(String, String)> {
    let mut entries = BTreeSet::new();
    for file in fs::read_dir(folder.join("cuda")).unwrap() {
        let path = file.unwrap().path();
        // Only tests launch `task_order`, on units of their own.
        let is_of_test = path.file_stem().is_some_and(|name| name == "task_order");
        if path.extension().is_some_and(|extension| extension == "ptx") && !is_of_test {
            let name = path.file_stem().unwrap().to_str().unwrap().to_string();
            for line in fs::read_to_string(&path).unwrap().lines() {
                if let Some(rest) = line.strip_prefix(".visible .entry ") {
                    entries.insert((name.clone(), rest.trim_end_matches('(').to_string()));
                }
            }
        }
    }
    entries
}
