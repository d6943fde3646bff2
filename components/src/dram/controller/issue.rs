//! Updates of the controller's state when a command is issued.

use warpweave_framework::{Cycle, Id};

use super::Controller;
use crate::dram::banks::Command;
use crate::dram::banks::Issued;
use crate::dram::command_bus::CommandBus;
use crate::dram::mapping::Location;
use crate::dram::queue::Entry;
use crate::dram::scheduler::{Candidate, WaitingRequest};

impl Controller {
    pub(super) fn issue(&mut self, cycle: Cycle, choice: Candidate) {
        let served = self.order.listens().then(|| self.served(choice)).flatten();
        let command = match choice {
            Candidate::Nothing => return,
            Candidate::Active(id) => {
                let bank = self.entries[id].bank;
                self.active[bank as usize] = None;
                self.active_banks &= !(1 << bank);
                self.access(cycle, id)
            }
            Candidate::Column(id) => {
                self.leave(cycle, id);
                self.access(cycle, id)
            }
            Candidate::Activate(id) => self.activate(cycle, id),
            Candidate::Precharge(id) => {
                let entry = &mut self.entries[id];
                entry.conflicted = true;
                self.turn = entry.bank;
                self.stats.commands.precharges += 1;
                Command::Precharge { bank: entry.bank }
            }
            Candidate::Close(bank) | Candidate::PrechargeForRefresh(bank) => {
                self.stats.commands.precharges += 1;
                Command::Precharge { bank }
            }
            Candidate::PrechargeAll => {
                self.stats.commands.precharges_all += 1;
                Command::PrechargeAll
            }
            Candidate::Refresh => {
                self.stats.commands.refreshes += 1;
                self.refresh_due += self.refresh_interval;
                Command::Refresh
            }
            Candidate::RefreshBank(bank) => {
                self.stats.commands.refreshes_bank += 1;
                self.refresh_due += self.refresh_interval;
                self.refresh_bank = (bank + 1) % self.banks.count();
                Command::RefreshBank { bank }
            }
        };
        self.banks.issue(cycle, command);
        let bus = self.config.command_bus;
        if bus == CommandBus::RowAndColumn {
            self.banks.take_pins(cycle, bus.pins(command) == 1);
        }
        match command {
            Command::Activate { bank, .. } | Command::Precharge { bank } => self.sort_out(bank),
            // With a bank closed its candidates are not looked at.
            _ => {}
        }
        if let Some(request) = served {
            self.order.issued(cycle, command, &request);
        }
        if self.config.column_pairs {
            self.serve_partner(cycle, command);
        }
        let issued = Issued { cycle, command };
        if let Some(judge) = &mut self.judge {
            judge.check(&issued);
        }
        if let Some(log) = &mut self.log {
            log.push(issued);
        }
    }

    /// Returns the request that a command serves, if any.
    fn served(&self, choice: Candidate) -> Option<WaitingRequest> {
        let (Candidate::Active(id)
        | Candidate::Activate(id)
        | Candidate::Precharge(id)
        | Candidate::Column(id)) = choice
        else {
            return None;
        };
        self.entries.get(id).map(WaitingRequest::from)
    }

    fn activate(&mut self, cycle: Cycle, id: Id) -> Command {
        if self.order.has_active_requests() {
            self.leave(cycle, id);
            let bank = self.entries[id].bank;
            self.active[bank as usize] = Some(id);
            self.active_banks |= 1 << bank;
        }
        let entry = &mut self.entries[id];
        entry.activated = true;
        let Entry { bank, row, .. } = *entry;
        self.stats.commands.activates += 1;
        self.columns[bank as usize] = 0;
        self.used[bank as usize] = cycle;
        self.turn = bank;
        Command::Activate { bank, row }
    }

    /// Returns the column command of a request and removes the request, which needs no further
    /// commands.
    fn access(&mut self, cycle: Cycle, id: Id) -> Command {
        let Entry {
            bank,
            row,
            column,
            tag,
            write,
            activated,
            conflicted,
            ..
        } = self
            .entries
            .remove(id)
            .expect("a request is served only once");
        let found = if conflicted {
            &mut self.stats.rows.conflicts
        } else if activated {
            &mut self.stats.rows.misses
        } else {
            &mut self.stats.rows.hits
        };
        *found += 1;
        self.columns[bank as usize] += 1;
        self.used[bank as usize] = cycle;
        self.turn = bank;
        let auto = self.config.page.closes() && self.active_banks >> bank & 1 == 0;
        self.stats.auto_precharges += u64::from(auto);
        if write {
            self.stats.accesses.writes += 1;
            let end = cycle + Cycle::from(self.config.timing.write_data_end());
            self.written_until = Some(end);
        } else {
            self.stats.accesses.reads += 1;
            let end = cycle + Cycle::from(self.config.timing.read_data_end());
            self.returning.push((end, tag));
        }
        Command::column(Location { bank, row, column }, write, auto)
    }

    /// Uses a column command to also serve the oldest access of its kind to a column of the other
    /// parity in that row.
    #[inline(never)]
    fn serve_partner(&mut self, cycle: Cycle, command: Command) {
        let (Command::Read {
            bank, row, column, ..
        }
        | Command::Write {
            bank, row, column, ..
        }) = command
        else {
            return;
        };
        let write = matches!(command, Command::Write { .. });
        let fits = |entry: &Entry| entry.row == row && (entry.column ^ column) & 1 == 1;
        let queue = &self.queues[usize::from(write)];
        let Some(id) = queue.oldest_that(&self.entries, bank, fits) else {
            return;
        };
        let request = WaitingRequest::from(&self.entries[id]);
        self.leave(cycle, id);
        let Entry { tag, .. } = self.entries.remove(id).expect("it waited");
        self.stats.rows.hits += 1;
        self.stats.paired += 1;
        self.columns[bank as usize] += 1;
        if write {
            self.stats.accesses.writes += 1;
        } else {
            self.stats.accesses.reads += 1;
            let end = cycle + Cycle::from(self.config.timing.read_data_end());
            self.returning.push((end, tag));
        }
        if self.order.listens() {
            self.order.issued(cycle, command, &request);
        }
    }

    /// Removes a request from its queue.
    fn leave(&mut self, cycle: Cycle, id: Id) {
        let Entry { bank, write, .. } = self.entries[id];
        let open = self.banks.row(bank);
        let kind = if self.config.bank_queue.is_some() {
            0
        } else {
            if write {
                self.draining.served();
            }
            usize::from(write)
        };
        self.queues[kind].remove(&mut self.entries, id, open);
        self.count(cycle, write, -1);
    }

    /// Recomputes the scheduling candidates of a bank whose open row has changed.
    fn sort_out(&mut self, bank: u32) {
        if let Some(row) = self.banks.row(bank) {
            for queue in &mut self.queues {
                queue.sort_out(&self.entries, bank, row);
            }
        }
    }

    pub(super) fn count(&mut self, cycle: Cycle, write: bool, change: i32) {
        let waiting = &mut self.waiting[usize::from(write)];
        *waiting = waiting.wrapping_add_signed(change);
        let level = if write {
            &mut self.stats.write_queue
        } else {
            &mut self.stats.read_queue
        };
        level.set(cycle, u64::from(*waiting));
    }
}
