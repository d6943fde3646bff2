//! Runs a trace through a network and reports its performance.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;
use warpweave_components::crossbar::{NetworkSpec, PORTS_MAX};
use warpweave_files::{Ledger, OutputError};
use warpweave_framework::{Environment, SpecError};

use super::drive::{Packet, Passages, Shape, drive};
use super::presets::preset;
use crate::{CYCLE_MAX, Description, Distribution, RowProblem, StandaloneError, Table, write_rows};

/// Performance report of a trace run through a network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bench {
    /// Number of input and output ports of the network.
    pub shape: Shape,
    /// Number of packets in the trace; all of them arrived.
    pub packets: usize,
    /// Number of flits of all packets together.
    pub flits: u64,
    /// Number of cycles until the last packet arrived.
    pub cycles: u64,
    /// Flits per cycle, summed over all outputs.
    pub flits_per_cycle: f64,
    /// Flits per cycle at the busiest output.
    pub busiest_output_flits_per_cycle: f64,
    /// Packet latency in cycles, from creation to the arrival of the tail.
    pub latency: Option<Distribution>,
    /// Network latency in cycles, from the entry of the head to the arrival of the tail.
    pub network_latency: Option<Distribution>,
}

impl Bench {
    /// Formats the report as human-readable text.
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

/// Maximum number of flits in one packet.
pub(super) const FLITS_MAX: u32 = 1 << 16;

/// Maximum number of flits in a trace. Each takes a cycle of its output.
const FLITS_OF_ALL_MAX: u64 = 1 << 36;

/// Reads a trace with the columns `create, src, dst, flits`. Further columns are ignored.
///
/// # Errors
/// Returns an error with file and line if a row is not a packet. Also fails if packets of one
/// source are out of order, or if there are none.
pub fn read_packets(path: &Path) -> Result<Vec<Packet>, StandaloneError> {
    read_packets_within(path, &Ledger::default())
}

/// Reads a trace like [`read_packets`] and charges the rows to `ledger`.
///
/// # Errors
/// Fails like [`read_packets`], and if the rows exceed the memory budget.
pub fn read_packets_within(path: &Path, ledger: &Ledger) -> Result<Vec<Packet>, StandaloneError> {
    let table = Table::<Packet>::read_within(path, ledger)?.not_empty()?;
    check_packets(&table.rows).map_err(|problem| table.wrong(&problem))?;
    Ok(table.rows)
}

/// Checks that all packets can be sent in this order.
///
/// # Errors
/// Returns an error for the first packet that cannot be sent.
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
                let what = format!("invalid port {port}");
                let hint =
                    format!("ports are counted from 0, with at most {PORTS_MAX} on each side");
                return Err(problem(column, what, &hint));
            }
        }
        if !(1..=FLITS_MAX).contains(&packet.flits) {
            let what = format!("a packet must have 1 to {FLITS_MAX} flits");
            let hint = "split long transfers into packets";
            return Err(problem("flits", what, hint));
        }
        flits += u64::from(packet.flits);
        if flits > FLITS_OF_ALL_MAX {
            let what =
                format!("the packets up to this one have more than {FLITS_OF_ALL_MAX} flits");
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
                "cycle {} follows the later cycle {earlier} of the previous packet from source {}",
                packet.create, packet.src
            );
            let hint = "each source sends in row order; sort the rows by cycle";
            return Err(problem("create", what, hint));
        }
    }
    Ok(())
}

/// Returns the given shape, or the smallest one that has all ports used by the packets.
///
/// # Errors
/// Returns an error if the given shape is too small or too large.
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
            "--{name} {ports}: the trace needs {least}, and at most {PORTS_MAX} are supported"
        )))
    };
    let most = |port: fn(&Packet) -> usize| packets.iter().map(port).max().map_or(1, |p| p + 1);
    Ok(Shape {
        inputs: side("inputs", most(|p| p.src), inputs)?,
        outputs: side("outputs", most(|p| p.dst), outputs)?,
    })
}

/// Network to drive, with the description file it comes from, if any.
pub struct DescribedNetwork {
    /// Specification of the switch or router.
    pub spec: NetworkSpec,
    description: Option<Description>,
}

impl DescribedNetwork {
    /// Sends packets through the network, like [`drive`].
    ///
    /// # Errors
    /// Fails like [`drive`], with the position in the description.
    pub fn drive(
        &self,
        shape: Shape,
        packets: &[Packet],
        environment: &Environment,
    ) -> Result<Passages, StandaloneError> {
        let run = drive(&self.spec, shape, packets, u64::MAX, environment);
        run.map_err(|error| match error {
            StandaloneError::Specification(error) => self.refused(error),
            other => other,
        })
    }

    fn refused(&self, mut error: SpecError) -> StandaloneError {
        let Some(description) = &self.description else {
            return error.into();
        };
        if let Some(inner) = error.field.strip_prefix("network") {
            error.field = inner.replacen('.', "", 1);
        }
        description.refused("", error)
    }
}

/// Reads a network from a preset name or a RON file (`Switch(…)` or `Router(…)`).
///
/// # Errors
/// Returns an error if there is no such preset, or the file does not describe a network of this
/// shape.
pub fn read_network(name: &str, shape: Shape) -> Result<DescribedNetwork, StandaloneError> {
    let (inputs, outputs) = (shape.inputs as u32, shape.outputs as u32);
    let path = Path::new(name);
    let is_file = path.extension().is_some_and(|extension| extension == "ron");
    let network = if is_file {
        let description = Description::read(path)?;
        DescribedNetwork {
            spec: description.typed()?,
            description: Some(description),
        }
    } else {
        DescribedNetwork {
            spec: preset(name, inputs, outputs)?,
            description: None,
        }
    };
    let checked = network.spec.check("network", inputs, outputs);
    checked.map_err(|error| network.refused(error))?;
    Ok(network)
}

/// Drives a network with a trace. `inputs` and `outputs` default to the ports used by the trace.
/// The arbiter name is looked up in the environment.
///
/// # Errors
/// Fails like [`read_network`] and [`drive`].
pub fn bench(
    network: &str,
    packets: &[Packet],
    inputs: Option<usize>,
    outputs: Option<usize>,
    environment: &Environment,
) -> Result<(Bench, Passages), StandaloneError> {
    let shape = shape_of(packets, inputs, outputs)?;
    let run = read_network(network, shape)?.drive(shape, packets, environment)?;
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

/// Writes the trace with the columns `inject` and `arrive` added to every packet.
///
/// # Errors
/// Returns an error if the file cannot be written.
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
