//! Tests of the bare controller.

pub(in crate::dram) mod drive;
mod golden;
mod naive;
mod properties;
mod rules;
