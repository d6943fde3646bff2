//! Tests of 64-byte bursts, column commands that serve two accesses, and channels on one command
//! bus.

use warpweave_framework::Value;

use super::component::{Bench, ROW_BYTES, pseudo_channels, spec};
use crate::dram::tests::presets::preset_a;
use crate::dram::*;
use crate::memory::MemRequest;

/// Rows are closed after each access, so every access takes two commands.
#[test]
fn channels_on_one_bus_take_one_command_in_a_cycle_and_by_two_kinds_of_pins_one_of_each() {
    let timing = Timing {
        burst_cycles: 1,
        t_cl: 4,
        t_wl: 2,
        t_rcd_rd: 4,
        t_rcd_wr: 4,
        t_rp: 4,
        t_ras: 6,
        t_rc: 10,
        t_rrd_s: 1,
        t_rrd_l: 1,
        t_ccd_s: 1,
        t_ccd_l: 1,
        t_rtp: 2,
        t_faw: 0,
        t_32aw: 0,
        t_ppd: 0,
        ..preset_a()
    };
    for (shared_bus, command_bus, cycles_each) in [
        (false, CommandBus::Shared, 1),
        (true, CommandBus::Shared, 2),
        (true, CommandBus::RowAndColumn, 1),
    ] {
        let row = |accesses: u32| {
            let mut bench = Bench::of(&GddrSpec {
                shared_bus,
                command_bus,
                page: Page::Closed,
                refresh: Refresh::Off,
                ..pseudo_channels(timing)
            });
            for id in 0..accesses {
                bench.requests[0].send(MemRequest::read(id, u64::from(id) * 32, 0xff));
            }
            let ends = (0..accesses).map(|_| bench.bench.receive(&bench.responses[0]).0);
            ends.max().expect("there are some")
        };
        let cycles = row(384) - row(128);
        assert_eq!(cycles, 256 * cycles_each, "{shared_bus} {command_bus:?}");
    }
}

/// Four reads, then four writes to another row of the bank. With pairs, each takes two commands.
#[test]
fn a_column_command_serves_an_even_and_an_odd_column_in_one_burst() {
    for (column_pairs, commands) in [(false, 4), (true, 2)] {
        let t = preset_a();
        let mut bench = Bench::of(&GddrSpec {
            column_pairs,
            ..spec(t)
        });
        let more = (commands - 1) * Cycle::from(t.t_ccd_l);
        bench.expect(10, MemRequest::read(7, 0, u32::MAX), 27 + more);
        bench.requests[0].send_at(200, MemRequest::write(8, ROW_BYTES, u32::MAX));
        bench.bench.step(2000);
        assert_eq!((bench.counter("reads"), bench.counter("writes")), (4, 4));
        assert_eq!(bench.counter("bytes"), 8 * 32);
        if column_pairs {
            assert_eq!(bench.counter("paired_accesses"), 4);
        }
        let utilisation = bench.statistics().get("data_bus_utilisation").cloned();
        let Some(Value::Ratio { part, .. }) = utilisation else {
            panic!("{utilisation:?}");
        };
        assert_eq!(part, 2 * commands * u64::from(t.burst_cycles));
    }
    // Both halves of one kind take turns.
    let t = preset_a();
    let mut bench = Bench::of(&GddrSpec {
        column_pairs: true,
        ..spec(t)
    });
    let even = |id: u32| MemRequest::read(id, u64::from(id) * 64, 0xff);
    for id in 0..4 {
        bench.requests[0].send_at(10 + Cycle::from(id), even(id));
    }
    let ends = (0..4).map(|_| bench.bench.receive(&bench.responses[0]).0);
    assert_eq!(ends.last(), Some(10 + 27 + 3 * Cycle::from(t.t_ccd_l)));
    assert_eq!(bench.counter("paired_accesses"), 0);
}

#[test]
fn a_burst_of_64_bytes_is_one_access() {
    let t = preset_a();
    let mut bench = Bench::of(&GddrSpec {
        burst_bytes: 64,
        ..spec(t)
    });
    let line = 27 + Cycle::from(t.t_ccd_l);
    bench.expect(10, MemRequest::read(7, 0, u32::MAX), line);
    bench.bench.step(10);
    assert_eq!(bench.counter("reads"), 2);
    assert_eq!(bench.counter("bytes"), 128);
}
