//! Rounds in which every implementation runs once, so that other load affects all alike.
//!
//! Every run is a separate process. The order rotates from round to round. A ratio compares two
//! runs of the same round. The median over rounds counts, and the quartiles are its spread.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;

use warpweave_bench::{Implementation, Sample, Workload};

use crate::callgrind;
use crate::systemc::SystemC;

/// Figures of all workloads by name, each by implementation.
pub(crate) type Figures = BTreeMap<&'static str, BTreeMap<&'static str, Figure>>;

/// Cost of one workload on one implementation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Figure {
    /// Median CPU nanoseconds per unit, over the rounds.
    pub(crate) ns: f64,
    /// Host instructions per unit, if counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instructions: Option<f64>,
    /// Time relative to the framework's in the same round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ratio: Option<Ratio>,
    /// Resident bytes of an idle component, and of a channel with its two ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<Bytes>,
}

/// Median and spread of a ratio over all rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    /// First and third quartile over the rounds.
    pub(crate) quartiles: [f64; 2],
}

/// Memory footprint of a system after elaboration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Bytes {
    pub(crate) component: f64,
    pub(crate) channel: f64,
}

/// Hint on how to build with the peers that are crates.
pub(crate) const PEERS_HINT: &str = "hint: cargo run --release -p warpweave-bench --features peers";

/// Workloads and implementations to run, and the number of rounds.
pub(crate) struct Plan {
    pub(crate) workloads: Vec<Workload>,
    pub(crate) peers: bool,
    pub(crate) pairs: usize,
    /// Factor by which runs are shorter than usual.
    pub(crate) shorter: u64,
}

/// All implementations that can run on this host.
struct Field {
    program: PathBuf,
    systemc: Option<SystemC>,
    nexosim: bool,
}

impl Plan {
    /// Runs everything. `note` receives the missing implementations and the progress.
    ///
    /// # Errors
    /// Fails with a text if a run fails.
    pub(crate) fn measure(&self, note: &mut dyn FnMut(&str)) -> Result<Figures, String> {
        let field = Field::new(self.peers, note)?;
        let counts = callgrind::is_installed();
        if !counts {
            note("no instructions are counted: valgrind is absent\nhint: apt-get install valgrind");
        }
        let mut figures = Figures::new();
        for workload in &self.workloads {
            note(workload.name());
            let mut own = self.timed(*workload, &field)?;
            if counts {
                for by in field.able(*workload) {
                    let figure = own.get_mut(by.name()).expect("it was timed");
                    figure.instructions = Some(field.instructions(*workload, by, self.shorter)?);
                }
            }
            figures.insert(workload.name(), own);
        }
        Ok(figures)
    }

    fn timed(
        &self,
        workload: Workload,
        field: &Field,
    ) -> Result<BTreeMap<&'static str, Figure>, String> {
        let able = field.able(workload);
        let mut times = vec![Vec::new(); able.len()];
        let mut bytes = None;
        for round in 0..self.pairs {
            for i in 0..able.len() {
                let at = (i + round) % able.len();
                let length = (workload.length(able[at]) / self.shorter).max(1);
                let sample = field.run(workload, able[at], workload.sizes(), length)?;
                times[at].push(sample.ns_per_unit());
                if workload == Workload::Elaboration {
                    let alone = field.run(workload, able[at], &[0], length)?;
                    let component = alone.bytes as f64 / length as f64;
                    let channel = sample.bytes as f64 / length as f64 - component;
                    bytes = Some(Bytes { component, channel });
                }
            }
        }
        let figure = |(by, ns): (&Implementation, &Vec<f64>)| {
            let ratio = (*by != Implementation::Warpweave).then(|| ratio(ns, &times[0]));
            let figure = Figure {
                ns: quantile(ns, 0.5),
                instructions: None,
                ratio,
                bytes,
            };
            (by.name(), figure)
        };
        Ok(able.iter().zip(&times).map(figure).collect())
    }
}

