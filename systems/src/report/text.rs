//! Complete text report with every statistic.

use std::fmt::{self, Write as _};

use warpweave_framework::{Combination, Value};
use warpweave_params::{printable, printable_lines};

use super::energy::write_energy;
use super::evidence::Slots;
use super::groups::{Combined, Group, Total, group};
use super::roofline::Roofline;
use super::rows::kernel_rows;
use super::{Host, Report};
use crate::digits::grouped;
use crate::run::{KernelResult, Simulated};

impl Report {
    /// Returns every statistic as text, without host measurements. Instances that differ only in
    /// their index are combined.
    pub fn to_full_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("writing to a string succeeds");
        printable_lines(&text).into_owned()
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let simulated = &self.simulated;
        writeln!(out, "{}", printable(&self.scenario))?;
        if !self.summary.is_empty() {
            writeln!(out, "  {}", printable(&self.summary))?;
        }
        writeln!(out)?;
        let mut line = |name: &str, value: String| writeln!(out, "{name:<24}{value}");
        line("status", self.status.name().to_owned())?;
        line(
            "verified",
            match self.verified {
                Some(true) => match self.verified_note() {
                    Some(note) => format!("yes: {note}"),
                    None => "yes".to_owned(),
                },
                Some(false) => "NO".to_owned(),
                None => "no expected results".to_owned(),
            },
        )?;
        line(
            "cycles",
            format!(
                "{} ({} clock)",
                grouped(simulated.cycles),
                simulated.core_clock
            ),
        )?;
        line("simulated time", seconds(simulated.seconds))?;
        line(
            "wavefront instructions",
            grouped(simulated.wavefront_instructions),
        )?;
        line(
            "thread instructions",
            grouped(simulated.thread_instructions),
        )?;
        line(
            "IPC",
            format!("{:.3} wavefront instructions per cycle", simulated.ipc()),
        )?;
        if let Some(occupancy) = simulated.occupancy {
            line(
                "occupancy",
                format!("{:.1}% of the wavefront slots", occupancy * 100.0),
            )?;
        }
        if let Some(occupancy) = simulated.occupancy_in_kernels() {
            let words = format!("{:.1}% while kernels ran", occupancy * 100.0);
            line("occupancy in kernels", words)?;
        }
        let slots = Slots::of(&simulated.statistics).in_kernels(&simulated.kernel_time);
        if let Some(roofline) = Roofline::of(simulated, &slots) {
            line("roofline", roofline.in_words())?;
        }
        if let Some(region) = &simulated.region {
            line("region", region.in_words())?;
            if let Some(estimate) = &region.estimate {
                line("estimate", estimate.in_words())?;
            }
        }
        for o in &self.overrides {
            let text = format!("{} = {} ({})", o.path, o.value, o.from);
            line("override", printable(&text).into_owned())?;
        }
        if let Some(detail) = self.status.detail() {
            writeln!(out, "\n{detail}")?;
        }
        for check in &self.checks {
            let mark = if check.passed { "ok" } else { "MISMATCH" };
            writeln!(
                out,
                "  {mark}: {} against {}: {}",
                printable(&check.buffer),
                printable(&check.reference),
                check.detail
            )?;
        }
        write_kernels(out, &simulated.kernels)?;
        if let Some(energy) = &simulated.energy {
            write_energy(out, energy)?;
        }
        write_slots(out, simulated)?;
        for group in group(&simulated.statistics) {
            write_group(out, &group)?;
        }
        Ok(())
    }
}

impl Host {
    /// Returns the host measurements as text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "simulated {} wavefront instructions and {} cycles per CPU second ({:.2} s), emulated \
             {} per CPU second ({:.2} s); peak memory {:.0} MiB",
            grouped(self.wavefront_instructions_per_s as u64),
            grouped(self.cycles_per_s as u64),
            self.simulation_cpu_s,
            grouped(self.emulated_wavefront_instructions_per_s as u64),
            self.emulation_cpu_s,
            self.peak_rss_bytes as f64 / f64::from(1 << 20),
        );
        if self.threads > 1 {
            let _ = writeln!(
                text,
                "{} threads worked on {} windows together, one on {} alone",
                self.threads,
                grouped(self.windows_together),
                grouped(self.windows_alone),
            );
        }
        text
    }
}

fn write_kernels(out: &mut String, kernels: &[KernelResult]) -> fmt::Result {
    if kernels.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nkernels")?;
    writeln!(
        out,
        "  {:<24}{:>9}{:>12}{:>11}{:>11}{:>11}{:>11}{:>17}{:>7}",
        "kernel",
        "launches",
        "work-groups",
        "launched",
        "start",
        "end",
        "cycles",
        "wavefront instr.",
        "IPC"
    )?;
    for row in kernel_rows(kernels) {
        let cycle = |at: Option<u64>| at.map_or("-".to_owned(), grouped);
        writeln!(
            out,
            "  {:<24}{:>9}{:>12}{:>11}{:>11}{:>11}{:>11}{:>17}{:>7.3}",
            printable(&row.name),
            row.launches.len(),
            grouped(row.work_groups),
            cycle(row.launched),
            cycle(row.started),
            cycle(row.ended),
            grouped(row.cycles),
            grouped(row.instructions),
            row.ipc(),
        )?;
    }
    Ok(())
}

