//! Format of the numbers in reports.

/// Formats a number with five significant digits, or as an integer if it is larger.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 10_000.0 => 0,
        size if size >= 1_000.0 => 1,
        size if size >= 100.0 => 2,
        size if size >= 10.0 => 3,
        _ => 4,
    };
    format!("{value:.digits$}")
}
