//! Tests of the controller as a component.

mod component;
