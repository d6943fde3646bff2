//! Tests of the crossbar as a component (`component.rs`) and of its two kinds of network alone
//! (`switch.rs`, `router.rs`, with traffic from `traffic.rs`, and
//! arbiters of other crates in `open_arbiters.rs`), and iSLIP written naively
//! (`naive_islip.rs`), which the allocator is compared with.

mod component;
pub(in crate::crossbar) mod naive_islip;
mod open_arbiters;
mod router;
mod switch;
mod traffic;
