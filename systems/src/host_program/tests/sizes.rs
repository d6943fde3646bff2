//! Sizes of workloads: the values that apply, and messages for invalid ones.

use warpweave_params::Source;

use super::{EmulationSpec, read_sized};

const SIZED: &str = r#"Workload(
    params: { "n": 100, "half": "=n / 2", "extra": 1 },
    sizes: { "T": { "n": 10 }, "S": { "n": 20, "half": "=n / 4" } },
    module: "cuda/vector_add.ptx",
    buffers: { "a": Values(element: U32, values: ["=n", "=half", "=extra"]) },
    commands: [CopyToDevice("a"), CopyToHost("a")],
)"#;

fn values(size: Option<&str>, sets: &[(&str, &str)]) -> Vec<u32> {
    let program = read_sized(&Source::new("sized.ron", SIZED), size, sets).unwrap();
    program.execute(&EmulationSpec::default()).unwrap().outputs["a"].clone()
}

fn refusal(text: &str, size: Option<&str>) -> String {
    let read = read_sized(&Source::new("sized.ron", text), size, &[]);
    read.unwrap_err().to_string()
}

#[test]
fn without_a_size_the_parameters_hold() {
    assert_eq!(values(None, &[]), [100, 50, 1]);
}

#[test]
fn a_size_changes_what_it_names_and_later_parameters_follow() {
    assert_eq!(values(Some("T"), &[]), [10, 5, 1]);
    assert_eq!(values(Some("S"), &[]), [20, 5, 1]);
}

#[test]
fn an_override_comes_after_the_size() {
    assert_eq!(values(Some("S"), &[("n", "40")]), [40, 10, 1]);
    assert_eq!(values(Some("S"), &[("half", "7")]), [20, 7, 1]);
}

#[test]
fn an_unknown_size_is_refused_with_the_sizes_there_are() {
    let problem = refusal(SIZED, Some("XL"));
    assert!(
        problem.contains("the workload has no size `XL`"),
        "{problem}"
    );
    assert!(
        problem.contains("sizes: S, T") || problem.contains("sizes: T, S"),
        "{problem}"
    );
    let none = SIZED.replace("sizes: {", "params2: {");
    assert!(refusal(&none, None).contains("unknown field"));
    let without = SIZED.replace(
        r#"sizes: { "T": { "n": 10 }, "S": { "n": 20, "half": "=n / 4" } },"#,
        "",
    );
    let problem = refusal(&without, Some("S"));
    assert!(problem.contains("there are no sizes"), "{problem}");
}

#[test]
fn a_size_that_sets_no_parameter_is_refused_even_if_it_is_not_chosen() {
    let wrong = SIZED.replace(r#""T": { "n": 10 }"#, r#""T": { "nn": 10 }"#);
    let problem = refusal(&wrong, Some("S"));
    assert!(problem.contains("sized.ron:3"), "{problem}");
    assert!(
        problem.contains("size `T` sets `nn`, which is not a parameter"),
        "{problem}"
    );
    assert!(problem.contains("`n`"), "{problem}");
}

#[test]
fn a_condition_selects_between_parameters_of_any_type() {
    let text = r#"Workload(
        params: {
            "large": false,
            "few": Values(element: U32, values: [7]), "many": Values(element: U32, values: [8, 9]),
            "contents": "=if large then many else few",
        },
        module: "cuda/vector_add.ptx",
        buffers: { "a": "=contents" },
        commands: [CopyToDevice("a"), CopyToHost("a")],
    )"#;
    let outputs = |sets: &[(&str, &str)]| {
        let program = read_sized(&Source::new("sized.ron", text), None, sets).unwrap();
        program.execute(&EmulationSpec::default()).unwrap().outputs["a"].clone()
    };
    assert_eq!(outputs(&[]), [7]);
    assert_eq!(outputs(&[("large", "true")]), [8, 9]);
}
