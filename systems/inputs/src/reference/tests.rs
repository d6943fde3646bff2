//! Tests that other crates can add references, and that an unknown name gives the nearest one.

use serde::Deserialize;
use warpweave_params::{Diagnostic, Env, Files, Source, parse};

use super::*;
use crate::{Csr, Matrix, Name, Value};

/// Host with one buffer of three integers.
#[derive(Default)]
struct ThreeIntegers(Env, Files);

impl Inputs for ThreeIntegers {
    fn layout(&self, buffer: &Name) -> Result<Layout, Diagnostic> {
        match buffer.value.as_str() {
            "a" => Ok(INTEGERS),
            name => Err(buffer.error(format!("unknown buffer `{name}`"))),
        }
    }

    fn contents(&self, buffer: &Name) -> Result<Vec<u32>, Diagnostic> {
        self.layout(buffer).map(|_| vec![1, 2, 3])
    }

    fn graph(&self, name: &Name) -> Result<&Csr, Diagnostic> {
        Err(name.error("there are no graphs"))
    }

    fn matrix(&self, name: &Name) -> Result<&Matrix, Diagnostic> {
        Err(name.error("there are no matrices"))
    }

    fn env(&self) -> &Env {
        &self.0
    }

    fn reading(&self) -> &Files {
        &self.1
    }
}

const INTEGERS: Layout = Layout {
    element: ElementType::U32,
    length: 3,
};

/// Reference that is defined outside this crate.
#[derive(Debug, Deserialize)]
struct Multiples {
    of: Name,
    #[serde(default = "twice")]
    factor: Value,
}

fn twice() -> Value {
    2.into()
}

impl Reference for Multiples {
    const NAME: &'static str = "Multiples";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        Ok(Shape::u32s(question.length(&self.of, ElementType::U32)?))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let factor = question.count(&self.factor, "the factor", 1)? as u32;
        let values = question.u32s(&self.of)?;
        Ok(values.iter().map(|value| value * factor).collect())
    }
}

fn read(text: &str) -> Result<Answer, String> {
    let mut references = standard_references();
    references.register::<Multiples>();
    let node = parse(&Source::new("a.ron", text)).map_err(|problems| problems.to_string())?;
    let answer = references.read(&node);
    answer
        .map(|a| a.value)
        .map_err(|problems| problems.to_string())
}

#[test]
fn a_reference_of_another_crate_is_asked_like_any_other() {
    let host = ThreeIntegers::default();
    for (text, words) in [
        (r#"Multiples(of: "a")"#, [2, 4, 6]),
        (r#"Multiples(of: "a", factor: "=2 + 3")"#, [5, 10, 15]),
        ("Constant(7)", [7, 7, 7]),
        ("Values([4, \"=4 + 1\", 6])", [4, 5, 6]),
    ] {
        let answer = read(text).unwrap();
        let question = Question::new(answer.name(), &host, INTEGERS);
        let shape = answer.shape(&question).unwrap();
        assert!(matches!(shape.length, None | Some(3)), "{text}: {shape:?}");
        assert_eq!(answer.words(&question).unwrap(), words, "{text}");
    }
    let answer = read(r#"Multiples(of: "b")"#).unwrap();
    let refused = answer.shape(&Question::new(answer.name(), &host, INTEGERS));
    assert_eq!(refused.unwrap_err().message, "unknown buffer `b`");
}

#[test]
fn what_is_no_reference_is_answered_with_the_nearest() {
    for (text, wanted) in [
        (
            "Multiple(of: \"a\")",
            &["unknown reference `Multiple`", "did you mean `Multiples`?"],
        ),
        (
            "BfsLevel(graph: \"g\")",
            &["a.ron:1:1", "did you mean `BfsLevels`?"],
        ),
        (
            "Multiples(off: \"a\")",
            &["a.ron:1:11", "did you mean `of`?"],
        ),
        (
            "SumU32(\"a\", \"b\")",
            &["a.ron:1:1", "`SumU32` takes a string in parentheses"],
        ),
        (
            "VectorAdd(a: \"a\", b: b)",
            &["a.ron:1:22", "write \"b\" in quotes"],
        ),
        (
            "7",
            &[
                "expected a reference, found integer `7`",
                "references: Accelerations, AdjustedWeights, ",
            ],
        ),
    ] {
        let message = read(text).unwrap_err();
        for part in wanted {
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}

#[test]
fn the_page_of_description_files_names_every_reference_and_property() {
    let page =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/description-files.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once("| reference | fields |").unwrap();
    let references = standard_references();
    for name in references.names().chain(references.property_names()) {
        let (alone, applied) = (format!("`{name}`"), format!("`{name}("));
        assert!(table.contains(&alone) || table.contains(&applied), "{name}");
    }
}

#[test]
#[should_panic(expected = "the reference `SumU32` is registered twice")]
fn a_name_stands_for_one_reference() {
    standard_references().register::<SumU32>();
}
