//! Conformance tests of every instruction form against a naive model, on edge values and random
//! operands.
//!
//! The models share no code with the emulator. Integers are 128 bits wide, and floats are exact
//! numbers that are rounded once. `docs/ptx-coverage.md` shows the coverage.

mod calls;
mod cases;
mod compare;
mod convert;
mod exact;
mod floats;
mod integers;
mod lanes;
mod memory;
mod packed;
mod page;
mod vectors;

use self::cases::Case;

/// Checks the cases, with a few hundred kernels per module.
fn hold(cases: &[Case], variables: &str) {
    let mistakes: Vec<String> = cases
        .chunks(250)
        .flat_map(|cases| cases::run(cases, variables))
        .collect();
    assert!(
        mistakes.is_empty(),
        "{} forms differ:\n{}",
        mistakes.len(),
        mistakes.join("\n")
    );
}

#[test]
fn integer_instructions_do_what_whole_numbers_do() {
    hold(&integers::cases(), "");
}

#[test]
fn float_instructions_give_the_exact_result_rounded_once() {
    hold(&floats::cases(), "");
}

#[test]
fn comparisons_hold_for_the_orders_that_they_name() {
    hold(&compare::cases(), "");
}

#[test]
fn conversions_keep_the_value_or_round_it_once() {
    hold(&convert::cases(), "");
}

#[test]
fn lanes_that_meet_see_each_other() {
    hold(&lanes::cases(), "");
}

#[test]
fn memory_keeps_what_is_stored_and_atomics_change_it_one_after_the_other() {
    hold(&memory::cases(), memory::VARIABLES);
}

#[test]
fn numbers_of_few_bits_are_packed_and_unpacked() {
    hold(&packed::cases(), "");
}

#[test]
fn vectors_move_and_change_element_by_element() {
    hold(&vectors::cases(), memory::VARIABLES);
}

#[test]
fn functions_take_and_give_back_values_of_every_type() {
    hold(&calls::cases(), &calls::functions());
}

#[test]
fn nothing_that_the_emulator_takes_is_without_a_model() {
    let mut cases = integers::cases();
    for part in [
        floats::cases(),
        compare::cases(),
        convert::cases(),
        lanes::cases(),
        memory::cases(),
        calls::cases(),
        packed::cases(),
        vectors::cases(),
    ] {
        cases.extend(part);
    }
    let missing = page::without_model(&cases);
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    page::compare(&page::table(&cases));
}
