//! Checking that a policy keeps what every policy promises, on generated machines and programs.
//!
//! ```text
//!  role, policy ──► cases (case.rs): machine + program as files ──► trials (properties.rs)
//!                                                │
//!              broken ──► the simplest case that shows it ──► the files of a scenario
//! ```
//!
//! `place.rs` knows where in a generated machine each role is. A role of another crate has no place
//! there: its policies are tried in a scenario that the caller names, at a path of it.

mod case;
mod place;
mod properties;

use std::io;
use std::path::{Path, PathBuf};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use thiserror::Error;
use warpweave_files::{OutputError, OutputFolder};
use warpweave_framework::{NeutralSpec, PolicyEntry, Registry};
use warpweave_params::{Diagnostic, Diagnostics};

use self::case::Case;
use self::place::Place;
pub use self::properties::ConformanceProperty;
use self::properties::{TrialRun, Verdict};

/// What is to be checked.
pub struct Conformance<'a> {
    /// The kinds and policies that there are.
    pub registry: &'a Registry,
    /// The policy.
    pub policy: &'a PolicyEntry,
    /// Its description, such as `Ccws(base_score: 80)`.
    pub description: String,
    /// Where to try it; generated machines and programs if absent.
    pub at: Option<CallerPlace>,
    /// Machines and programs to generate.
    pub cases: u32,
    /// Which ones.
    pub seed: u64,
    /// Where failures are written: a folder that does not exist.
    pub out: PathBuf,
}

/// A place in a scenario of the caller's.
pub struct CallerPlace {
    /// The scenario file, in which something else stands there.
    pub scenario: PathBuf,
    /// Path of an override that puts the policy there, such as `unit[*].cu.scheduler`.
    pub path: String,
}

/// What came out for one promise.
#[derive(Debug)]
pub enum Finding {
    /// No case shows that it is broken; in so many the machine refused the policy.
    Kept {
        /// Cases that were tried.
        tried: u32,
        /// Of these, cases in which the policy does not go with the machine.
        refused: u32,
    },
    /// The policy has no specification that decides nothing.
    NotAsked,
    /// A case shows that it is broken.
    Broken {
        /// What happens.
        what: String,
        /// The simplest scenario found in which it does, or why it could not be written.
        scenario: Result<PathBuf, OutputError>,
    },
}

/// Why nothing could be checked.
#[derive(Debug, Error)]
pub enum ConformError {
    /// A role without a place in generated machines.
    #[error("no generated machine has a place for a {0}")]
    NoPlace(String),
    /// No machine accepts the policy; with what the first one says.
    #[error("{0}")]
    Refused(Diagnostics),
    /// The file system.
    #[error("cannot write {path}: {error}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        error: io::Error,
    },
}

impl Conformance<'_> {
    /// Checks one promise.
    ///
    /// # Errors
    /// A role that generated machines do not have, a policy that they all refuse, and the file
    /// system's.
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
            Ok(()) => Err(ConformError::Refused(tally.first.take().unwrap_or_else(
                || Diagnostic::error("no case could be tried").into(),
            ))),
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
        let verdict = (|| {
            let bound = trial(None)?.bound()?;
            let own = trial(Some(&self.description))?;
            let Some(NeutralSpec { ron, like }) = self.policy.without_effect else {
                return Ok(own.check(promise, bound, None));
            };
            let pair = (trial(Some(like))?, trial(Some(ron))?);
            Ok(own.check(promise, bound, Some((&pair.0, &pair.1))))
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
            max_shrink_iters: 400,
            ..Config::default()
        };
        let mut seed = [0; 32];
        for (number, bytes) in seed.chunks_exact_mut(8).enumerate() {
            let word = warpweave_random::nth(self.seed, number as u64);
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
    }

    /// Tries a case in a folder.
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
            Ok(TrialRun::load(
                self.registry,
                promise,
                &folder.join("scenario.ron"),
                &[],
            ))
        };
        let tried = (|| -> io::Result<Result<Verdict, Diagnostics>> {
            let bound = match trial(place.usual())?.and_then(|usual| usual.bound()) {
                Ok(bound) => bound,
                Err(problems) => return Ok(Err(problems)),
            };
            let own = match trial(&self.description)? {
                Ok(own) => own,
                Err(problems) => return Ok(Err(problems)),
            };
            let Some(NeutralSpec { ron, like }) = self.policy.without_effect else {
                return Ok(Ok(own.check(promise, bound, None)));
            };
            let pair = (trial(like)?, trial(ron)?);
            let (Ok(usual), Ok(without)) = pair else {
                return Ok(pair.0.and(pair.1).map(|_| Verdict::Kept));
            };
            Ok(Ok(own.check(promise, bound, Some((&usual, &without)))))
        })()?;
        Ok(tried.unwrap_or_else(Verdict::Refused))
    }

    /// Writes the scenario that shows a broken promise where the user finds it.
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

/// Cases so far; those of the search for a simpler failure count too, but then no one asks.
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
