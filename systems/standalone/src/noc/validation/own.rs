//! Compares a network with a user's own packet lists.

use std::path::Path;

use super::replay::{PacketList, Passages, equal};
use crate::folder::tables_of;
use crate::noc::bench::read_network;
use crate::{Comparison, Own, StandaloneError, Tolerance};

/// Compares a network with every packet list in `folder`. The columns are `create, src, dst, flits`
/// and the results `inject` and `arrive`.
///
/// # Errors
/// Fails if the folder holds no list, a list has no results, or a row or the preset is invalid.
pub fn validate_own(folder: &Path, own: &Own<'_>) -> Result<Comparison, StandaloneError> {
    let mut comparison = Comparison::new();
    let tables = tables_of(folder)?;
    if tables.is_empty() {
        return Err(StandaloneError::Request(format!(
            "no packet list (NAME.csv or NAME.csv.gz) in {}\nhint: see docs/reference-data.md",
            folder.display()
        )));
    }
    for path in tables {
        let list = PacketList::read(&path)?;
        let network = read_network(own.preset, list.shape)?;
        let results: Vec<_> = list.results().collect();
        if results.is_empty() {
            let hint = "write the injection and arrival cycles into columns `inject` and `arrive`";
            return Err(StandaloneError::at(
                &path,
                1,
                "the list has no result",
                hint,
            ));
        }
        for result in results {
            let passages = list.passages(&network, result, own.environment)?;
            let case = format!("{} {}", list.name(), own.preset);
            if passages.is_empty() {
                comparison.leave_out(case, format!("arrive{result}"), "no packet has a result");
                continue;
            }
            let (same, all) = (equal(&passages) as f64, passages.len() as f64);
            let quantity = "packets with equal arrival cycles";
            comparison.add(&case, quantity, same, all, own.one_by_one());
            let mean = |of: fn(&Passages) -> u64| {
                let sum: u128 = passages.iter().map(|p| u128::from(of(p))).sum();
                sum as f64 / all
            };
            let ours = mean(|p| p.ours.arrive.saturating_sub(p.create));
            let theirs = mean(|p| p.theirs.arrive.saturating_sub(p.create));
            let gate = own.tolerance(Tolerance::Exact);
            comparison.add(&case, "mean latency", ours, theirs, gate);
            list.leave_out_the_rest(&case, passages.len(), &mut comparison);
        }
    }
    Ok(comparison)
}
