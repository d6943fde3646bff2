//! Open registry of component kinds and policies that description files may name.
//!
//! | file | holds |
//! |---|---|
//! | this one | kinds by name, policies by role and name; from a description to a component |
//! | `kind` | what a kind must say, and what its builder is given |
//! | `policy` | what a role and a policy must say; fields of specifications that hold a policy |
//! | `preset` | descriptions that come with a kind |
//! | `fields` | the fields of a specification, in words of description files |
//!
//! It creates components ([`crate::component`]) one at a time; [`crate::engine`] wires them.

mod fields;
mod kind;
mod policy;
mod preset;

pub use fields::FieldDoc;
pub use kind::{Environment, Kind, SpecError};
pub use policy::{
    NeutralSpec, NoFields, Policy, PolicyContext, PolicyEntry, PolicyKind, PolicyRole,
};
pub use preset::Preset;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use warpweave_files::OVER_BUDGET_HINT;
use warpweave_params::{
    Diagnostic, Diagnostics, Node, Source, from_named, name_hint, parse, to_node_with,
};

use crate::component::Component;
use crate::registry::fields::list_fields;

/// Component kinds by name, policies by role and name. A clone shares the entries.
#[derive(Clone, Default)]
pub struct Registry {
    kinds: Arc<BTreeMap<&'static str, KindEntry>>,
    /// Summary and policies of each role.
    roles: Arc<BTreeMap<&'static str, RoleEntry>>,
}

/// One role with its summary and its policies.
#[derive(Clone)]
struct RoleEntry {
    summary: &'static str,
    policies: BTreeMap<&'static str, PolicyEntry>,
}

/// One component kind registered under its name.
#[derive(Clone)]
pub struct KindEntry {
    /// Name of the kind in description files.
    pub name: &'static str,
    /// Description of the kind in one sentence.
    pub summary: &'static str,
    /// Descriptions provided by the kind under a name.
    pub presets: &'static [Preset],
    read: fn(&Node) -> Result<Specification, Diagnostics>,
    schema: fn() -> schemars::Schema,
}

/// A description that was read, from which any number of components can be built.
#[derive(Clone)]
pub struct Specification {
    /// Value of the specification type of the kind.
    spec: Arc<dyn Any + Send + Sync>,
    build: fn(&dyn Any, &Node, &Environment) -> Result<Built, Diagnostics>,
    vary: fn(&dyn Any, &[(&str, &Node)]) -> Option<Arc<dyn Any + Send + Sync>>,
}

impl Specification {
    /// Returns the specification with other values of some fields, if its kind can change them
    /// without reading it again.
    pub fn varied(&self, fields: &[(&str, &Node)]) -> Option<Self> {
        Some(Self {
            spec: (self.vary)(&*self.spec, fields)?,
            ..self.clone()
        })
    }

    /// Builds a component; `node` is the description read, for the places in it.
    ///
    /// # Errors
    /// Returns an error, with its place, if the kind rejects a value.
    pub fn build(
        &self,
        node: &Node,
        registry: &Registry,
        environment: &Environment,
    ) -> Result<Built, Diagnostics> {
        (self.build)(&*self.spec, node, &environment.with_registry(registry))
    }
}

/// A component built from a description.
pub struct Built {
    /// The component that was built from the description.
    pub component: Box<dyn Component>,
    /// Writes the description it was built from, with every default filled in.
    pub resolve: fn(&Registry, &Node) -> Result<Node, Diagnostics>,
}

impl Registry {
    /// Creates a registry without any kinds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a kind of component to the registry.
    ///
    /// # Panics
    /// Panics if another kind of this name was added before, which is a programming error.
    pub fn register<K: Kind>(&mut self) {
        let entry = KindEntry {
            name: K::NAME,
            summary: K::SUMMARY,
            presets: K::PRESETS,
            read: read::<K>,
            schema: || schemars::schema_for!(K::Spec),
        };
        let before = Arc::make_mut(&mut self.kinds).insert(K::NAME, entry);
        assert!(
            before.is_none(),
            "the kind `{}` is registered twice",
            K::NAME
        );
    }

