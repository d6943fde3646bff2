//! Bank state and the earliest legal cycle of every command.
//!
//! The rule table (docs/components/gddr5.md) is evaluated when a command is issued. Every rule "A →
//! B, scope, gap" raises the earliest cycle of B within its scope. A query costs three maxima.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State};

use super::mapping::{BANKS_MAX, Geometry, Location};
use super::timing::Timing;

/// A DRAM command with the bank it addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Activates `row`, opening it in a bank.
    Activate { bank: u32, row: u32 },
    /// Reads a burst of the open row.
    Read {
        bank: u32,
        /// Row of the request, which must be the open row.
        row: u32,
        /// Index of the burst within the row.
        column: u32,
        /// Enables auto-precharge: the bank closes itself after the access.
        auto: bool,
    },
    /// Writes a burst of the open row.
    Write {
        bank: u32,
        /// Row of the request, which must be the open row.
        row: u32,
        /// Index of the burst within the row.
        column: u32,
        /// Enables auto-precharge: the bank closes itself after the access.
        auto: bool,
    },
    /// Precharges one bank, closing its open row.
    Precharge { bank: u32 },
    /// Precharges all banks of the channel at once.
    PrechargeAll,
    /// Refreshes all banks, which must be precharged.
    Refresh,
    /// Refreshes one bank, which must be precharged.
    RefreshBank { bank: u32 },
}

/// Command together with its issue cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    pub cycle: Cycle,
    pub command: Command,
}

impl Command {
    /// Returns the column command of an access: a write or a read, with or without auto-precharge.
    pub(crate) fn column(location: Location, write: bool, auto: bool) -> Self {
        let Location { bank, row, column } = location;
        if write {
            Self::Write {
                bank,
                row,
                column,
                auto,
            }
        } else {
            Self::Read {
                bank,
                row,
                column,
                auto,
            }
        }
    }

    /// Returns the command's name in the standard and in command traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Activate { .. } => "ACT",
            Self::Read { auto: false, .. } => "RD",
            Self::Read { auto: true, .. } => "RDA",
            Self::Write { auto: false, .. } => "WR",
            Self::Write { auto: true, .. } => "WRA",
            Self::Precharge { .. } => "PRE",
            Self::PrechargeAll => "PREA",
            Self::Refresh => "REF",
            Self::RefreshBank { .. } => "REFpb",
        }
    }

    /// Returns the bank it addresses, or `None` for all-bank commands.
    pub fn bank(self) -> Option<u32> {
        match self {
            Self::Activate { bank, .. }
            | Self::Read { bank, .. }
            | Self::Write { bank, .. }
            | Self::Precharge { bank }
            | Self::RefreshBank { bank } => Some(bank),
            Self::PrechargeAll | Self::Refresh => None,
        }
    }
}

/// Timing rules the controller obeys, each a minimum gap between two commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Rule {
    ActToRead,
    ActToWrite,
    ActToPrecharge,
    ActToActBank,
    ActToActGroup,
    ActToActRank,
    FourActs,
    ThirtyTwoActs,
    ReadToPrecharge,
    PrechargeToAct,
    WriteToPrecharge,
    PrechargeToPrecharge,
    ReadToReadGroup,
    ReadToReadRank,
    WriteToWriteGroup,
    WriteToWriteRank,
    ReadToWrite,
    WriteToReadGroup,
    WriteToReadRank,
    PrechargeToRefresh,
    ActToRefresh,
    RefreshToAct,
    RefreshToRefresh,
    ReadAutoToAct,
    WriteAutoToAct,
    ReadAutoToRefresh,
    WriteAutoToRefresh,
    /// From a per-bank refresh to an ACT of the same bank.
    RefreshBankToAct,
    /// From a per-bank refresh to an ACT or refresh of another bank.
    RefreshBankToOther,
    /// From the refresh of a round's last bank to that of the next round's first.
    RefreshBankRound,
    /// Data-bus gap between two reads, two writes, or a write followed by a read. After a write,
    /// row 16 keeps reads off the bus.
    DataReadRead,
    DataWriteWrite,
    DataReadWrite,
}

