//! Tests of the values of random texture reads against the naive sampler.

use proptest::prelude::*;
use warpweave_ptx::{AddressMode, TexelType, Texture, TextureFilter, TextureShape};

use super::naive::{Naive, bits};
use super::{read, run};

const MODES: [AddressMode; 4] = [
    AddressMode::Wrap,
    AddressMode::Clamp,
    AddressMode::Mirror,
    AddressMode::Border,
];
const TYPES: [TexelType; 8] = [
    TexelType::U8,
    TexelType::S8,
    TexelType::U16,
    TexelType::S16,
    TexelType::F16,
    TexelType::U32,
    TexelType::S32,
    TexelType::F32,
];

fn shapes() -> impl Strategy<Value = TextureShape> {
    let n = || 1..7_u32;
    prop_oneof![
        n().prop_map(TextureShape::Linear),
        n().prop_map(TextureShape::Row),
        (n(), n()).prop_map(|(x, y)| TextureShape::Plane([x, y])),
        (n(), n(), n()).prop_map(|(x, y, z)| TextureShape::Volume([x, y, z])),
        (n(), n()).prop_map(|(width, layers)| TextureShape::Rows { width, layers }),
        (n(), n(), n()).prop_map(|(x, y, layers)| TextureShape::Planes {
            extents: [x, y],
            layers
        }),
    ]
}

/// Generates any texture at address 0, with a gap in texels after each row.
fn textures() -> impl Strategy<Value = (Texture, u32)> {
    let modes = prop::array::uniform3(prop::sample::select(&MODES[..]));
    let texel = (
        prop::sample::select(&TYPES[..]),
        prop::sample::select(vec![1_u32, 2, 4]),
    );
    (shapes(), texel, modes, any::<[bool; 3]>(), 0..3_u32).prop_map(
        |(shape, (texel, channels), address_modes, [filters, scales, fractions], gap)| {
            let mut texture = Texture::new(0, shape, texel, channels);
            let is_float = matches!(texel, TexelType::F16 | TexelType::F32);
            let is_linear_memory = matches!(shape, TextureShape::Linear(_));
            texture.address_modes = address_modes;
            texture.normalized_coordinates = scales && !is_linear_memory;
            texture.normalized_values = fractions && !is_float && texel.bytes() < 4;
            if filters && (is_float || texture.normalized_values) && !is_linear_memory {
                texture.filter = TextureFilter::Linear;
            }
            (texture, gap)
        },
    )
}

/// Generates positions in and around a texture, many of them on edges and centres.
fn places() -> impl Strategy<Value = Vec<[f32; 3]>> {
    let along = prop_oneof![
        (-40..80_i32).prop_map(|halves| halves as f32 / 8.0),
        -12.0..12.0_f32,
        -1.5..2.5_f32,
    ];
    prop::collection::vec([along.clone(), along.clone(), along], 32)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn reads_give_what_the_formulas_give(
        (mut texture, gap) in textures(),
        places in places(),
        data in prop::collection::vec(any::<u32>(), 4 * 6 * 6 * 8),
        layer in 0..8_u32,
        is_real in any::<bool>(),
    ) {
        // No infinities and nothing that is no number: half and single precision below two.
        let data: Vec<u8> = data.iter().flat_map(|word| match texture.texel {
            TexelType::F32 => word & 0xbfff_ffff,
            TexelType::F16 => word & 0xbfff_bfff,
            _ => *word,
        }.to_le_bytes()).collect();
        let (axes, layers, width) = match texture.shape {
            TextureShape::Linear(x) | TextureShape::Row(x) => (1, 0, x),
            TextureShape::Plane([x, _]) => (2, 0, x),
            TextureShape::Volume([x, ..]) => (3, 0, x),
            TextureShape::Rows { width, layers } => (1, layers, width),
            TextureShape::Planes { extents: [x, _], layers } => (2, layers, x),
        };
        if gap > 0 {
            let texel = texture.texel.bytes() * u64::from(texture.channels);
            texture.pitch = Some(u64::from(width + gap) * texel);
        }
        let rows: Vec<[u32; 4]> = places.iter().map(|place| {
            let along = place.map(|x| if is_real { x.to_bits() } else { x.floor() as i32 as u32 });
            if layers > 0 { [layer, along[0], along[1], 0] } else { [along[0], along[1], along[2], 0] }
        }).collect();
        let geometry = match (axes, layers) { (n, 0) => format!("{n}d"), (n, _) => format!("a{n}d") };
        let is_float = texture.normalized_values
            || matches!(texture.texel, TexelType::F16 | TexelType::F32);
        let body = read(&geometry, if is_float { "f32" } else { "s32" }, if is_real { "f32" } else { "s32" });
        // The gap makes some larger than their data.
        let mut data = data;
        data.resize(1 << 15, 0);
        let got = run(&body, &data, |address| Texture { address, ..texture }, &rows);
        let naive = Naive { texture, data: &data };
        let layer = u64::from(layer.min(layers.max(1) - 1));
        for (place, got) in places.iter().zip(got.rows) {
            // Coordinates along missing axes are ignored.
            let mut place = *place;
            place[axes..].fill(0.0);
            let wanted = if !is_real {
                naive.texel(place.map(|x| x.floor() as i64), layer)
            } else if texture.filter == TextureFilter::Linear {
                naive.linear(place, layer)
            } else {
                naive.point(place, layer)
            };
            let wanted = wanted.map(|value| bits(&texture, value));
            prop_assert_eq!(got, wanted, "at {:?} of {:?}", place, texture);
        }
    }
}
