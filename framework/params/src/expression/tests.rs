//! Tests of expression values and of rejected expressions.

use insta::assert_snapshot;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::{Source, parse, to_ron};

fn env() -> Env {
    Env::from_iter([("cus", 5), ("clusters", 12)])
}

fn refusal(expression: &str) -> String {
    let source = Source::new("a.ron", format!("(\"é\", \"={expression}\")"));
    let mut node = parse(&source).unwrap();
    resolve_expressions(&mut node, &env())
        .unwrap_err()
        .to_string()
}

#[test]
fn expressions_follow_the_usual_precedence() {
    for (text, value) in [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 - 2 - 1", 4),
        ("-7 / 2", -3),
        ("-7 % 4", -3),
        ("cus * clusters", 60),
        ("min(3, cus, 9) + max(1, 2)", 5),
        ("ceil_div(7, 2)", 4),
        ("ceil_div(-7, 2)", -3),
        ("log2(1_024)", 10),
        ("--3", 3),
    ] {
        assert_eq!(eval_index(text, &env()), Ok(value), "{text}");
    }
}

proptest! {
    #[test]
    fn a_sum_of_products_is_worth_what_the_whole_grammar_says(
        tokens in vec(select(vec![
            "+", "*", " ", "cus", "clusters", "3", "40", "9223372036854775807", "none", "true", "-", "(", "1_0", "",
        ]), 1..9),
    ) {
        let text = tokens.concat();
        let env = env();
        let mut reader = Reader::new(&text, Some(&env));
        let whole = reader.whole().and_then(|value| reader.integer(value, 0));
        if let Some(value) = simple(&text, &env) {
            prop_assert_eq!(whole, Ok(value), "{}", text);
        } else if whole.is_ok() {
            let more = ['-', '(', '_'];
            prop_assert!(text.contains(more), "{} is a sum of products", text);
        }
    }
}

fn with_others() -> Env {
    let mut env = env();
    env.define("icc", Kind::Bool(true));
    env.define("name", Kind::Text("=5".to_owned()));
    env
}

#[test]
fn conditions_compare_combine_and_choose() {
    for (text, value) in [
        ("cus == 5", true),
        ("cus + 1 <= 5", false),
        ("cus < 6 && clusters > 11 || false", true),
        ("!icc || cus != 5", false),
        ("icc == true", true),
        ("!(cus >= 5) == false", true),
        ("false && 1 / 0 == 1", false),
        ("true || log2(3) == 1", true),
        ("if icc then cus > 4 else false", true),
    ] {
        assert_eq!(eval(text, &with_others()), Ok(Kind::Bool(value)), "{text}");
    }
}

#[test]
fn a_condition_computes_one_branch_and_passes_any_value_on() {
    for (text, value) in [
        ("if icc then 1 else 1 / 0", Kind::Int(1)),
        (
            "if cus == 4 then 1 else if cus == 5 then 2 else 3",
            Kind::Int(2),
        ),
        ("2 * (if icc then 3 else 4) + 1", Kind::Int(7)),
        ("max(if icc then 8 else 4, 2)", Kind::Int(8)),
        ("if icc then name else cus", Kind::Text("=5".to_owned())),
    ] {
        assert_eq!(eval(text, &with_others()), Ok(value), "{text}");
    }
}

