//! Tests with traces of requests, packets, accesses and commands.

use warpweave_framework::Environment;
use warpweave_standalone::{CYCLE_MAX, cache, dram, environment, noc};

use super::Folder;

/// Drives a trace through a controller. Returns the outcome or the error message.
fn served(preset: &str, text: &str, record: bool) -> Result<dram::Outcome, String> {
    let folder = Folder::new();
    let path = folder.write("t.csv", text);
    let setup = dram::load(preset).unwrap();
    let trace = dram::read_requests(&path).map_err(|e| folder.plain(&e))?;
    let outcome = dram::drive(&setup, &trace.rows, record, &environment());
    outcome.map_err(|e| folder.plain(&trace.refused(e)))
}

fn requests(rows: &str) -> Result<dram::Outcome, String> {
    served("A", &format!("arrival,rw,address\n{rows}"), false)
}

fn packets(rows: &str) -> Result<Vec<noc::Packet>, String> {
    let folder = Folder::new();
    let path = folder.write("t.csv", &format!("create,src,dst,flits\n{rows}"));
    noc::read_packets(&path).map_err(|e| folder.plain(&e))
}

#[test]
fn a_time_near_the_end_of_the_numbers_is_refused_at_its_line() {
    assert_eq!(
        requests("0,R,0\n18446744073709551615,R,0\n").unwrap_err(),
        "t.csv:3: column arrival: cycle 18446744073709551615 is beyond 4611686018427387904\n\
         hint: count cycles from the first request"
    );
    assert_eq!(
        packets("18446744073709551615,0,0,1\n").unwrap_err(),
        "t.csv:2: column create: cycle 18446744073709551615 is beyond 4611686018427387904\n\
         hint: count cycles from the first packet"
    );
}

#[test]
fn the_last_allowed_cycle_is_served_like_the_first() {
    let late = requests(&format!("{CYCLE_MAX},R,0\n{CYCLE_MAX},R,4096\n")).unwrap();
    // Refresh comes due in another phase; without it nothing differs.
    let latencies: Vec<_> = late
        .served
        .iter()
        .map(|s| s.done - s.accept as i64)
        .collect();
    assert!(
        latencies.iter().all(|l| (27..400).contains(l)),
        "{latencies:?}"
    );
    assert!(
        late.summary.evaluations < 1000,
        "idle time is not walked through"
    );

    let spec = noc::preset("voq_i4", 2, 2).unwrap();
    let run = |start: u64| {
        let packet = |create, src| noc::Packet {
            create: start + create,
            src,
            dst: 1,
            flits: 3,
        };
        let packets = [packet(0, 0), packet(1, 1), packet(40, 0)];
        let shape = noc::Shape {
            inputs: 2,
            outputs: 2,
        };
        let run = noc::drive(&spec, shape, &packets, u64::MAX, &Environment::default()).unwrap();
        let passages = run.passages.into_iter().flatten();
        passages
            .map(|p| (p.inject - start, p.arrive - start))
            .collect::<Vec<_>>()
    };
    assert_eq!(run(0), run(CYCLE_MAX - 40));
}

#[test]
fn requests_out_of_order_are_refused_and_packets_of_one_source_too() {
    assert_eq!(
        requests("9,R,0\n\n8,R,0\n").unwrap_err(),
        "t.csv:4: column arrival: cycle 8 follows the later cycle 9 in the row above\n\
         hint: sort the requests by cycle"
    );
    assert_eq!(
        packets("9,0,0,1\n8,1,0,1\n7,0,0,1\n").unwrap_err(),
        "t.csv:4: column create: cycle 7 follows the later cycle 9 of the previous packet from source 0\n\
         hint: each source sends in row order; sort the rows by cycle"
    );
}

