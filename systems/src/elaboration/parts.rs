//! Parts: the instances of components and modules.

use warpweave_framework::connectable_names;
use warpweave_params::{
    Diagnostic, NESTING_MAX, Name, Node, Placed, from_node, name_hint, nested_too_deep,
};

use super::address::Pattern;
use super::presets::as_struct;
use super::resolved::ResolvedPart;
use super::scope::{At, Names};
use super::sizes::repetitions;
use super::system_file::Scope;
use super::{Elaborator, take_field};

/// Names by which overrides call something else.
const RESERVED: [&str; 10] = [
    "clocks",
    "workload",
    "params",
    "limits",
    "emulation",
    "profile",
    "region",
    "seed",
    "size",
    "energy",
];

/// Bytes of a part beside its names, its description and what its component keeps.
const PART_BYTES: u64 = 2 << 10;

/// Times that the path of a part is kept: for itself, its ports and its wires.
const PART_PATHS: u64 = 12;

impl<'a> Elaborator<'a> {
    /// Makes every instance that an address names.
    pub(super) fn part(
        &mut self,
        key: &Placed<String>,
        value: &'a Node,
        at: &At<'a>,
        names: &Names,
        counts: &[(&str, i64)],
    ) {
        let Some(pattern) = self.problems.take(Pattern::parse(&key.value, key)) else {
            return;
        };
        if pattern.has_wildcard() {
            let message = format!(
                "`{}` names a part; `[*]` is for wires and overrides",
                key.value
            );
            let problem = key.error(message).hint("repeat it with `for`");
            return self.problems.push(problem);
        }
        let used = pattern.variables();
        if !self.may_add_parts(repetitions(&used, counts), key) {
            return;
        }
        for names in names.assignments(&used, counts) {
            let evaluated = pattern.evaluate(&names.env, key);
            let Some(name) = self.problems.take(evaluated) else {
                return;
            };
            let path = format!("{}{}", at.prefix, name.text());
            let errors_before = self.problems.len();
            self.instance(path, key, value, at, &names);
            if self.problems.len() > errors_before {
                // The other repetitions would say the same.
                return;
            }
        }
    }

    fn instance(
        &mut self,
        path: String,
        key: &Placed<String>,
        value: &Node,
        at: &At<'a>,
        names: &Names,
    ) {
        if RESERVED.contains(&path.as_str()) {
            let message = format!("a part cannot be called `{path}`: overrides use that name");
            return self.problems.push(key.error(message));
        }
        let mut node = value.clone();
        // A parameter may hold the whole part.
        if node.as_str().is_some() && self.problems.take(names.resolve(&mut node)).is_none() {
            return;
        }
        node = as_struct(node);
        let module = node
            .name()
            .and_then(|kind| self.file.modules.get(&kind.text));
        let is_param =
            |name: &str| module.is_some_and(|(_, scope)| scope.params.get(name).is_some());
        let first = |name: &str, _: bool| matches!(name, "if" | "preset") && !is_param(name);
        if !self.override_fields(&path, &mut node, names, first) {
            return;
        }
        if let Some(condition) = take_field(&mut node, "if") {
            match self.problems.take(names.holds(condition)) {
                Some(true) => {}
                Some(false) => {
                    self.absent.insert(path);
                    return;
                }
                None => return,
            }
        }
        if !self.instances.insert(path.clone()) {
            let message = format!("two parts are called `{path}`");
            return self.problems.push(key.error(message));
        }
        if let Some(kind) = node.name().cloned()
            && !is_param("preset")
        {
            let begun = self.with_preset(&kind, &mut node, names);
            if self.problems.take(begun).is_none() {
                return;
            }
        }
        if self.problems.take(names.resolve(&mut node)).is_none() {
            return;
        }
        let Some(kind) = node.name().cloned() else {
            let message = format!("expected a component or module, found {}", node.describe());
            let problem = Diagnostic::error(message).at(&node.head_span());
            return self
                .problems
                .push(problem.hint("write `Kind(field: value, ...)`"));
        };
        match self.file.modules.get(&kind.text) {
            Some((name, module)) => {
                let module = (name.value.as_str(), module);
                self.module(&path, &kind, node, module, at, names);
            }
            None => self.component(path, key, node, at, names),
        }
    }

