//! Properties of the bare controller over random traffic, policies and (also degenerate) timings.
//!
//! `PROPTEST_CASES` sets how many cases are tried.

use proptest::prelude::*;

use super::drive::{Line, drive};
use super::naive::Naive;
use super::*;

/// Small, so that requests meet: 2 groups of 2 banks.
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

/// Cases to try: this many, unless the environment says otherwise.
fn cases(few: u32) -> ProptestConfig {
    let given = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig::with_cases(given.and_then(|n| n.parse().ok()).unwrap_or(few))
}

prop_compose! {
    fn any_timing()(
        n in prop::array::uniform20(0u32..14),
        burst_cycles in 1u32..5,
        wide in prop::array::uniform4(0u32..60),
        given_rtw in any::<bool>(),
        spare in 1u32..150,
    ) -> Timing {
        let mut t = Timing {
            burst_cycles, t_cl: n[0], t_wl: n[1], t_rcd_rd: n[2], t_rcd_wr: n[3], t_rp: n[4],
            t_ras: n[5], t_rc: n[6] * 2, t_rrd_s: n[7], t_rrd_l: n[8], t_ccd_s: n[9],
            t_ccd_l: n[10], t_rtw: given_rtw.then_some(n[11]), t_wtr_s: n[12], t_wtr_l: n[13],
            t_rtp: n[14], t_wr: n[15], t_faw: wide[0], t_32aw: wide[1] * 4, t_ppd: n[16],
            t_refi: 0, t_rfc: wide[2], t_refi_b: None, t_rfc_b: Some(wide[3].max(n[17])),
            t_rrefd: Some(n[17]),
        };
        let busy = t.t_rc.max(t.t_ras + t.t_rp) + t.t_rcd_rd.max(t.t_rcd_wr)
            + t.t_rtp.max(t.write_data_end() + t.t_wr) + spare;
        t.t_refi = busy + t.t_rfc;
        let windows = t.t_faw.div_ceil(2) + t.t_32aw.div_ceil(16) + t.t_rrd_s.max(t.t_rrd_l);
        t.t_refi_b = Some(busy + wide[3].max(n[17]) + windows);
        t
    }
}

fn any_refresh() -> impl Strategy<Value = Refresh> {
    (0u32..3, 0u32..8).prop_map(|(kind, postponed_max)| match kind {
        0 => Refresh::Off,
        1 => Refresh::AllBank { postponed_max },
        _ => Refresh::PerBank { postponed_max },
    })
}

fn any_scheduler() -> impl Strategy<Value = Scheduler> {
    prop_oneof![
        Just(Scheduler::Fcfs),
        Just(Scheduler::FrFcfs),
        (0u32..4).prop_map(|columns| Scheduler::FrFcfsCap { columns }),
        Just(Scheduler::RowHitFirst),
        (1u32..5).prop_map(|hits| Scheduler::BankRoundRobin { hits }),
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
        scheduler in any_scheduler(),
        page in any_page(),
        queues in (1u32..7, 1u32..6, prop::option::of(1u32..4)),
        marks in (0u32..6, 0u32..6, any::<bool>()),
        merge_writes in any::<bool>(),
    ) -> Config {
        let (reads, writes, bank_queue) = queues;
        let high = marks.0 % writes;
        let low = 1 + marks.1 % (high + 1);
        Config {
            reads, writes, bank_queue, scheduler, page, merge_writes, refresh,
            drain: if marks.2 {
                Drain::Watermarks { high, low }
            } else {
                Drain::Batches { idle_above: high }
            },
            ..config(timing, refresh)
        }
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

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn event_driven_scheduling_equals_the_policies_cycle_by_cycle(
        config in any_config(), trace in any_trace(60),
    ) {
        config.timing.check("timing", config.refresh).unwrap();
        let mut naive = Naive::new(&config);
        let expected = naive.drive(&trace);
        let mut controller = Controller::new(&config);
        controller.record_commands();
        controller.judge_commands();
        let result = drive(&mut controller, &trace);
        let mut both = controller.commands().iter().zip(&naive.commands);
        prop_assert_eq!(both.find(|(ours, theirs)| ours != theirs), None);
        prop_assert_eq!(controller.commands().len(), naive.commands.len());
        prop_assert_eq!(result, expected);
        prop_assert_eq!(controller.judge().unwrap().violations(), []);
    }

    #[test]
    fn sleeping_changes_nothing(
        config in any_config(), trace in any_trace(60),
        pauses in prop::collection::vec(0u64..9000, 3),
    ) {
        let mut slept = Controller::new(&config);
        let mut awake = slept.clone();
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
        config in any_config(), trace in any_trace(60), half in 0usize..60,
    ) {
        let (first, second) = trace.split_at(half.min(trace.len()));
        let mut controller = Controller::new(&config);
        controller.judge_commands();
        let mut fresh = controller.clone();
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
