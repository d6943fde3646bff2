//! Nearest of some centroids, for each of many points.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape};
use crate::element::ElementType::F32;
use crate::{Name, Value};

/// Nearest centroid of each point, as computed by [`nearest_centroids`].
#[derive(Debug, Deserialize)]
pub struct NearestCentroids {
    /// Buffer with the features of the points, one row per feature.
    pub features: Name,
    /// Buffer with the centroids, one row per centroid.
    pub centroids: Name,
    /// Number of points, each with all features.
    pub points: Value,
}

impl NearestCentroids {
    /// Returns the number of points and of features.
    fn sides(&self, question: &Question<'_>) -> Result<(usize, usize), Diagnostic> {
        let points = question.count(&self.points, "the number of points", 1)?;
        let number = question.length(&self.features, F32)?;
        if number == 0 || !number.is_multiple_of(points) {
            let message = format!("{number} features cannot be divided into rows of {points}");
            return Err(self.points.error(message));
        }
        let width = number / points;
        let centroids = question.length(&self.centroids, F32)?;
        if centroids == 0 || !centroids.is_multiple_of(width) {
            let message = format!("{centroids} elements are no centroids of {width} features");
            return Err(self.centroids.error(message));
        }
        Ok((points, width))
    }
}

impl Reference for NearestCentroids {
    const NAME: &'static str = "NearestCentroids";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        Ok(Shape::u32s(self.sides(question)?.0))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let (points, width) = self.sides(question)?;
        let features = question.f32s(&self.features)?;
        let centroids = question.f32s(&self.centroids)?;
        let centroids: Vec<&[f32]> = centroids.chunks_exact(width).collect();
        Ok(nearest_centroids(&features, &centroids, points))
    }
}

/// Returns the number of the nearest centroid for each point, the first of equally near ones. Adds
/// squared differences in ascending order of the features, each operation rounded.
///
/// # Panics
/// Panics if a centroid has fewer features than the points.
pub fn nearest_centroids(features: &[f32], centroids: &[&[f32]], points: usize) -> Vec<u32> {
    let nearest = |point: usize| {
        let distance = |centroid: &[f32]| {
            let of_point = features.iter().skip(point).step_by(points);
            let squares = of_point
                .enumerate()
                .map(|(f, own)| (own - centroid[f]) * (own - centroid[f]));
            squares.fold(0.0_f32, |sum, square| sum + square)
        };
        let mut best = (0, f32::INFINITY);
        for (number, centroid) in centroids.iter().enumerate() {
            let distance = distance(centroid);
            if distance < best.1 {
                best = (number as u32, distance);
            }
        }
        best.0
    };
    (0..points).map(nearest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equally_near_centroids_wins() {
        // Points (0, 0), (2, 2) and (1, 1).
        let features = [0.0, 2.0, 1.0, 0.0, 2.0, 1.0];
        let found = nearest_centroids(&features, &[&[0.0, 0.0], &[2.0, 2.0]], 3);
        assert_eq!(found, [0, 1, 0]);
    }
}
