//! Compares the final buffers of a program with the expected ones.

use warpweave_inputs::ElementType;
use warpweave_inputs::reference::Layout;

use super::description::Tolerance;

/// Maximum number of differing elements shown in a report.
const SHOWN: usize = 4;

/// Returns true if `found` is as expected, with a message.
pub(super) fn compare(
    Layout { element, length }: Layout,
    found: &[u32],
    expected: &[u32],
    tolerance: Tolerance,
) -> (bool, String) {
    let pair = |at| (element.pattern(found, at), element.pattern(expected, at));
    let is_far = |at: &usize| {
        let (found, expected) = pair(*at);
        !near(element, found, expected, tolerance)
    };
    let differing: Vec<usize> = (0..length).filter(is_far).collect();
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
            let (found, expected) = pair(at);
            let (found, expected) = (show(element, found), show(element, expected));
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

fn near(element: ElementType, found: u64, expected: u64, tolerance: Tolerance) -> bool {
    if found == expected {
        return true;
    }
    let (found, expected) = (element.number(found), element.number(expected));
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

fn show(element: ElementType, pattern: u64) -> String {
    // Values that differ but print alike, such as NaNs, are shown as bit patterns.
    if element.number(pattern).is_nan() {
        let width = 2 + 2 * element.bytes();
        return format!("NaN ({pattern:#0width$x})");
    }
    element.text(pattern)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn layout(element: ElementType, length: usize) -> Layout {
        Layout { element, length }
    }

    #[test]
    fn elements_of_other_sizes_compare_in_their_type() {
        let differs = |element: ElementType, found: [u64; 3], expected: [u64; 3], tolerance| {
            let (found, expected) = (element.pack(found), element.pack(expected));
            compare(layout(element, 3), &found, &expected, tolerance)
        };
        let (_, detail) = differs(ElementType::S8, [1, 0xff, 3], [1, 2, 3], Tolerance::Exact);
        assert_snapshot!(detail, @"1 of 3 differ: [1] is -1, expected 2");
        let (_, detail) = differs(
            ElementType::F16,
            [0x3c00, 0, 0x7e00],
            [0x3c00; 3],
            Tolerance::Exact,
        );
        assert_snapshot!(detail, @"2 of 3 differ: [1] is 0.0, expected 1.0; [2] is NaN (0x7e00), expected 1.0");
        let near = Tolerance::Absolute(2.0);
        assert!(differs(ElementType::S64, [u64::MAX, 0, 0], [1, 0, 0], near).0);
        assert!(!differs(ElementType::U64, [u64::MAX, 0, 0], [1, 0, 0], near).0);
    }

    fn f32s(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn tolerances_bound_the_distance_and_never_accept_nan() {
        let passes = |found: f32, expected: f32, tolerance| {
            compare(
                layout(ElementType::F32, 1),
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
            layout(ElementType::U32, 6),
            &[0, 1, 2, 3, 4, 5],
            &[0, 9, 9, 9, 9, 9],
            Tolerance::Exact,
        );
        assert!(!passed);
        assert_snapshot!(detail, @"5 of 6 differ: [1] is 1, expected 9; [2] is 2, expected 9; [3] is 3, expected 9; [4] is 4, expected 9; ...");
    }
}
