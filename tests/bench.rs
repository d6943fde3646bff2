//! Tests of `warpweave bench` and `warpweave validate` with invalid traces and options.

use crate::harness::Bench;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write(
        "d.csv",
        "arrival,rw,address\n0,R,0\n3,W,134217792\n9,R,4096\n",
    );
    bench.write("n.csv", "create,src,dst,flits\n0,0,1,2\n1,1,0,3\n");
    bench.write("c.csv", "rw,addr_hex\nR,0\nW,7e\nR,4\n");
    bench
}

#[test]
fn addresses_beyond_the_device_are_told() {
    let ended = bench().warpweave(&["bench", "dram", "--trace", "d.csv", "--preset", "A"]);
    insta::assert_snapshot!(ended.err.trim_end(), @"warning: 1 of 3 requests have an address beyond the 134217728 bytes of the device and wrap around; the first is at d.csv:3");
    assert_eq!(ended.code, 0);
    assert!(ended.out.contains("beyond the device      1\n"));
}

#[test]
fn absurd_options_are_refused_by_name() {
    let bench = bench();
    let absurd = [
        "dram --trace d.csv --preset A --repeat 4294967295",
        "dram --trace d.csv --preset A --repeat 0",
        "cache --trace c.csv --preset L1_16k_4w --repeat 10001",
        "noc --trace n.csv --preset fifo_s1 --inputs 18446744073709551615",
        "noc --trace n.csv --preset fifo_s1 --outputs 0",
        "cache --trace c.csv --preset L1_16k_5w",
        "noc --trace d.csv --preset fifo_s1",
        "dram --trace /dev/null --preset A",
    ];
    let told: Vec<_> = absurd
        .map(|line| {
            let arguments: Vec<_> = ["bench"].into_iter().chain(line.split(' ')).collect();
            format!("{line}\n{}", bench.warpweave(&arguments).refusal())
        })
        .into();
    insta::assert_snapshot!(told.join("\n"), @"
    dram --trace d.csv --preset A --repeat 4294967295
    exit 2
    error: invalid value '4294967295' for '--repeat <REPEAT>': 4294967295 is not in 1..=10000

    For more information, try '--help'.

    dram --trace d.csv --preset A --repeat 0
    exit 2
    error: invalid value '0' for '--repeat <REPEAT>': 0 is not in 1..=10000

    For more information, try '--help'.

    cache --trace c.csv --preset L1_16k_4w --repeat 10001
    exit 2
    error: invalid value '10001' for '--repeat <REPEAT>': 10001 is not in 1..=10000

    For more information, try '--help'.

    noc --trace n.csv --preset fifo_s1 --inputs 18446744073709551615
    exit 2
    error: --inputs 18446744073709551615: the trace needs 2, and at most 128 are supported

    noc --trace n.csv --preset fifo_s1 --outputs 0
    exit 2
    error: --outputs 0: the trace needs 2, and at most 128 are supported

    cache --trace c.csv --preset L1_16k_5w
    exit 2
    error: --preset: `L1_16k_5w` is neither a file nor a geometry
    hint: did you mean `L1_16k_4w`? geometries: L1_16k_4w, L1_16k_4w_l64, L1_32k_8w, L1_32k_dm, L1_48k_6w, L2_128k_16w, L2_256k_8w_l64, L1_16k_4w+L2_128k_16w

    noc --trace d.csv --preset fifo_s1
    exit 2
    error: d.csv:1: no column `create`
    hint: the first line names `arrival`, `rw`, `address`

    dram --trace /dev/null --preset A
    exit 2
    error: /dev/null: it is a device, not a regular file
    ");
}

#[test]
fn a_mistake_in_a_description_is_shown_at_its_place() {
    let bench = bench();
    let a = include_str!("../scenarios/presets/gddr5/a.ron");
    bench.write("a.ron", &a.replace("t_ras: 28", "t_ras: 16777217"));
    let ended = bench.warpweave(&["bench", "dram", "--trace", "d.csv", "--preset", "a.ron"]);
    insta::assert_snapshot!(ended.refusal(), @"
    exit 2
    error: timing.t_ras: 16777217, expected at most 16777216
      --> a.ron:10:16
       |
    10 |         t_ras: 16777217, t_rc: 40, t_rrd_s: 6, t_rrd_l: 6, t_ccd_s: 2, t_ccd_l: 3,
       |                ^^^^^^^^
    ");
}

#[test]
fn a_controller_is_held_against_a_table_of_ones_own() {
    let bench = bench();
    std::fs::create_dir(bench.path("traces")).unwrap();
    bench.write("traces/mine.csv", "arrival,rw,address\n0,R,0\n500,R,32\n");
    bench.write("summary.csv", "trace,end_cycle,lat_mean\nmine,527,27.0\n");
    let validate = ["validate", "dram", "--reference", ".", "--preset", "A"];
    let ended = bench.warpweave(&validate);
    insta::assert_snapshot!(ended.out, @"
    case    quantity           ours  reference  difference
    A mine  end cycle           527        527     +0.00 %  equal
    A mine  mean read latency    27         27     +0.00 %  equal
    2 compared, 0 missed; 0 shown for information, 0 not compared
    ");
    assert_eq!(ended.code, 0);
    bench.write("summary.csv", "trace,end_cycle,lat_mean\nmine,530,27.0\n");
    assert_eq!(bench.warpweave(&validate).code, 1);
    let within = [&validate[..], &["--within", "1"]].concat();
    assert_eq!(bench.warpweave(&within).code, 0);
    let absurd = [&validate[..], &["--within", "101"]].concat();
    assert_eq!(bench.warpweave(&absurd).code, 2);
}
