//! How long it takes to build a system, and how much memory it keeps.

use std::fs;

use cpu_time::ProcessTime;

use warpweave_framework::{Component, Context, InPort, Link, Next, OutPort, Ports};

use crate::components::{elaborate, one_clock};
use crate::workload::Sample;

/// A component of which nothing but its place in the hierarchy is used.
struct Idle;

impl Component for Idle {
    fn ports(&mut self, _ports: &mut Ports<'_>) {}

    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Idle
    }
}

/// A component with two ports.
struct Linked {
    input: InPort<u64>,
    output: OutPort<u64>,
}

impl Component for Linked {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.output("output", &mut self.output);
    }

    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Message
    }
}

/// Builds `components` components, with a channel from each to the next if `linked`. Time and
/// memory are those of adding, connecting and elaborating.
pub(crate) fn elaboration(linked: bool, components: u64) -> Sample {
    let before = resident_bytes();
    let start = ProcessTime::now();
    let (mut builder, clock) = one_clock();
    for i in 0..components {
        // As a system is: four levels of hierarchy.
        let path = path(i);
        if linked {
            let component = Linked {
                input: InPort::new(),
                output: OutPort::new(),
            };
            builder.add(path, clock, component);
        } else {
            builder.add(path, clock, Idle);
        }
    }
    if linked {
        for i in 0..components {
            let (from, to) = (path(i), path((i + 1) % components));
            let link = Link::latency(1);
            builder.connect(format!("{from}.output"), format!("{to}.input"), link);
        }
    }
    let simulation = elaborate(builder);
    let elapsed = start.elapsed();
    let bytes = resident_bytes().saturating_sub(before);
    Sample {
        ns: elapsed.as_nanos() as u64,
        units: simulation.instances().len() as u64,
        checksum: simulation.channel_count() as u64,
        bytes,
    }
}

fn path(i: u64) -> String {
    let (cluster, unit, part) = (i / 4096, i / 64 % 64, i % 64);
    format!("system.cluster[{cluster}].unit[{unit}].part[{part}]")
}

/// Memory of this process that is resident, where the host tells (`proc(5)`); otherwise 0.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}
