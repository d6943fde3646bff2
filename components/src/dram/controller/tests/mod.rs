//! Tests of the bare controller: against a naive one that goes cycle by cycle (`naive.rs`,
//! `properties.rs`), against recorded cycles of public simulators (`golden.rs`), and of every
//! timing rule, kept and broken (`rules.rs`). `drive.rs` plays traces.

mod drive;
mod golden;
mod naive;
mod open_orders;
mod properties;
mod rules;
