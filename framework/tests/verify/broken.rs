//! Tests that every seeded bug is found, named, and shrunk to a small case, and that the correct
//! device passes.

use std::sync::Arc;

use warpweave_framework::verify::{
    Check, Contract, ExchangeRules, Failure, Matching, Rig, Rule, Scoreboard, check_exchange,
    check_fairness, check_occupancy,
};

use crate::devices::{Arbiter, Ask, Asker, Buffer, Bug, Reply, Squarer, SquarerBug, Stamper};

const DEPTH: usize = 4;
const DELAY: u64 = 3;

/// Builds a buffer with all checks of its requirements.
fn buffer(bug: Bug) -> impl Fn(&mut Rig) {
    move |rig| {
        rig.add("dut", Buffer::new(DEPTH, DELAY, bug));
        rig.drive("dut.input", |n| n);
        rig.expect("dut.output", Matching::InOrder, |n| n);
        rig.check(|simulation| {
            let (inputs, outputs) = (["dut.input"], ["dut.output"]);
            check_occupancy::<u64, u64>(simulation, &inputs, &outputs, DEPTH as u64)
        });
    }
}

fn broken(bug: Bug) -> Failure {
    *Contract::new(buffer(bug)).run().unwrap_err()
}

#[track_caller]
fn assert_says(failure: &Failure, rule: Rule, words: &str, messages: u64) {
    assert_eq!(failure.rule, rule, "{failure}");
    assert!(failure.message.contains(words), "{failure}");
    assert!(failure.traffic.messages <= messages, "not small: {failure}");
}

#[test]
fn the_right_buffer_keeps_the_contract() {
    Contract::new(buffer(Bug::None)).cases(40).assert();
}

#[test]
fn a_lost_message_is_found() {
    let failure = broken(Bug::Loses);
    assert_says(&failure, Rule::Stalled, "1 messages never arrived", 11);
}

#[test]
fn a_duplicated_message_is_found() {
    let failure = broken(Bug::Duplicates);
    // The fourth is the one whose removal is forgotten.
    assert_says(
        &failure,
        Rule::Protocol,
        "3 arrived again: it is a duplicate",
        4,
    );
    assert_eq!(failure.traffic.messages, 4);
}

#[test]
fn a_reordered_message_is_found() {
    let failure = broken(Bug::Reorders);
    assert_says(&failure, Rule::Protocol, "1 arrived before 0", 2);
}

#[test]
fn a_corrupted_message_is_found() {
    let failure = broken(Bug::Corrupts);
    // 16 is the first number whose bit 4 is set.
    let words = "272 arrived, but was never sent; expected 16";
    assert_says(&failure, Rule::Protocol, words, 17);
    assert_eq!(failure.traffic.messages, 17);
}

#[test]
fn a_slot_leak_is_found() {
    let failure = broken(Bug::LeaksSlots);
    assert_says(&failure, Rule::Completion, "dut", 20);
}

#[test]
fn a_missed_wake_up_is_found() {
    let failure = broken(Bug::Oversleeps);
    assert_says(&failure, Rule::Asleep, "slept (waiting for: message)", 1);
    assert!(
        failure.message.contains("`dut` had work in cycle 4"),
        "{failure}"
    );
}

#[test]
fn a_busy_idler_is_found() {
    let failure = broken(Bug::IdlesBusily);
    assert_says(
        &failure,
        Rule::Evaluations,
        "stayed busy in cycle 5 without doing anything",
        1,
    );
}

#[test]
fn an_overfull_buffer_is_found() {
    let failure = broken(Bug::Overfills);
    let words = "holds 5 messages, but has room for only 4";
    assert_says(&failure, Rule::Protocol, words, 8);
}

#[test]
fn counted_evaluations_are_found() {
    let failure = broken(Bug::CountsEvaluations);
    assert_says(&failure, Rule::Asleep, "`dut` had work in cycle", 1);
}

fn timed(bug: Bug) -> impl Fn(&mut Rig) {
    move |rig| {
        rig.add("dut", Buffer::new(DEPTH, DELAY, bug));
        rig.drive("dut.input", |n| n);
        rig.drain::<u64>("dut.output");
        rig.check_timing(|simulation| {
            let board = Scoreboard::new("dut", Matching::InOrder).latency(DELAY..=u64::MAX);
            board.expect_from(simulation, "dut.input", |n: &u64| Some(*n))?;
            board.actual_from(simulation, "dut.output")?;
            Ok(Arc::new(board) as Arc<dyn Check>)
        });
    }
}

