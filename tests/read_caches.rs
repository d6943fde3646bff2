//! Tests of constant and texture caches in a whole machine.

use crate::harness::{Bench, scenarios};

/// Report of a workload on a machine, with every wire checked.
struct Run(serde_json::Value);

impl Run {
    fn of(system: &str, workload: &str, more: &[&str]) -> Self {
        let bench = Bench::new();
        let path = |file: String| format!("{:?}", scenarios().join(file).display().to_string());
        let scenario = format!(
            "Scenario(system: {}, workload: {}, overrides: {{ \"workload.n\": 64, \"params.units\": 4 }})",
            path(format!("systems/{system}.ron")),
            path(format!("workloads/{workload}.ron")),
        );
        bench.write("run.ron", &scenario);
        let arguments = ["--quiet", "run", "run.ron", "--format", "json"];
        let run = bench.warpweave(&[&arguments[..], more].concat()).json();
        assert_eq!(run["verified"], true);
        Self(run)
    }

    /// Sums a counter over all parts with this path suffix.
    fn sum(&self, part: &str, counter: &str) -> u64 {
        let stats = self.0["stats"].as_object().unwrap().iter();
        let stats = stats.filter(|(path, _)| path.ends_with(part));
        stats
            .map(|(_, counters)| counters[counter]["value"].as_u64().unwrap())
            .sum()
    }

    fn cycles(&self) -> u64 {
        self.0["cycles"].as_u64().unwrap()
    }
}

#[test]
fn textures_are_read_through_a_cache_of_their_own_and_hit_there() {
    let run = Run::of("gtx480_caches", "blur_texture", &["--check"]);
    let reads = run.sum(".l1t", "reads");
    assert_eq!(reads, run.sum(".cu", "texture_requests"));
    assert!(run.sum(".cu", "texture_loads") > 0);
    // Each cell makes four reads of four texels. A work-group of 8 rows touches 10, or 9 at the
    // upper and lower edge, and both lines of each. Work-groups of one unit share no rows, so each
    // line is fetched once.
    let missed = run.sum(".l1t", "read_misses");
    assert_eq!(missed, 2 * 2 * (6 * 10 + 2 * 9));
    assert!(8 * missed < reads, "{missed} of {reads}");
    assert_eq!(run.sum(".l1", "reads"), 0);
    assert!(run.sum(".cu", "memory_slots_Texture") > 0);
    // Through the first data cache the same requests go.
    let without = Run::of("gtx480", "blur_texture", &[]);
    assert_eq!(without.sum(".l1", "reads"), reads);
}

#[test]
fn constants_and_arguments_are_read_through_a_cache_of_their_own_and_hit_there() {
    let run = Run::of("gtx480_caches", "dct_8x8", &["--check"]);
    let reads = run.sum(".l1c", "reads");
    assert_eq!(reads, run.sum(".cu", "constant_requests"));
    // Lanes of a load read different coefficients.
    assert!(reads > run.sum(".cu", "constant_loads"));
    // A table of two lines, and a line of arguments for each of three launches.
    let missed = run.sum(".l1c", "read_misses");
    assert!(
        (5..=4 * (2 + 1) * 3).contains(&missed),
        "{missed} of {reads}"
    );
    assert!(run.sum(".cu", "memory_slots_Constant") > 0);
    assert_eq!(run.sum(".l1c", "invalidations"), 3 * 4);
    let without = Run::of("gtx480", "dct_8x8", &[]);
    assert_eq!(without.sum(".l1", "reads"), run.sum(".l1", "reads"));
    assert!(without.cycles() < run.cycles());
}

#[test]
fn two_threads_give_what_one_gives() {
    for workload in ["blur_texture", "dct_8x8"] {
        let [one, two] = ["1", "2"].map(|threads| {
            let run = Run::of("gtx480_caches", workload, &["--threads", threads]);
            (run.cycles(), run.0["stats"].clone())
        });
        assert_eq!(one, two, "{workload}");
    }
}