#[test]
fn conditions_of_the_wrong_type_or_form_are_refused() {
    let texts = [
        "if cus then 1 else 2",
        "if icc then 1",
        "if icc 1 else 2",
        "1 + if icc then 1 else 2",
        "icc + 1",
        "name * 2",
        "!cus",
        "icc < 1",
        "icc == 1",
        "cus && icc",
        "1 < 2 < 3",
        "if icc then 1 else nobody",
    ];
    let refusal = |text: &&str| match eval(text, &with_others()) {
        Ok(value) => panic!("{text} is {value:?}"),
        Err(error) => {
            let blamed = &text[error.range.clone()];
            format!("{text:<26} {blamed:>9}: {error}")
        }
    };
    let all: Vec<_> = texts.iter().map(refusal).collect();
    assert_snapshot!(all.join("\n"), @"
    if cus then 1 else 2             cus: expected `true` or `false`, found an integer
    if icc then 1                       : missing `else` at the end
    if icc 1 else 2                    1: expected `then`, found `1`
    1 + if icc then 1 else 2          if: expected a number or name, found `if`
    icc + 1                          icc: expected an integer, found a boolean
    name * 2                        name: expected an integer, found a value of another type
    !cus                             cus: expected `true` or `false`, found an integer
    icc < 1                          icc: expected an integer, found a boolean
    icc == 1                           1: expected `true` or `false`, found an integer
    cus && icc                       cus: expected `true` or `false`, found an integer
    1 < 2 < 3                          <: unexpected `<` in an expression
    if icc then 1 else nobody     nobody: unknown name `nobody` in an expression
    ");
}

#[test]
fn a_text_is_an_expression_whatever_its_names_stand_for() {
    for text in [
        "2 * 8",
        "a + b[",
        "1 / 0",
        "if a then b else c",
        "8 MHz",
        "(a: 1)",
        "a",
    ] {
        let wanted = !matches!(text, "a + b[" | "8 MHz" | "(a: 1)");
        assert_eq!(is_expression(text), wanted, "{text}");
    }
}

#[test]
fn strings_become_integers_in_place_and_others_stay() {
    let source = Source::new(
        "a.ron",
        r#"{"a": "=cus + 1", "b": ["=2", "x"], "c": Some("=cus")}"#,
    );
    let mut node = parse(&source).unwrap();
    resolve_expressions(&mut node, &env()).unwrap();
    assert_snapshot!(to_ron(&node), @r#"{"a": 6, "b": [2, "x"], "c": Some(5)}"#);
    assert_eq!(node.entries()[0].1.span.text(), "\"=cus + 1\"");
}

#[test]
fn refusals_point_into_the_string() {
    let texts = [
        "cuss * 2",
        "mix(1, 2)",
        "1 +",
        "1 2",
        "(1",
        "4 / (cus - 5)",
        "9223372036854775807 + 1",
        "log2(12)",
        "ceil_div(1, 0)",
        "log2(1, 2)",
        "99999999999999999999",
        "1x",
        "",
    ];
    let all: Vec<_> = texts.into_iter().map(refusal).collect();
    assert_snapshot!(all.join("\n\n"), @r#"
    error: unknown name `cuss` in an expression
     --> a.ron:1:9
      |
    1 | ("é", "=cuss * 2")
      |         ^^^^
      = hint: did you mean `cus`? names known here: clusters, cus

    error: unknown function `mix`
     --> a.ron:1:9
      |
    1 | ("é", "=mix(1, 2)")
      |         ^^^
      = hint: did you mean `max`? functions: ceil_div, log2, max, min

    error: expected a number or name, found the end of the expression
     --> a.ron:1:12
      |
    1 | ("é", "=1 +")
      |            ^

    error: unexpected `2` in an expression
     --> a.ron:1:11
      |
    1 | ("é", "=1 2")
      |           ^

    error: missing `)` at the end
     --> a.ron:1:11
      |
    1 | ("é", "=(1")
      |           ^

    error: division by zero
     --> a.ron:1:13
      |
    1 | ("é", "=4 / (cus - 5)")
      |             ^^^^^^^^^

    error: the result does not fit in 64 bits
     --> a.ron:1:9
      |
    1 | ("é", "=9223372036854775807 + 1")
      |         ^^^^^^^^^^^^^^^^^^^^^^^

    error: `log2` needs a power of two, found 12
     --> a.ron:1:9
      |
    1 | ("é", "=log2(12)")
      |         ^^^^^^^^

    error: `ceil_div` needs a divisor above zero, found 0
     --> a.ron:1:9
      |
    1 | ("é", "=ceil_div(1, 0)")
      |         ^^^^^^^^^^^^^^

    error: `log2` takes 1 value, found 2
     --> a.ron:1:9
      |
    1 | ("é", "=log2(1, 2)")
      |         ^^^^^^^^^^

    error: `99999999999999999999` does not fit in 64 bits
     --> a.ron:1:9
      |
    1 | ("é", "=99999999999999999999")
      |         ^^^^^^^^^^^^^^^^^^^^

    error: `1x` is not a number
     --> a.ron:1:9
      |
    1 | ("é", "=1x")
      |         ^^

    error: expected a number or name, found the end of the expression
     --> a.ron:1:9
      |
    1 | ("é", "=")
      |         ^
    "#);
}

#[test]
fn deep_nesting_is_refused_not_overflowed() {
    let error = eval_index(&"(".repeat(100_000), &env()).unwrap_err();
    assert_eq!(error.message, "nested more than 128 levels deep");
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(eval_index(&nested(127), &env()), Ok(1));
    assert!(eval_index(&nested(128), &env()).is_err());
    assert!(eval_index(&"-".repeat(100_000), &env()).is_err());
}

/// Defines a chain of parameters in which each value contains the previous one `width` times.
fn chain(width: usize, length: usize) -> Result<(), String> {
    let mut env = Env::new();
    env.define("p0", Kind::List(Vec::new()));
    for i in 1..=length {
        let uses = vec![format!("\"=p{}\"", i - 1); width].join(", ");
        let mut node = parse(&Source::new("a.ron", format!("[{uses}]"))).expect("a list");
        resolve_expressions(&mut node, &env).map_err(|problems| problems.to_string())?;
        env.define(format!("p{i}"), node.kind);
    }
    Ok(())
}

#[test]
fn values_that_hold_one_another_are_refused_before_they_are_too_deep_to_drop() {
    assert_eq!(chain(1, 128), Ok(()));
    let error = chain(1, 100_000).expect_err("too deep");
    assert!(
        error.starts_with("error: nested more than 128 levels deep\n --> a.ron:1:"),
        "{error}"
    );
}

#[test]
fn values_that_double_are_refused_before_they_fill_the_memory() {
    assert_eq!(chain(2, 16), Ok(()));
    let error = chain(2, 60).expect_err("too large");
    let message =
        "error: the values that names stand for have more than 1048576 parts\n --> a.ron:1:";
    assert!(error.starts_with(message), "{error}");
}