#[test]
fn addresses_beyond_the_device_are_counted_and_wrap() {
    let device = 134_217_728;
    let far = requests(&format!("0,R,0\n0,R,{}\n9,W,{}\n", device + 32, u64::MAX)).unwrap();
    let beyond = far.summary.beyond_device.unwrap();
    assert_eq!(
        (beyond.requests, beyond.first, beyond.device_bytes),
        (2, 1, device)
    );
    assert!(far.summary.text().contains("beyond the device      2\n"));
    let near = requests(&format!("0,R,0\n0,R,32\n9,W,{}\n", device - 1)).unwrap();
    assert_eq!(near.summary.beyond_device, None);
    assert_eq!(near.served, far.served);
    assert!(!near.summary.text().contains("beyond"));
}

#[test]
fn coordinates_that_name_one_of_several_channels_need_the_channel() {
    let preset = "TitanV";
    let channels = dram::load(preset).unwrap().spec.channels;
    let several = if channels > 1 {
        preset.to_owned()
    } else {
        two_channels()
    };
    let place = "arrival,rw,bg,ba,row,col\n0,R,0,0,1,1\n";
    assert!(
        served(&several, place, false)
            .unwrap_err()
            .contains("t.csv:2: column bg: coordinates do not select one of the")
    );
    let at = |channel: u32| {
        let text = format!("arrival,rw,channel,bg,ba,row,col\n0,R,{channel},0,0,1,1\n");
        served(&several, &text, true)
    };
    let commands = at(1).unwrap().commands;
    assert!(commands[0].iter().all(|issued| !matches!(
        issued.command,
        warpweave_components::dram::Command::Read { .. }
    )));
    assert!(!commands[1].is_empty());
    assert!(at(4096).unwrap_err().contains("channel 4096 is not among"));
}

