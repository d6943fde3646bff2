//! Elaboration of parts: the instances of components and modules.

use std::sync::Arc;

use warpweave_framework::{Built, PortList, Specification};
use warpweave_params::{
    Diagnostic, Diagnostics, NESTING_MAX, Name, Node, Placed, from_node, name_hint, names_in,
    nested_too_deep,
};

use super::partial::NewPart;
use super::presets::as_struct;
use super::repetition::{Description, PartMemory, Template};
use super::scope::{Names, ScopePath};
use super::sizes::repetitions;
use super::system_file::{Scope, SystemFile};
use super::{Elaborator, take_field};
use crate::address::Pattern;

/// Names that overrides use for something other than an instance.
const RESERVED: [&str; 12] = [
    "clocks",
    "workload",
    "params",
    "limits",
    "emulation",
    "profile",
    "locality",
    "work_groups",
    "region",
    "seed",
    "size",
    "energy",
];

/// Bytes charged for a part, besides its names, its description and the memory of its component.
const PART_BYTES: u64 = 2 << 10;

/// Number of stored copies of a part's path: for itself, its ports and its wires.
const PART_PATHS: u64 = 12;

/// Data of a part that is known once one of its instances was created.
#[derive(Default)]
struct BuiltPart {
    /// Clock that the part names, if any.
    clock: Option<Arc<str>>,
    /// Description as written, shared with the other repetitions.
    written: Option<Node>,
    /// Parsed description and ports, for components only.
    read: Option<(Specification, Arc<PortList>)>,
}

impl<'a> Elaborator<'a> {
    /// Creates every instance named by the address of part `number` of its scope.
    pub(super) fn part(
        &mut self,
        number: usize,
        key: &Placed<String>,
        value: &'a Node,
        at: &ScopePath<'a>,
        names: &Names,
        counts: &[(&str, i64)],
    ) {
        let mut memory = std::mem::take(&mut self.memories[at.memory].parts[number]);
        self.repeated(key, value, at, names, counts, &mut memory);
        self.memories[at.memory].parts[number] = memory;
    }

    fn repeated(
        &mut self,
        key: &Placed<String>,
        value: &'a Node,
        at: &ScopePath<'a>,
        names: &Names,
        counts: &[(&str, i64)],
        memory: &mut PartMemory,
    ) {
        let PartMemory { name, template } = memory;
        if name.is_none() {
            let parsed = self.problems.take(Pattern::parse(&key.value, key));
            *name = parsed.map(|pattern| {
                let used = pattern.variables();
                (pattern, used)
            });
        }
        let Some((pattern, used)) = name else {
            return;
        };
        if pattern.has_wildcard() {
            let message = format!(
                "`{}` is the name of a part; `[*]` is allowed only in wires and overrides",
                key.value
            );
            let problem = key.error(message).hint("repeat it with `for`");
            return self.problems.push(problem);
        }
        if !self.may_add_parts(repetitions(used, counts), key) {
            return;
        }
        let mut assignments = names.assignments(used, counts);
        while let Some(names) = assignments.next() {
            let [path, _] = &mut self.texts;
            let named = pattern.address(path, &at.prefix, &names.env, key);
            let path: Arc<str> = path.as_str().into();
            if self.problems.take(named).is_none() {
                return;
            }
            let errors_before = self.problems.len();
            self.instance(path, key, value, at, names, template);
            if self.problems.len() > errors_before {
                // The other repetitions would say the same.
                return;
            }
        }
    }

