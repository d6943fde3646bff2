//! Component kinds of this crate: one file each, registered here for every command.

mod throttle;

use warpweave::framework::Registry;

/// Adds the kinds to a program's.
pub fn register(registry: &mut Registry) {
    registry.register::<throttle::Throttle>();
}
