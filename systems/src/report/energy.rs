//! Energy section of the report page.

use std::fmt;

use crate::address::any_index;
use crate::energy::EnergyReport;

/// Writes the totals, then a line per component.
pub(super) fn write_energy(out: &mut String, energy: &EnergyReport) -> fmt::Result {
    use fmt::Write as _;
    writeln!(
        out,
        "\nenergy of the kernels, {}",
        scaled(energy.seconds, "s")
    )?;
    let totals = [
        ("total", scaled(energy.total_j, "J")),
        ("of events", scaled(energy.dynamic_j, "J")),
        ("of static power", scaled(energy.static_j, "J")),
        ("average power", scaled(energy.average_w, "W")),
        ("energy-delay product", scaled(energy.edp_js, "Js")),
    ];
    for (name, value) in totals {
        writeln!(out, "  {name:<36}{value:>20}")?;
    }
    let all = energy.components.iter().map(|c| c.component.len());
    let width = all.max().unwrap_or(0).max("component".len()) + 2;
    writeln!(
        out,
        "  {:<width$}{:>6}{:>14}{:>14}{:>14}{:>9}",
        "component", "", "events", "static", "total", "share"
    )?;
    for component in &energy.components {
        writeln!(
            out,
            "  {:<width$}{:>6}{:>14}{:>14}{:>14}{:>8.1}%",
            component.component,
            format!("x{}", component.instances),
            scaled(component.dynamic_j, "J"),
            scaled(component.static_j, "J"),
            scaled(component.total_j, "J"),
            component.share * 100.0
        )?;
    }
    let mut without: Vec<String> = energy.without.iter().map(|p| any_index(p)).collect();
    without.dedup();
    if !without.is_empty() {
        writeln!(out, "  without coefficients: {}", without.join(", "))?;
    }
    Ok(())
}

/// Formats a value with three decimals and a suitable unit prefix.
pub(super) fn scaled(value: f64, unit: &str) -> String {
    const PREFIXES: [(f64, &str); 7] = [
        (1.0, ""),
        (1e-3, "m"),
        (1e-6, "u"),
        (1e-9, "n"),
        (1e-12, "p"),
        (1e-15, "f"),
        (1e-18, "a"),
    ];
    let fitting = PREFIXES.iter().find(|(factor, _)| value >= *factor);
    match fitting {
        Some((factor, prefix)) => format!("{:.3} {prefix}{unit}", value / factor),
        None => format!("{value} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_get_the_prefix_that_suits() {
        assert_eq!(scaled(2.5, "W"), "2.500 W");
        assert_eq!(scaled(0.0625, "J"), "62.500 mJ");
        assert_eq!(scaled(3.5e-9, "J"), "3.500 nJ");
        assert_eq!(scaled(0.0, "J"), "0 J");
    }
}