    /// Adds a policy to its role.
    ///
    /// # Panics
    /// Panics if another policy of the role with this name was added before, which is a programming
    /// error.
    pub fn register_policy<P: PolicyKind>(&mut self) {
        let role = Arc::make_mut(&mut self.roles)
            .entry(P::Role::NAME)
            .or_insert_with(|| RoleEntry {
                summary: P::Role::SUMMARY,
                policies: BTreeMap::new(),
            });
        let before = role.policies.insert(P::NAME, PolicyEntry::of::<P>());
        assert!(
            before.is_none(),
            "the policy `{}` of role {} is registered twice",
            P::NAME,
            P::Role::NAME
        );
    }

    /// Iterates over the names and summaries of all roles that have policies, in the order of their
    /// names.
    pub fn roles(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.roles.iter().map(|(name, role)| (*name, role.summary))
    }

    /// Iterates over the policies of a role in the order of their names; empty for an unknown role.
    pub fn policies(&self, role: &str) -> impl Iterator<Item = &PolicyEntry> {
        let role = self.roles.get(role).into_iter();
        role.flat_map(|role| role.policies.values())
    }

    /// Returns the policy of this role and name.
    pub fn policy(&self, role: &str, name: &str) -> Option<&PolicyEntry> {
        self.roles.get(role)?.policies.get(name)
    }

    /// Returns the policy that `node` names in a role.
    ///
    /// # Errors
    /// Returns an error if `node` is not a name, or if no policy of the role has this name, with
    /// the nearest one.
    pub fn policy_named(&self, role: &str, node: &Node) -> Result<&PolicyEntry, Diagnostic> {
        let known = || self.policies(role).map(|policy| policy.name);
        let Some(name) = node.name() else {
            let known: Vec<_> = known().collect();
            let message = format!("expected a {role}, found {}", node.describe());
            let place = node.head_span();
            let hint = match node.as_str().filter(|text| known.contains(text)) {
                Some(text) => format!("write `{text}` without quotes"),
                None => format!("policies of this role: {}", known.join(", ")),
            };
            return Err(Diagnostic::error(message).at(&place).hint(hint));
        };
        self.policy(role, &name.text).ok_or_else(|| {
            Diagnostic::error(format!("unknown {role} `{}`", name.text))
                .at(&name.span)
                .hint(name_hint(
                    &name.text,
                    "policies of this role",
                    known().collect::<Vec<_>>(),
                ))
        })
    }

