//! A scope of a system: what its names stand for, and what is in it.

use std::collections::BTreeSet;

use warpweave_params::{
    Diagnostic, Diagnostics, Env, Field, Kind, Node, is_keyword, resolve_expressions,
};

use super::Elaborator;
use super::system_file::Scope;

/// Names and values visible in a scope.
#[derive(Clone, Default)]
pub(super) struct Names {
    pub(super) env: Env,
}

impl Names {
    /// Replaces `"=expression"` by its value.
    pub(super) fn resolve(&self, node: &mut Node) -> Result<(), Diagnostics> {
        resolve_expressions(node, &self.env)
    }

    /// The value of a condition.
    pub(super) fn holds(&self, mut condition: Node) -> Result<bool, Diagnostics> {
        self.resolve(&mut condition)?;
        match condition.kind {
            Kind::Bool(holds) => Ok(holds),
            _ => Err(Diagnostic::error(format!(
                "a condition is `true` or `false`, found {}",
                condition.describe()
            ))
            .at(&condition.span)
            .hint("such as `if: \"=units > 1\"`, or a parameter that is `true` or `false`")
            .into()),
        }
    }

    /// Every assignment of the index variables that `used` names, in row-major order.
    pub(super) fn assignments<'c>(
        &self,
        used: &BTreeSet<String>,
        counts: &[(&'c str, i64)],
    ) -> impl Iterator<Item = Self> + use<'c> {
        let counts = counts.iter().filter(|(name, _)| used.contains(*name));
        let counts: Vec<(&str, i64)> = counts.copied().collect();
        let mut next = Some(vec![0; counts.len()]);
        if counts.iter().any(|(_, count)| *count == 0) {
            next = None;
        }
        let outer = self.clone();
        std::iter::from_fn(move || {
            let indices = next.take()?;
            let mut inner = outer.clone();
            for ((name, _), index) in counts.iter().zip(&indices) {
                inner.env.set(*name, *index);
            }
            let mut after = indices;
            for place in (0..counts.len()).rev() {
                after[place] += 1;
                if after[place] < counts[place].1 {
                    next = Some(after);
                    break;
                }
                after[place] = 0;
            }
            Some(inner)
        })
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
    /// Expands one scope whose parameters are in `names`: parts, ports and wires.
    pub(super) fn scope(&mut self, scope: &'a Scope, at: &At<'a>, names: &Names) {
        let problems_before = self.problems.len();
        let counts = self.counts(scope, names);
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
            self.part(key, value, &at, names, &counts);
        }
        // Without its parts a scope has no ports: wires would only repeat the problem.
        if self.problems.has_errors() {
            return;
        }
        for (outer, inner) in &scope.ports {
            self.port(outer, inner, &at, names, &counts);
        }
        for (ends, terms) in &scope.wires {
            self.wire(ends, terms, &at, names, &counts);
        }
        for port in &scope.unwired {
            self.leave_unwired(port, &at, names, &counts);
        }
    }

    /// The parameters of a scope; `given` ones replace defaults.
    pub(super) fn parameters(&mut self, scope: &Scope, given: &[Field]) -> Names {
        let mut names = Names::default();
        for (name, default) in &scope.params {
            if is_keyword(&name.value) {
                let message = format!("a parameter cannot be called `{}`", name.value);
                let problem = name.error(message).hint("expressions use that word");
                self.problems.push(problem);
                continue;
            }
            let mut value = given
                .iter()
                .find(|field| field.name.text == name.value)
                .map_or_else(|| default.clone(), |field| field.value.clone());
            if self.problems.take(names.resolve(&mut value)).is_some() {
                names.env.define(&name.value, value.kind);
            }
        }
        names
    }

    /// The index variables, and how often each repeats what uses it.
    pub(super) fn counts<'s>(&mut self, scope: &'s Scope, names: &Names) -> Vec<(&'s str, i64)> {
        let mut counts = Vec::new();
        let most = self.limits.instances.max(self.limits.wires);
        for (name, count) in &scope.repeats {
            let mut count = count.clone();
            if self.problems.take(names.resolve(&mut count)).is_none() {
                continue;
            }
            let name = name.value.as_str();
            match count.as_int() {
                Some(n) if (0..=i128::from(most)).contains(&n) => {
                    counts.push((name, n as i64));
                }
                _ => self.problems.push(
                    Diagnostic::error(format!("`{name}` cannot run up to {}", count.describe()))
                        .at(&count.span)
                        .hint(format!("a repeat count is an integer from 0 to {most}")),
                ),
            }
        }
        counts
    }
}
