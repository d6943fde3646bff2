//! Tests that option files become system files, and that wrong ones are rejected with a position.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use warpweave_accel_sim::{UnknownOptions, system_of};
use warpweave_params::{Source, parse};

fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/accel_sim/option-files");
    folder.join(name)
}

fn system(names: &[&str]) -> String {
    let files: Vec<_> = names.iter().map(|name| file(name)).collect();
    system_of(&files, UnknownOptions::Refuse).expect("the files are right")
}

#[test]
fn a_machine_with_long_lines_becomes_a_system() {
    insta::assert_snapshot!(system(&["fermi.config"]));
}

#[test]
fn a_machine_without_first_level_becomes_a_system() {
    insta::assert_snapshot!(system(&["pascal.config", "pascal.trace.config"]));
}

#[test]
fn a_machine_with_sectors_becomes_a_system() {
    insta::assert_snapshot!(system(&["volta.config"]));
}

/// Returns the system file or the error messages for a text.
fn said_of(text: &[u8]) -> Result<String, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("gpgpusim.config");
    fs::write(&path, text).expect("it is written");
    let folder = format!("{}/", folder.path().display());
    let system = system_of(std::slice::from_ref(&path), UnknownOptions::Refuse);
    system.map_err(|problems| problems.to_string().replace(&folder, ""))
}

/// Returns the error for the file with this name after replacing `from` with `to` once.
fn refusal(name: &str, from: &str, to: &str) -> String {
    let text = fs::read_to_string(file(name)).expect("it is there");
    assert!(text.contains(from), "{from}");
    let said = said_of(text.replacen(from, to, 1).as_bytes());
    format!("{}\n\n", said.expect_err(to))
}

/// Interconnect description as shipped with GPGPU-Sim, for 27 ports.
const INTERCONNECT: &str = "// Topology
topology = fly;
k = 27;
n = 1;
routing_function = dest_tag; // by port
use_map = 0;
flit_size = 40;
network_count = 2;
num_vcs     = 1;
vc_buf_size = 64;
input_buffer_size = 256;
wait_for_tail_credit = 0;
vc_allocator = islip;
sw_allocator = islip;
alloc_iters = 1;
credit_delay = 0;
routing_delay = 0;
vc_alloc_delay = 1;
sw_alloc_delay = 1;
input_speedup = 1;
output_speedup = 1;
internal_speedup = 2.0;
packet_size = {{1,2},{3,
  4}};
sim_type = gpgpusim;
subnets = 2;
read_reply_end_vc = 0;
read_reply_subnet = 1;
";

/// Returns the system of the Fermi file with this interconnect description next to it.
fn with_interconnect(text: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = folder.path().join("gpgpusim.config");
    let options = fs::read_to_string(file("fermi.config")).expect("it is there");
    fs::write(
        &config,
        format!("{options}\n-inter_config_file fermi.icnt\n"),
    )
    .expect("written");
    fs::write(folder.path().join("fermi.icnt"), text).expect("written");
    let system = system_of(std::slice::from_ref(&config), UnknownOptions::Refuse);
    let folder = format!("{}/", folder.path().display());
    system.map_err(|problems| problems.to_string().replace(&folder, ""))
}

#[test]
fn the_usual_interconnect_is_the_one_that_holds_without_a_file() {
    let without = system(&["fermi.config"]);
    let with = with_interconnect(INTERCONNECT).expect("it is right");
    let body = |system: &str| system.split_once("System(").expect("a system").1.to_owned();
    assert_eq!(
        body(&with),
        body(&without).replace("flit_bytes: 32", "flit_bytes: 40")
    );
    let note = "-inter_config_file fermi.icnt: input_buffer_size = 256 is not modelled";
    assert!(with.contains(note), "{with}");
}

#[test]
fn fields_of_an_interconnect_become_those_of_the_router() {
    let edits = [
        ("flit_size = 40", "flit_size = 16", "flit_bytes: 16,"),
        ("vc_buf_size = 64", "vc_buf_size = 8", "buffer_flits: 8,"),
        ("alloc_iters = 1", "alloc_iters = 3", "Islip(iterations: 3"),
        (
            "internal_speedup = 2.0",
            "internal_speedup = 1",
            "internal_speedup: 1,",
        ),
        ("routing_delay = 0", "routing_delay = 4", "input_cycles: 6,"),
        (
            "sw_alloc_delay = 1",
            "st_final_delay = 5",
            "output_cycles: 7,",
        ),
        ("credit_delay = 0", "credit_delay = 2", "credit_cycles: 4,"),
    ];
    for (from, to, expected) in edits {
        let system = with_interconnect(&INTERCONNECT.replace(from, to)).expect(to);
        let count = system.matches(expected).count();
        assert_eq!(count, 2, "{to}: {system}");
    }
}

