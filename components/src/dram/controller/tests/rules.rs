//! Tests of every rule in the table: it can bind, and the checker detects when it is broken.

use warpweave_framework::Cycle;
use warpweave_random::nth;

use super::drive::{FR_FCFS, Line, drive};
use super::properties::{GEOMETRY, config, request};
use crate::dram::banks::{Gaps, Rule};
use crate::dram::tests::presets::{preset_a, preset_d};
use crate::dram::{
    Checker, Command, CommandBus, Config, Controller, Geometry, Issued, Page, Refresh, Report,
    Timing,
};

const ALL_BANK: Refresh = Refresh::AllBank { postponed_max: 0 };
const PER_BANK: Refresh = Refresh::PerBank { postponed_max: 0 };

fn judge(commands: &[Issued], config: &Config, refresh: Refresh) -> Report {
    let mut checker = Checker::new(&config.geometry, config.timing, refresh);
    for issued in commands {
        checker.check(issued);
    }
    checker.finish()
}

/// Timing in which only data transfer takes time.
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
        t_refi_b: Some(401),
        t_rfc_b: Some(1),
        t_rrefd: Some(1),
    }
}

/// Returns, for every rule, a configuration under which it binds and its name in the checker's
/// report.
fn binding() -> Vec<(Rule, &'static str, Config)> {
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
    let open = table
        .into_iter()
        .map(|(rule, name, timing)| (rule, name, config(timing, ALL_BANK)));
    open.chain(binding_auto())
        .chain(binding_per_bank())
        .collect()
}

/// Like [`binding`], for rows closed by auto-precharge.
fn binding_auto() -> Vec<(Rule, &'static str, Config)> {
    let l = loose();
    #[rustfmt::skip]
    let table = [
        (Rule::ReadAutoToAct, "RDA -> ACT bank (tRTP + tRP)", Timing { t_rp: 30, ..l }, ALL_BANK),
        (Rule::WriteAutoToAct, "WRA -> ACT bank (tWL + BL + tWR + tRP)", Timing { t_wr: 30, ..l }, ALL_BANK),
        (Rule::ReadAutoToRefresh, "RDA -> REF rank (tRTP + tRP)", Timing { t_rp: 300, ..l }, ALL_BANK),
        (Rule::WriteAutoToRefresh, "WRA -> REF rank (tWL + BL + tWR + tRP)", Timing { t_wr: 300, ..l }, ALL_BANK),
        (Rule::ActToRefresh, "ACT -> REF rank (tRC)", Timing { t_rc: 300, ..l }, ALL_BANK),
        (Rule::ReadAutoToRefresh, "RDA -> REFpb bank (tRTP + tRP)", Timing { t_rp: 200, ..l }, PER_BANK),
        (Rule::WriteAutoToRefresh, "WRA -> REFpb bank (tWL + BL + tWR + tRP)", Timing { t_wr: 200, ..l }, PER_BANK),
    ];
    let close = |(rule, name, timing, refresh)| {
        let page = Page::Closed;
        (
            rule,
            name,
            Config {
                page,
                ..config(timing, refresh)
            },
        )
    };
    table.into_iter().map(close).collect()
}

/// Like [`binding`], for per-bank refreshes.
fn binding_per_bank() -> Vec<(Rule, &'static str, Config)> {
    let l = loose();
    let never_ends = |t_rfc_b, t_rrefd| Timing {
        t_refi_b: Some(2),
        t_rfc_b: Some(t_rfc_b),
        t_rrefd: Some(t_rrefd),
        ..l
    };
    #[rustfmt::skip]
    let table = [
        (Rule::PrechargeToRefresh, "PRE -> REFpb bank (tRP)", Timing { t_rp: 30, ..l }),
        (Rule::ActToRefresh, "ACT -> REFpb bank (tRC)", Timing { t_rc: 200, ..l }),
        (Rule::ActToActGroup, "ACT -> REFpb group (tRRD_L)", Timing { t_rrd_l: 40, ..l }),
        (Rule::ActToActRank, "ACT -> REFpb rank (tRRD_S)", Timing { t_rrd_s: 40, ..l }),
        (Rule::FourActs, "5 ACT rank (tFAW)", Timing { t_faw: 60, ..l }),
        (Rule::ThirtyTwoActs, "33 ACT rank (t32AW)", Timing { t_32aw: 500, ..l }),
        (Rule::RefreshBankToAct, "REFpb -> ACT bank (tRFCb)", Timing { t_rfc_b: Some(100), ..l }),
        (Rule::RefreshBankToOther, "REFpb -> ACT rank (tRREFD)", Timing { t_rfc_b: Some(40), t_rrefd: Some(40), ..l }),
        // Refreshes that leave no time for anything else.
        (Rule::RefreshBankToOther, "REFpb -> REFpb rank (tRREFD)", never_ends(1, 20)),
        (Rule::RefreshBankRound, "REFpb -> REFpb of a new round (tRFCb)", never_ends(20, 1)),
    ];
    let each = |(rule, name, timing)| (rule, name, config(timing, PER_BANK));
    let mut table: Vec<_> = table.into_iter().map(each).collect();
    let alone = Geometry {
        bank_groups: 1,
        banks_per_group: 1,
        ..GEOMETRY
    };
    let of_alone = Config {
        geometry: alone,
        ..config(never_ends(20, 1), PER_BANK)
    };
    table.push((
        Rule::RefreshBankRound,
        "REFpb -> REFpb bank (tRFCb)",
        of_alone,
    ));
    table
}

