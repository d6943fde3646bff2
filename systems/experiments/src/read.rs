//! Reader for experiment files, with the checks that need no other file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use warpweave_files::{Budget, Ledger};
use warpweave_params::{
    Diagnostic, Diagnostics, Entries, Files, Kind, Node, Placed, Span, Struct, from_named,
    from_node, name_hint, parse, to_ron,
};

use crate::file::{Axis, Claim, Combine, ExperimentFile, Sets};
use crate::model::Point;

/// An experiment file that was read and checked.
#[derive(Debug)]
pub struct Experiment {
    /// Path of the file as given.
    pub path: PathBuf,
    /// Files that it extends, directly or indirectly.
    pub extended: Vec<PathBuf>,
    /// Contents of the file merged with the files it extends.
    pub file: ExperimentFile,
    /// Baseline to which all ratios refer.
    pub baseline: Baseline,
    /// True if the base scenario is run with its own workload.
    pub(crate) own_workload: bool,
    /// Text of the experiment without the parts that may be added after the runs: recorded verdicts
    /// and published values.
    pub(crate) frozen: String,
}

/// Baseline point to which all ratios refer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// Name of the variant that is the baseline.
    pub variant: String,
    /// Axis → level. For an axis that is not listed, the level of the compared point is used.
    pub levels: Vec<(String, String)>,
}

impl Experiment {
    /// Reads and checks the file at `path`.
    ///
    /// # Errors
    /// Returns all errors that can be found without the files it refers to, each with its position.
    pub fn read(path: &Path, budget: &Budget) -> Result<Self, Diagnostics> {
        let files = Files::of("")
            .charged_to(&Ledger::new(budget))
            .of_description_at(path);
        let source = files.description(path, &["Experiment"])?;
        let mut extended = Vec::new();
        let node = extend(path, parse(&source)?, &files, &mut extended)?;
        let file: ExperimentFile = from_named(&node, "Experiment")?;
        let mut problems = Diagnostics::new();
        check_names(&file, &node, &mut problems);
        check_axes(&file, &mut problems);
        check_perturbations(&file, &mut problems);
        let baseline = problems.take(Baseline::read(&file));
        match baseline {
            Some(baseline) if !problems.has_errors() => Ok(Self {
                path: path.to_owned(),
                extended,
                baseline,
                own_workload: false,
                frozen: frozen(&node),
                file,
            }),
            _ => Err(problems),
        }
    }

    /// Checks that the axes can be combined.
    pub(crate) fn check_axes(&self) -> Result<(), Diagnostics> {
        let mut problems = Diagnostics::new();
        for (at, (name, _)) in self.file.axes.iter().enumerate() {
            if self
                .file
                .axes
                .names()
                .take(at)
                .any(|earlier| plain(earlier) == plain(&name.value))
            {
                let message = format!("`{}` is swept twice", name.value);
                problems.push(name.error(message).hint("remove one of the two"));
            }
        }
        check_axes(&self.file, &mut problems);
        problems.into_result(())
    }

    /// Returns the name of the file without its ending.
    pub fn name(&self) -> String {
        let stem = self.path.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    /// Resolves a path in this file, or in one that it extends, relative to the folder of the file
    /// that contains it.
    pub fn place_of(&self, named: &Placed<PathBuf>) -> Placed<PathBuf> {
        let stands = named
            .place
            .as_ref()
            .map(|place| Path::new(place.source.name()));
        let folder = stands.unwrap_or(&self.path).parent();
        let folder = folder.unwrap_or(Path::new(""));
        Placed {
            value: folder.join(&named.value),
            place: named.place.clone(),
        }
    }
}

impl Baseline {
    /// Returns the baseline that a point is compared with.
    pub(crate) fn of(&self, point: &Point) -> Point {
        let level = |(axis, level): &(String, String)| {
            let fixed = self.levels.iter().find(|(name, _)| name == axis);
            let level = fixed.map_or(level, |(_, fixed)| fixed);
            (axis.clone(), level.clone())
        };
        Point {
            variant: self.variant.clone(),
            control: false,
            levels: point.levels.iter().map(level).collect(),
        }
    }

