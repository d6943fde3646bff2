//! Micro-benchmarks: latency and throughput of instructions in one unit, latency of loads by
//! footprint, traffic of all units, atomics, barriers and launches.
//!
//! A compiler must not know what a kernel computes. So all values come from parameters, chains of
//! one thread begin at different values, and every kernel stores its results. Cycles (`%clock64`)
//! are the difference between many rounds and fewer of one kernel. This leaves out the clock's own
//! cost and whatever precedes the rounds. Traffic is timed by events over at least a
//! millisecond. A figure that no device can have is refused.
//!
//! `kernel.rs` holds the frame of the kernels, `chains.rs` instructions, `loads.rs` loads, and
//! `traffic.rs` what all units do together.

mod chains;
mod kernel;
mod loads;
mod traffic;

use crate::driver::{Driver, DriverError, Launch};

pub use self::chains::{CHAINS, Chain, Operands, STEPS};
pub use self::kernel::Rounds;
pub use self::loads::{LOADS, footprints, random_cycle};

/// Measured figure with its kind, subject and unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Kind of measurement, such as `latency`.
    pub measure: &'static str,
    /// Subject of the measurement: an instruction or a pattern.
    pub what: String,
    /// Size that the subject depends on: a footprint in bytes, threads, or 0.
    pub size: u64,
    /// Samples of the figure in ascending order.
    pub samples: Vec<f64>,
    /// Unit of the samples, such as cycles.
    pub unit: &'static str,
    /// Reason why the figure cannot be true, if there is one.
    pub refused: Option<String>,
}

impl Figure {
    /// Returns the median, the least and the largest sample.
    pub fn values(&self) -> Option<[f64; 3]> {
        let (first, last) = (self.samples.first()?, self.samples.last()?);
        Some([self.samples[self.samples.len() / 2], *first, *last])
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Number of samples of each figure.
    pub samples: u32,
    /// Number of rounds of 512 steps in the shorter of two launches that are compared.
    pub rounds: u32,
    /// Least time of a measurement by events, in nanoseconds.
    pub least_nanoseconds: f64,
    /// Number of launches, and of work-groups, whose rate is measured.
    pub launches: u32,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            samples: 10,
            rounds: 4,
            least_nanoseconds: 1e6,
            launches: 1000,
        }
    }
}

/// Kind of figure, with the smallest and the largest value that one may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    pub(crate) measure: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// Latency of an instruction. No result is ready in the next cycle, and nothing takes longer than a
/// thousand accesses of memory.
pub(crate) const LATENCY: Quantity = Quantity {
    measure: "latency",
    unit: "cycles",
    least: 2.0,
    most: 1e6,
};

/// Rate of an instruction in a unit, which issues at most four wavefronts in a cycle.
pub(crate) const RATE: Quantity = Quantity {
    measure: "throughput",
    unit: "thread instructions per cycle and unit",
    least: 1e-4,
    most: 128.0,
};

/// Device under test, with the kernels and the figures so far.
pub(crate) struct Bench<'d> {
    pub(crate) driver: &'d mut dyn Driver,
    pub(crate) effort: Effort,
    pub(crate) module: usize,
    /// Address of the cycles that each thread counts.
    pub(crate) cycles: u64,
    /// Address of the results, eight bytes for each thread.
    pub(crate) sink: u64,
    /// Address of the data that kernels access.
    pub(crate) data: u64,
    pub(crate) figures: Vec<Figure>,
}

impl Bench<'_> {
    /// Adds a figure, and refuses it if a sample is outside the bounds.
    pub(crate) fn add(
        &mut self,
        quantity: Quantity,
        what: impl Into<String>,
        size: u64,
        mut samples: Vec<f64>,
    ) {
        let Quantity {
            measure,
            unit,
            least,
            most,
        } = quantity;
        samples.sort_by(f64::total_cmp);
        let wrong = samples.iter().find(|it| !(least..=most).contains(*it));
        let refused = wrong.map(|it| format!("{it:.4} is not between {least} and {most}"));
        self.figures.push(Figure {
            measure,
            what: what.into(),
            size,
            samples,
            unit,
            refused,
        });
    }

    /// Returns a launch of one of the kernels.
    pub(crate) fn launch(
        &self,
        kernel: &str,
        grid: u32,
        block: u32,
        arguments: Vec<Vec<u8>>,
    ) -> Launch {
        Launch {
            module: self.module,
            kernel: kernel.to_owned(),
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_local_bytes: 0,
            cooperative: false,
            arguments,
        }
    }
}

/// Returns the PTX module of all micro-benchmarks.
pub fn ptx() -> String {
    let mut text = String::from(".version 7.0\n.target sm_70\n.address_size 64\n");
    chains::kernels(&mut text);
    loads::kernels(&mut text);
    traffic::kernels(&mut text);
    text
}

/// Bytes of results: eight for each of 1,024 threads.
const RESULT_BYTES: u64 = 8 << 10;

/// Runs all micro-benchmarks and returns their figures.
///
/// # Errors
/// Returns the error reported by the driver.
pub fn run(driver: &mut dyn Driver, effort: Effort) -> Result<Vec<Figure>, DriverError> {
    let module = driver.load(&ptx())?;
    let l2_bytes = driver.properties().l2_bytes;
    let (cycles, sink) = (
        driver.allocate(RESULT_BYTES)?,
        driver.allocate(RESULT_BYTES)?,
    );
    let data = driver.allocate(loads::data_bytes(l2_bytes))?;
    let mut bench = Bench {
        driver,
        effort,
        module,
        cycles,
        sink,
        data,
        figures: Vec::new(),
    };
    chains::measure(&mut bench)?;
    loads::measure(&mut bench)?;
    traffic::measure(&mut bench)?;
    Ok(bench.figures)
}
