//! Derives for the parts of a component that its fields determine.
//!
//! `warpweave-framework` re-exports them. A component derives all three and writes `evaluate`:
//!
//! ```ignore
//! /// Passes messages on, at most one every `interval` cycles.
//! #[derive(Ports, State, Statistics)]
//! struct RateLimiter {
//!     #[port]
//!     input: InPort<u64>,
//!     #[port]
//!     output: OutPort<u64>,
//!     #[state(skip)]
//!     interval: Cycle,
//!     open_from: Cycle,
//!     /// Messages passed on.
//!     #[state(tally)]
//!     #[statistic(unit = "messages")]
//!     passed: u64,
//! }
//! ```
//!
//! Order is declaration order in all three: of ports, of saved fields, of reported statistics.
//!
//! # `Ports`
//!
//! Implements `Bundle` and declares one constant of type `PortName` for each port field, in upper
//! case: `RateLimiter::INPUT`. A port field is an `InPort`, `OutPort`, `Published`, `Observed`, a
//! bundle, or a `Vec`, array or `Option` of these.
//!
//! | attribute | effect |
//! |---|---|
//! | `#[port]` | names the port after its field |
//! | `#[port(optional)]` | allows it to stay unconnected |
//! | `#[port(optional, without = "…")]` | as well, and `check` warns with this text |
//! | `#[port(required_if = path)]` | makes an optional port required where `path(&self)` says so |
//! | `#[port(rename = "…")]` | names the port otherwise |
//! | `#[port(flatten)]` | names the ports of a struct as if they were here |
//!
//! # `State`
//!
//! Implements `Stateful`. Every field is state, except ports and fields marked `skip`: a new field
//! is saved unless its author says that the specification determines it. A part with ports, marked
//! `#[port(flatten)]`, is saved where it is also marked `flatten` or `part` below.
//!
//! | attribute of a field | effect |
//! |---|---|
//! | none | saves the field through serde |
//! | `#[state(skip)]` | leaves it out: the specification determines it, or `restore` does |
//! | `#[state(tally)]` | saves it, but keeps it out of the state hash |
//! | `#[state(array)]` | saves a slice whose length the specification determines |
//! | `#[state(part)]` | visits a `Stateful` value; its fields become `name.field` |
//! | `#[state(parts)]` | visits a list of them; their fields become `name[0].field` |
//! | `#[state(flatten)]` | visits a `Stateful` value whose fields are named as if they were here |
//! | `#[state(with = path)]` | calls `path(&mut field, "name", state)` |
//! | `#[state(rename = "…")]` | names the field otherwise; together with any of the above |
//!
//! | attribute of the struct | effect |
//! |---|---|
//! | `#[state(prepare = path)]` | calls `path(&mut self)` before every visit |
//! | `#[state(restore = path)]` | calls `path(&mut self)` once the fields are loaded |
//! | `#[state(refuse = "…")]` | refuses to be saved, with this reason |
//!
//! An enum visits the value in its variant, which the specification has chosen; a variant takes
//! `skip`, `part` and `rename`.
//!
//! # `Statistics`
//!
//! Implements `Instrumented`. A field with `#[statistic(…)]` is reported under its own name. Its
//! doc comment is the meaning, up to the first blank line and without the final full stop. The type
//! selects the representation. `u64` is a counter; `TimeWeighted`, `Histogram` and `Series` report
//! themselves; each element of a list is reported with its index. A field may have several such
//! attributes.
//!
//! | attribute of a field | effect |
//! |---|---|
//! | `unit = "…"` | states the unit; required |
//! | `name = "…"`, `meaning = "…"` | replace the field's name and doc comment |
//! | `role = ROLE` | gives the statistic a role |
//! | `value = expr` | reports this instead of the field |
//! | `maximum`, `minimum`, `code` | reports a `u64` that does not add up |
//! | `distribution` | reports a `Histogram` whose values change |
//! | `ratio, whole = expr, of = "…"` | reports the field over `expr`; needs no unit |
//! | `mean, weight = expr, by = "…"` | reports the field as a total over its weight |
//! | `flatten` | reports the statistics of an `Instrumented` value |
//! | `under = "…"` | as well, each with this prefix |
//! | `with = path` | calls `path(&field, statistics)` |
//!
//! `#[statistics(after = path)]` at the struct calls `path(&self, statistics)` at the end, for what
//! has to be computed.

mod attributes;
mod ports;
mod state;
mod statistics;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Names the ports of a struct: see the crate's page.
#[proc_macro_derive(Ports, attributes(port))]
pub fn derive_ports(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    ports::expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Names the saved fields of a struct or enum: see the crate's page.
#[proc_macro_derive(State, attributes(state, port))]
pub fn derive_state(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    state::expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Reports the statistics of a struct: see the crate's page.
#[proc_macro_derive(Statistics, attributes(statistic, statistics))]
pub fn derive_statistics(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    statistics::expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
