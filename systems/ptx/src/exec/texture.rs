//! Texture reads and queries.
//!
//! A read loads its texels one after another: one for nearest-point sampling or an integer
//! coordinate. Linear filtering loads two, four or eight, in the order of x, then y, then z. Each
//! texel is recorded as a load from global memory by the lanes for which it is inside the texture.
//! All records but the last are marked `continues`. The recorded address is that of the 32-bit word
//! in which the texel begins. Texels are aligned to their size, so sectors and lines match those of
//! the whole texel.

use warpweave_trace::Space;

use crate::exec::constants::Constants;
use crate::exec::error::{Fault, FaultKind};
use crate::exec::memory_path::MemoryPath;
use crate::exec::registers::lanes;
use crate::exec::sample::{Axis, Neighbours, WEIGHT_ONE};
use crate::exec::wavefront::Wavefront;
use crate::half::half_to_single;
use crate::memory::DeviceMemory;
use crate::ops::{NO_REGISTER, Src, TextureQuery, TextureRead};
use crate::texture::{RECORDED_BYTES, TexelType, Texture, TextureFilter, TextureShape};

/// Maximum number of texels of a read: two along each of three axes.
const TEXELS_MAX: usize = 8;

/// Canonical single-precision NaN produced by all arithmetic.
const NAN: f32 = f32::from_bits(0x7fff_ffff);

/// A texel of a read with its filter weight.
#[derive(Clone, Copy, Debug)]
struct Tap {
    /// Texel address; `None` if it is outside the texture.
    address: Option<u64>,
    /// Filter weight, the product of one factor in 256ths per axis.
    weight: f64,
}

/// Texels that one lane needs for a read.
struct Footprint {
    taps: [Tap; TEXELS_MAX],
    count: usize,
}

/// Executes and records a texture read.
#[inline(never)]
pub(super) fn read(
    read: &TextureRead,
    memory: &mut MemoryPath<'_>,
    constants: &Constants,
    wavefront: &mut Wavefront,
    pc: u32,
    mask: u32,
) -> Result<(), Fault> {
    let mut addresses = [[0; 32]; TEXELS_MAX];
    let mut masks = [0; TEXELS_MAX];
    let mut results = [[0; 32]; 4];
    for lane in lanes(mask) {
        let texture = texture_for(wavefront, constants, memory.device, read, lane)?;
        let footprint = footprint(wavefront, constants, read, &texture, lane);
        let taps = &footprint.taps[..footprint.count];
        let mut texels = [[0; 4]; TEXELS_MAX];
        for (slot, tap) in taps.iter().enumerate() {
            let Some(address) = tap.address else {
                texels[slot] = channels(&texture, None);
                continue;
            };
            let size = texture.texel_bytes() as u32;
            let at = memory.device_index(lane, address, size)?;
            let bytes = &memory.device.data()[at..at + size as usize];
            texels[slot] = channels(&texture, Some(bytes));
            addresses[slot][lane] = address & !u64::from(RECORDED_BYTES - 1);
            masks[slot] |= 1 << lane;
        }
        let value = match read.gathers {
            // Counter-clockwise from the lower left.
            Some(channel) => [2, 3, 1, 0].map(|slot: usize| texels[slot][channel]),
            None if footprint.count == 1 => texels[0],
            None => std::array::from_fn(|channel| mix(taps, &texels, channel)),
        };
        for (result, value) in results.iter_mut().zip(value) {
            result[lane] = value;
        }
    }
    for (&d, result) in read.registers.iter().zip(&results) {
        if d != NO_REGISTER {
            wavefront.registers.put32(d, mask, result);
        }
    }
    let used = || masks.iter().filter(|mask| **mask != 0);
    let mut left = used().count();
    if left == 0 {
        wavefront.writer.step(pc, mask);
    }
    for (&mask, addresses) in masks.iter().zip(&addresses) {
        if mask != 0 {
            left -= 1;
            let writer = &mut wavefront.writer;
            writer.access(pc, mask, Space::Global, left > 0, addresses);
        }
    }
    Ok(())
}

