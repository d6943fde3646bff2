//! Arbiters that the allocator accesses only through the open trait.

use proptest::prelude::*;
use warpweave_framework::{
    Cycle, Environment, Kind, NoFields, Policy, PolicyContext, PolicyKind, SpecError, State,
    Stateful, TestBench,
};

use super::component;
use super::traffic::{Play, any_plan, any_switch, play};
use crate::crossbar::arbiter::OpenArbiter;
use crate::crossbar::{
    AgeBased, AnyArbiter, Arbiter, ArbiterPolicy, Crossbar, CrossbarSpec, Matching, NetworkSpec,
    SwitchSpec,
};
use crate::memory::{MemRequest, MemResponse};

/// Equivalent of [`AgeBased`], written against the public interface.
pub(super) struct Oldest;

impl PolicyKind for Oldest {
    type Role = Arbiter;
    const NAME: &'static str = "Oldest";
    const SUMMARY: &'static str = "As AgeBased";
    type Spec = NoFields;

    fn build(_: NoFields, _: &PolicyContext<'_, Arbiter>) -> Result<AnyArbiter, SpecError> {
        Ok(AnyArbiter::open::<Self>(Self))
    }
}

impl ArbiterPolicy for Oldest {
    fn matching(&mut self, asked: &Matching<'_>, matches: &mut Vec<(usize, usize)>) {
        let mut granted = vec![Vec::new(); 128];
        for output in 0..asked.outputs() {
            let asking = (0..128).filter(|&input| asked.asks(input, output));
            if let Some(input) = asking.min_by_key(|&input| (asked.since(input, output), input)) {
                granted[input].push(output);
            }
        }
        for (input, outputs) in granted.into_iter().enumerate() {
            let first = outputs
                .into_iter()
                .min_by_key(|&output| asked.since(input, output));
            matches.extend(first.map(|output| (input, output)));
        }
    }

    fn state(&mut self, _state: &mut State<'_>) {}
}

/// Arbiter that begins with another output in each matching, which exposes extra calls.
pub(super) struct Rotating {
    outputs: usize,
    first: usize,
}

impl PolicyKind for Rotating {
    type Role = Arbiter;
    const NAME: &'static str = "Rotating";
    const SUMMARY: &'static str = "Output by output, beginning with another one each time";
    type Spec = NoFields;