#[test]
fn an_interconnect_that_is_not_there_is_said() {
    let text = fs::read_to_string(file("fermi.config")).expect("it is there");
    let system = said_of(format!("{text}\n-inter_config_file some.icnt").as_bytes());
    let note = "-inter_config_file some.icnt: no such file in the folder of the options";
    assert!(system.expect("it is right").contains(note));
}

#[test]
fn virtual_channels_of_an_interconnect_are_said_not_to_be_modelled() {
    let text = INTERCONNECT.replace("num_vcs     = 1", "num_vcs     = 4");
    let system = with_interconnect(&text).expect("it is right");
    let note = "-inter_config_file fermi.icnt: num_vcs = 4 is not modelled";
    assert!(system.contains(note), "{system}");
}

#[test]
fn malformed_interconnects_are_refused_where_they_are_wrong() {
    let wrong = |from: &str, to: &str| {
        assert!(INTERCONNECT.contains(from), "{from}");
        let said = with_interconnect(&INTERCONNECT.replacen(from, to, 1));
        format!("{}\n\n", said.expect_err(to))
    };
    let said = [
        wrong("topology = fly", "topology = mesh"),
        wrong("k = 27", "k = 5"),
        wrong("k = 27;", ""),
        wrong("vc_buf_size = 64", "vc_buf_size = many"),
        wrong("vc_buf_size = 64", "vc_buf_size = 0"),
        wrong("vc_buf_size = 64", "vc_buff_size = 64"),
        wrong("vc_buf_size = 64", "vc_buf_size 64"),
        wrong("vc_buf_size = 64;", "vc_buf_size = ;"),
        wrong("vc_buf_size = 64;", "vc_buf_size = 64"),
        wrong("internal_speedup = 2.0", "internal_speedup = 1.5"),
        wrong("n = 1;", "n = 1; n = 1;"),
        wrong("read_reply_end_vc = 0", "read_reply_end_vc = 1"),
        wrong("subnets = 2;", "subnets = 2; {"),
    ];
    insta::assert_snapshot!(said.concat());
}

#[test]
fn partitions_are_dealt_to_as_the_index_says_or_refused_with_the_reason() {
    let text = fs::read_to_string(file("fermi.config")).expect("it is there");
    let of = |index: u32| {
        said_of(format!("{text}\n-gpgpu_memory_partition_indexing {index}").as_bytes())
    };
    let (plain, custom) = (of(0).expect("in turn"), of(5).expect("in turn"));
    let body = |system: &str| system.split_once("System(").expect("a system").1.to_owned();
    assert_eq!(body(&plain), body(&custom));
    assert!(
        custom.contains("-gpgpu_memory_partition_indexing 5: slices are interleaved in order"),
        "{custom}"
    );
    let [entropy, unknown] = [3, 6].map(|index| of(index).expect_err("no hash"));
    insta::assert_snapshot!(format!("{entropy}\n\n{unknown}"));
}

#[test]
fn the_hash_of_fermi_is_for_32_or_64_sets_of_128_bytes() {
    let text = fs::read_to_string(file("fermi.config")).expect("it is there");
    let of = |shape: &str| said_of(text.replacen("N:32:128:4", shape, 1).as_bytes());
    for shape in ["N:32:128:4", "N:64:128:2", "S:32:128:4"] {
        assert!(
            of(shape).expect(shape).contains("set_hash: Fermi,"),
            "{shape}"
        );
    }
    for shape in ["N:16:128:4", "N:64:64:4", "N:128:128:4"] {
        let said = of(shape).expect_err(shape);
        assert!(
            said.contains("expected 32 or 64 sets of 128-byte lines"),
            "{said}"
        );
    }
}

