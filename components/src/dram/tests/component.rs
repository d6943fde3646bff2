//! Component tests on the test bench, with the checker enabled for every command.

use warpweave_framework::{
    EngineOptions, InstanceStatistics, Outcome, Policy, Sink, Source as Sender, TestBench,
};

use crate::dram::tests::presets::{COLUMN_LOWEST, GROUP_LOWEST, reference_geometry};
use crate::dram::tests::presets::{preset_a, preset_d, preset_r};
use crate::dram::*;
use crate::interleave::Interleave;
use crate::memory::{Level, MemRequest, MemResponse, RequestKind, full_line};

/// Bytes of one row in all 16 banks with one device.
pub(super) const ROW_BYTES: u64 = 16 * 64 * 32;

pub(super) fn spec(timing: Timing) -> GddrSpec {
    GddrSpec {
        ports: 1,
        devices: 1,
        burst_bytes: 32,
        column_pairs: false,
        channels: 1,
        interleave: None,
        geometry: reference_geometry(),
        mapping: MappingSpec::Order(COLUMN_LOWEST.to_vec()),
        timing,
        read_queue: 32,
        write_queue: 32,
        bank_queue: None,
        scheduler: Policy::plain::<FrFcfs>(),
        command_bus: CommandBus::Shared,
        shared_bus: false,
        page: Page::Open,
        drain: Drain::Watermarks { high: 25, low: 7 },
        merge_writes: true,
        response_queue: 8,
        latency_cycles: 0,
        refresh: Refresh::AllBank { postponed_max: 0 },
        check: true,
    }
}

pub(super) struct Bench {
    pub(super) bench: TestBench,
    pub(super) requests: Vec<Sender<MemRequest>>,
    pub(super) responses: Vec<Sink<MemResponse>>,
}

impl Bench {
    pub(super) fn new(spec: &GddrSpec, options: EngineOptions) -> Self {
        let mut bench = TestBench::new();
        bench.set_options(options);
        bench.add("dram", GddrController::new(spec).unwrap());
        let ports = 0..spec.ports;
        Self {
            requests: ports
                .clone()
                .map(|i| bench.source(&format!("dram.up[{i}].request")))
                .collect(),
            responses: ports
                .map(|i| bench.sink(&format!("dram.up[{i}].response")))
                .collect(),
            bench,
        }
    }

    pub(super) fn of(spec: &GddrSpec) -> Self {
        Self::new(spec, EngineOptions::default())
    }

    /// Sends the request to port 0 and expects its answer `latency` cycles later.
    pub(super) fn expect(&mut self, cycle: Cycle, request: MemRequest, latency: Cycle) {
        self.requests[0].send_at(cycle, request);
        let answer = request.answer(Level::DRAM);
        self.bench
            .expect_at(&self.responses[0], cycle + latency, &answer);
    }

    pub(super) fn statistics(&mut self) -> InstanceStatistics {
        self.bench.statistics("dram")
    }

    pub(super) fn counter(&mut self, name: &str) -> u64 {
        self.statistics().counter(name).unwrap()
    }
}

#[test]
fn idle_latencies_are_the_published_ones() {
    for (timing, [hit, closed, conflict]) in [
        (preset_a(), [15, 27, 39]),
        (preset_d(), [27, 51, 75]),
        (preset_r(), [21, 39, 57]),
    ] {
        let mut bench = Bench::of(&spec(timing));
        bench.expect(10, MemRequest::read(7, 0, 0xff), closed);
        bench.expect(200, MemRequest::read(7, 32, 0xff), hit);
        bench.expect(400, MemRequest::read(7, ROW_BYTES, 0xff), conflict);
        bench.expect(600, MemRequest::read(7, 64 * 32, 0xff), closed);
    }
}

