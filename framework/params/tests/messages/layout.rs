//! Tests of the layout of messages and printed descriptions.

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

#[test]
fn a_long_line_is_clipped_around_what_is_marked() {
    let line = |before: usize, marked: usize, after: usize| {
        let text = ["b".repeat(before), "M".repeat(marked), "a".repeat(after)].concat();
        let source = Source::new("a.ron", text);
        let place = source.span(before, before + marked);
        Diagnostic::error("long")
            .at(&place)
            .label("here")
            .to_string()
    };
    let shown = [
        line(30, 4, 400),
        line(200, 4, 400),
        line(400, 4, 0),
        line(200, 4000, 1),
    ];
    assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn a_place_at_any_column_has_a_short_message() {
    for before in [65_534, 65_535, 65_536, 300_000, 27 << 20] {
        let source = Source::new("a.ron", " ".repeat(before) + "x");
        let message = Diagnostic::error("far").at(&source.span(before, before + 1));
        for text in [message.to_string(), message.coloured()] {
            assert!(text.contains(&format!("a.ron:1:{}", before + 1)), "{text}");
            assert!(text.len() < 400, "{} bytes", text.len());
        }
    }
}

#[test]
fn tabs_wide_and_combining_characters_keep_the_marks_below_what_is_marked() {
    let marked = |text: &str| {
        let source = Source::new("a.ron", text);
        let at = text.find('M').expect("marked");
        Diagnostic::error("here")
            .at(&source.span(at, at + 1))
            .to_string()
    };
    let shown = [
        "\tM",
        "漢字M",
        "e\u{301}M",
        "\u{1b}[2JM",
        "\u{202e}M",
        "a\r\nM",
    ];
    assert_snapshot!(shown.map(marked).join("\n\n"));
}

#[test]
fn whatever_a_description_holds_a_message_is_bounded() {
    let long = "long\u{1b}[31m".repeat(10_000);
    let source = Source::new(long.clone(), long.clone());
    let place = source.span(3, long.len() - 3);
    let mut message = Diagnostic::error(&long).at(&place).label(&long).hint(&long);
    for _ in 0..50 {
        message = message.related(&long, &place);
    }
    let text = message.to_string();
    assert!(text.len() < 64 << 10, "{} bytes", text.len());
    assert!(!text.contains('\u{1b}'));
    let hundred: warpweave_params::Diagnostics = vec![message; 100].into_iter().collect();
    let text = hundred.to_string();
    assert!(text.len() < 64 << 10, "{} bytes", text.len());
    assert!(text.ends_with(" more messages not shown"));
    let all: warpweave_params::Diagnostics = (0..10_000).map(|_| Diagnostic::error("x")).collect();
    let text = all.to_string();
    assert_eq!(text.lines().count(), 201);
    assert!(
        text.ends_with("note: 9900 more messages not shown"),
        "{text}"
    );
    assert_eq!(
        text,
        all.coloured()
            .replace("\u{1b}[1;31m", "")
            .replace("\u{1b}[0m", "")
    );
}