/// Generates saturated random traffic of reads and writes.
fn mixed_traffic() -> Vec<Line> {
    let lines = (0..1500u32).map(|i| {
        let (location, direction) = (nth(1, i.into()), nth(2, i.into()));
        let mut request = request(i, location, direction.is_multiple_of(2));
        // No two requests for the same data, or most would be merged or forwarded.
        request.access = u64::from(i);
        Line {
            arrival: 0,
            request,
        }
    });
    lines.collect()
}

fn run(config: &Config, gaps: &Gaps) -> Report {
    let mut controller = Controller::with_gaps(config, FR_FCFS, gaps);
    controller.record_commands();
    let banks = config.geometry.banks();
    let feasible = config.timing.check("timing", config.refresh, banks).is_ok();
    if feasible {
        drive(&mut controller, &mixed_traffic());
    } else {
        controller.catch_up(1000);
    }
    // Refreshes without pause are late by construction.
    let refresh = if feasible {
        config.refresh
    } else {
        Refresh::Off
    };
    judge(controller.commands(), config, refresh)
}

#[test]
fn every_rule_can_be_the_one_that_binds() {
    for (rule, name, config) in binding() {
        let report = run(&config, &Gaps::new(&config.timing));
        assert_eq!(report.violations, [], "{rule:?}");
        assert!(
            report.exercised().any(|exact| exact == name),
            "{rule:?}: {name} was never met exactly"
        );
    }
}

#[test]
fn every_rule_of_the_checker_is_among_them() {
    let report = judge(&[], &config(loose(), ALL_BANK), ALL_BANK);
    let names: Vec<_> = binding().into_iter().map(|(_, name, _)| name).collect();
    let missing = report.rules.iter().filter(|r| !names.contains(&r.rule));
    let missing: Vec<_> = missing.map(|r| r.rule).collect();
    assert_eq!(
        missing,
        [
            // See `rules_no_controller_meets_alone_are_kept_to_the_cycle`.
            "REF -> PRE rank (tRFC)",
            "command bus (1 per cycle)",
            "refresh (at most 8 intervals late)",
        ]
    );
}

/// Tests the checker on lists that a controller never produces. A row must be opened between REF
/// and PRE, a controller owns one command bus, and its postponed refreshes are always slightly
/// early.
#[test]
fn rules_no_controller_meets_alone_are_kept_to_the_cycle() {
    let timing = preset_a();
    let (refresh, interval) = (Cycle::from(timing.t_rfc), Cycle::from(timing.t_refi));
    let act = |bank| Command::Activate { bank, row: 1 };
    let cases = [
        (
            "REF -> PRE rank (tRFC)",
            (100, Command::Refresh),
            (100 + refresh, Command::PrechargeAll),
        ),
        ("command bus (1 per cycle)", (9, act(0)), (10, act(1))),
        (
            "refresh (at most 8 intervals late)",
            (10, Command::Refresh),
            (10 * interval, Command::Refresh),
        ),
    ];
    for (name, first, (cycle, second)) in cases {
        let report = |cycle| {
            let list = [first, (cycle, second)].map(|(cycle, command)| Issued { cycle, command });
            judge(&list, &config(timing, ALL_BANK), ALL_BANK)
        };
        let exact = report(cycle);
        assert!(exact.exercised().any(|rule| rule == name), "{name}");
        let broken = |report: Report| report.violations.iter().any(|v| v.what.contains(name));
        assert!(!broken(exact), "{name}");
        // Too late is a cycle later, too early a cycle earlier.
        let beyond = if name.starts_with("refresh") { 1 } else { -1 };
        assert!(
            broken(report(cycle.saturating_add_signed(beyond))),
            "{name}"
        );
    }
}

