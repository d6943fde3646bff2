//! Element-wise addition.

/// `a[i] + b[i]` in single precision.
///
/// # Panics
/// If the lengths differ.
pub fn vector_add(a: &[f32], b: &[f32]) -> Vec<f32> {
    assert_eq!(a.len(), b.len(), "vectors of different lengths have no sum");
    a.iter().zip(b).map(|(x, y)| x + y).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_in_single_precision() {
        assert_eq!(
            vector_add(&[1.0, 16_777_216.0], &[2.0, 1.0]),
            [3.0, 16_777_216.0]
        );
    }
}
