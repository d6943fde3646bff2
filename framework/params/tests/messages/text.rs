//! Tests of texts that are not descriptions.

use insta::assert_snapshot;
use warpweave_params::{Source, parse};

use super::refusals;

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
        "",
    ]), @r###"
error: expected comma
 --> a.ron:1:22
  |
1 | Cache(size: "48 KiB" ways: 4)
  |                      ^
  = hint: put a comma after the preceding value

error: expected comma
 --> a.ron:3:5
  |
3 |     ways: 4,
  |     ^
  = hint: put a comma after the preceding value

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
  = hint: put a comma after the preceding value

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

error: ranges are not allowed here
 --> a.ron:1:13
  |
1 | Cache(size: 0..4)
  |             ^^^^

error: byte strings are not allowed here
 --> a.ron:1:13
  |
1 | Cache(size: b"x")
  |             ^^^^

error: the text ends in the middle of a value
 --> a.ron:1:1
  |
1 |
  | ^
  = hint: is a closing bracket or quote missing?
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
        assert!(parse(&Source::new("a", nested(128))).is_ok(), "{open}");
        for depth in [129, 258, 100_000] {
            let error = parse(&Source::new("a", nested(depth)))
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with("error: nested more than 128 levels deep"),
                "{error:.80}"
            );
        }
    }
}