/// Executes a query of a texture's properties.
#[inline(never)]
pub(super) fn query(
    query: TextureQuery,
    texture: Src,
    device: &DeviceMemory,
    constants: &Constants,
    wavefront: &mut Wavefront,
    d: u16,
    mask: u32,
) -> Result<(), Fault> {
    let mut results = [0; 32];
    for lane in lanes(mask) {
        let value = wavefront.registers.get64(constants, texture)[lane];
        let (_, texture) = find_texture(device, value, lane)?;
        let [width, height, depth] = texture.shape.extents();
        results[lane] = match query {
            TextureQuery::Width => width,
            TextureQuery::Height => height,
            TextureQuery::Depth => depth,
            TextureQuery::Layers => texture.shape.layers().unwrap_or(0),
            TextureQuery::NormalizedCoordinates => u32::from(texture.normalized_coordinates),
        };
    }
    wavefront.registers.put32(d, mask, &results);
    Ok(())
}

fn find_texture(device: &DeviceMemory, value: u64, lane: usize) -> Result<(&str, &Texture), Fault> {
    let found = device.textures().find(value);
    found.map_err(|problem| Fault::at(lane, FaultKind::Texture { value, problem }))
}

/// Returns the texture that a lane reads; fails if the instruction cannot read it.
fn texture_for(
    wavefront: &Wavefront,
    constants: &Constants,
    device: &DeviceMemory,
    read: &TextureRead,
    lane: usize,
) -> Result<Texture, Fault> {
    let value = wavefront.registers.get64(constants, read.texture)[lane];
    let (name, texture) = find_texture(device, value, lane)?;
    let refuse = |problem| Err(Fault::at(lane, FaultKind::Texture { value, problem }));
    let shape = texture.shape;
    if shape.axes() != read.axes || shape.layers().is_some() != read.layer.is_some() {
        let problem = format!(
            "texture `{name}` is {shape}, which is read with {}",
            coordinates_in_words(shape)
        );
        return refuse(problem);
    }
    if texture.gives_floats() != read.gives_floats {
        let problem = format!(
            "texture `{name}` returns {}, which the instruction cannot read",
            texture.values()
        );
        return refuse(problem);
    }
    Ok(*texture)
}

/// Computes the texels and weights for one lane.
fn footprint(
    wavefront: &Wavefront,
    constants: &Constants,
    read: &TextureRead,
    texture: &Texture,
    lane: usize,
) -> Footprint {
    let word = |source| wavefront.registers.get32(constants, source)[lane];
    let is_spread =
        read.is_real && (read.gathers.is_some() || texture.filter == TextureFilter::Linear);
    let mut axes = [Neighbours {
        texels: [Some(0); 2],
        weight: 0,
    }; 3];
    for (number, to) in axes.iter_mut().enumerate().take(read.axes) {
        let coordinate = word(read.coordinates[number]);
        let real = f32::from_bits(coordinate);
        let axis = Axis::of(texture, number);
        if is_spread {
            *to = axis.neighbours(real);
            continue;
        }
        let texel = match (texture.shape, read.is_real) {
            (TextureShape::Linear(length), true) => inside(real.floor() as i64, length),
            (TextureShape::Linear(length), false) => inside(i64::from(coordinate as i32), length),
            (_, true) => axis.nearest(real),
            (_, false) => axis.texel(i64::from(coordinate as i32)),
        };
        to.texels = [texel; 2];
    }
    let layers = texture.shape.layers().unwrap_or(1);
    let layer = read.layer.map_or(0, |source| word(source).min(layers - 1));
    let [_, height, depth] = texture.shape.extents().map(u64::from);
    let place = |[x, y, z]: [u32; 3]| {
        let plane = u64::from(layer) * depth + u64::from(z);
        let row = plane * height + u64::from(y);
        texture.address + row * texture.row_bytes() + u64::from(x) * texture.texel_bytes()
    };
    let count = if is_spread { 1 << read.axes } else { 1 };
    let taps = std::array::from_fn(|slot| {
        let side = |axis: usize| slot >> axis & 1;
        let texel = |axis: usize| axes[axis].texels[side(axis)];
        let address = match (texel(0), texel(1), texel(2)) {
            (Some(x), Some(y), Some(z)) => Some(place([x, y, z])),
            _ => None,
        };
        let weights = axes.iter().enumerate().take(read.axes);
        let weights = weights.map(|(axis, neighbours)| match side(axis) {
            0 => WEIGHT_ONE - neighbours.weight,
            _ => neighbours.weight,
        });
        let weight = weights
            .map(|weight| f64::from(weight) / f64::from(WEIGHT_ONE))
            .product();
        Tap { address, weight }
    });
    Footprint { taps, count }
}

