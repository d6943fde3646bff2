//! Conformance tests: checks every policy's contract on generated machines and programs.
//!
//! ```text
//!  role, policy ──► cases (case.rs): machine + program as files ──► trials (properties.rs)
//!                                                │
//!              broken ──► the simplest case that shows it ──► the files of a scenario
//! ```
//!
//! `place.rs` maps each role to its place in a generated machine. Roles of other crates have no
//! such place. Their policies are tested at a path in a scenario that the caller names.

mod case;
mod earlier;
mod place;
mod plan;
mod properties;

use std::io;
use std::path::{Path, PathBuf};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use thiserror::Error;
use warpweave_files::{OutputError, OutputFolder};
use warpweave_framework::{NeutralSpec, PolicyEntry, Registry};
use warpweave_params::{Diagnostic, Diagnostics};

use self::case::Case;
pub use self::earlier::EarlierRuns;
use self::place::Place;
pub use self::properties::ConformanceProperty;
use self::properties::{FirstRun, TrialRun, Verdict};

/// Conformance check of one policy, with its settings.
pub struct Conformance<'a> {
    /// Registry of component kinds and policies to build from.
    pub registry: &'a Registry,
    /// Registry entry of the policy under test.
    pub policy: &'a PolicyEntry,
    /// Description of the policy, such as `Ccws(base_score: 80)`.
    pub description: String,
    /// Place in a scenario at which to test; generated machines and programs if absent.
    pub at: Option<CallerPlace>,
    /// Number of machines and programs to generate.
    pub cases: u32,
    /// Seed for the generation of machines and programs.
    pub seed: u64,
    /// Maximum number of simpler cases to try for each broken promise.
    pub simpler: u32,
    /// Output folder for failing cases; it must not exist yet.
    pub out: PathBuf,
    /// Results that checks share: those of this policy, and of others of its role.
    pub earlier: &'a EarlierRuns,
}

/// Place for the policy in a scenario of the caller.
pub struct CallerPlace {
    /// Scenario file; it has some other policy at this place.
    pub scenario: PathBuf,
    /// Override path that sets the policy there, such as `unit[*].cu.scheduler`.
    pub path: String,
}

/// Result of the check of one promise.
#[derive(Debug)]
pub enum Finding {
    /// No tested case breaks the promise.
    Kept {
        /// Number of cases that were tested.
        tried: u32,
        /// Number of those cases in which the machine refused the policy.
        refused: u32,
    },
    /// The check was skipped: the policy has no specification that disables it.
    NotAsked,
    /// At least one case breaks the promise.
    Broken {
        /// Description of the failure in the shown case.
        what: String,
        /// Simplest failing scenario found, or the error that prevented writing it.
        scenario: Result<PathBuf, OutputError>,
    },
}

/// Reason why no check could be made.
#[derive(Debug, Error)]
pub enum ConformError {
    /// Generated machines have no place for this role.
    #[error("no generated machine can use a policy of role {0}")]
    NoPlace(String),
    /// No machine accepts the policy; holds the diagnostics of the first one.
    #[error("{0}")]
    Refused(Diagnostics),
    /// Reading or writing a file failed.
    #[error("cannot write {path}: {error}")]
    File {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error that the file system returned.
        error: io::Error,
    },
}

