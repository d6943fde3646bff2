//! Description files: from RON text to typed, checked values that know their place.
//!
//! ```text
//!  text --Source--> parse --> Node (spans, names, order) --> apply overrides --> resolve `=` expressions
//!                                |                                                    |
//!                                +--> to_ron (the resolved file)                      v
//!                                                                    from_node --> your Spec
//! ```
//!
//! Every failure is a [`Diagnostic`]: the problem, its place (file, line, column, caret) and the
//! suggested correction. The `ron` crate does the lexical work. This crate adds what its value type
//! drops: places, struct and variant names, declaration order, and the rejection of duplicates.
//!
//! ```
//! use serde::Deserialize;
//! use warpweave_params::{Bytes, Source, from_named, parse};
//!
//! #[derive(Deserialize)]
//! struct CacheSpec {
//!     size: Bytes,
//!     ways: u32,
//! }
//!
//! let source = Source::new("l1.ron", r#"Cache(size: "48 KiB", ways: 4)"#);
//! let node = parse(&source)?;
//! let spec: CacheSpec = from_named(&node, "Cache")?;
//! assert_eq!((spec.size.get(), spec.ways), (49_152, 4));
//! # Ok::<(), warpweave_params::Diagnostics>(())
//! ```

mod condition;
mod de;
mod diagnostic;
mod entries;
mod expression;
mod files;
mod merge;
mod node;
mod number;
mod overrides;
mod parse;
mod placed;
mod print;
mod printable;
mod quantity;
mod range;
mod ser;
mod source;
mod suggest;

pub use condition::Condition;
pub use de::{from_named, from_node};
pub use diagnostic::{Diagnostic, Diagnostics, Excerpt, Related, Severity};
pub use entries::Entries;
pub use expression::{
    Env, ExpressionError, eval, eval_index, is_expression, is_keyword, names_in,
    resolve_expressions, words,
};
pub use files::Files;
pub use merge::same_key;
pub use node::{Field, Kind, Name, Node, Struct, Tuple};
pub use number::Number;
pub use overrides::{MissingField, Override, repeated_paths};
pub use parse::{NESTING_MAX, begins_with_name, nested_too_deep, parse, parse_from};
pub use placed::{OneOrMore, Placed};
pub use print::{to_ron, to_ron_line};
pub use printable::{printable, printable_json, printable_lines, shortened};
pub use quantity::{Bandwidth, Bytes, Duration, Frequency, QuantityError, Ratio};
pub use range::out_of_range;
pub use ser::{labelled_tree, serialize_tree, to_node, to_node_with};
pub use source::{Position, Source, Span};
pub use suggest::{name_hint, nearest};