const RULES: usize = Rule::DataReadWrite as usize + 1;

/// Minimum gap of every rule, in cycles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gaps([Cycle; RULES]);

impl Gaps {
    pub(crate) fn new(t: &Timing) -> Self {
        let mut gaps = [0; RULES];
        let write_end = t.write_data_end();
        let table = [
            (Rule::ActToRead, t.t_rcd_rd),
            (Rule::ActToWrite, t.t_rcd_wr),
            (Rule::ActToPrecharge, t.t_ras),
            (Rule::ActToActBank, t.t_rc),
            (Rule::ActToActGroup, t.t_rrd_l),
            (Rule::ActToActRank, t.t_rrd_s),
            (Rule::FourActs, t.t_faw),
            (Rule::ThirtyTwoActs, t.t_32aw),
            (Rule::ReadToPrecharge, t.t_rtp),
            (Rule::PrechargeToAct, t.t_rp),
            (Rule::WriteToPrecharge, write_end + t.t_wr),
            (Rule::PrechargeToPrecharge, t.t_ppd),
            (Rule::ReadToReadGroup, t.t_ccd_l),
            (Rule::ReadToReadRank, t.t_ccd_s),
            (Rule::WriteToWriteGroup, t.t_ccd_l),
            (Rule::WriteToWriteRank, t.t_ccd_s),
            (Rule::ReadToWrite, t.read_to_write()),
            (Rule::WriteToReadGroup, write_end + t.t_wtr_l),
            (Rule::WriteToReadRank, write_end + t.t_wtr_s),
            (Rule::PrechargeToRefresh, t.t_rp),
            (Rule::ActToRefresh, t.t_rc),
            (Rule::RefreshToAct, t.t_rfc),
            (Rule::RefreshToRefresh, t.t_rfc),
            (Rule::ReadAutoToAct, t.t_rtp + t.t_rp),
            (Rule::WriteAutoToAct, write_end + t.t_wr + t.t_rp),
            (Rule::ReadAutoToRefresh, t.t_rtp + t.t_rp),
            (Rule::WriteAutoToRefresh, write_end + t.t_wr + t.t_rp),
            (Rule::RefreshBankToAct, t.t_rfc_b.unwrap_or(0)),
            (Rule::RefreshBankToOther, t.t_rrefd.unwrap_or(0)),
            (Rule::RefreshBankRound, t.t_rfc_b.unwrap_or(0)),
            (Rule::DataReadRead, t.burst_cycles),
            (Rule::DataWriteWrite, t.burst_cycles),
            (
                Rule::DataReadWrite,
                t.read_data_end().saturating_sub(t.t_wl),
            ),
        ];
        for (rule, gap) in table {
            gaps[rule as usize] = Cycle::from(gap);
        }
        Self(gaps)
    }

    #[inline]
    fn of(&self, rule: Rule) -> Cycle {
        self.0[rule as usize]
    }

    /// Makes one rule a cycle too short, or drops it, to prove that the checker detects the
    /// violation.
    #[cfg(test)]
    pub(crate) fn weaken(&mut self, rule: Rule, dropped: bool) {
        let gap = &mut self.0[rule as usize];
        *gap = if dropped { 0 } else { *gap - 1 };
    }
}

/// Earliest legal cycle of each command for one bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Bank {
    act: Cycle,
    read: Cycle,
    write: Cycle,
    precharge: Cycle,
    /// Earliest cycle of a per-bank refresh of this bank.
    refresh: Cycle,
    row: u32,
}

/// Earliest legal cycles that apply to a whole bank group or to the rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Scope {
    act: Cycle,
    read: Cycle,
    write: Cycle,
}

/// Activation window (tFAW, t32AW) with one slot per activation it allows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Window {
    /// Earliest cycle at which the activation in this slot leaves the window.
    until: Box<[Cycle]>,
    next: usize,
}

