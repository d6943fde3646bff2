//! Tests on committed excerpts of the reference data, and on inputs that must be rejected.

use std::path::{Path, PathBuf};

use warpweave_components::dram::{
    BankRoundRobin, BankRoundRobinSpec, Checker, Command, Fcfs, GddrSpec, Issued, Page, Refresh,
    Report, RowHitFirst, Timing,
};
use warpweave_framework::Policy;

use super::validate::as_tool;
use super::*;
use crate::{Table, environment};

const ALL_BANK: Refresh = Refresh::AllBank { postponed_max: 0 };

fn testdata(kind: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata/dram")
        .join(kind)
        .join(format!("{name}.csv.gz"))
}

fn requests(trace: &str) -> Vec<RequestRow> {
    let table = read_requests(&testdata("traces", trace)).expect("committed");
    table.rows
}

/// Returns our results and the tool's for the start of a request trace. The last requests have no
/// expected result and only add contention.
fn served(
    preset: &str,
    tool: &str,
    trace: &str,
    change: impl FnOnce(&mut GddrSpec),
) -> (Vec<ServedRow>, Vec<ServedRow>) {
    let rows = requests(trace);
    let expected = testdata("per_request", &format!("{preset}_{tool}_{trace}"));
    let expected = Table::<ServedRow>::read(&expected).expect("committed").rows;
    assert!(expected.len() >= 300 && expected.len() < rows.len());
    let mut setup = as_tool(preset, tool).expect("a tool");
    setup.spec.check = true;
    change(&mut setup.spec);
    let mut ours = drive(&setup, &rows, false, &environment())
        .expect("no rule is broken")
        .served;
    ours.truncate(expected.len());
    (ours, expected)
}

/// Runs in which every single request must match to the cycle.
const TO_THE_CYCLE: [(&str, &str); 9] = [
    ("A", "idle"),
    ("A", "rand_r_lo"),
    ("A", "rand_r_sat"),
    ("A", "hits90_hi"),
    ("A", "seqbgi_r_sat"),
    ("A", "bghostile_sat"),
    ("A", "rowconf_sat"),
    ("R", "hits90_hi"),
    ("R", "mix50_lo"),
];

#[test]
fn requests_of_ramulator_2_are_served_in_the_same_cycles() {
    for (preset, trace) in TO_THE_CYCLE {
        let (ours, expected) = served(preset, "ram2_frfcfs", trace, |_| ());
        assert_eq!(ours, expected, "{preset} {trace}");
    }
}

/// Checks that the comparison can fail: each of these controllers is off by one cycle or one
/// policy.
#[test]
fn controllers_that_are_not_the_reference_differ_from_it() {
    let changes: [(&str, fn(&mut GddrSpec)); 16] = [
        ("tCL", |s| s.timing.t_cl += 1),
        ("tRCDRD", |s| s.timing.t_rcd_rd += 1),
        ("tRCDWR", |s| s.timing.t_rcd_wr += 1),
        ("tRP", |s| s.timing.t_rp += 1),
        ("tRAS", |s| s.timing.t_ras += 1),
        ("tRC", |s| s.timing.t_rc += 1),
        ("tRRD_S", |s| s.timing.t_rrd_s += 1),
        ("tCCD_S", |s| s.timing.t_ccd_s += 1),
        ("tCCD_L", |s| s.timing.t_ccd_l += 1),
        ("tRFC", |s| s.timing.t_rfc += 1),
        ("tREFI", |s| s.timing.t_refi += 1),
        ("read queue", |s| s.read_queue -= 1),
        ("page", |s| s.page = Page::Closed),
        ("in order", |s| s.scheduler = Policy::plain::<Fcfs>()),
        ("hits first", |s| {
            s.scheduler = Policy::plain::<RowHitFirst>();
        }),
        ("bank by bank", |s| {
            s.scheduler = Policy::of::<BankRoundRobin>(&BankRoundRobinSpec { hits: 4 });
        }),
    ];
    for (name, change) in changes {
        let differs = TO_THE_CYCLE.iter().any(|(preset, trace)| {
            let (ours, expected) = served(preset, "ram2_frfcfs", trace, change);
            ours != expected
        });
        assert!(differs, "{name}");
    }
}

