//! Updates of the controller's state when a command is issued.

use warpweave_framework::{Cycle, Id};

use super::Controller;
use super::request_queues::RequestQueues;
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
                let bank = self.requests.entries[id].bank;
                self.banks.end_active(bank);
                self.access(cycle, id)
            }
            Candidate::Column(id) => {
                self.leave(cycle, id);
                self.access(cycle, id)
            }
            Candidate::Activate(id) => self.activate(cycle, id),
            Candidate::Precharge(id) => {
                let entry = &mut self.requests.entries[id];
                entry.conflicted = true;
                self.banks.turn = entry.bank;
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
                self.refresh.refreshed();
                Command::Refresh
            }
            Candidate::RefreshBank(bank) => {
                self.stats.commands.refreshes_bank += 1;
                self.refresh.refreshed_bank(self.banks.timing.count());
                Command::RefreshBank { bank }
            }
        };
        self.banks.timing.issue(cycle, command);
        let bus = self.config.command_bus;
        if bus == CommandBus::RowAndColumn {
            self.banks.timing.take_pins(cycle, bus.pins(command) == 1);
        }
        match command {
            Command::Activate { bank, .. } | Command::Precharge { bank } => {
                self.requests.sort_out(bank, &self.banks.timing);
            }
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
        self.requests.entries.get(id).map(WaitingRequest::from)
    }

    fn activate(&mut self, cycle: Cycle, id: Id) -> Command {
        if self.order.has_active_requests() {
            self.leave(cycle, id);
            let bank = self.requests.entries[id].bank;
            self.banks.begin_active(bank, id);
        }
        let entry = &mut self.requests.entries[id];
        entry.activated = true;
        let Entry { bank, row, .. } = *entry;
        self.stats.commands.activates += 1;
        self.banks.activated(bank, cycle);
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
            .requests
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
        self.banks.accessed(bank, cycle);
        let auto = self.config.page.closes() && self.banks.active_banks() >> bank & 1 == 0;
        self.stats.auto_precharges += u64::from(auto);
        if write {
            self.stats.accesses.writes += 1;
            let end = cycle + Cycle::from(self.config.timing.write_data_end());
            self.data.write(end);
        } else {
            self.stats.accesses.reads += 1;
            let end = cycle + Cycle::from(self.config.timing.read_data_end());
            self.data.read(end, tag);
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
        let RequestQueues {
            queues, entries, ..
        } = &self.requests;
        let queue = &queues[usize::from(write)];
        let Some(id) = queue.oldest_that(entries, bank, fits) else {
            return;
        };
        let request = WaitingRequest::from(&entries[id]);
        self.leave(cycle, id);
        let entry = self.requests.entries.remove(id);
        let Entry { tag, .. } = entry.expect("it waited");
        self.stats.rows.hits += 1;
        self.stats.paired += 1;
        self.banks.columns[bank as usize] += 1;
        if write {
            self.stats.accesses.writes += 1;
        } else {
            self.stats.accesses.reads += 1;
            let end = cycle + Cycle::from(self.config.timing.read_data_end());
            self.data.read(end, tag);
        }
        if self.order.listens() {
            self.order.issued(cycle, command, &request);
        }
    }

    /// Removes a request from its queue.
    fn leave(&mut self, cycle: Cycle, id: Id) {
        let write = self.requests.leave(&self.config, id, &self.banks.timing);
        self.count(cycle, write, -1);
    }

    /// Changes the number of waiting requests of a kind, also in the statistics.
    pub(super) fn count(&mut self, cycle: Cycle, write: bool, change: i32) {
        let waiting = self.requests.count(write, change);
        let level = if write {
            &mut self.stats.write_queue
        } else {
            &mut self.stats.read_queue
        };
        level.set(cycle, u64::from(waiting));
    }
}
