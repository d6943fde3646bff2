//! The tables: requests, commands, and what became of each request.

use std::path::Path;

use serde::{Deserialize, Serialize};
use warpweave_components::dram::{Command, Issued, Location, Request};
use warpweave_files::Ledger;

use super::presets::Setup;
use crate::{StandaloneError, read_rows, read_rows_within};

/// A line of a request trace: either a place (`bg`, `ba`, `row`, `col`) or a byte `address`, which
/// goes where the mapping says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRow {
    /// Cycle from which on the request is offered.
    pub arrival: u64,
    /// `R` or `W`.
    pub rw: char,
    /// Bank group.
    #[serde(default)]
    pub bg: Option<u32>,
    /// Bank in its group.
    #[serde(default)]
    pub ba: Option<u32>,
    /// Row of the bank.
    #[serde(default)]
    pub row: Option<u32>,
    /// Burst of the row.
    #[serde(default)]
    pub col: Option<u32>,
    /// Byte address, in decimal.
    #[serde(default)]
    pub address: Option<u64>,
}

/// A line of a command trace; fields that do not apply are empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRow {
    /// Cycle of the command bus.
    pub cycle: u64,
    /// ACT, PRE, PREA, RD, WR, RDA, WRA, REF or REFpb.
    pub cmd: String,
    /// Bank group.
    pub bg: Option<u32>,
    /// Bank in its group.
    pub ba: Option<u32>,
    /// Row of the bank.
    pub row: Option<u32>,
    /// Burst of the row.
    pub col: Option<u32>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedRow {
    /// Line of the trace, counted from 0.
    pub idx: u64,
    /// Cycle of acceptance.
    pub accept: u64,
    /// Cycle after the last data beat of a read, -1 for writes.
    pub done: i64,
}

/// A request and when and where it is offered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) cycle: u64,
    pub(super) channel: usize,
    pub(super) request: Request,
}

/// Reads a request trace.
///
/// # Errors
/// File and line of what is not a request; rows that take more memory than `ledger` may be charged.
pub fn read_requests(path: &Path, ledger: &Ledger) -> Result<Vec<RequestRow>, StandaloneError> {
    read_rows_within(path, ledger)
}

/// Finds the place of every request.
pub(super) fn arrivals(rows: &[RequestRow], setup: &Setup) -> Result<Vec<Arrival>, String> {
    let geometry = setup.spec.geometry;
    let place = |(tag, row): (usize, &RequestRow)| {
        // The header is line 1.
        let bad = |what: String| format!("line {}: {what}", tag + 2);
        let write = match row.rw {
            'R' => false,
            'W' => true,
            other => return Err(bad(format!("`{other}` is neither R nor W"))),
        };
        let (access, channel, location) = match (row.bg, row.ba, row.row, row.col, row.address) {
            (Some(group), Some(bank), Some(row), Some(column), None) => {
                let fits = group < geometry.bank_groups
                    && bank < geometry.banks_per_group
                    && row < geometry.rows
                    && column < geometry.columns;
                if !fits {
                    return Err(bad(format!(
                        "bank {bank} of group {group}, row {row}, column {column} lies beyond the \
                         geometry"
                    )));
                }
                let bank = group * geometry.banks_per_group + bank;
                let access = u64::from(row) << 32 | u64::from(bank) << 24 | u64::from(column);
                (access, 0, Location { bank, row, column })
            }
            (None, None, None, None, Some(address)) => {
                let access = address / u64::from(setup.spec.access_bytes());
                let access = setup.mapping.wrapped(access);
                let channel = setup.mapping.channel(access) as usize;
                (access, channel, setup.mapping.locate(access))
            }
            _ => {
                let columns = "either bg, ba, row and col, or address";
                return Err(bad(format!("a request needs {columns}")));
            }
        };
        Ok(Arrival {
            cycle: row.arrival,
            channel,
            request: Request {
                access,
                location,
                write,
                tag: tag as u32,
            },
        })
    };
    rows.iter().enumerate().map(place).collect()
}

impl CommandRow {
    /// The line of a command.
    pub fn of(issued: &Issued, banks_per_group: u32) -> Self {
        let bank = issued.command.bank();
        let (row, col) = match issued.command {
            Command::Activate { row, .. } => (Some(row), None),
            Command::Read { row, column, .. } | Command::Write { row, column, .. } => {
                (Some(row), Some(column))
            }
            _ => (None, None),
        };
        Self {
            cycle: issued.cycle,
            cmd: issued.command.name().to_owned(),
            bg: bank.map(|bank| bank / banks_per_group),
            ba: bank.map(|bank| bank % banks_per_group),
            row,
            col,
        }
    }

    /// The command of a line, if it is one of this geometry.
    ///
    /// # Errors
    /// What the line lacks: a bank, row or column that its command needs.
    pub fn issued(&self, bank_groups: u32, banks_per_group: u32) -> Result<Issued, String> {
        let missing = |name: &str| format!("{} needs {name}", self.cmd);
        let bank = || match (self.bg, self.ba) {
            (Some(group), Some(bank)) if group < bank_groups && bank < banks_per_group => {
                Ok(group * banks_per_group + bank)
            }
            _ => Err(missing("a bank group and a bank of the geometry")),
        };
        let row = || self.row.ok_or_else(|| missing("a row"));
        let column = || self.col.ok_or_else(|| missing("a column"));
        let command = match self.cmd.as_str() {
            "ACT" => Command::Activate {
                bank: bank()?,
                row: row()?,
            },
            "RD" | "RDA" => Command::Read {
                bank: bank()?,
                row: row()?,
                column: column()?,
                auto: self.cmd == "RDA",
            },
            "WR" | "WRA" => Command::Write {
                bank: bank()?,
                row: row()?,
                column: column()?,
                auto: self.cmd == "WRA",
            },
            "PRE" => Command::Precharge { bank: bank()? },
            "PREA" => Command::PrechargeAll,
            "REF" => Command::Refresh,
            "REFpb" => Command::RefreshBank { bank: bank()? },
            other => return Err(format!("`{other}` is no command")),
        };
        Ok(Issued {
            cycle: self.cycle,
            command,
        })
    }
}

/// Reads a command trace of a geometry.
///
/// # Errors
/// File and line of what is not a command.
pub fn read_commands(
    path: &Path,
    bank_groups: u32,
    banks_per_group: u32,
) -> Result<Vec<Issued>, StandaloneError> {
    let rows: Vec<CommandRow> = read_rows(path)?;
    let read = |(i, row): (usize, &CommandRow)| {
        let issued = row.issued(bank_groups, banks_per_group);
        issued.map_err(|problem| StandaloneError::Line {
            path: path.to_owned(),
            line: i as u64 + 2,
            problem,
        })
    };
    rows.iter().enumerate().map(read).collect()
}
