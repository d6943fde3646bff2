//! Composition of one system from several files.
//!
//! ```text
//!  machine.ron: System(extends: "base.ron", include: ["library.ron"], parts: { changes })
//!       │
//!       ├── base.ron     a System: machine.ron says what is different      extend.rs
//!       └── library.ron  a Library: modules, presets and parameters to use, added here
//! ```
//!
//! The result is a tree like that of one system file, in which every value records its source file.

mod extend;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use warpweave_params::{
    Diagnostic, Diagnostics, Field, Files, Kind, NESTING_MAX, Name, Node, OneOrMore, Placed,
    Struct, from_named, from_node, same_key,
};

use self::extend::extend;
use crate::scenario::files::read_named;

/// Kinds of definitions that a library may provide to the files that include it.
const DEFINITIONS: [&str; 3] = ["params", "modules", "presets"];

/// Library file with definitions for other files.
#[derive(Deserialize)]
struct Library {
    #[serde(default, rename = "summary")]
    _summary: String,
    #[serde(default)]
    include: Option<OneOrMore<Placed<PathBuf>>>,
    #[serde(default)]
    params: Option<Node>,
    #[serde(default)]
    modules: Option<Node>,
    #[serde(default)]
    presets: Option<Node>,
}

/// Composes the system file `node`, located at `path`, with the files it names. Returns the result
/// and the distinct paths of the other files.
///
/// # Errors
/// Returns all problems in any of the files, each with its location.
pub(super) fn compose(
    path: &Path,
    node: Node,
    files: &Files,
) -> Result<(Node, Vec<PathBuf>), Diagnostics> {
    let mut composer = Composer {
        reading: files.clone(),
        files: BTreeMap::new(),
        libraries: BTreeMap::new(),
        order: Vec::new(),
        chain: Vec::new(),
    };
    composer.chain.push(Link {
        real: real(path),
        shown: path.to_owned(),
        named_at: None,
    });
    let whole = composer.system(path, node)?;
    Ok((whole, composer.order))
}

struct Composer {
    reading: Files,
    /// Files that were read, by canonical path.
    files: BTreeMap<PathBuf, Node>,
    /// Definitions of each library, including those of its own includes. A library with errors has
    /// none; the errors are reported on its first read.
    libraries: BTreeMap<PathBuf, Vec<Field>>,
    /// Paths of the files, as first written.
    order: Vec<PathBuf>,
    /// Files currently being read, outermost first.
    chain: Vec<Link>,
}

/// File that is currently being read.
struct Link {
    real: PathBuf,
    shown: PathBuf,
    /// Location in another file that names it.
    named_at: Option<Placed<PathBuf>>,
}

/// Returns the canonical path of a file, independent of how it is written.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

impl Composer {
    /// Returns the system file at `path` with its includes and extensions applied.
    fn system(&mut self, path: &Path, mut node: Node) -> Result<Node, Diagnostics> {
        // Anything else is rejected by the reader of the system.
        if node.name().is_none_or(|name| name.text != "System") {
            return Ok(node);
        }
        if let Some(include) = take_field(&mut node, "include") {
            let files: OneOrMore<Placed<PathBuf>> = from_node(&include)?;
            let definitions = self.included(path, &files)?;
            define(&mut node, definitions);
        }
        let Some(extends) = take_field(&mut node, "extends") else {
            return match node.field("without") {
                None => Ok(node),
                Some(without) => Err(Diagnostic::error("there is nothing to remove")
                    .at(&without.head_span())
                    .hint("use `without` only in a system that `extends` another")
                    .into()),
            };
        };
        let base: Placed<PathBuf> = from_node(&extends)?;
        let base = self.follow(path, &base, |composer, path, node| {
            refuse_other(&node, "System", "use `include: [\"..\"]` for a library")?;
            composer.system(path, node)
        })?;
        extend(base, node)
    }

    /// Returns the combined definitions of the included libraries.
    fn included(
        &mut self,
        path: &Path,
        files: &OneOrMore<Placed<PathBuf>>,
    ) -> Result<Vec<Field>, Diagnostics> {
        let mut all: Vec<Field> = Vec::new();
        let mut problems = Diagnostics::new();
        for file in &files.0 {
            let found = self.follow(path, file, |composer, path, node| {
                let real = real(path);
                if let Some(known) = composer.libraries.get(&real) {
                    return Ok(known.clone());
                }
                let read = refuse_other(&node, "Library", "use `extends: \"..\"` for a system")
                    .map_err(Diagnostics::from)
                    .and_then(|()| composer.library(path, &node));
                let known = read.as_ref().cloned().unwrap_or_default();
                composer.libraries.insert(real, known);
                read
            });
            for definitions in problems.take(found).into_iter().flatten() {
                add_unique(&mut all, definitions, &mut problems);
            }
        }
        problems.into_result(all)
    }

