//! The reuse profile that a scenario gives to policies.

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

/// Where the profile comes from.
pub(crate) enum Profile {
    /// From the program, when it is known.
    Compute,
    /// The same, dealt out at random among kernels and among work-groups: a control.
    Shuffled {
        /// Of the deal.
        seed: u64,
    },
    /// From a file.
    Read {
        path: PathBuf,
        /// Hash of the trace that it is of.
        trace: ContentHash,
        profile: ReuseProfile,
    },
}

impl Profile {
    /// `Compute`, `Shuffled(seed: 1)`, or the path of a file, relative to `folder`.
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
                    error => named
                        .error(error.to_string())
                        .hint("`warpweave analyze reuse TRACE --profile FILE` writes a profile"),
                })?;
                Ok(Self::Read {
                    path,
                    trace,
                    profile,
                })
            }
            _ => {
                let message = format!(
                    "`profile` is `Compute`, `Shuffled(seed: 1)` or the path of a profile, found {}",
                    node.describe()
                );
                Err(Diagnostic::error(message).at(&node.head_span()).into())
            }
        }
    }

    /// The file, if it is read from one.
    pub(super) fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Compute | Self::Shuffled { .. } => None,
            Self::Read { path, .. } => Some(path),
        }
    }

    /// Adds the profile to what policies of a run of this program may ask for; `of_program` gives the program's own.
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
