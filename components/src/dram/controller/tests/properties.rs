//! Properties of the bare controller over random traffic, policies, geometries and (sometimes
//! degenerate) timings. In most cases one randomly chosen timing rule is far longer than the
//! others.
//!
//! `PROPTEST_CASES` sets the number of cases.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use warpweave_framework::{Cycle, State, Stateful};

use super::drive::{Line, drive};
use super::naive::Naive;
use crate::dram::tests::cases;
use crate::dram::{
    AnyRequestOrder, BuiltInOrder, CommandBus, Config, Controller, Drain, Geometry, Location,
    Offer, Page, Refresh, Request, Timing,
};

/// Small geometry, so that requests conflict often: 2 groups of 2 banks.
pub(super) const GEOMETRY: Geometry = Geometry {
    bank_groups: 2,
    banks_per_group: 2,
    rows: 8,
    columns: 4,
};

pub(super) fn config(timing: Timing, refresh: Refresh) -> Config {
    Config {
        geometry: GEOMETRY,
        reads: 6,
        writes: 5,
        drain: Drain::Watermarks { high: 3, low: 2 },
        refresh,
        ..Config::reference(GEOMETRY, timing)
    }
}

pub(super) fn request(tag: u32, random: u64, write: bool) -> Request {
    let location = Location {
        bank: (random & 3) as u32,
        row: (random >> 2 & 3) as u32,
        column: (random >> 5 & 3) as u32,
    };
    Request {
        access: random & 0x6f,
        location,
        write,
        tag,
    }
}

/// Timing field that is made longer than the others.
type Field = fn(&mut Timing) -> &mut u32;

/// Timing fields that have a rule of their own.
const FIELDS: [Field; 20] = [
    |t| &mut t.t_rcd_rd,
    |t| &mut t.t_rcd_wr,
    |t| &mut t.t_rp,
    |t| &mut t.t_ras,
    |t| &mut t.t_rc,
    |t| &mut t.t_rrd_s,
    |t| &mut t.t_rrd_l,
    |t| &mut t.t_ccd_s,
    |t| &mut t.t_ccd_l,
    |t| t.t_rtw.get_or_insert_default(),
    |t| &mut t.t_wtr_s,
    |t| &mut t.t_wtr_l,
    |t| &mut t.t_rtp,
    |t| &mut t.t_wr,
    |t| &mut t.t_faw,
    |t| &mut t.t_32aw,
    |t| &mut t.t_ppd,
    |t| &mut t.t_rfc,
    |t| t.t_rfc_b.get_or_insert_default(),
    |t| t.t_rrefd.get_or_insert_default(),
];

prop_compose! {
    fn any_timing()(
        n in prop::array::uniform20(0u32..14),
        burst_cycles in 1u32..5,
        wide in prop::array::uniform4(0u32..60),
        given_rtw in any::<bool>(),
        spare in 1u32..150,
        longest in prop::option::weighted(0.8, (0..FIELDS.len(), 15u32..150)),
        overlapping in prop::option::weighted(0.4, 0u32..100),
    ) -> Timing {
        let mut t = Timing {
            burst_cycles, t_cl: n[0], t_wl: n[1], t_rcd_rd: n[2], t_rcd_wr: n[3], t_rp: n[4],
            t_ras: n[5], t_rc: n[6] * 2, t_rrd_s: n[7], t_rrd_l: n[8], t_ccd_s: n[9],
            t_ccd_l: n[10], t_rtw: given_rtw.then_some(n[11]), t_wtr_s: n[12], t_wtr_l: n[13],
            t_rtp: n[14], t_wr: n[15], t_faw: wide[0], t_32aw: wide[1] * 4, t_ppd: n[16],
            t_refi: 0, t_rfc: wide[2], t_refi_b: None, t_rfc_b: Some(wide[3]),
            t_rrefd: Some(n[17]),
        };
        if let Some((field, cycles)) = longest {
            let window = t.t_32aw;
            *FIELDS[field](&mut t) = cycles;
            if t.t_32aw != window {
                // Otherwise such a window seldom fills.
                t.t_32aw *= 6;
            }
        }
        let apart = t.t_rrefd.unwrap_or(0);
        let alone = t.t_rfc_b.unwrap_or(0).max(apart);
        t.t_rfc_b = Some(alone);
        let busy = t.t_rc.max(t.t_ras + t.t_rp) + t.t_rcd_rd.max(t.t_rcd_wr)
            + t.t_rtp.max(t.write_data_end() + t.t_wr)
            + t.columns_of_all(GEOMETRY.banks()) as u32 + spare;
        t.t_refi = busy + t.t_rfc;
        let windows = t.t_faw.div_ceil(2) + t.t_32aw.div_ceil(16) + t.t_rrd_s.max(t.t_rrd_l);
        t.t_refi_b = Some(busy + alone + windows);
        if let Some(part) = overlapping {
            // A refresh is under way when that of the next bank begins.
            let interval = busy + apart + windows;
            t.t_refi_b = Some(interval);
            t.t_rfc_b = Some(alone + interval * part / 100);
        }
        t
    }
}

