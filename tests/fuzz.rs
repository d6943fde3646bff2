//! Runs the program on mutated inputs of every kind. `warpweave-fuzz` tries more of them.

use std::path::Path;

use clap::ValueEnum;
use warpweave_fuzz::{Campaign, Case, Folder, Kind, Limits, Mode, Program};

/// Path of the program under test.
fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_warpweave"))
}

#[test]
fn no_input_breaks_a_promise_before_it_is_changed() {
    let folder = Folder::of_program(program()).unwrap();
    let program = Program::new(program(), folder, Limits::default());
    for kind in Kind::value_variants() {
        if matches!(kind, Kind::Override | Kind::Arguments) {
            continue;
        }
        for file in kind.files() {
            let case = Case::unchanged(*kind, file, program.folder());
            let verdict = program.verdict(&case);
            assert!(verdict.is_ok(), "{file}: {verdict:?}");
        }
    }
}

#[test]
fn no_mutated_input_breaks_a_promise_of_the_program() {
    for &kind in Kind::value_variants() {
        let campaign = Campaign {
            kind,
            seed: 1,
            from: 0,
            count: 20,
            mode: Mode::Through(program().to_owned()),
            limits: Limits::default(),
            jobs: 1,
        };
        let tally = campaign.run().unwrap();
        assert_eq!(tally.inputs(), campaign.count);
        let told = tally.told();
        assert!(told.is_empty(), "{}: {told}", kind.name());
    }
}
