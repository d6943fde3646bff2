//! The exact text of every refusal: what a user reads is part of the contract.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use serde::Deserialize;
use warpweave_params::{
    Absent, Bandwidth, Bytes, Diagnostic, Duration, Frequency, Override, Source, from_named,
    from_node, parse, repeated_paths, to_ron,
};

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

/// What a user reads for each text, one after another.
fn refusals(texts: &[&str]) -> String {
    let refusal = |text: &&str| {
        let read = parse(&Source::new("a.ron", *text))
            .and_then(|node| Ok(from_named::<CacheSpec>(&node, "Cache")?));
        read.expect_err(text).to_string()
    };
    texts.iter().map(refusal).collect::<Vec<_>>().join("\n\n")
}

fn read(text: &str) -> CacheSpec {
    let node = parse(&Source::new("a.ron", text)).unwrap_or_else(|error| panic!("{error}"));
    from_named(&node, "Cache").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn syntax_errors_point_at_the_place() {
    assert_snapshot!(refusals(&[
        "Cache(size: \"48 KiB\" ways: 4)",
        "Cache(\n    size: \"48 KiB\"\n    ways: 4,\n)",
        "Cache(size: \"48 KiB\", ways: 4",
        "Cache(size: \"48 KiB, ways: 4)",
        "Cache(size: \"48 \\q KiB\", ways: 4)",
        "Cache(size: \"48 KiB\", ways: 4) x",
        "Cache(size = 3)",
        "#![enable(foo)] Cache(size: 3)",
        "Cache(size: @)",
        "Cache(size: /* 3)",
        "Cache(size: 0..4)",
        "Cache(size: b\"x\")",
        "#![enable(unwrap_variant_newtypes)] Cache(size: Some(a: 1))",
        "",
    ]));
}

#[test]
fn wrong_values_point_at_the_token() {
    assert_snapshot!(refusals(&[
        "Cache(size: \"1 B\", ways: 400)",
        "Cache(size: \"1 B\", ways: -1)",
        "Cache(size: \"1 B\", ways: \"4\")",
        "Cache(size: \"1 B\", ways: 4.5)",
        "Cache(size: \"1 B\", ways: 99999999999999999999999)",
        "Cache(size: \"1 B\", ways: 4, on: 1)",
        "Cache(size: \"1 B\", ways: 4, label: l1)",
        "Cache(size: \"1 B\", ways: 4, label: 'x')",
        "Cache(size: \"1 B\", ways: 4, marks: [1])",
        "Cache(size: \"1 B\", ways: 4, marks: {\"a\": 'x'})",
        "Cache(size: \"1 B\", ways: 4, marks: {1: 2})",
        "Cache(size: \"1 B\", ways: 4, grid: (1, 2, 3))",
        "Cache(size: \"1 B\", ways: 4, grid: 3)",
        "Cache(size: \"1 B\", ways: 4, nested: {})",
        "Cache(\n\tsize: \"é\",\tways: 4)",
    ]));
}

#[test]
fn wrong_names_suggest_the_nearest() {
    assert_snapshot!(refusals(&[
        "Cache(size: \"1 B\", wayz: 4)",
        "Cach(size: \"1 B\", ways: 4)",
        "Cache(size: \"1 B\")",
        "(\n    size: \"1 B\",\n)",
        "Cache(size: \"1 B\", ways: 4, nested: Cash(size: \"1 B\"))",
        "Cache(size: \"1 B\", ways: 4, scheduler: Gtoo(window: 3))",
        "Cache(size: \"1 B\", ways: 4, scheduler: Gto(windw: 3))",
        "Cache(size: \"1 B\", ways: 4, scheduler: \"Lrr\")",
        "Cache(size: \"1 B\", ways: 4, scheduler: 3)",
        "Cache(size: \"1 B\", ways: 4, scheduler: Lrr(a: 2))",
        "Cache(size: \"1 B\", ways: 4, scheduler: Random)",
        "Cache(size: \"1 B\", ways: 4, scheduler: Random(3))",
        "Cache(size: \"1 B\", ways: 4, scheduler: Pair(1))",
    ]));
}

#[test]
fn duplicates_show_both_places_and_all_at_once() {
    assert_snapshot!(refusals(&[
        "Cache(\n    ways: 4,\n    marks: {\"a\": 1, \"a\": 2},\n    size: \"1 B\",\n    ways: 5,\n)",
    ]));
}

#[test]
fn every_accepted_spelling_reads_the_same() {
    let plain = read("Cache(size: \"48 KiB\", ways: 4, scheduler: Gto(window: 4), grid: (1, 2))");
    for text in [
        "(size: \"48 KiB\", ways: 4, scheduler: Gto((window: 4)), grid: [1, 2])",
        "Cache(ways: 0x4, size: r\"48 KiB\", scheduler: Some(Gto(window: 4)), grid: Some((1, 2)))",
        "#![enable(implicit_some, unwrap_variant_newtypes)]\n/* a ( /* b */ */ Cache /**/ ( // )\n\
         size: r#\"48 KiB\"#, ways: 4u8, r#scheduler: Some(Gto(window: 4,),), grid: (1, 2,),) //",
    ] {
        assert_eq!(read(text), plain, "{text}");
    }
    let lenient = read("Cache(size: \"1 B\", ways: 1, scheduler: Gto())");
    assert_eq!(
        lenient.scheduler,
        Some(Scheduler::Gto(GtoSpec { window: 0 }))
    );
    assert_eq!(
        read("Cache(size: \"1 B\", ways: 1, scheduler: Lrr())").scheduler,
        Some(Scheduler::Lrr)
    );
    assert_eq!(
        read("Cache(size: \"1 B\", ways: 1, scheduler: None)").scheduler,
        None
    );
}

#[test]
fn nesting_is_limited_on_every_path() {
    for (open, close) in [
        ("[", "]"),
        ("(", ",)"),
        ("(a: ", ")"),
        ("{1: ", "}"),
        ("Some(", ")"),
        ("A(a: ", ")"),
    ] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert!(parse(&Source::new("a", nested(64))).is_ok(), "{open}");
        for depth in [65, 130, 100_000] {
            let error = parse(&Source::new("a", nested(depth)))
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with("error: nested more than 64 levels deep"),
                "{error:.80}"
            );
        }
    }
}

