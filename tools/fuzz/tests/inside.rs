//! Excerpt of the campaigns against the libraries that every change must pass.

use std::path::PathBuf;

use clap::ValueEnum;
use warpweave_fuzz::{Campaign, Case, InputOutcome, Kind, LibraryTargets, Limits, Mode};

/// Returns the driver, whose workers these campaigns use.
fn driver() -> Mode {
    Mode::LibraryTargets(PathBuf::from(env!("CARGO_BIN_EXE_warpweave-fuzz")))
}

fn kinds() -> impl Iterator<Item = Kind> {
    let kinds = Kind::value_variants().iter().copied();
    kinds.filter(|kind| kind.is_for_libraries())
}

#[test]
fn every_input_is_taken_before_it_is_changed() {
    let inside = LibraryTargets::new().expect("a temporary folder");
    for kind in kinds().filter(|kind| *kind != Kind::Override) {
        for file in kind.files() {
            let case = Case::unchanged(kind, file, inside.folder());
            assert_eq!(inside.verdict(&case), Ok(InputOutcome::Accepted), "{file}");
        }
    }
}

#[test]
fn no_mutated_input_breaks_a_promise_of_the_libraries() {
    for kind in kinds() {
        let campaign = Campaign {
            kind,
            seed: 1,
            from: 0,
            count: 150,
            mode: driver(),
            limits: Limits::default(),
            jobs: 1,
        };
        let tally = campaign.run().expect("workers can be started");
        assert_eq!(tally.inputs(), campaign.count);
        let told = tally.told();
        assert!(told.is_empty(), "{}: {told}", kind.name());
    }
}
