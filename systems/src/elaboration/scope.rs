//! Scopes of a system: visible names, and expansion of their contents.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use warpweave_params::{
    Diagnostic, Diagnostics, Env, Field, Kind, Node, eval, is_keyword, resolve_expressions,
};

use super::Elaborator;
use super::system_file::Scope;

/// Names visible in a scope, with their values.
#[derive(Clone, Default)]
pub(super) struct Names {
    pub(super) env: Env,
}

impl Names {
    /// Replaces every `"=expression"` in the node by its value.
    pub(super) fn resolve(&self, node: &mut Node) -> Result<(), Diagnostics> {
        resolve_expressions(node, &self.env)
    }

    /// Returns the value of an expression if it is an integer.
    pub(super) fn number(&self, written: &Node) -> Option<Node> {
        let expression = written.as_str()?.strip_prefix('=')?;
        let value = eval(expression, &self.env).ok();
        let value = value.filter(|value| matches!(value, Kind::Int(_)));
        value.map(|value| Node::new(value, written.span.clone()))
    }

    /// Evaluates a condition, which must give `true` or `false`.
    pub(super) fn holds(&self, mut condition: Node) -> Result<bool, Diagnostics> {
        self.resolve(&mut condition)?;
        match condition.kind {
            Kind::Bool(holds) => Ok(holds),
            _ => Err(Diagnostic::error(format!(
                "a condition must be `true` or `false`, found {}",
                condition.describe()
            ))
            .at(&condition.span)
            .hint("such as `if: \"=units > 1\"`, or a parameter that is `true` or `false`")
            .into()),
        }
    }

    /// Returns every assignment of the index variables in `used`, in row-major order.
    pub(super) fn assignments<'n>(
        &'n self,
        used: &BTreeSet<String>,
        counts: &[(&'n str, i64)],
    ) -> Assignments<'n> {
        let counts = counts.iter().filter(|(name, _)| used.contains(*name));
        let counts: Vec<_> = counts.copied().collect();
        Assignments {
            names: Cow::Borrowed(self),
            indices: vec![0; counts.len()],
            left: counts.iter().all(|(_, count)| *count > 0),
            begun: false,
            counts,
        }
    }
}

/// Iteration over assignments of index variables.
pub(super) struct Assignments<'n> {
    names: Cow<'n, Names>,
    counts: Vec<(&'n str, i64)>,
    indices: Vec<i64>,
    /// True if there is another assignment.
    left: bool,
    begun: bool,
}

impl Assignments<'_> {
    /// Returns the names with the next assignment.
    pub(super) fn next(&mut self) -> Option<&Names> {
        if !self.left {
            return None;
        }
        // Of the first one every index is new, of the others those from here on.
        let mut changed = 0;
        if self.begun {
            changed = self.step()?;
        }
        self.begun = true;
        let pairs = self.counts.iter().zip(&self.indices);
        for ((name, _), index) in pairs.skip(changed) {
            self.names.to_mut().env.set(*name, *index);
        }
        Some(&self.names)
    }

    /// Advances to the next indices. Returns the first index that changes.
    fn step(&mut self) -> Option<usize> {
        for place in (0..self.counts.len()).rev() {
            self.indices[place] += 1;
            if self.indices[place] < self.counts[place].1 {
                return Some(place);
            }
            self.indices[place] = 0;
        }
        self.left = false;
        None
    }
}

/// Position of a scope in the hierarchy.
pub(super) struct ScopePath<'m> {
    /// Path of the enclosing instance with a trailing dot, or empty.
    pub(super) prefix: String,
    pub(super) clock: Arc<str>,
    /// Names of the modules being expanded, outermost first.
    pub(super) stack: Vec<&'m str>,
    /// Index of the scope's cached state.
    pub(super) memory: usize,
    /// Number of the first address declared in the scope.
    pub(super) first_address: usize,
}

impl<'a> Elaborator<'a> {
    /// Expands one scope whose parameters are in `names`: parts, ports and wires.
    pub(super) fn scope(&mut self, scope: &'a Scope, at: &ScopePath<'a>, names: &Names) {
        let problems_before = self.problems.len();
        let counts = self.counts(scope, names);
        let mut at = ScopePath {
            prefix: at.prefix.clone(),
            clock: Arc::clone(&at.clock),
            stack: at.stack.clone(),
            ..*at
        };
        if let Some(clock) = &scope.clock
            && self.check_clock(clock)
        {
            at.clock = clock.value.as_str().into();
        }
        // Parts would only repeat that a name is unknown.
        if self.problems.len() > problems_before {
            return;
        }
        for (number, (key, value)) in scope.parts.iter().enumerate() {
            self.part(number, key, value, &at, names, &counts);
        }
        // Without its parts a scope has no ports: wires would only repeat the problem.
        if self.problems.has_errors() {
            return;
        }
        for (number, (outer, inner)) in scope.ports.iter().enumerate() {
            self.port(number, (outer, inner), &at, names, &counts);
        }
        for (number, (ends, terms)) in scope.wires.iter().enumerate() {
            self.wire(number, ends, terms, &at, names, &counts);
        }
        for port in &scope.unwired {
            self.leave_unwired(port, &at, names, &counts);
        }
    }

    /// Evaluates the parameters of a scope; `given` values replace defaults.
    pub(super) fn parameters(&mut self, scope: &Scope, given: &[Field]) -> Names {
        let mut names = Names::default();
        for (name, default) in &scope.params {
            if is_keyword(&name.value) {
                let message = format!("a parameter cannot be called `{}`", name.value);
                let problem = name
                    .error(message)
                    .hint("it is a reserved word in expressions");
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

    /// Returns the index variables with their repeat counts.
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
                    Diagnostic::error(format!(
                        "invalid repeat count for `{name}`: {}",
                        count.describe()
                    ))
                    .at(&count.span)
                    .hint(format!(
                        "a repeat count must be an integer from 0 to {most}"
                    )),
                ),
            }
        }
        counts
    }
}