#[test]
fn a_rule_one_cycle_too_short_or_dropped_is_noticed_and_named() {
    for (rule, name, config) in binding() {
        for dropped in [false, true] {
            let mut gaps = Gaps::new(&config.timing);
            gaps.weaken(rule, dropped);
            let report = run(&config, &gaps);
            assert!(
                report.violations.iter().any(|v| v.what.contains(name)),
                "{rule:?}: breaking {name} went unnoticed, dropped: {dropped}"
            );
        }
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
        let violations = judge(&list, &config(timing, Refresh::Off), Refresh::Off).violations;
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
        auto: false,
    };
    assert_eq!(
        judge(&[(0, act(0, 1)), (50, act(0, 1))]),
        ["cycle 50: ACT of bank 0 finds row 1 open"]
    );
    assert_eq!(
        judge(&[(0, act(0, 1)), (50, read(0, 2))]),
        ["cycle 50: RD of bank 0 needs row 2, but row 1 is open"]
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
        "cycle 9: ACT of bank 2 violates command bus (1 per cycle): gap 0, required 1"
    );
}

/// An active write of the bank to be refreshed must not wait for the end of a stream of reads.
/// Every read needs its own row, and only the command bus limits the rate. A read takes three
/// commands, two of them row commands.
#[test]
fn with_pins_for_row_and_column_commands_only_those_of_rows_stand_in_line() {
    let reads = 300;
    let last_read = |command_bus| {
        let config = Config {
            command_bus,
            ..config(loose(), Refresh::Off)
        };
        let trace: Vec<_> = (0..reads)
            .map(|tag| {
                let (bank, row) = (tag % 4, tag / 4 % 8);
                let mut request = request(tag, 0, false);
                request.access = u64::from(tag);
                request.location.bank = bank;
                request.location.row = row;
                Line {
                    arrival: 0,
                    request,
                }
            })
            .collect();
        let mut controller = Controller::new(&config, FR_FCFS);
        controller.record_commands();
        controller.judge_commands();
        drive(&mut controller, &trace);
        assert_eq!(controller.judge().unwrap().violations(), []);
        let commands = controller.commands().iter().rev();
        let mut column = commands.filter(|issued| matches!(issued.command, Command::Read { .. }));
        column.next().unwrap().cycle
    };
    let near = |cycle: Cycle, commands: u32| cycle.abs_diff(u64::from(reads * commands)) < 12;
    let (shared, apart) = (
        last_read(CommandBus::Shared),
        last_read(CommandBus::RowAndColumn),
    );
    assert!(near(shared, 3) && near(apart, 2), "{shared}, {apart}");
}

#[test]
fn a_stream_of_reads_does_not_put_off_a_refresh_of_one_bank() {
    let timing = Timing {
        t_rtw: Some(30),
        t_refi_b: Some(400),
        t_rfc_b: Some(40),
        t_rrefd: Some(10),
        ..preset_a()
    };
    let config = Config {
        reads: 32,
        ..config(timing, PER_BANK)
    };
    let lines = (0..6000u32).map(|i| {
        // An endless stream of row hits in banks 1 to 3, and occasionally four writes to rows of
        // bank 0. The third of them is active when reads are served again.
        let write = i % 2000 < 4;
        let (bank, row) = if write { (0, i % 4) } else { (1 + i % 3, 0) };
        let mut request = request(i, u64::from(bank | row << 2), write);
        request.access = u64::from(i);
        Line {
            arrival: 2 * Cycle::from(i),
            request,
        }
    });
    let mut controller = Controller::new(&config, FR_FCFS);
    controller.judge_commands();
    drive(&mut controller, &lines.collect::<Vec<_>>());
    let report = controller.judge().expect("asked for").report();
    assert_eq!(report.violations, []);
    let late = report.rules.iter().find(|r| r.rule.starts_with("refresh"));
    let interval = i64::from(timing.t_refi_b.expect("given above"));
    let slack = late
        .and_then(|r| r.slack_min)
        .expect("there were refreshes");
    assert!(
        slack > 7 * interval,
        "only {slack} cycles left of 8 intervals"
    );
}

#[test]
fn a_refresh_that_does_not_come_is_noticed() {
    let timing = preset_d();
    let late = Issued {
        cycle: 9 * Cycle::from(timing.t_refi) + 1,
        command: Command::Refresh,
    };
    let report = judge(&[late], &config(timing, ALL_BANK), ALL_BANK);
    assert_eq!(report.violations.len(), 1);
    assert!(report.violations[0].what.contains("by 1 cycles"));
    // Nor does it take a refresh to notice.
    let late = Issued {
        command: Command::Activate { bank: 0, row: 0 },
        ..late
    };
    let report = judge(&[late], &config(timing, ALL_BANK), ALL_BANK);
    assert!(report.violations[0].what.contains("by 1 cycles"));
}
