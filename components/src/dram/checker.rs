//! Independent judge of a list of DRAM commands.
//!
//! Written from the rule table (memory-models 2.1) alone: it keeps the time of every earlier
//! command that a rule can refer to and walks the rules of each new command. It shares nothing
//! with the controller but the parameter set and the command type. For every rule it reports the
//! smallest slack (gap seen minus gap required): a rule that was never met with slack 0 was not
//! tested by that list.
//!
//! ```
//! use warpweave_components::dram::{Checker, Command, Geometry, Issued, Timing};
//! # let timing = Timing { burst_cycles: 2, t_cl: 12, t_wl: 4, t_rcd_rd: 12, t_rcd_wr: 12,
//! #     t_rp: 12, t_ras: 28, t_rc: 40, t_rrd_s: 6, t_rrd_l: 6, t_ccd_s: 2, t_ccd_l: 3,
//! #     t_rtw: None, t_wtr_s: 5, t_wtr_l: 5, t_rtp: 2, t_wr: 12, t_faw: 23, t_32aw: 184,
//! #     t_ppd: 1, t_refi: 2660, t_rfc: 154 };
//! let geometry = Geometry { bank_groups: 4, banks_per_group: 4, rows: 4096, columns: 64 };
//! let mut checker = Checker::new(&geometry, timing, false);
//! let command = Command::Activate { bank: 0, row: 7 };
//! checker.check(&Issued { cycle: 10, command });
//! let command = Command::Read { bank: 0, row: 7, column: 0 };
//! checker.check(&Issued { cycle: 21, command });
//! let report = checker.finish();
//! assert_eq!(report.violations[0].to_string(), "cycle 21: RD of bank 0 breaks ACT -> RD bank \
//!     (tRCDRD): gap 11, required 12");
//! ```

use std::collections::VecDeque;
use std::fmt;

use warpweave_framework::Cycle;

use super::banks::Command;
use super::controller::Issued;
use super::mapping::Geometry;
use super::timing::Timing;

/// Refreshes that may be postponed (JEDEC).
const POSTPONED_MAX: Cycle = 8;

/// A rule as the report names it, with the row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
enum Rule {
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
    R11,
    R12,
    R13Group,
    R13Rank,
    R14Group,
    R14Rank,
    R15,
    R16Group,
    R16Rank,
    R19,
    R20,
    R23Act,
    R23Ref,
    R23Pre,
    R24Act,
    R24Read,
    R24Write,
    R27,
    R28,
    R29,
}

const NAMES: [&str; 30] = [
    "ACT -> RD bank (tRCDRD)",
    "ACT -> WR bank (tRCDWR)",
    "ACT -> PRE bank (tRAS)",
    "ACT -> ACT bank (tRC)",
    "ACT -> ACT group (tRRD_L)",
    "ACT -> ACT rank (tRRD_S)",
    "5 ACT rank (tFAW)",
    "33 ACT rank (t32AW)",
    "RD -> PRE bank (tRTP)",
    "PRE -> ACT bank (tRP)",
    "WR -> PRE bank (tWL + BL + tWR)",
    "PRE -> PRE rank (tPPD)",
    "RD -> RD group (tCCD_L)",
    "RD -> RD rank (tCCD_S)",
    "WR -> WR group (tCCD_L)",
    "WR -> WR rank (tCCD_S)",
    "RD -> WR rank (tRTW)",
    "WR -> RD group (tWL + BL + tWTR_L)",
    "WR -> RD rank (tWL + BL + tWTR_S)",
    "PRE -> REF rank (tRP)",
    "ACT -> REF rank (tRC)",
    "REF -> ACT rank (tRFC)",
    "REF -> REF rank (tRFC)",
    "REF -> PRE rank (tRFC)",
    "ACT -> PREA rank (tRAS)",
    "RD -> PREA rank (tRTP)",
    "WR -> PREA rank (tWL + BL + tWR)",
    "command bus (1 per cycle)",
    "data bus (no overlap)",
    "refresh (at most 8 x tREFI late)",
];