    fn policy_builder<R: PolicyRole>(
        &self,
        node: &Node,
    ) -> Result<fn(&Node, &PolicyContext<'_, R>) -> Result<R::Policy, Diagnostics>, Diagnostics>
    {
        let entry = self.policy_named(R::NAME, node)?;
        entry.builder::<R>().ok_or_else(|| {
            let message = format!("two different roles are named {}", R::NAME);
            Diagnostic::error(message).at(&node.head_span()).into()
        })
    }

    /// Returns a policy's description with every default filled in.
    fn resolve_policy(&self, role: &str, node: &Node) -> Result<Node, Diagnostics> {
        self.policy_named(role, node)?.resolve(self, node)
    }

    /// Iterates over the kinds in the order of their names.
    pub fn kinds(&self) -> impl Iterator<Item = &KindEntry> {
        self.kinds.values()
    }

    /// Returns the kind with this name.
    pub fn get(&self, name: &str) -> Option<&KindEntry> {
        self.kinds.get(name)
    }

    /// Builds the component that `node`, `Name(fields)`, describes.
    ///
    /// # Errors
    /// Returns an error, with its place, for an unknown kind or a field that is unknown, missing or
    /// of the wrong type. Also fails if the kind rejects a value.
    pub fn build(&self, node: &Node, environment: &Environment) -> Result<Built, Diagnostics> {
        self.read(node)?.build(node, self, environment)
    }

    /// Reads the description of a component, `Name(fields)`.
    ///
    /// # Errors
    /// Returns an error, with its place, for an unknown kind or a field that is unknown, missing or
    /// of the wrong type.
    pub fn read(&self, node: &Node) -> Result<Specification, Diagnostics> {
        let Some(name) = node.name() else {
            return Err(
                Diagnostic::error("expected a component, `Kind(field: value, ...)`")
                    .at(&node.head_span())
                    .into(),
            );
        };
        let Some(entry) = self.get(&name.text) else {
            return Err(self.unknown(&name.text).at(&name.span).into());
        };
        (entry.read)(node)
    }

    /// Error for an unknown kind `name`, with the nearest existing one.
    pub fn unknown(&self, name: &str) -> Diagnostic {
        Diagnostic::error(format!("unknown component kind `{name}`")).hint(name_hint(
            name,
            "kinds",
            self.kinds.keys().copied(),
        ))
    }
}

fn read<K: Kind>(node: &Node) -> Result<Specification, Diagnostics> {
    let spec: K::Spec = from_named(node, K::NAME)?;
    Ok(Specification {
        spec: Arc::new(spec),
        build: build::<K>,
        vary: vary::<K>,
    })
}

fn vary<K: Kind>(spec: &dyn Any, fields: &[(&str, &Node)]) -> Option<Arc<dyn Any + Send + Sync>> {
    let spec = spec.downcast_ref::<K::Spec>();
    let mut spec = spec.expect("the kind has parsed its specification").clone();
    let mut fields = fields.iter();
    let all = fields.all(|(field, value)| K::vary(&mut spec, field, value));
    all.then(|| Arc::new(spec) as _)
}

fn build<K: Kind>(
    spec: &dyn Any,
    node: &Node,
    environment: &Environment,
) -> Result<Built, Diagnostics> {
    let spec = spec.downcast_ref::<K::Spec>();
    let spec = spec.expect("the kind has parsed its specification").clone();
    let component = K::build(spec, environment).map_err(|error| error.located(node))?;
    Ok(Built {
        component: Box::new(component),
        resolve: resolve::<K>,
    })
}

fn resolve<K: Kind>(registry: &Registry, node: &Node) -> Result<Node, Diagnostics> {
    let spec: K::Spec = from_named(node, K::NAME)?;
    to_node_with(&spec, &mut |role, part| {
        registry.resolve_policy(role, &part)
    })
    .map_err(|errors| {
        Diagnostic::error(format!(
            "the specification of {} cannot be written: {errors}",
            K::NAME
        ))
        .into()
    })
}

impl SpecError {
    /// Places the error at its field in the rejected description, or at the nearest enclosing
    /// value.
    pub fn located(self, node: &Node) -> Diagnostics {
        if let Some(problems) = self.problems {
            return *problems;
        }
        let message = if self.field.is_empty() {
            self.message
        } else {
            format!("{}: {}", self.field, self.message)
        };
        let place = field_at(node, &self.field).head_span();
        let mut problem = Diagnostic::error(message).at(&place);
        if self.over_budget {
            problem.over_budget = true;
            problem = problem.hint(OVER_BUDGET_HINT);
        }
        problem.into()
    }
}

/// Returns the value at a path such as `timing.tras` or `policies[1]`, or the nearest enclosing
/// value that is written.
pub fn field_at<'n>(node: &'n Node, path: &str) -> &'n Node {
    let mut at = node;
    for segment in path.split('.').filter(|s| !s.is_empty()) {
        let name = segment.split('[').next().unwrap_or(segment);
        let Some(inner) = at.field(name) else {
            break;
        };
        at = inner;
        let index = segment
            .split_once('[')
            .and_then(|(_, rest)| rest.strip_suffix(']')?.parse::<usize>().ok());
        if let Some(item) = index.and_then(|index| at.items().get(index)) {
            at = item;
        }
    }
    at
}