impl Window {
    fn new(activations: usize) -> Self {
        Self {
            until: vec![0; activations].into(),
            next: 0,
        }
    }

    /// Records an activation that leaves the window at `until`. Returns the earliest cycle of the
    /// next one.
    #[inline]
    fn activate(&mut self, until: Cycle) -> Cycle {
        self.until[self.next] = until;
        self.next += 1;
        if self.next == self.until.len() {
            self.next = 0;
        }
        self.until[self.next]
    }
}

/// Channel state that commands change, as stored in checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BanksState {
    banks: Vec<Bank>,
    groups: Vec<Scope>,
    rank: Scope,
    rank_precharge: Cycle,
    /// Earliest cycles of an all-bank refresh and of a per-bank refresh of any bank.
    rank_refresh: Cycle,
    rank_refresh_bank: Cycle,
    four: Window,
    thirty_two: Window,
    open: u64,
    /// Number of banks refreshed by per-bank refreshes in this round.
    round: u32,
}

/// Banks of one channel with their timing rules.
#[derive(Clone, Debug, State)]
pub(crate) struct Banks {
    #[state(skip)]
    gaps: Gaps,
    /// log2 of the number of banks per group.
    #[state(skip)]
    group_shift: u32,
    #[state(rename = "banks")]
    state: BanksState,
}

impl Banks {
    pub(crate) fn new(geometry: &Geometry, gaps: &Gaps) -> Self {
        assert!(
            geometry.banks() <= BANKS_MAX,
            "the bank count was checked with the geometry"
        );
        Self {
            gaps: *gaps,
            group_shift: geometry.banks_per_group.trailing_zeros(),
            state: BanksState {
                banks: vec![Bank::default(); geometry.banks() as usize],
                groups: vec![Scope::default(); geometry.bank_groups as usize],
                rank: Scope::default(),
                rank_precharge: 0,
                rank_refresh: 0,
                rank_refresh_bank: 0,
                four: Window::new(4),
                thirty_two: Window::new(32),
                open: 0,
                round: 0,
            },
        }
    }

