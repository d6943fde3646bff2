//! Tests of the bare controller. It is compared with a naive cycle-by-cycle one (`naive.rs`,
//! `properties.rs`) and with recorded cycles of public simulators (`golden.rs`). Every timing rule
//! is tested, both kept and broken (`rules.rs`). `drive.rs` plays traces.

mod drive;
mod golden;
mod naive;
mod open_orders;
mod properties;
mod rules;