    /// Reads the baseline of a file.
    ///
    /// # Errors
    /// Returns an error for a name that the file does not have.
    pub(crate) fn read(file: &ExperimentFile) -> Result<Self, Diagnostic> {
        let node = &file.baseline;
        let hint = "write a variant, `\"D\"`, or a variant and levels, `(variant: \"D\", clusters: \"3\")`";
        let refuse = |message: String, place: &Span| Diagnostic::error(message).at(place);
        let text = |node: &Node| {
            let text = from_node::<Placed<String>>(node);
            text.map_err(|_| {
                let message = format!("expected a name as the baseline, found {}", node.describe());
                refuse(message, &node.span).hint(hint)
            })
        };
        let mut variant = None;
        let mut levels = Vec::new();
        match &node.kind {
            Kind::Text(_) => variant = Some(text(node)?),
            Kind::Struct(Struct { fields, .. }) => {
                for field in fields {
                    let value = text(&field.value)?;
                    if field.name.text == "variant" {
                        variant = Some(value);
                        continue;
                    }
                    let axis = Placed::at(field.name.text.clone(), &field.name.span);
                    let known = find(&axis, "axis", "axes", &file.axes)?;
                    find_level(&value, &axis.value, &known.levels())?;
                    levels.push((axis.value, value.value));
                }
            }
            _ => {
                let message = format!(
                    "expected a variant as the baseline, found {}",
                    node.describe()
                );
                return Err(refuse(message, &node.head_span()).hint(hint));
            }
        }
        let Some(variant) = variant else {
            let message = "the baseline does not name a variant".to_owned();
            return Err(refuse(message, &node.head_span()).hint(hint));
        };
        if !file.variants.is_empty() {
            find(&variant, "variant", "variants", &file.variants)?;
        }
        Ok(Self {
            variant: variant.value,
            levels,
        })
    }
}

/// Returns the entry with this name.
///
/// # Errors
/// Returns an error for an unknown name, with the nearest one.
pub fn find<'e, T>(
    name: &Placed<String>,
    one: &str,
    many: &str,
    all: &'e Entries<T>,
) -> Result<&'e T, Diagnostic> {
    let found = all.get(&name.value).map(|(_, value)| value);
    found.ok_or_else(|| {
        let message = format!("unknown {one} `{}`", name.value);
        let hint = name_hint(&name.value, many, all.names());
        name.error(message).hint(hint)
    })
}

/// Checks that the axis has this level.
///
/// # Errors
/// Returns an error with the nearest existing level.
pub fn find_level(level: &Placed<String>, axis: &str, levels: &[String]) -> Result<(), Diagnostic> {
    // An axis without levels is refused itself.
    if levels.is_empty() || levels.contains(&level.value) {
        return Ok(());
    }
    let message = format!("the axis `{axis}` has no level `{}`", level.value);
    let known = levels.iter().map(String::as_str);
    let hint = name_hint(&level.value, &format!("levels of `{axis}`"), known);
    Err(level.error(message).hint(hint))
}

impl Axis {
    /// Returns the names of the levels in order.
    pub fn levels(&self) -> Vec<String> {
        match self {
            Self::Values { values, .. } => values.iter().map(level_name).collect(),
            Self::Sets(sets) => sets.names().map(str::to_owned).collect(),
        }
    }

    /// Returns the number of levels.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Values { values, .. } => values.len(),
            Self::Sets(sets) => sets.iter().count(),
        }
    }

    /// Returns the overrides of a level by its index.
    pub(crate) fn sets(&self, level: usize) -> Vec<(Placed<String>, Node)> {
        match self {
            Self::Values { path, values } => {
                let value = values.get(level);
                value
                    .map(|value| (path.clone(), value.clone()))
                    .into_iter()
                    .collect()
            }
            Self::Sets(sets) => {
                let found = sets.iter().nth(level);
                found.map_or_else(Vec::new, |(_, sets)| sets.iter().cloned().collect())
            }
        }
    }
}

/// Returns the level name of a value: its text, without the quotes of a string.
pub fn level_name(value: &Node) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => to_ron(value).trim().to_owned(),
    }
}

