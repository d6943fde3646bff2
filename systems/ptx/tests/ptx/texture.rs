//! Tests of texture reads: values against a naive sampler, trace records, and error messages.

mod naive;
mod values;

use warpweave_ptx::{
    AddressMode, DeviceMemory, EmulationError, EmulationOptions, KernelArgument, LaunchConfig,
    Module, TexelType, Texture, TextureFilter, TextureShape, launch,
};
use warpweave_trace::{Class, KernelTrace, Lanes, ReadPath, Shape, Space};

use crate::harness::{HEADER, errors, module};

/// Returns a kernel `k(in, out, texture)`. Each thread loads four words from `in` into `%r1..%r4`
/// and `%f1..%f4`, with the object in `%rd3`. It runs `body` and stores `%r5..%r8`.
fn kernel(body: &str) -> String {
    format!(
        ".global .texref image;
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 texture)
{{
    .reg .b32 %r<16>;
    .reg .f32 %f<16>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.u64 %rd3, [texture];
    mov.u32 %r0, %tid.x; mad.wide.u32 %rd1, %r0, 16, %rd1; mad.wide.u32 %rd2, %r0, 16, %rd2;
    ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%rd1];
    mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.b32 %f4, %r4;
    {body}
    st.global.v4.u32 [%rd2], {{%r5, %r6, %r7, %r8}};
    ret;
}}
"
    )
}

/// Returns a read of the object with a geometry such as `2d` and types such as `f32.s32`, into
/// `%r5..%r8`.
fn read(geometry: &str, results: &str, coordinates: &str) -> String {
    let list = match (geometry, coordinates) {
        ("a1d" | "a2d", "f32") => "%r1, %f2, %f3, %f4",
        (_, "f32") => "%f1, %f2, %f3, %f4",
        _ => "%r1, %r2, %r3, %r4",
    };
    let read = |registers: &str| {
        format!("tex.{geometry}.v4.{results}.{coordinates} {{{registers}}}, [%rd3, {{{list}}}];")
    };
    if results == "f32" {
        let moves = "mov.b32 %r5, %f5; mov.b32 %r6, %f6; mov.b32 %r7, %f7; mov.b32 %r8, %f8;";
        format!("{}{moves}", read("%f5, %f6, %f7, %f8"))
    } else {
        read("%r5, %r6, %r7, %r8")
    }
}

/// Results of a launch: output rows and trace.
struct Run {
    rows: Vec<[u32; 4]>,
    trace: KernelTrace,
    /// Start address of the texture's memory.
    image: u64,
}

/// Runs a body for up to 1,024 rows of inputs. The texture covers `data`, at the address passed to
/// `describe`.
fn try_run(
    body: &str,
    data: &[u8],
    describe: impl FnOnce(u64) -> Texture,
    rows: &[[u32; 4]],
) -> Result<Run, EmulationError> {
    let module = module(&kernel(body));
    let mut memory = DeviceMemory::new();
    let image = memory.allocate("image_memory", data.len() as u64);
    memory.write(image, data).expect("inside");
    let input = memory.allocate("in", rows.len() as u64 * 16);
    let output = memory.allocate("out", rows.len() as u64 * 16);
    let bytes: Vec<u8> = rows
        .as_flattened()
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    memory.write(input, &bytes).expect("inside");
    let handle = memory.create_texture("object", describe(image));
    let handle = handle.unwrap_or_else(|error| panic!("{error}"));
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [rows.len() as u32, 1, 1],
        dynamic_local_bytes: 0,
        args: &[
            KernelArgument::Pointer(input),
            KernelArgument::Pointer(output),
            KernelArgument::U64(handle),
        ],
    };
    let trace = launch(
        &module,
        "k",
        config,
        &mut memory,
        &EmulationOptions::default(),
    )?;
    let found = memory.read(output, rows.len() as u64 * 16).expect("inside");
    let words = found
        .as_chunks()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word));
    let words: Vec<u32> = words.collect();
    Ok(Run {
        rows: words.as_chunks().0.to_vec(),
        trace,
        image,
    })
}

