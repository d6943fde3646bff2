//! Reuse profile that a scenario provides to policies.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use warpweave_components::artefact::Artefacts;
use warpweave_components::reuse_profile::ReuseProfile;
use warpweave_files::{ChunkedError, Ledger};
use warpweave_params::{Diagnostic, Diagnostics, Kind, Node, Placed, Struct, from_node};
use warpweave_trace::{ContentHash, Program};

use crate::profile;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shuffled {
    seed: u64,
}

/// Source of the reuse profile for policies.
pub(crate) enum Profile {
    /// Computed from the program once it is known.
    Compute,
    /// Computed, then shuffled among kernels and among work-groups, as a control experiment.
    Shuffled {
        /// Seed of the shuffle; equal seeds give equal profiles.
        seed: u64,
    },
    /// Read from a profile file on disk.
    Read {
        path: PathBuf,
        /// Hash of the trace that the profile belongs to.
        trace: ContentHash,
        profile: ReuseProfile,
    },
}

impl Profile {
    /// Parses `Compute`, `Shuffled(seed: 1)`, or the path of a file relative to `folder`.
    pub(super) fn read(node: &Node, folder: &Path, ledger: &Ledger) -> Result<Self, Diagnostics> {
        match &node.kind {
            Kind::Name(name) if name.text == "Compute" => Ok(Self::Compute),
            Kind::Struct(Struct {
                name: Some(name), ..
            }) if name.text == "Shuffled" => {
                let Shuffled { seed } = from_node(node)?;
                Ok(Self::Shuffled { seed })
            }
            Kind::Text(text) => {
                let path = folder.join(text);
                let named = Placed::at(PathBuf::from(text), &node.span);
                let read = profile::read(&path, ledger);
                let (trace, profile) = read.map_err(|error| match error {
                    ChunkedError::OverBudget(error) => named.blame(Diagnostic::from(error)),
                    error => named.error(error.to_string()).hint(
                        "use `warpweave analyze reuse TRACE --profile FILE` to write a profile",
                    ),
                })?;
                Ok(Self::Read {
                    path,
                    trace,
                    profile,
                })
            }
            _ => {
                let message = format!(
                    "`profile` must be `Compute`, `Shuffled(seed: 1)` or the path of a profile, found {}",
                    node.describe()
                );
                Err(Diagnostic::error(message).at(&node.head_span()).into())
            }
        }
    }

    /// Returns the file the profile is read from, if any.
    pub(super) fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Compute | Self::Shuffled { .. } => None,
            Self::Read { path, .. } => Some(path),
        }
    }

    /// Adds the profile to the artefacts for policies in a run of this program. `of_program`
    /// returns the program's own profile.
    pub(crate) fn add_to(
        &self,
        artefacts: &mut Artefacts,
        program: &Program,
        of_program: impl FnOnce() -> ReuseProfile,
    ) {
        match self {
            Self::Compute => artefacts.add(program.hash(), of_program()),
            Self::Shuffled { seed } => artefacts.add(program.hash(), of_program().shuffled(*seed)),
            Self::Read { trace, profile, .. } => artefacts.add(*trace, profile.clone()),
        }
    }
}
