//! Tests of loads, stores, atomics and address spaces.

use warpweave_ptx::{
    DeviceMemory, EmulationError, EmulationOptions, KernelArgument, LaunchConfig, launch,
};
use warpweave_trace::{CacheOperator, Class, KernelTrace, Lanes, ReadPath, Shape, Space};

use crate::harness::{fault, kernel, module, run, run_module};

#[test]
fn narrow_loads_extend_by_their_type_into_wider_registers() {
    let got = run("st.global.u32 [%rd0], 0x80ff80fe;
    ld.global.s8 %r1, [%rd0]; ld.global.u8 %r2, [%rd0]; ld.global.s16 %r3, [%rd0];
    ld.global.u16 %r4, [%rd0];
    st.global.v4.u32 [%rd0], {%r1, %r2, %r3, %r4};");
    let row: Vec<u32> = (0..4).map(|at| got.u32(at)).collect();
    assert_eq!(row, [0xffff_fffe, 0xfe, 0xffff_80fe, 0x80fe]);
    let got = run(
        "st.global.u32 [%rd0], 0x80ff80fe; ld.global.s32 %rd1, [%rd0];
    ld.global.s8 %rs1, [%rd0]; cvt.u64.u16 %rd2, %rs1; st.global.v2.u64 [%rd0], {%rd1, %rd2};",
    );
    assert_eq!((got.u64(0), got.u64(1)), (0xffff_ffff_80ff_80fe, 0xfffe));
}

#[test]
fn narrow_stores_touch_only_their_bytes() {
    let got = run("st.global.u32 [%rd0], -1; mov.u32 %r1, 0x1234;
    st.global.u8 [%rd0+1], %r1; st.global.b16 [%rd0+2], %r1;");
    assert_eq!(got.u32(0), 0x1234_34ff);
}

#[test]
fn vectors_move_two_and_four_elements() {
    let got = run("mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000;
    st.global.v2.f32 [%rd0], {%f1, %f2}; st.global.v2.f32 [%rd0+8], {%f2, %f1};
    ld.global.v4.f32 {%f3, _, %f5, %f6}, [%rd0];
    add.f32 %f3, %f3, %f5; add.f32 %f3, %f3, %f6; st.global.f32 [%rd0], %f3;");
    assert_eq!(f32::from_bits(got.u32(0)), 4.0);
}

#[test]
fn private_memory_is_private_at_every_width() {
    let got = run(".local .align 8 .b8 mine[32];
    mov.u64 %rd1, mine; cvta.local.u64 %rd2, %rd1;
    st.local.u32 [mine+4], %r0; st.local.u8 [%rd1+9], %r0;
    cvt.u64.u32 %rd3, %r0; shl.b64 %rd3, %rd3, 40; st.u64 [%rd2+16], %rd3;
    ld.u32 %r1, [%rd2+4]; ld.local.u8 %r2, [mine+9]; ld.local.u64 %rd4, [%rd1+16];
    shr.u64 %rd4, %rd4, 39; cvt.u32.u64 %r3, %rd4;
    st.global.v4.u32 [%rd0], {%r1, %r2, %r3, %r0};");
    for lane in 0..32 {
        let row: Vec<u32> = (0..4).map(|at| got.u32(4 * lane + at)).collect();
        let lane = lane as u32;
        assert_eq!(row, [lane, lane, 2 * lane, lane]);
    }
}

/// Even lanes point into shared memory, odd lanes into global memory.
const MIXED: &str = ".shared .b32 pool[32];
    mov.u64 %rd1, pool; cvta.shared.u64 %rd1, %rd1; mad.wide.u32 %rd1, %r0, 4, %rd1;
    and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; selp.b64 %rd2, %rd1, %rd0, %p1;
    st.u32 [%rd2], %r0;
    ld.u32 %r2, [%rd2];
    isspacep.shared %p2, %rd2; selp.u32 %r3, 100, 0, %p2; add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd0], %r2;";

#[test]
fn generic_accesses_find_their_space_lane_by_lane() {
    let got = run(MIXED).words();
    for (lane, got) in (0..).zip(got) {
        assert_eq!(got, if lane % 2 == 0 { lane + 100 } else { lane });
    }
}

/// A structure of four words passed by value, and a function that reads it through its generic
/// address.
const ARGUMENT: &str = "
.func (.reg .b32 %sum) total(.reg .b64 %p) {
    .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %q;
    ld.v4.u32 {%r1, %r2, %r3, %r4}, [%p]; add.u32 %r1, %r1, %r2; add.u32 %r3, %r3, %r4;
    cvta.to.param.u64 %rd1, %p; ld.param::entry.u32 %r5, [%rd1+12]; sub.u32 %r3, %r3, %r5;
    isspacep.param %q, %p; @%q add.u32 %r3, %r3, 1000;
    add.u32 %sum, %r1, %r3; ret; }
.visible .entry k(.param .align 16 .b8 s[16], .param .u64 out) {
    .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .pred %p<4>;
    ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mad.wide.u32 %rd0, %r0, 16, %rd0;
    mov.u64 %rd1, s; cvta.param.u64 %rd1, %rd1; call (%r1), total, (%rd1);
    st.global.u32 [%rd0], %r1; st.global.u32 [%rd0+4], %r0;
    and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; selp.b64 %rd2, %rd1, %rd0, %p1;
    ld.u32 %r3, [%rd2+4]; st.global.u32 [%rd0+8], %r3;
    BODY
    ret; }";

/// Launches `ARGUMENT` with additional code in the kernel.
fn launch_argument(body: &str) -> Result<(DeviceMemory, u64, KernelTrace), EmulationError> {
    let module = module(&ARGUMENT.replace("BODY", body));
    let kernel = module.kernel("k").expect("it is supported");
    assert!(kernel.parameters()[0].may_be_read, "its address is taken");
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 512);
    let words = [1_u32, 20, 300, 4000].map(u32::to_le_bytes).concat();
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        dynamic_local_bytes: 0,
        args: &[KernelArgument::Bytes(words), KernelArgument::Pointer(out)],
    };
    let options = EmulationOptions::default();
    let trace = launch(&module, "k", config, &mut memory, &options)?;
    Ok((memory, out, trace))
}

#[test]
fn an_argument_has_a_generic_address_that_functions_read_through() {
    let (memory, out, trace) = launch_argument("").expect("runs");
    for lane in 0..32 {
        let word = |at: u64| {
            let bytes = memory.read(out + 16 * u64::from(lane) + 4 * at, 4);
            u32::from_le_bytes(bytes.expect("inside").try_into().expect("four bytes"))
        };
        assert_eq!(word(0), 1321);
        // Even lanes read the argument, odd ones what they wrote.
        assert_eq!(word(2), if lane % 2 == 0 { 20 } else { lane });
    }
    let mut cursor = trace.cursor(0, 0);
    let mut lanes = Lanes::default();
    let records = std::iter::from_fn(|| cursor.next(&trace, &mut lanes));
    let of_params: Vec<u32> = records
        .filter(|record| record.space == Space::Param)
        .map(|record| record.mask)
        .collect();
    assert_eq!(of_params, [u32::MAX, u32::MAX, u32::MAX, 0x5555_5555]);
}

#[test]
fn arguments_are_not_written_and_end_where_they_end() {
    let error = launch_argument("st.u32 [%rd1], 5;")
        .map(|_| ())
        .expect_err("read only");
    assert!(error.to_string().contains("st.u32"), "{error}");
    let error = launch_argument("ld.u32 %r9, [%rd1+24];")
        .map(|_| ())
        .expect_err("outside");
    assert!(error.to_string().contains("parameter offset"), "{error}");
}

#[test]
fn mixed_generic_accesses_are_one_record_per_space() {
    let got = run(MIXED);
    let records = got.records(0, 0);
    let code = &got.trace.code;
    let store: Vec<_> = records
        .iter()
        .filter(|r| code.instructions[r.pc as usize].opcode == "st.u32")
        .collect();
    assert_eq!(store.len(), 2);
    assert_eq!(
        (store[0].space, store[0].continues, store[0].mask),
        (Space::Global, true, 0xaaaa_aaaa)
    );
    assert_eq!(
        (store[1].space, store[1].continues, store[1].mask),
        (Space::Shared, false, 0x5555_5555)
    );
}

#[test]
fn addresses_in_the_trace_are_those_of_their_space() {
    let got = run(
        ".shared .b32 pool[32]; mov.u64 %rd1, pool; mad.wide.u32 %rd1, %r0, 4, %rd1;
    st.shared.u32 [%rd1], %r0; st.global.u32 [%rd0+4], %r0;",
    );
    let (mut cursor, mut lanes) = (got.trace.cursor(0, 0), Lanes::default());
    let mut shapes = Vec::new();
    while let Some(record) = cursor.next(&got.trace, &mut lanes) {
        if record.space != Space::None {
            shapes.push((record.space, lanes.shape));
        }
    }
    assert_eq!(
        shapes,
        [
            (Space::Param, Shape::Uniform(0)),
            (Space::Shared, Shape::Stride { base: 0, step: 4 }),
            (
                Space::Global,
                Shape::Stride {
                    base: got.out + 4,
                    step: 16
                }
            ),
        ]
    );
}

#[test]
fn loads_of_data_that_nobody_writes_are_told_from_others() {
    let got = run(
        "ld.global.nc.u32 %r1, [%rd0]; ldu.global.u32 %r2, [%rd0]; ld.global.u32 %r3, [%rd0];
    ld.global.cg.nc.u32 %r4, [%rd0];",
    );
    let code = got.trace.code.instructions.iter();
    let loads = code.filter(|instruction| instruction.space == Space::Global);
    let paths = loads.map(|load| load.hints.path).collect::<Vec<_>>();
    let expected = [
        ReadPath::NonCoherent,
        ReadPath::NonCoherent,
        ReadPath::Coherent,
        ReadPath::NonCoherent,
    ];
    assert_eq!(paths[..4], expected);
}

/// Half of the lanes point past the allocation; a prefetch cannot fault.
#[test]
fn prefetches_are_recorded_with_the_addresses_that_are_there() {
    let got = run(
        "mov.u64 %rd1, 0x7000000000; setp.lt.u32 %p1, %r0, 16; selp.b64 %rd2, %rd0, %rd1, %p1;
    prefetch.global.L1 [%rd2+8]; prefetch.L2 [%rd2]; prefetch.global.L2::evict_last [%rd1];
    prefetchu.L1 [%rd0]; prefetch.local.L1 [%rd0];",
    );
    let code = &got.trace.code;
    let (mut cursor, mut lanes) = (got.trace.cursor(0, 0), Lanes::default());
    let mut found = Vec::new();
    while let Some(record) = cursor.next(&got.trace, &mut lanes) {
        let instruction = &code.instructions[record.pc as usize];
        if instruction.opcode.starts_with("prefetch") {
            let shape = (record.mask, record.space, lanes.shape);
            found.push((instruction.class, instruction.hints.cache, shape));
        }
    }
    let strided = |base| Shape::Stride { base, step: 16 };
    let nowhere = (u32::MAX, Space::None, Shape::None);
    assert_eq!(
        found,
        [
            (
                Class::Prefetch,
                CacheOperator::Default,
                (0xffff, Space::Global, strided(got.out + 8))
            ),
            (
                Class::Prefetch,
                CacheOperator::GlobalLevel,
                (0xffff, Space::Global, strided(got.out))
            ),
            (Class::Prefetch, CacheOperator::GlobalLevel, nowhere),
            (Class::IntAdd, CacheOperator::Default, nowhere),
            (Class::IntAdd, CacheOperator::Default, nowhere),
        ]
    );
}

#[test]
fn atomics_of_one_address_happen_lane_after_lane() {
    let table: [(&str, u32, u32); 12] = [
        ("atom.global.add.u32 %r1, [%rd1], 3;", 5, 5 + 96),
        ("atom.add.s32 %r1, [%rd1], -1;", 5, 5u32.wrapping_sub(32)),
        ("atom.global.max.u32 %r1, [%rd1], %r0;", 5, 31),
        ("atom.global.min.s32 %r1, [%rd1], -7;", 5, -7i32 as u32),
        ("atom.global.and.b32 %r1, [%rd1], 4;", 5, 4),
        ("red.global.or.b32 [%rd1], %r0;", 32, 63),
        ("red.xor.b32 [%rd1], 1;", 5, 5),
        ("atom.global.exch.b32 %r1, [%rd1], %r0;", 5, 31),
        ("atom.global.cas.b32 %r1, [%rd1], 5, 9;", 5, 9),
        ("atom.global.inc.u32 %r1, [%rd1], 6;", 5, 5 + 32 - 5 * 7),
        (
            "atom.global.dec.u32 %r1, [%rd1], 9;",
            3,
            (3 + 320 - 32) % 10,
        ),
        (
            "atom.acq_rel.gpu.global.add.f32 %f1, [%rd1], 0f3F800000;",
            0,
            0x4200_0000,
        ),
    ];
    for (instruction, before, after) in table {
        let got = run(&format!(
            "ld.param.u64 %rd1, [out]; setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%rd1], {before};
             {instruction}"
        ));
        assert_eq!(got.u32(0), after, "{instruction}");
    }
}

#[test]
fn atomics_return_the_value_before() {
    let got = run(
        ".shared .b64 sum; mov.u64 %rd1, 0; st.shared.u64 [sum], %rd1;
    atom.shared.add.u64 %rd2, [sum], 2; st.global.u64 [%rd0], %rd2;",
    );
    assert_eq!(got.doubles(), std::array::from_fn(|lane| 2 * lane as u64));
}

#[test]
fn module_constants_and_initialisers_are_readable() {
    let text = format!(
        ".const .align 4 .b32 table[4] = {{10, 20, 30}};
.global .align 8 .u64 pointer = generic(table)+4;
.global .f32 scale = 0f40000000;
.global .align 1 .b8 grid[2][3] = {{{{1}}, {{4, 5, 6}}}};
{}",
        kernel(
            "ld.const.u32 %r1, [table+8]; ld.global.u64 %rd1, [pointer]; ld.u32 %r2, [%rd1];
    ld.global.f32 %f1, [scale]; cvt.rzi.u32.f32 %r3, %f1; ld.global.u8 %r4, [grid+4];
    st.global.v4.u32 [%rd0], {%r1, %r2, %r3, %r4};"
        )
    );
    let got = run_module(&text, 32);
    let row: Vec<u32> = (0..4).map(|at| got.u32(at)).collect();
    assert_eq!(row, [30, 20, 2, 5]);
}

#[test]
fn bad_addresses_name_kernel_line_thread_address_and_allocation() {
    let error = fault("add.u64 %rd1, %rd0, 64;\n st.global.u32 [%rd1], %r0;");
    assert_eq!(
        error,
        "test.ptx:18: `st.global.u32` in kernel `k`, work-group (0, 0, 0), thread (28, 0, 0): 4-byte \
         access to address 0x10000200 is outside every allocation; nearest is `out` \
         (0x10000000..0x10000200, 512 bytes), 0 bytes past its end"
    );
    let error = fault("ld.global.u32 %r1, [%rd0+2];");
    assert!(
        error.contains("thread (0, 0, 0)") && error.contains("misaligned"),
        "{error}"
    );
    let error = fault("ld.u32 %r1, [0];");
    assert!(
        error.contains("generic address 0x0 is in no state space"),
        "{error}"
    );
    let error = fault(".shared .b32 x; ld.shared.u32 %r1, [x+300];");
    assert!(
        error.contains("outside the 260 bytes of the work-group"),
        "{error}"
    );
    let error = fault(".local .b32 x; ld.local.u32 %r1, [x+64];");
    assert!(error.contains("private address 0x40"), "{error}");
}

#[test]
fn an_alloca_of_no_possible_size_is_refused_with_its_line() {
    for (instruction, bytes) in [
        ("alloca.u64 %rd1, -1;", u64::MAX),
        ("alloca.u64 %rd1, -16, 256;", u64::MAX - 15),
        ("alloca.u32 %r1, -1;", u64::from(u32::MAX)),
        ("alloca.u64 %rd1, 0x7fffffffffffffff;", i64::MAX as u64),
        ("alloca.u64 %rd1, 524289;", 524_289),
    ] {
        let error = fault(&format!("\n{instruction}"));
        assert!(error.contains("test.ptx:18: `alloca.u"), "{error}");
        assert!(
            error.contains("exceeds the remaining private memory"),
            "{error}"
        );
        assert!(
            error.contains(&format!("`alloca` of {bytes} bytes")),
            "{error}"
        );
    }
    let got = run(
        "alloca.u64 %rd1, 500000; st.local.u32 [%rd1], %r0; ld.local.u32 %r1, [%rd1];
         st.global.u32 [%rd0], %r1;",
    );
    assert_eq!(got.u32(4), 1);
}

#[test]
fn a_barrier_of_an_impossible_number_of_threads_is_refused_with_its_line() {
    for (instruction, threads) in [
        ("bar.sync 0, 33;", 33),
        ("bar.sync 0, 0;", 0),
        ("bar.sync 1, 64;", 64),
        ("barrier.cta.sync.aligned 1, 31;", 31),
        ("bar.arrive 1, 1024;", 1024),
        ("bar.red.popc.u32 %r1, 0, 48, %p1;", 48),
        ("mov.u32 %r1, -32; barrier.sync 0, %r1;", 4_294_967_264_u32),
    ] {
        let error = fault(&format!("setp.eq.u32 %p1, %r0, 0;\n{instruction}"));
        assert!(error.contains("test.ptx:18: `bar"), "{error}");
        let expected = format!(
            "a barrier of {threads} threads; the number must be a multiple of 32, from 32 to the 32 \
             of the work-group"
        );
        assert!(error.contains(&expected), "{error}");
    }
}
