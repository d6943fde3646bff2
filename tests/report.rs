//! Tests of the run's output: one screen, selected statistics, or a table.

use crate::harness::{Bench, shown, told, warpweave};

#[test]
fn a_run_tells_on_one_screen_what_it_did_and_what_limited_it() {
    let sets = [
        "--set",
        "unit[*].l1.ways=8",
        "--set",
        "limits.cycles=5000000",
    ];
    let mut arguments = vec!["run", "scenarios/bfs.ron", "--quiet"];
    arguments.extend(sets);
    let page = told(warpweave(&arguments));
    assert!(page.lines().count() <= 46, "{page}");
    assert!(page.lines().all(|l| l.chars().count() <= 80), "{page}");
    shown("first_page", &page);
}

#[test]
fn statistics_are_chosen_by_instance_or_by_name() {
    let bench = Bench::new();
    let of = |pattern: &str| bench.warpweave(&["run", "test.ron", "--quiet", "--stats", pattern]);
    let unit = told(of("unit[0].*.read*"));
    insta::assert_snapshot!(unit, @r"
    unit[0].cu (ComputeUnit)
      read_requests                                          8 requests
    unit[0].l1 (Cache)
      reads                                                  8 requests
      read_hits                                              0 requests
      read_hits_reserved                                     0 requests
      read_misses                                            8 requests
      read_hit_rate                                       0.0%
      read_miss_latency                                   72.0 cycles mean, 59 to 85, 8 values
    ");
    assert!(told(of("gmu")).starts_with("gmu (Gmu)\n  kernels_accepted"));
    let mistaken = of("unit[9].cu");
    insta::assert_snapshot!(mistaken.refusal(), @"
    exit 2
    error: --stats unit[9].cu: no matching instance or statistic
    hint: did you mean `unit[0].cu`? instances: host, gmu, scheduler, unit[0].cu, unit[0].l1, unit[0].port, unit[1].cu, unit[1].l1, unit[1].port, crossbar, partition[0].l2[0], partition[0].dram, partition[1].l2[0], partition[1].dram
    ");
    let json = ["run", "test.ron", "--stats", "gmu", "--format", "json"];
    assert_eq!(bench.warpweave(&json).code, 2);
}

#[test]
fn a_table_holds_every_statistic_or_those_chosen() {
    let bench = Bench::new();
    let csv = |more: &[&str]| {
        let mut arguments = vec!["run", "test.ron", "--quiet", "--format", "csv"];
        arguments.extend(more);
        told(bench.warpweave(&arguments))
    };
    let all = csv(&[]);
    let json = bench
        .warpweave(&["run", "test.ron", "--quiet", "--format", "json"])
        .json();
    let instances = json["stats"].as_object().unwrap();
    let count: usize = instances
        .values()
        .map(|instance| instance.as_object().unwrap().len())
        .sum();
    let rows = all.lines().filter(|line| !line.starts_with("run,"));
    let rows = rows.filter(|line| !line.starts_with("kernel["));
    assert_eq!(rows.count(), count + 1);
    insta::assert_snapshot!(csv(&["--stats", "*.read_hit_rate"]), @r"
    path,kind,statistic,value,unit,combination,part,whole
    unit[0].l1,Cache,read_hit_rate,0,,weighted mean,0,8
    unit[1].l1,Cache,read_hit_rate,0,,weighted mean,0,8
    partition[0].l2[0],Cache,read_hit_rate,0,,weighted mean,0,8
    partition[1].l2[0],Cache,read_hit_rate,0,,weighted mean,0,8
    ");
}
