//! Naive texture sampler used as the reference model.

use warpweave_ptx::{AddressMode, TexelType, Texture, TextureShape};

/// A texture as the guide describes it, evaluated texel by texel.
pub(super) struct Naive<'t> {
    pub(super) texture: Texture,
    pub(super) data: &'t [u8],
}

impl Naive<'_> {
    fn extents(&self) -> [i64; 3] {
        match self.texture.shape {
            TextureShape::Linear(x) | TextureShape::Row(x) => [x.into(), 1, 1],
            TextureShape::Rows { width, .. } => [width.into(), 1, 1],
            TextureShape::Plane([x, y])
            | TextureShape::Planes {
                extents: [x, y], ..
            } => [x.into(), y.into(), 1],
            TextureShape::Volume(extents) => extents.map(i64::from),
        }
    }

    /// Maps index `i` to an element of an axis, one step inward at a time.
    fn fold(&self, axis: usize, mut i: i64) -> Option<i64> {
        let n = self.extents()[axis];
        if matches!(self.texture.shape, TextureShape::Linear(_)) {
            return (0..n).contains(&i).then_some(i);
        }
        let repeats = self.texture.normalized_coordinates;
        while !(0..n).contains(&i) {
            i = match self.texture.address_modes[axis] {
                AddressMode::Border => return None,
                AddressMode::Wrap if repeats => i - n * i.signum(),
                AddressMode::Mirror if repeats && i < 0 => -1 - i,
                AddressMode::Mirror if repeats => 2 * n - 1 - i,
                _ => i.clamp(0, n - 1),
            };
        }
        Some(i)
    }

    /// Returns `T[i, j, k]` as numbers, one per channel.
    pub(super) fn texel(&self, [i, j, k]: [i64; 3], layer: u64) -> [f64; 4] {
        let texture = &self.texture;
        let mut texel = [0.0, 0.0, 0.0, 1.0];
        let width = match texture.texel {
            TexelType::U8 | TexelType::S8 => 1,
            TexelType::U16 | TexelType::S16 | TexelType::F16 => 2,
            _ => 4,
        };
        let place = self.fold(0, i).zip(self.fold(1, j)).zip(self.fold(2, k));
        let [x, y, z] = self.extents();
        let channels = texel.iter_mut().enumerate();
        for (channel, value) in channels.take(texture.channels as usize) {
            *value = place.map_or(0.0, |((i, j), k)| {
                let dense = x as u64 * texture.channels as u64 * width;
                let row = (layer as i64 * z + k) * y + j;
                let at = row as u64 * texture.pitch.unwrap_or(dense);
                let at = at + (i as u64 * texture.channels as u64 + channel as u64) * width;
                let bytes = &self.data[at as usize..(at + width) as usize];
                number(texture, bytes)
            });
        }
        texel
    }

    /// Returns the guide's coordinate along an axis, in texels.
    fn along(&self, axis: usize, x: f32) -> f64 {
        let x = f64::from(x);
        if !self.texture.normalized_coordinates {
            return x;
        }
        let fraction = x - x.floor();
        let x = match self.texture.address_modes[axis] {
            AddressMode::Wrap => fraction,
            AddressMode::Mirror if x.floor() as i64 % 2 == 0 => fraction,
            AddressMode::Mirror => 1.0 - fraction,
            _ => x,
        };
        x * self.extents()[axis] as f64
    }

    pub(super) fn point(&self, x: [f32; 3], layer: u64) -> [f64; 4] {
        let i = |axis| self.along(axis, x[axis]).floor() as i64;
        self.texel([i(0), i(1), i(2)], layer)
    }

    pub(super) fn linear(&self, x: [f32; 3], layer: u64) -> [f64; 4] {
        let axes = match self.texture.shape {
            TextureShape::Volume(_) => 3,
            TextureShape::Plane(_) | TextureShape::Planes { .. } => 2,
            _ => 1,
        };
        let place = |axis: usize| {
            let centred = self.along(axis, x[axis]) - 0.5;
            let weight = ((centred - centred.floor()) * 256.0).round() / 256.0;
            (centred.floor() as i64, weight)
        };
        let ((i, a), (j, b), (k, c)) = (place(0), place(1), place(2));
        let t = |i, j, k| self.texel([i, j, k], layer);
        std::array::from_fn(|channel| {
            let t = |i, j, k| t(i, j, k)[channel];
            match axes {
                1 => (1.0 - a) * t(i, 0, 0) + a * t(i + 1, 0, 0),
                2 => {
                    (1.0 - a) * (1.0 - b) * t(i, j, 0)
                        + a * (1.0 - b) * t(i + 1, j, 0)
                        + (1.0 - a) * b * t(i, j + 1, 0)
                        + a * b * t(i + 1, j + 1, 0)
                }
                _ => {
                    (1.0 - a) * (1.0 - b) * (1.0 - c) * t(i, j, k)
                        + a * (1.0 - b) * (1.0 - c) * t(i + 1, j, k)
                        + (1.0 - a) * b * (1.0 - c) * t(i, j + 1, k)
                        + a * b * (1.0 - c) * t(i + 1, j + 1, k)
                        + (1.0 - a) * (1.0 - b) * c * t(i, j, k + 1)
                        + a * (1.0 - b) * c * t(i + 1, j, k + 1)
                        + (1.0 - a) * b * c * t(i, j + 1, k + 1)
                        + a * b * c * t(i + 1, j + 1, k + 1)
                }
            }
        })
    }
}

/// Returns the numeric value of a channel.
fn number(texture: &Texture, bytes: &[u8]) -> f64 {
    let single = |value: f64| f64::from(value as f32);
    let word = bytes
        .iter()
        .rev()
        .fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
    match (texture.texel, texture.normalized_values) {
        (TexelType::F32, _) => f64::from(f32::from_bits(word)),
        (TexelType::F16, _) => {
            let sign = if word >> 15 == 0 { 1.0 } else { -1.0 };
            let (exponent, fraction) = ((word >> 10 & 31) as i32, f64::from(word & 1023));
            match exponent {
                0 => sign * fraction * 2_f64.powi(-24),
                _ => sign * (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
            }
        }
        (TexelType::U8, true) => single(f64::from(word) / 255.0),
        (TexelType::U16, true) => single(f64::from(word) / 65535.0),
        (TexelType::S8, true) => single((f64::from(word as i8) / 127.0).max(-1.0)),
        (TexelType::S16, true) => single((f64::from(word as i16) / 32767.0).max(-1.0)),
        (TexelType::S8, false) => f64::from(word as i8),
        (TexelType::S16, false) => f64::from(word as i16),
        (TexelType::S32, _) => f64::from(word as i32),
        _ => f64::from(word),
    }
}

/// Returns the bits that a read yields for a number.
pub(super) fn bits(texture: &Texture, value: f64) -> u32 {
    if texture.normalized_values || matches!(texture.texel, TexelType::F16 | TexelType::F32) {
        (value as f32).to_bits()
    } else {
        value as i64 as u32
    }
}
