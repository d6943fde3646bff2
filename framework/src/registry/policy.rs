//! Policies: the parts of a component that description files choose by name.
//!
//! A *role* is a place in a component that a policy fills, such as the wavefront scheduler of a compute
//! unit. The crate of the component declares the role; any crate adds policies to it. A description
//! names one as it names a component, `Name` or `Name(field: value, ...)`, and the name is looked up
//! among those of the role.
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

use super::fields::list_fields;
use super::{Environment, FieldDoc, Registry, SpecError};

/// A place in a component that a policy fills.
pub trait PolicyRole: 'static {
    /// Name in lists and messages, in snake case, such as `wavefront_scheduler`.
    const NAME: &'static str;
    /// One sentence: what a policy of this role decides.
    const SUMMARY: &'static str;
    /// What a policy is once it is built: a boxed trait object, or an enum whose variants spare the
    /// built-in policies the dynamic call.
    type Policy;
    /// What the block tells a policy of itself when it builds it: its geometry.
    type Site;
}

/// A policy that description files can name in its role.
pub trait PolicyKind: 'static {
    /// The place it fills.
    type Role: PolicyRole;
    /// Name in description files, such as `Gto`; unique in the role.
    const NAME: &'static str;
    /// One sentence for lists.
    const SUMMARY: &'static str;
    /// How it is told to decide nothing, if it can be.
    const WITHOUT_EFFECT: Option<NeutralSpec> = None;
    /// What a description may set; [`NoFields`] for nothing. Doc comments of the fields become the
    /// reference page.
    type Spec: DeserializeOwned + Serialize + JsonSchema;

    /// Checks the specification as a whole and builds the policy.
    ///
    /// # Errors
    /// A value outside its range, values that do not go together or with the site, a resource that
    /// the environment lacks.
    fn build(
        spec: Self::Spec,
        context: &PolicyContext<'_, Self::Role>,
    ) -> Result<<Self::Role as PolicyRole>::Policy, SpecError>;
}

/// A specification under which a policy decides nothing of its own, by which it can be shown that the
/// policy changes what it says and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeutralSpec {
    /// Its description, such as `Ccws(k_throttle: 0)`.
    pub ron: &'static str,
    /// The description of the policy of the role that then decides; empty for none, in a role whose
    /// policies come in lists.
    pub like: &'static str,
}

/// What the builder of a policy may use beside its specification.
pub struct PolicyContext<'a, R: PolicyRole> {
    /// Program, artefacts, path and seed of the component's instance.
    pub environment: &'a Environment,
    /// What the block tells of itself.
    pub site: &'a R::Site,
    /// Number among the policies of the role in this instance.
    pub number: u32,
}

impl<R: PolicyRole> PolicyContext<'_, R> {
    /// A seed for this policy: a function of the run's seed, the instance's path, the role and the
    /// number alone.
    pub fn seed(&self) -> u64 {
        let role = fnv1a(self.environment.seed(), R::NAME.bytes());
        mix(role ^ u64::from(self.number))
    }
}

/// The specification of a policy or component that has nothing to set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoFields {}

type BuildPolicy<R> =
    fn(&Node, &PolicyContext<'_, R>) -> Result<<R as PolicyRole>::Policy, Diagnostics>;

/// Builds policies of one role; what an entry holds without naming the role's type.
struct Builder<R: PolicyRole>(BuildPolicy<R>);

/// A field of a specification that holds a policy of role `R`: its name and fields, as written.
///
/// [`Policy::of`] makes one in Rust; such a one needs no registry.
pub struct Policy<R: PolicyRole> {
    /// Shared by the copies.
    node: Arc<Node>,
    /// Of one made in Rust.
    build: Option<BuildPolicy<R>>,
}

impl<R: PolicyRole> Policy<R> {
    /// The policy `P` with this specification.
    ///
    /// # Panics
    /// When the specification cannot be written as RON: a mistake of the kind, found by any test of
    /// it.
    pub fn of<P: PolicyKind<Role = R>>(spec: &P::Spec) -> Self {
        let node = to_node(spec)
            .unwrap_or_else(|e| panic!("the specification of {} cannot be written: {e}", P::NAME));
        Self {
            node: named(P::NAME, node).into(),
            build: Some(build::<P>),
        }
    }

    /// The policy `P` with nothing set.
    pub fn plain<P: PolicyKind<Role = R>>() -> Self
    where
        P::Spec: Default,
    {
        Self::of::<P>(&P::Spec::default())
    }

    /// Its name as written; empty where something else than a name was written.
    pub fn name(&self) -> &str {
        self.node.name().map_or("", |name| &name.text)
    }

    /// Builds the policy; `field` is where it stands in the specification, such as `policies[1]`, and
    /// `number` its number among the policies of the role in this instance.
    ///
    /// # Errors
    /// A name that no policy of the role has, and what the policy refuses; with their places.
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

/// Equal when written alike.
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

/// Name of the part of a schema that says which role a field has.
pub(super) const ROLE_OF_FIELD: &str = "x-role";

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

/// One registered policy.
#[derive(Clone)]
pub struct PolicyEntry {
    /// Name of its role.
    pub role: &'static str,
    /// Name in description files.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// How it is told to decide nothing, if it can be.
    pub without_effect: Option<NeutralSpec>,
    schema: fn() -> schemars::Schema,
    /// A [`Builder`] of the role.
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

    /// The fields of its specification; see [`KindEntry::fields`](super::KindEntry::fields).
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

/// The specification under the name of what it specifies.
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