#[test]
fn unknown_options_and_missing_values_are_refused_where_they_stand() {
    let wrong = |from, to| refusal("fermi.config", from, to);
    let said = [
        wrong("-gpgpu_n_clusters 3", "-gpgpu_n_cluster 3"),
        wrong("-gpgpu_n_clusters 3", "-gpgpu_n_clusters"),
        wrong("-gpgpu_n_clusters 3", "gpgpu_n_clusters 3"),
        wrong("-gpgpu_n_clusters 3", "-gpgpu_n_clusters 3 4"),
        wrong("-power_simulation_enabled 0", "-power_simulation_enabled"),
        wrong("RTPL=2\"", "RTPL=2"),
        wrong("-gpgpu_clock_domains 650.0:650.0:650.0:900.5", ""),
        format!("{}\n\n", said_of(b"").expect_err("it is empty")),
        format!(
            "{}\n\n",
            said_of(b"-gpgpu_n_mem \xff").expect_err("no text")
        ),
    ];
    insta::assert_snapshot!(said.concat());
}

#[test]
fn malformed_values_are_refused_with_what_was_expected() {
    let fermi = |from, to| refusal("fermi.config", from, to);
    let volta = |from, to| refusal("volta.config", from, to);
    let said = [
        fermi("-gpgpu_n_clusters 3", "-gpgpu_n_clusters three"),
        fermi("-gpgpu_n_clusters 3", "-gpgpu_n_clusters 131"),
        fermi("-gpgpu_n_clusters 3", "-gpgpu_n_clusters 513"),
        fermi(
            "-gpgpu_n_sub_partition_per_mchannel 2",
            "-gpgpu_n_sub_partition_per_mchannel 5 -gpgpu_n_mem 120",
        ),
        fermi("-gpgpu_cache:il1 N:4:128:4", "-gpgpu_cache:il1 N:4:48:4"),
        fermi("_per_warp 1", "_per_warp 5"),
        fermi("widths 2,0,0,1,1,2,0,0,1,1,2", "widths 2,0,0,1,1,2"),
        fermi(
            "widths 2,0,0,1,1,2,0,0,1,1,2",
            "widths 2,0,0,1,0,2,0,0,1,1,2",
        ),
        fermi(
            "widths 2,0,0,1,1,2,0,0,1,1,2",
            "widths 2,0,0,1,1,2,0,0,1,1,33",
        ),
        fermi(
            "-gpgpu_num_sp_units 2",
            "-gpgpu_num_sp_units 2 -gpgpu_num_reg_banks 65",
        ),
        fermi(
            "-gpgpu_num_sp_units 2",
            "-gpgpu_num_sp_units 2 -gpgpu_num_reg_banks 7 -gpgpu_sub_core_model 1",
        ),
        fermi(
            "-gpgpu_num_sp_units 2",
            "-gpgpu_num_sp_units 2 -gpgpu_reg_file_port_throughput 9",
        ),
        fermi(
            "-gpgpu_num_sp_units 2",
            "-gpgpu_num_sp_units 2 -gpgpu_enable_specialized_operand_collector 0",
        ),
        fermi("-gpgpu_n_mem 3", "-gpgpu_n_mem -1"),
        fermi("-visualizer_enabled 0", "-visualizer_enabled no"),
        fermi("-gpgpu_flush_l1_cache 1", "-gpgpu_flush_l1_cache 2"),
        fermi("650.0:650.0:650.0:900.5", "650.0:650.0:900.5"),
        fermi("650.0:650.0:650.0:900.5", "650.0:-1:650.0:900.5"),
        fermi("650.0:650.0:650.0:900.5", "650.0:0:650.0:900.5"),
        fermi("1024:32", "1024"),
        fermi("1024:32", "1000:32"),
        fermi("1024:32", "1024:64"),
        fermi("-gpgpu_scheduler gto", "-gpgpu_scheduler gtoo"),
        fermi(
            "-gpgpu_scheduler gto",
            "-gpgpu_scheduler two_level_active:6",
        ),
        fermi("4,13,4,5,140,30", "4,13,4,5"),
        fermi("4,13,4,5,140,30", "4,13,4,5,x,30"),
        volta("1,4,4,4,4,BRA", "1,4,4,4,BRA"),
        volta("sp 2,2", "sp 2"),
        volta("sp 2,2", "sp 0,2"),
        volta("128:108:32", "128:108"),
        volta("128:108:32", "128:32:108"),
        volta("-network_mode 2", "-network_mode 3"),
        volta("0,8,16,32,64,96", "200"),
    ];
    insta::assert_snapshot!(said.concat());
}

