//! Tests of the controller as a component (`component.rs`, `random_traffic.rs`, `organisation.rs`,
//! `open_orders.rs`). `presets.rs` has the devices that they share with the tests of the bare
//! [controller](super::controller).

mod component;
mod open_orders;
mod organisation;
pub(in crate::dram) mod presets;
mod random_traffic;

use proptest::prelude::ProptestConfig;

/// Sets the number of property-test cases, unless `PROPTEST_CASES` overrides it.
pub(in crate::dram) fn cases(few: u32) -> ProptestConfig {
    let given = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig::with_cases(given.and_then(|n| n.parse().ok()).unwrap_or(few))
}
