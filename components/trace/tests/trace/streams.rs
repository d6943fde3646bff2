//! Streams: what goes in comes out, and what makes no sense does not go in.

use proptest::prelude::*;
use warpweave_trace::{KernelTrace, KernelWriter, Lanes, Shape, Space, StreamWriter, TraceError};

use crate::model::{Plain, PlainKernel, code, kernel, read, rows, stream};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_record_written_is_read_back_exactly(kernel in kernel()) {
        let trace = kernel.build(&[]);
        for (work_group, wavefront, records) in kernel.places() {
            let expected: Vec<_> = records.iter().map(Plain::seen).collect();
            prop_assert_eq!(read(&trace, trace.cursor(work_group, wavefront)), expected);
        }
    }

    #[test]
    fn a_copied_cursor_reads_the_same_rest_and_leaves_the_original_alone(
        records in stream(), stop in 0..200_usize
    ) {
        let trace = one(&records);
        let expected: Vec<_> = records.iter().map(Plain::seen).collect();
        let (mut cursor, mut lanes) = (trace.cursor(0, 0), Lanes::default());
        let stop = stop.min(records.len());
        for _ in 0..stop {
            prop_assert!(cursor.next(&trace, &mut lanes).is_some());
        }
        let stored: Vec<u8> = postcard::to_stdvec(&cursor).unwrap();
        prop_assert_eq!(&read(&trace, cursor), &expected[stop..]);
        prop_assert_eq!(&read(&trace, cursor), &expected[stop..]);
        prop_assert_eq!(&read(&trace, postcard::from_bytes(&stored).unwrap()), &expected[stop..]);
    }

    #[test]
    fn counts_are_those_of_the_records(kernel in kernel()) {
        let trace = kernel.build(&[]);
        let (mut instructions, mut threads) = (0, 0);
        for (work_group, wavefront, records) in kernel.places() {
            let counts = trace.wavefront_counts(work_group, wavefront);
            let whole = records.iter().filter(|record| !record.continues).count() as u64;
            prop_assert_eq!(counts.instructions, whole);
            instructions += whole;
            threads += records.iter().map(|record| u64::from(record.mask.count_ones())).sum::<u64>();
        }
        prop_assert_eq!(trace.wavefront_instructions(), instructions);
        prop_assert_eq!(trace.thread_instructions(), threads);
    }
}

/// A kernel of one wavefront.
fn one(records: &[Plain]) -> KernelTrace {
    let streams = vec![records.to_vec()];
    PlainKernel {
        work_groups: 1,
        wavefronts: 1,
        arguments: Vec::new(),
        parent: None,
        streams,
    }
    .build(&[])
}

/// A refused stream's message.
fn refusal(threads: u32, write: impl FnOnce(&mut StreamWriter)) -> String {
    let mut writer = KernelWriter::new(code(), [2, 1, 1], [threads, 1, 1], 0, Vec::new()).unwrap();
    let mut stream = StreamWriter::new();
    write(&mut stream);
    writer
        .finish_wavefront(1, 0, stream)
        .unwrap_err()
        .to_string()
}

#[test]
fn addresses_take_the_simplest_shape_that_says_them() {
    let shape_of = |mask: u32, addresses: [u64; 32]| {
        let record = Plain {
            pc: 1,
            mask,
            space: Space::Global,
            continues: false,
            addresses: Some(addresses),
        };
        let trace = one(&[record]);
        let mut lanes = Lanes::default();
        trace.cursor(0, 0).next(&trace, &mut lanes).unwrap();
        lanes.shape
    };
    let strided = rows(1000, 4, 0, 5);
    assert_eq!(
        shape_of(u32::MAX, strided),
        Shape::Stride {
            base: 1000,
            step: 4
        }
    );
    assert_eq!(
        shape_of(0xF0F0_00A0, strided),
        Shape::Stride {
            base: 1000,
            step: 4
        }
    );
    assert_eq!(shape_of(0x100, strided), Shape::Uniform(1032));
    assert_eq!(shape_of(0, strided), Shape::None);
    assert_eq!(shape_of(u32::MAX, [9; 32]), Shape::Uniform(9));
    assert_eq!(
        shape_of(u32::MAX, rows(1000, 4, 4096, 4)),
        Shape::Rows {
            base: 1000,
            step: 4,
            pitch: 4096,
            row_bits: 4
        }
    );
    let mut one_off = strided;
    one_off[31] += 1;
    assert_eq!(shape_of(u32::MAX, one_off), Shape::List);
    assert_eq!(
        shape_of(u32::MAX >> 1, one_off),
        Shape::Stride {
            base: 1000,
            step: 4
        }
    );
}

