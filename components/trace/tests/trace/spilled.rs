//! Tests of launches whose streams are spilled to a temporary file while they are written.

use std::sync::Arc;

use proptest::prelude::*;
use warpweave_files::{Budget, Ledger};
use warpweave_trace::{
    KernelTrace, KernelWriter, LANES, Lanes, Program, Space, StreamWriter, TraceFile,
};

use crate::model::{Plain, code, read, stream};

/// Creates a kernel of these streams, one per work-group, written from the last to the first.
fn kernel(streams: &[Vec<Plain>], spilling_from: u64) -> KernelTrace {
    let work_groups = streams.len() as u32;
    let writer = KernelWriter::new(code(), [work_groups, 1, 1], [32, 1, 1], 0, Vec::new());
    let mut writer = writer.unwrap().spilling_from(spilling_from);
    for (work_group, records) in streams.iter().enumerate().rev() {
        let mut stream = StreamWriter::new();
        for record in records {
            record.write(&mut stream);
        }
        writer
            .finish_wavefront(work_group as u32, 0, stream)
            .unwrap();
    }
    writer.finish().unwrap()
}

/// Like [`kernel`], with each stream written a few records at a time and all incomplete streams
/// spilled in between.
fn kernel_in_parts(streams: &[Vec<Plain>], at_a_time: usize, spilling_from: u64) -> KernelTrace {
    let work_groups = streams.len() as u32;
    let writer = KernelWriter::new(code(), [work_groups, 1, 1], [32, 1, 1], 0, Vec::new());
    let mut writer = writer.unwrap().spilling_from(spilling_from);
    let mut running: Vec<_> = streams
        .iter()
        .map(|records| (StreamWriter::new(), &records[..]))
        .collect();
    while running.iter().any(|(_, records)| !records.is_empty()) {
        for (work_group, (stream, records)) in (0..).zip(&mut running) {
            let (now, later) = records.split_at(at_a_time.min(records.len()));
            for record in now {
                record.write(stream);
            }
            *records = later;
            if writer.is_to_spill(stream.stream_bytes()) {
                writer.spill_part(work_group, 0, stream).unwrap();
            }
        }
    }
    for (work_group, (stream, _)) in (0..).zip(running) {
        writer.finish_wavefront(work_group, 0, stream).unwrap();
    }
    writer.finish().unwrap()
}

