//! Accesses of a whole wavefront in one stride take a short way; it must be the long one in all that
//! can be seen.

use proptest::prelude::*;
use warpweave_ptx::{
    DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, Numbers, ProgramChecker, launch,
};

use crate::harness::module;

/// A load from one place and a store to another, both at `start + step * lane` in a space.
#[derive(Clone, Debug)]
struct Case {
    space: &'static str,
    wide: bool,
    load: (i64, i64),
    store: (i64, i64),
    offset: i32,
}

fn case() -> impl Strategy<Value = Case> {
    let step = prop::sample::select(vec![-8, -4, 0, 1, 2, 4, 8, 12, 128, 1 << 33]);
    // 512 bytes, with both ends near.
    let start = prop_oneof![-8..640_i64, (0..64_i64).prop_map(|word| word * 8)];
    let place = (start, step);
    (
        prop::sample::select(vec!["global", "shared", "generic", "generic shared"]),
        any::<bool>(),
        place.clone(),
        place,
        prop::sample::select(vec![-8, 0, 4, 16]),
    )
        .prop_map(|(space, wide, load, store, offset)| Case {
            space,
            wide,
            load,
            store,
            offset,
        })
}

impl Case {
    fn text(&self) -> String {
        let (bits, register) = if self.wide { (64, "%rd9") } else { (32, "%r9") };
        let (base, access) = match self.space {
            "global" => ("ld.param.u64 %rd1, [data];", "global."),
            "shared" => ("mov.u64 %rd1, pool;", "shared."),
            "generic" => ("ld.param.u64 %rd1, [data];", ""),
            _ => ("mov.u64 %rd1, pool; cvta.shared.u64 %rd1, %rd1;", ""),
        };
        let at = |to: &str, (start, step): (i64, i64)| {
            format!(
                "mul.lo.s64 {to}, %rd0, {step}; add.s64 {to}, {to}, {start}; add.s64 {to}, {to}, %rd1;"
            )
        };
        let (from, to) = (at("%rd2", self.load), at("%rd3", self.store));
        let offset = self.offset;
        format!(
            ".version 7.0 .target sm_70 .address_size 64
            .visible .entry k(.param .u64 data) {{
            .reg .b32 %r<10>; .reg .b64 %rd<10>;
            .shared .align 8 .b8 pool[512];
            mov.u32 %r0, %tid.x; cvt.u64.u32 %rd0, %r0;
            mov.u64 %rd4, pool; shl.b64 %rd5, %rd0, 4; add.s64 %rd4, %rd4, %rd5;
            st.shared.v2.u64 [%rd4], {{%rd0, %rd5}};
            {base} {from} {to}
            ld.{access}u{bits} {register}, [%rd2+{offset}];
            st.{access}u{bits} [%rd3+{offset}], {register};
            ld.shared.v2.u64 {{%rd6, %rd7}}, [%rd4];
            ld.param.u64 %rd8, [data]; add.s64 %rd8, %rd8, %rd5;
            xor.b64 %rd6, %rd6, %rd7; st.global.u64 [%rd8], %rd6;
            ret; }}"
        )
    }

    /// What can be seen of it, with somebody watching or not: memory and records, or the error.
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
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn an_access_in_one_stride_does_and_records_what_the_general_one_does(case in case()) {
        prop_assert_eq!(case.seen(false), case.seen(true));
    }
}