/// Checks that mean read latency is within 2 % of tools that order requests differently.
#[test]
fn requests_of_the_other_tools_are_served_about_as_fast() {
    for (preset, tool, trace) in [
        ("A", "ds3_open_bg", "hits90_hi"),
        ("A", "ds3_open_bg", "idle"),
        ("A", "ds3_open_bg", "rand_r_lo"),
        ("D", "ds3_open_bg", "mix50_hi"),
        ("R", "ram1_frfcfs", "bursty_lo"),
    ] {
        let (ours, expected) = served(preset, tool, trace, |_| ());
        let mean = |rows: &[ServedRow]| {
            let reads = rows.iter().filter(|row| row.done >= 0);
            let latencies = reads.clone().map(|row| row.done as u64 - row.accept);
            latencies.sum::<u64>() as f64 / reads.count() as f64
        };
        let ratio = mean(&ours) / mean(&expected);
        assert!(
            (ratio - 1.0).abs() < 0.02,
            "{preset} {tool} {trace}: {ratio}"
        );
    }
}

fn judge(list: &[Issued], preset: &str, change: impl FnOnce(&mut Timing)) -> Report {
    let spec = load(preset).expect("a preset").spec;
    let mut timing = spec.timing;
    change(&mut timing);
    let mut checker = Checker::new(&spec.geometry, timing, ALL_BANK);
    for issued in list {
        checker.check(issued);
    }
    checker.finish()
}

/// Returns the starts of stored command traces with their presets.
fn command_traces() -> Vec<(&'static str, Vec<Issued>)> {
    let read = |name: &str| {
        let geometry = load(&name[..1]).expect("a preset").spec.geometry;
        read_commands(&testdata("commands", name), &geometry).expect("committed")
    };
    vec![
        ("A", read("A_ds3_open_bg_mix50_hi")),
        ("A", read("A_ram1_frfcfs_rowconf_sat")),
        ("A", read("A_ram1_frfcfs_seqbgi_r_sat")),
        ("A", read("A_ram2_frfcfs_idle")),
        ("A", read("A_ram2_frfcfs_mix50_hi")),
        ("D", read("D_ram1_frfcfs_actbound_sat")),
        ("R", read("R_ds3_open_bg_hits90_hi")),
    ]
}

#[test]
fn stored_command_traces_are_accepted() {
    for (preset, list) in command_traces() {
        assert_eq!(judge(&list, preset, |_| ()).violations, []);
    }
}

#[test]
fn a_timing_one_cycle_longer_than_the_tool_kept_is_noticed() {
    let changes: [(&str, fn(&mut Timing)); 11] = [
        ("tRCDRD", |t| t.t_rcd_rd += 1),
        ("tRAS", |t| t.t_ras += 1),
        ("tRP", |t| t.t_rp += 1),
        ("tRRD_S", |t| t.t_rrd_s += 1),
        ("tCCD_S", |t| t.t_ccd_s += 1),
        ("tCCD_L", |t| t.t_ccd_l += 1),
        ("t32AW", |t| t.t_32aw += 1),
        ("tRFC", |t| t.t_rfc += 1),
        ("tWTR_S", |t| t.t_wtr_s += 1),
        ("tWR", |t| t.t_wr += 1),
        ("tRCDWR", |t| t.t_rcd_wr += 1),
    ];
    let traces = command_traces();
    for (name, change) in changes {
        let noticed = traces.iter().any(|(preset, list)| {
            let broken = judge(list, preset, change).violations;
            broken.iter().any(|v| v.what.contains(name))
        });
        assert!(noticed, "{name}");
    }
}

