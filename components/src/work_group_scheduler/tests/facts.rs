//! Tests of the facts that the scheduler receives from its units.

use super::*;
use crate::launch::DispatchSlave;
use crate::occupancy::UnitFacts;

/// Unit that only publishes its resources.
#[derive(Ports, State, Statistics)]
struct Talker {
    #[port]
    scheduler: DispatchSlave,
    #[state(skip)]
    facts: Option<UnitFacts>,
}

impl Component for Talker {
    fn evaluate(&mut self, _: &mut Context<'_>) -> Next {
        Next::Message
    }

    fn negotiation(&mut self) -> Option<&mut dyn Negotiate> {
        Some(self)
    }
}

impl Negotiate for Talker {
    fn facts(&self, _: PortId, facts: &mut Facts) {
        if let Some(said) = self.facts {
            facts.publish(said);
        }
    }
}

const SAID: UnitFacts = UnitFacts {
    wavefront_slots: 48,
    work_group_slots: 2,
    registers: 32768,
    register_partitions: None,
    register_granularity: Some(64),
    local_memory_bytes: 16384,
};

/// Returns the error of a scheduler that states `unit` and has units that publish `facts`.
fn refusal(unit: StatedLimits, facts: [Option<UnitFacts>; 2]) -> Option<String> {
    let mut environment = Environment::new("dut", 0);
    environment.provide(Arc::new(program(&[], Vec::new())));
    let spec = WorkGroupSchedulerSpec {
        clusters: 1,
        unit,
        ..spec::<GlobalRoundRobin>()
    };
    let mut bench = TestBench::new();
    let scheduler = WorkGroupScheduler::build(spec, &environment).unwrap();
    bench.add("dut", scheduler);
    for (number, facts) in facts.into_iter().enumerate() {
        let scheduler = DispatchSlave::default();
        bench.add(&format!("unit{number}"), Talker { scheduler, facts });
        let from = format!("dut.units[{number}]");
        let to = format!("unit{number}.scheduler");
        bench.builder().connect(&from, to, Link::latency(1));
    }
    let _ready = bench.source::<crate::launch::KernelReady>("dut.gmu.ready");
    let _done = bench.sink::<KernelDone>("dut.gmu.done");
    let builder = std::mem::take(bench.builder());
    builder.elaborate().err().map(|errors| errors.to_string())
}

#[test]
fn limits_that_only_the_units_know_need_not_be_stated() {
    let stated = StatedLimits {
        register_partitions: Some(1),
        ..StatedLimits::default()
    };
    assert_eq!(refusal(stated, [Some(SAID); 2]), None);
    assert_eq!(refusal(LIMITS.into(), [Some(SAID); 2]), None);
    assert_eq!(refusal(LIMITS.into(), [None; 2]), None);
}

#[test]
fn a_stated_limit_that_differs_is_refused_once_with_both_numbers() {
    let stated = StatedLimits {
        wavefront_slots: Some(64),
        ..LIMITS.into()
    };
    let error = refusal(stated, [Some(SAID); 2]).unwrap();
    let expected = "unit.wavefront_slots: 64 is specified, but compute unit 0 has 48";
    assert_eq!(error.matches(expected).count(), 1, "{error}");
}

#[test]
fn a_limit_that_nobody_says_is_missed() {
    let error = refusal(StatedLimits::default(), [Some(SAID); 2]).unwrap();
    assert!(
        error.contains("unit.register_partitions: not specified"),
        "{error}"
    );
}

#[test]
fn units_that_differ_are_refused() {
    let other = UnitFacts {
        registers: 65536,
        ..SAID
    };
    let error = refusal(StatedLimits::default(), [Some(SAID), Some(other)]).unwrap();
    let expected = "registers of unit 0 is 32768 and of unit 1 65536";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_policy_refuses_units_that_it_cannot_work_with() {
    let mut environment = Environment::new("dut", 0);
    environment.provide(Arc::new(program(&[], Vec::new())));
    for spec in [spec::<DistributedBlock>(), spec::<BlockRoundRobin>()] {
        let name = spec.policy.name().to_owned();
        let unit = StatedLimits {
            work_group_slots: Some(1),
            ..LIMITS.into()
        };
        let spec = WorkGroupSchedulerSpec { unit, ..spec };
        let mut scheduler = WorkGroupScheduler::build(spec, &environment).unwrap();
        let error = scheduler.elaborated().unwrap_err();
        assert_eq!(error.field, "policy");
        assert!(error.message.starts_with(&name), "{}", error.message);
    }
}
