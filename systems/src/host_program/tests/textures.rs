//! Textures of host programs: the memory they cover, and messages for invalid ones.

use insta::assert_snapshot;
use warpweave_inputs::ElementType::F32;
use warpweave_params::Source;

use super::{execute, folder, read};
use crate::host_program::{
    Commands, Contents, EdgeMode, EmulationOrder, EmulationSpec, HostProgram, HostProgramBuilder,
    Launch, TexelFormat, TextureInput,
};

/// Kernels that copy four texels: through the reference `image`, and through an object.
const MODULE: &str = "
.version 6.3
.target sm_70
.address_size 64
.global .texref image;
.visible .entry by_name(.param .u64 out) {
    .reg .b64 %rd<4>; .reg .b32 %r<2>; .reg .f32 %f<4>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 4, %rd1;
    tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [image, {%r1}];
    st.global.f32 [%rd1], %f0; ret;
}
.visible .entry by_object(.param .u64 out, .param .u64 image) {
    .reg .b64 %rd<4>; .reg .b32 %r<2>; .reg .f32 %f<4>;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [image];
    mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 4, %rd1;
    tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd2, {%r1}];
    st.global.f32 [%rd1], %f0; ret;
}
";

fn row(buffer: &str) -> TextureInput {
    TextureInput::new(buffer, [4], TexelFormat::F32)
}

/// Builds two buffers of four numbers, one for results, and a texture `image` over the first.
fn builder() -> HostProgramBuilder {
    HostProgram::builder("textures")
        .module("textures.ptx", MODULE)
        .buffer("one", Contents::f32s(&[1.0, 2.0, 3.0, 4.0]))
        .buffer("two", Contents::f32s(&[5.0, 6.0, 7.0, 8.0]))
        .buffer("out", Contents::zero(F32, 4))
        .texture("image", row("one"))
}

fn by_name() -> Launch {
    Launch::new("by_name").grid([1]).block([4]).buffer("out")
}

fn by_object(texture: &str) -> Launch {
    let launch = Launch::new("by_object").grid([1]).block([4]);
    launch.buffer("out").texture(texture)
}

/// Returns the numbers of `out` after these commands.
fn out(builder: HostProgramBuilder, commands: Commands) -> Vec<f32> {
    let program = builder.commands(commands.copy_to_host("out"));
    let program = program
        .build()
        .unwrap_or_else(|problems| panic!("{problems}"));
    let outputs = execute(&program, EmulationOrder::Linear).outputs;
    outputs["out"]
        .iter()
        .map(|word| f32::from_bits(*word))
        .collect()
}

fn filled() -> Commands {
    Commands::new().copy_to_device("one").copy_to_device("two")
}

#[test]
fn a_reference_stands_for_the_texture_of_its_name_until_another_is_bound() {
    assert_eq!(
        out(builder(), filled().launch(by_name())),
        [1.0, 2.0, 3.0, 4.0]
    );
    let commands = filled().launch(by_name()).bind_texture("image", "other");
    let builder = builder().texture("other", row("two"));
    assert_eq!(
        out(builder, commands.launch(by_name())),
        [5.0, 6.0, 7.0, 8.0]
    );
}

#[test]
fn an_object_lies_over_what_its_buffer_points_to_at_the_launch() {
    let object = || by_object("image");
    assert_eq!(
        out(builder(), filled().launch(object())),
        [1.0, 2.0, 3.0, 4.0]
    );
    let commands = filled().launch(object()).swap("one", "two");
    assert_eq!(
        out(builder(), commands.launch(object())),
        [5.0, 6.0, 7.0, 8.0]
    );
}

#[test]
fn linear_memory_is_zero_outside_and_arrays_are_as_they_say() {
    let short = |linear, address| TextureInput {
        linear,
        address,
        ..TextureInput::new("one", [2], TexelFormat::F32)
    };
    let read = |texture| {
        let builder = builder().texture("short", texture);
        out(builder, filled().launch(by_object("short")))
    };
    assert_eq!(read(short(true, EdgeMode::Clamp)), [1.0, 2.0, 0.0, 0.0]);
    assert_eq!(read(short(false, EdgeMode::Clamp)), [1.0, 2.0, 2.0, 2.0]);
    assert_eq!(read(short(false, EdgeMode::Border)), [1.0, 2.0, 0.0, 0.0]);
}

#[test]
fn an_unbound_reference_fails_the_launch_that_reads_it() {
    let program = HostProgram::builder("unbound")
        .module("textures.ptx", MODULE)
        .buffer("out", Contents::zero(F32, 4))
        .commands(Commands::new().launch(by_name()).copy_to_host("out"))
        .build()
        .unwrap_or_else(|problems| panic!("{problems}"));
    let error = program
        .execute(&EmulationSpec::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no texture is bound to the reference `image`"),
        "{error}"
    );
}

