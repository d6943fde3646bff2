//! CSV tables of requests, commands and served requests.

use std::path::Path;

use serde::{Deserialize, Serialize};
use warpweave_components::dram::{Command, Geometry, Issued, Location, Request};
use warpweave_files::Ledger;

use super::presets::Setup;
use crate::table::shown;
use crate::{CYCLE_MAX, RowProblem, StandaloneError, Table};

/// Row of a request trace. It gives a location (`bg`, `ba`, `row`, `col`, and `channel` if there
/// are several) or a byte `address`, which the mapping decodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRow {
    /// First cycle in which the request is offered.
    pub arrival: u64,
    /// Request type: `R` for a read, `W` for a write.
    pub rw: char,
    /// Channel index, if the row gives a location.
    #[serde(default)]
    pub channel: Option<u32>,
    /// Bank group index, if the row gives a location.
    #[serde(default)]
    pub bg: Option<u32>,
    /// Bank index within its group, if the row gives a location.
    #[serde(default)]
    pub ba: Option<u32>,
    /// Row index within the bank, if the row gives a location.
    #[serde(default)]
    pub row: Option<u32>,
    /// Burst index within the row, if the row gives a location.
    #[serde(default)]
    pub col: Option<u32>,
    /// Byte address in decimal, if the row gives no location.
    #[serde(default)]
    pub address: Option<u64>,
}

/// Row of a command trace. Fields that do not apply are empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRow {
    /// Cycle in which the command is on the command bus.
    pub cycle: u64,
    /// Command name: ACT, PRE, PREA, RD, WR, RDA, WRA, REF or REFpb.
    pub cmd: String,
    /// Bank group index; empty if the command has none.
    pub bg: Option<u32>,
    /// Bank index within its group; empty if the command has none.
    pub ba: Option<u32>,
    /// Row index within the bank; empty if the command has none.
    pub row: Option<u32>,
    /// Burst index within the row; empty if the command has none.
    pub col: Option<u32>,
}

/// Row of the result table: acceptance and completion of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedRow {
    /// Index of the request in the trace, counted from 0.
    pub idx: u64,
    /// Cycle in which the controller accepted the request.
    pub accept: u64,
    /// Cycle after the last data beat of a read, -1 for writes.
    pub done: i64,
}

/// Request with its arrival cycle and decoded location.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) cycle: u64,
    pub(super) channel: usize,
    pub(super) request: Request,
}

/// All requests of a trace, each with its decoded location.
#[derive(Debug)]
pub(super) struct Arrivals {
    pub(super) requests: Vec<Arrival>,
    pub(super) beyond: Option<BeyondDevice>,
}

/// Requests with addresses past the last byte of the device, which wrap around.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BeyondDevice {
    /// Number of requests past the end of the device.
    pub requests: u64,
    /// Index of the first such request, counted from 0.
    pub first: usize,
    /// Size of the device in bytes.
    pub device_bytes: u128,
}

/// Reads a request trace.
///
/// # Errors
/// Returns an error with file and line if a row is not a request, or if there are none.
pub fn read_requests(path: &Path) -> Result<Table<RequestRow>, StandaloneError> {
    read_requests_within(path, &Ledger::default())
}

/// Reads a request trace like [`read_requests`] and charges the rows to `ledger`.
///
/// # Errors
/// Fails like [`read_requests`], and if the rows exceed the memory budget.
pub fn read_requests_within(
    path: &Path,
    ledger: &Ledger,
) -> Result<Table<RequestRow>, StandaloneError> {
    Table::read_within(path, ledger)?.not_empty()
}

/// Decodes the location of every request.
pub(super) fn arrivals(rows: &[RequestRow], setup: &Setup) -> Result<Arrivals, RowProblem> {
    let mut requests: Vec<Arrival> = Vec::with_capacity(rows.len());
    let mut beyond: Option<BeyondDevice> = None;
    for (tag, row) in rows.iter().enumerate() {
        let problem = |column: &'static str, problem: String, hint: &str| RowProblem {
            row: tag,
            column,
            problem,
            hint: hint.to_owned(),
        };
        let write = match row.rw {
            'R' => false,
            'W' => true,
            other => {
                let other = other.escape_debug();
                let what = format!("`{other}` is neither R nor W");
                return Err(problem("rw", what, "write R for a read, W for a write"));
            }
        };
        let earlier = requests.last().map_or(0, |a: &Arrival| a.cycle);
        check_order(row.arrival, earlier).map_err(|(what, hint)| problem("arrival", what, hint))?;
        let (access, channel, location) = match row.address.filter(|_| !has_place(row)) {
            None => place(row, setup).map_err(|(what, hint)| problem("bg", what, &hint))?,
            Some(address) => {
                let access = address / u64::from(setup.spec.access_bytes());
                if setup.mapping.wraps(access) {
                    let first = BeyondDevice {
                        requests: 0,
                        first: tag,
                        device_bytes: device_bytes(setup),
                    };
                    beyond.get_or_insert(first).requests += 1;
                }
                let access = setup.mapping.wrapped(access);
                let (channel, location) = setup.mapping.locate(access);
                (access, channel, location)
            }
        };
        requests.push(Arrival {
            cycle: row.arrival,
            channel: channel as usize,
            request: Request {
                access,
                location,
                write,
                tag: tag as u32,
            },
        });
    }
    Ok(Arrivals { requests, beyond })
}

