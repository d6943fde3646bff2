//! Mistakes in attributes, each with the message that the compiler shows.

use syn::{DeriveInput, parse_str};

fn refusal(
    expand: impl Fn(&DeriveInput) -> syn::Result<proc_macro2::TokenStream>,
    item: &str,
) -> String {
    let input = parse_str(item).expect("an item");
    let message = expand(&input).err().map(|error| error.to_string());
    message.unwrap_or_else(|| "accepted".to_owned())
}

#[test]
fn mistakes_in_the_attributes_of_ports_are_refused() {
    for (item, message) in [
        ("enum E { A }", "`Ports` is for structs"),
        (
            "struct S { #[port(optoinal)] a: InPort<u8> }",
            "expected `optional`, `without`, `required_if`, `rename` or `flatten`",
        ),
        (
            r#"struct S { #[port(without = "x")] a: InPort<u8> }"#,
            "`without` and `required_if` are for ports that are `optional`",
        ),
        (
            "struct S(#[port] InPort<u8>);",
            "a field without a name needs `rename = \"…\"`",
        ),
        ("struct S { #[port] a: InPort<u8>, b: u8 }", "accepted"),
    ] {
        assert_eq!(refusal(crate::ports::expand, item), message, "{item}");
    }
}

#[test]
fn mistakes_in_the_attributes_of_state_are_refused() {
    for (item, message) in [
        ("union U { a: u8 }", "`State` is for structs and enums"),
        (
            "struct S { #[state(tallies)] a: u8 }",
            "expected `skip`, `tally`, `array`, `part`, `parts`, `flatten`, `with` or `rename`",
        ),
        (
            "struct S { #[state(tally, array)] a: [u8; 2] }",
            "a field is saved in one way, and a port in none",
        ),
        (
            "struct S { #[port] #[state(tally)] a: InPort<u8> }",
            "a field is saved in one way, and a port in none",
        ),
        (
            "struct S { #[port(flatten)] #[state(part)] a: Part }",
            "accepted",
        ),
        (
            "#[state(skip)] struct S { a: u8 }",
            "expected `prepare`, `restore` or `refuse`",
        ),
        (
            "struct S(u8);",
            "a field without a name needs `rename = \"…\"`",
        ),
        (
            "enum E { A { a: u8, b: u8 } }",
            "a variant holds one value, or is marked `#[state(skip)]`",
        ),
        (
            "enum E { #[state(part)] A(u8) }",
            "a part that is a variant needs `rename = \"…\"`",
        ),
        (
            "enum E { #[state(tally)] A(u8) }",
            "a variant is visited, or marked `skip` or `part`",
        ),
        (
            "enum E { #[state(skip)] A { a: u8, b: u8 }, B(Part), C }",
            "accepted",
        ),
    ] {
        assert_eq!(refusal(crate::state::expand, item), message, "{item}");
    }
}

#[test]
fn mistakes_in_the_attributes_of_statistics_are_refused() {
    for (item, message) in [
        ("enum E { A }", "`Statistics` is for structs"),
        (
            "struct S { #[statistic(unit = \"bytes\")] a: u64 }",
            "a statistic needs a doc comment or `meaning = \"…\"`",
        ),
        (
            "struct S { /// Bytes sent.\n #[statistic(maximum)] a: u64 }",
            "a statistic needs `unit = \"…\"`",
        ),
        (
            "struct S { /// Reads that hit.\n #[statistic(ratio, of = \"reads\")] a: u64 }",
            "a ratio needs `whole = …` and `of = \"…\"`, a mean `weight = …` and `by = \"…\"`",
        ),
        (
            "struct S { /// Bytes sent.\n #[statistic(unit = \"bytes\")] a: u64 }",
            "accepted",
        ),
    ] {
        assert_eq!(refusal(crate::statistics::expand, item), message, "{item}");
    }
}