#[test]
fn a_record_the_kernel_cannot_have_is_refused_with_its_place() {
    let message = refusal(32, |stream| stream.step(300, u32::MAX));
    assert_eq!(
        message,
        "kernel random: work-group 1, wavefront 0: a record names instruction 300, but the kernel \
         has 300"
    );
    let lanes = refusal(20, |stream| stream.step(0, u32::MAX));
    assert!(
        lanes.contains("mask 0xffffffff, but the wavefront's lanes are 0x000fffff"),
        "{lanes}"
    );
    let no_memory = refusal(32, |stream| {
        stream.access(2, 1, Space::Global, false, &[0; 32]);
    });
    assert!(
        no_memory.contains("instruction 2 (add.u32) has addresses"),
        "{no_memory}"
    );
    let torn = refusal(32, |stream| {
        stream.access(1, 1, Space::Global, true, &[0; 32]);
    });
    assert!(torn.contains("ends inside a split access"), "{torn}");
    let interrupted = refusal(32, |stream| {
        stream.access(1, 1, Space::Global, true, &[0; 32]);
        stream.step(2, 1);
    });
    assert!(
        interrupted.contains("instruction 2 interrupts a split access"),
        "{interrupted}"
    );
}

#[test]
fn a_kernel_is_finished_only_with_every_wavefront_written_once() {
    let mut writer = KernelWriter::new(code(), [2, 1, 1], [64, 1, 1], 0, Vec::new()).unwrap();
    for (work_group, wavefront) in [(1, 1), (0, 0), (0, 1)] {
        writer
            .finish_wavefront(work_group, wavefront, StreamWriter::new())
            .unwrap();
    }
    let twice = writer
        .finish_wavefront(0, 1, StreamWriter::new())
        .unwrap_err()
        .to_string();
    assert!(
        twice.contains("work-group 0, wavefront 1: its stream was written twice"),
        "{twice}"
    );
    let outside = writer
        .finish_wavefront(2, 0, StreamWriter::new())
        .unwrap_err()
        .to_string();
    assert!(
        outside.contains("2 work-groups of 2 wavefronts"),
        "{outside}"
    );
    let missing = writer.finish().unwrap_err().to_string();
    assert!(
        missing.contains("work-group 1, wavefront 0: it has no stream"),
        "{missing}"
    );
}

#[test]
fn launches_that_cannot_be_numbered_are_refused() {
    for (grid, block) in [
        ([0, 1, 1], [1, 1, 1]),
        ([1, 1, 1], [1, 0, 1]),
        ([1 << 20, 1 << 20, 1], [1; 3]),
    ] {
        let error = KernelWriter::new(code(), grid, block, 0, Vec::new()).unwrap_err();
        assert!(matches!(error, TraceError::Launch { .. }), "{error}");
    }
}

#[test]
fn the_last_wavefront_of_a_work_group_has_the_lanes_left_over() {
    let mut writer = KernelWriter::new(code(), [1; 3], [8, 9, 1], 0, Vec::new()).unwrap();
    for wavefront in 0..3 {
        writer
            .finish_wavefront(0, wavefront, StreamWriter::new())
            .unwrap();
    }
    let trace = writer.finish().unwrap();
    assert_eq!(
        (
            trace.threads_per_work_group(),
            trace.wavefronts_per_work_group()
        ),
        (72, 3)
    );
    assert_eq!((trace.lanes(1), trace.lanes(2)), (u32::MAX, 0xFF));
    assert_eq!(trace.local_bytes(), 64);
}