/// Returns the timing and mode, with a longer interval or fewer postponed refreshes if a
/// description of this number of banks would be refused.
fn accepted(mut timing: Timing, refresh: Refresh, banks: u32) -> (Timing, Refresh) {
    let Refresh::PerBank { postponed_max } = refresh else {
        return (timing, refresh);
    };
    let with = |postponed_max| Refresh::PerBank { postponed_max };
    if timing.check("timing", with(0), banks).is_err() {
        timing.t_refi_b = timing.t_refi_b.zip(timing.t_rfc_b).map(|(a, b)| a + b);
    }
    let mut fewer = (0..=postponed_max).rev().map(with);
    let refresh = fewer.find(|r| timing.check("timing", *r, banks).is_ok());
    (timing, refresh.expect("one refresh at a time is accepted"))
}

fn any_refresh() -> impl Strategy<Value = Refresh> {
    (0u32..3, 0u32..8).prop_map(|(kind, postponed_max)| match kind {
        0 => Refresh::Off,
        1 => Refresh::AllBank { postponed_max },
        _ => Refresh::PerBank { postponed_max },
    })
}

fn any_order() -> impl Strategy<Value = BuiltInOrder> {
    prop_oneof![
        Just(BuiltInOrder::Fcfs),
        Just(BuiltInOrder::FrFcfs),
        (0u32..4).prop_map(|columns| BuiltInOrder::FrFcfsCap { columns }),
        Just(BuiltInOrder::RowHitFirst),
        (1u32..5).prop_map(|hits| BuiltInOrder::BankRoundRobin { hits }),
    ]
}

fn any_page() -> impl Strategy<Value = Page> {
    prop_oneof![
        Just(Page::Open),
        Just(Page::Closed),
        (0u32..60).prop_map(|cycles| Page::Timeout { cycles }),
    ]
}

prop_compose! {
    fn any_config()(
        timing in any_timing(),
        refresh in any_refresh(),
        order in any_order(),
        page in any_page(),
        queues in (1u32..7, 1u32..6, prop::option::of(1u32..4)),
        marks in (0u32..6, 0u32..6, any::<bool>()),
        merge_writes in any::<bool>(),
        groups in (0u32..2, 0u32..2),
    ) -> (Config, BuiltInOrder) {
        let (reads, writes, bank_queue) = queues;
        let high = marks.0 % writes;
        let low = 1 + marks.1 % (high + 1);
        let geometry = Geometry {
            bank_groups: 1 << groups.0, banks_per_group: 1 << groups.1, ..GEOMETRY
        };
        let (timing, refresh) = accepted(timing, refresh, geometry.banks());
        (Config {
            geometry,
            reads, writes, bank_queue, page, merge_writes, refresh,
            drain: if marks.2 {
                Drain::Watermarks { high, low }
            } else {
                Drain::Batches { idle_above: high }
            },
            ..config(timing, refresh)
        }, order)
    }
}

prop_compose! {
    fn any_trace(length: usize)(
        lines in prop::collection::vec((0u64..40, any::<u64>(), 0u32..10), 1..length),
        pace in 0u64..3,
        writes in 0u32..11,
    ) -> Vec<Line> {
        let mut arrival = 0;
        lines.into_iter().enumerate().map(|(i, (gap, random, kind))| {
            arrival += gap * pace * pace / 4;
            Line { arrival, request: request(i as u32, random, kind < writes) }
        }).collect()
    }
}

/// Generates a configuration with an order and traffic for its banks.
pub(super) fn any_case(length: usize) -> impl Strategy<Value = (Config, BuiltInOrder, Vec<Line>)> {
    (any_config(), any_trace(length)).prop_map(|((config, order), mut trace)| {
        for line in &mut trace {
            line.request.location.bank %= config.geometry.banks();
        }
        (config, order, trace)
    })
}

/// Like [`any_case`], with either kind of command bus.
fn any_case_on_any_bus(length: usize) -> impl Strategy<Value = (Config, BuiltInOrder, Vec<Line>)> {
    (any_case(length), any::<bool>()).prop_map(|((mut config, order, trace), apart)| {
        if apart && config.bank_queue.is_none() {
            config.command_bus = CommandBus::RowAndColumn;
        }
        (config, order, trace)
    })
}

fn controller(config: &Config, order: BuiltInOrder) -> Controller {
    Controller::new(config, AnyRequestOrder::BuiltIn(order))
}

/// Number of cases of [`random_timings_break_no_rule_and_every_rule_binds_in_some`], unless more
/// are requested.
const CASES: u32 = 1500;

