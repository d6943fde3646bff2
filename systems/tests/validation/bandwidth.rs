//! Read streams reach the bandwidth of the machine's bottleneck and never exceed it.

use super::harness::{
    Numbers, REGISTERS, Step, histogram, kernel, machine, named, program, run, scenario, sum,
};

const LINE: u64 = 128;

/// Kernel of one work-group per unit whose wavefronts together read consecutive lines, wrapping
/// around after `lines`.
fn stream(units: u32, wavefronts: u32, steps: u64, lines: u64) -> warpweave_trace::KernelTrace {
    let all = u64::from(units * wavefronts);
    kernel(units, wavefronts, |work_group, wavefront| {
        let first = u64::from(work_group * wavefronts + wavefront);
        let load = |step: u64| {
            let line = (step * all + first) % lines;
            Step::Stream((step % u64::from(REGISTERS)) as u16, line * LINE)
        };
        (0..steps).map(load).chain([Step::Exit]).collect()
    })
}

struct Measured {
    cycles: u64,
    /// Bytes of lines delivered to first-level caches.
    bytes: u64,
    dram_bytes: u64,
    l1_hits: u64,
    /// Number of second-level misses, and the sum of their latencies.
    l2_misses: (u64, u64),
}

fn measure(system: &str, units: u32, wavefronts: u32, steps: u64, lines: u64) -> Measured {
    let sets: &[&str] = match system {
        "systems/clustered60.ron" => &["cluster[*].cu[*].scheduler=Lrr"],
        _ => &[],
    };
    let scenario = scenario(system, "vector_add.ron", sets);
    let program = program(vec![stream(units, wavefronts, steps, lines)]);
    let simulated = run(&mut machine(&scenario, &program));
    let l1 = named(&simulated, "l1");
    Measured {
        cycles: simulated.cycles,
        bytes: sum(&l1, "fills") * LINE,
        dram_bytes: sum(&named(&simulated, "dram"), "bytes"),
        l1_hits: sum(&l1, "read_hits"),
        l2_misses: histogram(&named(&simulated, "l2"), "read_miss_latency"),
    }
}

/// Returns the steady-state bytes per core cycle, from the difference between a long and a short
/// run.
fn steady(short: &Measured, long: &Measured, bytes: impl Fn(&Measured) -> u64) -> f64 {
    (bytes(long) - bytes(short)) as f64 / (long.cycles - short.cycles) as f64
}

/// Preset A: only refresh cycles reduce the peak bandwidth.
#[test]
fn a_stream_of_reads_reaches_the_bandwidth_of_the_memory() {
    let system = "validation/wide.ron";
    let short = measure(system, 8, 16, 80, u64::MAX);
    let long = measure(system, 8, 16, 240, u64::MAX);
    let rate = steady(&short, &long, |m| m.dram_bytes);
    let scenario = scenario(system, "vector_add.ron", &[]);
    let machine = machine(&scenario, &program(vec![stream(1, 1, 1, 1)]));
    let numbers = Numbers(machine.system().resolved.to_node());
    let dram = |field: &str| numbers.of("partition[0].dram", field) as f64;
    let peak = 2.0 * 32.0 * dram("devices") / dram("timing.burst_cycles");
    let bound = peak * (1.0 - dram("timing.t_rfc") / dram("timing.t_refi"));
    eprintln!(
        "wide: {rate:.2} B per cycle, bound {bound:.2}, {:.4} of it",
        rate / bound
    );
    assert!(rate >= 0.95 * bound, "{rate} of {bound} B per cycle");
    assert!(rate <= peak, "{rate} of {peak} B per cycle");
}

/// clustered60: a response of 136 B has 3 flits of 64 B, and each of the 8 slices sends a flit per
/// cycle. This gives 8 x 128 / 3 B per cycle, 478 GB/s at 1.4 GHz. Lines are in the L2.
#[test]
fn a_stream_from_the_l2_reaches_the_bandwidth_of_the_network() {
    let system = "systems/clustered60.ron";
    let lines = 16_384; // 2 MiB of the 4 MiB of L2.
    let short = measure(system, 60, 8, 70, lines);
    let long = measure(system, 60, 8, 170, lines);
    assert_eq!(long.l1_hits, 0, "every line comes over the network");
    let rate = steady(&short, &long, |m| m.bytes);
    let bound = 8.0 * 128.0 / 3.0;
    eprintln!(
        "clustered60, L2: {rate:.2} B per cycle, {:.1} GB/s, {:.4}",
        rate * 1.4,
        rate / bound
    );
    assert!(rate <= bound, "{rate} of {bound} B per cycle");
    assert!(rate >= 0.95 * bound, "{rate} of {bound} B per cycle");
}

/// Stream from memory, which could deliver 717 GB/s: all 32 MSHRs of a slice are in use. By
/// Little's law the misses per cycle are 8 x 32 / their mean latency.
#[test]
fn a_stream_from_memory_reaches_what_the_mshrs_of_the_l2_allow() {
    let system = "systems/clustered60.ron";
    let short = measure(system, 60, 8, 40, u64::MAX);
    let long = measure(system, 60, 8, 120, u64::MAX);
    let rate = steady(&short, &long, |m| m.bytes);
    let misses = long.l2_misses.0 - short.l2_misses.0;
    let waited = long.l2_misses.1 - short.l2_misses.1;
    let bound = 8.0 * 32.0 * 128.0 * misses as f64 / waited as f64;
    eprintln!(
        "clustered60, DRAM: {rate:.2} B per cycle, {:.1} GB/s, bound {:.1}, {:.4}",
        rate * 1.4,
        bound * 1.4,
        rate / bound
    );
    assert!(rate <= 1.01 * bound, "{rate} of {bound} B per cycle");
    assert!(rate >= 0.95 * bound, "{rate} of {bound} B per cycle");
    assert!(
        rate <= 8.0 * 128.0 / 3.0,
        "{rate} B per cycle exceed the network"
    );
}