/// What the list showed about one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleReport {
    /// Commands, scope and parameter.
    pub rule: &'static str,
    /// Pairs of commands it was applied to.
    pub pairs: u64,
    /// Smallest gap seen minus gap required; `None` without pairs.
    pub slack_min: Option<i64>,
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Cycle of the later command.
    pub cycle: Cycle,
    /// The later command.
    pub command: Command,
    /// What it breaks, with numbers.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cycle, what, .. } = self;
        match self.command {
            Command::Activate { bank, .. } => write!(f, "cycle {cycle}: ACT of bank {bank} {what}"),
            Command::Read { bank, .. } => write!(f, "cycle {cycle}: RD of bank {bank} {what}"),
            Command::Write { bank, .. } => write!(f, "cycle {cycle}: WR of bank {bank} {what}"),
            Command::Precharge { bank } => write!(f, "cycle {cycle}: PRE of bank {bank} {what}"),
            Command::PrechargeAll => write!(f, "cycle {cycle}: PREA {what}"),
            Command::Refresh => write!(f, "cycle {cycle}: REF {what}"),
        }
    }
}

/// The verdict on a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Every broken rule, in order.
    pub violations: Vec<Violation>,
    /// One line per rule.
    pub rules: Vec<RuleReport>,
}

impl Report {
    /// The rules that were met exactly at least once.
    pub fn exercised(&self) -> impl Iterator<Item = &'static str> {
        let exact = self.rules.iter().filter(|r| r.slack_min == Some(0));
        exact.map(|r| r.rule)
    }
}

/// Last commands of a bank; column commands only since its last ACT.
#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    open: Option<u32>,
    act: Option<Cycle>,
    read: Option<Cycle>,
    write: Option<Cycle>,
    precharge: Option<Cycle>,
}

/// Last commands of any bank of a scope.
#[derive(Clone, Copy, Debug, Default)]
struct Scope {
    act: Option<Cycle>,
    read: Option<Cycle>,
    write: Option<Cycle>,
}

/// Takes commands in order of time and judges them.
#[derive(Clone, Debug)]
pub struct Checker {
    t: Timing,
    refresh: bool,
    banks_per_group: u32,
    banks: Vec<Bank>,
    groups: Vec<Scope>,
    rank: Scope,
    precharge: Option<Cycle>,
    refreshed: Option<Cycle>,
    refreshes: u64,
    last: Option<Cycle>,
    data_until: Option<Cycle>,
    /// The last 32 ACT, oldest first.
    acts: VecDeque<Cycle>,
    report: Report,
}

impl Checker {
    /// A checker for a device with all banks closed. `refresh` says whether refreshes are due.
    pub fn new(geometry: &Geometry, timing: Timing, refresh: bool) -> Self {
        let rules = NAMES.iter().map(|&rule| RuleReport {
            rule,
            pairs: 0,
            slack_min: None,
        });
        Self {
            t: timing,
            refresh,
            banks_per_group: geometry.banks_per_group,
            banks: vec![Bank::default(); geometry.banks() as usize],
            groups: vec![Scope::default(); geometry.bank_groups as usize],
            rank: Scope::default(),
            precharge: None,
            refreshed: None,
            refreshes: 0,
            last: None,
            data_until: None,
            acts: VecDeque::with_capacity(32),
            report: Report {
                violations: Vec::new(),
                rules: rules.collect(),
            },
        }
    }

    /// Judges the next command.
    pub fn check(&mut self, issued: &Issued) {
        self.gap(issued, Rule::R27, self.last, 1);
        self.last = Some(issued.cycle);
        match issued.command {
            Command::Activate { bank, row } => self.activate(issued, bank, row),
            Command::Read { bank, row, .. } => self.read(issued, bank, row),
            Command::Write { bank, row, .. } => self.write(issued, bank, row),
            Command::Precharge { bank } => self.precharge(issued, bank),
            Command::PrechargeAll => self.precharge_all(issued),
            Command::Refresh => self.refresh(issued),
        }
    }

    /// The rules broken so far.
    pub fn violations(&self) -> &[Violation] {
        &self.report.violations
    }

