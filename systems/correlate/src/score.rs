//! Errors of a quantity over kernels.

/// Means of a quantity over the launches of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mean {
    pub(crate) ours: f64,
    pub(crate) theirs: f64,
    /// Number of launches that both sides have a value for.
    pub(crate) launches: usize,
    /// Number of these launches whose values are equal.
    pub(crate) equal: usize,
}

impl Mean {
    /// Averages the values of launches; `None` without any.
    pub(crate) fn of(values: &[(f64, f64)]) -> Option<Self> {
        let count = values.len();
        (count > 0).then(|| Self {
            ours: values.iter().map(|(ours, _)| ours).sum::<f64>() / count as f64,
            theirs: values.iter().map(|(_, theirs)| theirs).sum::<f64>() / count as f64,
            launches: count,
            equal: values.iter().filter(|(a, b)| (a - b).abs() < 1e-9).count(),
        })
    }

    /// Returns ours over theirs, unless theirs is 0.
    pub(crate) fn ratio(&self) -> Option<f64> {
        (self.theirs > 0.0).then(|| self.ours / self.theirs)
    }

    fn error(&self) -> Option<f64> {
        self.ratio().map(|ratio| (ratio - 1.0).abs())
    }

    /// Returns the error in parts of what theirs exceeds a floor by.
    fn body_error(&self, floor: f64) -> Option<f64> {
        let body = self.theirs - floor;
        (body > 0.0).then(|| (self.ours - self.theirs).abs() / body)
    }
}

/// Figures of a quantity over all kernels that both sides have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Score {
    /// Number of kernels that have a ratio.
    pub(crate) kernels: usize,
    /// Mean error over kernels, in percent.
    pub(crate) mape: Option<f64>,
    /// Mean error without the floor, in percent.
    pub(crate) body: Option<f64>,
    /// Pearson correlation of the logarithms of both sides.
    pub(crate) correlation: Option<f64>,
    /// Kernels with an error of at most 10 %, and of at most 20 %.
    pub(crate) within: [usize; 2],
    /// Launches with equal values, and all that were compared.
    pub(crate) equal: [usize; 2],
    /// Name and ratio of the kernel with the largest error.
    pub(crate) worst: Option<(String, f64)>,
}

impl Score {
    /// Returns the figures of kernels by name.
    pub(crate) fn of(kernels: &[(&str, Mean)], floor: Option<f64>) -> Self {
        let mut score = Self::default();
        let mut errors = Vec::new();
        let mut bodies = Vec::new();
        let mut largest = 0.0;
        for (name, mean) in kernels {
            score.equal[0] += mean.equal;
            score.equal[1] += mean.launches;
            let Some((ratio, error)) = mean.ratio().zip(mean.error()) else {
                continue;
            };
            score.kernels += 1;
            errors.push(error);
            bodies.extend(floor.and_then(|floor| mean.body_error(floor)));
            for (within, limit) in score.within.iter_mut().zip([0.1, 0.2]) {
                *within += usize::from(error <= limit);
            }
            if error > largest {
                largest = error;
                score.worst = Some(((*name).to_owned(), ratio));
            }
        }
        score.mape = average(&errors).map(|error| 100.0 * error);
        score.body = average(&bodies).map(|error| 100.0 * error);
        let logarithms: Vec<(f64, f64)> = kernels
            .iter()
            .filter(|(_, mean)| mean.ours > 0.0 && mean.theirs > 0.0)
            .map(|(_, mean)| (mean.ours.ln(), mean.theirs.ln()))
            .collect();
        score.correlation = pearson(&logarithms);
        score
    }
}

fn average(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the correlation of pairs; `None` for fewer than three, or if a side is constant.
fn pearson(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let count = pairs.len() as f64;
    let mean_of = |side: fn(&(f64, f64)) -> f64| pairs.iter().map(side).sum::<f64>() / count;
    let (a, b) = (mean_of(|pair| pair.0), mean_of(|pair| pair.1));
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in pairs {
        ab += (x - a) * (y - b);
        aa += (x - a) * (x - a);
        bb += (y - b) * (y - b);
    }
    let both = aa.sqrt() * bb.sqrt();
    (both > 1e-12).then(|| ab / both)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[(f64, f64)]) -> Mean {
        Mean::of(values).unwrap()
    }

    fn close(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-9)
    }

    #[test]
    fn launches_of_a_kernel_are_averaged_before_the_error() {
        // Errors of the launches would be 50 % each; those of the means cancel.
        let balanced = mean(&[(150.0, 100.0), (50.0, 100.0)]);
        let low = mean(&[(90.0, 100.0)]);
        let score = Score::of(&[("a", balanced), ("b", low)], None);
        assert!(close(score.mape, 5.0), "{score:?}");
        assert_eq!((score.kernels, score.body), (2, None));
        assert_eq!(score.worst, Some(("b".to_owned(), 0.9)));
    }

    #[test]
    fn body_errors_are_relative_to_what_exceeds_the_floor() {
        let kernels = [("a", mean(&[(110.0, 100.0)])), ("b", mean(&[(30.0, 30.0)]))];
        let score = Score::of(&kernels, Some(50.0));
        assert!(
            close(score.mape, 5.0) && close(score.body, 20.0),
            "{score:?}"
        );
    }

    #[test]
    fn kernels_are_counted_within_limits_and_launches_when_equal() {
        let kernels = [
            ("a", mean(&[(105.0, 100.0), (100.0, 100.0)])),
            ("b", mean(&[(85.0, 100.0)])),
            ("c", mean(&[(200.0, 100.0)])),
            ("zero", mean(&[(0.0, 0.0), (1.0, 0.0)])),
        ];
        let score = Score::of(&kernels, None);
        assert_eq!((score.kernels, score.within), (3, [1, 2]));
        assert_eq!(score.equal, [2, 6]);
    }

    #[test]
    fn correlation_is_of_logarithms_and_needs_three_kernels() {
        let scaled = |theirs: f64| mean(&[(3.0 * theirs, theirs)]);
        let three = [
            ("a", scaled(1.0)),
            ("b", scaled(10.0)),
            ("c", scaled(1000.0)),
        ];
        assert!(close(Score::of(&three, None).correlation, 1.0));
        assert_eq!(Score::of(&three[..2], None).correlation, None);
        let constant = [("a", scaled(2.0)); 3];
        assert_eq!(Score::of(&constant, None).correlation, None);
    }

    #[test]
    fn no_kernels_have_no_figures() {
        assert_eq!(Score::of(&[], Some(1.0)), Score::default());
        assert_eq!(Mean::of(&[]), None);
    }
}