    fn build(_: NoFields, context: &PolicyContext<'_, Arbiter>) -> Result<AnyArbiter, SpecError> {
        Ok(AnyArbiter::open::<Self>(Self {
            outputs: context.site.outputs as usize,
            first: 0,
        }))
    }
}

impl ArbiterPolicy for Rotating {
    fn matching(&mut self, asked: &Matching<'_>, matches: &mut Vec<(usize, usize)>) {
        let mut taken = 0;
        for step in 0..self.outputs {
            let output = (self.first + step) % self.outputs;
            let inputs = asked.inputs_of(output) & !taken;
            if inputs != 0 {
                taken |= 1 << inputs.trailing_zeros();
                matches.push((inputs.trailing_zeros() as usize, output));
            }
        }
        self.first = (self.first + 1) % self.outputs;
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("first", &mut self.first);
    }
}

proptest! {
    #[test]
    fn an_arbiter_by_what_everybody_can_see_moves_what_the_built_in_one_moves(
        spec in any_switch(), (outputs, plan) in any_plan(),
    ) {
        let with = |arbiter| {
            let spec = SwitchSpec { arbiter, ..spec.clone() };
            let how = Play { outputs, refuse: 5, lazy: true, save_at: None };
            let (delivered, stalls, _) = play(&NetworkSpec::Switch(spec), &plan, how);
            (delivered, stalls)
        };
        prop_assert_eq!(with(Policy::plain::<AgeBased>()), with(Policy::plain::<Oldest>()));
    }
}

struct Stubborn(Vec<(usize, usize)>);

impl ArbiterPolicy for Stubborn {
    fn matching(&mut self, _asked: &Matching<'_>, matches: &mut Vec<(usize, usize)>) {
        matches.clone_from(&self.0);
    }
}

#[test]
fn a_pair_against_the_promise_is_left_out_and_kept_for_the_end_of_the_run() {
    let since = |_: usize, _: usize| -> Cycle { 7 };
    // Inputs 0 and 1 ask for output 0, input 1 for output 1.
    let asked = [0b11, 0b10];
    let asked = Matching::new(&asked, &since);
    assert_eq!((asked.outputs_of(1), asked.since(1, 1)), (0b11, 7));
    assert_eq!((asked.inputs_of(9), asked.since(0, 1)), (0, Cycle::MAX));
    for (pairs, kept, deed) in [
        (vec![(0, 0), (1, 1)], 2, None),
        (
            vec![(0, 1)],
            0,
            Some("matched input 0 with output 1, which it does not request"),
        ),
        (
            vec![(500, 0)],
            0,
            Some("matched input 500 with output 0, which it does not request"),
        ),
        (
            vec![(0, 500)],
            0,
            Some("matched input 0 with output 500, which it does not request"),
        ),
        (
            vec![(1, 0), (1, 1)],
            1,
            Some("matched input 1 with output 1, but the input is already matched"),
        ),
        (
            vec![(1, 0), (0, 0)],
            1,
            Some("matched input 0 with output 0, but the output is already matched"),
        ),
    ] {
        let mut arbiter = OpenArbiter::new("Stubborn", Box::new(Stubborn(pairs)));
        let mut matches = Vec::new();
        arbiter.matching(&asked, &mut matches);
        assert_eq!(matches.len(), kept);
        let deed = deed.map(|deed| format!("Stubborn {deed}"));
        assert_eq!(AnyArbiter::Open(arbiter).broken(), deed.as_deref());
    }
}

impl PolicyKind for Stubborn {
    type Role = Arbiter;
    const NAME: &'static str = "Stubborn";
    const SUMMARY: &'static str = "Matches always the first input with the last output";
    type Spec = NoFields;

    fn build(_: NoFields, context: &PolicyContext<'_, Arbiter>) -> Result<AnyArbiter, SpecError> {
        let last = context.site.outputs as usize - 1;
        Ok(AnyArbiter::open::<Self>(Self(vec![(0, last)])))
    }
}

#[test]
#[should_panic(
    expected = "the arbiter of the request network: Stubborn matched input 0 with output 1, which \
                it does not request"
)]
fn a_pair_that_was_not_asked_for_ends_the_run_with_the_name_of_the_policy() {
    let request = NetworkSpec::Switch(SwitchSpec {
        arbiter: Policy::plain::<Stubborn>(),
        ..component::network()
    });
    let spec = CrossbarSpec {
        request,
        ..component::spec(2, 2)
    };
    let mut bench = TestBench::new();
    bench.add(
        "noc",
        Crossbar::build(spec, &Environment::default()).unwrap(),
    );
    bench
        .source::<MemRequest>("noc.up[0].request")
        .send_at(10, MemRequest::read(1, 0, u32::MAX));
    bench.source::<MemRequest>("noc.up[1].request");
    for port in 0..2 {
        bench.sink::<MemResponse>(&format!("noc.up[{port}].response"));
        bench.sink::<MemRequest>(&format!("noc.down[{port}].request"));
        bench.source::<MemResponse>(&format!("noc.down[{port}].response"));
    }
    bench.run_until_quiet();
}

#[test]
fn an_arbiter_that_does_not_name_its_state_cannot_be_saved() {
    let arbiter = OpenArbiter::new("Stubborn", Box::new(Stubborn(Vec::new())));
    let mut arbiter = AnyArbiter::Open(arbiter);
    let refused = State::save(|state| arbiter.state(state)).expect_err("it is refused");
    assert_eq!(
        refused.to_string(),
        "cannot be saved: arbiter: the policy does not implement `state`"
    );
}