#[test]
fn malformed_caches_are_refused_with_what_was_expected() {
    let wrong = |to: &str| refusal("fermi.config", "N:32:128:4,L:L:m:N:H,S:64:8,8", to);
    let said = [
        wrong("32:128,L:L:m:N,S:64:8,8"),
        wrong("Q:32:128:4,L:L:m:N:H,S:64:8,8"),
        wrong("N:0:128:4,L:L:m:N:H,S:64:8,8"),
        wrong("N:32:64x:4,L:L:m:N:H,S:64:8,8"),
        wrong("S:32:64:4,L:L:m:N:H,S:64:8,8"),
        wrong("N:32:16:4,L:L:m:N:H,S:64:8,8"),
        wrong("N:33:128:4,L:L:m:N:H,S:64:8,8"),
        wrong("N:32:128:4,L:R:m:N:H,S:64:8,8"),
        wrong("N:32:128:4,L:L:q:N:H,S:64:8,8"),
        wrong("N:32:128:4,L:L:m,S:64:8,8"),
        wrong("N:32:128:4,L:L:m:N:C,S:64:8,8"),
        wrong("N:32:128:4,L:L:m:N:H,S:64,8"),
        wrong("N:32:128:4,L:L:m:N:H,S:64:0,8"),
        wrong("N:32:128:4,L:L:m:N:H,S:64:8,8:x"),
        wrong("N:32:128:4,L:L:m:N:H,S:64:8"),
        wrong("N:32:128:4,L:L:m:N:H,S:64:8,8,32,1"),
        refusal(
            "fermi.config",
            "\"S:64:128:4,L:B:m:L:L,A:128:4,4:0,32\"",
            "none",
        ),
        refusal("fermi.config", "N:64:64:2,L:R", "N:1:64:2,L:R"),
        refusal("volta.config", "N:4:128:256,L:R", "N:4:48:256,L:R"),
    ];
    insta::assert_snapshot!(said.concat());
}

#[test]
fn malformed_memories_are_refused_with_what_was_expected() {
    let fermi = |from, to| refusal("fermi.config", from, to);
    let said = [
        fermi("CCD=2:", ""),
        fermi("CCD=2", "CCD"),
        fermi("CCD=2", "CD=2"),
        fermi("CCD=2", "CCD=2:CCD=3"),
        fermi("CCD=2", "CCD=two"),
        fermi("nbk=16", "nbk=12"),
        refusal(
            "volta.config",
            "16:1:3:12:28:12:40:12:2:3:10:4:2:3",
            "16:1:3",
        ),
        fermi("dramid@8;", "dramid@9;"),
        fermi("dramid@8;0", "dramid@8;"),
        fermi("BBBCCCCB", "BBBXCCCB"),
        fermi("BBBCCCCB", "BBBCCCCC"),
        fermi("-gpgpu_dram_buswidth 4", "-gpgpu_dram_buswidth 3"),
        fermi("sched_queue_size 32", "sched_queue_size 1"),
        fermi(
            "-dram_bnkgrp_indexing_policy 1",
            "-dram_bnkgrp_indexing_policy 2",
        ),
    ];
    insta::assert_snapshot!(said.concat());
}

/// Returns the system of the Fermi file after replacing `from` with `to` once.
fn changed(from: &str, to: &str) -> String {
    let text = fs::read_to_string(file("fermi.config")).expect("it is there");
    assert!(text.contains(from), "{from}");
    said_of(text.replacen(from, to, 1).as_bytes()).expect(to)
}

#[test]
fn row_bits_beyond_those_of_the_controller_are_left_out_and_the_file_says_so() {
    let text = fs::read_to_string(file("fermi.config")).expect("it is there");
    let (before, rest) = text.split_once("dramid@8;").expect("it has a mapping");
    let (high, low) = rest.split_once("RRR.").expect("it has row bits");
    let rows = high.replace('0', "R");
    let all = said_of(format!("{before}dramid@8;{rows}RRR.{low}").as_bytes()).expect("it imports");
    let note = "-gpgpu_mem_addr_mapping: 48 row bits, of which the lowest 24 select the row";
    assert!(all.contains(note), "{all}");
    assert!(all.contains("a[33:"), "{all}");
}

#[test]
fn five_latencies_of_integers_leave_shuffles_at_the_default_and_say_so() {
    let system = changed("4,13,4,5,140,30", "4,13,4,5,140");
    assert!(system.contains("shuffle: (latency: 35,"), "{system}");
    let note =
        "-ptx_opcode_latency_int 4,13,4,5,140: the number for shuffles is absent, 32 is assumed";
    assert!(system.contains(note), "{system}");
}

#[test]
fn older_names_mean_what_their_successors_mean() {
    let present = changed(
        "-visualizer_enabled 0",
        "-gpgpu_l2_rop_latency 77 -gpgpu_smem_latency 9",
    );
    let older = changed("-visualizer_enabled 0", "-rop_latency 77 -smem_latency 9");
    assert_eq!(present, older);
    assert!(present.contains("77"), "{present}");
}

