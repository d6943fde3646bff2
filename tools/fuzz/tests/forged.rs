//! Tests of checkpoints with valid checksums and contents that no run produces.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_fuzz::{Case, Folder, Forger, InputOutcome, Kind, LibraryTargets, Moment};

/// Changes every byte of every part of a checkpoint in turn: to a small number, a large one, its
/// neighbour. Each file is rejected by instance and field, or the machine runs on.
#[test]
fn a_forged_checkpoint_is_refused_by_field_or_runs_on() {
    let inside = LibraryTargets::new().expect("a temporary folder");
    let mut refused = 0;
    for moment in [Moment::Middle, Moment::Plain] {
        let whole = Case::unchanged(Kind::Checkpoint, moment.file(), inside.folder());
        assert_eq!(
            inside.verdict(&whole),
            Ok(InputOutcome::Accepted),
            "{moment:?}"
        );
        let forger = Forger::new(&whole.bytes).expect("a checkpoint of our own");
        for (number, part) in forger.parts().into_iter().enumerate() {
            // A few places of each part, others in each machine.
            for at in (moment as usize % 7..part.len()).step_by(part.len() / 3 + 1) {
                let mut forged = part.clone();
                forged[at] = if forged[at] == 0x7f { 1 } else { 0x7f };
                let Some(bytes) = forger.forged(number, forged) else {
                    continue;
                };
                let case = Case {
                    bytes,
                    ..whole.clone()
                };
                let ending = inside.verdict(&case);
                assert!(ending.is_ok(), "part {number}, byte {at}: {ending:?}");
                refused += usize::from(ending == Ok(InputOutcome::Refused));
            }
        }
    }
    assert!(refused > 100, "{refused} refused");
}

#[test]
fn a_slot_that_is_not_there_is_refused_by_instance_and_field() {
    let folder = Folder::new().expect("a temporary folder");
    let path = folder.path();
    let forger = Forger::new(folder.original(Moment::Middle.file())).expect("a checkpoint");
    let file = path.join("forged.wwc");
    let refusals: Vec<String> = (0..forger.parts().len())
        .filter_map(|number| {
            let part = forger.parts().swap_remove(number);
            // The port that is served first is a number of its own at the end of such a field.
            let name = b"\x05first\x00";
            let at = part.windows(name.len()).position(|bytes| bytes == name)?;
            let mut part = part;
            part[at + name.len() - 1] = 77;
            std::fs::write(&file, forger.forged(number, part)?).expect("written");
            let mut machine = Moment::Middle.machine(&path);
            machine.advance(0, &Arc::new(AtomicBool::new(false)));
            Some(
                machine
                    .resume(&file, None)
                    .expect_err("there is one port")
                    .to_string(),
            )
        })
        .collect();
    assert!(!refusals.is_empty());
    for refusal in refusals {
        assert!(
            refusal.contains("(ClusterPort): field `entries`: port 77 of 1"),
            "{refusal}"
        );
    }
}
