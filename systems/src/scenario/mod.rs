//! Scenario files: a system, a workload, overrides and limits.
//!
//! ```ron
//! Scenario(
//!     summary: "BFS on a real graph",
//!     system: "systems/gtx480.ron",          // relative to this file
//!     workload: "workloads/bfs.ron",
//!     seed: 1,
//!     overrides: { "unit[*].l1.ways": 8, "params.channels": 4, "workload.block": 128 },
//!     limits: (cycles: 50000000),
//!     energy: "energy/gtx480.ron",           // optional: what events and time cost
//!     checks: true,                          // protocol checkers on every wire; absent: none
//!     emulation: (order: Linear, ...),
//! )
//! ```
//!
//! An override path is an instance path with wildcards and a field path, `params.` and a parameter
//! of the system, or `workload.` and a parameter of the workload; on the command line also
//! `seed`, `energy`, `limits.…` and `emulation.…` of the scenario itself. Overrides of the command line come
//! after those of the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpweave_inputs::reference::standard_references;
use warpweave_params::{
    Absent, Diagnostic, Diagnostics, Node, Override, Source, Span, from_node, name_hint, parse,
    parse_from,
};

use crate::elaboration::InstanceOverride;
use crate::elaboration::system_file::{
    SystemFile, check_fields, expect_name, key_text, map_entries,
};
use crate::energy::EnergyModel;
use crate::host_program::{EmulationSpec, HostProgram};

/// A scenario with its files read and checked one by one.
pub struct Scenario {
    /// Path of the scenario file, as given.
    pub path: PathBuf,
    /// Text of the scenario file.
    pub text: String,
    /// One sentence.
    pub summary: String,
    /// Path of the system file.
    pub system_path: PathBuf,
    /// Path of the workload file.
    pub workload_path: PathBuf,
    /// Seed of everything random in the system.
    pub seed: u64,
    /// When to give up.
    pub limits: Limits,
    /// How the program is emulated.
    pub emulation: EmulationSpec,
    /// What events and time cost; `None`: energy is not reported.
    pub energy: Option<EnergyModel>,
    /// Whether protocol checkers watch every memory and launch wire.
    pub checks: bool,
    /// Overrides of the command line, as given.
    pub sets: Vec<String>,
    pub(crate) system: SystemFile,
    pub(crate) workload: HostProgram,
    pub(crate) overrides: Vec<InstanceOverride>,
}

/// When to give up a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Core cycles; absent: none.
    #[serde(default)]
    pub cycles: Option<u64>,
    /// Core cycles without any message after which the run counts as stuck.
    #[serde(default = "Limits::default_silence")]
    pub silent_cycles: u64,
}

impl Limits {
    fn default_silence() -> u64 {
        1_000_000
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cycles: None,
            silent_cycles: Self::default_silence(),
        }
    }
}

const FIELDS: [&str; 9] = [
    "summary",
    "system",
    "workload",
    "seed",
    "overrides",
    "limits",
    "emulation",
    "energy",
    "checks",
];

/// An override before it is known what it addresses.
struct RawOverride {
    path: String,
    place: Span,
    value: Node,
}

impl Scenario {
    /// Reads the scenario at `path`, the files it names, and the overrides `sets` (`path=value`).
    ///
    /// # Errors
    /// Everything wrong with any of them, each with its place.
    pub fn load(path: &Path, sets: &[String]) -> Result<Self, Diagnostics> {
        let source = Source::read(path).map_err(|error| match nearest_beside(path) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        })?;
        let mut node = parse(&source)?;
        let mut problems = Diagnostics::new();
        expect_name(&node, "Scenario", &mut problems);
        check_fields(&node, "Scenario", &FIELDS, &mut problems);

