//! Tests of the fast paths for accesses of one word per lane. Each address pattern must have the
//! same observable results as the general path.

use proptest::prelude::*;
use warpweave_ptx::{
    DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, Numbers, ProgramChecker, launch,
};

use crate::harness::module;

/// Offsets of the lanes of an access from the start of a memory.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// Rows of lanes: `start + step * (lane mod 2^bits) + pitch * (lane div 2^bits)`.
    Rows {
        start: i64,
        step: i64,
        pitch: i64,
        bits: u32,
    },
    /// Permuted offsets: `8 * ((odd * lane) mod 64)`, less 8 for one lane.
    Scattered { odd: i64, lower: i64 },
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let step = || prop::sample::select(vec![-8_i64, -4, 0, 1, 2, 4, 8, 12, 128, 1 << 33, 1 << 62]);
    // 512 bytes, with both ends near.
    let start = || prop_oneof![-8..640_i64, (0..64_i64).prop_map(|word| word * 8)];
    let strided = (start(), step()).prop_map(|(start, step)| Pattern::Rows {
        start,
        step,
        pitch: 0,
        bits: 5,
    });
    let rows =
        (start(), step(), step(), 1..5_u32).prop_map(|(start, step, pitch, bits)| Pattern::Rows {
            start,
            step,
            pitch,
            bits,
        });
    let scattered = (0..32_i64, -1..32_i64).prop_map(|(half, lower)| Pattern::Scattered {
        odd: 2 * half + 1,
        lower,
    });
    prop_oneof![strided, rows, scattered]
}

impl Pattern {
    /// Returns instructions that compute a lane's address in a register. The lane is in `%rd0`, the
    /// start of the memory in `%rd1`.
    fn text(self, to: &str) -> String {
        match self {
            Self::Rows {
                start,
                step,
                pitch,
                bits,
            } => format!(
                "and.b64 {to}, %rd0, {}; mul.lo.s64 {to}, {to}, {step};
                shr.b64 %rd10, %rd0, {bits}; mad.lo.s64 {to}, %rd10, {pitch}, {to};
                add.s64 {to}, {to}, {start}; add.s64 {to}, {to}, %rd1;",
                (1 << bits) - 1
            ),
            Self::Scattered { odd, lower } => format!(
                "mul.lo.s64 {to}, %rd0, {odd}; and.b64 {to}, {to}, 63; shl.b64 {to}, {to}, 3;
                add.s64 {to}, {to}, %rd1; setp.eq.s64 %p0, %rd0, {lower}; @%p0 sub.s64 {to}, {to}, 8;"
            ),
        }
    }
}

/// Loads from one location and a store to another, in one space. Also gives the active lanes, and
/// the lanes whose address changes before the second load.
#[derive(Clone, Debug)]
struct Case {
    space: &'static str,
    wide: bool,
    load: Pattern,
    store: Pattern,
    offset: i32,
    lanes: u32,
    moved: u32,
}

fn mask() -> impl Strategy<Value = u32> {
    prop_oneof![4 => Just(u32::MAX), 1 => Just(0xffff), 1 => any::<u32>(), 1 => Just(0)]
}

fn case() -> impl Strategy<Value = Case> {
    let spaces = vec![
        "global",
        "shared",
        "generic",
        "generic shared",
        "shared narrow",
    ];
    (
        prop::sample::select(spaces),
        any::<bool>(),
        pattern(),
        pattern(),
        prop::sample::select(vec![-8, 0, 4, 16]),
        mask(),
        mask(),
    )
        .prop_map(|(space, wide, load, store, offset, lanes, moved)| Case {
            space,
            wide,
            load,
            store,
            offset,
            lanes,
            moved,
        })
}