    /// Ends the list.
    pub fn finish(self) -> Report {
        self.report
    }

    fn activate(&mut self, issued: &Issued, bank: u32, row: u32) {
        let t = self.t;
        let (b, g) = (
            self.banks[bank as usize],
            self.groups[(bank / self.banks_per_group) as usize],
        );
        if let Some(open) = b.open {
            self.state(issued, format!("finds row {open} open"));
        }
        self.gap(issued, Rule::R4, b.act, t.t_rc);
        self.gap(issued, Rule::R5, g.act, t.t_rrd_l);
        self.gap(issued, Rule::R6, self.rank.act, t.t_rrd_s);
        let nth_last = |n: usize| self.acts.len().checked_sub(n).map(|i| self.acts[i]);
        let (fourth, thirty_second) = (nth_last(4), nth_last(32));
        self.gap(issued, Rule::R7, fourth, t.t_faw);
        self.gap(issued, Rule::R8, thirty_second, t.t_32aw);
        self.gap(issued, Rule::R10, b.precharge, t.t_rp);
        self.gap(issued, Rule::R23Act, self.refreshed, t.t_rfc);
        let now = Some(issued.cycle);
        if self.acts.len() == 32 {
            self.acts.pop_front();
        }
        self.acts.push_back(issued.cycle);
        self.banks[bank as usize] = Bank {
            open: Some(row),
            act: now,
            read: None,
            write: None,
            precharge: b.precharge,
        };
        self.groups[(bank / self.banks_per_group) as usize].act = now;
        self.rank.act = now;
    }

    fn read(&mut self, issued: &Issued, bank: u32, row: u32) {
        let t = self.t;
        let (b, g, rank) = (
            self.banks[bank as usize],
            self.groups[(bank / self.banks_per_group) as usize],
            self.rank,
        );
        self.needs_row(issued, b.open, row);
        self.gap(issued, Rule::R1, b.act, t.t_rcd_rd);
        self.gap(issued, Rule::R13Group, g.read, t.t_ccd_l);
        self.gap(issued, Rule::R13Rank, rank.read, t.t_ccd_s);
        let written = t.t_wl + t.burst_cycles;
        self.gap(issued, Rule::R16Group, g.write, written + t.t_wtr_l);
        self.gap(issued, Rule::R16Rank, rank.write, written + t.t_wtr_s);
        self.data(issued, t.t_cl);
        let now = Some(issued.cycle);
        self.banks[bank as usize].read = now;
        self.groups[(bank / self.banks_per_group) as usize].read = now;
        self.rank.read = now;
    }

    fn write(&mut self, issued: &Issued, bank: u32, row: u32) {
        let t = self.t;
        let (b, g, rank) = (
            self.banks[bank as usize],
            self.groups[(bank / self.banks_per_group) as usize],
            self.rank,
        );
        self.needs_row(issued, b.open, row);
        self.gap(issued, Rule::R2, b.act, t.t_rcd_wr);
        self.gap(issued, Rule::R14Group, g.write, t.t_ccd_l);
        self.gap(issued, Rule::R14Rank, rank.write, t.t_ccd_s);
        let turn = t
            .t_rtw
            .unwrap_or((t.t_cl + t.burst_cycles + 2).saturating_sub(t.t_wl));
        self.gap(issued, Rule::R15, rank.read, turn);
        self.data(issued, t.t_wl);
        let now = Some(issued.cycle);
        self.banks[bank as usize].write = now;
        self.groups[(bank / self.banks_per_group) as usize].write = now;
        self.rank.write = now;
    }

    fn precharge(&mut self, issued: &Issued, bank: u32) {
        let t = self.t;
        let b = self.banks[bank as usize];
        if b.open.is_none() {
            self.state(issued, "finds the bank closed".to_owned());
        }
        self.gap(issued, Rule::R3, b.act, t.t_ras);
        self.gap(issued, Rule::R9, b.read, t.t_rtp);
        let written = t.t_wl + t.burst_cycles + t.t_wr;
        self.gap(issued, Rule::R11, b.write, written);
        self.gap(issued, Rule::R12, self.precharge, t.t_ppd);
        self.gap(issued, Rule::R23Pre, self.refreshed, t.t_rfc);
        self.close(bank as usize, issued.cycle);
        self.precharge = Some(issued.cycle);
    }

