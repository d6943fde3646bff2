//! Measures the time to build a system and the memory it occupies.

use std::fs;

use cpu_time::ProcessTime;

use warpweave_framework::{
    Bundle, Component, Context, InPort, Link, Next, OutPort, Ports, Stateful, Statistics,
};

use crate::components::{elaborate, one_clock};
use crate::workload::Sample;

/// Component that only occupies a position in the hierarchy.
#[derive(Statistics)]
struct Idle;

impl Bundle for Idle {
    fn ports(&mut self, _ports: &mut Ports<'_>) {}
}

impl Component for Idle {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Idle
    }
}

impl Stateful for Idle {}

/// Component with one input and one output port.
#[derive(Statistics)]
struct Linked {
    input: InPort<u64>,
    output: OutPort<u64>,
}

impl Bundle for Linked {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("input", &mut self.input);
        ports.output("output", &mut self.output);
    }
}

impl Component for Linked {
    fn evaluate(&mut self, _ctx: &mut Context<'_>) -> Next {
        Next::Message
    }
}

impl Stateful for Linked {}

/// Builds `components` components, with a channel from each to the next if `linked`. Time and
/// memory cover adding, connecting and elaborating.
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

/// Resident memory of this process in bytes (`proc(5)`), or 0 if the host does not report it.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}
