//! System as built, which can be written as a flat system file.

use std::sync::Arc;

use warpweave_framework::Registry;
use warpweave_params::{Diagnostics, Field, Kind, Name, Node, Source, Span, Struct};

use super::repetition::Description;

/// Every clock, part and wire of an elaborated system. Writing it takes longer than building the
/// system, so it is done on request only.
pub struct ResolvedSystem {
    /// Registry that the parts were built with.
    pub(crate) registry: Registry,
    pub(crate) summary: String,
    pub(crate) core: String,
    pub(crate) clocks: Vec<(String, Node)>,
    pub(crate) parts: Vec<ResolvedPart>,
    /// Wires, each with both ends and its terms.
    pub(crate) wires: Vec<(Arc<str>, Arc<str>, Arc<Node>)>,
    /// Ports that are intentionally left without a wire.
    pub(crate) unwired: Vec<String>,
}

/// Component instance and the description it was built from.
pub(crate) struct ResolvedPart {
    pub(crate) path: Arc<str>,
    pub(crate) kind: Arc<str>,
    pub(crate) clock: Arc<str>,
    pub(crate) description: Description,
    pub(crate) resolve: fn(&Registry, &Node) -> Result<Node, Diagnostics>,
}

impl ResolvedSystem {
    /// Returns the system as a system file with every part, wire and default written out.
    pub fn to_node(&self) -> Node {
        let blank = Source::new("<resolved>", "").span(0, 0);
        let parts = self
            .parts
            .iter()
            .map(|part| (part.path.to_string(), part.to_node(&self.registry)))
            .collect();
        let wires = self.wires.iter();
        let wires = wires.map(|(a, b, terms)| (format!("{a} <-> {b}"), Node::clone(terms)));
        let unwired = self.unwired.iter().map(|port| text(port, &blank)).collect();
        let mut fields = vec![
            field("summary", text(&self.summary, &blank), &blank),
            field("clocks", map(self.clocks.clone(), &blank), &blank),
            field("core", text(&self.core, &blank), &blank),
            field("parts", map(parts, &blank), &blank),
            field("wires", map(wires.collect(), &blank), &blank),
        ];
        if !self.unwired.is_empty() {
            let list = Node::new(Kind::List(unwired), blank.clone());
            fields.push(field("unwired", list, &blank));
        }
        structure("System", fields, &blank)
    }
}

impl ResolvedSystem {
    /// Returns the path, kind and specification of each part, with every default.
    pub(crate) fn specifications(&self) -> impl Iterator<Item = (String, String, Node)> {
        self.parts.iter().map(|part| {
            let resolved = (part.resolve)(&self.registry, &part.description.node())
                .expect("the component was built from this description");
            (part.path.to_string(), part.kind.to_string(), resolved)
        })
    }
}

impl ResolvedPart {
    fn to_node(&self, registry: &Registry) -> Node {
        let resolved = (self.resolve)(registry, &self.description.node())
            .expect("the component was built from this description");
        let span = resolved.span.clone();
        let mut fields = match resolved.kind {
            Kind::Struct(value) => value.fields,
            // A kind without fields.
            _ => Vec::new(),
        };
        fields.push(field("clock", text(&self.clock, &span), &span));
        structure(&self.kind, fields, &span)
    }
}

fn text(value: &str, span: &Span) -> Node {
    Node::new(Kind::Text(value.to_owned()), span.clone())
}

fn map(entries: Vec<(String, Node)>, span: &Span) -> Node {
    let entries = entries
        .into_iter()
        .map(|(key, value)| (text(&key, span), value))
        .collect();
    Node::new(Kind::Map(entries), span.clone())
}

fn field(name: &str, value: Node, span: &Span) -> Field {
    Field {
        name: Name {
            text: name.to_owned(),
            span: span.clone(),
        },
        value,
    }
}

fn structure(name: &str, fields: Vec<Field>, span: &Span) -> Node {
    let name = Some(Name {
        text: name.to_owned(),
        span: span.clone(),
    });
    Node::new(Kind::Struct(Struct { name, fields }), span.clone())
}
