//! Where the names of policies are looked up.

use warpweave_components::{cache, crossbar, dram};
use warpweave_framework::{Environment, Registry};

/// An environment in which the policies that come with the components of this crate have their names:
/// for presets, and for description files that name no others.
pub fn environment() -> Environment {
    let mut registry = Registry::new();
    cache::replacement::register_policies(&mut registry);
    crossbar::register_policies(&mut registry);
    dram::register_policies(&mut registry);
    Environment::default().with_registry(&registry)
}