#[test]
fn a_timing_violation_is_found() {
    Contract::new(timed(Bug::None)).assert();
    let failure = Contract::new(timed(Bug::Hurries)).run().unwrap_err();
    let words = "1 arrived after 2 cycles, expected 3";
    assert_says(&failure, Rule::Protocol, words, 2);
}

fn arbiter(fair: bool) -> impl Fn(&mut Rig) {
    move |rig| {
        rig.add("dut", Arbiter::new(fair));
        rig.drive("dut.input[0]", |n| n);
        rig.drive("dut.input[1]", |n| 1000 + n);
        rig.drain::<u64>("dut.output");
        rig.check_timing(|simulation| {
            let pairs = [
                ("bench source of dut input[0].output", "dut.input[0]"),
                ("bench source of dut input[1].output", "dut.input[1]"),
            ];
            check_fairness::<u64>(simulation, &pairs, 1)
        });
    }
}

#[test]
fn an_unfair_arbiter_is_found() {
    Contract::new(arbiter(true)).assert();
    let failure = Contract::new(arbiter(false)).run().unwrap_err();
    let words = "dut.input[1]: in cycle 2 a waiting message has been passed over 2 times";
    assert_says(&failure, Rule::Protocol, words, 4);
}

fn squarer(bug: SquarerBug) -> impl Fn(&mut Rig) {
    move |rig| {
        rig.add("dut", Squarer::new(bug));
        rig.drive("dut.questions", |n| Ask {
            id: n as u32,
            number: n,
        });
        rig.drain::<Reply>("dut.replies");
        rig.check(|simulation| {
            let rules = ExchangeRules::default();
            check_exchange::<Ask>(simulation, &["dut.questions"], "dut.replies", rules)
        });
    }
}

#[test]
fn a_hung_request_is_found() {
    Contract::new(squarer(SquarerBug::None)).assert();
    let failure = Contract::new(squarer(SquarerBug::Hangs)).run().unwrap_err();
    let words = "1 requests were never answered, the oldest is Ask { id: 7, number: 7 }";
    assert_says(&failure, Rule::Protocol, words, 8);
    assert_eq!(failure.traffic.messages, 8);
}

#[test]
fn an_answer_without_a_request_is_found() {
    let failure = Contract::new(squarer(SquarerBug::AnswersTwice))
        .run()
        .unwrap_err();
    let words = "Reply { id: 7, square: 49 } matches no outstanding request";
    assert_says(&failure, Rule::Protocol, words, 8);
}

#[test]
fn a_wrong_answer_is_found() {
    let failure = Contract::new(squarer(SquarerBug::Miscounts))
        .run()
        .unwrap_err();
    assert_says(&failure, Rule::Protocol, "the square is 49", 8);
}

fn asker(leaks: bool) -> impl Fn(&mut Rig) {
    move |rig| {
        rig.add("dut", Asker::new(2, leaks));
        rig.drive("dut.input", |n| n);
        rig.answer("dut.questions", "dut.replies", |ask: &Ask| Reply {
            id: ask.id,
            square: ask.number * ask.number,
        });
        rig.expect("dut.output", Matching::AnyOrder, |n| n * n);
        rig.check(|simulation| {
            let rules = ExchangeRules {
                open_max: Some(2),
                ..ExchangeRules::default()
            };
            check_exchange::<Ask>(simulation, &["dut.questions"], "dut.replies", rules)
        });
    }
}

#[test]
fn a_credit_leak_is_found() {
    Contract::new(asker(false)).assert();
    let failure = Contract::new(asker(true)).run().unwrap_err();
    // Questions 3 and 4 keep both tags, so the sixth is never asked.
    assert_says(&failure, Rule::Completion, "dut", 6);
    assert_eq!(failure.traffic.messages, 6);
}

#[test]
fn a_message_seen_in_the_cycle_it_was_sent_is_found() {
    let build = |rig: &mut Rig| {
        let [writer, reader] = Stamper::pair();
        rig.add("writer", writer);
        rig.add("reader", reader);
        for name in ["writer", "reader"] {
            rig.drive(&format!("{name}.input"), |n| n);
            rig.drain::<u64>(&format!("{name}.output"));
        }
    };
    let failure = Contract::new(build).run().unwrap_err();
    assert_says(&failure, Rule::Shuffled, "reader.output: message", 3);
}
