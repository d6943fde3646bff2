//! Independent timing checker for a list of DRAM commands.
//!
//! Written from the rule table (docs/components/gddr5.md) alone. It keeps the time of every earlier
//! command that a rule can refer to and applies every rule to each new command. It shares only the
//! parameter set and the command type with the controller. For every rule it reports the smallest
//! slack (gap seen minus gap required). A rule that never reaches slack 0 was not exercised by that
//! list.
//!
//! ```
//! use warpweave_components::dram::{Checker, Command, Geometry, Issued, Refresh, Timing};
//! # let timing = Timing { burst_cycles: 2, t_cl: 12, t_wl: 4, t_rcd_rd: 12, t_rcd_wr: 12,
//! #     t_rp: 12, t_ras: 28, t_rc: 40, t_rrd_s: 6, t_rrd_l: 6, t_ccd_s: 2, t_ccd_l: 3,
//! #     t_rtw: None, t_wtr_s: 5, t_wtr_l: 5, t_rtp: 2, t_wr: 12, t_faw: 23, t_32aw: 184,
//! #     t_ppd: 1, t_refi: 2660, t_rfc: 154, t_refi_b: None, t_rfc_b: None, t_rrefd: None };
//! let geometry = Geometry { bank_groups: 4, banks_per_group: 4, rows: 4096, columns: 64 };
//! let mut checker = Checker::new(&geometry, timing, Refresh::Off);
//! let command = Command::Activate { bank: 0, row: 7 };
//! checker.check(&Issued { cycle: 10, command });
//! let command = Command::Read { bank: 0, row: 7, column: 0, auto: false };
//! checker.check(&Issued { cycle: 21, command });
//! let report = checker.finish();
//! assert_eq!(report.violations[0].to_string(), "cycle 21: RD of bank 0 violates ACT -> RD \
//!     bank (tRCDRD): gap 11, required 12");
//! ```

use std::collections::VecDeque;
use std::fmt;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State};

use super::banks::{Command, Issued};
use super::command_bus::CommandBus;
use super::mapping::Geometry;
use super::refresh::Refresh;
use super::timing::Timing;

/// Maximum number of refreshes that may be postponed (JEDEC).
const POSTPONED_MAX: Cycle = 8;

macro_rules! rules {
    ($($name:ident: $text:literal,)*) => {
        /// Timing rules with their rows in the rule table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(usize)]
        enum Rule { $($name),* }

        const NAMES: &[&str] = &[$($text),*];
    };
}

rules! {
    R1: "ACT -> RD bank (tRCDRD)",
    R2: "ACT -> WR bank (tRCDWR)",
    R3: "ACT -> PRE bank (tRAS)",
    R4: "ACT -> ACT bank (tRC)",
    R5: "ACT -> ACT group (tRRD_L)",
    R6: "ACT -> ACT rank (tRRD_S)",
    R7: "5 ACT rank (tFAW)",
    R8: "33 ACT rank (t32AW)",
    R9: "RD -> PRE bank (tRTP)",
    R10: "PRE -> ACT bank (tRP)",
    R11: "WR -> PRE bank (tWL + BL + tWR)",
    R12: "PRE -> PRE rank (tPPD)",
    R13Group: "RD -> RD group (tCCD_L)",
    R13Rank: "RD -> RD rank (tCCD_S)",
    R14Group: "WR -> WR group (tCCD_L)",
    R14Rank: "WR -> WR rank (tCCD_S)",
    R15: "RD -> WR rank (tRTW)",
    R16Group: "WR -> RD group (tWL + BL + tWTR_L)",
    R16Rank: "WR -> RD rank (tWL + BL + tWTR_S)",
    R17: "RDA -> ACT bank (tRTP + tRP)",
    R18: "WRA -> ACT bank (tWL + BL + tWR + tRP)",
    R19: "PRE -> REF rank (tRP)",
    R19Bank: "PRE -> REFpb bank (tRP)",
    R20: "ACT -> REF rank (tRC)",
    R20Bank: "ACT -> REFpb bank (tRC)",
    R21: "RDA -> REF rank (tRTP + tRP)",
    R21Bank: "RDA -> REFpb bank (tRTP + tRP)",
    R22: "WRA -> REF rank (tWL + BL + tWR + tRP)",
    R22Bank: "WRA -> REFpb bank (tWL + BL + tWR + tRP)",
    R23Act: "REF -> ACT rank (tRFC)",
    R23Ref: "REF -> REF rank (tRFC)",
    R23Pre: "REF -> PRE rank (tRFC)",
    R24Act: "ACT -> PREA rank (tRAS)",
    R24Read: "RD -> PREA rank (tRTP)",
    R24Write: "WR -> PREA rank (tWL + BL + tWR)",
    R25Act: "REFpb -> ACT bank (tRFCb)",
    R25Ref: "REFpb -> REFpb bank (tRFCb)",
    R26Act: "REFpb -> ACT rank (tRREFD)",
    R26Ref: "REFpb -> REFpb rank (tRREFD)",
    R26Round: "REFpb -> REFpb of a new round (tRFCb)",
    R26Group: "ACT -> REFpb group (tRRD_L)",
    R26Rank: "ACT -> REFpb rank (tRRD_S)",
    R27: "command bus (1 per cycle)",
    R28: "data bus (no overlap)",
    R29: "refresh (at most 8 intervals late)",
}

