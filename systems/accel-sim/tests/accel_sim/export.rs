//! Tests that an export reproduces the recorded trace, within the limits of the format.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use warpweave_accel_sim::{Loss, Quirks, export, import};
use warpweave_files::Ledger;
use warpweave_trace::{
    Allocation, CacheOperator, Class, Code, FrontEnd, HostCommand, Instruction, ProgramHead,
    RegisterSet, Space, Storage, StreamWriter, TraceFile, TraceWriter,
};

use crate::vector;

/// Files of an export, and its losses.
type Exported = (BTreeMap<String, String>, Vec<Loss>);

fn exported(trace: &Path) -> Exported {
    let above = tempfile::tempdir().expect("a temporary folder");
    let folder = above.path().join("out");
    let losses = export(trace, &folder, &Ledger::default()).expect("it is exported");
    (files(&folder), losses)
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).expect("listed");
    let files = entries.map(|entry| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").display().to_string();
        (name, fs::read_to_string(&path).expect("it is text"))
    });
    files.collect()
}

/// Imports an export and returns the path of the resulting trace.
fn read_back(files: &BTreeMap<String, String>, folder: &Path) -> PathBuf {
    for (name, text) in files {
        fs::write(folder.join(name), text).expect("written");
    }
    let trace = folder.join("it.trace");
    let list = folder.join("kernelslist.g");
    import(&list, &trace, Quirks::default(), &Ledger::default()).expect("it is read");
    trace
}

/// Imports an export and exports the result again.
fn again(files: &BTreeMap<String, String>) -> Exported {
    let folder = tempfile::tempdir().expect("a temporary folder");
    exported(&read_back(files, folder.path()))
}

#[test]
fn an_export_of_what_was_imported_is_the_same_whenever_it_is_made() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in [
        "kernelslist.g",
        "kernel-classes.traceg",
        "kernel-modes.traceg",
        "kernel-places.traceg",
        "kernel-spaces.traceg",
    ] {
        let trace = folder.path().join("it.trace");
        import(&vector(name), &trace, Quirks::default(), &Ledger::default()).expect("it is read");
        let first = exported(&trace);
        assert_eq!(again(&first.0), first, "{name}");
    }
}

/// Writes a trace of one kernel with two warps that execute `records`: instruction, lanes and
/// addresses by space.
fn recorded(path: &Path, code: Code, records: &[(u32, u32, Space, bool, u64, u64)]) {
    let mut writer = TraceWriter::create(path, Storage::default()).expect("it is begun");
    let mut kernel = writer
        .kernel(Arc::new(code), [1, 2, 1], [32, 1, 1], 64, Vec::new())
        .expect("a kernel");
    for work_group in 0..2 {
        let mut stream = StreamWriter::new();
        for &(pc, mask, space, continues, base, step) in records {
            if space == Space::None {
                stream.step(pc, mask);
            } else {
                let address = |lane| base.wrapping_add(step.wrapping_mul(lane as u64));
                stream.access(pc, mask, space, continues, &std::array::from_fn(address));
            }
        }
        kernel
            .finish_wavefront(work_group, 0, stream)
            .expect("a warp");
    }
    let kernel = kernel.finish().expect("it is whole");
    let launch = HostCommand::Launch { kernel, stream: 3 };
    let copy = HostCommand::CopyToDevice {
        allocation: 0,
        offset: 16,
        bytes: 64,
    };
    let head = ProgramHead {
        name: "it".to_owned(),
        allocations: vec![Allocation {
            name: "a".to_owned(),
            base: 0x1000,
            bytes: 4096,
        }],
        commands: vec![
            copy,
            launch,
            HostCommand::Synchronize,
            launch,
            HostCommand::Synchronize,
        ],
        front_end: FrontEnd::default(),
    };
    writer.finish(head).expect("it is written");
}

fn registers(numbers: &[u16]) -> RegisterSet {
    numbers.iter().copied().collect()
}

