//! The exact text of every refusal: what a user reads is part of the contract.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use serde::Deserialize;
use warpweave_params::{
    Absent, Bandwidth, Bytes, Diagnostic, Diagnostics, Duration, Frequency, Number, Override,
    Placed, Source, from_named, from_node, parse, repeated_paths, to_ron,
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

#[derive(Debug, Deserialize)]
#[allow(dead_code)] // What is refused is never looked at.
enum Step {
    Load(Placed<String>),
    Set(Placed<Number>),
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
    ]), @r###"
error: expected comma
 --> a.ron:1:22
  |
1 | Cache(size: "48 KiB" ways: 4)
  |                      ^
  = hint: put a comma after the value before this

error: expected comma
 --> a.ron:3:5
  |
3 |     ways: 4,
  |     ^
  = hint: put a comma after the value before this

error: the text ends in the middle of a value
 --> a.ron:1:30
  |
1 | Cache(size: "48 KiB", ways: 4
  |                              ^
  = hint: is a closing bracket or quote missing?

error: expected end of string
 --> a.ron:1:14
  |
1 | Cache(size: "48 KiB, ways: 4)
  |              ^

error: unknown escape character
 --> a.ron:1:14
  |
1 | Cache(size: "48 \q KiB", ways: 4)
  |              ^^^^^

error: text after the end of the description
 --> a.ron:1:32
  |
1 | Cache(size: "48 KiB", ways: 4) x
  |                                ^

error: expected comma
 --> a.ron:1:12
  |
1 | Cache(size = 3)
  |            ^
  = hint: put a comma after the value before this

error: no RON extension named `foo`
 --> a.ron:1:11
  |
1 | #![enable(foo)] Cache(size: 3)
  |           ^^^

error: unexpected char '@'
 --> a.ron:1:13
  |
1 | Cache(size: @)
  |             ^

error: the text ends in the middle of a value
 --> a.ron:1:18
  |
1 | Cache(size: /* 3)
  |                  ^
  = hint: is a closing bracket or quote missing?

error: ranges have no meaning here
 --> a.ron:1:13
  |
1 | Cache(size: 0..4)
  |             ^^^^

error: byte strings have no meaning here
 --> a.ron:1:13
  |
1 | Cache(size: b"x")
  |             ^^^^

error: a value here needs an extension
 --> a.ron:1:42
  |
1 | #![enable(unwrap_variant_newtypes)] Cache(size: Some(a: 1))
  |                                          ^
  = hint: write it so that it is valid without, such as Some((field: ..))

error: the text ends in the middle of a value
 --> a.ron:1:1
  |
1 |
  | ^
  = hint: is a closing bracket or quote missing?
"###);
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
    ]), @r###"
error: integer `400` is out of range
 --> a.ron:1:26
  |
1 | Cache(size: "1 B", ways: 400)
  |                          ^^^
  = hint: the range is 0 to 255

error: integer `-1` is out of range
 --> a.ron:1:26
  |
1 | Cache(size: "1 B", ways: -1)
  |                          ^^
  = hint: the range is 0 to 255

error: expected an integer from 0 to 255, found string "4"
 --> a.ron:1:26
  |
1 | Cache(size: "1 B", ways: "4")
  |                          ^^^

error: expected an integer from 0 to 255, found number `4.5`
 --> a.ron:1:26
  |
1 | Cache(size: "1 B", ways: 4.5)
  |                          ^^^

error: integer does not fit 64 bits
 --> a.ron:1:26
  |
1 | Cache(size: "1 B", ways: 99999999999999999999999)
  |                          ^^^^^^^^^^^^^^^^^^^^^^^
  = hint: the range is -9223372036854775808 to 18446744073709551615

error: expected `true` or `false`, found integer `1`
 --> a.ron:1:33
  |
1 | Cache(size: "1 B", ways: 4, on: 1)
  |                                 ^

error: expected a string, found `l1`
 --> a.ron:1:36
  |
1 | Cache(size: "1 B", ways: 4, label: l1)
  |                                    ^^
  = hint: write "l1" in quotes

error: expected a string, found character 'x'
 --> a.ron:1:36
  |
1 | Cache(size: "1 B", ways: 4, label: 'x')
  |                                    ^^^

error: expected a map `{..}`, found a list `[..]`
 --> a.ron:1:36
  |
1 | Cache(size: "1 B", ways: 4, marks: [1])
  |                                    ^^^

error: expected an integer from -2147483648 to 2147483647, found character 'x'
 --> a.ron:1:42
  |
1 | Cache(size: "1 B", ways: 4, marks: {"a": 'x'})
  |                                          ^^^

error: expected a string, found integer `1`
 --> a.ron:1:37
  |
1 | Cache(size: "1 B", ways: 4, marks: {1: 2})
  |                                     ^

error: expected 2 elements, found 3 elements
 --> a.ron:1:35
  |
1 | Cache(size: "1 B", ways: 4, grid: (1, 2, 3))
  |                                   ^^^^^^^^^

error: expected 2 elements in parentheses, found integer `3`
 --> a.ron:1:35
  |
1 | Cache(size: "1 B", ways: 4, grid: 3)
  |                                   ^

error: expected Cache, found a map `{..}`
 --> a.ron:1:37
  |
1 | Cache(size: "1 B", ways: 4, nested: {})
  |                                     ^^
  = hint: write `(size: ..)` with fields: size, ways, scheduler, marks, nested, grid, label, on

error: expected a size, found "é"
 --> a.ron:2:8
  |
2 |     size: "é",    ways: 4)
  |           ^^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB
"###);
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
    ]), @r###"
error: unknown field `wayz` in Cache
 --> a.ron:1:20
  |
1 | Cache(size: "1 B", wayz: 4)
  |                    ^^^^
  = hint: did you mean `ways`? fields of Cache: size, ways, scheduler, marks, nested, grid, label, on

error: expected Cache, found `Cach(..)`
 --> a.ron:1:1
  |
1 | Cach(size: "1 B", ways: 4)
  | ^^^^
  = hint: write `Cache(..)`, or leave the name out

error: missing field `ways` in Cache
 --> a.ron:1:1
  |
1 | Cache(size: "1 B")
  | ^^^^^
  = hint: add `ways: ..`; fields of Cache: size, ways, scheduler, marks, nested, grid, label, on

error: missing field `ways` in Cache
 --> a.ron:1:1
  |
1 | (
  | ^
  = hint: add `ways: ..`; fields of Cache: size, ways, scheduler, marks, nested, grid, label, on

error: expected Cache, found `Cash(..)`
 --> a.ron:1:37
  |
1 | Cache(size: "1 B", ways: 4, nested: Cash(size: "1 B"))
  |                                     ^^^^
  = hint: write `Cache(..)`, or leave the name out

error: unknown variant `Gtoo` of Scheduler
 --> a.ron:1:40
  |
1 | Cache(size: "1 B", ways: 4, scheduler: Gtoo(window: 3))
  |                                        ^^^^
  = hint: did you mean `Gto`? variants: Gto, Lrr, Random, Pair

error: unknown field `windw` in Gto
 --> a.ron:1:44
  |
1 | Cache(size: "1 B", ways: 4, scheduler: Gto(windw: 3))
  |                                            ^^^^^
  = hint: did you mean `window`? fields of Gto: window

error: expected a variant of Scheduler, found string "Lrr"
 --> a.ron:1:40
  |
1 | Cache(size: "1 B", ways: 4, scheduler: "Lrr")
  |                                        ^^^^^
  = hint: write `Lrr` without quotes

error: expected a variant of Scheduler, found integer `3`
 --> a.ron:1:40
  |
1 | Cache(size: "1 B", ways: 4, scheduler: 3)
  |                                        ^
  = hint: variants of Scheduler: Gto, Lrr, Random, Pair

error: `Lrr` takes no parameters
 --> a.ron:1:40
  |
1 | Cache(size: "1 B", ways: 4, scheduler: Lrr(a: 2))
  |                                        ^^^
  = hint: write `Lrr`

error: missing field `seed` in Random
 --> a.ron:1:40
  |
1 | Cache(size: "1 B", ways: 4, scheduler: Random)
  |                                        ^^^^^^
  = hint: add `seed: ..`; fields of Random: seed

error: expected fields seed, found `Random(..)`
 --> a.ron:1:40
  |
1 | Cache(size: "1 B", ways: 4, scheduler: Random(3))
  |                                        ^^^^^^

error: expected 2 elements, found 1 element
 --> a.ron:1:40
  |
1 | Cache(size: "1 B", ways: 4, scheduler: Pair(1))
  |                                        ^^^^
"###);
}

#[test]
fn every_mistake_is_shown_and_what_follows_from_one_is_not() {
    assert_snapshot!(refusals(&[
        "Cache(size: 1, wayz: 2, on: 3, marks: {\"a\": x, \"b\": 4, \"c\": y}, labl: 5)",
        "Cache(size: \"1 B\", ways: 400, nested: (size: \"1 B\", ways: 4, on: 2))",
    ]), @r###"
    error: unknown field `wayz` in Cache
     --> a.ron:1:16
      |
    1 | Cache(size: 1, wayz: 2, on: 3, marks: {"a": x, "b": 4, "c": y}, labl: 5)
      |                ^^^^
      = hint: did you mean `ways`? fields of Cache: size, ways, scheduler, marks, nested, grid, label, on

    error: unknown field `labl` in Cache
     --> a.ron:1:65
      |
    1 | Cache(size: 1, wayz: 2, on: 3, marks: {"a": x, "b": 4, "c": y}, labl: 5)
      |                                                                 ^^^^
      = hint: did you mean `label`? fields of Cache: size, ways, scheduler, marks, nested, grid, label, on

    error: a size needs a unit, found `1`
     --> a.ron:1:13
      |
    1 | Cache(size: 1, wayz: 2, on: 3, marks: {"a": x, "b": 4, "c": y}, labl: 5)
      |             ^
      = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

    error: expected `true` or `false`, found integer `3`
     --> a.ron:1:29
      |
    1 | Cache(size: 1, wayz: 2, on: 3, marks: {"a": x, "b": 4, "c": y}, labl: 5)
      |                             ^

    error: expected an integer from -2147483648 to 2147483647, found `x`
     --> a.ron:1:45
      |
    1 | Cache(size: 1, wayz: 2, on: 3, marks: {"a": x, "b": 4, "c": y}, labl: 5)
      |                                             ^

    error: expected an integer from -2147483648 to 2147483647, found `y`
     --> a.ron:1:61
      |
    1 | Cache(size: 1, wayz: 2, on: 3, marks: {"a": x, "b": 4, "c": y}, labl: 5)
      |                                                             ^

    error: integer `400` is out of range
     --> a.ron:1:26
      |
    1 | Cache(size: "1 B", ways: 400, nested: (size: "1 B", ways: 4, on: 2))
      |                          ^^^
      = hint: the range is 0 to 255

    error: expected `true` or `false`, found integer `2`
     --> a.ron:1:66
      |
    1 | Cache(size: "1 B", ways: 400, nested: (size: "1 B", ways: 4, on: 2))
      |                                                                  ^
    "###);
}

#[test]
fn what_a_name_takes_is_said_where_it_is_missing() {
    let refuse = |text: &str| {
        let node = parse(&Source::new("a.ron", text)).unwrap();
        from_node::<Vec<Step>>(&node).unwrap_err().to_string()
    };
    assert_snapshot!(refuse("[Load, Load(\"a\", \"b\"), Load(name: \"a\"), Load(a), Set, Set(x)]"), @r###"
    error: `Load` takes a string in parentheses
     --> a.ron:1:2
      |
    1 | [Load, Load("a", "b"), Load(name: "a"), Load(a), Set, Set(x)]
      |  ^^^^

    error: `Load` takes a string in parentheses
     --> a.ron:1:8
      |
    1 | [Load, Load("a", "b"), Load(name: "a"), Load(a), Set, Set(x)]
      |        ^^^^

    error: `Load` takes a string in parentheses
     --> a.ron:1:24
      |
    1 | [Load, Load("a", "b"), Load(name: "a"), Load(a), Set, Set(x)]
      |                        ^^^^

    error: expected a string, found `a`
     --> a.ron:1:46
      |
    1 | [Load, Load("a", "b"), Load(name: "a"), Load(a), Set, Set(x)]
      |                                              ^
      = hint: write "a" in quotes

    error: `Set` takes a value in parentheses
     --> a.ron:1:50
      |
    1 | [Load, Load("a", "b"), Load(name: "a"), Load(a), Set, Set(x)]
      |                                                  ^^^

    error: expected a number or an expression, found `x`
     --> a.ron:1:59
      |
    1 | [Load, Load("a", "b"), Load(name: "a"), Load(a), Set, Set(x)]
      |                                                           ^
      = hint: write "=x"
    "###);
}

#[test]
fn duplicates_show_both_places_and_all_at_once() {
    assert_snapshot!(refusals(&[
        "Cache(\n    ways: 4,\n    marks: {\"a\": 1, \"a\": 2},\n    size: \"1 B\",\n    ways: 5,\n)",
    ]), @r###"
error: key "a" is given twice in this map
 --> a.ron:3:21
  |
3 |     marks: {"a": 1, "a": 2},
  |                     ^^^
  = hint: remove one of the two
note: first given here
 --> a.ron:3:13
  |
3 |     marks: {"a": 1, "a": 2},
  |             ---

error: field `ways` is given twice in Cache
 --> a.ron:5:5
  |
5 |     ways: 5,
  |     ^^^^
  = hint: remove one of the two
note: first given here
 --> a.ron:2:5
  |
2 |     ways: 4,
  |     ----
"###);
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
    let mut refuse = |error: Diagnostics| shown.push(error.to_string());
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
    assert_snapshot!(shown.join("\n\n"), @r###"
error: a size needs a unit, found `48`
 --> a.ron:1:1
  |
1 | 48
  | ^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

error: a size needs a unit, found `4.8`
 --> a.ron:1:1
  |
1 | 4.8
  | ^^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

error: a size needs a unit, found `48`
 --> a.ron:1:1
  |
1 | "48"
  | ^^^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

error: expected a size, found a frequency (`GHz`)
 --> a.ron:1:1
  |
1 | "48 GHz"
  | ^^^^^^^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

error: unknown unit `KB` for a size
 --> a.ron:1:1
  |
1 | "48 KB"
  | ^^^^^^^
  = hint: did you mean `KiB`? units: B, KiB, MiB, GiB, TiB

error: expected a size, found "x"
 --> a.ron:1:1
  |
1 | "x"
  | ^^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

error: a size must be whole bytes, found 1.3 B
 --> a.ron:1:1
  |
1 | "1.3 B"
  | ^^^^^^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

error: "99999999 TiB" is beyond what can be held exactly
 --> a.ron:1:1
  |
1 | "99999999 TiB"
  | ^^^^^^^^^^^^^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

error: expected a size such as "48 KiB", found unit `()`
 --> a.ron:1:1
  |
1 | ()
  | ^^

error: a frequency must be above zero
 --> a.ron:1:1
  |
1 | "0 GHz"
  | ^^^^^^^
  = hint: write a frequency such as "1.4 GHz"; units: Hz, kHz, MHz, GHz

error: `1/0` in "1/0 GHz" is not a number
 --> a.ron:1:1
  |
1 | "1/0 GHz"
  | ^^^^^^^^^
  = hint: write a frequency such as "1.4 GHz"; units: Hz, kHz, MHz, GHz

error: `1..2` in "1..2 GHz" is not a number
 --> a.ron:1:1
  |
1 | "1..2 GHz"
  | ^^^^^^^^^^
  = hint: write a frequency such as "1.4 GHz"; units: Hz, kHz, MHz, GHz

error: expected a frequency, found a duration (`ns`)
 --> a.ron:1:1
  |
1 | "2 ns"
  | ^^^^^^
  = hint: write a frequency such as "1.4 GHz"; units: Hz, kHz, MHz, GHz

error: `-3` in "-3 MHz" is not a number
 --> a.ron:1:1
  |
1 | "-3 MHz"
  | ^^^^^^^^
  = hint: write a frequency such as "1.4 GHz"; units: Hz, kHz, MHz, GHz

error: "99999999999999999999 Hz" is beyond what can be held exactly
 --> a.ron:1:1
  |
1 | "99999999999999999999 Hz"
  | ^^^^^^^^^^^^^^^^^^^^^^^^^
  = hint: write a frequency such as "1.4 GHz"; units: Hz, kHz, MHz, GHz

error: unknown unit `GB` for a bandwidth
 --> a.ron:1:1
  |
1 | "1 GB"
  | ^^^^^^
  = hint: write a bandwidth such as "716.8 GB/s"; units: B/s, kB/s, KiB/s, MB/s, MiB/s, GB/s, GiB/s, TB/s, TiB/s

error: a duration needs a unit, found `-2`
 --> a.ron:1:1
  |
1 | -2
  | ^^
  = hint: write a duration such as "2 ns"; units: fs, ps, ns, us, ms, s
"###);
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
    assert_snapshot!(all.join("\n\n"), @r###"
error: unknown field `wayz` in Cache
 --> --set l1.wayz=8:1:4
  |
1 | l1.wayz=8
  |    ^^^^
  = hint: did you mean `ways`? fields of Cache: ways, scheduler, replacement

error: unknown field `l2` in System
 --> --set l2.ways=8:1:1
  |
1 | l2.ways=8
  | ^^
  = hint: did you mean `l1`? fields of System: l1, timing, parts, wires

error: `depth` cannot be set: the value here is `Lru`, which has no fields
 --> --set l1.replacement.depth=3:1:16
  |
1 | l1.replacement.depth=3
  |                ^^^^^
  = hint: to change the variant, replace the whole value
note: set here
 --> a.ron:2:64
  |
2 |     l1: Cache(ways: 4, scheduler: Gto(window: 2), replacement: Lru),
  |                                                                ---

error: integer `4` has no field `x`
 --> --set l1.ways.x=3:1:9
  |
1 | l1.ways.x=3
  |         ^

error: integer `4` has no elements
 --> --set l1.ways[0]=3:1:8
  |
1 | l1.ways[0]=3
  |        ^^^

error: index 3 is out of range
 --> --set wires[3]=1:1:6
  |
1 | wires[3]=1
  |      ^^^
  = hint: there are 3 elements, counted from 0

error: unknown key `cu`
 --> --set parts.cu.slots=3:1:7
  |
1 | parts.cu.slots=3
  |       ^^
  = hint: keys: cu[0]

error: the text ends in the middle of a value
 --> --set l1.ways=:1:9
  |
1 | l1.ways=
  |         ^
  = hint: is a closing bracket or quote missing?

error: the text ends in the middle of a value
 --> --set l1.ways=Gto(:1:13
  |
1 | l1.ways=Gto(
  |             ^
  = hint: is a closing bracket or quote missing?

error: an override needs `=` between path and value
 --> --set l1.ways:1:1
  |
1 | l1.ways
  | ^^^^^^^
  = hint: write path=value, such as l1.ways=16

error: a name is missing in the path
 --> --set =3:1:1
  |
1 | =3
  | ^
  = hint: a path is names and indices, such as l1.ways or wires[2].latency

error: a name is missing in the path
 --> --set l1..ways=3:1:3
  |
1 | l1..ways=3
  |   ^
  = hint: a path is names and indices, such as l1.ways or wires[2].latency

error: an index is a whole number
 --> --set wires[x]=3:1:7
  |
1 | wires[x]=3
  |       ^
  = hint: a path is names and indices, such as l1.ways or wires[2].latency

error: `]` is missing in the path
 --> --set wires[3=1:1:6
  |
1 | wires[3=1
  |      ^^
  = hint: a path is names and indices, such as l1.ways or wires[2].latency

error: expected `.` or `[` in the path
 --> --set wires[1]x=1:1:9
  |
1 | wires[1]x=1
  |         ^
  = hint: a path is names and indices, such as l1.ways or wires[2].latency

error: an override needs `=` between path and value
 --> --set parts."cu=3:1:1
  |
1 | parts."cu=3
  | ^^^^^^^^^^^
  = hint: write path=value, such as l1.ways=16
"###);
}

#[test]
fn an_inserted_field_the_type_lacks_is_refused_at_the_override() {
    let mut node = parse(&Source::new("a.ron", "Cache(size: \"1 B\", ways: 4)")).unwrap();
    Override::parse("waze=8", "--set")
        .unwrap()
        .apply(&mut node, Absent::Insert)
        .unwrap();
    assert_snapshot!(from_node::<CacheSpec>(&node).unwrap_err().to_string(), @r###"
error: unknown field `waze` in Cache
 --> --set waze=8:1:1
  |
1 | waze=8
  | ^^^^
  = hint: fields of Cache: size, ways, scheduler, marks, nested, grid, label, on
"###);
}

#[test]
fn the_same_path_twice_is_found_however_it_is_spelt() {
    let list = ["a.b[1]=1", "a.c=2", " a.\"b\"[ 1 ] = 3"];
    let list: Vec<_> = list
        .iter()
        .map(|text| Override::parse(text, "--set").unwrap())
        .collect();
    assert_snapshot!(repeated_paths(&list).to_string(), @r###"
error: `a.b[1]` is set twice
 --> --set  a."b"[ 1 ] = 3:1:1
  |
1 |  a."b"[ 1 ] = 3
  | ^^^^^^^^^^^^
  = hint: keep one of the two
note: first set here
 --> --set a.b[1]=1:1:1
  |
1 | a.b[1]=1
  | ------
"###);
    assert!(repeated_paths(&list[..2]).is_empty());
}

#[test]
fn long_values_are_written_one_field_a_line() {
    let text = "System(clocks: {\"core\": \"1.4 GHz\"}, parts: {\"l1[i]\": Cache(size: \"48 KiB\", ways: 4, \
                replacement: Lru(), scheduler: Some(Gto), mshr: 32), 7: (1, -2.5, 'x', \"a\\\"\\n\")}, empty: [])";
    assert_snapshot!(to_ron(&parse(&Source::new("a.ron", text)).unwrap()), @r###"
System(
    clocks: {"core": "1.4 GHz"},
    parts: {
        "l1[i]": Cache(
            size: "48 KiB",
            ways: 4,
            replacement: Lru(),
            scheduler: Some(Gto),
            mshr: 32,
        ),
        7: (1, -2.5, 'x', "a\"\n"),
    },
    empty: [],
)
"###);
}

#[test]
fn places_over_several_lines_and_colours_are_shown() {
    let source = Source::new("a.ron", "first\n\tsecond é\nthird");
    let diagnostic = Diagnostic::warning("three lines")
        .at(&source.span(7, 19))
        .label("here")
        .hint("fold");
    assert_snapshot!(diagnostic.to_string(), @r###"
warning: three lines
 --> a.ron:2:2
  |
2 |     second é
  |     ^^^^^^^^ here ... to line 3
  = hint: fold
"###);
    assert!(
        diagnostic
            .coloured()
            .contains("\x1b[1;33mwarning\x1b[0m: three lines")
    );
    assert_snapshot!(Diagnostic::error("no place").hint("none").to_string(), @r###"
error: no place
hint: none
"###);
}