#[test]
fn idle_latency_follows_the_formula_for_every_access_count_and_extra_latency() {
    let t = preset_a();
    for accesses in 1..=4u32 {
        let words = full_line(32 * accesses);
        let mut bench = Bench::of(&GddrSpec {
            latency_cycles: 9,
            ..spec(t)
        });
        let one_group = Cycle::from((accesses - 1) * t.t_ccd_l);
        let base = Cycle::from(1 + t.t_cl + t.burst_cycles) + 9;
        let rcd = Cycle::from(t.t_rcd_rd);
        bench.expect(10, MemRequest::read(1, 0, words), base + rcd + one_group);
        bench.expect(200, MemRequest::read(2, 256, words), base + one_group);

        // With the groups lowest, the four banks are open after the first reads.
        let mut bench = Bench::of(&GddrSpec {
            mapping: MappingSpec::Order(GROUP_LOWEST.to_vec()),
            ..spec(t)
        });
        let rotating = Cycle::from((accesses - 1) * t.t_ccd_s);
        bench.requests[0].send_at(10, MemRequest::read(1, 0, u32::MAX));
        bench.bench.receive(&bench.responses[0]);
        bench.expect(200, MemRequest::read(2, 256, words), base - 9 + rotating);
    }
}

#[test]
fn devices_in_lock_step_move_a_line_in_one_access() {
    let mut bench = Bench::of(&GddrSpec {
        devices: 4,
        ..spec(preset_a())
    });
    bench.expect(10, MemRequest::read(7, 128, u32::MAX), 27);
    bench.bench.step(10);
    assert_eq!(bench.counter("reads"), 1);
    assert_eq!(bench.counter("bytes"), 128);
}

#[test]
fn only_touched_accesses_are_served() {
    let mut bench = Bench::of(&spec(preset_a()));
    // Words of the first and of the last 32 bytes.
    bench.requests[0].send_at(10, MemRequest::read(7, 0, 0x8000_0001));
    bench.bench.receive(&bench.responses[0]);
    assert_eq!(bench.counter("reads"), 2);
}

#[test]
fn interleaved_channels_see_dense_addresses() {
    let mut bench = Bench::of(&GddrSpec {
        interleave: Some(Interleave::in_turn(256, 6)),
        ..spec(preset_a())
    });
    bench.expect(10, MemRequest::read(7, 0, 0xff), 27);
    // The same row: the channel's second granule.
    bench.expect(200, MemRequest::read(7, 6 * 256, 0xff), 15);
}

#[test]
fn writes_are_acknowledged_when_queued_and_copy_backs_never() {
    let mut bench = Bench::of(&spec(preset_a()));
    bench.expect(10, MemRequest::write(1, 0, 0xff), 1);
    bench.expect(200, MemRequest::write(2, 256, u32::MAX), 4);
    let copy_back = MemRequest {
        kind: RequestKind::CopyBack,
        ..MemRequest::write(3, 512, u32::MAX)
    };
    bench.requests[0].send_at(400, copy_back);
    bench.bench.expect_nothing(&bench.responses[0], 500);
    assert_eq!(bench.counter("writes"), 9);
    assert_eq!(bench.counter("copy_backs"), 1);
}

#[test]
fn writes_a_policy_leaves_waiting_are_no_deadlock() {
    let mut bench = Bench::of(&GddrSpec {
        drain: Drain::Batches { idle_above: 8 },
        ..spec(preset_a())
    });
    for id in 0..8 {
        bench.requests[0].send(MemRequest::write(id, u64::from(id) * ROW_BYTES, 0xff));
    }
    assert_eq!(bench.bench.run_until_quiet(), Outcome::Done);
    assert_eq!(bench.counter("writes"), 0);
    // One more, and all of them go.
    bench.requests[0].send(MemRequest::write(8, 8 * ROW_BYTES, 0xff));
    assert_eq!(bench.bench.run_until_quiet(), Outcome::Done);
    assert_eq!(bench.counter("writes"), 9);
}

#[test]
fn a_read_behind_a_waiting_write_is_answered_from_it_with_its_sequence() {
    let mut bench = Bench::of(&spec(preset_a()));
    let write = MemRequest {
        write_sequence: 41,
        ..MemRequest::write(1, 0, 0xff)
    };
    let read = MemRequest::read(2, 0, 0xff);
    bench.requests[0].send_at(10, write);
    bench.requests[0].send_at(11, read);
    let fresh = MemResponse {
        write_sequence: 41,
        ..read.answer(Level::DRAM)
    };
    bench
        .bench
        .expect_at(&bench.responses[0], 11, &write.answer(Level::DRAM));
    bench.bench.expect_at(&bench.responses[0], 12, &fresh);
    assert_eq!(bench.counter("reads_forwarded"), 1);
    // Long after the write has gone to the devices the line is still known to be fresh.
    bench.requests[0].send_at(300, read);
    bench.bench.expect_at(&bench.responses[0], 315, &fresh);
}

