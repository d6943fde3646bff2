//! Texel selection and weights for a coordinate (CUDA C++ Programming Guide, "Texture Fetching":
//! nearest-point sampling, linear filtering, addressing modes).
//!
//! The guide gives weights nine bits, eight of them fractional, but does not specify rounding;
//! weights here round to nearest, halves up. Clamping is applied to texel indices, which is
//! equivalent to clamping coordinates for linear filtering. All functions are total: NaN
//! coordinates select texel 0.

use crate::texture::{AddressMode, Texture};

/// Fixed-point representation of the weight one.
pub(super) const WEIGHT_ONE: u32 = 256;

/// Two neighbouring texels along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Neighbours {
    /// Indices of the two texels; `None` beyond the border.
    pub(super) texels: [Option<u32>; 2],
    /// Weight of the second texel in 256ths; the first has the remainder.
    pub(super) weight: u32,
}

/// Length and addressing mode of one texture axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) length: u32,
    pub(super) mode: AddressMode,
    pub(super) is_normalized: bool,
}

impl Axis {
    pub(super) fn of(texture: &Texture, axis: usize) -> Self {
        let is_normalized = texture.normalized_coordinates;
        let mode = match texture.address_modes[axis] {
            AddressMode::Wrap | AddressMode::Mirror if !is_normalized => AddressMode::Clamp,
            mode => mode,
        };
        Self {
            length: texture.shape.extents()[axis],
            mode,
            is_normalized,
        }
    }

    /// Returns the texel for an index that may be out of range.
    pub(super) fn texel(self, number: i64) -> Option<u32> {
        let length = i64::from(self.length);
        let inside = match self.mode {
            AddressMode::Clamp => number.clamp(0, length - 1),
            AddressMode::Wrap => number.rem_euclid(length),
            AddressMode::Mirror => {
                let twice = number.rem_euclid(2 * length);
                twice.min(2 * length - 1 - twice)
            }
            AddressMode::Border if (0..length).contains(&number) => number,
            AddressMode::Border => return None,
        };
        Some(inside as u32)
    }

    /// Returns the texel that contains a coordinate.
    pub(super) fn nearest(self, coordinate: f32) -> Option<u32> {
        self.texel(self.position(coordinate).floor() as i64)
    }

    /// Returns the two texels whose centres enclose a coordinate.
    pub(super) fn neighbours(self, coordinate: f32) -> Neighbours {
        let position = self.position(coordinate) - 0.5;
        let first = position.floor();
        let fraction = position - first;
        let weight = (fraction * f64::from(WEIGHT_ONE) + 0.5).floor();
        let number = first as i64;
        Neighbours {
            texels: [self.texel(number), self.texel(number.saturating_add(1))],
            weight: weight as u32,
        }
    }

    /// Converts a coordinate to texels. Products with the length are exact in double precision.
    fn position(self, coordinate: f32) -> f64 {
        let coordinate = f64::from(coordinate);
        if !self.is_normalized {
            return coordinate;
        }
        let whole = coordinate.floor();
        let fraction = coordinate - whole;
        let inside = match self.mode {
            AddressMode::Wrap => fraction,
            AddressMode::Mirror if whole.rem_euclid(2.0) < 1.0 => fraction,
            AddressMode::Mirror => 1.0 - fraction,
            AddressMode::Clamp | AddressMode::Border => coordinate,
        };
        inside * f64::from(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [AddressMode; 4] = [
        AddressMode::Wrap,
        AddressMode::Clamp,
        AddressMode::Mirror,
        AddressMode::Border,
    ];

    fn axis(mode: AddressMode, is_normalized: bool) -> Axis {
        Axis {
            length: 4,
            mode,
            is_normalized,
        }
    }

    #[test]
    fn numbers_beyond_the_ends_follow_the_mode() {
        let row = |mode| {
            (-5..9)
                .map(|number| axis(mode, true).texel(number))
                .collect::<Vec<_>>()
        };
        let wanted = |numbers: [i32; 14]| numbers.map(|number| u32::try_from(number).ok()).to_vec();
        assert_eq!(
            row(AddressMode::Wrap),
            wanted([3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0])
        );
        assert_eq!(
            row(AddressMode::Clamp),
            wanted([0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3])
        );
        assert_eq!(
            row(AddressMode::Mirror),
            wanted([3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0])
        );
        assert_eq!(
            row(AddressMode::Border),
            wanted([-1, -1, -1, -1, -1, 0, 1, 2, 3, -1, -1, -1, -1, -1])
        );
    }

    #[test]
    fn a_centre_has_its_texel_alone_and_an_edge_both_by_half() {
        let of = |coordinate| axis(AddressMode::Clamp, false).neighbours(coordinate);
        assert_eq!((of(1.5).texels[0], of(1.5).weight), (Some(1), 0));
        assert_eq!((of(2.0).texels, of(2.0).weight), ([Some(1), Some(2)], 128));
        // Nearest to the next centre: the second has all.
        assert_eq!(
            (of(2.499_9).texels, of(2.499_9).weight),
            ([Some(1), Some(2)], 256)
        );
    }

    #[test]
    fn no_coordinate_leaves_the_texture_or_panics() {
        let odd = [
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::MAX,
            f32::MIN,
            -0.0,
            1e-40,
            3.0e9,
        ];
        for mode in MODES {
            for is_normalized in [false, true] {
                for coordinate in odd {
                    let axis = axis(mode, is_normalized);
                    let Neighbours { texels, weight } = axis.neighbours(coordinate);
                    let all = texels
                        .into_iter()
                        .chain([axis.nearest(coordinate)])
                        .flatten();
                    assert!(
                        all.max().unwrap_or(0) < 4 && weight <= WEIGHT_ONE,
                        "{mode:?} {coordinate}"
                    );
                }
            }
        }
    }
}
