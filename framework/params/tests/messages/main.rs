//! Tests of the exact text of every error message, which is part of the contract.

mod layout;
mod overrides;
mod quantities;
mod text;
mod types;

use std::collections::BTreeMap;

use serde::Deserialize;
use warpweave_params::{Bytes, Source, from_named, parse};

#[derive(Debug, Deserialize, PartialEq)]
struct GtoSpec {
    #[serde(default)]
    window: u32,
}

#[derive(Debug, Deserialize, PartialEq)]
enum Scheduler {
    Gto(GtoSpec),
    Lrr,
    Random { seed: u64 },
    Pair(u8, u8),
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename = "Cache")]
struct CacheSpec {
    size: Bytes,
    ways: u8,
    #[serde(default)]
    scheduler: Option<Scheduler>,
    #[serde(default)]
    marks: BTreeMap<String, i32>,
    #[serde(default)]
    nested: Option<Box<CacheSpec>>,
    #[serde(default)]
    grid: Option<(u8, u8)>,
    #[serde(default)]
    label: String,
    #[serde(default)]
    on: bool,
}

/// Returns the error messages for all texts, one after another.
fn refusals(texts: &[&str]) -> String {
    let refusal = |text: &&str| {
        let read = parse(&Source::new("a.ron", *text))
            .and_then(|node| from_named::<CacheSpec>(&node, "Cache"));
        read.expect_err(text).to_string()
    };
    texts.iter().map(refusal).collect::<Vec<_>>().join("\n\n")
}

fn read(text: &str) -> CacheSpec {
    let node = parse(&Source::new("a.ron", text)).unwrap_or_else(|error| panic!("{error}"));
    from_named(&node, "Cache").unwrap_or_else(|error| panic!("{error}"))
}
