//! Numbers and units as Nsight Compute prints them.

/// Base units that may have a prefix.
const BASES: [&str; 9] = [
    "byte", "B", "cycle", "inst", "sector", "request", "warp", "thread", "hz",
];

/// Prefixes of units and their factors; those of two letters come first.
const PREFIXES: [(&str, f64); 8] = [
    ("Ki", 1024.0),
    ("Mi", 1024.0 * 1024.0),
    ("Gi", 1024.0 * 1024.0 * 1024.0),
    ("K", 1e3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
];

/// Returns the factor by which values in `unit` are multiplied to lose its prefix.
pub(crate) fn factor(unit: &str) -> f64 {
    let first = unit.split('/').next().unwrap_or_default();
    let prefixed = PREFIXES.iter().find(|(prefix, _)| {
        let base = first.strip_prefix(prefix);
        base.is_some_and(|base| BASES.contains(&base))
    });
    prefixed.map_or(1.0, |(_, factor)| *factor)
}

/// Reads a value. `None` is a value that the profiler could not take.
///
/// # Errors
/// Returns a description of the problem if the text is no number in English notation.
pub(crate) fn value(text: &str) -> Result<Option<f64>, &'static str> {
    // Values of single instances follow the total in brackets.
    let text = text.split(" (").next().unwrap_or_default().trim();
    let is_missing = ["", "-", "n/a", "nan", "absent"]
        .iter()
        .any(|missing| text.eq_ignore_ascii_case(missing));
    if is_missing || text.starts_with("(!)") {
        return Ok(None);
    }
    let is_plain = |c: char| c.is_ascii_digit() || matches!(c, ',' | '.' | '-' | '+' | 'e' | 'E');
    if !text.chars().all(is_plain) {
        return Err("expected a number");
    }
    let digits = without_separators(text)?;
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Some(value)),
        _ => Err("expected a number"),
    }
}

/// Removes the commas between groups of three digits.
fn without_separators(text: &str) -> Result<String, &'static str> {
    const PROBLEM: &str = "expected a number such as `1,234,567.8`, with commas between thousands";
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    if rest.contains(',') {
        return Err(PROBLEM);
    }
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let mut digits = first.to_owned();
    let separated = groups.clone().next().is_some();
    let lead = first.trim_start_matches(['-', '+']).len();
    if separated && !(1..=3).contains(&lead) {
        return Err(PROBLEM);
    }
    for group in groups {
        if group.len() != 3 || !group.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(PROBLEM);
        }
        digits.push_str(group);
    }
    Ok(digits + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_have_separators_between_thousands() {
        for (text, expected) in [
            ("0", 0.0),
            ("35394", 35394.0),
            ("1,234", 1234.0),
            ("12,345,678.25", 12_345_678.25),
            ("-1.5e3", -1500.0),
            ("1,024 (512; 512)", 1024.0),
        ] {
            assert_eq!(value(text), Ok(Some(expected)), "{text}");
        }
    }

    #[test]
    fn what_could_not_be_measured_is_missing() {
        for text in ["", "n/a", "N/A", "nan", "-", "(!) n/a", " "] {
            assert_eq!(value(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn other_notations_are_refused() {
        for text in [
            "1.234,5", "12,34", "1234,567", "1,,000", "seven", "0x10", "1.2.3", "1e999",
        ] {
            assert!(value(text).is_err(), "{text}");
        }
    }

    #[test]
    fn prefixes_of_units_are_factors() {
        for (unit, expected) in [
            ("byte", 1.0),
            ("Kbyte", 1e3),
            ("Mbyte", 1e6),
            ("Gbyte/second", 1e9),
            ("KiB", 1024.0),
            ("Kcycle", 1e3),
            ("register/thread", 1.0),
            ("", 1.0),
            ("%", 1.0),
        ] {
            assert!((factor(unit) - expected).abs() < f64::EPSILON, "{unit}");
        }
    }
}