/// Prints in how many cases each rule was the binding one. The cases are the same in every run.
#[test]
fn random_timings_break_no_rule_and_every_rule_binds_in_some() {
    let cases = ProptestConfig {
        failure_persistence: None,
        ..cases(CASES)
    };
    let number = cases.cases;
    let rng = TestRng::deterministic_rng(RngAlgorithm::default());
    let exact = RefCell::new(BTreeMap::new());
    let judged = |(config, order, trace): (Config, BuiltInOrder, Vec<Line>)| {
        let mut controller = controller(&config, order);
        controller.judge_commands();
        drive(&mut controller, &trace);
        // Refreshes and rows of the idle channel.
        let idle = controller.clock + 3 * Cycle::from(config.timing.t_refi);
        controller.catch_up(idle);
        let report = controller.judge().expect("asked for").report();
        prop_assert_eq!(&report.violations, &[]);
        for rule in &report.rules {
            *exact.borrow_mut().entry(rule.rule).or_insert(0) +=
                u32::from(rule.slack_min == Some(0));
        }
        Ok(())
    };
    let run = TestRunner::new_with_rng(cases, rng).run(&any_case(120), judged);
    assert_eq!(run.map_err(|e| e.to_string()), Ok(()));
    let exact = exact.into_inner();
    for (rule, cases) in &exact {
        eprintln!("{cases:>6} of {number} cases: {rule}");
    }
    let never = exact.iter().filter(|(_, cases)| **cases == 0);
    let never: Vec<_> = never.map(|(rule, _)| *rule).collect();
    // These are covered by `rules_no_controller_meets_alone_are_kept_to_the_cycle`. More cases may
    // meet them.
    let mut rare = vec![
        "REF -> PRE rank (tRFC)",
        "refresh (at most 8 intervals late)",
    ];
    rare.retain(|rule| number <= CASES || exact[rule] == 0);
    assert_eq!(never, rare);
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn event_driven_scheduling_equals_the_policies_cycle_by_cycle(
        (config, order, trace) in any_case_on_any_bus(60),
    ) {
        config.timing.check("timing", config.refresh, config.geometry.banks()).unwrap();
        let mut naive = Naive::new(&config, order);
        let expected = naive.drive(&trace);
        // What an idle channel does is made up for when it is looked at again.
        naive.rest(Cycle::from(config.timing.t_refi));
        let mut controller = controller(&config, order);
        controller.record_commands();
        controller.judge_commands();
        let result = drive(&mut controller, &trace);
        controller.catch_up(naive.clock - 1);
        let mut both = controller.commands().iter().zip(&naive.commands);
        prop_assert_eq!(both.find(|(ours, theirs)| ours != theirs), None);
        prop_assert_eq!(controller.commands().len(), naive.commands.len());
        prop_assert_eq!(result, expected);
        prop_assert_eq!(controller.judge().unwrap().violations(), []);
    }

    #[test]
    fn sleeping_changes_nothing(
        (config, order, trace) in any_case_on_any_bus(60),
        pauses in prop::collection::vec(0u64..9000, 3),
    ) {
        let mut slept = controller(&config, order);
        let mut awake = controller(&config, order);
        let mut cycle = 0;
        let mut evaluated = 0;
        let mut i = 0;
        for pause in pauses {
            for _ in 0..trace.len() / 3 {
                while slept.offer_at(cycle, trace[i].request) == Offer::Refused {
                    cycle += 1;
                }
                for c in evaluated..=cycle {
                    awake.advance(c);
                }
                evaluated = cycle + 1;
                prop_assert_ne!(awake.offer(cycle, trace[i].request), Offer::Refused);
                i += 1;
                cycle += 1;
            }
            cycle += pause;
            slept.advance(cycle - 1);
        }
        for c in evaluated..cycle {
            awake.advance(c);
        }
        prop_assert_eq!(saved(&mut slept), saved(&mut awake));
        slept.catch_up(cycle);
        awake.record_commands();
        for c in evaluated..=cycle {
            awake.catch_up(c);
        }
        prop_assert_eq!(saved(&mut slept), saved(&mut awake));
    }

    #[test]
    fn saved_in_the_middle_and_loaded_it_goes_on_identically(
        (config, order, trace) in any_case_on_any_bus(60), half in 0usize..60,
    ) {
        let (first, second) = trace.split_at(half.min(trace.len()));
        let mut fresh = controller(&config, order);
        let mut controller = controller(&config, order);
        controller.judge_commands();
        fresh.judge_commands();
        for line in first {
            controller.advance(line.arrival);
            controller.offer(line.arrival, line.request);
        }
        let bytes = saved(&mut controller);
        State::load(&bytes, |state| fresh.state(state)).expect("the same description");
        prop_assert_eq!(saved(&mut fresh), bytes);
        for controller in [&mut controller, &mut fresh] {
            controller.record_commands();
        }
        let tail = |controller: &mut Controller| {
            for line in second {
                controller.advance(line.arrival);
                controller.offer(line.arrival, line.request);
            }
            controller.advance(1 << 20);
            (controller.commands().to_vec(), saved(controller))
        };
        prop_assert_eq!(tail(&mut controller), tail(&mut fresh));
    }
}

fn saved(controller: &mut Controller) -> Vec<u8> {
    State::save(|state| controller.state(state)).expect("plain data")
}

impl Controller {
    fn offer_at(&mut self, cycle: Cycle, request: Request) -> Offer {
        self.advance(cycle);
        self.offer(cycle, request)
    }
}