impl Case {
    fn text(&self) -> String {
        let (bits, first, second) = if self.wide {
            (64, "%rd9", "%rd11")
        } else {
            (32, "%r9", "%r11")
        };
        let (base, access) = match self.space {
            "global" => ("ld.param.u64 %rd1, [data];", "global."),
            "shared" | "shared narrow" => ("mov.u64 %rd1, pool;", "shared."),
            "generic" => ("ld.param.u64 %rd1, [data];", ""),
            _ => ("mov.u64 %rd1, pool; cvta.shared.u64 %rd1, %rd1;", ""),
        };
        let (from, to) = (self.load.text("%rd2"), self.store.text("%rd3"));
        let is_narrow = self.space == "shared narrow";
        let (from_register, to_register) = if is_narrow {
            ("%r2", "%r3")
        } else {
            ("%rd2", "%rd3")
        };
        let narrow = |to: &str, from: &str| {
            let text = format!("cvt.u32.u64 {to}, {from};");
            if is_narrow { text } else { String::new() }
        };
        let (narrow_from, narrow_to) = (narrow("%r2", "%rd2"), narrow("%r3", "%rd3"));
        let width = if is_narrow { 32 } else { 64 };
        let (offset, lanes, moved) = (self.offset, self.lanes, self.moved);
        let guard = if lanes == u32::MAX { "" } else { "@%p1" };
        let move_guard = if moved == u32::MAX { "" } else { "@%p2" };
        format!(
            ".version 7.0 .target sm_70 .address_size 64
            .visible .entry k(.param .u64 data) {{
            .reg .b32 %r<12>; .reg .b64 %rd<12>; .reg .pred %p<3>;
            .shared .align 8 .b8 pool[512];
            mov.u32 %r0, %tid.x; cvt.u64.u32 %rd0, %r0;
            mov.u64 %rd4, pool; shl.b64 %rd5, %rd0, 4; add.s64 %rd4, %rd4, %rd5;
            st.shared.v2.u64 [%rd4], {{%rd0, %rd5}};
            mov.u32 %r5, {lanes}; shr.b32 %r5, %r5, %r0; and.b32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 0;
            mov.u32 %r5, {moved}; shr.b32 %r5, %r5, %r0; and.b32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0;
            {base} {from} {to} {narrow_from} {narrow_to}
            mov.b{bits} {first}, 0; mov.b{bits} {second}, 0;
            {guard} ld.{access}u{bits} {first}, [{from_register}+{offset}];
            {move_guard} add.s{width} {from_register}, {from_register}, 8;
            {guard} ld.{access}u{bits} {second}, [{from_register}+{offset}];
            sub.s{bits} {first}, {first}, {second};
            {guard} st.{access}u{bits} [{to_register}+{offset}], {first};
            ld.shared.v2.u64 {{%rd6, %rd7}}, [%rd4];
            ld.param.u64 %rd8, [data]; add.s64 %rd8, %rd8, %rd5;
            xor.b64 %rd6, %rd6, %rd7; st.global.u64 [%rd8], %rd6;
            ret; }}"
        )
    }

    /// Returns the observable result, with or without an observer: memory and records, or the
    /// error.
    fn seen(&self, watched: bool) -> Result<(Vec<u8>, String), String> {
        let module = module(&self.text());
        let mut memory = DeviceMemory::new();
        let bytes: Vec<u8> = (0..512_u32).map(|at| (at * 7 + 3) as u8).collect();
        let data = memory.allocate("data", 512);
        memory.write(data, &bytes).expect("inside");
        let config = LaunchConfig {
            grid: [1, 1, 1],
            block: [32, 1, 1],
            dynamic_local_bytes: 0,
            args: &[KernelArgument::Pointer(data)],
        };
        let options = EmulationOptions::default();
        let trace = if watched {
            let mut checker = ProgramChecker::new();
            checker.host_wrote(data, 512);
            let numbers = &mut Numbers::default();
            let family = checker.launch(&module, "k", config, &mut memory, &options, numbers);
            family.map(|mut family| family.kernels.remove(0))
        } else {
            launch(&module, "k", config, &mut memory, &options)
        };
        let trace = trace.map_err(|error| error.to_string())?;
        let after = memory.read(data, 512).expect("inside").to_vec();
        Ok((after, trace.hash().to_string()))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn an_access_of_any_pattern_does_and_records_what_the_general_one_does(case in case()) {
        prop_assert_eq!(case.seen(false), case.seen(true));
    }
}
