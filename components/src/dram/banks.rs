//! State of the banks and the earliest legal cycle of every command.
//!
//! The rule table (memory-models 2.1) is evaluated when a command is issued: every rule "A → B,
//! scope, gap" raises the earliest cycle of B within its scope. A question costs three maxima.

use warpweave_framework::Cycle;

use super::mapping::{BANKS_MAX, Geometry};
use super::timing::Timing;

/// A command on the bus, with the bank it addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Opens `row` of a bank.
    Activate {
        /// Bank of the channel.
        bank: u32,
        /// Row to open.
        row: u32,
    },
    /// Reads a burst of the open row.
    Read {
        /// Bank of the channel.
        bank: u32,
        /// Row the request needs, which must be the open one.
        row: u32,
        /// Burst within the row.
        column: u32,
    },
    /// Writes a burst of the open row.
    Write {
        /// Bank of the channel.
        bank: u32,
        /// Row the request needs, which must be the open one.
        row: u32,
        /// Burst within the row.
        column: u32,
    },
    /// Closes a bank.
    Precharge {
        /// Bank of the channel.
        bank: u32,
    },
    /// Closes all banks.
    PrechargeAll,
    /// Refreshes all banks, which must be closed.
    Refresh,
}

/// The rules the controller obeys, each a minimum gap between two commands.
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
    /// Data of two reads, of two writes, and of a write behind a read; behind a write, row 16
    /// keeps reads off the bus.
    DataReadRead,
    DataWriteWrite,
    DataReadWrite,
}

const RULES: usize = Rule::DataReadWrite as usize + 1;

/// The gap of every rule.
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

    /// Makes one rule a cycle too short, to prove that the checker notices.
    #[cfg(test)]
    pub(crate) fn weaken(&mut self, rule: Rule) {
        self.0[rule as usize] -= 1;
    }
}

/// Earliest cycles of the commands of one bank.
#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    act: Cycle,
    read: Cycle,
    write: Cycle,
    precharge: Cycle,
    row: u32,
}

/// Earliest cycles that hold for a bank group or for the rank.
#[derive(Clone, Copy, Debug, Default)]
struct Scope {
    act: Cycle,
    read: Cycle,
    write: Cycle,
}

/// The last `N` activations.
#[derive(Clone, Debug)]
struct Window<const N: usize> {
    /// Earliest cycle at which the activation in this slot leaves the window.
    until: [Cycle; N],
    next: usize,
}

impl<const N: usize> Window<N> {
    fn new() -> Self {
        Self {
            until: [0; N],
            next: 0,
        }
    }

    /// Notes an activation that leaves the window at `until` and returns when the next may come.
    #[inline]
    fn activate(&mut self, until: Cycle) -> Cycle {
        self.until[self.next] = until;
        self.next = (self.next + 1) % N;
        self.until[self.next]
    }
}

/// All banks of a channel.
#[derive(Clone, Debug)]
pub(crate) struct Banks {
    gaps: Gaps,
    banks: Vec<Bank>,
    groups: Vec<Scope>,
    rank: Scope,
    rank_precharge: Cycle,
    rank_refresh: Cycle,
    four: Window<4>,
    thirty_two: Window<32>,
    open: u64,
    /// log2 of the banks per group.
    group_shift: u32,
}

impl Banks {
    pub(crate) fn new(geometry: &Geometry, gaps: Gaps) -> Self {
        assert!(geometry.banks() <= BANKS_MAX, "checked with the geometry");
        Self {
            gaps,
            banks: vec![Bank::default(); geometry.banks() as usize],
            groups: vec![Scope::default(); geometry.bank_groups as usize],
            rank: Scope::default(),
            rank_precharge: 0,
            rank_refresh: 0,
            four: Window::new(),
            thirty_two: Window::new(),
            open: 0,
            group_shift: geometry.banks_per_group.trailing_zeros(),
        }
    }

    /// Open banks, one bit each.
    #[inline]
    pub(crate) fn open(&self) -> u64 {
        self.open
    }

    /// The open row of a bank.
    #[inline]
    pub(crate) fn row(&self, bank: u32) -> Option<u32> {
        (self.open >> bank & 1 != 0).then(|| self.banks[bank as usize].row)
    }

    #[inline]
    pub(crate) fn act_from(&self, bank: u32) -> Cycle {
        self.banks[bank as usize]
            .act
            .max(self.groups[(bank >> self.group_shift) as usize].act)
            .max(self.rank.act)
    }

    #[inline]
    pub(crate) fn read_from(&self, bank: u32) -> Cycle {
        self.banks[bank as usize]
            .read
            .max(self.groups[(bank >> self.group_shift) as usize].read)
            .max(self.rank.read)
    }