#[test]
fn a_write_does_not_overtake_a_read_of_its_line() {
    let mut bench = Bench::of(&spec(preset_a()));
    let read = MemRequest::read(1, 0, 0xff);
    let write = MemRequest::write(2, 0, 0xff);
    bench.requests[0].send_at(10, read);
    bench.requests[0].send_at(11, write);
    bench
        .bench
        .expect_at(&bench.responses[0], 37, &read.answer(Level::DRAM));
    // Accepted when the read is finished, in cycle 37.
    bench
        .bench
        .expect_at(&bench.responses[0], 38, &write.answer(Level::DRAM));
}

#[test]
fn a_short_read_does_not_overtake_a_long_one_of_its_source_and_line() {
    let mut bench = Bench::of(&spec(preset_a()));
    // A waiting write of the first access alone answers the second read at once.
    bench.requests[0].send_at(10, MemRequest::write(0, 0, 0xff));
    bench.requests[0].send_at(11, MemRequest::read(1, 0, u32::MAX));
    bench.requests[0].send_at(12, MemRequest::read(2, 0, 0xff));
    let ids: Vec<_> = (0..3)
        .map(|_| bench.bench.receive(&bench.responses[0]).1.id)
        .collect();
    assert_eq!(ids, [0, 1, 2]);
}

#[test]
fn a_full_queue_leaves_requests_in_the_port_without_loss() {
    let mut bench = Bench::of(&GddrSpec {
        read_queue: 2,
        response_queue: 1,
        ..spec(preset_a())
    });
    bench.responses[0].stall_until(3000);
    for id in 0..100 {
        bench.requests[0].send(MemRequest::read(id, u64::from(id) * ROW_BYTES, 0xff));
    }
    bench.bench.step(2000);
    assert!(bench.requests[0].pending() > 50, "the sender is held up");
    let mut ids: Vec<_> = (0..100)
        .map(|_| bench.bench.receive(&bench.responses[0]).1.id)
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..100).collect::<Vec<_>>());
}

#[test]
fn ports_take_turns() {
    let mut bench = Bench::of(&GddrSpec {
        ports: 3,
        ..spec(preset_a())
    });
    for id in 0..400 {
        for (port, requests) in bench.requests.iter().enumerate() {
            let line = (u64::from(id) * 3 + port as u64) * 32;
            requests.send(MemRequest::read(id, line, 0xff));
        }
    }
    bench.bench.step(900);
    let received: Vec<_> = bench.responses.iter().map(Sink::count).collect();
    assert!(received[0] > 50, "{received:?}");
    assert!(
        received.iter().all(|n| n.abs_diff(received[0]) <= 2),
        "{received:?}"
    );
}

#[test]
#[should_panic(expected = "an atomic on line 0x80 reached memory")]
fn an_atomic_is_an_error_of_the_system() {
    let mut bench = Bench::of(&spec(preset_a()));
    let atomic = MemRequest {
        kind: RequestKind::Atomic,
        ..MemRequest::read(0, 128, 1)
    };
    bench.requests[0].send_at(10, atomic);
    bench.bench.step(20);
}

#[test]
fn refresh_keeps_no_run_alive_and_is_counted_while_asleep() {
    let mut bench = Bench::of(&spec(preset_a()));
    bench.expect(10, MemRequest::read(7, 0, 0xff), 27);
    assert_eq!(bench.bench.run_until_quiet(), Outcome::Done);
    assert!(bench.bench.cycle() < 100);
    let until = 10_000 * 2660 - bench.bench.cycle();
    bench.bench.step(until);
    // The last one has just appeared; the first precharged the row.
    assert_eq!(bench.counter("refreshes"), 10_000);
    assert_eq!(bench.counter("precharges_all"), 1);
}

#[test]
fn streaming_reads_over_bank_groups_reach_95_percent_of_peak_less_refresh() {
    let timing = preset_a();
    let mut bench = Bench::of(&GddrSpec {
        devices: 4,
        mapping: MappingSpec::Order(GROUP_LOWEST.to_vec()),
        ..spec(timing)
    });
    let reads = 20_000;
    for id in 0..reads {
        bench.requests[0].send(MemRequest::read(id, u64::from(id) * 128, u32::MAX));
    }
    let (mut first, mut last) = (None, 0);
    for _ in 0..reads {
        let (cycle, _) = bench.bench.receive(&bench.responses[0]);
        first.get_or_insert(cycle);
        last = cycle;
    }
    let cycles = last - first.expect("something was read");
    let share = f64::from(reads * timing.burst_cycles) / cycles as f64;
    let peak = 1.0 - f64::from(timing.t_rfc) / f64::from(timing.t_refi);
    assert!(share >= 0.95 * peak, "{share:.4} of peak, {peak:.4} usable");
}

