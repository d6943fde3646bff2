//! System files: clocks, parameters, modules, parts and wires, as written.
//!
//! ```ron
//! System(
//!     clocks: { "core": "1.4 GHz", "dram": "924 MHz" },
//!     core: "core",                       // the clock that counts the cycles of a report
//!     params: { "units": 4 },
//!     modules: {
//!         "Cluster": Module(
//!             params: { "ways": 4 },      // defaults; `Cluster(ways: 8)` overrides
//!             ports: { "noc": "l1.down" },
//!             parts: { "l1": Cache(ways: "=ways", ...) },
//!         ),
//!     },
//!     for: { "i": "=units" },             // `[i]` below runs over 0, 1, 2, 3
//!     parts: {
//!         "cluster[i]": Cluster(ways: 8),
//!         "dram": Gddr5(clock: "dram", ...),
//!     },
//!     wires: {
//!         "cluster[i].noc <-> crossbar.up[i]": (latency: 1),
//!         "crossbar.down[*] <-> l2[*].up": (latency: 1),
//!     },
//! )
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Link, Width};
use warpweave_params::{Diagnostic, Diagnostics, Field, Node, Span, name_hint};

/// A scope of parts and wires: the system itself or a module.
pub(crate) struct Scope {
    /// Clock of the parts that name none; the clock of the enclosing scope if absent.
    pub(crate) clock: Option<Node>,
    /// Parameters with their defaults, in order.
    pub(crate) params: Vec<(String, Node)>,
    /// Index variables and their counts.
    pub(crate) repeats: Vec<(String, Node)>,
    /// Name and description of each part.
    pub(crate) parts: Vec<(Node, Node)>,
    /// Both ends and the terms of each wire.
    pub(crate) wires: Vec<(Node, Node)>,
    /// Port name and the inner address it stands for; modules only.
    pub(crate) ports: Vec<(Node, Node)>,
}

/// A system file.
pub(crate) struct SystemFile {
    pub(crate) summary: String,
    pub(crate) clocks: Vec<(String, Node)>,
    pub(crate) core: Node,
    pub(crate) modules: BTreeMap<String, Module>,
    pub(crate) scope: Scope,
}

/// A reusable composite.
pub(crate) struct Module {
    pub(crate) scope: Scope,
    pub(crate) name_span: Span,
}

/// The terms of a wire in description files.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireSpec {
    latency: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    credit_latency: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    width: Option<WidthSpec>,
}

/// Width of a wire in description files.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum WidthSpec {
    /// Messages per cycle.
    Messages(u32),
    /// Bytes per cycle.
    Bytes(u32),
}

impl From<WireSpec> for Link {
    fn from(spec: WireSpec) -> Self {
        Self {
            latency: spec.latency,
            credit_latency: spec.credit_latency.unwrap_or(spec.latency),
            capacity: spec.capacity,
            width: match spec.width {
                None => Width::Messages(1),
                Some(WidthSpec::Messages(n)) => Width::Messages(n),
                Some(WidthSpec::Bytes(n)) => Width::Bytes(n),
            },
        }
    }
}

const SCOPE_FIELDS: [&str; 5] = ["clock", "params", "for", "parts", "wires"];

impl SystemFile {
    /// Reads the tree of a system file.
    pub(crate) fn read(node: &Node) -> Result<Self, Diagnostics> {
        let mut problems = Diagnostics::new();
        expect_name(node, "System", &mut problems);
        let known = [
            &["summary", "clocks", "core", "modules"][..],
            &SCOPE_FIELDS[..],
        ]
        .concat();
        check_fields(node, "System", &known, &mut problems);
        let clocks = text_map(node, "clocks", &mut problems);
        if clocks.is_empty() {
            let message = "a system needs at least one clock";
            problems.push(
                Diagnostic::error(message)
                    .at(&node.head_span())
                    .hint("add `clocks: { \"core\": \"1 GHz\" }`"),
            );
        }
        let core = node.field("core").cloned();
        if core.is_none() {
            problems.push(
                Diagnostic::error("missing field `core` in System")
                    .at(&node.head_span())
                    .hint("name the clock that counts the cycles of a report: `core: \"core\"`"),
            );
        }
        let mut modules = BTreeMap::new();
        for (key, value) in map_entries(node, "modules", &mut problems) {
            let Some(name) = key_text(key, &mut problems) else {
                continue;
            };
            expect_name(value, "Module", &mut problems);
            let known = [&["ports"][..], &SCOPE_FIELDS[..]].concat();
            check_fields(value, "Module", &known, &mut problems);
            let scope = Scope::read(value, &mut problems);
            modules.insert(
                name.to_owned(),
                Module {
                    scope,
                    name_span: key.span.clone(),
                },
            );
        }
        let scope = Scope::read(node, &mut problems);
        let summary = node
            .field("summary")
            .and_then(Node::as_str)
            .unwrap_or_default()
            .to_owned();
        match core {
            Some(core) if !problems.has_errors() => Ok(Self {
                summary,
                clocks,
                core,
                modules,
                scope,
            }),
            _ => Err(problems),
        }
    }
}

impl Scope {
    fn read(node: &Node, problems: &mut Diagnostics) -> Self {
        Self {
            clock: node.field("clock").cloned(),
            params: text_map(node, "params", problems),
            repeats: text_map(node, "for", problems),
            parts: map_entries(node, "parts", problems).to_vec(),
            wires: map_entries(node, "wires", problems).to_vec(),
            ports: map_entries(node, "ports", problems).to_vec(),
        }
    }
}

pub(crate) fn expect_name(node: &Node, name: &str, problems: &mut Diagnostics) {
    match node.name() {
        Some(found) if found.text == name => {}
        Some(found) => problems.push(
            Diagnostic::error(format!("expected `{name}(..)`, found `{}(..)`", found.text))
                .at(&found.span),
        ),
        None => problems.push(
            Diagnostic::error(format!("expected `{name}(..)`, found {}", node.describe()))
                .at(&node.head_span()),
        ),
    }
}

pub(crate) fn check_fields(node: &Node, owner: &str, known: &[&str], problems: &mut Diagnostics) {
    for Field { name, .. } in node.fields() {
        if !known.contains(&name.text.as_str()) {
            let hint = name_hint(
                &name.text,
                &format!("fields of {owner}"),
                known.iter().copied(),
            );
            let message = format!("unknown field `{}` in {owner}", name.text);
            problems.push(Diagnostic::error(message).at(&name.span).hint(hint));
        }
    }
}

pub(crate) fn map_entries<'n>(
    node: &'n Node,
    field: &str,
    problems: &mut Diagnostics,
) -> &'n [(Node, Node)] {
    let Some(value) = node.field(field) else {
        return &[];
    };
    if !matches!(value.kind, warpweave_params::Kind::Map(_)) {
        let message = format!("`{field}` is a map, found {}", value.describe());
        problems.push(
            Diagnostic::error(message)
                .at(&value.head_span())
                .hint(format!("write `{field}: {{ \"name\": value }}`")),
        );
    }
    value.entries()
}

fn text_map(node: &Node, field: &str, problems: &mut Diagnostics) -> Vec<(String, Node)> {
    map_entries(node, field, problems)
        .iter()
        .filter_map(|(key, value)| Some((key_text(key, problems)?.to_owned(), value.clone())))
        .collect()
}

pub(crate) fn key_text<'n>(key: &'n Node, problems: &mut Diagnostics) -> Option<&'n str> {
    let text = key.as_str();
    if text.is_none() {
        let message = format!("expected a name in quotes, found {}", key.describe());
        problems.push(Diagnostic::error(message).at(&key.head_span()));
    }
    text
}
