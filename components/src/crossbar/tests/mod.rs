//! Tests of the crossbar and of its networks alone.

mod component;
mod router;
mod switch;
