//! Presets: named descriptions of parts, from the system's files and from the kinds.

use std::collections::BTreeMap;

use warpweave_framework::{KindEntry, Registry};
use warpweave_params::{
    Diagnostic, Diagnostics, Kind, NESTING_MAX, Name, Node, Placed, Struct, from_node, name_hint,
    names_in,
};

use super::scope::Names;
use super::system_file::SystemFile;

/// Presets that the parts of a system can name.
pub(super) struct Presets<'a> {
    file: &'a SystemFile,
    registry: &'a Registry,
    /// Presets of kinds as trees, keyed by kind and name.
    read: BTreeMap<(String, String), Node>,
}

impl<'a> Presets<'a> {
    /// Creates the presets of a system's files and of the registered kinds.
    pub(super) fn new(file: &'a SystemFile, registry: &'a Registry) -> Self {
        Self {
            file,
            registry,
            read: BTreeMap::new(),
        }
    }

    /// Fills in missing fields of the description from its preset; without a preset it stays
    /// unchanged. After an error the description is lost. Returns true if an expression chose a
    /// preset.
    pub(super) fn apply(
        &mut self,
        kind: &Name,
        node: &mut Node,
        names: &Names,
    ) -> Result<bool, Diagnostics> {
        let mut chosen = false;
        if node.field("preset").is_none() {
            return Ok(chosen);
        }
        // From the innermost preset out, each changes what is there before.
        let mut changes = Vec::new();
        let nothing = Node::new(Kind::Unit, node.span.clone());
        let mut at = std::mem::replace(node, nothing);
        while let Some(mut preset) = super::take_field(&mut at, "preset") {
            changes.push(at);
            chosen |= names_in(&preset).is_some();
            names.resolve(&mut preset)?;
            let preset: Placed<String> = from_node(&preset)?;
            if changes.len() > NESTING_MAX {
                let message = format!("more than {NESTING_MAX} presets extend one another");
                return Err(preset.error(message).into());
            }
            at = self.preset(kind, &preset)?;
        }
        for change in changes.into_iter().rev() {
            if let Kind::Struct(Struct { fields, .. }) = change.kind {
                at.merge_fields(fields);
            }
        }
        if let Kind::Struct(value) = &mut at.kind {
            value.name = Some(kind.clone());
        }
        node.kind = at.kind;
        Ok(chosen)
    }

    /// Returns the preset of this name, from the system's files or from the kind.
    fn preset(&mut self, kind: &Name, name: &Placed<String>) -> Result<Node, Diagnostics> {
        if let Some((_, node)) = self.file.presets.get(&name.value) {
            return match node.name() {
                Some(found) if found.text == kind.text => Ok(as_struct(node.clone())),
                _ => {
                    let message = format!(
                        "preset `{}` is a {}, not a {}",
                        name.value,
                        node.name().map_or("value", |name| &name.text),
                        kind.text
                    );
                    let problem = name.error(message);
                    Err(problem.related("defined here", &node.head_span()).into())
                }
            };
        }
        let key = (kind.text.clone(), name.value.clone());
        if let Some(read) = self.read.get(&key) {
            return Ok(read.clone());
        }
        let entry = self.registry.get(&kind.text);
        if let Some(found) = entry.and_then(|entry| entry.preset(&name.value)) {
            let read = as_struct(found?);
            self.read.insert(key, read.clone());
            return Ok(read);
        }
        Err(self.unknown_preset(kind, entry, name).into())
    }

    fn unknown_preset(
        &self,
        kind: &Name,
        entry: Option<&KindEntry>,
        name: &Placed<String>,
    ) -> Diagnostic {
        let of_files = self.file.presets.iter().filter(|(_, node)| {
            let called = node.name().map(|name| name.text.as_str());
            called == Some(kind.text.as_str())
        });
        let mut known: Vec<&str> = of_files.map(|(name, _)| name.value.as_str()).collect();
        known.extend(entry.into_iter().flat_map(|e| e.presets).map(|p| p.name));
        let message = format!("{} has no preset `{}`", kind.text, name.value);
        let what = format!("presets of {}", kind.text);
        name.error(message)
            .hint(name_hint(&name.value, &what, known))
    }
}

/// Converts a bare `Kind` to a kind without fields.
pub(super) fn as_struct(mut node: Node) -> Node {
    node.kind = match node.kind {
        Kind::Name(name) => Kind::Struct(Struct {
            name: Some(name),
            fields: Vec::new(),
        }),
        kind => kind,
    };
    node
}