#[test]
fn bad_numbers_are_refused_by_field() {
    let good = spec(preset_a());
    let field = |spec: GddrSpec| GddrController::new(&spec).err().expect("refused").field;
    let of = |change: &dyn Fn(&mut GddrSpec)| {
        let mut spec = good.clone();
        change(&mut spec);
        field(spec)
    };
    assert_eq!(of(&|s| s.ports = 0), "ports");
    assert_eq!(of(&|s| s.devices = 3), "devices");
    assert_eq!(of(&|s| s.read_queue = 100_000), "read_queue");
    let marks = |high, low| move |s: &mut GddrSpec| s.drain = Drain::Watermarks { high, low };
    assert_eq!(of(&marks(32, 7)), "drain.high");
    assert_eq!(of(&marks(25, 27)), "drain.low");
    assert_eq!(of(&marks(25, 0)), "drain.low");
    assert_eq!(
        of(&|s| s.drain = Drain::Batches { idle_above: 32 }),
        "drain.idle_above"
    );
    assert_eq!(of(&|s| s.bank_queue = Some(5000)), "bank_queue");
    assert_eq!(of(&|s| s.channels = 3), "channels");
    assert_eq!(of(&|s| s.channels = 2), "mapping");
    let late = Refresh::AllBank { postponed_max: 8 };
    assert_eq!(of(&|s| s.refresh = late), "refresh.postponed_max");
    assert_eq!(of(&|s| s.geometry.columns = 65), "geometry.columns");
    let short = MappingSpec::Order(COLUMN_LOWEST[..3].to_vec());
    assert_eq!(of(&|s| s.mapping = short.clone()), "mapping");
    assert_eq!(of(&|s| s.timing.burst_cycles = 0), "timing.burst_cycles");
    assert_eq!(of(&|s| s.timing.t_rfc = 3000), "timing.t_refi");
    assert_eq!(of(&|s| s.timing.t_cl = 1 << 25), "timing.t_cl");
}

/// Returns one of several very different controllers.
pub(super) fn with_policies(number: usize) -> GddrSpec {
    let usual = spec(preset_a());
    match number {
        0 => usual,
        1 => GddrSpec {
            bank_queue: Some(8),
            scheduler: Policy::of::<BankRoundRobin>(&BankRoundRobinSpec { hits: 4 }),
            drain: Drain::Batches { idle_above: 8 },
            ..usual
        },
        2 => GddrSpec {
            scheduler: Policy::of::<FrFcfsCap>(&FrFcfsCapSpec { columns: 16 }),
            page: Page::Closed,
            refresh: Refresh::PerBank { postponed_max: 0 },
            timing: Timing {
                t_refi_b: Some(166),
                t_rfc_b: Some(60),
                t_rrefd: Some(10),
                ..usual.timing
            },
            ..usual
        },
        3 => GddrSpec {
            channels: 2,
            mapping: MappingSpec::Order(vec![
                Field::Column,
                Field::Channel,
                Field::BankGroup,
                Field::Bank,
                Field::Row,
            ]),
            scheduler: Policy::plain::<RowHitFirst>(),
            page: Page::Timeout { cycles: 40 },
            refresh: Refresh::AllBank { postponed_max: 7 },
            merge_writes: false,
            ..usual
        },
        4 => GddrSpec {
            command_bus: CommandBus::RowAndColumn,
            refresh: Refresh::PerBank { postponed_max: 0 },
            ..pseudo_channels(Timing {
                t_refi_b: Some(166),
                t_rfc_b: Some(60),
                t_rrefd: Some(10),
                ..usual.timing
            })
        },
        5 => GddrSpec {
            channels: 4,
            mapping: MappingSpec::Order(vec![
                Field::Channel,
                Field::BankGroup,
                Field::Bank,
                Field::Column,
                Field::Row,
            ]),
            command_bus: CommandBus::RowAndColumn,
            refresh: Refresh::PerBank { postponed_max: 1 },
            // The refresh of a bank is under way when that of the next one begins.
            timing: Timing {
                t_refi_b: Some(160),
                t_rfc_b: Some(250),
                t_rrefd: Some(10),
                ..usual.timing
            },
            ..usual
        },
        _ => GddrSpec {
            column_pairs: true,
            page: Page::Timeout { cycles: 40 },
            ..pseudo_channels(usual.timing)
        },
    }
}