/// Rejects a cycle above the maximum or before that of the previous row.
fn check_order(arrival: u64, earlier: u64) -> Result<(), (String, &'static str)> {
    if arrival > CYCLE_MAX {
        let what = format!("cycle {arrival} is beyond {CYCLE_MAX}");
        return Err((what, "count cycles from the first request"));
    }
    if arrival < earlier {
        let what = format!("cycle {arrival} follows the later cycle {earlier} in the row above");
        return Err((what, "sort the requests by cycle"));
    }
    Ok(())
}

fn device_bytes(setup: &Setup) -> u128 {
    let geometry = setup.spec.geometry;
    let sizes = [
        geometry.banks(),
        geometry.rows,
        geometry.columns,
        setup.spec.channels,
        setup.spec.access_bytes(),
    ];
    sizes.into_iter().map(u128::from).product()
}

fn has_place(row: &RequestRow) -> bool {
    [row.channel, row.bg, row.ba, row.row, row.col]
        .iter()
        .any(Option::is_some)
}

/// Returns the access, channel and location given by a row's coordinates. On error, returns the
/// problem and a hint.
fn place(row: &RequestRow, setup: &Setup) -> Result<(u64, u32, Location), (String, String)> {
    let (Some(group), Some(bank), Some(at), Some(column), None) =
        (row.bg, row.ba, row.row, row.col, row.address)
    else {
        let what = "a request needs either bg, ba, row and col, or address";
        let hint = "fill the columns of one form and leave those of the other empty";
        return Err((what.to_owned(), hint.to_owned()));
    };
    let geometry = setup.spec.geometry;
    let channels = setup.spec.channels;
    let channel = match row.channel {
        Some(channel) if channel < channels => channel,
        Some(channel) => {
            let what = format!("channel {channel} is not among the {channels} channels");
            return Err((what, "channels are counted from 0".to_owned()));
        }
        None if channels == 1 => 0,
        None => {
            let what = format!("coordinates do not select one of the {channels} channels");
            let hint = "add a column `channel`, or give addresses";
            return Err((what, hint.to_owned()));
        }
    };
    let fits = group < geometry.bank_groups
        && bank < geometry.banks_per_group
        && at < geometry.rows
        && column < geometry.columns;
    if !fits {
        let what = format!(
            "bank {bank} of group {group}, row {at}, column {column} is outside the geometry"
        );
        let hint = format!(
            "there are {} groups of {} banks, {} rows, {} columns, all counted from 0",
            geometry.bank_groups, geometry.banks_per_group, geometry.rows, geometry.columns
        );
        return Err((what, hint));
    }
    let bank = group * geometry.banks_per_group + bank;
    // A number for each place: columns, banks and rows together are less than 64 bits.
    let banks = u64::from(at) * u64::from(geometry.banks()) + u64::from(bank);
    let access = banks * u64::from(geometry.columns) + u64::from(column);
    let row = at;
    Ok((access, channel, Location { bank, row, column }))
}

impl CommandRow {
    /// Converts an issued command to a table row.
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

    /// Converts the row to a command of this geometry.
    ///
    /// # Errors
    /// Returns an error if a bank, row or column needed by the command is missing.
    pub fn issued(&self, geometry: &Geometry) -> Result<Issued, String> {
        let missing = |name: &str| format!("{} needs {name}", self.cmd);
        let bank = || match (self.bg, self.ba) {
            (Some(group), Some(bank))
                if group < geometry.bank_groups && bank < geometry.banks_per_group =>
            {
                Ok(group * geometry.banks_per_group + bank)
            }
            _ => Err(missing("a bank group and a bank of the geometry")),
        };
        let of = |value: Option<u32>, size: u32, name: &str| {
            value
                .filter(|value| *value < size)
                .ok_or_else(|| missing(name))
        };
        let row = || of(self.row, geometry.rows, "a row of the geometry");
        let column = || of(self.col, geometry.columns, "a column of the geometry");
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
            other => return Err(format!("{} is not a command", shown(other))),
        };
        Ok(Issued {
            cycle: self.cycle,
            command,
        })
    }
}

/// Reads a command trace for a given geometry.
///
/// # Errors
/// Returns an error with file and line if a row is not a command or is out of order, or if there
/// are none.
pub fn read_commands(path: &Path, geometry: &Geometry) -> Result<Vec<Issued>, StandaloneError> {
    let table = Table::<CommandRow>::read(path)?.not_empty()?;
    let mut list: Vec<Issued> = Vec::with_capacity(table.rows.len());
    for (number, row) in table.rows.iter().enumerate() {
        let wrong = |column, problem, hint: &str| {
            table.wrong(&RowProblem {
                row: number,
                column,
                problem,
                hint: hint.to_owned(),
            })
        };
        let earlier = list.last().map_or(0, |issued| issued.cycle);
        check_order(row.cycle, earlier)
            .map_err(|(problem, _)| wrong("cycle", problem, "sort the commands by cycle"))?;
        let commands = "commands are ACT, PRE, PREA, RD, WR, RDA, WRA, REF and REFpb";
        let issued = row.issued(geometry);
        list.push(issued.map_err(|problem| wrong("cmd", problem, commands))?);
    }
    Ok(list)
}
