//! From a system file to a system of components: composites, repeats, wildcards, overrides.

pub(crate) mod address;
mod resolved;
pub(crate) mod system_file;

use std::collections::{BTreeMap, BTreeSet};

use warpweave_framework::{
    Environment, Frequency, Link, Origin, Registry, Simulation, SystemBuilder, connectable_names,
};
use warpweave_params::{
    Absent, Diagnostic, Diagnostics, Env, Field, Kind, Node, Override, Span, Struct, from_node,
    name_hint, resolve_expressions,
};

use self::address::{Pattern, field_path_of};
use self::resolved::ResolvedPart;
pub use self::resolved::ResolvedSystem;
use self::system_file::{Scope, SystemFile, WireSpec, key_text};

/// Most instances a description may ask for; more is taken for a slip.
const INSTANCES_MAX: usize = 4_000_000;

/// Problems shown at one place of a description.
const PROBLEMS_AT_A_PLACE: usize = 2;

/// An override of one field of one or more instances.
pub(crate) struct InstanceOverride {
    /// Instance path (wildcards allowed), a dot, and the field path.
    pub(crate) path: String,
    /// Where it was given.
    pub(crate) place: Span,
    /// The new value.
    pub(crate) value: Node,
}

/// A system ready to run, with what reports need to know about it.
pub struct ElaboratedSystem {
    /// The simulation at time zero.
    pub simulation: Simulation,
    /// The system as built.
    pub resolved: ResolvedSystem,
    /// Name of the clock that counts the cycles of a report.
    pub core_clock: String,
    /// One sentence.
    pub summary: String,
    /// Things that are legal but look unintended.
    pub warnings: Diagnostics,
}

/// Builds the system that `file` describes.
///
/// # Errors
/// Everything wrong with it, each with its place.
pub(crate) fn elaborate(
    file: &SystemFile,
    registry: &Registry,
    environment: &Environment,
    overrides: &[InstanceOverride],
) -> Result<ElaboratedSystem, Diagnostics> {
    let mut elaborator = Elaborator {
        file,
        registry,
        environment,
        overrides,
        used: vec![false; overrides.len()],
        builder: SystemBuilder::new(),
        clocks: BTreeMap::new(),
        places: Vec::new(),
        problems: Diagnostics::new(),
        aliases: BTreeMap::new(),
        addresses: Vec::new(),
        known_addresses: BTreeSet::new(),
        instances: BTreeSet::new(),
        resolved_parts: Vec::new(),
        resolved_wires: Vec::new(),
        modules_used: BTreeSet::new(),
    };
    elaborator.run()
}

struct Elaborator<'a> {
    file: &'a SystemFile,
    registry: &'a Registry,
    environment: &'a Environment,
    overrides: &'a [InstanceOverride],
    used: Vec<bool>,
    builder: SystemBuilder,
    clocks: BTreeMap<String, warpweave_framework::ClockId>,
    /// Places by [`Origin`] number.
    places: Vec<Span>,
    problems: Diagnostics,
    /// Ports of modules: full outer address to full inner address.
    aliases: BTreeMap<String, String>,
    /// Every address a wire can name, in the order of declaration.
    addresses: Vec<String>,
    /// The same, to look one up.
    known_addresses: BTreeSet<String>,
    /// Paths of component and module instances.
    instances: BTreeSet<String>,
    resolved_parts: Vec<ResolvedPart>,
    resolved_wires: Vec<(String, Node)>,
    modules_used: BTreeSet<String>,
}

/// Names and values visible in a scope.
#[derive(Clone, Default)]
struct Names {
    integers: Env,
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
    fn resolve(&self, node: &mut Node) -> Result<(), Diagnostics> {
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
}

/// Where a scope stands in the hierarchy.
struct At<'m> {
    /// Path of the enclosing instance with a dot, or empty.
    prefix: String,
    clock: String,
    /// Modules being expanded, outermost first.
    stack: Vec<&'m str>,
}

