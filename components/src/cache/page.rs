//! The page of the cache in `docs/` names what there is.

use std::collections::BTreeSet;

use warpweave_framework::TestBench;

use super::policy::{PolicySpec, ReuseBypass};
use super::tests::l1;
use super::*;

const PAGE: &str = include_str!("../../../docs/components/cache.md");

#[test]
fn the_page_lists_every_parameter_and_no_other() {
    let schema = serde_json::to_value(schemars::schema_for!(CacheSpec)).expect("plain data");
    let fields = schema["properties"].as_object().expect("a struct");
    let fields: BTreeSet<_> = fields.keys().map(String::as_str).collect();
    let table = PAGE.split("## Parameters").nth(1).expect("the heading");
    let table = table.split("## ").next().expect("its text");
    let listed: BTreeSet<_> = table
        .lines()
        .filter_map(|row| row.strip_prefix("| `")?.split('`').next())
        .collect();
    assert_eq!(listed, fields);
}

#[test]
fn the_page_lists_every_statistic() {
    let reuse = ReuseBypass {
        entries: 4,
        counter_max: 3,
        threshold: 1,
        sample: 8,
        period_requests: 100,
    };
    let spec = CacheSpec {
        sector_bytes: Some(32),
        banks: Some(Banks {
            count: 2,
            busy_cycles: 1,
            requests_per_cycle: 1,
        }),
        victim_cache: Some(VictimCacheSpec {
            lines: 8,
            latency_cycles: 1,
        }),
        policies: vec![PolicySpec::ReuseBypass(reuse)],
        ..l1()
    };
    let mut bench = TestBench::new();
    bench.add("cache", Cache::new(spec).unwrap());
    bench.source::<MemRequest>("cache.up.request");
    bench.sink::<MemResponse>("cache.up.response");
    bench.sink::<MemRequest>("cache.down.request");
    bench.source::<MemResponse>("cache.down.response");
    bench.step(1);
    for statistic in bench.statistics("cache").values {
        let name = &statistic.name;
        assert!(
            PAGE.contains(&format!("`{name}`")),
            "`{name}` is not on the page"
        );
    }
}
