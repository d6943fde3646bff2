//! Facts published by the units, and their consistency with the description.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_framework::{Facts, PortId, Stated, Unfit};

use super::dispatch_ports::DispatchPorts;
use super::limits::UnitReport;
use super::{PlacementSite, StatedLimits};
use crate::launch::{UnitNumber, WantsFamilyEnds};
use crate::memory::NetworkPort;
use crate::occupancy::UnitFacts;

/// Facts that the scheduler has received from its units.
#[derive(Debug, Default)]
pub(super) struct ReportedLimits {
    /// Limits published by the first unit.
    limits: Option<UnitReport>,
    /// Limits of a unit that differ from the first unit's.
    unlike: Option<UnitReport>,
    /// Network port through which a unit sends its requests; `None` if there are several.
    leaves_by: BTreeMap<u32, Option<(NetworkPort, Stated)>>,
    /// Units that ask for the ends of their work-groups that launch kernels, ascending.
    asking: BTreeSet<u32>,
}

impl ReportedLimits {
    /// Records the facts published at this port.
    pub(super) fn learn(&mut self, port: PortId, facts: &Facts) -> Result<(), Unfit> {
        let unit = port.number.filter(|_| port.name == DispatchPorts::UNITS);
        let Some(unit) = unit else {
            return Ok(());
        };
        if let (Some(&network), Some(stated)) =
            (facts.get::<NetworkPort>(), facts.stated::<NetworkPort>())
        {
            let way = (network, stated);
            self.leaves_by
                .entry(unit)
                .and_modify(|known| {
                    if known.as_ref() != Some(&way) {
                        *known = None;
                    }
                })
                .or_insert(Some(way.clone()));
        }
        if let Some(&facts_of_unit) = facts.get::<UnitFacts>() {
            let said = UnitReport {
                unit,
                facts: facts_of_unit,
                stated: facts.stated::<UnitFacts>(),
            };
            match &self.limits {
                None => self.limits = Some(said),
                Some(first) if first.facts != said.facts => self.unlike = Some(said),
                Some(_) => {}
            }
        }
        if facts.get::<WantsFamilyEnds>().is_some() {
            self.asking.insert(unit);
        }
        match facts.get::<UnitNumber>() {
            Some(&UnitNumber(number)) if u32::from(number) != unit => {
                let stated = facts.stated::<UnitNumber>();
                let path = stated.as_ref().map_or("its unit", Stated::path);
                let message = format!(
                    "the unit at `units[{unit}]` must have number {unit}, but `{path}` specifies {number}"
                );
                Err(Unfit::at("", message).beside("number specified here", stated))
            }
            _ => Ok(()),
        }
    }

    /// Returns the units that ask for the ends of their work-groups that launch kernels.
    pub(super) fn asking(&self) -> Vec<u32> {
        self.asking.iter().copied().collect()
    }

    /// Returns the limits published by all units, if they publish any.
    ///
    /// # Errors
    /// Fails if units publish limits that differ from `stated` or from each other.
    pub(super) fn agree(&self, stated: &StatedLimits) -> Result<Option<UnitFacts>, Unfit> {
        if let Some(said) = &self.limits {
            stated.agree(said)?;
        }
        if let (Some(one), Some(other)) = (&self.limits, &self.unlike) {
            return Err(StatedLimits::unlike(one, other));
        }
        Ok(self.limits.as_ref().map(|said| said.facts))
    }

    /// Returns the place where a unit states the limit of this name, if one publishes its limits.
    pub(super) fn place_of(&self, limit: &str) -> Option<Stated> {
        self.limits.as_ref().and_then(|said| said.place_of(limit))
    }

    /// Fails if the clusters of the description differ from the groups of units that share a
    /// network port.
    pub(super) fn check_clusters(&self, site: PlacementSite) -> Result<(), Unfit> {
        let mut ports: Vec<(u32, &(NetworkPort, Stated))> = Vec::new();
        for (&unit, way) in &self.leaves_by {
            let Some(way) = way else {
                continue;
            };
            let cluster = unit / site.units_per_cluster;
            // Numbers of units ascend, so those of a cluster follow each other.
            let known = ports.iter().find(|(_, known)| *known == way);
            let (port, network) = (way.0.0, way.1.path());
            if let Some((other, _)) = known
                && *other != cluster
            {
                let message = format!(
                    "with {} units per cluster, unit {unit} is in cluster {cluster}, but it shares port up[{port}] of `{network}` with units of cluster {other}",
                    site.units_per_cluster
                );
                let there = "its ports belong to clusters";
                return Err(
                    Unfit::at("units_per_cluster", message).beside(there, Some(way.1.clone()))
                );
            }
            let before = ports.last().filter(|(last, _)| *last == cluster);
            if let Some((_, (other, _))) = before.filter(|(_, known)| *known != way) {
                let message = format!(
                    "with {} units per cluster, unit {unit} is in cluster {cluster}, but its requests use port up[{port}] of `{network}` and those of other units of the cluster use up[{}]",
                    site.units_per_cluster, other.0
                );
                let there = "its ports belong to clusters";
                return Err(
                    Unfit::at("units_per_cluster", message).beside(there, Some(way.1.clone()))
                );
            }
            if known.is_none() {
                ports.push((cluster, way));
            }
        }
        Ok(())
    }
}
