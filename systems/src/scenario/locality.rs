//! Locality plan that a scenario provides to policies.

use std::path::{Path, PathBuf};

use warpweave_components::artefact::Artefacts;
use warpweave_components::locality_plan::LocalityPlan;
use warpweave_files::{ChunkedError, Ledger};
use warpweave_params::{Diagnostic, Diagnostics, Kind, Node, Placed};
use warpweave_trace::ContentHash;

use crate::locality;

/// Locality plan for policies, read from a file.
pub(crate) struct Locality {
    path: PathBuf,
    /// Hash of the trace that the plan belongs to.
    trace: ContentHash,
    plan: LocalityPlan,
}

impl Locality {
    /// Reads the plan in the file with this path, relative to `folder`.
    pub(super) fn read(node: &Node, folder: &Path, ledger: &Ledger) -> Result<Self, Diagnostics> {
        let Kind::Text(text) = &node.kind else {
            let message = format!(
                "`locality` must be the path of a locality plan, found {}",
                node.describe()
            );
            return Err(Diagnostic::error(message).at(&node.head_span()).into());
        };
        let path = folder.join(text);
        let named = Placed::at(PathBuf::from(text), &node.span);
        let (trace, plan) = locality::read(&path, ledger).map_err(|error| match error {
            ChunkedError::OverBudget(error) => named.blame(Diagnostic::from(error)),
            error => named.error(error.to_string()),
        })?;
        Ok(Self { path, trace, plan })
    }

    /// Returns the file the plan is read from.
    pub(super) fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Adds the plan to the artefacts for policies.
    pub(crate) fn add_to(&self, artefacts: &mut Artefacts) {
        artefacts.add(self.trace, self.plan.clone());
    }
}