        let from_file: Vec<RawOverride> = map_entries(&node, "overrides", &mut problems)
            .iter()
            .filter_map(|(key, value)| {
                let path = key_text(key, &mut Diagnostics::new())?.to_owned();
                Some(RawOverride {
                    path,
                    place: key.span.clone(),
                    value: value.clone(),
                })
            })
            .collect();
        let mut from_sets = Vec::new();
        for set in sets {
            if let Some(replacement) = problems.take(parse_set(set)) {
                from_sets.push(replacement);
            }
        }
        refuse_repeats(&from_sets, &mut problems);
        let own = |o: &RawOverride| {
            matches!(
                o.path.split('.').next(),
                Some("seed" | "limits" | "emulation" | "energy")
            )
        };
        let (own, from_sets): (Vec<_>, Vec<_>) = from_sets.into_iter().partition(own);
        for replacement in own {
            let applied =
                Override::of_value(&replacement.path, &replacement.place, replacement.value)
                    .and_then(|o| {
                        ensure_struct(&mut node, o.path().split('.').next().unwrap_or_default());
                        o.apply(&mut node, Absent::Insert)
                            .map_err(Diagnostics::from)
                    });
            problems.take(applied);
        }

        let seed = problems
            .take(optional(&node, "seed"))
            .flatten()
            .unwrap_or(1);
        let limits = problems
            .take(optional(&node, "limits"))
            .flatten()
            .unwrap_or_default();
        let emulation = problems
            .take(optional(&node, "emulation"))
            .flatten()
            .unwrap_or_default();
        let checks = problems
            .take(optional(&node, "checks"))
            .flatten()
            .unwrap_or_default();
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let energy = node.field("energy").and_then(|_| {
            let read = read_part(&node, "energy", &folder);
            problems.take(read.and_then(|(_, node)| EnergyModel::read(&node)))
        });
        let mut system = problems.take(read_part(&node, "system", &folder));
        let workload = problems.take(read_part(&node, "workload", &folder));

        let mut instance_overrides = Vec::new();
        let mut workload_overrides = BTreeMap::new();
        let mut param_overrides = Vec::new();
        for o in [from_file, from_sets].into_iter().flatten() {
            if let Some(name) = o.path.strip_prefix("workload.") {
                let mut value = o.value;
                value.span = o.place;
                workload_overrides.insert(name.to_owned(), value);
            } else if let Some(name) = o.path.strip_prefix("params.") {
                param_overrides.push((name.to_owned(), o.place, o.value));
            } else {
                let RawOverride { path, place, value } = o;
                instance_overrides.push(InstanceOverride { path, place, value });
            }
        }
        let system_file = system
            .as_mut()
            .and_then(|(_, node)| problems.take(SystemFile::read(node)));
        let system_file = system_file.map(|mut file| {
            override_params(&mut file, param_overrides, &mut problems);
            file
        });
        let references = standard_references();
        let host = workload.as_ref().and_then(|(path, node)| {
            let folder = path.parent().unwrap_or(Path::new(""));
            problems.take(HostProgram::from_node(
                node,
                folder,
                &workload_overrides,
                &references,
            ))
        });
        match (system, workload, system_file, host) {
            (Some((system_path, _)), Some((workload_path, _)), Some(system), Some(workload))
                if !problems.has_errors() =>
            {
                Ok(Self {
                    path: path.to_owned(),
                    text: source.text().to_owned(),
                    summary: text_of(&node, "summary"),
                    system_path,
                    workload_path,
                    seed,
                    checks,
                    limits,
                    emulation,
                    energy,
                    sets: sets.to_vec(),
                    system,
                    workload,
                    overrides: instance_overrides,
                })
            }
            _ => Err(problems),
        }
    }
}

/// `path=value`; the equals sign of the override is the first one.
fn parse_set(text: &str) -> Result<RawOverride, Diagnostics> {
    let source = Source::new(format!("--set {text}"), text);
    let Some(equals) = text.find('=').filter(|at| !text[..*at].trim().is_empty()) else {
        let place = source.span(0, text.len());
        return Err(Diagnostic::error("an override is `path=value`")
            .at(&place)
            .hint("such as `l1.ways=8` or `cluster[*].cu[0].scheduler=Gto`")
            .into());
    };
    let value = parse_from(&source, equals + 1)?;
    let path = text[..equals].trim().to_owned();
    Ok(RawOverride {
        path,
        place: source.span(0, equals),
        value,
    })
}

