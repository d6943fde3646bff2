//! Packet lists with the expected result of every packet.

use std::collections::BTreeMap;
use std::path::Path;

use warpweave_framework::Environment;

use super::wrong;
use crate::folder::name_of;
use crate::noc::bench::{DescribedNetwork, check_packets, read_network, shape_of};
use crate::noc::drive::{Packet, Passage, Shape};
use crate::table::shown;
use crate::{Comparison, StandaloneError, Table, Tolerance};

/// Packet list: the columns of the table, one entry per packet.
pub(super) struct PacketList {
    name: String,
    table: Table<BTreeMap<String, Option<u64>>>,
    packets: Vec<Packet>,
    pub(super) shape: Shape,
}

impl PacketList {
    /// Reads `create, src, dst, flits` and any results. A name such as `replay_12x8_…` gives the
    /// ports; otherwise the packets do.
    pub(super) fn read(path: &Path) -> Result<Self, StandaloneError> {
        let table: Table<BTreeMap<String, Option<u64>>> = Table::read(path)?.not_empty()?;
        let name = name_of(path);
        for column in ["create", "src", "dst", "flits"] {
            if !table.has(column) {
                let problem = format!("no column `{column}`");
                let hint = "a packet list needs the columns create, src, dst and flits";
                return Err(StandaloneError::at(path, 1, problem, hint));
            }
        }
        let mut packets = Vec::with_capacity(table.rows.len());
        for (number, row) in table.rows.iter().enumerate() {
            let of = |column: &'static str| {
                let value = row.get(column).copied().flatten();
                value.ok_or_else(|| wrong(&table, number, column, "expected a number".into()))
            };
            let flits = u32::try_from(of("flits")?).unwrap_or(u32::MAX);
            let port = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
            packets.push(Packet {
                create: of("create")?,
                src: port(of("src")?),
                dst: port(of("dst")?),
                flits,
            });
        }
        check_packets(&packets).map_err(|problem| table.wrong(&problem))?;
        let named = shape_of_name(&name);
        let shape = shape_of(&packets, named.map(|s| s.inputs), named.map(|s| s.outputs))?;
        Ok(Self {
            name,
            table,
            packets,
            shape,
        })
    }

    /// Lists the configurations with results: the suffixes of the columns `inject` and `arrive`.
    pub(super) fn results(&self) -> impl Iterator<Item = &str> {
        let columns = self.table.columns.iter();
        columns.filter_map(|column| column.strip_prefix("arrive"))
    }

    /// Drives the packets through a network. Returns our result and the reference's for each packet
    /// that has one.
    pub(super) fn passages(
        &self,
        network: &DescribedNetwork,
        result: &str,
        environment: &Environment,
    ) -> Result<Vec<Passages>, StandaloneError> {
        let run = network.drive(self.shape, &self.packets, environment)?;
        let (inject, arrive) = (format!("inject{result}"), format!("arrive{result}"));
        let of = |row: &BTreeMap<String, Option<u64>>, column: &str| row.get(column).copied()?;
        let rows = self.table.rows.iter().zip(&self.packets);
        let pairs = rows.zip(&run.passages).filter_map(|((row, packet), ours)| {
            Some(Passages {
                create: packet.create,
                ours: (*ours)?,
                theirs: Passage {
                    inject: of(row, &inject)?,
                    arrive: of(row, &arrive)?,
                },
            })
        });
        Ok(pairs.collect())
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Notes packets that have no result in this configuration.
    pub(super) fn leave_out_the_rest(
        &self,
        case: &str,
        compared: usize,
        comparison: &mut Comparison,
    ) {
        let rest = self.packets.len() - compared;
        if rest > 0 {
            let why = "the list was cut before they arrived; they only add load";
            comparison.leave_out(case, format!("{rest} packets"), why);
        }
    }
}

/// Entry and exit cycles of a packet, in our run and in the reference.
pub(super) struct Passages {
    pub(super) create: u64,
    pub(super) ours: Passage,
    pub(super) theirs: Passage,
}

/// Counts the packets with equal cycles in both.
pub(super) fn equal(passages: &[Passages]) -> usize {
    passages.iter().filter(|p| p.ours == p.theirs).count()
}

/// Parses inputs and outputs from a name such as `replay_12x8_uniform_…`.
fn shape_of_name(name: &str) -> Option<Shape> {
    let (inputs, outputs) = name.split('_').nth(1)?.split_once('x')?;
    Some(Shape {
        inputs: inputs.parse().ok()?,
        outputs: outputs.parse().ok()?,
    })
}

/// Replays every packet of a list in each configuration with results. A packet without a result
/// (near the end of a truncated list) only adds traffic.
pub(super) fn replay(path: &Path, comparison: &mut Comparison) -> Result<(), StandaloneError> {
    let list = PacketList::read(path)?;
    if shape_of_name(list.name()).is_none() {
        return Err(StandaloneError::Request(format!(
            "{} does not state its ports, as in replay_12x8_…",
            shown(list.name())
        )));
    }
    for result in list.results() {
        let Some(config) = result.strip_prefix('_') else {
            let why = "the column does not name a configuration";
            comparison.leave_out(list.name(), format!("arrive{result}"), why);
            continue;
        };
        let network = read_network(config, list.shape)?;
        let passages = list.passages(&network, result, &Environment::default())?;
        let case = format!("{} {config}", list.name());
        comparison.add(
            &case,
            "packets with equal arrival cycles",
            equal(&passages) as f64,
            passages.len() as f64,
            Tolerance::Exact,
        );
        list.leave_out_the_rest(&case, passages.len(), comparison);
    }
    Ok(())
}