#[test]
fn a_cache_without_a_kind_has_no_sectors_and_one_without_an_index_is_linear() {
    let kind = "N:32:128:4,L:L:m:N:H,S:64:8,8";
    let body = |system: &str| system.split_once("System(").expect("a system").1.to_owned();
    let without = changed(kind, "32:128:4,L:L:m:N:H,S:64:8,8");
    assert_eq!(body(&changed(kind, kind)), body(&without));
    let [linear, without] =
        ["N:32:128:4,L:L:m:N:L,S:64:8,8", "32:128:4,L:L:m:N,S:64:8,8"].map(|to| changed(kind, to));
    assert_eq!(body(&linear), body(&without));
}

#[test]
fn lines_of_256_bytes_become_lines_of_128_and_that_is_said() {
    let system = changed("N:4:128:4", "N:4:256:4");
    let note = "N:4:256:4,L:R:f:N:L,S:2:32,4: each fetch unit becomes its own line";
    assert!(system.contains(note), "{system}");
}

#[test]
fn seven_widths_are_those_of_release_3() {
    let body = |system: &str| system.split_once("System(").expect("a system").1.to_owned();
    let present = changed("2,0,0,1,1,2,0,0,1,1,2", "2,0,0,1,3,2,0,0,1,2,4");
    let older = changed("2,0,0,1,1,2,0,0,1,1,2", "2,1,3,2,1,2,4");
    assert_eq!(body(&present), body(&older));
}

#[test]
fn a_timing_without_bank_groups_has_one() {
    let body = |system: &str| system.split_once("System(").expect("a system").1.to_owned();
    let text = fs::read_to_string(file("volta.config")).expect("it is there");
    let timing = "16:1:3:12:28:12:40:12:2:3:10:4:2:3";
    let of = |to: &str| said_of(text.replace(timing, to).as_bytes()).expect(to);
    let eleven = of("16:1:3:12:28:12:40:12:2:3:10");
    assert_eq!(
        body(&of("16:1:3:12:28:12:40:12:2:3:10:1:0:0")),
        body(&eleven)
    );
    let named = "nbk=16:CCD=1:RRD=3:RCD=12:RAS=28:RP=12:RC=40:CL=12:WL=2:CDLR=3:WR=10";
    assert_eq!(body(&of(named)), body(&eleven));
}

#[test]
fn bursts_that_are_no_access_are_joined_or_cut_and_that_is_said() {
    let devices = "-gpgpu_n_mem_per_ctrlr 2\n-gpgpu_dram_buswidth 4\n-gpgpu_dram_burst_length 8";
    let fewer = "-gpgpu_n_mem_per_ctrlr 1\n-gpgpu_dram_buswidth 4\n-gpgpu_dram_burst_length 4";
    let system = changed(devices, fewer);
    let note = "bursts of 16 bytes, 2 of which are one access with one column command";
    assert!(system.contains(note), "{system}");
    assert!(system.contains("burst_cycles: 2,"), "{system}");
    assert!(system.contains("t_ccd_s: 4,"), "{system}");
    let wider = "-gpgpu_n_mem_per_ctrlr 8\n-gpgpu_dram_buswidth 8\n-gpgpu_dram_burst_length 8";
    let system = changed(devices, wider);
    let note = "bursts of 512 bytes, of which an access uses 128";
    assert!(system.contains(note), "{system}");
    assert!(system.contains("devices: 4,"), "{system}");
}

#[test]
fn an_adaptive_first_level_without_sizes_has_those_of_volta_and_that_is_said() {
    let text = fs::read_to_string(file("volta.config")).expect("it is there");
    let sizes = " -gpgpu_unified_l1d_size 128 -gpgpu_shmem_option 0,8,16,32,64,96";
    assert!(text.contains(sizes), "{text}");
    let text = text.replace(sizes, "");
    let text = text.replace(
        "-gpgpu_adaptive_cache_config",
        "-adpative_volta_cache_config",
    );
    let system = said_of(text.as_bytes()).expect("it is right");
    assert!(
        system.contains("shared_with_cache: (bytes: 131072,"),
        "{system}"
    );
    assert!(
        system.contains("-gpgpu_adaptive_cache_config 1: 128 KB with"),
        "{system}"
    );
}