fn refuse_repeats(overrides: &[RawOverride], problems: &mut Diagnostics) {
    let mut first: BTreeMap<String, &Span> = BTreeMap::new();
    for o in overrides {
        let plain: String = o.path.chars().filter(|c| !c.is_whitespace()).collect();
        if let Some(earlier) = first.get(&plain) {
            problems.push(
                Diagnostic::error(format!("`{plain}` is set twice"))
                    .at(&o.place)
                    .related("first set here", earlier)
                    .hint("keep one of the two"),
            );
        } else {
            first.insert(plain, &o.place);
        }
    }
}

/// Adds an empty `field: ()` to a struct that leaves it out, so that parts of it can be set.
fn ensure_struct(node: &mut Node, field: &str) {
    use warpweave_params::{Field, Kind, Name, Struct};
    if matches!(field, "seed" | "energy") || node.field(field).is_some() {
        return;
    }
    let span = node.head_span();
    if let Kind::Struct(value) = &mut node.kind {
        value.fields.push(Field {
            name: Name {
                text: field.to_owned(),
                span: span.clone(),
            },
            value: Node::new(
                Kind::Struct(Struct {
                    name: None,
                    fields: Vec::new(),
                }),
                span,
            ),
        });
    }
}

fn optional<T: serde::de::DeserializeOwned>(
    node: &Node,
    field: &str,
) -> Result<Option<T>, Diagnostics> {
    node.field(field).map(from_node).transpose()
}

fn text_of(node: &Node, field: &str) -> String {
    node.field(field)
        .and_then(Node::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Reads the file that a field names.
fn read_part(node: &Node, field: &str, folder: &Path) -> Result<(PathBuf, Node), Diagnostics> {
    let Some(value) = node.field(field) else {
        return Err(
            Diagnostic::error(format!("missing field `{field}` in Scenario"))
                .at(&node.head_span())
                .hint(format!("name the {field} file, relative to the scenario"))
                .into(),
        );
    };
    let Some(name) = value.as_str() else {
        let message = format!(
            "`{field}` is the path of a file, found {}",
            value.describe()
        );
        return Err(Diagnostic::error(message).at(&value.head_span()).into());
    };
    let path = folder.join(name);
    let source = read_named(&path, &value.span)?;
    Ok((path, parse(&source)?))
}

/// Reads a file named in another one; a missing file is reported where it is named, with the
/// nearest file beside it.
fn read_named(path: &Path, place: &Span) -> Result<Arc<Source>, Diagnostics> {
    Source::read(path).map_err(|error| {
        let mut diagnostic = Diagnostic::error(error.message).at(place);
        diagnostic = match nearest_beside(path) {
            Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
            None => diagnostic.hint("paths are relative to the file that names them"),
        };
        diagnostic.into()
    })
}

/// The description file in the same folder whose name is most like that of `path`.
fn nearest_beside(path: &Path) -> Option<String> {
    let folder = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| Path::new(name).extension().is_some_and(|e| e == "ron"))
        .collect();
    names.sort();
    let wanted = path.file_name()?.to_str()?;
    warpweave_params::nearest(wanted, names.iter().map(String::as_str)).map(str::to_owned)
}

fn override_params(
    file: &mut SystemFile,
    overrides: Vec<(String, Span, Node)>,
    problems: &mut Diagnostics,
) {
    for (name, place, value) in overrides {
        let params = &mut file.scope.params;
        if let Some((_, default)) = params.iter_mut().find(|(p, _)| *p == name) {
            *default = value;
            continue;
        }
        let known = params.iter().map(|(p, _)| p.as_str());
        let hint = name_hint(&name, "parameters of the system", known);
        let message = format!("the system has no parameter `{name}`");
        problems.push(Diagnostic::error(message).at(&place).hint(hint));
    }
}
