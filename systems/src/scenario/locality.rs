//! Locality plan that a scenario provides to policies.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use warpweave_components::artefact::Artefacts;
use warpweave_components::locality_plan::LocalityPlan;
use warpweave_files::{ChunkedError, Ledger};
use warpweave_params::{Diagnostic, Diagnostics, Kind, Node, Placed, Struct, from_node};
use warpweave_trace::{ContentHash, Program};

use crate::locality;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shuffled {
    seed: u64,
}

/// Source of the locality plan for policies.
pub(crate) enum Locality {
    /// Computed from the program once it is known.
    Compute,
    /// Computed, with x and y exchanged, as a control experiment.
    Opposite,
    /// Computed, then dealt out among launches and among loops, as a control experiment.
    Shuffled {
        /// Seed of the shuffle; equal seeds give equal plans.
        seed: u64,
    },
    /// Read from a plan file on disk.
    Read {
        path: PathBuf,
        /// Hash of the trace that the plan belongs to.
        trace: ContentHash,
        plan: LocalityPlan,
    },
}

impl Locality {
    /// Parses `Compute`, `Opposite`, `Shuffled(seed: 1)`, or the path of a file relative to
    /// `folder`.
    pub(super) fn read(node: &Node, folder: &Path, ledger: &Ledger) -> Result<Self, Diagnostics> {
        match &node.kind {
            Kind::Name(name) if name.text == "Compute" => Ok(Self::Compute),
            Kind::Name(name) if name.text == "Opposite" => Ok(Self::Opposite),
            Kind::Struct(Struct {
                name: Some(name), ..
            }) if name.text == "Shuffled" => {
                let Shuffled { seed } = from_node(node)?;
                Ok(Self::Shuffled { seed })
            }
            Kind::Text(text) => {
                let path = folder.join(text);
                let named = Placed::at(PathBuf::from(text), &node.span);
                let read = locality::read(&path, ledger);
                let (trace, plan) = read.map_err(|error| match error {
                    ChunkedError::OverBudget(error) => named.blame(Diagnostic::from(error)),
                    error => named.error(error.to_string()),
                })?;
                Ok(Self::Read { path, trace, plan })
            }
            _ => {
                let message = format!(
                    "`locality` must be `Compute`, `Opposite`, `Shuffled(seed: 1)` or the path of a locality plan, found {}",
                    node.describe()
                );
                Err(Diagnostic::error(message).at(&node.head_span()).into())
            }
        }
    }

    /// Returns the file the plan is read from, if any.
    pub(super) fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Compute | Self::Opposite | Self::Shuffled { .. } => None,
            Self::Read { path, .. } => Some(path),
        }
    }

    /// Adds the plan to the artefacts for policies in a run of this program. `of_program` returns
    /// the program's own plan.
    pub(crate) fn add_to(
        &self,
        artefacts: &mut Artefacts,
        program: &Program,
        of_program: impl FnOnce() -> LocalityPlan,
    ) {
        let plan = match self {
            Self::Compute => of_program(),
            Self::Opposite => of_program().opposite(),
            Self::Shuffled { seed } => of_program().shuffled(*seed),
            Self::Read { trace, plan, .. } => return artefacts.add(*trace, plan.clone()),
        };
        artefacts.add(program.hash(), plan);
    }
}
