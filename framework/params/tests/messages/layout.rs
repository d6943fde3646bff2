//! How messages and descriptions are laid out.

use insta::assert_snapshot;
use warpweave_params::{Diagnostic, Source, parse, to_ron};

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
