//! Description stubs to paste: valid text with fields to fill in.

use warpweave_framework::{FieldDoc, KindEntry, Registry};
use warpweave_params::{Diagnostics, Env, Node, Source, parse, resolve_expressions, to_ron};

/// Returns the stub for a kind: its first preset, and a value for each field that the preset leaves
/// open.
pub(crate) fn of_kind(registry: &Registry, kind: &KindEntry) -> String {
    let fields = kind.fields();
    let preset = kind.presets.first();
    let given = preset.and_then(|preset| kind.preset(preset.name)?.ok());
    let begin = preset.map(|preset| format!("preset: {:?}", preset.name));
    let values = Values {
        registry,
        fields: &fields,
        given: given.as_ref(),
    };
    values.of(kind.name, begin)
}

/// Returns the stub for a policy with the given fields.
pub(crate) fn of_policy(registry: &Registry, name: &str, fields: &[FieldDoc]) -> String {
    let values = Values {
        registry,
        fields,
        given: None,
    };
    values.of(name, None)
}

/// Returns a sample value for a field of a kind.
pub(crate) fn of_field(registry: &Registry, kind: &KindEntry, field: &FieldDoc) -> String {
    let values = Values {
        registry,
        fields: &kind.fields(),
        given: None,
    };
    values.value(field)
}

/// Expands the stub of a kind to a full description.
///
/// # Errors
/// Returns an error if a preset or the stub cannot be parsed.
pub(crate) fn expanded(registry: &Registry, kind: &KindEntry) -> Result<Node, Diagnostics> {
    let stub = parse(&Source::new("stub", of_kind(registry, kind)))?;
    let preset = kind.presets.first().and_then(|p| kind.preset(p.name));
    let mut node = preset.unwrap_or_else(|| Ok(stub.clone()))?;
    let mut fields = stub.fields().to_vec();
    fields.retain(|field| field.name.text != "preset");
    node.merge_fields(fields);
    resolve_expressions(&mut node, &Env::new())?;
    Ok(node)
}

/// Sample values for the fields that have to be given.
struct Values<'a> {
    registry: &'a Registry,
    fields: &'a [FieldDoc],
    /// Fields given by a preset, if there is one.
    given: Option<&'a Node>,
}

impl Values<'_> {
    fn of(&self, name: &str, begin: Option<String>) -> String {
        let own = self.inside("", self.given);
        let all: Vec<String> = begin.into_iter().chain(own).collect();
        if all.is_empty() {
            return name.to_owned();
        }
        let text = format!("{name}({})", all.join(", "));
        match parse(&Source::new("stub", text.as_str())) {
            Ok(node) => to_ron(&node).trim_end().to_owned(),
            Err(_) => text,
        }
    }

    /// Lists the fields directly under a prefix that are neither optional nor in `given`.
    fn inside(&self, prefix: &str, given: Option<&Node>) -> Vec<String> {
        let mut texts = Vec::new();
        for field in self.fields.iter().filter(|field| field.required) {
            let Some(name) = field.name.strip_prefix(prefix).filter(|n| !n.contains('.')) else {
                continue;
            };
            let Some(given) = given.and_then(|given| given.field(name)) else {
                texts.push(format!("{name}: {}", self.value(field)));
                continue;
            };
            // What has a name of its own is given whole.
            if given.name().is_none() && !given.fields().is_empty() {
                let rest = self.inside(&format!("{}.", field.name), Some(given));
                if !rest.is_empty() {
                    texts.push(format!("{name}: ({})", rest.join(", ")));
                }
            }
        }
        texts
    }

    /// Returns a sample value of a field's type.
    fn value(&self, field: &FieldDoc) -> String {
        if field.kind.starts_with("list") {
            return "[]".to_owned();
        }
        if let Some(role) = &field.role {
            let plain = |fields: Vec<FieldDoc>| fields.iter().all(|field| !field.required);
            let mut policies = self.registry.policies(role);
            let policy = policies.find(|policy| plain(policy.fields()));
            return policy.map_or("()".to_owned(), |policy| policy.name.to_owned());
        }
        let choices: Vec<&str> = field.kind.split(" | ").filter(|c| *c != "None").collect();
        let first = choices.first().copied().unwrap_or_default();
        let plain = |choice: &&&str| !choice.ends_with("(..)");
        match first {
            "boolean" => "false".to_owned(),
            "string" => "\"\"".to_owned(),
            "float" | "double" => "1.0".to_owned(),
            _ if choices.len() > 1 || first.ends_with("(..)") => {
                if let Some(choice) = choices.iter().find(plain) {
                    return (*choice).to_owned();
                }
                let variant = first.trim_end_matches("(..)");
                let inner = self.inside(&format!("{}.{variant}.", field.name), None);
                if inner.is_empty() {
                    format!("{variant}(1)")
                } else {
                    format!("{variant}({})", inner.join(", "))
                }
            }
            _ => {
                let prefix = format!("{}.", field.name);
                if self
                    .fields
                    .iter()
                    .any(|inner| inner.name.starts_with(&prefix))
                {
                    format!("({})", self.inside(&prefix, None).join(", "))
                } else if first.starts_with(char::is_uppercase) {
                    first.to_owned()
                } else {
                    "1".to_owned()
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use warpweave_framework::described_ports;
    use warpweave_systems::{empty_environment, standard_registry};

    use super::*;

    #[test]
    fn the_stub_of_every_kind_is_read_and_built() {
        let registry = standard_registry();
        for kind in registry.kinds() {
            let node = expanded(&registry, kind).unwrap_or_else(|e| panic!("{}: {e}", kind.name));
            let built = registry.build(&node, &empty_environment());
            let mut built = built.unwrap_or_else(|e| panic!("{}: {e}", kind.name));
            assert!(!described_ports(&mut *built.component).is_empty());
        }
    }

    #[test]
    fn every_preset_fits_its_kind() {
        let registry = standard_registry();
        for kind in registry.kinds() {
            let fields = kind.fields();
            for preset in kind.presets {
                let node = kind.preset(preset.name).expect("it is in the list");
                let node = node.unwrap_or_else(|e| panic!("{e}"));
                assert_eq!(node.name().map(|name| name.text.as_str()), Some(kind.name));
                for field in node.fields() {
                    let known = fields.iter().any(|known| known.name == field.name.text);
                    assert!(
                        known,
                        "{} of {}: {}",
                        preset.name, kind.name, field.name.text
                    );
                }
            }
        }
    }

    #[test]
    fn the_stub_of_every_policy_is_read() {
        let registry = standard_registry();
        for (role, _) in registry.roles() {
            for policy in registry.policies(role) {
                let stub = of_policy(&registry, policy.name, &policy.fields());
                let node = parse(&Source::new("stub", stub)).unwrap_or_else(|e| panic!("{e}"));
                assert_eq!(
                    node.name().map(|name| name.text.as_str()),
                    Some(policy.name)
                );
            }
        }
    }
}