const BLUR: &str = r#"Workload(
    module: "cuda/blur_texture.ptx",
    buffers: {
        "input": Zero(element: F32, length: 64), "output": Zero(element: F32, length: 64),
    },
    textures: { "image": Texture(buffer: "input", dims: [8, 8], format: F32) },
    commands: [
        Launch(
            kernel: "blur_texture", grid: 1, block: [8, 8],
            arguments: [Texture("image"), Buffer("output"), U32(8), U32(8)],
        ),
    ],
)
"#;

/// Returns the error message of a small workload after a piece of it is replaced.
fn refusal(piece: &str, replacement: &str) -> String {
    assert!(BLUR.contains(piece), "{piece}");
    let text = BLUR.replacen(piece, replacement, 1);
    match read(&Source::new("blur.ron", text), &[]) {
        Err(problems) => problems
            .to_string()
            .replace(&folder().display().to_string(), "workloads"),
        Ok(_) => panic!("must be refused"),
    }
}

#[test]
fn a_texture_larger_than_its_buffer_is_refused() {
    assert_snapshot!(refusal("[8, 8], format", "[8, 9], format"), @r#"
    error: texture `image`: a 2-D array of 8 x 9 texels takes 288 bytes, but only 256 are available
     --> blur.ron:6:17
      |
    6 |     textures: { "image": Texture(buffer: "input", dims: [8, 9], format: F32) },
      |                 ^^^^^^^
    "#);
}

#[test]
fn shapes_and_formats_that_textures_do_not_have_are_refused() {
    assert_snapshot!(refusal("[8, 8], format", "[2, 2, 2, 2], format"), @r#"
    error: texture `image` has an unsupported shape
     --> blur.ron:6:17
      |
    6 |     textures: { "image": Texture(buffer: "input", dims: [2, 2, 2, 2], format: F32) },
      |                 ^^^^^^^
      = hint: dims: 1 to 3 numbers; layers: only with 1 or 2 dims; linear: only with 1
    "#);
    assert_snapshot!(refusal("format: F32", "format: F64"), @r#"
    error: unknown variant `F64` of TexelFormat
     --> blur.ron:6:73
      |
    6 |     textures: { "image": Texture(buffer: "input", dims: [8, 8], format: F64) },
      |                                                                         ^^^
      = hint: variants: U8, S8, U16, S16, F16, U32, S32, F32
    "#);
    assert_snapshot!(refusal("format: F32", "format: U32, filter: Linear"), @r#"
    error: texture `image`: only floating-point values, or 8-bit and 16-bit integers read as normalised values, can be filtered
     --> blur.ron:6:17
      |
    6 |     textures: { "image": Texture(buffer: "input", dims: [8, 8], format: U32, filter: Linear) },
      |                 ^^^^^^^
    "#);
    assert_snapshot!(refusal("format: F32", "format: F32, filtr: Linear"), @r#"
    error: unknown field `filtr` in Texture
     --> blur.ron:6:78
      |
    6 |     textures: { "image": Texture(buffer: "input", dims: [8, 8], format: F32, filtr: Linear) },
      |                                                                              ^^^^^
      = hint: did you mean `filter`? fields of Texture: buffer, dims, format, channels, layers, linear, pitch, filter, address, normalized, read
    "#);
}

#[test]
fn unknown_textures_buffers_and_references_name_the_nearest() {
    assert_snapshot!(refusal("Texture(\"image\")", "Texture(\"imag\")"), @r#"
    error: unknown texture `imag`
      --> blur.ron:10:33
       |
    10 |             arguments: [Texture("imag"), Buffer("output"), U32(8), U32(8)],
       |                                 ^^^^^^
       = hint: did you mean `image`? textures: image
    "#);
    assert_snapshot!(refusal("buffer: \"input\"", "buffer: \"inptu\""), @r#"
    error: unknown buffer `inptu`
     --> blur.ron:6:42
      |
    6 |     textures: { "image": Texture(buffer: "inptu", dims: [8, 8], format: F32) },
      |                                          ^^^^^^^
      = hint: did you mean `input`? buffers: input, output
    "#);
    assert_snapshot!(refusal("Texture(\"image\"), Buffer(\"output\"), U32(8)", "Texture(\"image\"), Buffer(\"output\"), Texture(\"image\")"), @r#"
    error: argument 3 of kernel `blur_texture` is a texture object, but the parameter is of type .u32
      --> blur.ron:10:61
       |
    10 |             arguments: [Texture("image"), Buffer("output"), Texture("image"), U32(8)],
       |                                                             ^^^^^^^
    "#);
    assert_snapshot!(refusal("Launch(", "BindTexture(reference: \"t\", texture: \"image\"), Launch("), @r#"
    error: workloads/cuda/blur_texture.ptx has no texture reference `t`
     --> blur.ron:8:32
      |
    8 |         BindTexture(reference: "t", texture: "image"), Launch(
      |                                ^^^
      = hint: there are no texture references
    "#);
}