#[test]
fn quantities_say_which_units_they_take() {
    let mut shown = Vec::new();
    let mut refuse = |error: Diagnostic| shown.push(error.to_string());
    for text in [
        "48",
        "4.8",
        "\"48\"",
        "\"48 GHz\"",
        "\"48 KB\"",
        "\"x\"",
        "\"1.3 B\"",
        "\"99999999 TiB\"",
        "()",
    ] {
        refuse(from_node::<Bytes>(&parse(&Source::new("a.ron", text)).unwrap()).unwrap_err());
    }
    for text in [
        "\"0 GHz\"",
        "\"1/0 GHz\"",
        "\"1..2 GHz\"",
        "\"2 ns\"",
        "\"-3 MHz\"",
        "\"99999999999999999999 Hz\"",
    ] {
        refuse(from_node::<Frequency>(&parse(&Source::new("a.ron", text)).unwrap()).unwrap_err());
    }
    refuse(from_node::<Bandwidth>(&parse(&Source::new("a.ron", "\"1 GB\"")).unwrap()).unwrap_err());
    refuse(from_node::<Duration>(&parse(&Source::new("a.ron", "-2")).unwrap()).unwrap_err());
    assert_snapshot!(shown.join("\n\n"));
}

const SYSTEM: &str = r#"System(
    l1: Cache(ways: 4, scheduler: Gto(window: 2), replacement: Lru),
    timing: Some((tCL: 12)),
    parts: { "cu[0]": Cu(slots: 64) },
    wires: [1, 2, 3],
)"#;

fn overridden(text: &str, absent: Absent) -> Result<String, String> {
    let mut node = parse(&Source::new("a.ron", SYSTEM)).expect("the sample is valid");
    let change = Override::parse(text, "--set").map_err(|error| error.to_string())?;
    change
        .apply(&mut node, absent)
        .map_err(|error| error.to_string())?;
    Ok(to_ron(&node))
}

