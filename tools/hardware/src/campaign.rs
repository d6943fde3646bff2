//! Measures a whole set, and writes its tables after every step.

use std::fmt::Write as _;
use std::path::Path;

use warpweave_files::Output;

use crate::driver::Driver;
use crate::live::without_severity;
use crate::measure::Meter;
use crate::micro::{self, Effort};
use crate::set::{Block, MeasurementSet, Step};
use crate::table::{self, Labels};

/// Tables of a campaign so far, as text.
#[derive(Debug, Default)]
struct Tables {
    measurements: String,
    launches: String,
}

/// Campaign that writes into a folder.
pub struct Campaign<'c> {
    pub path: &'c Path,
    pub set: &'c MeasurementSet,
    /// Folder for the tables; it must exist.
    pub folder: &'c Path,
    /// Length of the micro-benchmarks, if the set asks for them.
    pub effort: Effort,
    /// Name, version and hash of the measuring program, for the tables.
    pub measured_by: &'c str,
    /// Receives a line about every step when it has ended.
    pub report: &'c mut dyn FnMut(&str),
}

/// Outcome of a campaign, in numbers of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Number of steps that were measured.
    pub measured: u32,
    /// Number of steps whose results were not as expected.
    pub wrong: u32,
    /// Number of steps that could not be measured.
    pub failed: u32,
}

impl Campaign<'_> {
    /// Measures all blocks. A step that fails is reported, and the others are measured.
    ///
    /// # Errors
    /// Returns an error if a table cannot be written, or if the micro-benchmarks fail.
    pub fn run(&mut self, driver: &mut dyn Driver, meter: &mut Meter) -> Result<Outcome, String> {
        let mut tables = Tables {
            measurements: table::measurements_head(
                driver.properties(),
                self.measured_by,
                &meter.sampled(),
            ),
            launches: table::timed_launches_head(driver.properties()),
        };
        let mut outcome = Outcome::default();
        if self.set.micro {
            let figures = micro::run(driver, self.effort).map_err(|error| error.to_string())?;
            driver.release();
            let text = table::figures(driver.properties(), &figures);
            self.write("micro.csv", &text)?;
            (self.report)("micro-benchmarks measured");
        }
        for (name, block) in &self.set.blocks {
            self.block(&name.value, block, driver, meter, &mut tables, &mut outcome)?;
        }
        Ok(outcome)
    }

    fn block(
        &mut self,
        graph: &str,
        block: &Block,
        driver: &mut dyn Driver,
        meter: &mut Meter,
        tables: &mut Tables,
        outcome: &mut Outcome,
    ) -> Result<(), String> {
        let programs = block.read(self.path);
        let idle = meter.measure_idle(self.set.idle_seconds);
        let idle = idle.map_or("unknown".to_owned(), |watts| format!("{watts:.1} W"));
        (self.report)(&format!("{graph}: idle power {idle}"));
        for pass in 0..self.set.passes {
            for index in block.order(pass) {
                let step = &block.steps[index];
                let labels = labels(graph, step, pass);
                let program = match &programs[index] {
                    Ok(program) => program,
                    Err(problems) => {
                        outcome.failed += 1;
                        self.failed(labels, &problems.to_string(), tables)?;
                        continue;
                    }
                };
                let measured = match meter.measure(program, driver, &step.repetitions()) {
                    Ok(measured) => measured,
                    Err(problem) => {
                        outcome.failed += 1;
                        self.failed(labels, &problem.to_string(), tables)?;
                        continue;
                    }
                };
                outcome.measured += 1;
                outcome.wrong += u32::from(!measured.repeated.passed());
                let device = driver.properties();
                let timed = &measured.repeated.timed;
                tables.measurements += &table::measurement(labels, &measured);
                tables.launches += &table::timed_launches(labels, device, timed);
                self.write_all(tables)?;
                self.write("power.csv", &table::samples(device, &meter.samples()))?;
                let [_, median, _] = measured.milliseconds();
                (self.report)(&format!(
                    "{graph}, {} {}: {median:.3} ms in {} runs",
                    step.algorithm,
                    step.strategy,
                    measured.repeated.nanoseconds.len()
                ));
            }
        }
        Ok(())
    }

    /// Notes a step that was not measured.
    fn failed(
        &mut self,
        labels: Labels<'_>,
        problem: &str,
        tables: &mut Tables,
    ) -> Result<(), String> {
        let Labels {
            algorithm,
            strategy,
            graph,
            ..
        } = labels;
        let problem = without_severity(problem);
        let text = format!("{graph}, {algorithm} {strategy}: failed: {problem}");
        for line in text.lines() {
            let _ = writeln!(tables.measurements, "# {line}");
        }
        self.write_all(tables)?;
        (self.report)(&text);
        Ok(())
    }

    fn write_all(&self, tables: &Tables) -> Result<(), String> {
        self.write("measurements.csv", &tables.measurements)?;
        self.write("launches.csv", &tables.launches)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let written = Output::write(&self.folder.join(name), text.as_bytes());
        written.map_err(|error| error.to_string())
    }
}

fn labels<'l>(graph: &'l str, step: &'l Step, pass: u32) -> Labels<'l> {
    Labels {
        algorithm: &step.algorithm,
        strategy: &step.strategy,
        graph,
        pass,
    }
}
