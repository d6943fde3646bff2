//! Environment used to look up policy names.

use warpweave_components::{cache, crossbar, dram};
use warpweave_framework::{Environment, Registry};

/// Returns an environment that contains the policies shipped with this crate's components. It
/// serves presets, and description files that import no others.
pub fn environment() -> Environment {
    let mut registry = Registry::new();
    cache::replacement::register_policies(&mut registry);
    crossbar::register_policies(&mut registry);
    dram::register_policies(&mut registry);
    Environment::default().with_registry(&registry)
}