fn check_names(file: &ExperimentFile, node: &Node, problems: &mut Diagnostics) {
    let empty = [
        (
            "workloads",
            file.workloads.is_empty(),
            "name one: \"vector_add\": (file: \"workloads/vector_add.ron\")",
        ),
        (
            "variants",
            file.variants.is_empty(),
            "name one: \"plain\": {}",
        ),
        (
            "metrics",
            file.metrics.is_empty(),
            "name one: \"ipc\": (value: \"ipc\", kind: Ratio, better: Larger)",
        ),
    ];
    for (field, empty, hint) in empty {
        if empty {
            let place = node.field(field).unwrap_or(node).head_span();
            let message = format!("the experiment has no {field}");
            problems.push(Diagnostic::error(message).at(&place).hint(hint));
        }
    }
    for (name, _) in &file.controls {
        if let Some((variant, _)) = file.variants.get(&name.value) {
            let message = format!("`{}` is both a variant and a control", name.value);
            let error = name.error(message).hint("rename one of the two");
            problems.push(match &variant.place {
                Some(place) => error.related("the variant is defined here", place),
                None => error,
            });
        }
    }
    check_groups(file, problems);
    for (name, _) in &file.headroom.machines {
        let named = [&file.variants, &file.controls].map(|all| all.get(&name.value));
        if named.iter().any(Option::is_some) {
            let message = format!(
                "`{}` is a machine for headroom and a variant or control",
                name.value
            );
            problems.push(name.error(message).hint("rename one of the two"));
        }
    }
    let names = [
        names_of(&file.workloads),
        names_of(&file.variants),
        names_of(&file.controls),
        names_of(&file.headroom.machines),
        names_of(&file.axes),
        names_of(&file.metrics),
    ];
    for name in names.iter().flatten() {
        if name.value.trim().is_empty() || name.value.contains('/') {
            let message = format!("{:?} is not a valid name", name.value);
            let hint = "a name must not be empty or contain `/`, which separates names in `--only`";
            problems.push(name.error(message).hint(hint));
        }
    }
    let claims = file.claims.iter().map(|claim| match claim {
        Claim::Finding { name, .. } | Claim::Identity { name, .. } => name,
    });
    for name in names.into_iter().flatten().chain(claims) {
        if name.value.contains(['\n', '\r']) {
            let message = format!("the name {:?} has a line break", name.value);
            let hint = "write it in one line, as in the tables and messages of the report";
            problems.push(name.error(message).hint(hint));
        }
    }
    let sets = [&file.sets]
        .into_iter()
        .chain(file.workloads.iter().map(|(_, workload)| &workload.sets))
        .chain(file.variants.iter().map(|(_, sets)| sets))
        .chain(file.controls.iter().map(|(_, sets)| sets))
        .chain(file.headroom.machines.iter().map(|(_, sets)| sets))
        .chain(file.confirm.iter().map(|confirm| &confirm.sets));
    sets.for_each(|sets| check_paths(sets, problems));
}

/// Rejects groups that a claim could not tell from a workload.
fn check_groups(file: &ExperimentFile, problems: &mut Diagnostics) {
    for group in file
        .workloads
        .iter()
        .filter_map(|(_, of)| of.group.as_ref())
    {
        if let Some((workload, _)) = file.workloads.get(&group.value) {
            let error = group.error(format!("`{}` is both a workload and a group", group.value));
            let error = error.hint("rename one of the two");
            problems.push(match &workload.place {
                Some(place) => error.related("the workload is defined here", place),
                None => error,
            });
        }
        if group.value.trim().is_empty() || group.value.contains(['\n', '\r']) {
            let message = format!("{:?} is not a valid name of a group", group.value);
            problems.push(group.error(message).hint("write a name in one line"));
        }
    }
}

fn names_of<T>(entries: &Entries<T>) -> Vec<&Placed<String>> {
    entries.iter().map(|(name, _)| name).collect()
}

/// Rejects duplicate overrides, and overrides of parameters that the experiment itself sets.
pub(crate) fn check_paths(sets: &Sets, problems: &mut Diagnostics) {
    let mut seen: Vec<(String, &Placed<String>)> = Vec::new();
    for (path, _) in sets {
        let plain = plain(&path.value);
        let decided = match plain.as_str() {
            "system" => Some("the system is set by the base"),
            "workload" => Some("the workload is set by `workloads`"),
            "size" => Some("set it next to the workload file"),
            _ => None,
        };
        if let Some(hint) = decided {
            problems.push(path.error(format!("`{plain}` cannot be set")).hint(hint));
        }
        match seen.iter().find(|(earlier, _)| *earlier == plain) {
            Some((_, earlier)) => {
                let error = path.error(format!("`{plain}` is set twice"));
                let error = error.hint("remove one of the two");
                problems.push(match &earlier.place {
                    Some(place) => error.related("first set here", place),
                    None => error,
                });
            }
            None => seen.push((plain, path)),
        }
    }
}

/// Returns a path without blanks, for comparison.
pub(crate) fn plain(path: &str) -> String {
    path.chars().filter(|c| !c.is_whitespace()).collect()
}