    fn library(&mut self, path: &Path, node: &Node) -> Result<Vec<Field>, Diagnostics> {
        let library: Library = from_named(node, "Library")?;
        let own = [library.params, library.modules, library.presets];
        let fields = DEFINITIONS
            .into_iter()
            .zip(own)
            .filter_map(|(name, value)| {
                let value = value?;
                Some(field(name, value))
            });
        let mut all = Node::new(
            Kind::Struct(Struct {
                name: None,
                fields: fields.collect(),
            }),
            node.span.clone(),
        );
        if let Some(include) = library.include {
            let definitions = self.included(path, &include)?;
            define(&mut all, definitions);
        }
        match all.kind {
            Kind::Struct(value) => Ok(value.fields),
            _ => Ok(Vec::new()),
        }
    }

    /// Reads the file `named` in the file at `path` and returns the result of `read`.
    fn follow<T>(
        &mut self,
        path: &Path,
        named: &Placed<PathBuf>,
        read: impl FnOnce(&mut Self, &Path, Node) -> Result<T, Diagnostics>,
    ) -> Result<T, Diagnostics> {
        let to = path.parent().unwrap_or(Path::new("")).join(&named.value);
        let real = real(&to);
        if let Some(first) = self.chain.iter().position(|link| link.real == real) {
            return Err(self.cycle(first, named).into());
        }
        if self.chain.len() > NESTING_MAX {
            let message = format!("more than {NESTING_MAX} files refer to one another in a chain");
            return Err(named.error(message).into());
        }
        let node = if let Some(node) = self.files.get(&real) {
            node.clone()
        } else {
            let kinds = ["System", "Library"];
            let node = read_named(&to, named, &kinds, &self.reading)?;
            self.order.push(to.clone());
            self.files.insert(real.clone(), node.clone());
            node
        };
        self.chain.push(Link {
            real,
            shown: to.clone(),
            named_at: Some(named.clone()),
        });
        let result = read(self, &to, node);
        self.chain.pop();
        result
    }

    /// Reports that a file names another one that is still being read.
    fn cycle(&self, first: usize, named: &Placed<PathBuf>) -> Diagnostic {
        let links = &self.chain[first..];
        let name = |link: &Link| {
            let name = link.shown.file_name().unwrap_or(link.shown.as_os_str());
            name.to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = links.iter().map(name).collect();
        names.push(names[0].clone());
        let message = format!("`{}` depends on itself: {}", names[0], names.join(" -> "));
        let named_before = links.iter().skip(1).filter_map(|link| {
            let named = link.named_at.as_ref()?;
            named.place.as_ref()
        });
        named_before.fold(named.error(message), |problem, place| {
            problem.related("which is named here", place)
        })
    }
}

/// Rejects a file whose content is of another kind than required.
fn refuse_other(node: &Node, wanted: &str, hint: &str) -> Result<(), Diagnostic> {
    if node.name().is_some_and(|name| name.text == wanted) {
        return Ok(());
    }
    let message = format!("expected a {wanted}, found {}", node.describe());
    Err(Diagnostic::error(message).at(&node.head_span()).hint(hint))
}

/// Adds the definition of one library to those of the others, and reports duplicates.
fn add_unique(all: &mut Vec<Field>, definitions: Field, problems: &mut Diagnostics) {
    let Some(known) = all.iter_mut().find(|field| field.name == definitions.name) else {
        return all.push(definitions);
    };
    let Kind::Map(entries) = &mut known.value.kind else {
        return;
    };
    for (key, value) in definitions.value.entries().iter().cloned() {
        match entries.iter().find(|(known, _)| same_key(known, &key)) {
            None => entries.push((key, value)),
            // The same library, included by two others.
            Some((known, _)) if known.span == key.span => {}
            Some((known, _)) => problems.push(
                Diagnostic::error(format!("{} is defined by two libraries", key.span.text()))
                    .at(&key.span)
                    .related("it is also defined here", &known.span)
                    .hint("define it in the file that includes both"),
            ),
        }
    }
}

/// Inserts included definitions before the file's own, which override those of the same name.
fn define(node: &mut Node, definitions: Vec<Field>) {
    let Kind::Struct(Struct { fields, .. }) = &mut node.kind else {
        return;
    };
    for mut included in definitions {
        let Some(own) = fields.iter_mut().find(|field| field.name == included.name) else {
            fields.push(included);
            continue;
        };
        let (Kind::Map(before), Kind::Map(entries)) =
            (&mut included.value.kind, &mut own.value.kind)
        else {
            continue;
        };
        before.retain(|(key, _)| !entries.iter().any(|(own, _)| same_key(own, key)));
        before.append(entries);
        std::mem::swap(before, entries);
    }
}

fn field(name: &str, value: Node) -> Field {
    Field {
        name: Name {
            text: name.to_owned(),
            span: value.head_span(),
        },
        value,
    }
}

/// Removes a field from a value and returns it.
fn take_field(node: &mut Node, name: &str) -> Option<Node> {
    let Kind::Struct(Struct { fields, .. }) = &mut node.kind else {
        return None;
    };
    let at = fields.iter().position(|field| field.name.text == name)?;
    Some(fields.remove(at).value)
}