impl<'a> Elaborator<'a> {
    fn run(&mut self) -> Result<ElaboratedSystem, Diagnostics> {
        self.read_clocks();
        let core = self.file.core.as_str().unwrap_or_default().to_owned();
        self.check_clock(&core, &self.file.core.span);
        for name in self.file.modules.keys() {
            if self.registry.get(name).is_some() {
                let place = &self.file.modules[name].name_span;
                let message = format!("`{name}` is the name of a component kind already");
                self.problems.push(Diagnostic::error(message).at(place));
            }
        }
        let at = At {
            prefix: String::new(),
            clock: core.clone(),
            stack: Vec::new(),
        };
        let file = self.file;
        self.scope(&file.scope, &at, &Names::default(), &[]);
        self.check_overrides();
        let this = self;
        if this.problems.has_errors() {
            return Err(std::mem::take(&mut this.problems));
        }
        let simulation = std::mem::take(&mut this.builder)
            .elaborate()
            .map_err(|errors| this.locate(errors))?;
        for warning in simulation.warnings() {
            this.problems.push(Diagnostic::warning(warning));
        }
        for (name, module) in &file.modules {
            if !this.modules_used.contains(name) {
                let message = format!("module `{name}` is never used");
                this.problems
                    .push(Diagnostic::warning(message).at(&module.name_span));
            }
        }
        Ok(ElaboratedSystem {
            simulation,
            resolved: ResolvedSystem {
                summary: file.summary.clone(),
                core: core.clone(),
                clocks: file.clocks.clone(),
                parts: std::mem::take(&mut this.resolved_parts),
                wires: std::mem::take(&mut this.resolved_wires),
            },
            core_clock: core,
            summary: file.summary.clone(),
            warnings: std::mem::take(&mut this.problems),
        })
    }

    fn read_clocks(&mut self) {
        for (name, node) in &self.file.clocks {
            if let Some(frequency) = self.problems.take(from_node::<Frequency>(node)) {
                self.clocks
                    .insert(name.clone(), self.builder.clock(name, frequency));
            }
        }
    }

    fn check_clock(&mut self, name: &str, place: &Span) -> bool {
        let known = self.file.clocks.iter().any(|(clock, _)| clock == name);
        if !known {
            let names = self.file.clocks.iter().map(|(clock, _)| clock.as_str());
            let message = format!("there is no clock `{name}`");
            let hint = name_hint(name, "clocks", names);
            self.problems
                .push(Diagnostic::error(message).at(place).hint(hint));
        }
        known
    }

