//! Caches of work that the repetitions of a part or wire share, filled by the first repetition.
//!
//! One description covers many instances, which can differ only in the values of its expressions.
//! The caching has no effect on the resulting system.

use std::collections::BTreeSet;
use std::sync::Arc;

use warpweave_framework::{Built, Environment, Origin, PortList, Registry, Specification};
use warpweave_params::{Diagnostics, Env, Field, Kind, Node, Struct, names_in};

use super::scope::Names;
use super::system_file::{Scope, WireSpec};
use crate::address::Pattern;

/// Cached state of a scope: of the system, or of a module across its instances.
#[derive(Default)]
pub(super) struct ScopeMemory {
    pub(super) parts: Vec<PartMemory>,
    pub(super) ports: Vec<Option<(Pattern, Pattern)>>,
    pub(super) wires: Vec<WireMemory>,
}

/// Cached state of a part across its repetitions.
#[derive(Default)]
pub(super) struct PartMemory {
    pub(super) name: Option<(Pattern, BTreeSet<String>)>,
    pub(super) template: Option<Template>,
}

/// Cached state of a wire across its repetitions.
#[derive(Default)]
pub(super) struct WireMemory {
    pub(super) ends: Option<(Pattern, Pattern, BTreeSet<String>)>,
    pub(super) terms: Option<WireTerms>,
    pub(super) origin: Option<Origin>,
}

/// Terms and condition of a wire.
pub(super) struct WireTerms {
    pub(super) condition: Option<(Node, ExpansionCache<bool>)>,
    pub(super) written: Node,
    pub(super) resolved: ExpansionCache<(WireSpec, Arc<Node>)>,
}

impl ScopeMemory {
    /// Creates an empty cache for a scope.
    pub(super) fn of(scope: &Scope) -> Self {
        let mut memory = Self::default();
        memory
            .parts
            .resize_with(scope.parts.len(), Default::default);
        memory.ports.resize_with(scope.ports.len(), || None);
        memory
            .wires
            .resize_with(scope.wires.len(), Default::default);
        memory
    }
}

/// Values of the names that a description uses.
struct Values {
    names: Vec<String>,
    values: Vec<Option<Kind>>,
}

impl Values {
    /// Captures the values of all names used in the description's expressions.
    fn of(node: &Node, env: &Env) -> Self {
        let names = names_in(node).into_iter().flatten().map(str::to_owned);
        let names: Vec<String> = names.collect();
        let values = names.iter().map(|name| env.value(name).cloned()).collect();
        Self { names, values }
    }

    /// True if all names still have the same values.
    fn hold(&self, env: &Env) -> bool {
        let both = self.names.iter().zip(&self.values);
        both.into_iter()
            .all(|(name, value)| env.value(name) == value.as_ref())
    }
}

/// Cached result of a description, valid while the names it uses keep their values.
pub(super) struct ExpansionCache<T> {
    last: Option<(Values, T)>,
}

impl<T> ExpansionCache<T> {
    /// Creates a cache without a result.
    pub(super) fn new() -> Self {
        Self { last: None }
    }

    /// Returns the result of `node` for these names, computed only if a value changed. `node` must
    /// be the same in every call.
    pub(super) fn get(
        &mut self,
        node: &Node,
        names: &Names,
        compute: impl FnOnce(Node) -> Result<T, Diagnostics>,
    ) -> Result<&T, Diagnostics> {
        let env = &names.env;
        let known = self.last.take_if(|(values, _)| values.hold(env));
        let last = match known {
            Some(known) => known,
            None => (Values::of(node, env), compute(node.clone())?),
        };
        Ok(&self.last.insert(last).1)
    }
}

/// Description of a component or module as built, shared by the repetitions of a part.
#[derive(Clone)]
pub(crate) struct Description {
    common: Arc<Node>,
    /// Fields that differ in this repetition, by field number.
    own: Vec<(usize, Node)>,
}

impl Description {
    /// Returns the full description with its differing fields.
    pub(crate) fn node(&self) -> Node {
        let mut node = (*self.common).clone();
        if let Kind::Struct(Struct { fields, .. }) = &mut node.kind {
            for (number, value) in &self.own {
                fields[*number].value = value.clone();
            }
        }
        node
    }
}

impl From<Node> for Description {
    fn from(node: Node) -> Self {
        Self {
            common: Arc::new(node),
            own: Vec::new(),
        }
    }
}

/// Part with known preset and condition, and the description of its first repetition.
pub(super) struct Template {
    pub(super) condition: Option<(Node, ExpansionCache<bool>)>,
    /// Clock that the part names, if any.
    pub(super) clock: Option<Arc<str>>,
    /// Name of the part's component or module kind.
    pub(super) kind: Arc<str>,
    /// Approximate size of a description in bytes.
    pub(super) bytes: u64,
    common: Arc<Node>,
    /// Parsed form of `common` and the ports of its component; components only.
    read: Option<(Specification, Arc<PortList>)>,
    /// Copy of `common` into which the fields of a repetition are inserted.
    whole: Node,
    values: Values,
    /// Fields with expressions: field number, names used, and text as written.
    varying: Vec<(usize, Vec<usize>, Field)>,
}