impl Conformance<'_> {
    /// Checks one promise on the chosen or generated cases.
    ///
    /// # Errors
    /// Fails if generated machines lack the role, if all of them refuse the policy, or if a file
    /// cannot be written.
    pub fn check(&self, promise: ConformanceProperty) -> Result<Finding, ConformError> {
        if promise == ConformanceProperty::NeutralSpec && self.policy.without_effect.is_none() {
            return Ok(Finding::NotAsked);
        }
        if let Some(at) = &self.at {
            return self.check_at(promise, at);
        }
        let place = Place::of(self.policy.role)
            .ok_or_else(|| ConformError::NoPlace(self.policy.role.to_owned()))?;
        let work = tempfile::tempdir().map_err(|error| ConformError::File {
            path: std::env::temp_dir(),
            error,
        })?;
        let tally = CaseCounter::default();
        let tried = self.runner().run(&Case::any(), |case| {
            let verdict = self
                .verdict(promise, place, &case, work.path())
                .map_err(|error| TestCaseError::reject(error.to_string()))?;
            match verdict {
                Verdict::Broken(what) => Err(TestCaseError::fail(what)),
                Verdict::Kept => {
                    tally.kept();
                    Ok(())
                }
                Verdict::Refused(problems) => {
                    tally.refuse(problems);
                    Ok(())
                }
            }
        });
        match tried {
            Ok(()) if tally.tried.get() > tally.refused.get() => Ok(Finding::Kept {
                tried: tally.tried.get(),
                refused: tally.refused.get(),
            }),
            Ok(()) => {
                Err(ConformError::Refused(tally.first.take().unwrap_or_else(
                    || Diagnostic::error("no case could be run").into(),
                )))
            }
            Err(TestError::Fail(what, case)) => Ok(Finding::Broken {
                what: what.message().to_owned(),
                scenario: self.keep(promise, place, &case),
            }),
            Err(TestError::Abort(why)) => Err(ConformError::File {
                path: work.path().to_owned(),
                error: io::Error::other(why.message().to_owned()),
            }),
        }
    }

    /// Checks one promise in the caller's scenario.
    fn check_at(
        &self,
        promise: ConformanceProperty,
        at: &CallerPlace,
    ) -> Result<Finding, ConformError> {
        let trial = |policy: Option<&str>| {
            let sets: Vec<_> = policy
                .map(|policy| format!("{}={policy}", at.path))
                .into_iter()
                .collect();
            TrialRun::load(self.registry, promise, &at.scenario, &sets)
        };
        let place = format!("{} at {}", at.scenario.display(), at.path);
        let verdict = (|| {
            let bound = match self.earlier.bound(&place) {
                Some(bound) => bound,
                None => self.earlier.keep_bound(&place, trial(None)?.bound()?),
            };
            let own = trial(Some(&self.description))?;
            let without = match self.policy.without_effect {
                Some(NeutralSpec { ron, like }) if promise == ConformanceProperty::NeutralSpec => {
                    Some((trial(Some(like))?, trial(Some(ron))?))
                }
                _ => None,
            };
            let without = without.as_ref().map(|(usual, without)| (usual, without));
            Ok(own.check(promise, bound, self.first_run(promise, &place), without))
        })();
        match verdict {
            Ok(Verdict::Kept) => Ok(Finding::Kept {
                tried: 1,
                refused: 0,
            }),
            Ok(Verdict::Broken(what)) => Ok(Finding::Broken {
                what,
                scenario: Ok(at.scenario.clone()),
            }),
            Ok(Verdict::Refused(problems)) | Err(problems) => Err(ConformError::Refused(problems)),
        }
    }

    fn runner(&self) -> TestRunner {
        let config = Config {
            cases: self.cases,
            failure_persistence: None,
            max_shrink_iters: self.simpler,
            ..Config::default()
        };
        let mut seed = [0; 32];
        for (number, bytes) in seed.chunks_exact_mut(8).enumerate() {
            let word = warpweave_random::nth(self.seed, number as u64);
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
    }

    /// Runs one case in a folder and returns its verdict.
    fn verdict(
        &self,
        promise: ConformanceProperty,
        place: Place,
        case: &Case,
        folder: &Path,
    ) -> io::Result<Verdict> {
        let trial = |policy: &str| -> io::Result<Result<TrialRun<'_>, Diagnostics>> {
            for (name, text) in case.files(place, policy, promise) {
                std::fs::write(folder.join(name), text)?;
            }
            let path = folder.join("scenario.ron");
            Ok(TrialRun::load(self.registry, promise, &path, &[]).map(TrialRun::generated))
        };
        let name = format!("{place:?} in {case:?}");
        let tried = (|| -> io::Result<Result<Verdict, Diagnostics>> {
            let bound = match self.earlier.bound(&name) {
                Some(bound) => bound,
                None => match trial(place.usual())?.and_then(|usual| usual.bound()) {
                    Ok(bound) => self.earlier.keep_bound(&name, bound),
                    Err(problems) => return Ok(Err(problems)),
                },
            };
            let own = match trial(&self.description)? {
                Ok(own) => own,
                Err(problems) => return Ok(Err(problems)),
            };
            let first = self.first_run(promise, &name);
            let neutral = self.policy.without_effect;
            let neutral = neutral.filter(|_| promise == ConformanceProperty::NeutralSpec);
            let Some(NeutralSpec { ron, like }) = neutral else {
                return Ok(Ok(own.check(promise, bound, first, None)));
            };
            let pair = (trial(like)?, trial(ron)?);
            let (Ok(usual), Ok(without)) = pair else {
                return Ok(pair.0.and(pair.1).map(|_| Verdict::Kept));
            };
            Ok(Ok(own.check(
                promise,
                bound,
                first,
                Some((&usual, &without)),
            )))
        })()?;
        Ok(tried.unwrap_or_else(Verdict::Refused))
    }

    /// Names the undisturbed run of this policy in a case, for the checks that share it.
    fn first_run(&self, promise: ConformanceProperty, case: &str) -> FirstRun<'_> {
        let checked = promise.needs_checkers();
        FirstRun {
            earlier: self.earlier,
            case: format!("{}, checked: {checked}, {case}", self.description),
        }
    }

    /// Writes the scenario that breaks a promise to the output folder.
    fn keep(
        &self,
        promise: ConformanceProperty,
        place: Place,
        case: &Case,
    ) -> Result<PathBuf, OutputError> {
        let made = std::fs::create_dir_all(&self.out);
        made.map_err(|error| OutputError::of(&self.out, error))?;
        let path = self.out.join(format!("{promise:?}"));
        let policy = match (promise, self.policy.without_effect) {
            (ConformanceProperty::NeutralSpec, Some(without)) => without.ron,
            _ => &self.description,
        };
        let folder = OutputFolder::create(&path)?;
        for (name, text) in case.files(place, policy, promise) {
            folder.file(name, text.as_bytes())?;
        }
        folder.finish()?;
        Ok(path.join("scenario.ron"))
    }
}

/// Counts of the cases so far. Shrinking a failure also counts, but the counts are not used after
/// that.
#[derive(Default)]
struct CaseCounter {
    tried: std::cell::Cell<u32>,
    refused: std::cell::Cell<u32>,
    first: std::cell::RefCell<Option<Diagnostics>>,
}

impl CaseCounter {
    fn kept(&self) {
        self.tried.set(self.tried.get() + 1);
    }

    fn refuse(&self, problems: Diagnostics) {
        self.tried.set(self.tried.get() + 1);
        self.refused.set(self.refused.get() + 1);
        self.first.borrow_mut().get_or_insert(problems);
    }
}
