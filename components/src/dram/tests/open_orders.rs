//! Request orders of other crates in a complete controller.

use warpweave_framework::{
    Cycle, EngineOptions, Id, NoFields, Policy, PolicyContext, PolicyKind, SpecError, State,
    Statistics,
};

use super::component::{Bench, spec};
use super::presets::preset_a;
use crate::dram::*;
use crate::memory::MemRequest;

/// Order that issues commands before they are legal.
struct Hasty;

impl PolicyKind for Hasty {
    type Role = RequestOrder;
    const NAME: &'static str = "Hasty";
    const SUMMARY: &'static str = "Gives commands before they are legal";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, RequestOrder>,
    ) -> Result<AnyRequestOrder, SpecError> {
        Ok(AnyRequestOrder::open::<Self>(Self, context))
    }
}

impl RequestOrderPolicy for Hasty {
    fn next(&self, view: &View<'_>) -> Option<(Cycle, Id)> {
        view.waiting().next().map(|id| (0, id))
    }
}

/// Order by age that counts its commands.
#[derive(Default)]
struct Counting {
    commands: u64,
}

impl PolicyKind for Counting {
    type Role = RequestOrder;
    const NAME: &'static str = "Counting";
    const SUMMARY: &'static str = "The oldest with a legal command, counting commands";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, RequestOrder>,
    ) -> Result<AnyRequestOrder, SpecError> {
        Ok(AnyRequestOrder::open::<Self>(Self::default(), context))
    }
}

impl RequestOrderPolicy for Counting {
    fn next(&self, view: &View<'_>) -> Option<(Cycle, Id)> {
        let legal = view
            .waiting()
            .filter_map(|id| Some((view.earliest(id)?, id)));
        legal.min_by_key(|&(cycle, id)| (cycle, view.request(id).map(|request| request.age)))
    }

    fn issued(&mut self, _cycle: Cycle, _command: Command, _request: &WaitingRequest) {
        self.commands += 1;
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("commands", &mut self.commands);
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        statistics.counter("ordered", "commands", "commands of requests", self.commands);
    }
}

#[test]
#[should_panic(
    expected = "the request order Hasty gives request 0 its command in cycle 0, before it is legal \
                in cycle 11 (channel 0)"
)]
fn a_command_before_its_time_ends_the_run_with_the_name_of_the_policy() {
    let mut bench = Bench::new(
        &GddrSpec {
            scheduler: Policy::plain::<Hasty>(),
            ..spec(preset_a())
        },
        EngineOptions::default(),
    );
    bench.expect(10, MemRequest::read(7, 0, 0xff), 27);
}

#[test]
fn what_an_order_counts_is_reported_by_channel() {
    let of = |channels| {
        let fields = [
            Field::Column,
            Field::Channel,
            Field::BankGroup,
            Field::Bank,
            Field::Row,
        ];
        let fields = fields.into_iter();
        let mapping = fields.filter(|field| channels > 1 || *field != Field::Channel);
        let mut bench = Bench::new(
            &GddrSpec {
                channels,
                mapping: MappingSpec::Order(mapping.collect()),
                scheduler: Policy::plain::<Counting>(),
                ..spec(preset_a())
            },
            EngineOptions::default(),
        );
        // ACT and RD.
        bench.expect(10, MemRequest::read(7, 0, 0xff), 27);
        bench.statistics()
    };
    assert_eq!(of(1).counter("ordered"), Some(2));
    assert_eq!(of(2).counter("channel0_ordered"), Some(2));
    assert_eq!(of(2).counter("channel1_ordered"), Some(0));
}