/// Result of checking one rule over the whole list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleReport {
    /// Rule text: the two commands, scope and parameter.
    pub rule: &'static str,
    /// Number of command pairs the rule was applied to.
    pub pairs: u64,
    /// Smallest gap seen minus gap required; `None` without pairs.
    pub slack_min: Option<i64>,
}

/// A violation of a timing or state rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Cycle of the later command of the pair.
    pub cycle: Cycle,
    /// The later command, which came too early.
    pub command: Command,
    /// Message naming the violated rule, with numbers.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cycle,
            what,
            command,
        } = self;
        let name = command.name();
        match command.bank() {
            Some(bank) => write!(f, "cycle {cycle}: {name} of bank {bank} {what}"),
            None => write!(f, "cycle {cycle}: {name} {what}"),
        }
    }
}

/// Result of checking a list of commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// All violations in order of time.
    pub violations: Vec<Violation>,
    /// Per-rule results, one entry per rule.
    pub rules: Vec<RuleReport>,
}

impl Report {
    /// Returns the rules that reached slack 0 at least once.
    pub fn exercised(&self) -> impl Iterator<Item = &'static str> {
        let exact = self.rules.iter().filter(|r| r.slack_min == Some(0));
        exact.map(|r| r.rule)
    }
}

/// Cycles of a bank's last commands; column commands count only since its last ACT.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Bank {
    open: Option<u32>,
    act: Option<Cycle>,
    read: Option<Cycle>,
    write: Option<Cycle>,
    read_auto: Option<Cycle>,
    write_auto: Option<Cycle>,
    precharge: Option<Cycle>,
    refreshed: Option<Cycle>,
}

/// Cycles of the last commands to any bank of a bank group or rank.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Scope {
    act: Option<Cycle>,
    read: Option<Cycle>,
    write: Option<Cycle>,
    read_auto: Option<Cycle>,
    write_auto: Option<Cycle>,
}

/// Command history and per-rule results so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Seen {
    banks: Vec<Bank>,
    groups: Vec<Scope>,
    rank: Scope,
    precharge: Option<Cycle>,
    refreshed: Option<Cycle>,
    /// Cycle of the last per-bank refresh, and the banks refreshed in this round.
    refreshed_bank: Option<Cycle>,
    round: u64,
    refreshes: u64,
    commands: u64,
    /// Cycle of the last command by pins: row and column.
    last: [Option<Cycle>; 2],
    data_until: Option<Cycle>,
    /// Cycles of the last 32 ACTs and per-bank refreshes, oldest first.
    acts: VecDeque<Cycle>,
    violations: Vec<Violation>,
    /// Number of pairs and smallest slack for each rule.
    rules: Vec<(u64, Option<i64>)>,
}

/// Checks commands against the timing rules; commands must arrive in order of time.
#[derive(Clone, Debug, State)]
pub struct Checker {
    #[state(skip)]
    t: Timing,
    /// Cycles between refreshes; `None` if refresh is disabled.
    #[state(skip)]
    refresh_interval: Option<Cycle>,
    #[state(skip)]
    banks_per_group: u32,
    #[state(skip)]
    command_bus: CommandBus,
    seen: Seen,
}