#[test]
fn command_traces_with_a_command_lost_moved_or_altered_are_rejected() {
    for (preset, list) in command_traces() {
        let rejected = |list: &[Issued]| !judge(list, preset, |_| ()).violations.is_empty();
        for at in (40..240).step_by(7) {
            let needed = matches!(
                list[at].command,
                Command::Activate { .. } | Command::Precharge { .. }
            );
            if needed {
                let mut lost = list.clone();
                lost.remove(at);
                assert!(rejected(&lost), "{preset}: without {:?}", list[at]);
            }
            let mut twice = list.clone();
            twice.insert(at, list[at]);
            assert!(rejected(&twice), "{preset}: twice {:?}", list[at]);
            if let Command::Read { row, .. } | Command::Write { row, .. } = &mut twice[at].command {
                *row ^= 1;
                twice.remove(at + 1);
                assert!(rejected(&twice), "{preset}: another row for {:?}", list[at]);
            }
        }
        let refreshed = |i: &Issued| i.command != Command::Refresh;
        let never: Vec<_> = list.iter().copied().filter(refreshed).collect();
        let due = 9 * u64::from(load(preset).expect("a preset").spec.timing.t_refi);
        let late = list.last().is_some_and(|last| last.cycle > due);
        assert_eq!(rejected(&never), late, "{preset}: never refreshed");
    }
}

#[test]
fn commands_written_are_read_back() {
    let rows = requests("rand_r_lo");
    let setup = load("A").expect("a preset");
    let outcome = drive(&setup, &rows, true, &environment()).expect("fits");
    for issued in &outcome.commands[0] {
        let row = CommandRow::of(issued, 4);
        let back = row
            .issued(&setup.spec.geometry)
            .expect("one of this geometry");
        let stripped = |i: &Issued| match i.command {
            Command::Read { .. } | Command::Write { .. } | Command::Activate { .. } => i.command,
            other => other,
        };
        assert_eq!(
            (back.cycle, stripped(&back)),
            (issued.cycle, stripped(issued))
        );
    }
    assert_eq!(judge(&outcome.commands[0], "A", |_| ()).violations, []);
}

#[test]
fn a_command_file_is_judged_with_every_rule_named() {
    let path = testdata("commands", "D_ram1_frfcfs_actbound_sat");
    let verdict = super::judge(&load("D").expect("a preset"), &path).expect("well formed");
    assert!(verdict.holds(), "{}", verdict.text());
    assert!(verdict.text().contains("33 ACT rank (t32AW)"));
    // Made for a device whose activation window is shorter.
    let mut slower = load("D").expect("a preset");
    slower.spec.timing.t_32aw += 1;
    let verdict = super::judge(&slower, &path).expect("well formed");
    assert!(!verdict.holds());
    let text = verdict.text();
    assert!(
        text.contains("violates 33 ACT rank (t32AW): gap 360, required 361"),
        "{text}"
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("commands.csv");
    let header = "cycle,cmd,bg,ba,row,col";
    let lines = format!("{header}\n9,ACT,0,0,1,\n8,ACT,1,0,1,\n");
    std::fs::write(&path, lines).expect("written");
    let error = super::judge(&slower, &path)
        .expect_err("not in order")
        .to_string();
    assert!(
        error.ends_with(
            "commands.csv:3: column cycle: cycle 8 follows the later cycle 9 in the row above\n\
             hint: sort the commands by cycle"
        ),
        "{error}"
    );
}

#[test]
fn reference_data_that_is_missing_is_a_miss() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let put =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    for part in ["per_request", "commands", "traces"] {
        std::fs::create_dir(folder.path().join(part)).expect("made");
    }
    put("presets.csv", "parameter,A,D,R\ntCL,12,24,18\n");
    put(
        "summary.csv",
        "trace,preset,tool,end_cycle,row_hit_rate,lat_mean\n",
    );
    let gaps = "trace,preset,tool,constraint,min_gap_seen,required_gap,pairs_checked\n";
    // Plain text under a name that the reference compresses.
    put("constraint_gaps.csv.gz", gaps);
    let comparison = validate(folder.path()).expect("tables without lines");
    assert!(!comparison.holds());
    // 8 files of requests; 8 mixed traces on 3 presets by 2 tools; 13 traces on D, A and R.
    assert_eq!(comparison.misses().len(), 8 + 8 * 3 * 2 + 13 * 3);
    put("per_request/A_other_idle.csv", "idx,accept,done\n");
    let text = validate(folder.path())
        .expect("tables without lines")
        .text();
    assert!(text.contains("A_other_idle.csv"), "{text}");
    assert!(text.ends_with(" 1 not compared\n"), "{text}");
}

