//! A trace through a network, and what it took.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;
use warpweave_components::crossbar::{NetworkSpec, PORTS_MAX};
use warpweave_files::{Ledger, OutputError};
use warpweave_framework::Environment;
use warpweave_params::{Source, from_node, parse};

use super::drive::{Packet, Passages, Shape, drive};
use super::presets::preset;
use crate::{CYCLE_MAX, Distribution, RowProblem, StandaloneError, Table, write_rows};

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

/// Flits of the longest packet.
pub(super) const FLITS_MAX: u32 = 1 << 16;

/// Flits of all packets of a trace together: each takes a cycle of its output.
const FLITS_OF_ALL_MAX: u64 = 1 << 36;

/// Reads a trace: `create, src, dst, flits`, more columns are ignored.
///
/// # Errors
/// File and line of what is not a packet, or of one that comes before an earlier one of its source, or
/// that there is none.
pub fn read_packets(path: &Path) -> Result<Vec<Packet>, StandaloneError> {
    read_packets_within(path, &Ledger::default())
}

/// As [`read_packets`], with the rows charged to `ledger`.
///
/// # Errors
/// As [`read_packets`]; also when the rows take more memory than there may be.
pub fn read_packets_within(path: &Path, ledger: &Ledger) -> Result<Vec<Packet>, StandaloneError> {
    let table = Table::<Packet>::read_within(path, ledger)?.not_empty()?;
    check_packets(&table.rows).map_err(|problem| table.wrong(&problem))?;
    Ok(table.rows)
}

/// Whether all packets can be sent in this order.
///
/// # Errors
/// The first that cannot.
pub(super) fn check_packets(packets: &[Packet]) -> Result<(), RowProblem> {
    let mut created = [0; PORTS_MAX as usize];
    let mut flits = 0;
    for (number, packet) in packets.iter().enumerate() {
        let problem = |column: &'static str, problem: String, hint: &str| RowProblem {
            row: number,
            column,
            problem,
            hint: hint.to_owned(),
        };
        for (column, port) in [("src", packet.src), ("dst", packet.dst)] {
            if port >= PORTS_MAX as usize {
                let what = format!("there is no port {port}");
                let hint = format!("ports are counted from 0, {PORTS_MAX} on each side at most");
                return Err(problem(column, what, &hint));
            }
        }
        if !(1..=FLITS_MAX).contains(&packet.flits) {
            let what = format!("a packet has from 1 to {FLITS_MAX} flits");
            let hint = "divide long transfers into packets";
            return Err(problem("flits", what, hint));
        }
        flits += u64::from(packet.flits);
        if flits > FLITS_OF_ALL_MAX {
            let what = format!("the packets up to here have more than {FLITS_OF_ALL_MAX} flits");
            return Err(problem("flits", what, "shorten the trace"));
        }
        if packet.create > CYCLE_MAX {
            let what = format!("cycle {} is beyond {CYCLE_MAX}", packet.create);
            return Err(problem(
                "create",
                what,
                "count cycles from the first packet",
            ));
        }
        let earlier = std::mem::replace(&mut created[packet.src], packet.create);
        if packet.create < earlier {
            let what = format!(
                "cycle {} after cycle {earlier} of the packet before it from source {}",
                packet.create, packet.src
            );
            let hint = "a source sends in the order of the rows; sort them";
            return Err(problem("create", what, hint));
        }
    }
    Ok(())
}

/// The smallest shape that has all ports of the packets, or the given one.
///
/// # Errors
/// When the given one is too small or too large.
pub(super) fn shape_of(
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
            "--{name} {ports}: the trace needs {least}, at most {PORTS_MAX} can be built"
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
pub fn write_passages(path: &Path, packets: &[Packet], run: &Passages) -> Result<(), OutputError> {
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
