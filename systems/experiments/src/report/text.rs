//! Text page that presents the results of a study.

use std::fmt::{self, Write as _};

use warpweave_params::printable_lines;

use super::number::number;
use super::tables::{HEADROOM_WORDS, SCALE_HEADS, scale_rows};
use crate::judge::{
    Bounds, Extreme, Interval, JudgedClaim, StudiedEnergy, StudiedLaunches, StudiedMetric,
    StudiedShares, Study,
};

/// Remark on a control that is not where a control should be.
pub(super) const FAR: &str =
    "; beyond the margin on the other side of the baseline, so it does more than switch off";

/// Formats the resolution, means and verdicts as text.
pub fn text(study: &Study) -> String {
    let mut text = String::new();
    write(study, &mut text).expect("writing to a string succeeds");
    printable_lines(&text).into_owned()
}

fn write(study: &Study, out: &mut String) -> fmt::Result {
    writeln!(out, "\n{}", study.summary)?;
    let repeated = if study.pairs == 1 {
        "once"
    } else {
        "with intervals of 95 %"
    };
    writeln!(
        out,
        "{} workloads, {} pairs, {repeated}; ratios are relative to {}",
        study.workloads.len(),
        study.pairs,
        study.baseline
    )?;
    for equal in &study.equal_pairs {
        writeln!(out, "warning: {equal}")?;
    }
    write_scale(study, out)?;
    write_headroom(study, out)?;
    for metric in &study.metrics {
        write_metric(study, out, metric)?;
    }
    if let Some(energy) = &study.energy {
        write_energy(out, energy)?;
    }
    study
        .shares
        .iter()
        .try_for_each(|shares| write_shares(out, shares))?;
    if !study.claims.is_empty() {
        writeln!(out, "\nclaims")?;
    }
    study
        .claims
        .iter()
        .try_for_each(|claim| write_claim(out, claim))?;
    match study.below_gates() {
        (_, 0) => Ok(()),
        (below, gated) => writeln!(out, "{}", below_gates(below, gated)),
    }
}

/// Counts the findings that a gate makes void.
pub(super) fn below_gates(below: usize, gated: usize) -> String {
    format!("{below} of {gated} findings with gates are void because a gate is not met")
}

fn write_scale(study: &Study, out: &mut String) -> fmt::Result {
    let rows = scale_rows(study);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nscale of the programs, independent of timing")?;
    let names = rows.iter().map(|row| row.name.chars().count());
    let width = names.max().unwrap_or(0).min(40);
    let columns: Vec<usize> = SCALE_HEADS.iter().map(|head| head.len().max(8)).collect();
    write!(out, "  {:<width$}", "")?;
    for (head, column) in SCALE_HEADS.iter().zip(&columns) {
        write!(out, "  {head:>column$}")?;
    }
    out.push('\n');
    for row in &rows {
        write!(out, "  {:<width$}", row.name)?;
        if let Some(why) = &row.unknown {
            writeln!(out, "  not known: {why}")?;
            continue;
        }
        for (cell, column) in row.cells.iter().zip(&columns) {
            write!(out, "  {cell:>column$}")?;
        }
        out.push('\n');
    }
    Ok(())
}

/// Writes what the programs gain on machines for headroom.
fn write_headroom(study: &Study, out: &mut String) -> fmt::Result {
    let rows = study.work.iter().flat_map(|work| &work.headroom);
    let Some(first) = rows.clone().next() else {
        return Ok(());
    };
    writeln!(out, "\n{HEADROOM_WORDS}")?;
    let names = study.work.iter().map(|work| work.workload.chars().count());
    let width = names.max().unwrap_or(0).min(40);
    let machines = rows.map(|row| row.machine.chars().count());
    let machine_width = machines.max().unwrap_or(0).min(40);
    write!(
        out,
        "  {:<width$}  {:<machine_width$}  {:>9}",
        "", "", "speed"
    )?;
    for (name, _) in &first.shown {
        write!(out, "  {name:>9}")?;
    }
    out.push('\n');
    let known = |value: Option<f64>| value.map_or_else(|| "—".to_owned(), number);
    for work in &study.work {
        for (at, row) in work.headroom.iter().enumerate() {
            let name = if at == 0 { work.workload.as_str() } else { "" };
            let (machine, speed) = (&row.machine, known(row.speed));
            write!(
                out,
                "  {name:<width$}  {machine:<machine_width$}  {speed:>9}"
            )?;
            for (name, value) in &row.shown {
                let width = name.chars().count().max(9);
                write!(out, "  {:>width$}", known(*value))?;
            }
            out.push('\n');
        }
    }
    Ok(())
}