#[test]
fn what_a_row_of_reference_data_asks_for_and_does_not_exist_is_named_with_its_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for part in ["per_request", "commands", "traces"] {
        std::fs::create_dir(folder.path().join(part)).expect("made");
    }
    let put =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    put("traces/t.csv", "arrival,addr,rw\n0,0,R\n");
    put("presets.csv", "parameter,A,D,R\n");
    put(
        "constraint_gaps.csv",
        "trace,preset,tool,constraint,min_gap_seen,required_gap,pairs_checked\n",
    );
    let refused = |row: &str| {
        let head = "trace,preset,tool,end_cycle,row_hit_rate,lat_mean\n";
        put("summary.csv", &format!("{head}\n{row},1,0,1\n"));
        validate(folder.path()).unwrap_err().to_string()
    };
    for (row, problem) in [
        (
            "t,A,ram\u{1b}2",
            r"the tool `ram\u{1b}2` has no counterpart",
        ),
        (
            "t,AA,ram2_frfcfs",
            "unknown preset `AA`; choose one of A, B, D",
        ),
    ] {
        let error = refused(row);
        let place = "summary.csv:3: column preset and tool: ";
        assert!(error.contains(&format!("{place}{problem}")), "{error}");
    }
}

#[test]
fn a_row_of_reads_that_is_off_by_one_digit_is_a_miss() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for part in ["per_request", "commands", "traces"] {
        std::fs::create_dir(folder.path().join(part)).expect("made");
    }
    let trace = testdata("traces", "rand_r_lo");
    std::fs::copy(trace, folder.path().join("traces/rand_r_lo.csv.gz")).expect("copied");
    let put =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    put("presets.csv", "parameter,A,D,R\n");
    let gaps = "trace,preset,tool,constraint,min_gap_seen,required_gap,pairs_checked\n";
    put("constraint_gaps.csv", gaps);
    let misses = |row: &str| {
        let head = "trace,preset,tool,end_cycle,row_hit_rate,lat_mean\n";
        put(
            "summary.csv",
            &format!("{head}rand_r_lo,A,ram2_frfcfs,{row}\n"),
        );
        let misses = validate(folder.path()).expect("a whole folder").misses();
        let of_row = misses.into_iter().filter(|miss| miss.contains("rand_r_lo"));
        let of_row = of_row.filter(|miss| !miss.contains("in the reference"));
        of_row.count()
    };
    let summary = drive(
        &as_tool("A", "ram2_frfcfs").expect("a tool"),
        &requests("rand_r_lo"),
        false,
        &environment(),
    );
    let summary = summary.expect("no rule is broken").summary;
    let end = summary.end_cycle;
    let mean = summary.read_latency.expect("reads").mean;
    // No row is used twice in these 400 random reads.
    assert_eq!(misses(&format!("{end},0.00000,{mean:.3}")), 0);
    assert_eq!(misses(&format!("{},0.00000,{mean:.3}", end + 1)), 1);
    assert_eq!(misses(&format!("{end},0.00005,{mean:.3}")), 1);
    assert_eq!(misses(&format!("{end},0.00000,{:.3}", mean + 0.002)), 1);
}

#[test]
fn every_preset_serves_a_trace_without_breaking_a_rule() {
    let mut rows = requests("mix50_lo");
    // By address, for geometries differ.
    for row in &mut rows {
        let [group, bank, page, column] =
            [&mut row.bg, &mut row.ba, &mut row.row, &mut row.col].map(Option::take);
        let part = |field: Option<u32>| u64::from(field.expect("the trace names places"));
        let bank = part(page) << 4 | part(group) << 2 | part(bank);
        row.address = Some((bank << 6 | part(column)) * 32);
    }
    for name in NAMES {
        let mut setup = load(name).expect("a preset");
        setup.spec.check = true;
        let summary = drive(&setup, &rows, false, &environment())
            .expect("no rule is broken")
            .summary;
        assert_eq!(summary.reads + summary.writes, rows.len() as u64);
        assert_eq!(summary.writes_left, 0, "{name}");
    }
}