fn run(body: &str, data: &[u8], describe: impl FnOnce(u64) -> Texture, rows: &[[u32; 4]]) -> Run {
    try_run(body, data, describe, rows).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns sixteen texels of one float each, equal to their index.
fn ramp() -> Vec<u8> {
    (0..16).flat_map(|n| (n as f32).to_le_bytes()).collect()
}

fn plane(address: u64) -> Texture {
    Texture::new(address, TextureShape::Plane([4, 4]), TexelType::F32, 1)
}

fn filtered(address: u64) -> Texture {
    Texture {
        filter: TextureFilter::Linear,
        ..plane(address)
    }
}

fn floats(rows: &[[f32; 4]]) -> Vec<[u32; 4]> {
    rows.iter().map(|row| row.map(f32::to_bits)).collect()
}

#[test]
fn halfway_between_four_texels_is_their_mean() {
    let got = run(
        &read("2d", "f32", "f32"),
        &ramp(),
        filtered,
        &floats(&[[2.0, 2.0, 0.0, 0.0]]),
    );
    assert_eq!(got.rows[0].map(f32::from_bits), [7.5, 0.0, 0.0, 1.0]);
}

#[test]
fn gathering_gives_four_texels_counter_clockwise_from_the_lower_left() {
    let body = "tld4.r.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd3, {%f1, %f2}];
        mov.b32 %r5, %f5; mov.b32 %r6, %f6; mov.b32 %r7, %f7; mov.b32 %r8, %f8;";
    let got = run(body, &ramp(), plane, &floats(&[[2.0, 2.0, 0.0, 0.0]]));
    assert_eq!(got.rows[0].map(f32::from_bits), [9.0, 10.0, 6.0, 5.0]);
}

#[test]
fn a_level_changes_nothing_since_there_is_one() {
    let body = read("2d", "f32", "f32")
        .replace("tex.2d", "tex.level.2d")
        .replace("];", "], %f4;");
    let got = run(&body, &ramp(), plane, &floats(&[[3.0, 1.0, 0.0, 7.0]]));
    assert_eq!(f32::from_bits(got.rows[0][0]), 7.0);
}

#[test]
fn queries_tell_extents() {
    let body = "txq.width.b32 %r5, [%rd3]; txq.height.b32 %r6, [%rd3]; txq.depth.b32 %r7, [%rd3];
        txq.normalized_coords.b32 %r8, [%rd3];";
    let volume = |address| Texture {
        normalized_coordinates: true,
        ..Texture::new(address, TextureShape::Volume([8, 2, 1]), TexelType::U8, 4)
    };
    assert_eq!(run(body, &ramp(), volume, &[[0; 4]]).rows[0], [8, 2, 1, 1]);
}

/// Binds `image` and reads its texel 2, by name or by address.
fn by_reference(take: &str) -> Result<[u32; 4], EmulationError> {
    let module = module(&kernel(take));
    let mut memory = DeviceMemory::new();
    let (input, output) = (memory.allocate("in", 16), memory.allocate("out", 16));
    let data = memory.allocate("image_memory", 64);
    memory.write(data, &ramp()).expect("inside");
    let linear = Texture::new(data, TextureShape::Linear(16), TexelType::F32, 1);
    let handle = memory.create_texture("ramp", linear).expect("a texture");
    let other = Texture::new(data + 4, TextureShape::Linear(15), TexelType::F32, 1);
    let other = memory.create_texture("other", other).expect("a texture");
    memory
        .bind_texture(&module, "image", other)
        .expect("a reference");
    memory
        .bind_texture(&module, "image", handle)
        .expect("a reference");
    let args = [input, output, 0].map(KernelArgument::U64);
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [1, 1, 1],
        dynamic_local_bytes: 0,
        args: &args,
    };
    launch(
        &module,
        "k",
        config,
        &mut memory,
        &EmulationOptions::default(),
    )?;
    let words: Vec<u32> = memory
        .read(output, 16)
        .expect("inside")
        .as_chunks()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect();
    Ok(words.as_chunks().0[0])
}

