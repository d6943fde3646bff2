//! A scope of a system: what its names stand for, and what is in it.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_params::{Diagnostic, Diagnostics, Env, Field, Kind, Node, resolve_expressions};

use super::system_file::Scope;
use super::{Elaborator, INSTANCES_MAX};

/// Names and values visible in a scope.
#[derive(Clone, Default)]
pub(super) struct Names {
    pub(super) integers: Env,
    /// Parameters that are no integers: policies, sizes.
    values: BTreeMap<String, Node>,
}

impl Names {
    fn set(&mut self, name: &str, value: &Node) {
        match value.kind {
            Kind::Int(int) if i64::try_from(int).is_ok() => {
                self.integers
                    .set(name, i64::try_from(int).expect("checked in the guard"));
                self.values.remove(name);
            }
            _ => {
                self.values.insert(name.to_owned(), value.clone());
            }
        }
    }

    /// Replaces `"=name"` by the parameter's value and `"=expression"` by its integer.
    pub(super) fn resolve(&self, node: &mut Node) -> Result<(), Diagnostics> {
        node.walk_mut(&mut |node| {
            let value = node
                .as_str()
                .and_then(|text| text.strip_prefix('='))
                .and_then(|name| self.values.get(name.trim()));
            if let Some(value) = value {
                node.kind = value.kind.clone();
            }
        });
        resolve_expressions(node, &self.integers)
    }

    /// Every assignment of the index variables that `used` names, in row-major order.
    pub(super) fn assignments(&self, used: &BTreeSet<String>, counts: &[(&str, i64)]) -> Vec<Self> {
        let mut all = vec![self.clone()];
        for (name, count) in counts.iter().filter(|(name, _)| used.contains(*name)) {
            all = all
                .into_iter()
                .flat_map(|outer| {
                    (0..*count).map(move |value| {
                        let mut inner = outer.clone();
                        inner.integers.set(*name, value);
                        inner
                    })
                })
                .collect();
        }
        all
    }
}

/// Where a scope stands in the hierarchy.
pub(super) struct At<'m> {
    /// Path of the enclosing instance with a dot, or empty.
    pub(super) prefix: String,
    pub(super) clock: String,
    /// Modules being expanded, outermost first.
    pub(super) stack: Vec<&'m str>,
}

impl<'a> Elaborator<'a> {
    /// Expands one scope: its parameters (`given` ones replace defaults), parts, ports and wires.
    pub(super) fn scope(&mut self, scope: &'a Scope, at: &At<'a>, outer: &Names, given: &[Field]) {
        let problems_before = self.problems.len();
        let names = self.parameters(scope, outer, given);
        let counts = self.counts(scope, &names);
        let mut at = At {
            prefix: at.prefix.clone(),
            clock: at.clock.clone(),
            stack: at.stack.clone(),
        };
        if let Some(clock) = &scope.clock
            && self.check_clock(clock)
        {
            at.clock.clone_from(&clock.value);
        }
        // Parts would only repeat that a name is unknown.
        if self.problems.len() > problems_before {
            return;
        }
        for (key, value) in &scope.parts {
            self.part(key, value, &at, &names, &counts);
        }
        // Without its parts a scope has no ports: wires would only repeat the problem.
        if self.problems.has_errors() {
            return;
        }
        for (outer, inner) in &scope.ports {
            self.port(outer, inner, &at, &names, &counts);
        }
        for (ends, terms) in &scope.wires {
            self.wire(ends, terms, &at, &names, &counts);
        }
    }

    fn parameters(&mut self, scope: &Scope, outer: &Names, given: &[Field]) -> Names {
        let mut names = Names {
            integers: Env::new(),
            values: outer.values.clone(),
        };
        for (name, default) in &scope.params {
            let mut value = given
                .iter()
                .find(|field| field.name.text == name.value)
                .map_or_else(|| default.clone(), |field| field.value.clone());
            if self.problems.take(names.resolve(&mut value)).is_some() {
                names.set(&name.value, &value);
            }
        }
        names
    }

    /// The index variables, and how often each repeats what uses it.
    fn counts<'s>(&mut self, scope: &'s Scope, names: &Names) -> Vec<(&'s str, i64)> {
        let mut counts = Vec::new();
        for (name, count) in &scope.repeats {
            let mut count = count.clone();
            if self.problems.take(names.resolve(&mut count)).is_none() {
                continue;
            }
            let name = name.value.as_str();
            match count.as_int() {
                Some(n) if (0..=INSTANCES_MAX as i128).contains(&n) => {
                    counts.push((name, n as i64));
                }
                _ => self.problems.push(
                    Diagnostic::error(format!("`{name}` cannot run up to {}", count.describe()))
                        .at(&count.span)
                        .hint(format!(
                            "a repeat count is an integer from 0 to {INSTANCES_MAX}"
                        )),
                ),
            }
        }
        counts
    }
}
