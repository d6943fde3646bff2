//! Stream tests: round trips, and rejection of invalid records.

use proptest::prelude::*;
use warpweave_trace::{KernelTrace, KernelWriter, Lanes, Shape, Space, StreamWriter, TraceError};

use crate::model::{Plain, PlainKernel, addresses, code, kernel, mask, read, rows, stream};

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
    fn the_short_way_for_lists_writes_what_the_general_one_does(
        lists in prop::collection::vec((1..31_u32, 0..4_u8, any::<u32>(), any::<[u32; 32]>()), 1..20),
    ) {
        let (mut short, mut general) = (StreamWriter::new(), StreamWriter::new());
        for (bits, unit_bits, start, words) in lists {
            let mut places = [0; 33];
            for (place, word) in places.iter_mut().zip(words.iter().chain(&words[31..])) {
                *place = word >> (32 - bits);
            }
            let start = u64::from(start) << 4;
            let addresses = std::array::from_fn(|lane| start + (u64::from(places[lane]) << unit_bits));
            if Shape::of(u32::MAX, &addresses) == Shape::List {
                short.access_listed(1, Space::Global, (start, unit_bits), &places);
                general.access(1, u32::MAX, Space::Global, false, &addresses);
            }
        }
        let [short, general] = [short, general].map(|stream| {
            let mut writer = KernelWriter::new(code(), [1, 1, 1], [32, 1, 1], 0, Vec::new()).unwrap();
            writer.finish_wavefront(0, 0, stream).unwrap();
            writer.finish().unwrap()
        });
        prop_assert_eq!(short.hash(), general.hash());
        prop_assert_eq!(read(&short, short.cursor(0, 0)), read(&general, general.cursor(0, 0)));
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

/// Creates a kernel of one wavefront with these records.
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

/// Returns the error message for a rejected stream.
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

/// Returns the simplest shape, found by trying each in order.
fn simplest(mask: u32, addresses: &[u64; 32]) -> Shape {
    let lanes: Vec<u32> = (0..32).filter(|lane| mask >> lane & 1 != 0).collect();
    let of = |lane: u32| addresses[lane as usize];
    let (Some(&first), second) = (lanes.first(), lanes.get(1)) else {
        return Shape::None;
    };
    let Some(&second) = second else {
        return Shape::Uniform(of(first));
    };
    let quotient =
        |total: i64, parts: u32| (total % i64::from(parts) == 0).then(|| total / i64::from(parts));
    let between = |from: u32, to: u32| of(to).wrapping_sub(of(from)) as i64;
    // Address of lane 0 of a grid that has `first` where it is.
    let base = |step: i64, pitch: i64, bits: u32| {
        let (column, row) = (
            i64::from(first & ((1 << bits) - 1)),
            i64::from(first >> bits),
        );
        of(first)
            .wrapping_sub(step.wrapping_mul(column) as u64)
            .wrapping_sub(pitch.wrapping_mul(row) as u64)
    };
    let fits = |step: i64, pitch: i64, bits: u32| {
        let grid = rows(base(step, pitch, bits), step, pitch, bits);
        lanes.iter().all(|&lane| grid[lane as usize] == of(lane))
    };
    if let Some(step) = quotient(between(first, second), second - first)
        && fits(step, 0, 5)
    {
        return match step {
            0 => Shape::Uniform(of(first)),
            _ => Shape::Stride {
                base: base(step, 0, 5),
                step,
            },
        };
    }
    for bits in (1..5_u32).rev() {
        let (column, row) = (
            |lane: u32| lane & ((1 << bits) - 1),
            |lane: u32| lane >> bits,
        );
        let in_row = lanes
            .windows(2)
            .find(|pair| pair[1] == pair[0] + 1 && row(pair[0]) == row(pair[1]));
        let step = in_row.map_or(0, |pair| between(pair[0], pair[1]));
        let Some(&below) = lanes.iter().find(|&&lane| row(lane) > row(first)) else {
            continue;
        };
        let across = i64::from(column(below)) - i64::from(column(first));
        let down = between(first, below).wrapping_sub(step.wrapping_mul(across));
        if let Some(pitch) = quotient(down, row(below) - row(first))
            && fits(step, pitch, bits)
        {
            return Shape::Rows {
                base: base(step, pitch, bits),
                step,
                pitch,
                row_bits: bits as u8,
            };
        }
    }
    Shape::List
}

proptest! {
    #[test]
    fn the_shape_of_addresses_is_the_simplest_that_fits(
        mask in mask(), mut addresses in addresses(), odd in 0..64_usize
    ) {
        prop_assert_eq!(Shape::of(mask, &addresses), simplest(mask, &addresses));
        // One lane out of place.
        if let Some(address) = addresses.get_mut(odd) {
            *address = address.wrapping_add(4);
            prop_assert_eq!(Shape::of(mask, &addresses), simplest(mask, &addresses));
        }
    }
}

#[test]
fn a_record_the_kernel_cannot_have_is_refused_with_its_place() {
    let message = refusal(32, |stream| stream.step(300, u32::MAX));
    assert_eq!(
        message,
        "kernel random: work-group 1, wavefront 0: a record refers to instruction 300, but the kernel \
         has 300 instructions"
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
