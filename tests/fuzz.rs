//! Mutated inputs of every kind through the program; `warpweave-fuzz` tries more of them.

use std::path::Path;

use clap::ValueEnum;
use warpweave_fuzz::{Campaign, Case, Ending, Folder, Kind, Limits, Mode, Program};

/// The program under test.
fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_warpweave"))
}

/// Inputs to which the program says no as they are: the results folders differ, the reference has
/// more than one run, words are no graph.
fn says_no(file: &str) -> bool {
    ["a/", "reference/", "data/words.txt"]
        .iter()
        .any(|start| file.starts_with(start))
}

#[test]
fn the_program_takes_every_input_before_it_is_changed() {
    let folder = Folder::of_program(program()).unwrap();
    let program = Program::new(program(), folder, Limits::default());
    for kind in Kind::value_variants() {
        if matches!(kind, Kind::Override | Kind::Arguments) {
            continue;
        }
        for file in kind.files() {
            let case = Case::unchanged(*kind, file, program.folder());
            let ending = if says_no(file) {
                Ending::Refused
            } else {
                Ending::Accepted
            };
            assert_eq!(program.verdict(&case), Ok(ending), "{file}");
        }
    }
}

#[test]
fn no_mutated_input_breaks_a_promise_of_the_program() {
    for kind in [Kind::Graph, Kind::Trace, Kind::StateLog] {
        let campaign = Campaign {
            kind,
            seed: 1,
            from: 0,
            count: 40,
            mode: Mode::Through(program().to_owned()),
            limits: Limits::default(),
            jobs: 1,
        };
        let tally = campaign.run().unwrap();
        assert_eq!(tally.inputs(), campaign.count);
        let causes = tally.causes();
        let found = causes.iter().map(|(found, count)| {
            format!(
                "{count} x, {} number {}: {}\n",
                kind.name(),
                found.number,
                found.fault
            )
        });
        assert!(causes.is_empty(), "{}", found.collect::<String>());
    }
}