fn write_metric(study: &Study, out: &mut String, metric: &StudiedMetric) -> fmt::Result {
    write!(out, "\n{}: {}", metric.name, metric.mean)?;
    if !metric.unit.is_empty() && !metric.is_ratio {
        write!(out, ", {}", metric.unit)?;
    }
    if let Some(resolution) = metric.resolution {
        write!(out, "; resolution {}", number(resolution))?;
    }
    out.push('\n');
    let width = study.points.iter().map(|point| point.name.chars().count());
    let width = width.max().unwrap_or(0).min(40);
    for (point, row) in study.points.iter().zip(&metric.rows) {
        let kind = if point.control { "  (control)" } else { "" };
        match row.mean {
            Some(mean) => writeln!(
                out,
                "  {:<width$}  {:>9}  [{}, {}]{kind}",
                point.name,
                number(mean.median),
                number(mean.low),
                number(mean.high)
            )?,
            None if !row.is_measured => writeln!(out, "  {:<width$}          —{kind}", point.name)?,
            None => writeln!(out, "  {:<width$}  undefined{kind}", point.name)?,
        }
    }
    write_groups(study, out, metric)?;
    if !metric.undefined.is_empty() {
        let first = &metric.undefined[0];
        writeln!(
            out,
            "  undefined in {} runs, such as {first}",
            metric.undefined.len()
        )?;
    }
    if let Some((id, problem)) = metric.problems.first() {
        let more = metric.problems.len();
        writeln!(
            out,
            "  cannot be computed in {more} runs, such as {id}: {problem}"
        )?;
    }
    Ok(())
}

