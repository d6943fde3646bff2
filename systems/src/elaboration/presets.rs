//! Presets: descriptions of parts by name, from the system's files and from the kinds.

use warpweave_framework::KindEntry;
use warpweave_params::{
    Diagnostic, Diagnostics, Kind, Name, Node, Placed, Struct, from_node, name_hint,
};

use super::Elaborator;
use super::scope::Names;

/// Longest chain of presets of which each begins with the next.
const CHAIN_MAX: usize = 16;

impl Elaborator<'_> {
    /// The description with what its preset says where it says nothing itself; without a preset as
    /// it is.
    pub(super) fn with_preset(
        &mut self,
        kind: &Name,
        node: &mut Node,
        names: &Names,
    ) -> Result<(), Diagnostics> {
        // From the innermost preset out, each changes what is there before.
        let mut changes = Vec::new();
        let mut at = node.clone();
        while let Some(mut preset) = super::take_field(&mut at, "preset") {
            changes.push(at);
            names.resolve(&mut preset)?;
            let preset: Placed<String> = from_node(&preset)?;
            if changes.len() > CHAIN_MAX {
                let message = format!("more than {CHAIN_MAX} presets begin with one another");
                return Err(preset.error(message).into());
            }
            at = self.preset(kind, &preset)?;
        }
        if changes.is_empty() {
            return Ok(());
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
        Ok(())
    }

    /// The preset of a name: one of the system's files, or one of the kind.
    fn preset(&mut self, kind: &Name, name: &Placed<String>) -> Result<Node, Diagnostics> {
        if let Some((_, node)) = self.file.presets.get(&name.value) {
            self.presets_used.insert(name.value.clone());
            return match node.name() {
                Some(found) if found.text == kind.text => Ok(as_struct(node)),
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
        let entry = self.registry.get(&kind.text);
        if let Some(found) = entry.and_then(|entry| entry.preset(&name.value)) {
            return Ok(as_struct(&found?));
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

/// A bare `Kind` is a kind without fields.
pub(super) fn as_struct(node: &Node) -> Node {
    let mut node = node.clone();
    if let Kind::Name(name) = &node.kind {
        node.kind = Kind::Struct(Struct {
            name: Some(name.clone()),
            fields: Vec::new(),
        });
    }
    node
}
