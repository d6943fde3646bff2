//! Compares what a program left behind with what was expected.

use warpweave_inputs::ElementType;

use super::description::Tolerance;

/// Differing elements a report shows.
const SHOWN: usize = 4;

/// Whether `found` is as expected, and what to say about it.
pub(super) fn compare(
    element: ElementType,
    found: &[u32],
    expected: &[u32],
    tolerance: Tolerance,
) -> (bool, String) {
    let length = found.len();
    let differing: Vec<usize> = (0..length)
        .filter(|&at| !near(element, found[at], expected[at], tolerance))
        .collect();
    let within = match tolerance {
        Tolerance::Exact => "bit for bit".to_owned(),
        Tolerance::Relative(fraction) => format!("within {fraction:e} of the value"),
        Tolerance::Absolute(distance) => format!("within {distance:e}"),
    };
    if differing.is_empty() {
        let elements = if length == 1 { "element" } else { "elements" };
        return (true, format!("{length} {elements} equal {within}"));
    }
    let shown: Vec<String> = differing
        .iter()
        .take(SHOWN)
        .map(|&at| {
            let (found, expected) = (show(element, found[at]), show(element, expected[at]));
            format!("[{at}] is {found}, expected {expected}")
        })
        .collect();
    let more = if differing.len() > SHOWN { "; ..." } else { "" };
    let detail = format!(
        "{} of {length} differ: {}{more}",
        differing.len(),
        shown.join("; ")
    );
    (false, detail)
}

fn near(element: ElementType, found: u32, expected: u32, tolerance: Tolerance) -> bool {
    if found == expected {
        return true;
    }
    let number = |word: u32| match element {
        ElementType::U32 => f64::from(word),
        ElementType::F32 => f64::from(f32::from_bits(word)),
    };
    let (found, expected) = (number(found), number(expected));
    // Infinities of one sign and NaNs are near only to themselves; the comparisons below see NaN.
    let distance = (found - expected).abs();
    match tolerance {
        Tolerance::Exact => false,
        Tolerance::Relative(fraction) => {
            expected.is_finite() && distance <= fraction * expected.abs()
        }
        Tolerance::Absolute(most) => distance <= most,
    }
}

fn show(element: ElementType, word: u32) -> String {
    match element {
        ElementType::U32 => word.to_string(),
        ElementType::F32 => {
            let number = f32::from_bits(word);
            // Different bits that print alike, such as NaNs, are told apart by their bits.
            if number.is_nan() {
                format!("NaN ({word:#010x})")
            } else {
                format!("{number:?}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn f32s(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn tolerances_bound_the_distance_and_never_accept_nan() {
        let passes = |found: f32, expected: f32, tolerance| {
            compare(
                ElementType::F32,
                &f32s(&[found]),
                &f32s(&[expected]),
                tolerance,
            )
            .0
        };
        assert!(passes(1.0, 1.5, Tolerance::Absolute(0.5)));
        assert!(!passes(1.0, 1.5, Tolerance::Absolute(0.49)));
        assert!(passes(99.0, 100.0, Tolerance::Relative(0.01)));
        assert!(!passes(98.0, 100.0, Tolerance::Relative(0.01)));
        assert!(!passes(f32::NAN, 1.0, Tolerance::Relative(10.0)));
        assert!(!passes(1.0, f32::INFINITY, Tolerance::Relative(10.0)));
        assert!(
            !passes(0.0, -0.0, Tolerance::Exact),
            "bit for bit tells zeros apart"
        );
    }

    #[test]
    fn the_first_differences_are_shown_and_all_are_counted() {
        let (passed, detail) = compare(
            ElementType::U32,
            &[0, 1, 2, 3, 4, 5],
            &[0, 9, 9, 9, 9, 9],
            Tolerance::Exact,
        );
        assert!(!passed);
        assert_snapshot!(detail, @"5 of 6 differ: [1] is 1, expected 9; [2] is 2, expected 9; [3] is 3, expected 9; [4] is 4, expected 9; ...");
    }
}