impl Checker {
    /// Creates a checker for a device with all banks closed. `refresh` determines which refreshes
    /// are due.
    pub fn new(geometry: &Geometry, timing: Timing, refresh: Refresh) -> Self {
        let interval = match refresh {
            Refresh::Off => None,
            Refresh::AllBank { .. } => Some(Cycle::from(timing.t_refi)),
            Refresh::PerBank { .. } => timing.t_refi_b.map(Cycle::from),
        };
        Self {
            t: timing,
            refresh_interval: interval,
            banks_per_group: geometry.banks_per_group,
            command_bus: CommandBus::Shared,
            seen: Seen {
                banks: vec![Bank::default(); geometry.banks() as usize],
                groups: vec![Scope::default(); geometry.bank_groups as usize],
                rank: Scope::default(),
                precharge: None,
                refreshed: None,
                refreshed_bank: None,
                round: 0,
                refreshes: 0,
                commands: 0,
                last: [None; 2],
                data_until: None,
                acts: VecDeque::with_capacity(32),
                violations: Vec::new(),
                rules: vec![(0, None); NAMES.len()],
            },
        }
    }

    /// Sets the command pins of the device.
    pub fn on(self, command_bus: CommandBus) -> Self {
        Self {
            command_bus,
            ..self
        }
    }

    /// Checks the next command against all rules.
    pub fn check(&mut self, issued: &Issued) {
        self.seen.commands += 1;
        let pins = self.command_bus.pins(issued.command);
        self.gap(issued, Rule::R27, self.seen.last[pins], 1);
        self.seen.last[pins] = Some(issued.cycle);
        if let Some(interval) = self.refresh_interval {
            let due = (self.seen.refreshes + 1 + POSTPONED_MAX) * interval;
            self.note(issued, Rule::R29, issued.cycle, due);
        }
        match issued.command {
            Command::Activate { bank, row } => self.activate(issued, bank, row),
            Command::Read {
                bank, row, auto, ..
            } => self.read(issued, bank, row, auto),
            Command::Write {
                bank, row, auto, ..
            } => self.write(issued, bank, row, auto),
            Command::Precharge { bank } => self.precharge(issued, bank),
            Command::PrechargeAll => self.precharge_all(issued),
            Command::Refresh => self.refresh(issued),
            Command::RefreshBank { bank } => self.refresh_bank(issued, bank),
        }
    }

    /// Returns the violations found so far.
    pub fn violations(&self) -> &[Violation] {
        &self.seen.violations
    }

    /// Returns the number of commands checked so far.
    pub fn commands(&self) -> u64 {
        self.seen.commands
    }

    /// Returns the results for the commands checked so far.
    pub fn report(&self) -> Report {
        let rules = NAMES.iter().zip(&self.seen.rules);
        Report {
            violations: self.seen.violations.clone(),
            rules: rules
                .map(|(rule, &(pairs, slack_min))| RuleReport {
                    rule,
                    pairs,
                    slack_min,
                })
                .collect(),
        }
    }

    /// Ends the list of commands and returns the results.
    pub fn finish(self) -> Report {
        self.report()
    }

    fn group(&mut self, bank: u32) -> &mut Scope {
        &mut self.seen.groups[(bank / self.banks_per_group) as usize]
    }

    fn written(&self) -> u32 {
        self.t.t_wl + self.t.burst_cycles
    }

    fn activate(&mut self, issued: &Issued, bank: u32, row: u32) {
        let t = self.t;
        let b = self.seen.banks[bank as usize];
        if let Some(open) = b.open {
            self.state_broken(issued, format!("finds row {open} open"));
        }
        let (group, rank) = (self.group(bank).act, self.seen.rank.act);
        self.gap(issued, Rule::R4, b.act, t.t_rc);
        self.gap(issued, Rule::R5, group, t.t_rrd_l);
        self.gap(issued, Rule::R6, rank, t.t_rrd_s);
        self.gap(issued, Rule::R10, b.precharge, t.t_rp);
        self.gap(issued, Rule::R17, b.read_auto, t.t_rtp + t.t_rp);
        let written = self.written() + t.t_wr + t.t_rp;
        self.gap(issued, Rule::R18, b.write_auto, written);
        self.gap(issued, Rule::R23Act, self.seen.refreshed, t.t_rfc);
        self.gap(issued, Rule::R25Act, b.refreshed, t.t_rfc_b.unwrap_or(0));
        let other = self.other_refreshed(bank);
        self.gap(issued, Rule::R26Act, other, t.t_rrefd.unwrap_or(0));
        self.windows(issued);
        let now = Some(issued.cycle);
        self.seen.banks[bank as usize] = Bank {
            open: Some(row),
            act: now,
            read: None,
            write: None,
            ..b
        };
        self.group(bank).act = now;
        self.seen.rank.act = now;
    }

    /// Returns the cycle of the last refresh of any other bank.
    fn other_refreshed(&self, bank: u32) -> Option<Cycle> {
        let banks = self.seen.banks.iter().enumerate();
        let others = banks.filter(|(other, _)| *other != bank as usize);
        others.filter_map(|(_, b)| b.refreshed).max()
    }

