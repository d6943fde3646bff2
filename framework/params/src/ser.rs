//! Conversion of typed values to trees ([`Node`]), the reverse of reading them.

use serde::{Serialize, Serializer};

use crate::node::Node;
use crate::print::to_ron_line;
use crate::source::Source;
use crate::{Diagnostic, Diagnostics, parse};

/// Converts a typed value to a tree, as if it had been read from a file called `<value>`.
///
/// # Errors
/// Returns an error if the value has a part that RON cannot express, such as bytes.
pub fn to_node<T: Serialize + ?Sized>(value: &T) -> Result<Node, Diagnostics> {
    to_node_with(value, &mut |_, tree| Ok(tree))
}

/// Converts like [`to_node`]; passes every part that [`serialize_tree`] wrote through `part` with
/// its label.
///
/// # Errors
/// Fails in the cases of [`to_node`] and if `part` fails.
pub fn to_node_with<T: Serialize + ?Sized>(
    value: &T,
    part: &mut dyn FnMut(&str, Node) -> Result<Node, Diagnostics>,
) -> Result<Node, Diagnostics> {
    let options = ron::Options::default();
    let config = ron::ser::PrettyConfig::new().struct_names(true);
    let text = options
        .to_string_pretty(value, config)
        .map_err(|error| Diagnostic::error(format!("cannot be written as RON: {error}")))?;
    let mut node = parse(&Source::new("<value>", text))?;
    let mut problems = Diagnostics::new();
    node.walk_mut(&mut |node| {
        let Some((label, tree)) = node.as_str().and_then(labelled_tree) else {
            return;
        };
        let found = parse(&Source::new("<value>", tree)).and_then(|tree| part(label, tree));
        if let Some(found) = problems.take(found) {
            node.kind = found.kind;
        }
    });
    problems.into_result(node)
}

/// First character of a text that stands for a tree; no other description text contains it.
const TREE_MARK: char = '\u{1}';

/// Serializes a tree as part of a typed value. serde has no trees, so it is written as a marked
/// text, which [`to_node`] and [`to_node_with`] turn back into the tree.
///
/// # Errors
/// Returns the errors of the serializer unchanged.
pub fn serialize_tree<S: Serializer>(
    label: &str,
    tree: &Node,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!(
        "{TREE_MARK}{label}{TREE_MARK}{}",
        to_ron_line(tree)
    ))
}

/// Returns the label and text of a tree that [`serialize_tree`] wrote.
pub fn labelled_tree(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix(TREE_MARK)?.split_once(TREE_MARK)
}
