//! Properties of the bare controller over random traffic and random, also degenerate, timings.

use proptest::prelude::*;

use super::super::banks::Rule;
use super::super::checker::{Checker, Report};
use super::super::timing::tests::{preset_a, preset_d};
use super::drive::{Line, drive};
use super::*;

/// Small, so that requests meet: 2 groups of 2 banks.
const GEOMETRY: Geometry = Geometry {
    bank_groups: 2,
    banks_per_group: 2,
    rows: 8,
    columns: 4,
};

const QUEUES: Queues = Queues {
    reads: 6,
    writes: 5,
    write_high: 3,
    write_low: 2,
};

fn request(tag: u32, random: u64, write: bool) -> Request {
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

fn judge(commands: &[Issued], timing: Timing, refresh: bool) -> Report {
    let mut checker = Checker::new(&GEOMETRY, timing, refresh);
    for issued in commands {
        checker.check(issued);
    }
    checker.finish()
}

/// The policy spelled out cycle by cycle and request by request, with the checker as the only
/// source of what is legal.
struct Naive {
    checker: Checker,
    timing: Timing,
    refresh: bool,
    open: [Option<u32>; 4],
    reads: Vec<Request>,
    writes: Vec<Request>,
    active: Vec<Request>,
    refreshes_due: u32,
    write_mode: bool,
    commands: Vec<Issued>,
    done: Vec<(Cycle, u32)>,
}

impl Naive {
    fn new(timing: Timing, refresh: bool) -> Self {
        Self {
            checker: Checker::new(&GEOMETRY, timing, refresh),
            timing,
            refresh,
            open: [None; 4],
            reads: Vec::new(),
            writes: Vec::new(),
            active: Vec::new(),
            refreshes_due: 0,
            write_mode: false,
            commands: Vec::new(),
            done: Vec::new(),
        }
    }

    fn issue(&mut self, cycle: Cycle, command: Command) -> bool {
        let mut checker = self.checker.clone();
        let issued = Issued { cycle, command };
        checker.check(&issued);
        if !checker.violations().is_empty() {
            return false;
        }
        self.checker = checker;
        self.commands.push(issued);
        true
    }

    fn column(&mut self, cycle: Cycle, r: Request) -> bool {
        let Location { bank, row, column } = r.location;
        let command = if r.write {
            Command::Write { bank, row, column }
        } else {
            Command::Read { bank, row, column }
        };
        let issued = self.issue(cycle, command);
        if issued && !r.write {
            let end = cycle + u64::from(self.timing.t_cl + self.timing.burst_cycles);
            self.done.push((end, r.tag));
        }
        issued
    }

    fn tick(&mut self, cycle: Cycle) {
        if self.refresh && cycle > 0 && cycle.is_multiple_of(u64::from(self.timing.t_refi)) {
            self.refreshes_due += 1;
        }
        let (reads, writes) = (self.reads.len() as u32, self.writes.len() as u32);
        if self.write_mode {
            if writes < QUEUES.write_low && reads > 0 {
                self.write_mode = false;
            }
        } else if writes > QUEUES.write_high || reads == 0 {
            self.write_mode = true;
        }
        for i in 0..self.active.len() {
            if self.column(cycle, self.active[i]) {
                self.active.remove(i);
                return;
            }
        }
        if self.refreshes_due > 0 {
            self.tick_refresh(cycle);
            return;
        }
        let queue = if self.write_mode {
            self.writes.clone()
        } else {
            self.reads.clone()
        };
        for (i, r) in queue.into_iter().enumerate() {
            if self.start(cycle, i, r) {
                return;
            }
        }
    }

    fn tick_refresh(&mut self, cycle: Cycle) {
        if self.open.iter().any(Option::is_some) {
            if self.active.is_empty() && self.issue(cycle, Command::PrechargeAll) {
                self.open = [None; 4];
            }
        } else if self.issue(cycle, Command::Refresh) {
            self.refreshes_due -= 1;
        }
    }

    fn start(&mut self, cycle: Cycle, i: usize, r: Request) -> bool {
        let Location { bank, row, .. } = r.location;
        let open = self.open[bank as usize];
        if open.is_some() && open != Some(row) {
            let needed = self.active.iter().any(|a| a.location.bank == bank);
            let closed = !needed && self.issue(cycle, Command::Precharge { bank });
            if closed {
                self.open[bank as usize] = None;
            }
            return closed;
        }
        let started = if open.is_none() {
            self.issue(cycle, Command::Activate { bank, row })
        } else {
            self.column(cycle, r)
        };
        if started {
            if r.write {
                self.writes.remove(i);
            } else {
                self.reads.remove(i);
            }
            if open.is_none() {
                self.open[bank as usize] = Some(row);
                // Oldest first, whatever order they became active in.
                let at = self.active.partition_point(|a| a.tag < r.tag);
                self.active.insert(at, r);
            }
        }
        started
    }

    fn offer(&mut self, now: Cycle, r: Request) -> bool {
        let waits = self.writes.iter().any(|w| w.access == r.access);
        if r.write && waits {
            return true;
        }
        let is_active = |a: &Request| a.write && a.access == r.access;
        if !r.write && (waits || self.active.iter().any(is_active)) {
            self.done.push((now + 1, r.tag));
            return true;
        }
        let (queue, depth) = if r.write {
            (&mut self.writes, QUEUES.writes)
        } else {
            (&mut self.reads, QUEUES.reads)
        };
        let room = queue.len() < depth as usize;
        if room {
            queue.push(r);
        }
        room
    }

    /// As [`drive`], one cycle at a time.
    fn drive(&mut self, trace: &[Line]) -> Vec<(Cycle, Option<Cycle>)> {
        let mut result = vec![(0, None); trace.len()];
        let mut next = 0;
        let mut cycle = 0;
        while next < trace.len()
            || !(self.reads.is_empty() && self.writes.is_empty() && self.active.is_empty())
        {
            self.tick(cycle);
            if next < trace.len()
                && trace[next].arrival <= cycle
                && self.offer(cycle, trace[next].request)
            {
                result[next].0 = cycle;
                next += 1;
            }
            cycle += 1;
        }
        for &(done, tag) in &self.done {
            result[tag as usize].1 = Some(done);
        }
        result
    }
}

prop_compose! {
    fn any_timing()(
        n in prop::array::uniform20(0u32..14),
        burst_cycles in 1u32..5,
        wide in prop::array::uniform3(0u32..60),
        given_rtw in any::<bool>(),
        spare in 1u32..150,
    ) -> Timing {
        let mut t = Timing {
            burst_cycles, t_cl: n[0], t_wl: n[1], t_rcd_rd: n[2], t_rcd_wr: n[3], t_rp: n[4],
            t_ras: n[5], t_rc: n[6] * 2, t_rrd_s: n[7], t_rrd_l: n[8], t_ccd_s: n[9],
            t_ccd_l: n[10], t_rtw: given_rtw.then_some(n[11]), t_wtr_s: n[12], t_wtr_l: n[13],
            t_rtp: n[14], t_wr: n[15], t_faw: wide[0], t_32aw: wide[1] * 4, t_ppd: n[16],
            t_refi: 0, t_rfc: wide[2],
        };
        t.t_refi = t.t_rc.max(t.t_ras + t.t_rp) + t.t_rfc + t.t_rcd_rd.max(t.t_rcd_wr)
            + t.t_rtp.max(t.write_data_end() + t.t_wr) + spare;
        t
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
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn event_driven_scheduling_equals_the_policy_cycle_by_cycle(
        timing in any_timing(), trace in any_trace(60), refresh in any::<bool>(),
    ) {
        timing.check("timing", refresh).unwrap();
        let mut naive = Naive::new(timing, refresh);
        let expected = naive.drive(&trace);
        let mut controller = Controller::new(&GEOMETRY, timing, QUEUES, refresh);
        controller.record_commands();
        let result = drive(&mut controller, &trace);
        prop_assert_eq!(result, expected);
        let commands = controller.commands();
        prop_assert_eq!(&commands[..naive.commands.len()], &naive.commands[..]);
        prop_assert_eq!(judge(commands, timing, refresh).violations, []);
    }

    #[test]
    fn sleeping_changes_nothing(
        timing in any_timing(), trace in any_trace(60), pauses in prop::collection::vec(0u64..5000, 3),
    ) {
        let mut slept = Controller::new(&GEOMETRY, timing, QUEUES, true);
        let mut awake = slept.clone();
        awake.record_commands();
        let mut cycle = 0;
        let mut i = 0;
        for pause in pauses {
            for _ in 0..trace.len() / 3 {
                while slept.offer_at(cycle, trace[i].request) == Offer::Refused {
                    cycle += 1;
                }
                for c in awake.clock..=cycle {
                    awake.advance(c);
                }
                prop_assert_ne!(awake.offer(cycle, trace[i].request), Offer::Refused);
                i += 1;
                cycle += 1;
            }
            cycle += pause;
        }
        slept.advance(cycle);
        for c in awake.clock..=cycle {
            awake.advance(c);
        }
        prop_assert_eq!(slept.stats(), awake.stats());
        prop_assert_eq!(slept.returning, awake.returning);
        prop_assert_eq!(slept.refresh_due, awake.refresh_due);
    }
}

impl Controller {
    fn offer_at(&mut self, cycle: Cycle, request: Request) -> Offer {
        self.advance(cycle);
        self.offer(cycle, request)
    }
}

/// Timing in which nothing but data transfer takes time.
fn loose() -> Timing {
    Timing {
        burst_cycles: 1,
        t_cl: 6,
        t_wl: 2,
        t_rcd_rd: 1,
        t_rcd_wr: 1,
        t_rp: 1,
        t_ras: 1,
        t_rc: 1,
        t_rrd_s: 1,
        t_rrd_l: 1,
        t_ccd_s: 1,
        t_ccd_l: 1,
        t_rtw: Some(1),
        t_wtr_s: 1,
        t_wtr_l: 1,
        t_rtp: 1,
        t_wr: 1,
        t_faw: 1,
        t_32aw: 1,
        t_ppd: 1,
        t_refi: 701,
        t_rfc: 1,
    }
}

/// For every rule a set of timings under which it is the one that binds, and its name in the
/// checker's report.
fn binding() -> Vec<(Rule, &'static str, Timing)> {
    let l = loose();
    let burst = Timing {
        burst_cycles: 8,
        t_cl: 10,
        ..l
    };
    #[rustfmt::skip]
    let table = vec![
        (Rule::ActToRead, "ACT -> RD bank (tRCDRD)", Timing { t_rcd_rd: 20, ..l }),
        (Rule::ActToWrite, "ACT -> WR bank (tRCDWR)", Timing { t_rcd_wr: 20, ..l }),
        (Rule::ActToPrecharge, "ACT -> PRE bank (tRAS)", Timing { t_ras: 40, ..l }),
        (Rule::ActToPrecharge, "ACT -> PREA rank (tRAS)", Timing { t_ras: 300, ..l }),
        (Rule::ActToActBank, "ACT -> ACT bank (tRC)", Timing { t_rc: 50, ..l }),
        (Rule::ActToActGroup, "ACT -> ACT group (tRRD_L)", Timing { t_rrd_l: 15, ..l }),
        (Rule::ActToActRank, "ACT -> ACT rank (tRRD_S)", Timing { t_rrd_s: 15, ..l }),
        (Rule::FourActs, "5 ACT rank (tFAW)", Timing { t_faw: 60, ..l }),
        (Rule::ThirtyTwoActs, "33 ACT rank (t32AW)", Timing { t_32aw: 500, ..l }),
        (Rule::ReadToPrecharge, "RD -> PRE bank (tRTP)", Timing { t_rtp: 30, ..l }),
        (Rule::ReadToPrecharge, "RD -> PREA rank (tRTP)", Timing { t_rtp: 300, ..l }),
        (Rule::PrechargeToAct, "PRE -> ACT bank (tRP)", Timing { t_rp: 30, ..l }),
        (Rule::WriteToPrecharge, "WR -> PRE bank (tWL + BL + tWR)", Timing { t_wr: 30, ..l }),
        (Rule::WriteToPrecharge, "WR -> PREA rank (tWL + BL + tWR)", Timing { t_wr: 300, ..l }),
        (Rule::PrechargeToPrecharge, "PRE -> PRE rank (tPPD)", Timing { t_ppd: 15, ..l }),
        (Rule::ReadToReadGroup, "RD -> RD group (tCCD_L)", Timing { t_ccd_l: 12, ..l }),
        (Rule::ReadToReadRank, "RD -> RD rank (tCCD_S)", Timing { t_ccd_s: 12, ..l }),
        (Rule::WriteToWriteGroup, "WR -> WR group (tCCD_L)", Timing { t_ccd_l: 12, ..l }),
        (Rule::WriteToWriteRank, "WR -> WR rank (tCCD_S)", Timing { t_ccd_s: 12, ..l }),
        (Rule::ReadToWrite, "RD -> WR rank (tRTW)", Timing { t_rtw: Some(25), ..l }),
        (Rule::WriteToReadGroup, "WR -> RD group (tWL + BL + tWTR_L)", Timing { t_wtr_l: 25, ..l }),
        (Rule::WriteToReadRank, "WR -> RD rank (tWL + BL + tWTR_S)", Timing { t_wtr_s: 25, ..l }),
        (Rule::PrechargeToRefresh, "PRE -> REF rank (tRP)", Timing { t_rp: 30, ..l }),
        (Rule::ActToRefresh, "ACT -> REF rank (tRC)", Timing { t_rc: 300, ..l }),
        (Rule::RefreshToAct, "REF -> ACT rank (tRFC)", Timing { t_rfc: 100, ..l }),
        // Refreshes that leave no time for anything else.
        (Rule::RefreshToRefresh, "REF -> REF rank (tRFC)", Timing { t_rfc: 10, t_refi: 5, ..l }),
        (Rule::DataReadRead, "data bus (no overlap)", burst),
        (Rule::DataWriteWrite, "data bus (no overlap)", burst),
        (Rule::DataReadWrite, "data bus (no overlap)", Timing { t_rtw: Some(0), ..burst }),
    ];
    table
}

/// Saturated random traffic of reads and writes.
fn mixed_traffic() -> Vec<Line> {
    let mut state = 1u64;
    let mut random = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        state >> 33
    };
    let lines = (0..1500u32).map(|i| {
        let (location, write) = (random(), random() % 2 == 0);
        let mut request = request(i, location, write);
        // No two requests for the same data, or most would be merged or forwarded.
        request.access = u64::from(i);
        Line {
            arrival: 0,
            request,
        }
    });
    lines.collect()
}

fn run(timing: Timing, gaps: Gaps) -> Report {
    let mut controller = Controller::with_gaps(&GEOMETRY, timing, gaps, QUEUES, true);
    controller.record_commands();
    if timing.check("timing", true).is_ok() {
        drive(&mut controller, &mixed_traffic());
    } else {
        controller.advance(1000);
    }
    // Refreshes without pause are late by construction.
    let refresh = timing.t_refi > timing.t_rfc;
    judge(controller.commands(), timing, refresh)
}

#[test]
fn every_rule_can_be_the_one_that_binds() {
    for (rule, name, timing) in binding() {
        let report = run(timing, Gaps::new(&timing));
        assert_eq!(report.violations, [], "{rule:?}");
        assert!(
            report.exercised().any(|exact| exact == name),
            "{rule:?}: {name} was never met exactly"
        );
    }
}

#[test]
fn a_rule_one_cycle_too_short_is_noticed_and_named() {
    for (rule, name, timing) in binding() {
        let mut gaps = Gaps::new(&timing);
        gaps.weaken(rule);
        let report = run(timing, gaps);
        assert!(
            report.violations.iter().any(|v| v.what.contains(name)),
            "{rule:?}: breaking {name} went unnoticed"
        );
    }
}

#[test]
fn the_checker_knows_what_each_command_needs() {
    let timing = preset_a();
    let judge = |commands: &[(Cycle, Command)]| {
        let list: Vec<_> = commands
            .iter()
            .map(|&(cycle, command)| Issued { cycle, command })
            .collect();
        let violations = judge(&list, timing, false).violations;
        violations
            .into_iter()
            .map(|v| v.to_string())
            .collect::<Vec<_>>()
    };
    let act = |bank, row| Command::Activate { bank, row };
    let read = |bank, row| Command::Read {
        bank,
        row,
        column: 0,
    };
    assert_eq!(
        judge(&[(0, act(0, 1)), (50, act(0, 1))]),
        ["cycle 50: ACT of bank 0 finds row 1 open"]
    );
    assert_eq!(
        judge(&[(0, act(0, 1)), (50, read(0, 2))]),
        ["cycle 50: RD of bank 0 needs row 2, row 1 is open"]
    );
    assert_eq!(
        judge(&[(50, read(0, 2))]),
        ["cycle 50: RD of bank 0 finds the bank closed"]
    );
    assert_eq!(
        judge(&[(0, act(2, 1)), (50, Command::Refresh)]),
        ["cycle 50: REF finds bank 2 open"]
    );
    assert_eq!(
        judge(&[(9, Command::Precharge { bank: 3 })]),
        ["cycle 9: PRE of bank 3 finds the bank closed"]
    );
    assert_eq!(
        judge(&[(9, act(0, 1)), (9, act(2, 1))])[0],
        "cycle 9: ACT of bank 2 breaks command bus (1 per cycle): gap 0, required 1"
    );
}

#[test]
fn a_refresh_that_does_not_come_is_noticed() {
    let timing = preset_d();
    let late = Issued {
        cycle: 9 * Cycle::from(timing.t_refi) + 1,
        command: Command::Refresh,
    };
    let report = judge(&[late], timing, true);
    assert_eq!(report.violations.len(), 1);
    assert!(report.violations[0].what.contains("by 1 cycles"));
}
