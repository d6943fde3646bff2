//! Tests of the crossbar as a component (`component.rs`) and of its two kinds of network alone
//! (`switch.rs`, `router.rs`). `traffic.rs` generates traffic, and `open_arbiters.rs` contains
//! arbiters of other crates. `naive_islip.rs` is a naive iSLIP against which the allocator is
//! compared.

mod component;
pub(in crate::crossbar) mod naive_islip;
mod open_arbiters;
mod router;
mod switch;
mod traffic;