#[test]
fn clusters_and_slices_beyond_the_ports_of_a_network_are_joined_and_that_is_said() {
    let clusters = changed("-gpgpu_n_clusters 3", "-gpgpu_n_clusters 132");
    assert!(
        clusters.contains("params: { \"clusters\": 66, \"units\": 2,"),
        "{clusters}"
    );
    assert!(
        clusters.contains("-gpgpu_n_clusters 132: 2 clusters share a port"),
        "{clusters}"
    );
    let slices = changed(
        "-gpgpu_n_sub_partition_per_mchannel 2",
        "-gpgpu_n_sub_partition_per_mchannel 4 -gpgpu_n_mem 40",
    );
    assert!(
        slices.contains("\"channels\": 40, \"slices\": 2 }"),
        "{slices}"
    );
    assert!(slices.contains("size_bytes: 65536,"), "{slices}");
    let note = "-gpgpu_n_sub_partition_per_mchannel 4: 2 slices of a channel are one";
    assert!(slices.contains(note), "{slices}");
}

#[test]
fn what_is_unknown_is_left_out_on_request_and_listed_with_its_line() {
    let text = fs::read_to_string(file("fermi.config")).expect("it is there");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("gpgpusim.config");
    let more = format!("{text}-my_fork_of_it 7\n-my_switch -gpgpu_n_mem 3\n-my_last");
    fs::write(&path, more).expect("it is written");
    let system = system_of(&[path], UnknownOptions::LeaveOut).expect("it is left out");
    let after = text.lines().count();
    for expected in [
        format!("//   -my_fork_of_it 7 from line {}", after + 1),
        format!("-my_switch from line {}", after + 2),
        format!("-my_last from line {}", after + 3),
    ] {
        assert!(system.contains(&expected), "{expected}: {system}");
    }
}

#[test]
fn of_an_option_given_twice_the_last_value_counts_and_the_head_names_the_other() {
    let text = fs::read_to_string(file("fermi.config")).expect("it is there");
    let twice = format!("{text}-gpgpu_n_clusters 5\n");
    let system = said_of(twice.as_bytes()).expect("it is right");
    assert!(system.contains("params: { \"clusters\": 5,"), "{system}");
    assert!(
        system.contains("-gpgpu_n_clusters 3 from line 3"),
        "{system}"
    );
}

/// True if the system is an error or a valid description.
fn reads(system: Result<String, String>) -> bool {
    system.is_err() || system.is_ok_and(|text| parse(&Source::new("machine.ron", text)).is_ok())
}

proptest! {
    /// Mutated option files are either read or rejected.
    #[test]
    fn a_mutated_file_is_refused_or_becomes_a_description(
        which in 0..3_usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..6_u8, any::<u8>()), 1..8),
    ) {
        let name = ["fermi.config", "pascal.config", "volta.config"][which];
        let mut bytes = fs::read(file(name)).expect("it is there");
        for (place, edit, byte) in edits {
            let at = place.index(bytes.len());
            match edit {
                0 => bytes[at] = byte,
                1 => bytes[at] = b"0123456789:,;=\"#-. \n"[usize::from(byte) % 20],
                2 => bytes.insert(at, b"0123456789:,;=\"#-. \n"[usize::from(byte) % 20]),
                3 => { bytes.remove(at); }
                4 => bytes.truncate(at.max(1)),
                _ => {
                    let end = (at + usize::from(byte)).min(bytes.len());
                    let copy = bytes[at..end].to_vec();
                    bytes.splice(at..at, copy);
                }
            }
        }
        prop_assert!(reads(said_of(&bytes)));
    }

    #[test]
    fn a_number_of_any_size_is_refused_or_becomes_a_description(
        which in 0..3_usize, place in any::<prop::sample::Index>(), number in prop_oneof![
            0..70_u64, Just(1 << 20), Just(u64::from(u32::MAX)), any::<u64>(),
        ],
    ) {
        let name = ["fermi.config", "pascal.config", "volta.config"][which];
        let text = fs::read_to_string(file(name)).expect("it is there");
        let starts: Vec<_> = text
            .char_indices()
            .filter(|(at, c)| c.is_ascii_digit() && !text[..*at].ends_with(|c: char| c.is_ascii_digit()))
            .collect();
        let start = starts[place.index(starts.len())].0;
        let end = start + text[start..].find(|c: char| !c.is_ascii_digit()).unwrap_or(1);
        let text = format!("{}{number}{}", &text[..start], &text[end..]);
        prop_assert!(reads(said_of(text.as_bytes())));
    }
}