    #[inline]
    pub(crate) fn write_from(&self, bank: u32) -> Cycle {
        self.banks[bank as usize]
            .write
            .max(self.groups[(bank >> self.group_shift) as usize].write)
            .max(self.rank.write)
    }

    #[inline]
    pub(crate) fn precharge_from(&self, bank: u32) -> Cycle {
        self.banks[bank as usize].precharge.max(self.rank_precharge)
    }

    /// PREA needs what a PRE of every bank needs (row 24).
    pub(crate) fn precharge_all_from(&self) -> Cycle {
        let banks = self.banks.iter().map(|b| b.precharge).max().unwrap_or(0);
        banks.max(self.rank_precharge)
    }

    #[inline]
    pub(crate) fn refresh_from(&self) -> Cycle {
        self.rank_refresh
    }

    /// Notes a command issued at `t` and raises what it delays.
    pub(crate) fn issue(&mut self, t: Cycle, command: Command) {
        match command {
            Command::Activate { bank, row } => self.activate(t, bank, row),
            Command::Read { bank, .. } => self.read(t, bank),
            Command::Write { bank, .. } => self.write(t, bank),
            Command::Precharge { bank } => {
                self.open &= !(1 << bank);
                raise(
                    &mut self.banks[bank as usize].act,
                    t + self.gaps.of(Rule::PrechargeToAct),
                );
                self.precharged(t);
            }
            Command::PrechargeAll => {
                self.open = 0;
                let act = t + self.gaps.of(Rule::PrechargeToAct);
                for bank in &mut self.banks {
                    raise(&mut bank.act, act);
                }
                self.precharged(t);
            }
            Command::Refresh => {
                raise(&mut self.rank.act, t + self.gaps.of(Rule::RefreshToAct));
                raise(
                    &mut self.rank_refresh,
                    t + self.gaps.of(Rule::RefreshToRefresh),
                );
            }
        }
    }

    fn activate(&mut self, t: Cycle, bank: u32, row: u32) {
        let gaps = &self.gaps;
        let b = &mut self.banks[bank as usize];
        b.row = row;
        // What earlier column commands of the bank delayed is over once its row is another one.
        b.read = t + gaps.of(Rule::ActToRead);
        b.write = t + gaps.of(Rule::ActToWrite);
        b.precharge = t + gaps.of(Rule::ActToPrecharge);
        raise(&mut b.act, t + gaps.of(Rule::ActToActBank));
        let group = &mut self.groups[(bank >> self.group_shift) as usize];
        raise(&mut group.act, t + gaps.of(Rule::ActToActGroup));
        let four = self.four.activate(t + gaps.of(Rule::FourActs));
        let thirty_two = self.thirty_two.activate(t + gaps.of(Rule::ThirtyTwoActs));
        let rank = t + gaps.of(Rule::ActToActRank);
        raise(&mut self.rank.act, rank.max(four).max(thirty_two));
        raise(&mut self.rank_refresh, t + gaps.of(Rule::ActToRefresh));
        self.open |= 1 << bank;
    }

    fn read(&mut self, t: Cycle, bank: u32) {
        let gaps = &self.gaps;
        raise(
            &mut self.banks[bank as usize].precharge,
            t + gaps.of(Rule::ReadToPrecharge),
        );
        let group = &mut self.groups[(bank >> self.group_shift) as usize];
        raise(&mut group.read, t + gaps.of(Rule::ReadToReadGroup));
        let read = gaps
            .of(Rule::ReadToReadRank)
            .max(gaps.of(Rule::DataReadRead));
        let write = gaps.of(Rule::ReadToWrite).max(gaps.of(Rule::DataReadWrite));
        raise(&mut self.rank.read, t + read);
        raise(&mut self.rank.write, t + write);
    }

    fn write(&mut self, t: Cycle, bank: u32) {
        let gaps = &self.gaps;
        raise(
            &mut self.banks[bank as usize].precharge,
            t + gaps.of(Rule::WriteToPrecharge),
        );
        let group = &mut self.groups[(bank >> self.group_shift) as usize];
        raise(&mut group.write, t + gaps.of(Rule::WriteToWriteGroup));
        raise(&mut group.read, t + gaps.of(Rule::WriteToReadGroup));
        let write = gaps
            .of(Rule::WriteToWriteRank)
            .max(gaps.of(Rule::DataWriteWrite));
        raise(&mut self.rank.write, t + write);
        raise(&mut self.rank.read, t + gaps.of(Rule::WriteToReadRank));
    }

    fn precharged(&mut self, t: Cycle) {
        raise(
            &mut self.rank_precharge,
            t + self.gaps.of(Rule::PrechargeToPrecharge),
        );
        raise(
            &mut self.rank_refresh,
            t + self.gaps.of(Rule::PrechargeToRefresh),
        );
    }
}

#[inline]
fn raise(earliest: &mut Cycle, to: Cycle) {
    *earliest = (*earliest).max(to);
}