fn check_axes(file: &ExperimentFile, problems: &mut Diagnostics) {
    let mut first: Option<(&Placed<String>, usize)> = None;
    for (name, axis) in &file.axes {
        if name.value == "variant" {
            let message = "an axis cannot be called `variant`";
            let hint = "this word is reserved: the baseline uses it to name a variant";
            problems.push(name.error(message).hint(hint));
        }
        let levels = axis.levels();
        if levels.is_empty() {
            let message = format!("the axis `{}` has no levels", name.value);
            problems.push(name.error(message).hint("give it two or more"));
        }
        let mut known = BTreeSet::new();
        for (at, level) in levels.iter().enumerate() {
            if !known.insert(level) {
                let message = format!("the axis `{}` has the level `{level}` twice", name.value);
                let error = match axis {
                    Axis::Values { values, .. } => Diagnostic::error(message).at(&values[at].span),
                    Axis::Sets(_) => name.error(message),
                };
                problems.push(error.hint("remove one of the two"));
            }
        }
        if let Axis::Sets(sets) = axis {
            sets.iter()
                .for_each(|(_, sets)| check_paths(sets, problems));
        }
        match first {
            Some((other, count)) if file.combine == Combine::Zip && count != levels.len() => {
                let message = format!(
                    "`{}` has {} levels and `{}` has {count}, but zipped axes need equal numbers of levels",
                    name.value,
                    levels.len(),
                    other.value
                );
                let hint = "give all axes the same number of levels, or omit `combine: Zip`";
                problems.push(name.error(message).hint(hint));
            }
            Some(_) => {}
            None => first = Some((name, levels.len())),
        }
    }
}

/// Maximum number of repetitions, because more add no information.
const PAIRS_MAX: u32 = 10_000;

fn check_perturbations(file: &ExperimentFile, problems: &mut Diagnostics) {
    let Some(perturb) = &file.perturb else {
        return;
    };
    let pairs = &perturb.pairs;
    if !(1..=PAIRS_MAX).contains(&pairs.value) {
        let message = format!("pairs must be from 1 to {PAIRS_MAX}, found {}", pairs.value);
        problems.push(pairs.error(message).hint("findings need at least 10"));
    }
    for (path, values) in &perturb.draws {
        if values.is_empty() {
            let message = format!("no values to draw for `{}`", path.value);
            problems.push(path.error(message).hint("list its possible values"));
        }
    }
    if perturb.draws.is_empty() && pairs.value > 1 {
        let message = format!("{} pairs are requested, but nothing is drawn", pairs.value);
        let hint = "without draws all pairs are identical; add `draws`, or use one pair";
        problems.push(pairs.error(message).hint(hint));
    }
}

/// Maximum depth of files that extend one another, before it counts as a cycle.
const EXTENDED_MAX: usize = 16;

/// Merges the tree of the file at `path` into that of the file it extends, if any. Entries of maps
/// and fields of structs replace those of the same name. Other values are replaced as a whole.
fn extend(
    path: &Path,
    mut node: Node,
    files: &Files,
    extended: &mut Vec<PathBuf>,
) -> Result<Node, Diagnostics> {
    let Some(named) = node.field("extends") else {
        return Ok(node);
    };
    let named: Placed<PathBuf> = from_node(named)?;
    drop_fields(&mut node, "extends");
    let folder = path.parent().unwrap_or(Path::new(""));
    let other = folder.join(&named.value);
    if extended.len() >= EXTENDED_MAX {
        let message = "files that extend one another in a cycle, or too many of them";
        let hint = format!("a chain may have at most {EXTENDED_MAX}");
        return Err(named.error(message).hint(hint).into());
    }
    let source = files.description(&other, &["Experiment"]);
    let source = source.map_err(|error| {
        let problem = named.blame(error);
        match problem.hint {
            Some(_) => problem,
            None => problem.hint("paths are relative to the file that contains them"),
        }
    })?;
    extended.push(other.clone());
    let mut base = extend(&other, parse(&source)?, files, extended)?;
    let Kind::Struct(Struct { fields, .. }) = node.kind else {
        return Ok(base);
    };
    base.merge_fields(fields);
    Ok(base)
}

/// Returns the text without `published` and `record`.
fn frozen(node: &Node) -> String {
    let mut node = node.clone();
    drop_fields(&mut node, "published");
    drop_fields(&mut node, "record");
    to_ron(&node)
}

fn drop_fields(node: &mut Node, name: &str) {
    if let Kind::Struct(Struct { fields, .. }) = &mut node.kind {
        fields.retain(|field| field.name.text != name);
    }
}