#[test]
fn a_reference_stands_for_what_was_bound_last_by_name_and_by_address() {
    let get = "mov.b32 %r5, %f5; mov.b32 %r6, %f6; mov.b32 %r7, %f7; mov.b32 %r8, %f8;";
    for take in [
        "mov.u32 %r1, 2; tex.1d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [image, {%r1, %r1, %r1, %r1}];",
        "mov.u32 %r1, 2; mov.u64 %rd4, image; tex.1d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [%rd4, %r1];",
        "mov.f32 %f1, 0f40000000; tex.1d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [image, {%f1}];",
    ] {
        let got = by_reference(&format!("{take}{get}")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(got.map(f32::from_bits), [2.0, 0.0, 0.0, 1.0], "{take}");
    }
}

#[test]
fn old_declarations_are_references_too() {
    let parse = |text: &str| Module::parse("test.ptx", &format!("{HEADER}{text}"));
    let module = parse(".tex .u32 one;\n.visible .global .texref two;").expect("a module");
    assert_eq!(
        module.texture_references().collect::<Vec<_>>(),
        ["one", "two"]
    );
}

/// Returns mask, `continues` flag and addresses of each texture read record.
fn reads(run: &Run) -> Vec<(u32, bool, Space, Shape)> {
    let code = &run.trace.code;
    let (mut cursor, mut lanes) = (run.trace.cursor(0, 0), Lanes::default());
    let mut found = Vec::new();
    while let Some(record) = cursor.next(&run.trace, &mut lanes) {
        let instruction = &code.instructions[record.pc as usize];
        if instruction.opcode.starts_with("tex") {
            assert_eq!(instruction.class, Class::Load);
            let shape = if record.space == Space::None {
                Shape::Uniform(0)
            } else {
                lanes.shape
            };
            found.push((record.mask, record.continues, record.space, shape));
        }
    }
    found
}

#[test]
fn a_filtered_read_is_a_record_for_each_texel_around() {
    // Centres of texels 0 to 2 of row 1, and one whose left neighbour is clamped to itself.
    let rows = floats(&[0.75, 1.75, 2.75].map(|x| [x, 1.75, 0.0, 0.0]));
    let got = run(&read("2d", "f32", "f32"), &ramp(), filtered, &rows);
    let at = |texel: u64| Shape::Stride {
        base: got.image + 4 * texel,
        step: 4,
    };
    let record = |texel, continues| (7, continues, Space::Global, at(texel));
    let records = reads(&got);
    assert_eq!(records[0], record(4, true));
    assert_eq!(records[2], record(8, true));
    // The last texel of a row is its own right neighbour.
    assert_eq!(records.len(), 4);
    assert_eq!(
        records.iter().map(|record| record.1).collect::<Vec<_>>(),
        [true, true, true, false]
    );
}

#[test]
fn reads_of_textures_are_told_from_other_loads() {
    let got = run(&read("2d", "f32", "f32"), &ramp(), filtered, &[[0; 4]]);
    let code = got.trace.code.instructions.iter();
    let loads = code.filter(|instruction| instruction.class == Class::Load);
    let paths = loads.map(|load| (load.space, load.hints.path));
    let others = [Space::Param, Space::Param, Space::Param, Space::Global];
    let others = others.map(|space| (space, ReadPath::Coherent));
    let texture = [(Space::Global, ReadPath::Texture)];
    assert_eq!(paths.collect::<Vec<_>>(), [&others[..], &texture].concat());
}

#[test]
fn lanes_outside_a_border_load_nothing() {
    let border = |address| Texture {
        address_modes: [AddressMode::Border; 3],
        ..plane(address)
    };
    let row = |x: f32| [x, 0.0, 0.0, 0.0];
    let body = read("2d", "f32", "f32");
    let got = run(
        &body,
        &ramp(),
        border,
        &floats(&[row(-1.0), row(0.0), row(1.0), row(4.0)]),
    );
    assert_eq!(
        reads(&got)
            .iter()
            .map(|read| (read.0, read.2))
            .collect::<Vec<_>>(),
        [(6, Space::Global)]
    );
    let got = run(&body, &ramp(), border, &floats(&[row(-1.0), row(4.0)]));
    assert_eq!(reads(&got), [(3, false, Space::None, Shape::Uniform(0))]);
}

#[test]
fn a_narrow_texel_is_recorded_as_the_word_that_holds_it() {
    let bytes = |address| Texture::new(address, TextureShape::Linear(64), TexelType::U8, 1);
    let got = run(
        &read("1d", "u32", "s32"),
        &ramp(),
        bytes,
        &[[7, 0, 0, 0], [6, 0, 0, 0]],
    );
    assert_eq!(
        reads(&got),
        [(3, false, Space::Global, Shape::Uniform(got.image + 4))]
    );
}

/// Returns the error of a launch that reads with `body`.
fn fault(body: &str, describe: impl FnOnce(u64) -> Texture) -> String {
    match try_run(body, &ramp(), describe, &[[0; 4]]) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("the launch must fail"),
    }
}

#[test]
fn mistakes_with_textures_are_named_with_kernel_line_and_thread() {
    let place = "in kernel `k`, work-group (0, 0, 0), thread (0, 0, 0): ";
    let tail = |error: String| error.split_once(place).expect("a place").1.to_owned();
    let unbound = "tex.1d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [image, {%r1}];";
    assert_eq!(
        tail(fault(unbound, plane)),
        "no texture is bound to the reference `image`"
    );
    let none = "mov.u64 %rd3, 77; tex.1d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [%rd3, {%r1}];";
    assert_eq!(
        tail(fault(none, plane)),
        "0x4d is not a texture: neither a texture object nor a texture reference"
    );
    assert_eq!(
        tail(fault(&read("3d", "f32", "f32"), plane)),
        "texture `object` is a 2-D array of 4 x 4 texels, which is read with two coordinates (`.2d`)"
    );
    assert_eq!(
        tail(fault(&read("2d", "u32", "f32"), plane)),
        "texture `object` returns f32, which the instruction cannot read"
    );
    assert!(fault(unbound, plane).starts_with("test.ptx:14: `tex.1d.v4.f32.s32`"));
}