#[test]
fn stretching_idle_gaps_a_hundredfold_hardly_adds_evaluations() {
    let mut rows = requests("idle");
    let setup = load("A").expect("a preset");
    let short = drive(&setup, &rows, false, &environment())
        .expect("fits")
        .summary;
    for row in &mut rows {
        row.arrival *= 100;
    }
    let long = drive(&setup, &rows, false, &environment())
        .expect("fits")
        .summary;
    assert!(long.end_cycle > 90 * short.end_cycle);
    assert!(
        long.evaluations < 2 * short.evaluations,
        "{} {}",
        long.evaluations,
        short.evaluations
    );
}

#[test]
fn an_address_goes_where_the_mapping_says() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("addresses.csv");
    std::fs::write(&path, "arrival,rw,address\n0,R,0\n0,R,32\n9,W,131072\n").expect("written");
    let rows = read_requests(&path).expect("well formed").rows;
    let setup = load("A").expect("a preset");
    let commands = drive(&setup, &rows, true, &environment())
        .expect("fits")
        .commands;
    let opened: Vec<_> = commands[0]
        .iter()
        .filter_map(|i| match i.command {
            Command::Activate { bank, row } => Some((bank, row)),
            _ => None,
        })
        .collect();
    assert_eq!(opened, [(0, 0), (4, 0), (0, 4)]);
}

#[test]
fn mistakes_are_named() {
    let error = load("Z").expect_err("no such preset").to_string();
    assert!(
        error.contains("unknown preset `Z`; choose one of A, B, D"),
        "{error}"
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("trace.csv");
    let run = |text: &str| {
        std::fs::write(&path, text).expect("written");
        let trace = read_requests(&path).expect("well formed");
        let setup = load("A").expect("a preset");
        let error = drive(&setup, &trace.rows, false, &environment()).expect_err("refused");
        let place = format!("{}/", folder.path().display());
        trace.refused(error).to_string().replace(&place, "")
    };
    assert_eq!(
        run("arrival,rw,bg,ba,row,col\n0,R,0,0,1,2\n0,X,0,0,1,2\n"),
        "trace.csv:3: column rw: `X` is neither R nor W\n\
         hint: write R for a read, W for a write"
    );
    assert_eq!(
        run("arrival,rw,bg,ba,row,col\n0,R,4,0,1,2\n"),
        "trace.csv:2: column bg: bank 0 of group 4, row 1, column 2 is outside the geometry\n\
         hint: there are 4 groups of 4 banks, 4096 rows, 64 columns, all counted from 0"
    );
    assert_eq!(
        run("arrival,rw,bg,ba\n0,R,0,0\n"),
        "trace.csv:2: column bg: a request needs either bg, ba, row and col, or address\n\
         hint: fill the columns of one form and leave those of the other empty"
    );
}

/// KNOWN DEVIATION: Ramulator 1 closes rows that active requests still need, `Gddr5` does not.
#[test]
fn active_requests_cost_ramulator_1_cycles_that_are_not_spent_here() {
    let end = |preset: &str, trace: &str| {
        let setup = as_tool(preset, "ram1_frfcfs").expect("a tool");
        let run = drive(&setup, &requests(trace), false, &environment());
        run.expect("no rule is broken").summary.end_cycle
    };
    // Reads alone: what Ramulator 1 gave for these traces with the timing of preset B.
    assert_eq!(end("B", "rand_r_sat"), 2758);
    assert_eq!(end("B", "bghostile_sat"), 1329);
    assert_eq!(end("B", "seqbgi_r_sat"), 851);
    // Reads and writes of 16 hot rows: there it gave 6003.
    assert_eq!(end("B", "hot_mixed"), 5800);
}