    /// Enters an ACT or a per-bank refresh into the activation windows.
    fn windows(&mut self, issued: &Issued) {
        let acts = &self.seen.acts;
        let nth_last = |n: usize| acts.len().checked_sub(n).map(|i| acts[i]);
        let (fourth, thirty_second) = (nth_last(4), nth_last(32));
        self.gap(issued, Rule::R7, fourth, self.t.t_faw);
        self.gap(issued, Rule::R8, thirty_second, self.t.t_32aw);
        if self.seen.acts.len() == 32 {
            self.seen.acts.pop_front();
        }
        self.seen.acts.push_back(issued.cycle);
    }

    fn read(&mut self, issued: &Issued, bank: u32, row: u32, auto: bool) {
        let t = self.t;
        let (b, g, rank) = (
            self.seen.banks[bank as usize],
            *self.group(bank),
            self.seen.rank,
        );
        self.needs_row(issued, b.open, row);
        self.gap(issued, Rule::R1, b.act, t.t_rcd_rd);
        self.gap(issued, Rule::R13Group, g.read, t.t_ccd_l);
        self.gap(issued, Rule::R13Rank, rank.read, t.t_ccd_s);
        let written = self.written();
        self.gap(issued, Rule::R16Group, g.write, written + t.t_wtr_l);
        self.gap(issued, Rule::R16Rank, rank.write, written + t.t_wtr_s);
        self.data(issued, t.t_cl);
        let now = Some(issued.cycle);
        self.group(bank).read = now;
        self.seen.rank.read = now;
        let b = &mut self.seen.banks[bank as usize];
        b.read = now;
        if auto {
            b.open = None;
            b.read_auto = now;
            self.seen.rank.read_auto = now;
        }
    }

