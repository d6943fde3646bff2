//! Documentation of a specification's fields in the terms of description files.

use warpweave_params::labelled_tree;

/// Schema keyword that holds the role of a field.
pub(super) const ROLE_OF_FIELD: &str = "x-role";

/// One field of a specification, for reference pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDoc {
    /// Path of the field within the specification.
    pub name: String,
    /// Type of the field in the terms of description files.
    pub kind: String,
    /// True if a description must state the field.
    pub required: bool,
    /// Default value in the notation of description files. `None` for a feature that is then
    /// absent.
    pub default: Option<String>,
    /// Meaning of the field, from its doc comment.
    pub doc: String,
    /// Name of the role, for a field that holds a policy or a list of policies.
    pub role: Option<String>,
}

pub(super) type Json = serde_json::Value;

/// Resolves a `$ref` within the same schema.
fn follow<'a>(root: &'a Json, node: &'a Json) -> &'a Json {
    node.get("$ref")
        .and_then(Json::as_str)
        .and_then(|path| root.pointer(path.trim_start_matches('#')))
        .unwrap_or(node)
}

pub(super) fn list_fields(
    root: &Json,
    node: &Json,
    prefix: &str,
    fields: &mut Vec<FieldDoc>,
    depth: u32,
) {
    const DEPTH_MAX: u32 = 4;
    let node = follow(root, node);
    let Some(properties) = node.get("properties").and_then(Json::as_object) else {
        return;
    };
    let required: Vec<&str> = node
        .get("required")
        .and_then(Json::as_array)
        .map(|list| list.iter().filter_map(Json::as_str).collect())
        .unwrap_or_default();
    for (name, field) in properties {
        let target = follow(root, field);
        let doc = field
            .get("description")
            .or_else(|| target.get("description"));
        fields.push(FieldDoc {
            name: format!("{prefix}{name}"),
            kind: kind_in_words(root, field),
            required: required.contains(&name.as_str()),
            default: field.get("default").and_then(default_in_words),
            doc: doc
                .and_then(Json::as_str)
                .unwrap_or_default()
                .replace('\n', " "),
            role: role_of(root, field),
        });
        if depth < DEPTH_MAX {
            let inner = format!("{prefix}{name}.");
            list_fields(root, target, &inner, fields, depth + 1);
            list_variants(root, target, &inner, fields, depth + 1);
            if let Some(element) = target.get("items") {
                let (element, inner) = (follow(root, element), format!("{prefix}{name}[]."));
                list_fields(root, element, &inner, fields, depth + 1);
                list_variants(root, element, &inner, fields, depth + 1);
            }
        }
    }
}

/// Lists the fields of an optional struct, and those of each variant that has any, as
/// `field.Variant.inner`.
fn list_variants(root: &Json, node: &Json, prefix: &str, fields: &mut Vec<FieldDoc>, depth: u32) {
    let choices = node.get("anyOf").or_else(|| node.get("oneOf"));
    for choice in choices.and_then(Json::as_array).into_iter().flatten() {
        if choice.get("$ref").is_some() {
            let target = follow(root, choice);
            list_fields(root, target, prefix, fields, depth);
            list_variants(root, target, prefix, fields, depth);
        } else if let Some(variants) = choice.get("properties").and_then(Json::as_object) {
            for (variant, payload) in variants {
                list_fields(root, payload, &format!("{prefix}{variant}."), fields, depth);
            }
        }
    }
}

/// Returns the role of a field that holds a policy, an optional policy, or a list of policies.
fn role_of(root: &Json, field: &Json) -> Option<String> {
    let target = follow(root, field);
    if let Some(role) = target.get(ROLE_OF_FIELD).and_then(Json::as_str) {
        return Some(role.to_owned());
    }
    let choices = target.get("anyOf").and_then(Json::as_array);
    let mut inner = choices.into_iter().flatten().chain(target.get("items"));
    inner.find_map(|choice| role_of(root, choice))
}

fn kind_in_words(root: &Json, field: &Json) -> String {
    let target = follow(root, field);
    if let Some(choices) = target.get("oneOf").or_else(|| target.get("anyOf")) {
        let names: Vec<String> = choices
            .as_array()
            .into_iter()
            .flatten()
            .map(|choice| choice_in_words(root, choice))
            .collect();
        return names.join(" | ");
    }
    choice_in_words(root, field)
}

/// Formats a default as in a description file; `None` for an absent feature.
fn default_in_words(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(text) => {
            let text = labelled_tree(text).map_or(text.as_str(), |(_, tree)| tree);
            Some(text.to_owned())
        }
        Json::Object(fields) => {
            let in_words = |value| default_in_words(value).unwrap_or_else(|| "None".to_owned());
            let first = fields.iter().next().filter(|_| fields.len() == 1);
            // Variants begin with a capital, fields do not.
            if let Some((variant, value)) = first
                && variant.starts_with(char::is_uppercase)
            {
                let value = in_words(value);
                let inner = value.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
                return Some(format!("{variant}({})", inner.unwrap_or(&value)));
            }
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| format!("{name}: {}", in_words(value)));
            let fields: Vec<String> = fields.collect();
            Some(format!("({})", fields.join(", ")))
        }
        other => Some(other.to_string()),
    }
}

fn choice_in_words(root: &Json, choice: &Json) -> String {
    if let Some(role) = follow(root, choice)
        .get(ROLE_OF_FIELD)
        .and_then(Json::as_str)
    {
        return role.to_owned();
    }
    if let Some(value) = choice.get("const").and_then(Json::as_str) {
        return value.to_owned();
    }
    let target = follow(root, choice);
    if let Some(values) = target.get("enum").and_then(Json::as_array) {
        return values
            .iter()
            .filter_map(Json::as_str)
            .collect::<Vec<_>>()
            .join(" | ");
    }
    if choice.get("$ref").is_none()
        && let Some(properties) = choice.get("properties").and_then(Json::as_object)
        && let Some((variant, _)) = properties.iter().next()
        && properties.len() == 1
    {
        return format!("{variant}(..)");
    }
    if let Some(title) = target.get("title").and_then(Json::as_str)
        && choice.get("$ref").is_some()
    {
        return title.to_owned();
    }
    match target.get("type") {
        Some(Json::String(kind)) if kind == "array" => match role_of(root, target) {
            Some(role) => format!("list of {role}"),
            None => "list".to_owned(),
        },
        Some(Json::String(kind)) if kind == "null" => "None".to_owned(),
        Some(Json::String(kind)) => target
            .get("format")
            .and_then(Json::as_str)
            .unwrap_or(kind)
            .to_owned(),
        Some(Json::Array(kinds)) => kinds
            .iter()
            .filter_map(Json::as_str)
            .collect::<Vec<_>>()
            .join(" or "),
        _ => choice
            .get("$ref")
            .and_then(Json::as_str)
            .and_then(|r| r.rsplit('/').next())
            .unwrap_or("value")
            .to_owned(),
    }
}
