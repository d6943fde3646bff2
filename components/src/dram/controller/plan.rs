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
        self.requests.update_draining(&self.config);
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
            let bank = 1 << self.refresh.bank();
            waiting = match self.config.refresh {
                Refresh::PerBank { .. } if self.banks.active_banks() & bank == 0 => {
                    self.next_waiting(bank)
                }
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
        for bank in bits(self.banks.active_banks()) {
            let id = self.banks.active_request(bank);
            let entry = &self.requests.entries[id];
            let from = self.banks.timing.column_from(bank, entry.write);
            best.consider(from, entry.age, Candidate::Active(id));
        }
        best.take()
    }

    #[inline]
    fn next_waiting(&self, barred: u64) -> (Cycle, Candidate) {
        let (banks, requests) = (&self.banks, &self.requests);
        let kind = requests.served(&self.config);
        self.order.next(&View {
            banks: &banks.timing,
            entries: &requests.entries,
            queue: &requests.queues[kind],
            write: kind == 1,
            active: banks.active_banks(),
            barred,
            clock: self.clock,
            columns: &banks.columns,
            turn: banks.turn,
        })
    }

    /// Returns the cycle from which the next refresh blocks new requests, and the next command
    /// towards that refresh.
    #[inline]
    fn next_refresh(&self) -> (Cycle, (Cycle, Candidate)) {
        let never = (Cycle::MAX, (Cycle::MAX, Candidate::Nothing));
        let (timing, active) = (&self.banks.timing, self.banks.active_banks());
        match self.config.refresh {
            Refresh::Off => never,
            Refresh::AllBank { .. } => {
                let due = self.refresh.begins(self.has_work());
                let from = due.max(self.clock);
                if timing.open() == 0 {
                    let legal = timing.refresh_from();
                    (due, (from.max(legal), Candidate::Refresh))
                } else if active == 0 {
                    let legal = timing.precharge_all_from();
                    (due, (from.max(legal), Candidate::PrechargeAll))
                } else {
                    (due, never.1)
                }
            }
            Refresh::PerBank { .. } => {
                let bank = self.refresh.bank();
                let bit = 1 << bank;
                let [first, second] = &self.requests.queues;
                let wanted = (first.banks | second.banks | active) & bit != 0;
                let due = self.refresh.begins(wanted && self.has_work());
                let from = due.max(self.clock);
                if timing.open() & bit == 0 {
                    let legal = timing.refresh_bank_from(bank);
                    (due, (from.max(legal), Candidate::RefreshBank(bank)))
                } else if active & bit == 0 {
                    let legal = timing.precharge_from(bank);
                    (due, (from.max(legal), Candidate::PrechargeForRefresh(bank)))
                } else {
                    (due, never.1)
                }
            }
        }
    }

    /// Returns the next precharge due to the page policy's timeout.
    fn next_expired(&self) -> (Cycle, Candidate) {
        let mut best = BestCommand::new(self.clock);
        for bank in bits(self.banks.timing.open() & !self.banks.active_banks()) {
            let hit = |queue: &Queue| {
                queue.banks >> bank & 1 != 0 && queue.lines[bank as usize].hit.is_some()
            };
            if self.requests.queues.iter().any(hit) {
                continue;
            }
            if let Some(expires) = self.config.page.expires(self.banks.used(bank)) {
                let from = expires.max(self.banks.timing.precharge_from(bank));
                best.consider(from, u64::from(bank), Candidate::Close(bank));
            }
        }
        best.take()
    }
}
