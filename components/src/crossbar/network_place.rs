//! Place of a network in its component.

use warpweave_framework::{Environment, Policy, SpecError};

use super::arbiter::{AnyArbiter, Arbiter, ArbiterSite};

/// Position of a network in its component, needed to build its policies.
#[derive(Clone, Copy)]
pub struct NetworkPlace<'a> {
    /// Field of the specification that describes the network.
    pub field: &'a str,
    /// Environment in which the component is built.
    pub environment: &'a Environment,
    /// Number of the network in the component.
    pub number: u32,
}

impl NetworkPlace<'_> {
    /// Builds one of the network's arbiters, of which there are at most two.
    pub(super) fn arbiter(
        &self,
        policy: &Policy<Arbiter>,
        site: ArbiterSite,
        index: u32,
    ) -> Result<AnyArbiter, SpecError> {
        let field = format!("{}.arbiter", self.field);
        policy.build(&field, self.environment, &site, 2 * self.number + index)
    }
}
