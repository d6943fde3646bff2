//! The reuse profile that a scenario gives to policies.

use std::path::{Path, PathBuf};

use warpweave_components::artefact::Artefacts;
use warpweave_components::reuse_profile::ReuseProfile;
use warpweave_files::{ChunkedError, Ledger};
use warpweave_params::{Diagnostic, Kind, Node, Placed};
use warpweave_trace::{ContentHash, Program};

use crate::profile;

/// Where the profile comes from.
pub(crate) enum Profile {
    /// From the program, when it is known.
    Compute,
    /// From a file.
    Read {
        path: PathBuf,
        /// Hash of the trace that it is of.
        trace: ContentHash,
        profile: ReuseProfile,
    },
}

impl Profile {
    /// `Compute`, or the path of a file, relative to `folder`.
    pub(super) fn read(node: &Node, folder: &Path, ledger: &Ledger) -> Result<Self, Diagnostic> {
        match &node.kind {
            Kind::Name(name) if name.text == "Compute" => Ok(Self::Compute),
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
                    "`profile` is `Compute` or the path of a profile, found {}",
                    node.describe()
                );
                Err(Diagnostic::error(message).at(&node.head_span()))
            }
        }
    }

    /// The file, if it is read from one.
    pub(super) fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Compute => None,
            Self::Read { path, .. } => Some(path),
        }
    }

    /// Adds the profile to what policies of a run of this program may ask for.
    pub(crate) fn add_to(&self, artefacts: &mut Artefacts, program: &Program) {
        match self {
            Self::Compute => artefacts.add(program.hash(), profile::compute(program)),
            Self::Read { trace, profile, .. } => artefacts.add(*trace, profile.clone()),
        }
    }
}