    /// Expands a module under `path`.
    fn module(
        &mut self,
        path: &str,
        kind: &Name,
        mut node: Node,
        (name, scope): (&'a str, &'a Scope),
        at: &At<'a>,
        names: &Names,
    ) {
        self.modules_used.insert(name);
        if at.stack.contains(&name) {
            let chain = [&at.stack[..], &[name]].concat().join(" -> ");
            let message = format!("module `{name}` contains itself: {chain}");
            return self
                .problems
                .push(Diagnostic::error(message).at(&kind.span));
        }
        if at.stack.len() == NESTING_MAX {
            let problem = Diagnostic::error(format!("modules {}", nested_too_deep()));
            return self.problems.push(problem.at(&kind.span));
        }
        // A part inside may be called as a parameter is.
        let is_part = |name: &str| {
            let mut parts = scope.parts.names();
            parts.any(|part| {
                part.split('[')
                    .next()
                    .is_some_and(|part| part.trim() == name)
            })
        };
        let of_module = |name: &str, goes_on: bool| {
            scope.params.get(name).is_some() && !(goes_on && is_part(name))
        };
        if !self.override_fields(path, &mut node, names, of_module) {
            return;
        }
        for field in node.fields() {
            let given = &field.name.text;
            if scope.params.get(given).is_none() {
                let hint = name_hint(
                    given,
                    &format!("parameters of {name}"),
                    scope.params.names(),
                );
                let message = format!("module {name} has no parameter `{given}`");
                let problem = Diagnostic::error(message).at(&field.name.span);
                return self.problems.push(problem.hint(hint));
            }
        }
        let mut stack = at.stack.clone();
        stack.push(name);
        let inner = At {
            prefix: format!("{path}."),
            clock: at.clock.clone(),
            stack,
        };
        let problems_before = self.problems.len();
        let names = self.parameters(scope, node.fields());
        // Parts would only repeat that a name is unknown.
        if self.problems.len() == problems_before {
            self.scope(scope, &inner, &names);
        }
    }

    fn component(
        &mut self,
        path: String,
        key: &Placed<String>,
        mut node: Node,
        at: &At<'a>,
        names: &Names,
    ) {
        let later = |name: &str, _: bool| !matches!(name, "if" | "preset");
        if !self.override_fields(&path, &mut node, names, later) {
            return;
        }
        let clock_name = match take_field(&mut node, "clock") {
            Some(clock) => {
                let clock = self.problems.take(from_node::<Placed<String>>(&clock));
                match clock {
                    Some(clock) if self.check_clock(&clock) => clock.value,
                    _ => return,
                }
            }
            None => at.clock.clone(),
        };
        let Some(clock_id) = self.clocks.get(&clock_name).copied() else {
            return;
        };
        if let Some(name) = node.name()
            && self.registry.get(&name.text).is_none()
        {
            let kinds = self.registry.kinds().map(|kind| kind.name);
            let mut known: Vec<_> = self.file.modules.names().collect();
            known.sort_unstable();
            known.extend(kinds);
            let hint = name_hint(&name.text, "modules and component kinds", known);
            let message = format!("there is no module or component kind `{}`", name.text);
            let problem = Diagnostic::error(message).at(&name.span);
            return self.problems.push(problem.hint(hint));
        }
        let bytes = PART_BYTES + PART_PATHS * path.len() as u64 + 2 * node.bytes();
        if !self.may_keep(&path, bytes, key) {
            return;
        }
        let environment = self.environment.for_instance(&path);
        let built = self.registry.build(&node, &environment);
        let Some(mut built) = self.problems.take(built) else {
            return;
        };
        for name in connectable_names(&mut *built.component) {
            self.add_address(format!("{path}.{name}"));
        }
        let kind = node.name().map_or(String::new(), |name| name.text.clone());
        let origin = self.origin(key, Some(self.resolved_parts.len()));
        self.builder
            .add_boxed(path.clone(), &kind, clock_id, built.component, Some(origin));
        self.resolved_parts.push(ResolvedPart {
            path,
            kind,
            clock: clock_name,
            description: node,
            resolve: built.resolve,
        });
    }
}