/// Writes the breakdown of each compute unit's issue slots while kernels ran, in percent.
fn write_slots(out: &mut String, simulated: &Simulated) -> fmt::Result {
    let slots = Slots::of(&simulated.statistics).in_kernels(&simulated.kernel_time);
    let Slots { names, units, .. } = slots;
    if units.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nissue slots of each compute unit while kernels ran, percent"
    )?;
    // Two spaces at least between the columns, whatever the names.
    let widths: Vec<usize> = names.iter().map(|n| n.len().max(5) + 2).collect();
    let label = units.iter().map(|(path, _)| path.len()).max();
    let label = label.unwrap_or(0).max(4);
    write!(out, "  {:<label$}", "unit")?;
    for (name, width) in names.iter().zip(&widths) {
        write!(out, "{name:>width$}")?;
    }
    writeln!(out)?;
    let mut totals = vec![0u64; names.len()];
    let row = |out: &mut String, name: &str, counts: &[u64]| {
        let all: u64 = counts.iter().sum::<u64>().max(1);
        write!(out, "  {name:<label$}")?;
        for (count, width) in counts.iter().zip(&widths) {
            write!(out, "{:>width$.1}", *count as f64 * 100.0 / all as f64)?;
        }
        writeln!(out)
    };
    for (path, counts) in &units {
        for (total, count) in totals.iter_mut().zip(counts) {
            *total += count;
        }
        row(out, path, counts)?;
    }
    row(out, "all", &totals)
}

fn write_group(out: &mut String, group: &Group) -> fmt::Result {
    let many = if group.instances > 1 {
        format!(" x{}", group.instances)
    } else {
        String::new()
    };
    writeln!(out, "\n{} ({}{many})", group.pattern, group.kind)?;
    for total in &group.totals {
        write_total(out, total, group.instances > 1)?;
    }
    Ok(())
}

/// Writes one statistic of one instance, or of `several`.
pub(super) fn write_total(out: &mut String, total: &Total, several: bool) -> fmt::Result {
    let Total { name, unit, .. } = total;
    let value = match &total.combined {
        Combined::One(value) => value,
        Combined::Apart(numbers) => {
            let numbers = numbers.iter().map(|(number, count)| match count {
                1 if !several => number.to_string(),
                _ => format!("{number} x{count}"),
            });
            let numbers = numbers.collect::<Vec<_>>().join(", ");
            return writeln!(out, "  {name:<36}{numbers:>20} {unit}");
        }
    };
    match value {
        Value::Counter(n) => writeln!(out, "  {name:<36}{:>20} {unit}", grouped(*n)),
        Value::Number(n) => {
            let which = match total.combination {
                Combination::Maximum if several => ", the largest",
                Combination::Minimum if several => ", the smallest",
                _ => "",
            };
            writeln!(out, "  {name:<36}{:>20} {unit}{which}", grouped(*n))
        }
        Value::Gauge(x) if x.is_nan() => writeln!(out, "  {name:<36}{:>20}", "-"),
        Value::Gauge(x) => writeln!(out, "  {name:<36}{x:>20.3} {unit}"),
        Value::Ratio { whole: 0, .. } => writeln!(out, "  {name:<36}{:>20}", "-"),
        // A mean of something, or more than a whole: a number per something, not a share.
        Value::Ratio { part, whole } if !unit.is_empty() || part > whole => {
            let quotient = *part as f64 / *whole as f64;
            let line = format!("  {name:<36}{quotient:>20.3} {unit}");
            writeln!(out, "{}", line.trim_end())
        }
        Value::Ratio { part, whole } => {
            let percent = *part as f64 * 100.0 / *whole as f64;
            writeln!(out, "  {name:<36}{percent:>19.1}%")
        }
        Value::Histogram(h) => match (h.mean(), h.min(), h.max()) {
            (Some(mean), Some(min), Some(max)) => writeln!(
                out,
                "  {name:<36}{mean:>20.1} {unit} mean, {min} to {max}, {} values",
                grouped(h.count())
            ),
            _ => writeln!(out, "  {name:<36}{:>20}", "-"),
        },
        // They are for machines.
        Value::Series(_) => Ok(()),
    }
}

pub(super) fn seconds(s: f64) -> String {
    match s {
        s if s >= 1.0 => format!("{s:.6} s"),
        s if s >= 1e-3 => format!("{:.6} ms", s * 1e3),
        s => format!("{:.3} us", s * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_a_fitting_unit() {
        assert_eq!(seconds(0.000_012), "12.000 us");
        assert_eq!(seconds(0.5), "500.000000 ms");
    }
}
