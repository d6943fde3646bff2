//! Policies: the parts of a component that description files select by name.
//!
//! A *role* is a place in a component that a policy fills, such as the wavefront scheduler of a
//! compute unit. The crate of the component declares the role; any crate adds policies to it. A
//! description names a policy in the same way as a component, `Name` or `Name(field: value, ...)`,
//! and the name is looked up within the role.
//!
//! ```text
//!   impl PolicyRole for Coin      what the block hands to a policy, and what it gets
//!   impl PolicyKind for Fair      name, specification, how it is built
//!   struct Spec { coin: Policy<Coin> }           a field of the block's specification
//!   spec.coin.build("coin", environment, site, number)   in the block's `build`
//!   registry.register_policy::<Fair>()           in the program
//! ```

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use warpweave_params::{
    Diagnostics, Kind as NodeKind, Name, Node, Struct, from_named, serialize_tree, to_node,
    to_node_with,
};
use warpweave_random::{fnv1a, mix};

use super::fields::{ROLE_OF_FIELD, list_fields};
use super::{Environment, FieldDoc, Registry, SpecError};

/// A place in a component that a policy fills.
pub trait PolicyRole: 'static {
    /// Name in lists and messages, in snake case, such as `wavefront_scheduler`.
    const NAME: &'static str;
    /// Description of the role's decision in one sentence.
    const SUMMARY: &'static str;
    /// Type of a policy after it is built: a boxed trait object, or an enum whose variants save
    /// built-in policies the dynamic call.
    type Policy;
    /// Information about the block, such as its geometry, passed to a policy that is built.
    type Site;
}

/// A policy that description files can name in its role.
pub trait PolicyKind: 'static {
    /// Role that the policy fills in a component.
    type Role: PolicyRole;
    /// Name in description files, such as `Gto`; unique in the role.
    const NAME: &'static str;
    /// Description of the policy in one sentence, for lists.
    const SUMMARY: &'static str;
    /// Settings under which the policy has no effect, if there are any.
    const WITHOUT_EFFECT: Option<NeutralSpec> = None;
    /// Fields that a description may set; [`NoFields`] for none. Their doc comments become the
    /// reference page.
    type Spec: DeserializeOwned + Serialize + JsonSchema;

    /// Checks the specification as a whole and builds the policy.
    ///
    /// # Errors
    /// Returns an error if a value is outside its range, inconsistent with others or with the site,
    /// or if the environment lacks a resource.
    fn build(
        spec: Self::Spec,
        context: &PolicyContext<'_, Self::Role>,
    ) -> Result<<Self::Role as PolicyRole>::Policy, SpecError>;
}

/// A specification under which a policy makes no decisions of its own. It serves to show that the
/// policy changes only its documented behavior.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeutralSpec {
    /// Description of the policy, such as `Ccws(k_throttle: 0)`.
    pub ron: &'static str,
    /// Description of the policy of the role that decides instead. Empty for none, in a role whose
    /// policies form lists.
    pub like: &'static str,
}

/// Resources, besides its specification, that the builder of a policy may use.
pub struct PolicyContext<'a, R: PolicyRole> {
    /// Program, artefacts, path and seed of the component's instance.
    pub environment: &'a Environment,
    /// Information about the block that uses the policy.
    pub site: &'a R::Site,
    /// Number among the policies of the role in this instance.
    pub number: u32,
}

impl<R: PolicyRole> PolicyContext<'_, R> {
    /// Returns a seed for this policy, a function of the run's seed, the instance's path, the role
    /// and the number only.
    pub fn seed(&self) -> u64 {
        let role = fnv1a(self.environment.seed(), R::NAME.bytes());
        mix(role ^ u64::from(self.number))
    }
}

/// Specification of a policy or component without any fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoFields {}

