//! Oracle: predicts each launched kernel from its own ratios in a reuse profile.

use std::sync::Arc;

use warpweave_framework::{Environment, SpecError};
use warpweave_trace::LaunchGraph;

use super::rule::{Rate, predicted};
use super::{LaunchPlace, Relation};
use crate::artefact::artefact;
use crate::reuse_profile::{ReuseProfile, WHAT};

/// Reuse profile of a program, with the kernels that each of its records launches.
#[derive(Clone, Debug)]
pub struct Oracle {
    profile: Arc<ReuseProfile>,
    graph: Arc<LaunchGraph>,
}

impl Oracle {
    /// Creates the oracle of a program from its launches and the profile of the environment.
    ///
    /// # Errors
    /// Returns an error at `prediction` if there is no profile, or only one of another trace.
    pub fn of(environment: &Environment, graph: Arc<LaunchGraph>) -> Result<Self, SpecError> {
        let profile = artefact(environment, WHAT).map_err(|error| {
            let message = format!(
                "{}; with `Profile`, set `profile: Compute` in the scenario",
                error.message
            );
            SpecError::at("prediction", message)
        })?;
        Ok(Self { profile, graph })
    }

    /// Returns the relation whose ratio in the profile exceeds the threshold and both other ratios.
    /// The threshold is in percent. Ties give `None`.
    pub(super) fn relation(&self, child: LaunchPlace, percent: u32) -> Option<Relation> {
        let LaunchPlace {
            by,
            wavefront,
            record,
            number,
        } = child;
        let launched = self
            .graph
            .launched(by.kernel, by.work_group, wavefront, record);
        let child = self.profile.child(launched.get(number as usize)?.kernel)?;
        let rate = |relation| Rate {
            part: match relation {
                Relation::ParentChild => child.parent,
                Relation::Sibling => child.sibling,
                Relation::Own => child.own,
            },
            whole: child.accesses,
        };
        predicted(rate, percent)
    }
}
