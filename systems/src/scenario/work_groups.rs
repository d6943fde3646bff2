//! Table of work-groups that a scenario provides to policies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use warpweave_components::work_group_table::{UnitOrders, WorkGroupTable};
use warpweave_params::{Diagnostic, Diagnostics, Files, Kind, Node, Placed, from_named};

use super::files::read_named;

/// Table of a file, with its path.
pub(crate) struct WorkGroups {
    pub(super) path: PathBuf,
    pub(crate) table: WorkGroupTable,
}

#[derive(Deserialize)]
#[serde(rename = "WorkGroups", deny_unknown_fields)]
struct File {
    #[serde(default, rename = "summary")]
    _summary: Option<String>,
    tables: Vec<Table>,
}

#[derive(Deserialize)]
#[serde(rename = "a table of work-groups", deny_unknown_fields)]
struct Table {
    /// Numbers of the launches in the program.
    launches: Vec<Placed<u32>>,
    /// Work-groups of each unit in order.
    units: Placed<Vec<Vec<Placed<u32>>>>,
}

impl WorkGroups {
    /// Reads the file whose path, relative to `folder`, is the node's text.
    pub(super) fn read(node: &Node, folder: &Path, files: &Files) -> Result<Self, Diagnostics> {
        let Kind::Text(text) = &node.kind else {
            let found = node.describe();
            let message =
                format!("`work_groups` must be the path of a table of work-groups, found {found}");
            return Err(Diagnostic::error(message).at(&node.head_span()).into());
        };
        let path = folder.join(text);
        let named = Placed::at(PathBuf::from(text), &node.span);
        let tree = read_named(&path, &named, &["WorkGroups"], files)?;
        let File { tables, .. } = from_named(&tree, "WorkGroups")?;
        let mut table = WorkGroupTable::default();
        let mut problems = Diagnostics::default();
        for Table { launches, units } in tables {
            let Some(orders) = problems.take(orders(&units)) else {
                continue;
            };
            let orders = Arc::new(orders);
            for launch in launches {
                let known = table.launches.insert(launch.value, Arc::clone(&orders));
                if known.is_some() {
                    let message = format!("launch {} has two tables", launch.value);
                    problems.push(launch.error(message));
                }
            }
        }
        problems.into_result(Self { path, table })
    }
}

/// Checks that every work-group from 0 on occurs once.
fn orders(units: &Placed<Vec<Vec<Placed<u32>>>>) -> Result<UnitOrders, Diagnostics> {
    let count: usize = units.value.iter().map(Vec::len).sum();
    let mut first: BTreeMap<u32, &Placed<u32>> = BTreeMap::new();
    for work_group in units.value.iter().flatten() {
        let number = work_group.value;
        if number as usize >= count {
            let message = format!(
                "the table has {count} work-groups, so their numbers are 0 to {}, found {number}",
                count - 1
            );
            return Err(work_group.error(message).into());
        }
        if first.insert(number, work_group).is_some() {
            let message = format!("work-group {number} occurs twice, expected once");
            return Err(work_group.error(message).into());
        }
    }
    let plain = |unit: &Vec<Placed<u32>>| unit.iter().map(|placed| placed.value).collect();
    Ok(units.value.iter().map(plain).collect())
}
