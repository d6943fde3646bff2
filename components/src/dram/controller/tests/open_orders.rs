//! Tests of request orders that use only the open policy trait.

use proptest::prelude::*;
use warpweave_framework::{Cycle, Id, State, Stateful};

use super::drive::{FR_FCFS, drive};
use super::properties::{any_case, config};
use crate::dram::banks::Command;
use crate::dram::scheduler::OpenRequestOrder;
use crate::dram::tests::cases;
use crate::dram::tests::presets::preset_a;
use crate::dram::{
    AnyRequestOrder, Config, Controller, Refresh, RequestOrderPolicy, View, WaitingRequest,
};

/// Selects the oldest request with a legal command, using only the public view.
#[derive(Default)]
struct OldestLegal {
    commands: u64,
}

impl RequestOrderPolicy for OldestLegal {
    fn next(&self, view: &View<'_>) -> Option<(Cycle, Id)> {
        let candidates = view.waiting().filter_map(|id| {
            let request = view.request(id)?;
            Some((view.earliest(id)?, request.age, id))
        });
        candidates.min().map(|(cycle, _, id)| (cycle, id))
    }

    fn issued(&mut self, _cycle: Cycle, _command: Command, _request: &WaitingRequest) {
        self.commands += 1;
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("commands", &mut self.commands);
    }
}

/// Order that always returns the same answer.
struct Stubborn(fn(&View<'_>) -> Option<(Cycle, Id)>);

impl RequestOrderPolicy for Stubborn {
    fn next(&self, view: &View<'_>) -> Option<(Cycle, Id)> {
        (self.0)(view)
    }
}

fn open(config: &Config, policy: impl RequestOrderPolicy + 'static) -> Controller {
    let order = OpenRequestOrder::new("Stubborn", Box::new(policy), 0);
    Controller::new(config, AnyRequestOrder::Open(order))
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn an_order_by_what_everybody_can_see_gives_the_commands_of_the_built_in_one(
        (config, _, trace) in any_case(60), half in 0usize..60,
    ) {
        let mut known = Controller::new(&config, FR_FCFS);
        let mut open = open(&config, OldestLegal::default());
        for controller in [&mut known, &mut open] {
            controller.record_commands();
            controller.judge_commands();
        }
        prop_assert_eq!(drive(&mut known, &trace), drive(&mut open, &trace));
        prop_assert_eq!(known.commands(), open.commands());
        prop_assert_eq!(open.order().broken(), None);
        // Continue with them from a checkpoint in the middle.
        let mut first = self::open(&config, OldestLegal::default());
        let mut second = self::open(&config, OldestLegal::default());
        let (before, after) = trace.split_at(half.min(trace.len()));
        for line in before {
            first.advance(line.arrival);
            first.offer(line.arrival, line.request);
        }
        let bytes = State::save(|state| first.state(state)).expect("plain data");
        State::load(&bytes, |state| second.state(state)).expect("the same description");
        let tail = |controller: &mut Controller| {
            for line in after {
                controller.advance(line.arrival);
                controller.offer(line.arrival, line.request);
            }
            controller.advance(1 << 20);
            State::save(|state| controller.state(state)).expect("plain data")
        };
        prop_assert_eq!(tail(&mut first), tail(&mut second));
    }
}

#[test]
fn an_answer_against_the_promise_is_kept_for_the_end_of_the_run() {
    let config = config(preset_a(), Refresh::Off);
    let deeds: [(fn(&View<'_>) -> Option<(Cycle, Id)>, &str); 3] = [
        (
            |view| Some((view.now(), Id::from_bits(77))),
            "which is not waiting for a command (channel 0)",
        ),
        (
            // Its ACT in the cycle of acceptance.
            |view| view.waiting().next().map(|id| (view.now() - 1, id)),
            "before it is legal in cycle 1 (channel 0)",
        ),
        (|_| None, ""),
    ];
    for (next, deed) in deeds {
        let mut controller = open(&config, Stubborn(next));
        let request = super::properties::request(0, 0, false);
        controller.offer(0, request);
        assert_eq!(controller.order().broken(), None, "nothing was asked yet");
        // The channel continues without a command.
        assert_eq!(controller.next_command(), Some(Cycle::MAX));
        let broken = controller.order().broken();
        assert_eq!(broken.is_none(), deed.is_empty(), "{broken:?}");
        let broken = broken.unwrap_or_default();
        assert!(broken.contains(deed), "{broken}");
        assert!(
            deed.is_empty() || broken.starts_with("Stubborn "),
            "{broken}"
        );
    }
}

#[test]
fn an_order_that_does_not_name_its_state_cannot_be_saved() {
    let config = config(preset_a(), Refresh::Off);
    let mut controller = open(&config, Stubborn(|_| None));
    let refused = State::save(|state| controller.state(state)).expect_err("it is refused");
    assert_eq!(
        refused.to_string(),
        "cannot be saved: order: the policy does not implement `state`"
    );
}