impl Field {
    fn new(peers: bool, note: &mut dyn FnMut(&str)) -> Result<Self, String> {
        let program = env::current_exe().map_err(|e| format!("this program's path: {e}"))?;
        let folder = program.parent().unwrap_or(Path::new("."));
        let systemc = if peers {
            note("compiling the SystemC peer");
            SystemC::compile(folder)
                .map_err(|e| note(&format!("SystemC is absent: {e}")))
                .ok()
        } else {
            None
        };
        let nexosim = peers && cfg!(feature = "peers");
        if peers && !nexosim {
            note(&format!(
                "NeXosim is absent\n{PEERS_HINT} -- kernel --peers"
            ));
        }
        Ok(Self {
            program,
            systemc,
            nexosim,
        })
    }

    fn able(&self, workload: Workload) -> Vec<Implementation> {
        let all = workload.implementations().iter().copied();
        all.filter(|by| match by {
            Implementation::Warpweave | Implementation::Limit => true,
            Implementation::Nexosim => self.nexosim,
            _ => self.systemc.is_some(),
        })
        .collect()
    }

    fn command(
        &self,
        workload: Workload,
        by: Implementation,
        sizes: &[u64],
        length: u64,
    ) -> Command {
        if let (Some(style), Some(systemc)) = (by.systemc_style(), &self.systemc) {
            return systemc.command(workload.name(), style, length);
        }
        one_run(&self.program, workload, by, sizes, length)
    }

    fn run(
        &self,
        workload: Workload,
        by: Implementation,
        sizes: &[u64],
        length: u64,
    ) -> Result<Sample, String> {
        let mut command = self.command(workload, by, sizes, length);
        let output = command
            .output()
            .map_err(|e| format!("{}: {e}", by.name()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Sample::parse(&text).ok_or_else(|| {
            let errors = String::from_utf8_lossy(&output.stderr);
            format!("{} gave no figures: {text}{errors}", by.name())
        })
    }

    fn instructions(
        &self,
        workload: Workload,
        by: Implementation,
        shorter: u64,
    ) -> Result<f64, String> {
        let sizes = workload.counting_sizes();
        let command = |length| self.command(workload, by, sizes, length);
        // Others need more instructions for each.
        let fewer = match by {
            Implementation::Warpweave | Implementation::Limit => 1,
            _ => 2,
        };
        let lengths = workload.counting_lengths(shorter * fewer);
        callgrind::per_unit(command, lengths).map_err(|e| format!("{}: {e}", by.name()))
    }
}

/// Returns the command for a run by this program itself.
pub(crate) fn one_run(
    program: &Path,
    workload: Workload,
    by: Implementation,
    sizes: &[u64],
    length: u64,
) -> Command {
    let mut command = Command::new(program);
    command.args([
        "one",
        workload.name(),
        &length.to_string(),
        "--by",
        by.name(),
    ]);
    for size in sizes {
        command.args(["--size", &size.to_string()]);
    }
    command
}

/// Computes the median and quartiles of the per-round ratios.
pub(crate) fn ratio(theirs: &[f64], ours: &[f64]) -> Ratio {
    let pairs: Vec<f64> = theirs.iter().zip(ours).map(|(t, o)| t / o).collect();
    Ratio {
        median: quantile(&pairs, 0.5),
        quartiles: [quantile(&pairs, 0.25), quantile(&pairs, 0.75)],
    }
}

/// Returns the quantile of the values at `part`, interpolated linearly between the two nearest.
fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = part * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_the_median_of_pairs_and_not_of_sides() {
        // The machine was ten times slower in the second round, for both.
        let ratio = ratio(&[4.0, 40.0, 6.0], &[2.0, 20.0, 2.0]);
        let expected = Ratio {
            median: 2.0,
            quartiles: [2.0, 2.5],
        };
        assert_eq!(ratio, expected);
    }

    #[test]
    fn a_quantile_lies_between_its_neighbours() {
        assert!((quantile(&[3.0, 1.0], 0.5) - 2.0).abs() < 1e-12);
        assert!((quantile(&[5.0], 0.25) - 5.0).abs() < 1e-12);
    }
}