impl KindEntry {
    /// Returns the fields of the kind's specification in the order declared. Nested ones are named
    /// `outer.inner`, those of list elements `list[].inner`.
    pub fn fields(&self) -> Vec<FieldDoc> {
        let schema = (self.schema)();
        let mut fields = Vec::new();
        list_fields(schema.as_value(), schema.as_value(), "", &mut fields, 0);
        fields
    }

    /// Returns the description of a preset of the kind; `None` if there is none of this name.
    ///
    /// # Errors
    /// Returns an error if the preset cannot be read, which is a mistake of the kind.
    pub fn preset(&self, name: &str) -> Option<Result<Node, Diagnostics>> {
        let preset = self.presets.iter().find(|preset| preset.name == name)?;
        let source = Source::new(format!("preset {name} of {}", self.name), preset.ron);
        Some(parse(&source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bundle, Context, Instrumented, Next, Ports, Stateful};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct BufferSpec {
        /// Slots.
        depth: u32,
        /// Nested.
        #[serde(default)]
        timing: TimingSpec,
    }

    #[derive(Clone, Serialize, Deserialize, JsonSchema, Default)]
    #[serde(deny_unknown_fields)]
    struct TimingSpec {
        /// Cycles.
        delay_cycles: u32,
    }

    struct Buffer;

    impl Bundle for Buffer {
        fn ports(&mut self, _ports: &mut Ports<'_>) {}
    }

    impl Component for Buffer {
        fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
            Next::Idle
        }
    }

    impl Stateful for Buffer {}

    impl Instrumented for Buffer {}

    impl Kind for Buffer {
        const NAME: &'static str = "Buffer";
        const SUMMARY: &'static str = "Holds messages";
        type Spec = BufferSpec;
        fn build(spec: BufferSpec, _environment: &Environment) -> Result<Self, SpecError> {
            SpecError::require(spec.timing.delay_cycles < 10, "timing.delay_cycles", || {
                format!("{} is not below 10", spec.timing.delay_cycles)
            })?;
            Ok(Self)
        }
    }

    fn build(text: &str) -> Result<Built, String> {
        let mut registry = Registry::new();
        registry.register::<Buffer>();
        let node = parse(&Source::new("system.ron", text)).map_err(|e| e.to_string())?;
        registry
            .build(&node, &Environment::new("b", 0))
            .map_err(|e| e.to_string())
    }

    #[test]
    fn a_kind_is_built_by_name_with_defaults_filled_in() {
        let text = "Buffer(depth: 4)";
        let node = parse(&Source::new("system.ron", text)).unwrap();
        let resolved = (build(text).unwrap().resolve)(&Registry::new(), &node).unwrap();
        let delay = resolved
            .field("timing")
            .and_then(|t| t.field("delay_cycles"));
        assert_eq!(delay.and_then(Node::as_int), Some(0));
    }

    #[test]
    fn an_unknown_kind_names_the_nearest() {
        let error = build("Bufer(depth: 4)").err().unwrap();
        assert!(
            error.contains("unknown component kind `Bufer`") && error.contains("`Buffer`"),
            "{error}"
        );
    }

    #[test]
    fn a_refused_value_points_at_its_field() {
        let error = build("Buffer(depth: 4, timing: (delay_cycles: 10))")
            .err()
            .unwrap();
        assert!(
            error.contains("system.ron:1:41") && error.contains("not below 10"),
            "{error}"
        );
    }

    #[test]
    fn fields_are_documented_with_nested_ones() {
        let mut registry = Registry::new();
        registry.register::<Buffer>();
        let fields = registry.get("Buffer").unwrap().fields();
        let names: Vec<_> = fields
            .iter()
            .map(|f| (f.name.as_str(), f.required))
            .collect();
        assert_eq!(
            names,
            [
                ("depth", true),
                ("timing", false),
                ("timing.delay_cycles", true)
            ]
        );
        assert_eq!(fields[0].doc, "Slots.");
        assert_eq!(fields[0].default, None);
        assert_eq!(fields[1].default.as_deref(), Some("(delay_cycles: 0)"));
    }
}