fn inside(number: i64, length: u32) -> Option<u32> {
    u32::try_from(number).ok().filter(|number| *number < length)
}

fn coordinates_in_words(shape: TextureShape) -> &'static str {
    match shape {
        TextureShape::Linear(_) | TextureShape::Row(_) => "one coordinate (`.1d`)",
        TextureShape::Plane(_) => "two coordinates (`.2d`)",
        TextureShape::Volume(_) => "three coordinates (`.3d`)",
        TextureShape::Rows { .. } => "a layer and one coordinate (`.a1d`)",
        TextureShape::Planes { .. } => "a layer and two coordinates (`.a2d`)",
    }
}

/// Returns the weighted sum of the texels; products are exact, and the sum is rounded once to
/// single precision.
fn mix(taps: &[Tap], texels: &[[u32; 4]; TEXELS_MAX], channel: usize) -> u32 {
    let weighted = taps.iter().zip(texels);
    let products =
        weighted.map(|(tap, texel)| tap.weight * f64::from(f32::from_bits(texel[channel])));
    let sum = products.reduce(|sum, product| sum + product).unwrap_or(0.0) as f32;
    if sum.is_nan() {
        NAN.to_bits()
    } else {
        sum.to_bits()
    }
}

/// Returns the four channels of a texel as result bits; `None` is a texel outside the texture.
fn channels(texture: &Texture, bytes: Option<&[u8]>) -> [u32; 4] {
    let one = if texture.gives_floats() {
        1_f32.to_bits()
    } else {
        1
    };
    let mut values = [0, 0, 0, one];
    let width = texture.texel.bytes() as usize;
    for (number, value) in values
        .iter_mut()
        .enumerate()
        .take(texture.channels as usize)
    {
        *value = bytes.map_or(0, |bytes| {
            let mut word = [0; 4];
            word[..width].copy_from_slice(&bytes[number * width..(number + 1) * width]);
            channel(texture, u32::from_le_bytes(word))
        });
    }
    values
}

/// Converts the stored bits of a channel to result bits.
fn channel(texture: &Texture, bits: u32) -> u32 {
    let fraction = |value: i32, most: i32| {
        let value = f64::from(value) / f64::from(most);
        (value.max(-1.0) as f32).to_bits()
    };
    match (texture.texel, texture.normalized_values) {
        (TexelType::U8, true) => fraction(bits as i32, 0xff),
        (TexelType::S8, true) => fraction(i32::from(bits as i8), 0x7f),
        (TexelType::U16, true) => fraction(bits as i32, 0xffff),
        (TexelType::S16, true) => fraction(i32::from(bits as i16), 0x7fff),
        (TexelType::S8, false) => i32::from(bits as i8) as u32,
        (TexelType::S16, false) => i32::from(bits as i16) as u32,
        (TexelType::F16, _) => half_to_single(bits as u16).to_bits(),
        (TexelType::U8 | TexelType::U16 | TexelType::U32 | TexelType::S32 | TexelType::F32, _) => {
            bits
        }
    }
}
