//! Analyses of the program that policies may use.

use std::path::Path;

use super::{Locality, Profile, WorkGroups};

/// Sources of a program's analyses, from files or computed.
pub(crate) struct ProgramAnalyses {
    /// Reuse profile that policies may use; `None` for no profile.
    pub(crate) profile: Option<Profile>,
    /// Locality plan that policies may use; `None` for no plan.
    pub(crate) locality: Option<Locality>,
    /// Table of work-groups that policies may use; `None` for no table.
    pub(crate) work_groups: Option<WorkGroups>,
}

impl ProgramAnalyses {
    /// True if no policy may use an analysis.
    pub(crate) fn is_empty(&self) -> bool {
        self.profile.is_none() && self.locality.is_none() && self.work_groups.is_none()
    }

    /// Returns the files from which analyses are read, that of the profile first.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let profile = self.profile.as_ref().and_then(Profile::path);
        let locality = self.locality.as_ref().and_then(Locality::path);
        let work_groups = self.work_groups.as_ref().map(|known| &known.path);
        let files = profile.into_iter().chain(locality).chain(work_groups);
        files.map(AsRef::as_ref)
    }

    /// True if a reuse profile is asked for and no file holds it.
    pub(super) fn needs_profile(&self) -> bool {
        let needs = |profile: &Profile| profile.path().is_none();
        self.profile.as_ref().is_some_and(needs)
    }

    /// True if a locality plan is asked for and no file holds it.
    pub(super) fn needs_locality(&self) -> bool {
        let needs = |locality: &Locality| locality.path().is_none();
        self.locality.as_ref().is_some_and(needs)
    }
}
