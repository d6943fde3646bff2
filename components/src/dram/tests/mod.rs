//! Tests of the controller as a component (`component.rs`, `random_traffic.rs`, `organisation.rs`, `open_orders.rs`), and
//! the devices that these and those of the bare [controller](super::controller) use (`presets.rs`).

mod component;
mod open_orders;
mod organisation;
pub(in crate::dram) mod presets;
mod random_traffic;

use proptest::prelude::ProptestConfig;

/// Cases of a property to try: this many, unless `PROPTEST_CASES` says otherwise.
pub(in crate::dram) fn cases(few: u32) -> ProptestConfig {
    let given = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig::with_cases(given.and_then(|n| n.parse().ok()).unwrap_or(few))
}