/// Writes a description of two channels to a folder that lasts until the program ends.
fn two_channels() -> String {
    let a = include_str!("../../../../scenarios/presets/gddr5/a.ron");
    let text = a
        .replace("ports: 1", "channels: 2, ports: 1")
        .replace("Bank, Row]", "Bank, Row, Channel]");
    let path = Folder::new().0.keep().join("two.ron");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_trace_without_rows_is_refused() {
    let empty = "t.csv:1: the table has no rows";
    assert!(requests("").unwrap_err().starts_with(empty));
    assert!(packets("").unwrap_err().starts_with(empty));
    let folder = Folder::new();
    let path = folder.write("t.csv", "rw,addr_hex\n");
    let error = cache::read_trace(&path).unwrap_err();
    assert!(folder.plain(&error).starts_with(empty));
}

#[test]
fn a_packet_of_absurd_length_is_refused() {
    for flits in ["4294967296", "4294967295", "65537", "0", "-1"] {
        let error = packets(&format!("0,0,0,1\n0,0,0,{flits}\n")).unwrap_err();
        assert!(error.starts_with("t.csv:3: column "), "{error}");
        assert!(error.contains("flits"), "{error}");
    }
    assert_eq!(packets("0,0,0,65536\n").unwrap()[0].flits, 65_536);
}

#[test]
fn ports_beyond_any_network_are_refused() {
    for rows in ["0,128,0,1\n", "0,0,128,1\n", "0,0,18446744073709551615,1\n"] {
        let error = packets(rows).unwrap_err();
        assert!(error.contains("invalid port"), "{error}");
    }
}

#[test]
fn so_many_refreshes_are_not_kept_one_by_one() {
    let rows = format!("arrival,rw,address\n0,R,0\n{CYCLE_MAX},R,0\n");
    assert!(served("A", &rows, false).is_ok());
    let error = served("A", &rows, true).unwrap_err();
    assert!(
        error.starts_with("t.csv:3: column arrival: more than 16777216 refreshes are due"),
        "{error}"
    );
}

#[test]
fn every_field_of_a_network_may_be_absurd() {
    let folder = Folder::new();
    let router = "Router(flit_bytes: 40, queueing: Fifo, virtual_channels: 2, ordered: false, \
                  buffer_flits: 16, output_buffer_flits: 16, arbiter: Islip(iterations: 1), \
                  internal_speedup: 1, input_speedup: 1, speculative: false, routing_cycles: 0, \
                  vc_allocation_cycles: 1, switch_allocation_cycles: 1, traversal_cycles: 1, \
                  input_wire_cycles: 2, output_wire_cycles: 2, credit_wire_cycles: 2, \
                  credit_cycles: 0)";
    let packets = [noc::Packet {
        create: 0,
        src: 1,
        dst: 1,
        flits: 5,
    }];
    let numbers: Vec<_> = router.match_indices(": ").map(|(at, _)| at + 2).collect();
    for at in numbers {
        for value in [
            "0",
            "65537",
            "4294967295",
            "18446744073709551616",
            "-1",
            "x",
        ] {
            let end = router[at..].find([',', ')']).unwrap() + at;
            let text = format!("{}{value}{}", &router[..at], &router[end..]);
            let path = folder.write("network.ron", &text).display().to_string();
            let run = noc::bench(&path, &packets, None, None, &environment());
            if let Err(error) = run {
                assert!(
                    folder.plain(&error).contains("--> network.ron:1:"),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn more_ports_than_can_be_built_are_refused() {
    let packets = [noc::Packet {
        create: 0,
        src: 1,
        dst: 1,
        flits: 5,
    }];
    for ports in [0, 1, 129, usize::MAX] {
        let run = noc::bench("fifo_s1", &packets, Some(ports), None, &environment());
        let error = run.unwrap_err().to_string();
        assert!(
            error.contains(&format!("--inputs {ports}: the trace needs 2")),
            "{error}"
        );
    }
    let shape = noc::Shape {
        inputs: 1,
        outputs: 1,
    };
    assert!(noc::read_network("fifo_s2", shape).is_err());
}

#[test]
fn addresses_of_a_cache_are_hexadecimal_and_cut_accesses_are_counted() {
    let folder = Folder::new();
    let read = |rows: &str| {
        let path = folder.write("t.csv", &format!("rw,addr_hex\n{rows}"));
        cache::read_trace(&path).map_err(|e| folder.plain(&e))
    };
    for address in ["", "+1", "0x0x1", "10000000000000000", "1g", "-1"] {
        let error = read(&format!("R,0\nR,{address}\n")).unwrap_err();
        assert!(error.starts_with("t.csv:3: column addr_hex: "), "{error}");
    }
    let trace = read("R,ffffffffffffffff\nW,0x7e\nR,7c\n").unwrap();
    let path = folder.write(
        "bench.ron",
        "(cache: (level: L1, size_bytes: 16384, line_bytes: 128, ways: 4, replacement: Lru,
          allocate: OnMiss, write: WriteEvict, atomics: Forward, mshr_entries: 8, mshr_merges: 8,
          pass_entries: 8, miss_queue_entries: 8, hit_latency_cycles: 20, miss_latency_cycles: 10,
          fill_latency_cycles: 5, responses_per_cycle: 1), memory_latency_cycles: 100)",
    );
    let timed = cache::Bench::read(&path)
        .unwrap()
        .run(&trace, &environment());
    assert_eq!(timed.unwrap().cut, 2);
}

#[test]
fn commands_near_the_end_of_the_numbers_are_judged_or_refused() {
    let folder = Folder::new();
    let judged = |rows: &str| {
        let path = folder.write("c.csv", &format!("cycle,cmd,bg,ba,row,col\n{rows}"));
        let verdict = dram::judge(&dram::load("A").unwrap(), &path);
        verdict.map_err(|e| folder.plain(&e))
    };
    let late = judged(&format!("0,ACT,0,0,1,\n{CYCLE_MAX},RD,0,0,1,1\n")).unwrap();
    assert!(!late.holds(), "the refreshes are missing");
    assert!(
        judged("18446744073709551615,REF,,,,\n")
            .unwrap_err()
            .starts_with("c.csv:2: column cycle")
    );
    for row in [
        "0,ACT,0,0,4096,",
        "0,ACT,4,0,1,",
        "0,RD,0,0,1,64",
        "0,RD,0,0,1,",
        "0,\u{1b}[31m,,,,",
    ] {
        let error = judged(&format!("{row}\n")).unwrap_err();
        assert!(error.starts_with("c.csv:2: column cmd: "), "{error}");
        assert!(!error.contains('\u{1b}'));
    }
}
