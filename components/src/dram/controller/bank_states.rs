//! Banks of a channel: their timing, and what requests use them for.

use warpweave_framework::{Cycle, Id, State};

use crate::dram::banks::{Banks, Gaps};
use crate::dram::mapping::Geometry;

/// Banks with their timing, their active requests and the use of their open rows.
#[derive(Clone, State)]
pub(super) struct BankStates {
    #[state(flatten)]
    pub(super) timing: Banks,
    /// Active request of each bank, whose ACT has been issued.
    #[state(array)]
    active: Vec<Option<Id>>,
    active_banks: u64,
    /// Column commands of each bank since its ACT, and the cycle of its last ACT or column command.
    #[state(array)]
    pub(super) columns: Vec<u32>,
    #[state(array)]
    used: Vec<Cycle>,
    /// Bank that received the last scheduled command.
    pub(super) turn: u32,
}

impl BankStates {
    pub(super) fn new(geometry: &Geometry, gaps: &Gaps) -> Self {
        let banks = geometry.banks() as usize;
        Self {
            timing: Banks::new(geometry, gaps),
            active: vec![None; banks],
            active_banks: 0,
            columns: vec![0; banks],
            used: vec![0; banks],
            turn: banks as u32 - 1,
        }
    }

    /// Returns the mask of banks that have an active request.
    #[inline]
    pub(super) fn active_banks(&self) -> u64 {
        self.active_banks
    }

    /// Returns the active request of a bank, if there is one.
    #[inline]
    pub(super) fn active(&self, bank: u32) -> Option<Id> {
        self.active[bank as usize]
    }

    /// Returns the active request of a bank, which must have one.
    #[inline]
    pub(super) fn active_request(&self, bank: u32) -> Id {
        self.active(bank)
            .expect("the bank is one of the active banks")
    }

    /// Makes a request the active one of its bank.
    #[inline]
    pub(super) fn begin_active(&mut self, bank: u32, id: Id) {
        self.active[bank as usize] = Some(id);
        self.active_banks |= 1 << bank;
    }

    /// Ends the active request of a bank.
    #[inline]
    pub(super) fn end_active(&mut self, bank: u32) {
        self.active[bank as usize] = None;
        self.active_banks &= !(1 << bank);
    }

    /// Records an ACT of a bank.
    #[inline]
    pub(super) fn activated(&mut self, bank: u32, cycle: Cycle) {
        self.columns[bank as usize] = 0;
        self.used[bank as usize] = cycle;
        self.turn = bank;
    }

    /// Records a column command of a bank.
    #[inline]
    pub(super) fn accessed(&mut self, bank: u32, cycle: Cycle) {
        self.columns[bank as usize] += 1;
        self.used[bank as usize] = cycle;
        self.turn = bank;
    }

    /// Returns the cycle of the last ACT or column command of a bank.
    pub(super) fn used(&self, bank: u32) -> Cycle {
        self.used[bank as usize]
    }
}