impl Template {
    /// Creates a template for a part of kind `kind`. `written` resolved to `resolved` under
    /// `names`; both exclude condition and clock.
    pub(super) fn new(
        kind: &str,
        condition: Option<Node>,
        clock: Option<Arc<str>>,
        written: Node,
        (resolved, read): (&Node, Option<(Specification, Arc<PortList>)>),
        names: &Names,
    ) -> Option<Self> {
        let values = Values::of(&written, &names.env);
        let Kind::Struct(Struct { fields, .. }) = written.kind else {
            return None;
        };
        if fields.len() != resolved.fields().len() {
            return None;
        }
        let mut varying = Vec::new();
        for (number, field) in fields.into_iter().enumerate() {
            let Some(used) = names_in(&field.value) else {
                continue;
            };
            let known = values.names.iter().enumerate();
            let used = known.filter(|(_, name)| used.contains(name.as_str()));
            let used = used.map(|(number, _)| number).collect();
            varying.push((number, used, field));
        }
        Some(Self {
            condition: condition.map(|condition| (condition, ExpansionCache::new())),
            clock,
            kind: kind.into(),
            bytes: resolved.bytes(),
            common: Arc::new(resolved.clone()),
            read,
            whole: resolved.clone(),
            values,
            varying,
        })
    }

    /// Returns the description evaluated with other names.
    pub(super) fn describe(&self, names: &Names) -> Result<Description, Diagnostics> {
        let changed: Vec<bool> = (self.values.names.iter().zip(&self.values.values))
            .map(|(name, value)| names.env.value(name) != value.as_ref())
            .collect();
        let mut numbers = Vec::new();
        let mut fields = Vec::new();
        let mut own = Vec::new();
        for (number, used, field) in &self.varying {
            if !used.iter().any(|name| changed[*name]) {
                continue;
            }
            // Most are a number.
            match names.number(&field.value) {
                Some(value) if fields.is_empty() => own.push((*number, value)),
                _ => {
                    numbers.push(*number);
                    fields.push(field.clone());
                }
            }
        }
        if !fields.is_empty() {
            // As deep as in the whole.
            let fields = Kind::Struct(Struct { name: None, fields });
            let mut part = Node::new(fields, self.common.span.clone());
            names.resolve(&mut part)?;
            if let Kind::Struct(Struct { fields, .. }) = part.kind {
                let values = fields.into_iter().map(|field| field.value);
                own.extend(numbers.into_iter().zip(values));
            }
        }
        Ok(Description {
            common: Arc::clone(&self.common),
            own,
        })
    }

    /// Builds the component of a description made by this template. Also returns its ports if they
    /// are known to equal those of the first repetition.
    pub(super) fn build(
        &mut self,
        description: &mut Description,
        registry: &Registry,
        environment: &Environment,
    ) -> Result<(Built, Option<Arc<PortList>>), Diagnostics> {
        if let Some((read, ports)) = &self.read
            && description.own.is_empty()
        {
            let built = read.build(&self.common, registry, environment)?;
            return Ok((built, Some(Arc::clone(ports))));
        }
        let own = description.own.iter().map(|(number, value)| {
            let field = &self.common.fields()[*number];
            (field.name.text.as_str(), value)
        });
        let own: Vec<_> = own.collect();
        let varied = (self.read.as_ref())
            .and_then(|(read, ports)| Some((read.varied(&own)?, Arc::clone(ports))));
        let mut swap = |whole: &mut Node| {
            if let Kind::Struct(Struct { fields, .. }) = &mut whole.kind {
                for (number, value) in &mut description.own {
                    std::mem::swap(&mut fields[*number].value, value);
                }
            }
        };
        swap(&mut self.whole);
        let built = match varied {
            Some((read, ports)) => read
                .build(&self.whole, registry, environment)
                .map(|built| (built, Some(ports))),
            None => (registry.build(&self.whole, environment)).map(|built| (built, None)),
        };
        swap(&mut self.whole);
        built
    }
}

#[cfg(test)]
mod tests {
    use warpweave_params::{Source, parse, to_ron};

    use super::*;

    fn names(values: [i64; 2]) -> Names {
        Names {
            env: ["n", "m"].into_iter().zip(values).collect(),
        }
    }

    #[test]
    fn a_repetition_is_described_as_if_it_were_alone() {
        let text = "Kind(a: \"=n\", b: (c: \"=m + 1\", d: [1, \"=n\"]), e: 5, f: \"text\")";
        let written = parse(&Source::new("part", text)).expect("it can be read");
        let alone = |values| {
            let mut node = written.clone();
            names(values)
                .resolve(&mut node)
                .expect("the names are known");
            node
        };
        let first = [1, 2];
        let (made, first) = (alone(first), names(first));
        let template = Template::new("Kind", None, None, written.clone(), (&made, None), &first);
        let template = template.expect("it has fields");
        for (values, own) in [
            ([1, 2], 0),
            ([7, 2], 2),
            ([1, 9], 1),
            ([3, 4], 2),
            ([1, 2], 0),
        ] {
            let description = template.describe(&names(values)).expect("as before");
            assert_eq!(to_ron(&description.node()), to_ron(&alone(values)));
            assert_eq!(description.own.len(), own, "{values:?}");
        }
    }

    #[test]
    fn what_came_of_a_description_is_remembered_while_its_names_stand_for_the_same() {
        let written = parse(&Source::new("wire", "(latency: \"=n\")")).expect("it can be read");
        let mut remembered = ExpansionCache::new();
        let mut computed = 0;
        for values in [[1, 1], [1, 2], [2, 2], [2, 2], [1, 2]] {
            let value = remembered.get(&written, &names(values), |mut node| {
                computed += 1;
                names(values).resolve(&mut node)?;
                Ok(node.field("latency").and_then(Node::as_int))
            });
            assert_eq!(value, Ok(&Some(values[0].into())));
        }
        assert_eq!(computed, 3);
    }
}