    /// Returns the number of banks in the channel.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.state.banks.len() as u32
    }

    /// Returns the mask of open banks, one bit each.
    #[inline]
    pub(crate) fn open(&self) -> u64 {
        self.state.open
    }

    /// Returns the open row of a bank, if any.
    #[inline]
    pub(crate) fn row(&self, bank: u32) -> Option<u32> {
        (self.state.open >> bank & 1 != 0).then(|| self.state.banks[bank as usize].row)
    }

    #[inline(always)]
    fn group(&self, bank: u32) -> &Scope {
        &self.state.groups[(bank >> self.group_shift) as usize]
    }

    #[inline(always)]
    pub(crate) fn act_from(&self, bank: u32) -> Cycle {
        self.state.banks[bank as usize]
            .act
            .max(self.group(bank).act)
            .max(self.state.rank.act)
    }

    #[inline(always)]
    pub(crate) fn read_from(&self, bank: u32) -> Cycle {
        self.state.banks[bank as usize]
            .read
            .max(self.group(bank).read)
            .max(self.state.rank.read)
    }

    #[inline(always)]
    pub(crate) fn write_from(&self, bank: u32) -> Cycle {
        self.state.banks[bank as usize]
            .write
            .max(self.group(bank).write)
            .max(self.state.rank.write)
    }

    /// Returns the earliest cycle of a write or a read in this bank.
    #[inline(always)]
    pub(crate) fn column_from(&self, bank: u32, write: bool) -> Cycle {
        if write {
            self.write_from(bank)
        } else {
            self.read_from(bank)
        }
    }

    #[inline(always)]
    pub(crate) fn precharge_from(&self, bank: u32) -> Cycle {
        let bank = &self.state.banks[bank as usize];
        bank.precharge.max(self.state.rank_precharge)
    }

    /// Returns the earliest cycle of PREA, which must satisfy the PRE rules of every bank (row 24).
    pub(crate) fn precharge_all_from(&self) -> Cycle {
        let banks = self.state.banks.iter().map(|b| b.precharge).max();
        banks.unwrap_or(0).max(self.state.rank_precharge)
    }

    #[inline]
    pub(crate) fn refresh_from(&self) -> Cycle {
        self.state.rank_refresh
    }

    /// Returns the earliest cycle of a per-bank refresh, which also keeps the gaps of an ACT to
    /// other banks.
    pub(crate) fn refresh_bank_from(&self, bank: u32) -> Cycle {
        self.state.banks[bank as usize]
            .refresh
            .max(self.group(bank).act)
            .max(self.state.rank.act)
            .max(self.state.rank_refresh_bank)
    }

    /// Records a command issued at `t` and raises the earliest cycles of the commands it delays.
    pub(crate) fn issue(&mut self, t: Cycle, command: Command) {
        match command {
            Command::Activate { bank, row } => self.activate(t, bank, row),
            Command::Read { bank, auto, .. } => self.read(t, bank, auto),
            Command::Write { bank, auto, .. } => self.write(t, bank, auto),
            Command::Precharge { bank } => {
                self.state.open &= !(1 << bank);
                self.precharge_bank(t, bank as usize);
                self.precharged(t);
            }
            Command::PrechargeAll => {
                self.state.open = 0;
                for bank in 0..self.state.banks.len() {
                    self.precharge_bank(t, bank);
                }
                self.precharged(t);
            }
            Command::Refresh => {
                let s = &mut self.state;
                raise(&mut s.rank.act, t + self.gaps.of(Rule::RefreshToAct));
                raise(
                    &mut s.rank_refresh,
                    t + self.gaps.of(Rule::RefreshToRefresh),
                );
            }
            Command::RefreshBank { bank } => self.refresh_bank(t, bank),
        }
    }

    /// Keeps the row or column pins that a command at `t` used from carrying another command in
    /// that cycle.
    pub(crate) fn take_pins(&mut self, t: Cycle, column: bool) {
        let s = &mut self.state;
        if column {
            raise(&mut s.rank.read, t + 1);
            raise(&mut s.rank.write, t + 1);
        } else {
            raise(&mut s.rank.act, t + 1);
            raise(&mut s.rank_precharge, t + 1);
            raise(&mut s.rank_refresh, t + 1);
            raise(&mut s.rank_refresh_bank, t + 1);
        }
    }

    fn activate(&mut self, t: Cycle, bank: u32, row: u32) {
        let (gaps, s) = (&self.gaps, &mut self.state);
        let b = &mut s.banks[bank as usize];
        b.row = row;
        // What earlier column commands of the bank delayed is over once its row is another one.
        b.read = t + gaps.of(Rule::ActToRead);
        b.write = t + gaps.of(Rule::ActToWrite);
        b.precharge = t + gaps.of(Rule::ActToPrecharge);
        raise(&mut b.act, t + gaps.of(Rule::ActToActBank));
        raise(&mut b.refresh, t + gaps.of(Rule::ActToRefresh));
        let group = &mut s.groups[(bank >> self.group_shift) as usize];
        raise(&mut group.act, t + gaps.of(Rule::ActToActGroup));
        let rank = t + gaps.of(Rule::ActToActRank);
        raise(&mut s.rank.act, rank);
        raise(&mut s.rank_refresh, t + gaps.of(Rule::ActToRefresh));
        s.open |= 1 << bank;
        self.activated(t);
    }

    /// Enters an ACT or a per-bank refresh into the activation windows.
    #[inline]
    fn activated(&mut self, t: Cycle) {
        let (gaps, s) = (&self.gaps, &mut self.state);
        let four = s.four.activate(t + gaps.of(Rule::FourActs));
        let thirty_two = s.thirty_two.activate(t + gaps.of(Rule::ThirtyTwoActs));
        raise(&mut s.rank.act, four.max(thirty_two));
    }

    fn read(&mut self, t: Cycle, bank: u32, auto: bool) {
        let (gaps, s) = (&self.gaps, &mut self.state);
        let b = &mut s.banks[bank as usize];
        raise(&mut b.precharge, t + gaps.of(Rule::ReadToPrecharge));
        let group = &mut s.groups[(bank >> self.group_shift) as usize];
        raise(&mut group.read, t + gaps.of(Rule::ReadToReadGroup));
        let read = gaps
            .of(Rule::ReadToReadRank)
            .max(gaps.of(Rule::DataReadRead));
        let write = gaps.of(Rule::ReadToWrite).max(gaps.of(Rule::DataReadWrite));
        raise(&mut s.rank.read, t + read);
        raise(&mut s.rank.write, t + write);
        if auto {
            let act = t + gaps.of(Rule::ReadAutoToAct);
            let refresh = t + gaps.of(Rule::ReadAutoToRefresh);
            self.close_itself(bank, act, refresh);
        }
    }

    fn write(&mut self, t: Cycle, bank: u32, auto: bool) {
        let (gaps, s) = (&self.gaps, &mut self.state);
        let b = &mut s.banks[bank as usize];
        raise(&mut b.precharge, t + gaps.of(Rule::WriteToPrecharge));
        let group = &mut s.groups[(bank >> self.group_shift) as usize];
        raise(&mut group.write, t + gaps.of(Rule::WriteToWriteGroup));
        raise(&mut group.read, t + gaps.of(Rule::WriteToReadGroup));
        let write = gaps
            .of(Rule::WriteToWriteRank)
            .max(gaps.of(Rule::DataWriteWrite));
        raise(&mut s.rank.write, t + write);
        raise(&mut s.rank.read, t + gaps.of(Rule::WriteToReadRank));
        if auto {
            let act = t + gaps.of(Rule::WriteAutoToAct);
            let refresh = t + gaps.of(Rule::WriteAutoToRefresh);
            self.close_itself(bank, act, refresh);
        }
    }

    fn close_itself(&mut self, bank: u32, act: Cycle, refresh: Cycle) {
        let s = &mut self.state;
        s.open &= !(1 << bank);
        let b = &mut s.banks[bank as usize];
        raise(&mut b.act, act);
        raise(&mut b.refresh, refresh);
        raise(&mut s.rank_refresh, refresh);
    }

    fn precharge_bank(&mut self, t: Cycle, bank: usize) {
        let b = &mut self.state.banks[bank];
        raise(&mut b.act, t + self.gaps.of(Rule::PrechargeToAct));
        raise(&mut b.refresh, t + self.gaps.of(Rule::PrechargeToRefresh));
    }

    fn precharged(&mut self, t: Cycle) {
        raise(
            &mut self.state.rank_precharge,
            t + self.gaps.of(Rule::PrechargeToPrecharge),
        );
        raise(
            &mut self.state.rank_refresh,
            t + self.gaps.of(Rule::PrechargeToRefresh),
        );
    }

    fn refresh_bank(&mut self, t: Cycle, bank: u32) {
        let (gaps, s) = (&self.gaps, &mut self.state);
        let b = &mut s.banks[bank as usize];
        raise(&mut b.act, t + gaps.of(Rule::RefreshBankToAct));
        // The bank's own next refresh keeps tRFCb, too: a new round begins before it.
        raise(&mut s.rank.act, t + gaps.of(Rule::RefreshBankToOther));
        s.round += 1;
        if s.round == s.banks.len() as u32 {
            s.round = 0;
            raise(
                &mut s.rank_refresh_bank,
                t + gaps.of(Rule::RefreshBankRound),
            );
        }
        self.activated(t);
    }
}

#[inline]
fn raise(earliest: &mut Cycle, to: Cycle) {
    *earliest = (*earliest).max(to);
}
