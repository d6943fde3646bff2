//! A trace through a network, and what it took.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;
use warpweave_components::crossbar::{NetworkSpec, PORTS_MAX};
use warpweave_files::Ledger;
use warpweave_framework::Environment;
use warpweave_params::{Source, from_node, parse};

use super::drive::{Packet, Passages, Shape, drive};
use super::presets::preset;
use crate::{Distribution, StandaloneError, read_rows_within, write_rows};

/// Report of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bench {
    /// Ports of the network.
    pub shape: Shape,
    /// Packets of the trace; all arrived.
    pub packets: usize,
    /// Their flits.
    pub flits: u64,
    /// Cycles until the last arrived.
    pub cycles: u64,
    /// Flits per cycle, all outputs together.
    pub flits_per_cycle: f64,
    /// Of all flits, those to the busiest output, as flits per cycle.
    pub busiest_output_flits_per_cycle: f64,
    /// Cycles from creation to the arrival of the tail.
    pub latency: Option<Distribution>,
    /// Cycles from the head's entering to the arrival of the tail.
    pub network_latency: Option<Distribution>,
}

impl Bench {
    /// The report for people.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{} x {} ports, {} packets, {} flits in {} cycles\n\
             accepted         {:>10.4} flits per cycle\n\
             busiest output   {:>10.4} flits per cycle\n",
            self.shape.inputs,
            self.shape.outputs,
            self.packets,
            self.flits,
            self.cycles,
            self.flits_per_cycle,
            self.busiest_output_flits_per_cycle,
        );
        let distributions = [
            ("latency", &self.latency),
            ("network latency", &self.network_latency),
        ];
        for (name, distribution) in distributions {
            if let Some(d) = distribution {
                let _ = writeln!(
                    text,
                    "{name:<16} {:>10.4} cycles mean, min {}, p50 {}, p95 {}, p99 {}, max {}",
                    d.mean, d.min, d.p50, d.p95, d.p99, d.max
                );
            }
        }
        text
    }
}

/// Reads a trace: `create, src, dst, flits`, more columns are ignored.
///
/// # Errors
/// When the file is no such table, a packet has no flit, there is none, or they take more memory than
/// `ledger` may be charged.
pub fn read_packets(path: &Path, ledger: &Ledger) -> Result<Vec<Packet>, StandaloneError> {
    let packets: Vec<Packet> = read_rows_within(path, ledger)?;
    let bad = |line: usize, problem: String| StandaloneError::Line {
        path: path.to_owned(),
        line: line as u64 + 2,
        problem,
    };
    if packets.is_empty() {
        return Err(bad(0, "the trace has no packet".to_owned()));
    }
    for (line, packet) in packets.iter().enumerate() {
        let most = PORTS_MAX as usize;
        if packet.flits == 0 || packet.src >= most || packet.dst >= most {
            return Err(bad(
                line,
                format!("a packet has a flit or more and ports below {most}"),
            ));
        }
    }
    Ok(packets)
}

/// The smallest shape that has all ports of the packets, or the given one.
///
/// # Errors
/// When the given one is too small or too large.
fn shape_of(
    packets: &[Packet],
    inputs: Option<usize>,
    outputs: Option<usize>,
) -> Result<Shape, StandaloneError> {
    let side = |name: &str, least: usize, given: Option<usize>| {
        let ports = given.unwrap_or(least);
        if (least..=PORTS_MAX as usize).contains(&ports) {
            return Ok(ports);
        }
        Err(StandaloneError::Request(format!(
            "{ports} {name}: the trace needs {least}, at most {PORTS_MAX} can be built"
        )))
    };
    let most = |port: fn(&Packet) -> usize| packets.iter().map(port).max().map_or(1, |p| p + 1);
    Ok(Shape {
        inputs: side("inputs", most(|p| p.src), inputs)?,
        outputs: side("outputs", most(|p| p.dst), outputs)?,
    })
}

/// The network that a preset's name or a RON file (`Switch(…)` or `Router(…)`) stands for.
///
/// # Errors
/// When there is no such preset, or the file does not describe a network of this shape.
pub fn read_network(name: &str, shape: Shape) -> Result<NetworkSpec, StandaloneError> {
    let (inputs, outputs) = (shape.inputs as u32, shape.outputs as u32);
    let path = Path::new(name);
    let is_file = path.extension().is_some_and(|extension| extension == "ron");
    let spec: NetworkSpec = if is_file {
        let request = |problem: String| StandaloneError::Request(problem);
        let source = Source::read(path).map_err(|e| request(e.to_string()))?;
        let node = parse(&source).map_err(|e| request(e.to_string()))?;
        from_node(&node).map_err(|e| request(e.to_string()))?
    } else {
        preset(name, inputs, outputs)?
    };
    spec.check("network", inputs, outputs)
        .map_err(|e| StandaloneError::Request(format!("{name}: {e}")))?;
    Ok(spec)
}

/// Drives a network with a trace; `inputs` and `outputs` default to what the trace names. The name of
/// the arbiter is looked up in the environment.
///
/// # Errors
/// See [`read_network`] and [`drive`].
pub fn bench(
    network: &str,
    packets: &[Packet],
    inputs: Option<usize>,
    outputs: Option<usize>,
    environment: &Environment,
) -> Result<(Bench, Passages), StandaloneError> {
    let shape = shape_of(packets, inputs, outputs)?;
    let spec = read_network(network, shape)?;
    let run = drive(&spec, shape, packets, u64::MAX, environment)?;
    let mut per_output = vec![0; shape.outputs];
    for packet in packets {
        per_output[packet.dst] += u64::from(packet.flits);
    }
    let flits: u64 = per_output.iter().sum();
    let rate = |flits: u64| flits as f64 / run.end.max(1) as f64;
    let pairs = || packets.iter().zip(run.passages.iter().flatten());
    let report = Bench {
        shape,
        packets: packets.len(),
        flits,
        cycles: run.end,
        flits_per_cycle: rate(flits),
        busiest_output_flits_per_cycle: rate(per_output.iter().copied().max().unwrap_or(0)),
        latency: Distribution::of(pairs().map(|(p, t)| t.arrive - p.create).collect()),
        network_latency: Distribution::of(pairs().map(|(_, t)| t.arrive - t.inject).collect()),
    };
    Ok((report, run))
}

/// Writes the trace with `inject` and `arrive` beside every packet.
///
/// # Errors
/// When the file cannot be written.
pub fn write_passages(
    path: &Path,
    packets: &[Packet],
    run: &Passages,
) -> Result<(), StandaloneError> {
    #[derive(Serialize)]
    struct Row {
        create: u64,
        src: usize,
        dst: usize,
        flits: u32,
        inject: Option<u64>,
        arrive: Option<u64>,
    }
    let rows = packets.iter().zip(&run.passages).map(|(p, t)| Row {
        create: p.create,
        src: p.src,
        dst: p.dst,
        flits: p.flits,
        inject: t.map(|t| t.inject),
        arrive: t.map(|t| t.arrive),
    });
    write_rows(path, rows)
}