    fn precharge_all(&mut self, issued: &Issued) {
        let t = self.t;
        let latest = |of: fn(&Bank) -> Option<Cycle>| self.banks.iter().filter_map(of).max();
        let (act, read, write) = (latest(|b| b.act), latest(|b| b.read), latest(|b| b.write));
        self.gap(issued, Rule::R24Act, act, t.t_ras);
        self.gap(issued, Rule::R24Read, read, t.t_rtp);
        let written = t.t_wl + t.burst_cycles + t.t_wr;
        self.gap(issued, Rule::R24Write, write, written);
        self.gap(issued, Rule::R12, self.precharge, t.t_ppd);
        self.gap(issued, Rule::R23Pre, self.refreshed, t.t_rfc);
        for bank in 0..self.banks.len() {
            self.close(bank, issued.cycle);
        }
        self.precharge = Some(issued.cycle);
    }

    fn refresh(&mut self, issued: &Issued) {
        let t = self.t;
        if let Some(bank) = self.banks.iter().position(|b| b.open.is_some()) {
            self.state(issued, format!("finds bank {bank} open"));
        }
        self.gap(issued, Rule::R19, self.precharge, t.t_rp);
        self.gap(issued, Rule::R20, self.rank.act, t.t_rc);
        self.gap(issued, Rule::R23Ref, self.refreshed, t.t_rfc);
        self.refreshes += 1;
        if self.refresh {
            let due = (self.refreshes + POSTPONED_MAX) * Cycle::from(t.t_refi);
            self.note(issued, Rule::R29, issued.cycle, due);
        }
        self.refreshed = Some(issued.cycle);
    }

    fn close(&mut self, bank: usize, cycle: Cycle) {
        self.banks[bank].open = None;
        self.banks[bank].precharge = Some(cycle);
    }

    fn needs_row(&mut self, issued: &Issued, open: Option<u32>, row: u32) {
        match open {
            None => self.state(issued, "finds the bank closed".to_owned()),
            Some(open) if open != row => {
                self.state(issued, format!("needs row {row}, row {open} is open"));
            }
            Some(_) => {}
        }
    }

    /// The data of a column command follow `latency` cycles later.
    fn data(&mut self, issued: &Issued, latency: u32) {
        let begin = issued.cycle + Cycle::from(latency);
        if let Some(until) = self.data_until {
            self.note(issued, Rule::R28, until, begin);
        }
        let end = begin + Cycle::from(self.t.burst_cycles);
        self.data_until = self.data_until.max(Some(end));
    }

    fn gap(&mut self, issued: &Issued, rule: Rule, earlier: Option<Cycle>, required: u32) {
        if let Some(earlier) = earlier {
            let allowed = earlier + Cycle::from(required);
            if issued.cycle < allowed {
                let seen = issued.cycle as i64 - earlier as i64;
                let name = NAMES[rule as usize];
                self.state(
                    issued,
                    format!("breaks {name}: gap {seen}, required {required}"),
                );
            }
            self.slack(rule, issued.cycle as i64 - allowed as i64);
        }
    }

    /// Notes that `before` must not lie after `after`.
    fn note(&mut self, issued: &Issued, rule: Rule, before: Cycle, after: Cycle) {
        if before > after {
            let (name, by) = (NAMES[rule as usize], before - after);
            self.state(issued, format!("breaks {name} by {by} cycles"));
        }
        self.slack(rule, after as i64 - before as i64);
    }

    fn slack(&mut self, rule: Rule, slack: i64) {
        let report = &mut self.report.rules[rule as usize];
        report.pairs += 1;
        report.slack_min = Some(report.slack_min.map_or(slack, |s| s.min(slack)));
    }

    fn state(&mut self, issued: &Issued, what: String) {
        self.report.violations.push(Violation {
            cycle: issued.cycle,
            command: issued.command,
            what,
        });
    }
}