/// Writes mean, least and most of each group of a metric over launches or groups.
fn write_groups(study: &Study, out: &mut String, metric: &StudiedMetric) -> fmt::Result {
    if metric.groups.is_empty() {
        return Ok(());
    }
    let names = study.points.iter().map(|point| point.name.chars().count());
    let width = names.max().unwrap_or(0).clamp(5, 40);
    for group in &metric.groups {
        writeln!(out, "  {}", group.name)?;
        writeln!(
            out,
            "    {:<width$}  {:>9}  {:>9}  {:>9}",
            "", "mean", "least", "most"
        )?;
        for (at, (point, row)) in study.points.iter().zip(&group.rows).enumerate() {
            if !metric.rows[at].is_measured {
                continue;
            }
            let (Some(mean), Some(least), Some(most)) = (row.mean, &row.least, &row.most) else {
                writeln!(out, "    {:<width$}  undefined", point.name)?;
                continue;
            };
            let line = format!(
                "    {:<width$}  {:>9}  {:>9}  {:>9}  {}",
                point.name,
                number(mean.median),
                number(least.value.median),
                number(most.value.median),
                places(least, most)
            );
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    metric
        .launches
        .as_ref()
        .map_or(Ok(()), |launches| writeln!(out, "  {}", left_out(launches)))
}

/// Names the places of the least and the largest value, unless they are equal.
fn places(least: &Extreme, most: &Extreme) -> String {
    if least.value == most.value {
        return String::new();
    }
    format!("least: {}; most: {}", least.place, most.place)
}

/// Describes the launches that a metric measures and leaves out.
pub(super) fn left_out(launches: &StudiedLaunches) -> String {
    let StudiedLaunches {
        kernel,
        at_least,
        measured,
        short,
        undefined,
        unpaired,
        ..
    } = launches;
    let mut words = format!("launches of `{kernel}` in the first pair: {measured} measured");
    if *at_least > 0 {
        let _ = write!(
            words,
            ", {short} left out with fewer than {at_least} wavefront instructions"
        );
    }
    if *undefined > 0 {
        let _ = write!(words, "; in all runs {undefined} without a value");
    }
    if *unpaired > 0 {
        let _ = write!(
            words,
            "; in all runs {unpaired} without a value of the baseline"
        );
    }
    words
}

/// Writes energy and energy-delay product of each variant, over all ranges of the coefficients.
fn write_energy(out: &mut String, energy: &StudiedEnergy) -> fmt::Result {
    if energy.rows.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nenergy, uncalibrated: ratios over the ranges of all coefficients, mean over workloads"
    )?;
    let width = energy.rows.iter().map(|row| row.point.chars().count());
    let width = width.max().unwrap_or(0).min(40);
    let words = |bounds: Bounds| {
        format!(
            "{:>7} [{}, {}] {}",
            number(bounds.nominal),
            number(bounds.low),
            number(bounds.high),
            bounds.word()
        )
    };
    for row in &energy.rows {
        writeln!(
            out,
            "  {:<width$}  energy {}, EDP {}",
            row.point,
            words(row.energy),
            words(row.edp)
        )?;
    }
    let Some(fit) = &energy.fit else {
        return Ok(());
    };
    writeln!(
        out,
        "  assuming that {} takes {} % of the baseline energy ({}; its coefficients x {}, before {} %):",
        fit.component,
        number(fit.share * 100.0),
        fit.because,
        number(fit.factor),
        number(fit.share_before * 100.0)
    )?;
    for (row, (energy, edp, follows)) in energy.rows.iter().zip(&fit.rows) {
        writeln!(
            out,
            "  {:<width$}  energy {:>7}, EDP {:>7}; energy change {:+.4}, of which {:+.4} follows from the share",
            row.point,
            number(*energy),
            number(*edp),
            energy - 1.0,
            follows
        )?;
    }
    Ok(())
}

/// Writes the contribution of each axis to the mean over workloads.
fn write_shares(out: &mut String, shares: &StudiedShares) -> fmt::Result {
    let Some(row) = shares.rows.iter().find(|row| row.workload.is_none()) else {
        return Ok(());
    };
    writeln!(
        out,
        "\ncontributions to {} of {}: mean over workloads and pairs",
        shares.metric, shares.variant
    )?;
    let pair = |(a, b, value): &(String, String, Interval)| (format!("{a} × {b}"), *value);
    let whole = [("all together".to_owned(), row.whole)];
    let lines = row.shares.iter().cloned().chain(whole);
    let lines: Vec<_> = lines.chain(row.interactions.iter().map(pair)).collect();
    let width = lines.iter().map(|(name, _)| name.chars().count());
    let width = width.max().unwrap_or(0).min(40);
    for (name, value) in lines {
        writeln!(
            out,
            "  {name:<width$}  {:>+9.4}  [{:+.4}, {:+.4}]",
            value.median, value.low, value.high
        )?;
    }
    Ok(())
}

fn write_claim(out: &mut String, claim: &JudgedClaim) -> fmt::Result {
    let mark = if claim.is_as_expected() { " " } else { "!" };
    writeln!(out, "{mark} {:<15} {}", claim.verdict.name(), claim.name)?;
    let mut words = Vec::new();
    if let (Some(effect), Some(margin)) = (claim.effect, claim.margin) {
        words.push(format!(
            "effect {:+.4} [{:+.4}, {:+.4}], margin {margin}",
            effect.median, effect.low, effect.high
        ));
    }
    if !claim.because.is_empty() {
        words.push(claim.because.clone());
    }
    for gate in claim.gates.iter().filter(|gate| gate.is_met()) {
        words.push(format!("gate met: {gate}"));
    }
    if let Some((name, verdict, effect)) = &claim.control {
        let effect = effect.map_or_else(String::new, |effect| format!(" at {:+.4}", effect.median));
        let far = if claim.control_is_far { FAR } else { "" };
        words.push(format!("control `{name}`: {}{effect}{far}", verdict.name()));
    }
    if let Some((verdict, because)) = &claim.expected
        && *verdict != claim.verdict
    {
        let because = if because.is_empty() { "" } else { ", because " }.to_owned() + because;
        words.push(format!("recorded verdict: {}{because}", verdict.name()));
    }
    words
        .iter()
        .try_for_each(|line| writeln!(out, "                  {line}"))
}