/// Returns instructions of every class, named as in another front end.
fn code() -> Code {
    let plain = |opcode: &str, class| Instruction::new(opcode, class);
    let load = |opcode: &str, space, bytes| plain(opcode, Class::Load).accessing(space, bytes);
    let mut instructions = vec![
        plain("never.executed", Class::IntAdd),
        plain("add", Class::IntAdd),
        plain("div", Class::IntDiv),
        load("ld.global", Space::Global, 8),
        load("ld.shared", Space::Shared, 4),
        load("ld.local", Space::Local, 4),
        load("ld.param", Space::Param, 4),
        load("ld", Space::Global, 4),
        plain("st", Class::Store).accessing(Space::Global, 1),
        plain("red", Class::Atomic).accessing(Space::Global, 4),
        plain("atom", Class::Atomic).accessing(Space::Shared, 4),
        plain("setp", Class::IntAdd),
        plain("bra", Class::Branch),
        plain("exit", Class::Exit),
    ];
    instructions[3].hints.cache = CacheOperator::DontCache;
    instructions[3].writes = registers(&[4, 5]);
    instructions[10].writes = registers(&[255]);
    instructions[11].writes = registers(&[RegisterSet::FIRST_PREDICATE]);
    instructions[12].reads = registers(&[RegisterSet::FIRST_PREDICATE]);
    instructions[12].target = Some(13);
    Code {
        name: "every\nkind".to_owned(),
        instructions,
        registers_per_thread: 300,
        ..Code::default()
    }
}

#[test]
fn a_program_of_another_front_end_is_exported_with_a_list_of_what_is_lost() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let trace = folder.path().join("it.trace");
    let all = u32::MAX;
    let records = [
        (1, all, Space::None, false, 0, 0),
        (2, all, Space::None, false, 0, 0),
        (3, all, Space::Global, false, 0x1000, 8),
        (4, 0xff, Space::Shared, false, 4, 4),
        (5, 0x5, Space::Local, false, 300, 0),
        (6, all, Space::Param, false, 8, 0),
        (7, 0x0f, Space::Global, true, 0x1100, 4),
        (7, 0x30, Space::Shared, true, 0, 4),
        (7, 0x40, Space::Local, false, 308, 4),
        (8, 0x1, Space::Global, false, 0x1200, 0),
        (8, 0, Space::None, false, 0, 0),
        (9, 0x101, Space::Global, false, 0x1300, 64),
        (10, 0x3, Space::Shared, false, 8, 4),
        (11, all, Space::None, false, 0, 0),
        (12, all, Space::None, false, 0, 0),
        (13, all, Space::None, false, 0, 0),
    ];
    recorded(&trace, code(), &records);
    let first = exported(&trace);
    let losses: Vec<String> = first.1.iter().map(Loss::to_string).collect();
    let text = format!(
        "{}\n\n{}\n{}",
        losses.join("\n"),
        first.0["kernelslist.g"],
        first.0["kernel-1.traceg"]
    );
    insta::assert_snapshot!(text);
    assert_eq!(again(&first.0).0, first.0);
}

#[test]
fn an_export_replaces_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let trace = folder.path().join("it.trace");
    recorded(&trace, code(), &[(13, 1, Space::None, false, 0, 0)]);
    let out = folder.path().join("out");
    fs::create_dir(&out).expect("made");
    assert!(export(&trace, &out, &Ledger::default()).is_err());
    assert_eq!(fs::read_dir(&out).expect("listed").count(), 0);
}

proptest! {
    /// Random programs survive a round trip, and a second export is byte-identical to the first.
    #[test]
    fn random_programs_come_back(
        records in prop::collection::vec(
            (1..14_u32, any::<u32>(), 0..3_u64, prop_oneof![0..40_u64, any::<u64>()]),
            1..30,
        ),
    ) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let trace = folder.path().join("it.trace");
        let code = code();
        let records: Vec<_> = records
            .into_iter()
            .map(|(pc, mask, base, step)| {
                let instruction = &code.instructions[pc as usize];
                let space = if mask == 0 { Space::None } else { instruction.space };
                let step = if space == Space::Global { step } else { step % 64 };
                (pc, mask, space, false, 0x2000 + 256 * base, step)
            })
            .collect();
        recorded(&trace, code, &records);
        let (files, losses) = exported(&trace);
        prop_assert!(!losses.iter().any(|loss| loss.what.contains("no opcode")));
        let back = tempfile::tempdir().expect("a temporary folder");
        let read = read_back(&files, back.path());
        prop_assert_eq!(&exported(&read).0, &files);
        let of = |path: &Path| {
            let mut file = TraceFile::open(path).expect("it opens");
            file.kernel(0).expect("a kernel").counts()
        };
        prop_assert_eq!(of(&read), of(&trace));
    }
}