/// Returns a controller with two channels on one command bus.
pub(super) fn pseudo_channels(timing: Timing) -> GddrSpec {
    GddrSpec {
        channels: 2,
        shared_bus: true,
        mapping: MappingSpec::Order(vec![
            Field::Channel,
            Field::BankGroup,
            Field::Bank,
            Field::Column,
            Field::Row,
        ]),
        ..spec(timing)
    }
}

#[test]
fn channels_work_side_by_side() {
    let cycles = |channels: u32| {
        let mut bench = Bench::of(&GddrSpec {
            channels,
            mapping: MappingSpec::Order(vec![
                Field::BankGroup,
                Field::Channel,
                Field::Column,
                Field::Bank,
                Field::Row,
            ]),
            devices: 4,
            ports: 2,
            ..spec(preset_a())
        });
        for id in 0..400u32 {
            // Each port one line in two.
            let port = id as usize % 2;
            bench.requests[port].send(MemRequest::read(id, u64::from(id) * 128, u32::MAX));
        }
        let last = (0..200).map(|_| {
            let responses = bench.responses.clone();
            let ends = responses.iter().map(|r| bench.bench.receive(r).0);
            ends.max().expect("two ports")
        });
        last.max().expect("200 pairs")
    };
    // Every access takes two cycles of one data bus.
    let (one, two, four) = (cycles(1), cycles(2), cycles(4));
    assert!(two * 10 < one * 6, "{two} and {one} cycles");
    assert!(four * 10 < two * 6, "{four} and {two} cycles");
}

#[test]
fn as_many_accesses_enter_in_a_cycle_as_the_pins_of_all_channels_carry() {
    let width = |channels, column_pairs, burst_cycles| {
        let timing = Timing {
            burst_cycles,
            ..preset_a()
        };
        let spec = GddrSpec {
            column_pairs,
            channels,
            ..spec(timing)
        };
        spec.accesses_per_cycle()
    };
    assert_eq!(
        [1, 2, 4, 16].map(|channels| width(channels, false, 2)),
        [1, 1, 2, 8]
    );
    assert_eq!(
        [1, 2, 4, 16].map(|channels| width(channels, true, 2)),
        [1, 2, 4, 16]
    );
    assert_eq!(
        [1, 2, 4].map(|channels| width(channels, false, 4)),
        [1, 1, 1]
    );
}

#[test]
fn a_line_enters_four_channels_in_two_cycles() {
    let mut bench = Bench::of(&GddrSpec {
        channels: 4,
        mapping: MappingSpec::Order(vec![
            Field::Channel,
            Field::BankGroup,
            Field::Column,
            Field::Bank,
            Field::Row,
        ]),
        ..spec(preset_a())
    });
    // Two accesses in a cycle: the last two enter a cycle later.
    bench.expect(10, MemRequest::read(7, 0, u32::MAX), 27 + 1);
    bench.expect(200, MemRequest::write(8, 128, u32::MAX), 2);
}

#[test]
fn a_write_behind_a_read_of_its_line_cannot_lock_up_full_queues() {
    for policies in 0..7 {
        let mut bench = Bench::of(&GddrSpec {
            ports: 2,
            read_queue: 4,
            write_queue: 9,
            drain: Drain::Watermarks { high: 8, low: 1 },
            ..with_policies(policies)
        });
        for round in 0..40u32 {
            let line = |n: u32| u64::from(round * 8 + n) * ROW_BYTES / 4;
            for n in 0..8 {
                bench.requests[0].send(MemRequest::read(round * 16 + n, line(n), 0xff));
                bench.requests[1].send(MemRequest::write(round * 16 + 8 + n, line(n), 0xff));
            }
        }
        assert_eq!(bench.bench.run_until_quiet(), Outcome::Done);
        let answered: Vec<_> = bench.responses.iter().map(Sink::count).collect();
        assert_eq!(answered, [320, 320], "policies {policies}");
    }
}