    /// Expands one scope: its parameters (`given` ones replace defaults), parts, ports and wires.
    fn scope(&mut self, scope: &'a Scope, at: &At<'a>, outer: &Names, given: &[Field]) {
        let problems_before = self.problems.len();
        let mut names = Names {
            integers: Env::new(),
            values: outer.values.clone(),
        };
        for (name, default) in &scope.params {
            let mut value = given
                .iter()
                .find(|field| field.name.text == *name)
                .map_or_else(|| default.clone(), |field| field.value.clone());
            if self.problems.take(names.resolve(&mut value)).is_some() {
                names.set(name, &value);
            }
        }
        let mut counts = Vec::new();
        for (name, count) in &scope.repeats {
            let mut count = count.clone();
            if self.problems.take(names.resolve(&mut count)).is_none() {
                continue;
            }
            match count.as_int() {
                Some(n) if (0..=INSTANCES_MAX as i128).contains(&n) => {
                    counts.push((name.as_str(), n as i64));
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
        let mut at = At {
            prefix: at.prefix.clone(),
            clock: at.clock.clone(),
            stack: at.stack.clone(),
        };
        if let Some(clock) = &scope.clock
            && let Some(name) = key_text(clock, &mut self.problems)
            && self.check_clock(name, &clock.span)
        {
            name.clone_into(&mut at.clock);
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

    /// Every assignment of the index variables that `used` names, in row-major order.
    fn assignments(used: &BTreeSet<String>, names: &Names, counts: &[(&str, i64)]) -> Vec<Names> {
        let mut all = vec![names.clone()];
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

    fn part(
        &mut self,
        key: &Node,
        value: &'a Node,
        at: &At<'a>,
        names: &Names,
        counts: &[(&str, i64)],
    ) {
        let Some(text) = key_text(key, &mut self.problems) else {
            return;
        };
        let Some(pattern) = self.problems.take(Pattern::parse(text, &key.span)) else {
            return;
        };
        if pattern.has_wildcard() {
            let message = format!("`{text}` names a part; `[*]` is for wires and overrides");
            self.problems.push(
                Diagnostic::error(message)
                    .at(&key.span)
                    .hint("repeat it with `for`"),
            );
            return;
        }
        for names in Self::assignments(&pattern.variables(), names, counts) {
            if self.instances.len() >= INSTANCES_MAX {
                let message = format!("the system has more than {INSTANCES_MAX} parts");
                self.problems.push(Diagnostic::error(message).at(&key.span));
                return;
            }
            let evaluated = pattern.evaluate(&names.integers, &key.span);
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

    fn instance(&mut self, path: String, key: &Node, value: &'a Node, at: &At<'a>, names: &Names) {
        const RESERVED: [&str; 6] = [
            "workload",
            "params",
            "limits",
            "emulation",
            "seed",
            "energy",
        ];
        if RESERVED.contains(&path.as_str()) {
            let message = format!("a part cannot be called `{path}`: overrides use that name");
            self.problems.push(Diagnostic::error(message).at(&key.span));
            return;
        }
        if !self.instances.insert(path.clone()) {
            let message = format!("two parts are called `{path}`");
            self.problems.push(Diagnostic::error(message).at(&key.span));
            return;
        }
        let mut node = value.clone();
        if self.problems.take(names.resolve(&mut node)).is_none() {
            return;
        }
        let Some(kind) = node.name().cloned() else {
            let message = format!("expected a component or module, found {}", node.describe());
            let hint = "write `Kind(field: value, ...)`";
            self.problems
                .push(Diagnostic::error(message).at(&node.head_span()).hint(hint));
            return;
        };
        // A bare `Kind` is a kind without fields.
        if matches!(node.kind, Kind::Name(_)) {
            node.kind = Kind::Struct(Struct {
                name: Some(kind.clone()),
                fields: Vec::new(),
            });
        }
        match self.file.modules.get_key_value(&kind.text) {
            Some((name, module)) => {
                self.modules_used.insert(name.clone());
                if at.stack.contains(&name.as_str()) {
                    let chain = [&at.stack[..], &[name.as_str()]].concat().join(" -> ");
                    let message = format!("module `{name}` contains itself: {chain}");
                    self.problems
                        .push(Diagnostic::error(message).at(&kind.span));
                    return;
                }
                if !self.override_fields(&path, &mut node, Some(&module.scope)) {
                    return;
                }
                for field in node.fields() {
                    if !module
                        .scope
                        .params
                        .iter()
                        .any(|(p, _)| *p == field.name.text)
                    {
                        let known = module.scope.params.iter().map(|(p, _)| p.as_str());
                        let hint =
                            name_hint(&field.name.text, &format!("parameters of {name}"), known);
                        let message =
                            format!("module {name} has no parameter `{}`", field.name.text);
                        self.problems
                            .push(Diagnostic::error(message).at(&field.name.span).hint(hint));
                        return;
                    }
                }
                let mut stack = at.stack.clone();
                stack.push(name);
                let inner = At {
                    prefix: format!("{path}."),
                    clock: at.clock.clone(),
                    stack,
                };
                self.scope(&module.scope, &inner, names, node.fields());
            }
            None => self.component(path, key, node, at),
        }
    }

    fn component(&mut self, path: String, key: &Node, mut node: Node, at: &At<'a>) {
        if !self.override_fields(&path, &mut node, None) {
            return;
        }
        let clock = take_field(&mut node, "clock");
        let clock_name = match &clock {
            Some(clock) => {
                let Some(name) = key_text(clock, &mut self.problems) else {
                    return;
                };
                if !self.check_clock(name, &clock.span) {
                    return;
                }
                name.to_owned()
            }
            None => at.clock.clone(),
        };
        let Some(clock_id) = self.clocks.get(&clock_name).copied() else {
            return;
        };
        if let Some(name) = node.name()
            && self.registry.get(&name.text).is_none()
        {
            let kinds = self.registry.kinds().map(|k| k.name);
            let modules = self.file.modules.keys().map(String::as_str);
            let known: Vec<_> = modules.chain(kinds).collect();
            let hint = name_hint(&name.text, "modules and component kinds", known);
            let message = format!("there is no module or component kind `{}`", name.text);
            self.problems
                .push(Diagnostic::error(message).at(&name.span).hint(hint));
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
        let kind = node.name().map_or(String::new(), |n| n.text.clone());
        let origin = self.origin(&key.span);
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

    fn port(
        &mut self,
        outer: &Node,
        inner: &Node,
        at: &At<'a>,
        names: &Names,
        counts: &[(&str, i64)],
    ) {
        let (Some(outer_text), Some(inner_text)) = (
            key_text(outer, &mut self.problems),
            key_text(inner, &mut self.problems),
        ) else {
            return;
        };
        let patterns = (
            self.problems.take(Pattern::parse(outer_text, &outer.span)),
            self.problems.take(Pattern::parse(inner_text, &inner.span)),
        );
        let (Some(outer_pattern), Some(inner_pattern)) = patterns else {
            return;
        };
        for names in Self::assignments(&outer_pattern.variables(), names, counts) {
            let ends = (
                self.problems
                    .take(outer_pattern.evaluate(&names.integers, &outer.span)),
                self.problems
                    .take(inner_pattern.evaluate(&names.integers, &inner.span)),
            );
            let (Some(outer_name), Some(inner_name)) = ends else {
                return;
            };
            let from = format!("{}{}", at.prefix, outer_name.text());
            let to = format!("{}{}", at.prefix, inner_name.text());
            if !self.known_addresses.contains(&to) {
                self.unknown_address(&inner_name.text(), &at.prefix, &inner.span);
                return;
            }
            self.add_address(from.clone());
            self.aliases.insert(from, to);
        }
    }

    fn add_address(&mut self, address: String) {
        self.known_addresses.insert(address.clone());
        self.addresses.push(address);
    }

    fn unknown_address(&mut self, name: &str, prefix: &str, place: &Span) {
        let known = self.addresses.iter().filter_map(|a| a.strip_prefix(prefix));
        let message = format!("`{name}` names no port");
        let hint = warpweave_params::nearest(name, known).map(|n| format!("did you mean `{n}`?"));
        let diagnostic = Diagnostic::error(message).at(place);
        self.problems.push(match hint {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic.hint("ports are named `part.port`"),
        });
    }

    fn wire(
        &mut self,
        ends: &Node,
        terms: &Node,
        at: &At<'a>,
        names: &Names,
        counts: &[(&str, i64)],
    ) {
        let Some(text) = key_text(ends, &mut self.problems) else {
            return;
        };
        let Some((left, right)) = text.split_once("<->") else {
            let message = format!("`{text}` does not say what it joins");
            let hint = "write `part.port <-> part.port`";
            self.problems
                .push(Diagnostic::error(message).at(&ends.span).hint(hint));
            return;
        };
        let patterns = (
            self.problems.take(Pattern::parse(left, &ends.span)),
            self.problems.take(Pattern::parse(right, &ends.span)),
        );
        let (Some(left), Some(right)) = patterns else {
            return;
        };
        let used: BTreeSet<_> = left
            .variables()
            .union(&right.variables())
            .cloned()
            .collect();
        for names in Self::assignments(&used, names, counts) {
            let mut terms = terms.clone();
            if self.problems.take(names.resolve(&mut terms)).is_none() {
                return;
            }
            let Some(spec) = self.problems.take(from_node::<WireSpec>(&terms)) else {
                return;
            };
            let pair = (
                self.problems
                    .take(left.evaluate(&names.integers, &ends.span)),
                self.problems
                    .take(right.evaluate(&names.integers, &ends.span)),
            );
            let (Some(left), Some(right)) = pair else {
                return;
            };
            let (lefts, rights) = (
                self.expand(&left, &at.prefix),
                self.expand(&right, &at.prefix),
            );
            if lefts.len() != rights.len() || lefts.is_empty() {
                let message = format!(
                    "`{}` names {} ports and `{}` names {}",
                    left.text(),
                    lefts.len(),
                    right.text(),
                    rights.len()
                );
                let hint = "wildcards are joined one to one, in the order of their indices";
                self.problems
                    .push(Diagnostic::error(message).at(&ends.span).hint(hint));
                return;
            }
            for (a, b) in lefts.into_iter().zip(rights) {
                self.connect(&a, &b, spec, ends, &terms);
            }
        }
    }

    /// The full addresses that a pattern names; without wildcards the address itself, known or not.
    fn expand(&self, pattern: &Pattern, prefix: &str) -> Vec<String> {
        if !pattern.has_wildcard() {
            return vec![format!("{prefix}{}", pattern.text())];
        }
        let mut found: Vec<(Vec<u64>, &String)> = self
            .addresses
            .iter()
            .filter_map(|a| Some((pattern.matches(a.strip_prefix(prefix)?)?, a)))
            .collect();
        found.sort();
        found
            .into_iter()
            .map(|(_, address)| address.clone())
            .collect()
    }

    fn connect(&mut self, a: &str, b: &str, spec: WireSpec, ends: &Node, terms: &Node) {
        let inner = |address: &str| {
            let mut address = address.to_owned();
            while let Some(next) = self.aliases.get(&address) {
                address.clone_from(next);
            }
            address
        };
        let (a, b) = (inner(a), inner(b));
        let origin = self.origin(&ends.span);
        self.builder
            .connect_from(&a, &b, Link::from(spec), Some(origin));
        self.resolved_wires
            .push((format!("{a} <-> {b}"), terms.clone()));
    }

    fn origin(&mut self, place: &Span) -> Origin {
        self.places.push(place.clone());
        Origin(self.places.len() as u32 - 1)
    }

    /// Applies the overrides that name this instance; for a module only those of its own
    /// parameters. False when one of them is wrong.
    fn override_fields(&mut self, path: &str, node: &mut Node, module: Option<&Scope>) -> bool {
        for (i, replacement) in self.overrides.iter().enumerate() {
            let Some(field) = field_path_of(&replacement.path, path) else {
                continue;
            };
            let first = field.split(['.', '[']).next().unwrap_or(field);
            if let Some(scope) = module
                && !scope.params.iter().any(|(name, _)| name == first)
            {
                continue;
            }
            self.used[i] = true;
            let applied = Override::of_value(field, &replacement.place, replacement.value.clone())
                .and_then(|o| o.apply(node, Absent::Insert).map_err(Diagnostics::from));
            if self.problems.take(applied).is_none() {
                return false;
            }
        }
        true
    }

    fn check_overrides(&mut self) {
        for (replacement, used) in self.overrides.iter().zip(&self.used) {
            if *used || self.problems.has_errors() {
                continue;
            }
            let path = &replacement.path;
            let wanted = path
                .rsplit_once('.')
                .map_or(path.as_str(), |(instance, _)| instance);
            let message = format!("`{path}` matches no instance");
            let known = self.instances.iter().map(String::as_str);
            let hint = match warpweave_params::nearest(wanted, known) {
                Some(name) => format!("did you mean `{name}`?"),
                None => "paths are `instance.field`, such as `cluster[*].l1.ways`; `check` lists \
                         the instances"
                    .to_owned(),
            };
            self.problems
                .push(Diagnostic::error(message).at(&replacement.place).hint(hint));
        }
    }

    fn locate(&self, errors: warpweave_framework::ElaborationErrors) -> Diagnostics {
        let mut problems = Diagnostics::new();
        let mut at_place: BTreeMap<(String, u32), usize> = BTreeMap::new();
        for error in errors.0 {
            if let Some(Origin(number)) = error.origin {
                // A repeated part or wire has the same problem every time.
                let place = &self.places[number as usize];
                let place = (place.source.name().to_owned(), place.start);
                let shown = at_place.entry(place).or_default();
                *shown += 1;
                if *shown > PROBLEMS_AT_A_PLACE {
                    continue;
                }
            }
            let mut diagnostic = Diagnostic::error(error.message);
            // Without an origin it is the clocks that do not go together.
            let origin = error
                .origin
                .map(|Origin(number)| &self.places[number as usize]);
            if let Some(place) = origin.or_else(|| self.file.clocks.first().map(|(_, c)| &c.span)) {
                diagnostic = diagnostic.at(place);
            }
            if let Some(hint) = error.hint {
                diagnostic = diagnostic.hint(hint);
            }
            problems.push(diagnostic);
        }
        problems
    }
}

fn take_field(node: &mut Node, name: &str) -> Option<Node> {
    let Kind::Struct(value) = &mut node.kind else {
        return None;
    };
    let at = value
        .fields
        .iter()
        .position(|field| field.name.text == name)?;
    Some(value.fields.remove(at).value)
}