#[test]
fn overrides_replace_one_value() {
    for (change, before, after) in [
        ("l1.ways=8", "ways: 4", "ways: 8"),
        (
            "l1.scheduler = Random(seed: 3)",
            "Gto(window: 2)",
            "Random(seed: 3)",
        ),
        ("l1.scheduler.window=9", "window: 2", "window: 9"),
        ("timing.tCL=14", "tCL: 12", "tCL: 14"),
        ("parts.\"cu[0]\".slots=32", "slots: 64", "slots: 32"),
        ("wires[2]=[7, 8]", "[1, 2, 3]", "[1, 2, [7, 8]]"),
        ("l1.replacement=\"a=b\"", "Lru", "\"a=b\""),
    ] {
        let original = to_ron(&parse(&Source::new("a.ron", SYSTEM)).unwrap());
        assert!(original.contains(before), "{original}");
        assert_eq!(
            overridden(change, Absent::Refuse).unwrap(),
            original.replace(before, after)
        );
    }
    let added = overridden("l1.mshr=8", Absent::Insert).unwrap();
    assert!(added.contains("replacement: Lru, mshr: 8)"), "{added}");
}

#[test]
fn overrides_that_lead_nowhere_are_refused() {
    let changes = [
        "l1.wayz=8",
        "l2.ways=8",
        "l1.replacement.depth=3",
        "l1.ways.x=3",
        "l1.ways[0]=3",
        "wires[3]=1",
        "parts.cu.slots=3",
        "l1.ways=",
        "l1.ways=Gto(",
        "l1.ways",
        "=3",
        "l1..ways=3",
        "wires[x]=3",
        "wires[3=1",
        "wires[1]x=1",
        "parts.\"cu=3",
    ];
    let all: Vec<_> = changes
        .iter()
        .map(|c| overridden(c, Absent::Refuse).unwrap_err())
        .collect();
    assert_snapshot!(all.join("\n\n"));
}

#[test]
fn an_inserted_field_the_type_lacks_is_refused_at_the_override() {
    let mut node = parse(&Source::new("a.ron", "Cache(size: \"1 B\", ways: 4)")).unwrap();
    Override::parse("waze=8", "--set")
        .unwrap()
        .apply(&mut node, Absent::Insert)
        .unwrap();
    assert_snapshot!(from_node::<CacheSpec>(&node).unwrap_err().to_string());
}

#[test]
fn the_same_path_twice_is_found_however_it_is_spelt() {
    let list = ["a.b[1]=1", "a.c=2", " a.\"b\"[ 1 ] = 3"];
    let list: Vec<_> = list
        .iter()
        .map(|text| Override::parse(text, "--set").unwrap())
        .collect();
    assert_snapshot!(repeated_paths(&list).to_string());
    assert!(repeated_paths(&list[..2]).is_empty());
}

#[test]
fn long_values_are_written_one_field_a_line() {
    let text = "System(clocks: {\"core\": \"1.4 GHz\"}, parts: {\"l1[i]\": Cache(size: \"48 KiB\", ways: 4, \
                replacement: Lru(), scheduler: Some(Gto), mshr: 32), 7: (1, -2.5, 'x', \"a\\\"\\n\")}, empty: [])";
    assert_snapshot!(to_ron(&parse(&Source::new("a.ron", text)).unwrap()));
}

#[test]
fn places_over_several_lines_and_colours_are_shown() {
    let source = Source::new("a.ron", "first\n\tsecond é\nthird");
    let diagnostic = Diagnostic::warning("three lines")
        .at(&source.span(7, 19))
        .label("here")
        .hint("fold");
    assert_snapshot!(diagnostic.to_string());
    assert!(
        diagnostic
            .coloured()
            .contains("\x1b[1;33mwarning\x1b[0m: three lines")
    );
    assert_snapshot!(Diagnostic::error("no place").hint("none").to_string());
}
