//! Tests of values that do not have the requested type.

use insta::assert_snapshot;
use serde::Deserialize;
use warpweave_params::{Number, Placed, Source, from_node, parse};

use super::{GtoSpec, Scheduler, read, refusals};

#[derive(Debug, Deserialize)]
#[allow(dead_code)] // What is refused is never looked at.
enum Step {
    Load(Placed<String>),
    Set(Placed<Number>),
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

error: integer does not fit in 64 bits
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
    ]), @r#"
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
      = hint: write `Cache(..)`, or omit the name

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
      = hint: write `Cache(..)`, or omit the name

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
    "#);
}

#[test]
fn every_mistake_is_shown_and_what_follows_from_one_is_not() {
    assert_snapshot!(refusals(&[
        "Cache(size: 1, wayz: 2, on: 3, marks: {\"a\": x, \"b\": 4, \"c\": y}, labl: 5)",
        "Cache(size: \"1 B\", ways: 400, nested: (size: \"1 B\", ways: 4, on: 2))",
    ]), @r#"
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
    "#);
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
