//! Selection of the next command and its cycle.

use warpweave_framework::Cycle;

use super::Controller;
use crate::dram::page::Page;
use crate::dram::queue::Queue;
use crate::dram::refresh::Refresh;
use crate::dram::scheduler::{BestCommand, Candidate, View, bits};

impl Controller {
    /// Returns the next command and its cycle (not before `clock`), assuming that no request is
    /// offered until then.
    #[inline]
    pub(super) fn plan(&mut self) -> (Cycle, Candidate) {
        if let Some(planned) = self.planned {
            return planned;
        }
        let planned = self.find();
        self.planned = Some(planned);
        planned
    }

    fn find(&mut self) -> (Cycle, Candidate) {
        self.update_draining();
        let mut best = self.oldest_active();
        if best.0 <= self.clock {
            return best;
        }
        let (due, refresh) = self.next_refresh();
        if refresh.0 < best.0 {
            best = refresh;
        }
        let mut waiting = self.next_waiting(0);
        if waiting.0 >= due {
            // From `due` on, no new request is started in the bank of the refresh, or in any bank
            // while that bank has an active request. Otherwise turnarounds could delay the refresh
            // indefinitely.
            let bank = 1 << self.refresh_bank;
            waiting = match self.config.refresh {
                Refresh::PerBank { .. } if self.active_banks & bank == 0 => self.next_waiting(bank),
                _ => (Cycle::MAX, Candidate::Nothing),
            };
        }
        if waiting.0 < best.0 {
            best = waiting;
        }
        if let Page::Timeout { .. } = self.config.page {
            let expired = self.next_expired();
            if expired.0 < best.0 {
                best = expired;
            }
        }
        best
    }

    #[inline]
    fn oldest_active(&self) -> (Cycle, Candidate) {
        let mut best = BestCommand::new(self.clock);
        for bank in bits(self.active_banks) {
            let id = self.active_request(bank);
            let entry = &self.entries[id];
            let from = self.banks.column_from(bank, entry.write);
            best.consider(from, entry.age, Candidate::Active(id));
        }
        best.take()
    }

    #[inline]
    fn next_waiting(&self, barred: u64) -> (Cycle, Candidate) {
        let kind = if self.config.bank_queue.is_some() {
            0
        } else {
            usize::from(self.draining.on())
        };
        self.order.next(&View {
            banks: &self.banks,
            entries: &self.entries,
            queue: &self.queues[kind],
            write: kind == 1,
            active: self.active_banks,
            barred,
            clock: self.clock,
            columns: &self.columns,
            turn: self.turn,
        })
    }

    /// Returns the cycle from which the next refresh blocks new requests, and the next command
    /// towards that refresh.
    #[inline]
    fn next_refresh(&self) -> (Cycle, (Cycle, Candidate)) {
        let never = (Cycle::MAX, (Cycle::MAX, Candidate::Nothing));
        match self.config.refresh {
            Refresh::Off => never,
            Refresh::AllBank { .. } => {
                let due = self.refresh_from(self.has_work());
                let from = due.max(self.clock);
                if self.banks.open() == 0 {
                    let legal = self.banks.refresh_from();
                    (due, (from.max(legal), Candidate::Refresh))
                } else if self.active_banks == 0 {
                    let legal = self.banks.precharge_all_from();
                    (due, (from.max(legal), Candidate::PrechargeAll))
                } else {
                    (due, never.1)
                }
            }
            Refresh::PerBank { .. } => {
                let bank = self.refresh_bank;
                let bit = 1 << bank;
                let banks = self.queues[0].banks | self.queues[1].banks | self.active_banks;
                let due = self.refresh_from(banks & bit != 0 && self.has_work());
                let from = due.max(self.clock);
                if self.banks.open() & bit == 0 {
                    let legal = self.banks.refresh_bank_from(bank);
                    (due, (from.max(legal), Candidate::RefreshBank(bank)))
                } else if self.active_banks & bit == 0 {
                    let legal = self.banks.precharge_from(bank);
                    (due, (from.max(legal), Candidate::PrechargeForRefresh(bank)))
                } else {
                    (due, never.1)
                }
            }
        }
    }

    /// Returns the cycle in which the next refresh begins. It is postponed while requests are
    /// waiting for the banks it closes.
    #[inline]
    fn refresh_from(&self, wanted: bool) -> Cycle {
        if wanted {
            self.refresh_due + self.refresh_slack
        } else {
            self.refresh_due
        }
    }

    /// Returns the next precharge due to the page policy's timeout.
    fn next_expired(&self) -> (Cycle, Candidate) {
        let mut best = BestCommand::new(self.clock);
        for bank in bits(self.banks.open() & !self.active_banks) {
            let hit = |queue: &Queue| {
                queue.banks >> bank & 1 != 0 && queue.lines[bank as usize].hit.is_some()
            };
            if self.queues.iter().any(hit) {
                continue;
            }
            if let Some(expires) = self.config.page.expires(self.used[bank as usize]) {
                let from = expires.max(self.banks.precharge_from(bank));
                best.consider(from, u64::from(bank), Candidate::Close(bank));
            }
        }
        best.take()
    }
}
