//! Tests of launches that are simulated while they are emulated.

use std::sync::Arc;
use std::thread;

use proptest::prelude::*;
use warpweave_trace::{Ahead, KernelTrace, KernelWriter, StreamWriter, WavefrontCounts};

use crate::model::{Plain, code, read, stream};

/// Creates a launch of one-wavefront work-groups whose streams are not written yet.
fn foreseen(work_groups: usize, ahead: &Arc<Ahead>) -> KernelTrace {
    let grid = [work_groups as u32, 1, 1];
    ahead
        .launch(code(), grid, [32, 1, 1], 0, Vec::new())
        .unwrap()
}

/// Writes the streams in this order, and spills parts of those larger than `spilling_from`.
fn write(
    streams: &[Vec<Plain>],
    order: &[usize],
    spilling_from: u64,
    foreseen: &KernelTrace,
) -> KernelTrace {
    let (grid, block) = (foreseen.grid, foreseen.block);
    let writer = KernelWriter::new(code(), grid, block, 0, Vec::new()).unwrap();
    let mut writer = writer.spilling_from(spilling_from).ahead_as(foreseen);
    for &group in order {
        let mut stream = StreamWriter::new();
        for record in &streams[group] {
            record.write(&mut stream);
            if writer.is_to_spill(stream.stream_bytes()) {
                writer.spill_part(group as u32, 0, &mut stream).unwrap();
            }
        }
        writer.finish_wavefront(group as u32, 0, stream).unwrap();
    }
    writer.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whoever_reads_a_launch_while_it_is_written_reads_what_is_written(
        (streams, written, read_in) in prop::collection::vec(stream(), 1..12).prop_flat_map(|streams| {
            let order: Vec<usize> = (0..streams.len()).collect();
            (Just(streams), Just(order.clone()).prop_shuffle(), Just(order).prop_shuffle())
        }),
        window in 0..400_u64,
        spilling_from in prop_oneof![Just(u64::MAX), 1..60_u64],
    ) {
        let ahead = Ahead::of(window);
        // The launch before it is kept or not, too.
        let launches = [(); 2].map(|()| foreseen(streams.len(), &ahead));
        let plain = Ahead::of(u64::MAX);
        let expected = write(&streams, &written, u64::MAX, &foreseen(streams.len(), &plain));
        let wanted: Vec<_> = (0..streams.len()).map(|group| read(&expected, expected.cursor(group as u32, 0))).collect();
        thread::scope(|scope| {
            let emulation = scope.spawn(|| {
                let written = launches.each_ref().map(|launch| {
                    let ended = Arc::new(write(&streams, &written, spilling_from, launch));
                    ahead.finished(&ended);
                    ended
                });
                ahead.end();
                written
            });
            let before = ahead.begun();
            let all = 2 * expected.stream_bytes();
            assert_eq!(before.is_some(), all > window, "{all} bytes");
            let Some(before) = before else {
                let ended = emulation.join().unwrap();
                assert!(ended.iter().all(|launch| launch.hash() == expected.hash()));
                return;
            };
            for (number, own) in launches.iter().enumerate().take(2) {
                let launch = before.get(number).map_or(own, |known| known);
                for &group in &read_in {
                    assert_eq!(read(launch, launch.cursor(group as u32, 0)), wanted[group]);
                }
            }
            for launch in emulation.join().unwrap() {
                assert_eq!(launch.counts(), expected.counts());
                assert_eq!(launch.stream_bytes(), expected.stream_bytes());
                for group in 0..streams.len() as u32 {
                    assert_eq!(launch.wavefront_counts(group, 0), expected.wavefront_counts(group, 0));
                }
            }
        });
    }
}

/// Returns streams of a hundred bytes and more.
fn long() -> Vec<Vec<Plain>> {
    let step = |pc| Plain {
        pc,
        mask: 1,
        space: warpweave_trace::Space::None,
        continues: false,
        addresses: None,
    };
    vec![(0..60).map(|at| step(at * 7 % 16)).collect(); 8]
}

#[test]
fn an_emulation_that_nobody_simulates_any_more_goes_on_to_its_end() {
    let ahead = Ahead::of(10);
    let streams = long();
    let launch = foreseen(streams.len(), &ahead);
    let order: Vec<usize> = (0..streams.len()).collect();
    thread::scope(|scope| {
        let emulation = scope.spawn(|| write(&streams, &order, u64::MAX, &launch));
        assert!(ahead.begun().is_some_and(|before| before.is_empty()));
        ahead.release();
        let ended = emulation.join().unwrap();
        assert_eq!(ended.counts().instructions, 480);
        // Later readers get an empty stream instead of waiting.
        assert!(read(&launch, launch.cursor(7, 0)).is_empty());
    });
}

#[test]
fn who_waits_for_a_stream_of_an_emulation_that_failed_gets_none() {
    let ahead = Ahead::of(10);
    let streams = long();
    let launch = foreseen(streams.len() + 1, &ahead);
    thread::scope(|scope| {
        scope.spawn(|| {
            let writer = KernelWriter::new(code(), launch.grid, launch.block, 0, Vec::new());
            let mut writer = writer.unwrap().ahead_as(&launch);
            for (group, records) in (0..3).zip(&streams) {
                let mut stream = StreamWriter::new();
                for record in records {
                    record.write(&mut stream);
                }
                writer.finish_wavefront(group, 0, stream).unwrap();
            }
            ahead.end();
        });
        assert!(ahead.begun().is_some());
        assert!(read(&launch, launch.cursor(5, 0)).is_empty());
        assert_eq!(launch.wavefront_counts(5, 0), WavefrontCounts::default());
        assert_eq!(read(&launch, launch.cursor(2, 0)).len(), 60);
    });
}

#[test]
#[should_panic(expected = "read again after it had been consumed and dropped")]
fn a_stream_that_was_dropped_is_not_read_as_an_empty_one() {
    let ahead = Ahead::of(10);
    let streams = long();
    let launch = foreseen(streams.len(), &ahead);
    let order: Vec<usize> = (0..streams.len()).collect();
    thread::scope(|scope| {
        let emulation = scope.spawn(|| write(&streams, &order, u64::MAX, &launch));
        for group in 0..streams.len() as u32 {
            assert_eq!(read(&launch, launch.cursor(group, 0)).len(), 60);
        }
        emulation.join().unwrap();
    });
    let _ = launch.cursor(3, 0);
}

#[test]
fn an_emulation_is_no_further_ahead_than_it_may_be() {
    let window = 1000;
    let ahead = Ahead::of(window);
    let streams: Vec<Vec<Plain>> = long().into_iter().cycle().take(400).collect();
    let launch = foreseen(streams.len(), &ahead);
    let order: Vec<usize> = (0..streams.len()).collect();
    let each = write(
        &streams,
        &order,
        u64::MAX,
        &foreseen(400, &Ahead::of(u64::MAX)),
    )
    .stream_bytes()
        / 400;
    thread::scope(|scope| {
        let emulation = scope.spawn(|| write(&streams, &order, u64::MAX, &launch));
        assert!(ahead.begun().is_some());
        let mut furthest = 0;
        for group in 0..400 {
            let cursor = launch.cursor(group, 0);
            // Time for one that does not wait.
            (0..100).for_each(|_| thread::yield_now());
            let came = launch.stream_bytes();
            furthest = furthest.max(came - u64::from(group + 1) * each);
            assert_eq!(read(&launch, cursor).len(), 60);
        }
        emulation.join().unwrap();
        assert!(furthest <= 8 * window + each, "{furthest}");
    });
}