type BuildPolicy<R> =
    fn(&Node, &PolicyContext<'_, R>) -> Result<<R as PolicyRole>::Policy, Diagnostics>;

/// Builder for policies of one role, stored in an entry without naming the role's type.
struct Builder<R: PolicyRole>(BuildPolicy<R>);

/// A specification field that holds a policy of role `R`: its name and fields, as written.
///
/// [`Policy::of`] creates one in Rust; it needs no registry.
pub struct Policy<R: PolicyRole> {
    /// Description, shared by copies of the policy.
    node: Arc<Node>,
    /// Build function, set only if created in Rust.
    build: Option<BuildPolicy<R>>,
}

impl<R: PolicyRole> Policy<R> {
    /// Creates the policy `P` with this specification.
    ///
    /// # Panics
    /// Panics if the specification cannot be written as RON, which is a mistake of the kind found
    /// by any test of it.
    pub fn of<P: PolicyKind<Role = R>>(spec: &P::Spec) -> Self {
        let node = to_node(spec)
            .unwrap_or_else(|e| panic!("the specification of {} cannot be written: {e}", P::NAME));
        Self {
            node: named(P::NAME, node).into(),
            build: Some(build::<P>),
        }
    }

    /// Creates the policy `P` without any fields set.
    pub fn plain<P: PolicyKind<Role = R>>() -> Self
    where
        P::Spec: Default,
    {
        Self::of::<P>(&P::Spec::default())
    }

    /// Returns the name as written; empty if something other than a name was written.
    pub fn name(&self) -> &str {
        self.node.name().map_or("", |name| &name.text)
    }

    /// Builds the policy. `field` is its path in the specification, such as `policies[1]`. `number`
    /// is its number among the policies of the role in this instance.
    ///
    /// # Errors
    /// Returns an error, with its place, if no policy of the role has this name or if the policy
    /// rejects its fields.
    pub fn build(
        &self,
        field: &str,
        environment: &Environment,
        site: &R::Site,
        number: u32,
    ) -> Result<R::Policy, SpecError> {
        let context = PolicyContext {
            environment,
            site,
            number,
        };
        let built = match self.build {
            Some(build) => build(&self.node, &context),
            None => environment
                .registry()
                .map_or_else(
                    || Registry::default().policy_builder::<R>(&self.node),
                    |registry| registry.policy_builder::<R>(&self.node),
                )
                .and_then(|build| build(&self.node, &context)),
        };
        built.map_err(|problems| SpecError::placed(field, problems))
    }
}

fn build<P: PolicyKind>(
    node: &Node,
    context: &PolicyContext<'_, P::Role>,
) -> Result<<P::Role as PolicyRole>::Policy, Diagnostics> {
    let spec: P::Spec = from_named(node, P::NAME)?;
    P::build(spec, context).map_err(|error| error.located(node))
}

impl<R: PolicyRole> Clone for Policy<R> {
    fn clone(&self) -> Self {
        Self {
            node: Arc::clone(&self.node),
            build: self.build,
        }
    }
}

impl<R: PolicyRole> fmt::Debug for Policy<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(warpweave_params::to_ron(&self.node).trim_end())
    }
}

/// Two policies are equal if they are written alike.
impl<R: PolicyRole> PartialEq for Policy<R> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl<R: PolicyRole> Eq for Policy<R> {}

impl<R: PolicyRole> Serialize for Policy<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_tree(R::NAME, &self.node, serializer)
    }
}

impl<'de, R: PolicyRole> Deserialize<'de> for Policy<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let node = Node::deserialize(deserializer)?;
        Ok(Self {
            node: node.into(),
            build: None,
        })
    }
}

impl<R: PolicyRole> JsonSchema for Policy<R> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        R::NAME.into()
    }

    fn json_schema(_generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = schemars::Schema::default();
        schema.insert(ROLE_OF_FIELD.to_owned(), R::NAME.into());
        schema
    }
}

/// One registered policy of a role.
#[derive(Clone)]
pub struct PolicyEntry {
    /// Name of the role that the policy fills.
    pub role: &'static str,
    /// Name of the policy in description files.
    pub name: &'static str,
    /// Description of the policy in one sentence.
    pub summary: &'static str,
    /// Settings under which the policy has no effect, if there are any.
    pub without_effect: Option<NeutralSpec>,
    schema: fn() -> schemars::Schema,
    /// Type-erased [`Builder`] for policies of the role.
    builder: Arc<dyn Any + Send + Sync>,
    resolve: fn(&Registry, &Node) -> Result<Node, Diagnostics>,
}

impl PolicyEntry {
    pub(super) fn of<P: PolicyKind>() -> Self {
        Self {
            role: P::Role::NAME,
            name: P::NAME,
            summary: P::SUMMARY,
            without_effect: P::WITHOUT_EFFECT,
            schema: || schemars::schema_for!(P::Spec),
            builder: Arc::new(Builder::<P::Role>(build::<P>)),
            resolve: |registry, node| {
                let spec: P::Spec = from_named(node, P::NAME)?;
                let written = to_node_with(&spec, &mut |role, part| {
                    registry.resolve_policy(role, &part)
                })?;
                Ok(named(P::NAME, written))
            },
        }
    }

    /// Returns the fields of its specification; see
    /// [`KindEntry::fields`](super::KindEntry::fields).
    pub fn fields(&self) -> Vec<FieldDoc> {
        let schema = (self.schema)();
        let mut fields = Vec::new();
        list_fields(schema.as_value(), schema.as_value(), "", &mut fields, 0);
        fields
    }

    pub(super) fn builder<R: PolicyRole>(&self) -> Option<BuildPolicy<R>> {
        Some(self.builder.downcast_ref::<Builder<R>>()?.0)
    }

    pub(super) fn resolve(&self, registry: &Registry, node: &Node) -> Result<Node, Diagnostics> {
        (self.resolve)(registry, node)
    }
}

/// Adds the name of the kind or policy to its specification.
fn named(name: &str, mut node: Node) -> Node {
    let name = Name {
        text: name.to_owned(),
        span: node.span.clone(),
    };
    let fields = match node.kind {
        NodeKind::Struct(Struct { fields, .. }) => fields,
        _ => Vec::new(),
    };
    node.kind = if fields.is_empty() {
        NodeKind::Name(name)
    } else {
        NodeKind::Struct(Struct {
            name: Some(name),
            fields,
        })
    };
    node
}
