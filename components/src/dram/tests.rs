//! The component on the test bench.

use warpweave_framework::TestBench;

use super::mapping::tests::{COLUMN_LOWEST, reference_geometry};
use super::timing::tests::{preset_a, preset_d, preset_r};
use super::*;
use crate::memory::MemResponse;

fn spec(timing: Timing) -> GddrSpec {
    GddrSpec {
        ports: 1,
        devices: 1,
        interleave: None,
        geometry: reference_geometry(),
        mapping: COLUMN_LOWEST.to_vec(),
        timing,
        read_queue: 32,
        write_queue: 32,
        write_high: 25,
        write_low: 6,
        response_queue: 8,
        latency_cycles: 0,
        refresh: true,
    }
}

#[test]
fn idle_latencies_are_the_published_ones() {
    for (timing, [hit, closed, conflict]) in [
        (preset_a(), [15, 27, 39]),
        (preset_d(), [27, 51, 75]),
        (preset_r(), [21, 39, 57]),
    ] {
        let mut bench = TestBench::new();
        bench.add("dram", GddrController::new(&spec(timing)).unwrap());
        let requests = bench.source::<MemRequest>("dram.up[0].request");
        let responses = bench.sink::<MemResponse>("dram.up[0].response");
        let row_bytes = 16 * 64 * 32;
        for (cycle, line, latency) in [
            (10, 0, closed),
            (200, 32, hit),
            (400, row_bytes, conflict),
            (600, 64 * 32, closed),
        ] {
            let request = MemRequest::read(7, line, 0xff);
            requests.send_at(cycle, request);
            bench.expect_at(&responses, cycle + latency, &request.answer(Level::Dram));
        }
    }
}