    fn write(&mut self, issued: &Issued, bank: u32, row: u32, auto: bool) {
        let t = self.t;
        let (b, g, rank) = (
            self.seen.banks[bank as usize],
            *self.group(bank),
            self.seen.rank,
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
        self.group(bank).write = now;
        self.seen.rank.write = now;
        let b = &mut self.seen.banks[bank as usize];
        b.write = now;
        if auto {
            b.open = None;
            b.write_auto = now;
            self.seen.rank.write_auto = now;
        }
    }

    fn precharge(&mut self, issued: &Issued, bank: u32) {
        let t = self.t;
        let b = self.seen.banks[bank as usize];
        if b.open.is_none() {
            self.state_broken(issued, "finds the bank closed".to_owned());
        }
        self.gap(issued, Rule::R3, b.act, t.t_ras);
        self.gap(issued, Rule::R9, b.read, t.t_rtp);
        let written = self.written() + t.t_wr;
        self.gap(issued, Rule::R11, b.write, written);
        self.gap(issued, Rule::R12, self.seen.precharge, t.t_ppd);
        self.gap(issued, Rule::R23Pre, self.seen.refreshed, t.t_rfc);
        self.close(bank as usize, issued.cycle);
        self.seen.precharge = Some(issued.cycle);
    }

    fn precharge_all(&mut self, issued: &Issued) {
        let t = self.t;
        let banks = &self.seen.banks;
        let latest = |of: fn(&Bank) -> Option<Cycle>| banks.iter().filter_map(of).max();
        let (act, read, write) = (latest(|b| b.act), latest(|b| b.read), latest(|b| b.write));
        self.gap(issued, Rule::R24Act, act, t.t_ras);
        self.gap(issued, Rule::R24Read, read, t.t_rtp);
        let written = self.written() + t.t_wr;
        self.gap(issued, Rule::R24Write, write, written);
        self.gap(issued, Rule::R12, self.seen.precharge, t.t_ppd);
        self.gap(issued, Rule::R23Pre, self.seen.refreshed, t.t_rfc);
        for bank in 0..self.seen.banks.len() {
            self.close(bank, issued.cycle);
        }
        self.seen.precharge = Some(issued.cycle);
    }

    fn refresh(&mut self, issued: &Issued) {
        let t = self.t;
        if let Some(bank) = self.seen.banks.iter().position(|b| b.open.is_some()) {
            self.state_broken(issued, format!("finds bank {bank} open"));
        }
        let rank = self.seen.rank;
        self.gap(issued, Rule::R19, self.seen.precharge, t.t_rp);
        self.gap(issued, Rule::R20, rank.act, t.t_rc);
        self.gap(issued, Rule::R21, rank.read_auto, t.t_rtp + t.t_rp);
        let written = self.written() + t.t_wr + t.t_rp;
        self.gap(issued, Rule::R22, rank.write_auto, written);
        self.gap(issued, Rule::R23Ref, self.seen.refreshed, t.t_rfc);
        self.seen.refreshes += 1;
        self.seen.refreshed = Some(issued.cycle);
    }

    fn refresh_bank(&mut self, issued: &Issued, bank: u32) {
        let t = self.t;
        let b = self.seen.banks[bank as usize];
        if b.open.is_some() {
            self.state_broken(issued, "finds the bank open".to_owned());
        }
        self.gap(issued, Rule::R19Bank, b.precharge, t.t_rp);
        self.gap(issued, Rule::R20Bank, b.act, t.t_rc);
        self.gap(issued, Rule::R21Bank, b.read_auto, t.t_rtp + t.t_rp);
        let written = self.written() + t.t_wr + t.t_rp;
        self.gap(issued, Rule::R22Bank, b.write_auto, written);
        self.gap(issued, Rule::R23Ref, self.seen.refreshed, t.t_rfc);
        let (group, rank) = (self.group(bank).act, self.seen.rank.act);
        self.gap(issued, Rule::R26Group, group, t.t_rrd_l);
        self.gap(issued, Rule::R26Rank, rank, t.t_rrd_s);
        let (duration, apart) = (t.t_rfc_b.unwrap_or(0), t.t_rrefd.unwrap_or(0));
        self.gap(issued, Rule::R25Ref, b.refreshed, duration);
        let other = self.other_refreshed(bank);
        self.gap(issued, Rule::R26Ref, other, apart);
        if self.seen.round == self.seen.banks.len() as u64 {
            self.seen.round = 0;
            self.gap(issued, Rule::R26Round, self.seen.refreshed_bank, duration);
        }
        self.windows(issued);
        self.seen.round += 1;
        self.seen.refreshes += 1;
        self.seen.refreshed_bank = Some(issued.cycle);
        self.seen.banks[bank as usize].refreshed = Some(issued.cycle);
    }

    fn close(&mut self, bank: usize, cycle: Cycle) {
        self.seen.banks[bank].open = None;
        self.seen.banks[bank].precharge = Some(cycle);
    }

    fn needs_row(&mut self, issued: &Issued, open: Option<u32>, row: u32) {
        match open {
            None => self.state_broken(issued, "finds the bank closed".to_owned()),
            Some(open) if open != row => {
                self.state_broken(issued, format!("needs row {row}, but row {open} is open"));
            }
            Some(_) => {}
        }
    }

    /// Checks the data-bus rules for a column command whose data follow `latency` cycles later.
    fn data(&mut self, issued: &Issued, latency: u32) {
        let begin = issued.cycle + Cycle::from(latency);
        if let Some(until) = self.seen.data_until {
            self.note(issued, Rule::R28, until, begin);
        }
        let end = begin + Cycle::from(self.t.burst_cycles);
        self.seen.data_until = self.seen.data_until.max(Some(end));
    }

    fn gap(&mut self, issued: &Issued, rule: Rule, earlier: Option<Cycle>, required: u32) {
        if let Some(earlier) = earlier {
            let allowed = earlier + Cycle::from(required);
            if issued.cycle < allowed {
                let seen = issued.cycle as i64 - earlier as i64;
                let name = NAMES[rule as usize];
                self.state_broken(
                    issued,
                    format!("violates {name}: gap {seen}, required {required}"),
                );
            }
            self.slack(rule, issued.cycle as i64 - allowed as i64);
        }
    }

    /// Applies a rule that requires `before <= after`, recording the slack and any violation.
    fn note(&mut self, issued: &Issued, rule: Rule, before: Cycle, after: Cycle) {
        if before > after {
            let (name, by) = (NAMES[rule as usize], before - after);
            self.state_broken(issued, format!("violates {name} by {by} cycles"));
        }
        self.slack(rule, after as i64 - before as i64);
    }

    fn slack(&mut self, rule: Rule, slack: i64) {
        let (pairs, slack_min) = &mut self.seen.rules[rule as usize];
        *pairs += 1;
        *slack_min = Some(slack_min.map_or(slack, |s| s.min(slack)));
    }

    fn state_broken(&mut self, issued: &Issued, what: String) {
        self.seen.violations.push(Violation {
            cycle: issued.cycle,
            command: issued.command,
            what,
        });
    }
}