#[test]
fn textures_that_make_no_sense_are_refused_when_they_are_made() {
    let mut memory = DeviceMemory::new();
    let at = memory.allocate("image", 64);
    let mut refuse = |texture| {
        memory
            .create_texture("t", texture)
            .expect_err("refused")
            .to_string()
    };
    let large = Texture {
        shape: TextureShape::Plane([5, 4]),
        ..plane(at)
    };
    assert_eq!(
        refuse(large),
        "texture `t`, a 2-D array of 5 x 4 texels, takes 80 bytes at 0x10000000, which are not inside \
         an allocation; nearest is `image` (0x10000000..0x10000040, 64 bytes), at byte 0 of the allocation"
    );
    let cases = [
        (
            Texture {
                channels: 3,
                ..plane(at)
            },
            "a texel must have 1, 2 or 4 channels, not 3",
        ),
        (
            Texture {
                shape: TextureShape::Plane([4, 0]),
                ..plane(at)
            },
            "a 2-D array of 4 x 0 texels have none",
        ),
        (
            Texture {
                pitch: Some(8),
                ..plane(at)
            },
            "a pitch of 8 bytes is less than the row size of 16 bytes",
        ),
        (
            Texture {
                pitch: Some(18),
                ..plane(at)
            },
            "the address and the row pitch must be multiples of the texel size, 4 bytes",
        ),
        (
            plane(at + 2),
            "the address and the row pitch must be multiples of the texel size, 4 bytes",
        ),
        (
            Texture {
                normalized_values: true,
                ..plane(at)
            },
            "only 8-bit and 16-bit integers can be read as normalised values",
        ),
        (
            Texture {
                texel: TexelType::U32,
                ..filtered(at)
            },
            "only floating-point values, or 8-bit and 16-bit integers read as normalised values, can be filtered",
        ),
        (
            Texture {
                shape: TextureShape::Linear(4),
                ..filtered(at)
            },
            "linear memory cannot be filtered",
        ),
    ];
    for (texture, problem) in cases {
        assert_eq!(refuse(texture), format!("texture `t`: {problem}"));
    }
    let huge = Texture {
        shape: TextureShape::Volume([1 << 27; 3]),
        pitch: Some(1 << 60),
        ..plane(at)
    };
    assert_eq!(refuse(huge), "texture `t`: more texels than fit in memory");
}

#[test]
fn binding_to_an_unknown_reference_names_the_nearest() {
    let module = module(&kernel(""));
    let mut memory = DeviceMemory::new();
    let at = memory.allocate("image", 64);
    let handle = memory.create_texture("t", plane(at)).expect("a texture");
    let error = memory
        .bind_texture(&module, "imagee", handle)
        .expect_err("refused");
    assert_eq!(
        error.to_string(),
        "test.ptx: no texture reference `imagee`\nhint: did you mean `image`?"
    );
    let error = memory
        .bind_texture(&module, "image", 12)
        .expect_err("refused");
    assert_eq!(error.to_string(), "0xc is not a texture");
}

#[test]
fn forms_that_are_not_there_are_refused_by_name() {
    let refused = |body: &str| errors(&format!("{HEADER}{}", kernel(body)));
    for (body, problem) in [
        (
            "tex.cube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [image, {%f1, %f2, %f3, %f4}];",
            "cubes and multisampled",
        ),
        (
            "tex.grad.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [image, {%f1, %f2}], {%f1, %f2}, {%f1, %f2};",
            "gradients",
        ),
        (
            "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [image, {%f1, %f2}], {%r1, %r2};",
            "offsets and depth comparisons",
        ),
        (
            "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [image, {%f1}];",
            "expected 2 coordinates, found 1",
        ),
        (
            "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [image, image, {%f1, %f2}];",
            "separate samplers",
        ),
        (
            "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [texture, {%f1, %f2}];",
            "load the parameter into a register",
        ),
        (
            "tex.2d.v2.f16x2.f32 {%f5, %f6}, [image, {%f1, %f2}];",
            "texture reads must return four values",
        ),
        (
            "tld4.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [image, {%f1, %f2}];",
            "missing colour channel",
        ),
        (
            "txq.num_samples.b32 %r5, [image];",
            "textures tell `.width`",
        ),
    ] {
        let said = refused(body);
        assert!(said.contains(problem), "{said}");
    }
    let said = errors(&format!("{HEADER}.global .texref many[4];"));
    assert!(said.contains("neither an array nor initialized"), "{said}");
    let user = kernel("mov.u64 %rd1, s;");
    let said = errors(&format!("{HEADER}.global .samplerref s;\n{user}"));
    assert!(
        said.contains("separate samplers are not supported"),
        "{said}"
    );
}