    fn instance(
        &mut self,
        path: Arc<str>,
        key: &Placed<String>,
        value: &Node,
        at: &ScopePath<'a>,
        names: &Names,
        template: &mut Option<Template>,
    ) {
        if at.prefix.is_empty() && RESERVED.contains(&&*path) {
            let message = format!("a part cannot be called `{path}`: overrides use that name");
            return self.problems.push(key.error(message));
        }
        let changed = self.overrides.change(&path);
        if let Some(template) = template
            && !changed
        {
            return self.once_more(path, key, at, names, template);
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
        let applied = self.overrides.apply(&path, &mut node, names, first);
        if self.problems.take(applied).is_none() {
            return;
        }
        let condition = take_field(&mut node, "if");
        if let Some(condition) = condition.clone() {
            let holds = names.holds(condition);
            if !self.is_wanted(&path, holds) {
                return;
            }
        }
        if !self.may_call(&path, key) {
            return;
        }
        // Whether the description is the same for every repetition but for its expressions.
        let mut fixed = value.as_str().is_none() && !changed;
        if let Some(kind) = node.name().cloned()
            && !is_param("preset")
        {
            let begun = self.presets.apply(&kind, &mut node, names);
            let Some(chosen) = self.problems.take(begun) else {
                return;
            };
            fixed &= !chosen;
        }
        let written = fixed.then(|| node.clone());
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
        let is_module = self.file.modules.get(&kind.text).is_some();
        let mut made = BuiltPart {
            written,
            ..BuiltPart::default()
        };
        if !is_module {
            let Some(component) = self.component(path.clone(), key, &mut node, made, at, names)
            else {
                return;
            };
            made = component;
        }
        let known = made.written.and_then(|written| {
            let resolved = (&node, made.read);
            Template::new(&kind.text, condition, made.clock, written, resolved, names)
        });
        if known.is_some() {
            *template = known;
        }
        if is_module {
            self.module(&path, &kind, node, at, names);
        }
    }

    /// True if the condition of a part holds. Otherwise records the part as absent, or the problem
    /// with its condition.
    fn is_wanted(&mut self, path: &Arc<str>, holds: Result<bool, Diagnostics>) -> bool {
        let holds = self.problems.take(holds);
        if holds == Some(false) {
            self.absent.insert(Arc::clone(path));
        }
        holds == Some(true)
    }

    /// True if a part may have this name; otherwise records the problem.
    fn may_call(&mut self, path: &Arc<str>, key: &Placed<String>) -> bool {
        let new = self.instances.insert(Arc::clone(path));
        if !new {
            let message = format!("two parts are called `{path}`");
            self.problems.push(key.error(message));
        }
        new
    }

    /// Creates another instance from the template of one that was already built.
    fn once_more(
        &mut self,
        path: Arc<str>,
        key: &Placed<String>,
        at: &ScopePath<'a>,
        names: &Names,
        template: &mut Template,
    ) {
        if let Some((written, known)) = &mut template.condition {
            let holds = known.get(written, names, |node| names.holds(node));
            if !self.is_wanted(&path, holds.copied()) {
                return;
            }
        }
        if !self.may_call(&path, key) {
            return;
        }
        let described = template.describe(names);
        let Some(mut description) = self.problems.take(described) else {
            return;
        };
        if self.file.modules.get(&template.kind).is_some() {
            let node = description.node();
            if let Some(kind) = node.name().cloned() {
                self.module(&path, &kind, node, at, names);
            }
            return;
        }
        if !self.may_keep_part(&path, template.bytes, key) {
            return;
        }
        let environment = self.environment.for_instance(Arc::clone(&path));
        let built = template.build(&mut description, self.registry, &environment);
        let Some((built, ports)) = self.problems.take(built) else {
            return;
        };
        let clock = template.clock.as_ref().unwrap_or(&at.clock);
        let part = NewPart {
            path,
            kind: &template.kind,
            clock,
            description,
        };
        self.add_part(key, part, built, ports);
    }

    /// Expands a module with all its parts under `path`.
    fn module(
        &mut self,
        path: &str,
        kind: &Name,
        mut node: Node,
        at: &ScopePath<'a>,
        names: &Names,
    ) {
        let file: &'a SystemFile = self.file;
        let mut modules = file.modules.iter().enumerate();
        let module = modules.find(|(_, (name, _))| name.value == kind.text);
        let Some((number, (name, scope))) = module else {
            return;
        };
        let name: &'a str = &name.value;
        let scope: &'a Scope = scope;
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
        let applied = self.overrides.apply(path, &mut node, names, of_module);
        if self.problems.take(applied).is_none() {
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
        let inner = ScopePath {
            prefix: format!("{path}."),
            clock: Arc::clone(&at.clock),
            stack,
            // The first is that of the system.
            memory: number + 1,
            first_address: self.addresses.len(),
        };
        let problems_before = self.problems.len();
        let names = self.parameters(scope, node.fields());
        // Parts would only repeat that a name is unknown.
        if self.problems.len() == problems_before {
            self.scope(scope, &inner, &names);
        }
    }

    /// Creates the instance that `node` describes. Returns its clock, if it names one. Also returns
    /// the description as written without the clock, unless an expression chooses the clock.
    fn component(
        &mut self,
        path: Arc<str>,
        key: &Placed<String>,
        node: &mut Node,
        BuiltPart { mut written, .. }: BuiltPart,
        at: &ScopePath<'a>,
        names: &Names,
    ) -> Option<BuiltPart> {
        let later = |name: &str, _: bool| !matches!(name, "if" | "preset");
        let applied = self.overrides.apply(&path, node, names, later);
        self.problems.take(applied)?;
        let clock = match take_field(node, "clock") {
            Some(clock) => {
                let clock = self.problems.take(from_node::<Placed<String>>(&clock))?;
                self.check_clock(&clock).then_some(())?;
                Some(Arc::<str>::from(clock.value))
            }
            None => None,
        };
        let clock_as_written = written.as_mut().and_then(|node| take_field(node, "clock"));
        written = written.filter(|_| {
            let written = clock_as_written.as_ref();
            written.is_none_or(|written| names_in(written).is_none())
        });
        self.partial
            .clocks
            .get(&**clock.as_ref().unwrap_or(&at.clock))?;
        if let Some(name) = node.name()
            && self.registry.get(&name.text).is_none()
        {
            let kinds = self.registry.kinds().map(|kind| kind.name);
            let mut known: Vec<_> = self.file.modules.names().collect();
            known.sort_unstable();
            known.extend(kinds);
            let hint = name_hint(&name.text, "modules and component kinds", known);
            let message = format!("unknown module or component kind `{}`", name.text);
            let problem = Diagnostic::error(message).at(&name.span);
            self.problems.push(problem.hint(hint));
            return None;
        }
        if !self.may_keep_part(&path, node.bytes(), key) {
            return None;
        }
        let environment = self.environment.for_instance(Arc::clone(&path));
        let read = self.registry.read(node);
        let read = self.problems.take(read)?;
        let built = read.build(node, self.registry, &environment);
        let built = self.problems.take(built)?;
        let kind: Arc<str> = node.name().map_or("", |name| &name.text).into();
        let part = NewPart {
            path,
            kind: &kind,
            clock: clock.as_ref().unwrap_or(&at.clock),
            description: Description::from(node.clone()),
        };
        let ports = self.add_part(key, part, built, None)?;
        Some(BuiltPart {
            clock,
            written,
            read: Some((read, ports)),
        })
    }

    /// Charges the memory of a part whose description takes `bytes`. Returns false and records the
    /// problem if the limit is exceeded.
    fn may_keep_part(&mut self, path: &str, bytes: u64, key: &Placed<String>) -> bool {
        let bytes = PART_BYTES + PART_PATHS * path.len() as u64 + 2 * bytes;
        self.may_keep(path, bytes, key)
    }

    /// Adds a part, with its ports if they are known, and returns the ports.
    fn add_part(
        &mut self,
        key: &Placed<String>,
        part: NewPart<'_>,
        built: Built,
        ports: Option<Arc<PortList>>,
    ) -> Option<Arc<PortList>> {
        let clock = self.partial.clocks.get(&**part.clock).copied()?;
        let origin = self.origin(key, Some(self.partial.parts.len()));
        let path = Arc::clone(&part.path);
        let ports = self.partial.add_part(part, origin, clock, built, ports);
        self.addresses.add_part(path, Arc::clone(&ports));
        Some(ports)
    }
}