/// Creates a stream of scattered accesses, each of which takes about 260 bytes.
fn scattered(accesses: u64) -> StreamWriter {
    let mut stream = StreamWriter::new();
    for access in 0..accesses {
        let addresses: [u64; LANES] = std::array::from_fn(|lane| {
            (lane as u64)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(access as u32)
        });
        stream.access(1, u32::MAX, Space::Global, false, &addresses);
        stream.step(2, u32::MAX);
    }
    stream
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn records_and_hash_are_the_same_whether_streams_are_spilled_or_not(
        streams in prop::collection::vec(stream(), 1..6),
        spilling_from in 0..200_u64,
    ) {
        let (memory, file) = (kernel(&streams, u64::MAX), kernel(&streams, spilling_from));
        prop_assert!(!memory.is_spilled());
        prop_assert_eq!(file.is_spilled(), file.stream_bytes() >= spilling_from);
        prop_assert_eq!(memory.hash(), file.hash());
        prop_assert_eq!(memory.counts(), file.counts());
        for work_group in 0..memory.work_groups() {
            let of = |kernel: &KernelTrace| read(kernel, kernel.cursor(work_group, 0));
            prop_assert_eq!(of(&memory), of(&file));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn records_and_hash_are_the_same_whether_streams_are_spilled_in_parts_or_not(
        streams in prop::collection::vec(stream(), 1..6),
        at_a_time in 1..9_usize,
        spilling_from in 1..60_u64,
    ) {
        let memory = kernel(&streams, u64::MAX);
        let parts = kernel_in_parts(&streams, at_a_time, spilling_from);
        prop_assert_eq!(memory.hash(), parts.hash());
        prop_assert_eq!(memory.counts(), parts.counts());
        prop_assert_eq!(memory.stream_bytes(), parts.stream_bytes());
        for work_group in 0..memory.work_groups() {
            let of = |kernel: &KernelTrace| read(kernel, kernel.cursor(work_group, 0));
            prop_assert_eq!(of(&memory), of(&parts));
        }
    }
}

#[test]
fn several_readers_of_a_spilled_stream_read_what_one_reads() {
    let records = |writer: &mut KernelWriter| {
        writer.finish_wavefront(0, 0, scattered(900)).unwrap();
    };
    let [memory, spilled] = [u64::MAX, 1].map(|spilling_from| {
        let writer = KernelWriter::new(code(), [1; 3], [32, 1, 1], 0, Vec::new());
        let mut writer = writer.unwrap().spilling_from(spilling_from);
        records(&mut writer);
        writer.finish().unwrap()
    });
    let expected = read(&memory, memory.cursor(0, 0));
    // Far apart, side by side, and one that begins when others have ended.
    let mut cursors = [spilled.cursor(0, 0); 12];
    let (mut lanes, mut turn) = (Lanes::default(), 0);
    for (number, cursor) in cursors.iter_mut().enumerate() {
        for _ in 0..number / 2 * 150 {
            cursor.next(&spilled, &mut lanes);
        }
    }
    let mut heard: Vec<usize> = (0..12).map(|number| number / 2 * 150).collect();
    while heard.iter().any(|read| *read < expected.len()) {
        turn = (turn + 5) % 12;
        if let Some(record) = cursors[turn].next(&spilled, &mut lanes) {
            let addresses: Vec<_> = lanes.iter(record.mask).collect();
            let (pc, .., wanted) = &expected[heard[turn]];
            assert_eq!((record.pc, &addresses), (*pc, wanted));
            heard[turn] += 1;
        }
    }
}

#[test]
fn a_stream_that_is_spilled_in_parts_may_change_its_mask_first_and_is_checked_as_any_other() {
    // The second part begins with a mask that has a lane which the wavefront lacks.
    let writer = KernelWriter::new(code(), [1; 3], [20, 1, 1], 0, Vec::new());
    let mut writer = writer.unwrap().spilling_from(1);
    let mut stream = StreamWriter::new();
    stream.step(0, 0xF_FFFF);
    stream.step(4, 0xF_FFFF);
    writer.spill_part(0, 0, &mut stream).unwrap();
    stream.step(9, 1 << 20);
    let refused = writer.finish_wavefront(0, 0, stream).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("executes with mask 0x00100000"),
        "{refused}"
    );
}

#[test]
fn a_spilled_launch_takes_of_the_memory_budget_no_more_than_the_threshold() {
    let budget = Budget::of(1 << 20);
    let ledger = Ledger::new(&budget);
    let writer = KernelWriter::new(code(), [64, 1, 1], [32, 1, 1], 0, Vec::new());
    let mut writer = writer.unwrap().charged_to(&ledger).spilling_from(256 << 10);
    let mut most = 0;
    for work_group in 0..64 {
        writer
            .finish_wavefront(work_group, 0, scattered(400))
            .unwrap();
        most = most.max(budget.charged());
    }
    let kernel = writer.finish().unwrap();
    // Six times the budget in all; a stream takes 100 KiB.
    assert!(kernel.stream_bytes() > 6 << 20, "{}", kernel.stream_bytes());
    assert!(most < 400 << 10, "{most}");
    assert!(kernel.bytes() < 16 << 10 && budget.charged() < 16 << 10);
    // The same without a file is refused.
    let writer = KernelWriter::new(code(), [64, 1, 1], [32, 1, 1], 0, Vec::new());
    let mut writer = writer.unwrap().charged_to(&ledger);
    let mut finished = (0..64).map(|group| writer.finish_wavefront(group, 0, scattered(400)));
    assert!(finished.any(|finished| finished.is_err()));
}

#[test]
fn a_spilled_launch_is_saved_as_any_other() {
    let write = |spilling_from| {
        let writer = KernelWriter::new(code(), [3, 1, 1], [32, 1, 1], 0, Vec::new());
        let mut writer = writer.unwrap().spilling_from(spilling_from);
        for work_group in [2, 0, 1] {
            let stream = scattered(u64::from(work_group) + 1);
            writer.finish_wavefront(work_group, 0, stream).unwrap();
        }
        let kernel = writer.finish().unwrap();
        Program {
            kernels: vec![Arc::new(kernel)],
            ..Program::default()
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let [memory, spilled] = [u64::MAX, 1000].map(|spilling_from| {
        let path = folder.path().join(spilling_from.to_string());
        write(spilling_from).save(&path).unwrap();
        assert_eq!(
            TraceFile::open(&path).unwrap().program().unwrap().hash(),
            write(spilling_from).hash()
        );
        std::fs::read(path).unwrap()
    });
    assert_eq!(memory, spilled);
}
