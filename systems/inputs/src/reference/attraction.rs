//! Acceleration of bodies by the masses of others.

use serde::Deserialize;
use warpweave_params::Diagnostic;

use super::{Question, Reference, Shape, bits};
use crate::element::ElementType::F32;
use crate::{Name, Value};

/// Acceleration of each target, as computed by [`accelerations`].
#[derive(Debug, Deserialize)]
pub struct Accelerations {
    /// Buffer with the targets: three coordinates and a mass each.
    pub targets: Name,
    /// Buffer with the sources, in the same form.
    pub sources: Name,
    /// Number that is added to each squared distance.
    pub softening: Value,
}

impl Reference for Accelerations {
    const NAME: &'static str = "Accelerations";

    fn shape(&self, question: &Question<'_>) -> Result<Shape, Diagnostic> {
        question.single(&self.softening, "the softening")?;
        for bodies in [&self.sources, &self.targets] {
            let length = question.length(bodies, F32)?;
            if !length.is_multiple_of(4) {
                return Err(bodies.error(format!("{length} numbers are no bodies of four each")));
            }
        }
        Ok(Shape::f32s(question.length(&self.targets, F32)?))
    }

    fn words(&self, question: &Question<'_>) -> Result<Vec<u32>, Diagnostic> {
        let targets = question.f32s(&self.targets)?;
        let sources = question.f32s(&self.sources)?;
        let softening = question.single(&self.softening, "the softening")?;
        Ok(bits(&accelerations(&targets, &sources, softening)))
    }
}

/// Computes the sum of `mass * (source - target) / (distance^2 + softening)^(3/2)` for each target,
/// in double precision. The fourth number of a result is 0.
pub fn accelerations(targets: &[f32], sources: &[f32], softening: f32) -> Vec<f32> {
    let acceleration = |target: &[f32]| {
        let mut sum = [0.0_f64; 3];
        for source in sources.chunks_exact(4) {
            let away = [0, 1, 2].map(|axis| f64::from(source[axis]) - f64::from(target[axis]));
            let square: f64 = away.iter().map(|along| along * along).sum();
            let pull = f64::from(source[3]) * (square + f64::from(softening)).powf(-1.5);
            for (sum, along) in sum.iter_mut().zip(away) {
                *sum += along * pull;
            }
        }
        [sum[0] as f32, sum[1] as f32, sum[2] as f32, 0.0]
    };
    targets.chunks_exact(4).flat_map(acceleration).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_pulled_towards_the_others() {
        let targets = [0.0, 0.0, 0.0, 1.0];
        let found = accelerations(&targets, &[2.0, 0.0, 0.0, 8.0], 0.0);
        assert_eq!(found, [2.0, 0.0, 0.0, 0.0]);
        let both = [2.0, 0.0, 0.0, 8.0, -2.0, 0.0, 0.0, 8.0];
        assert_eq!(accelerations(&targets, &both, 1.0), [0.0; 4]);
    }
}
