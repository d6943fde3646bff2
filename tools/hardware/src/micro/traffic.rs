//! Bandwidth of all units by footprint, and the rates of launches and of work-groups.

use std::fmt::Write as _;

use super::loads::data_bytes;
use super::{Bench, Quantity};
use crate::driver::{DriverError, Launch};

/// Work-groups for each unit, and threads of each.
const GROUPS_OF_A_UNIT: u32 = 8;
const THREADS: u32 = 256;

/// Accesses of a thread in each turn, 16 bytes each.
const TURN: u64 = 4;

/// Bytes that each work-group reads again and again from its L1.
const L1_BYTES: u64 = THREADS as u64 * 16 * TURN;

/// Largest number of passes of a launch.
const PASSES_MOST: u32 = 1 << 20;

/// Bounds of a bandwidth in bytes per cycle and unit.
const BANDWIDTH: (f64, f64) = (1e-3, 256.0);

const HOST_COPY: Quantity = Quantity {
    measure: "bandwidth",
    unit: "GB/s",
    least: 1e-3,
    most: 1e3,
};

/// Size of a copy between host and device, in bytes.
const HOST_COPY_BYTES: u64 = 64 << 20;

const LAUNCH: Quantity = Quantity {
    measure: "launch",
    unit: "microseconds",
    least: 1e-3,
    most: 1e4,
};

const GROUPS: Quantity = Quantity {
    measure: "launch",
    unit: "work-groups per microsecond",
    least: 1e-4,
    most: 1e5,
};

/// Kernel that accesses a footprint again and again.
#[derive(Clone, Copy, Debug)]
struct Traffic<'k> {
    kernel: &'k str,
    what: &'k str,
    /// Footprint in bytes, of all work-groups or of each.
    bytes: u64,
    /// Pieces of 16 bytes in the footprint.
    pieces: u32,
    /// Turns of a thread in each pass.
    turns: u32,
}

/// Accesses that are measured: kernel, subject, and footprints in memory.
const KINDS: [(&str, &str, u64); 3] = [
    ("traffic_read", "reads past the L1", 1),
    ("traffic_write", "writes", 1),
    ("traffic_copy", "copies, each way", 2),
];

/// Appends the kernels. A thread begins each pass where that of the next work-group began the pass
/// before. So no unit finds pieces that it accessed itself.
pub(super) fn kernels(text: &mut String) {
    let read = |load: &str| {
        format!(
            "{load} {{%r20, %r21, %r22, %r23}}, [%rd6]; xor.b32 %r20, %r20, %r21; xor.b32 %r22, %r22, %r23; xor.b32 %r8, %r8, %r20; xor.b32 %r8, %r8, %r22;"
        )
    };
    let all = "mov.u32 %r2, %ctaid.x; mad.lo.u32 %r6, %r2, %r3, %r4; mov.u32 %r16, %nctaid.x; mul.lo.u32 %r7, %r16, %r3;";
    let own = "mov.u32 %r2, %ctaid.x; mad.lo.u32 %r17, %r2, %r3, %r4; mov.u32 %r6, %r4; mov.u32 %r7, %r3; mul.wide.u32 %rd8, %r2, %r12; mul.lo.s64 %rd8, %rd8, 16; add.s64 %rd1, %rd1, %rd8;";
    let write = "st.global.v4.u32 [%rd6], {%r10, %r10, %r10, %r10}; add.u32 %r8, %r8, 1;";
    let copy = "ld.global.cg.v4.u32 {%r20, %r21, %r22, %r23}, [%rd6]; add.s64 %rd7, %rd6, %rd9; st.global.v4.u32 [%rd7], {%r20, %r21, %r22, %r23}; add.u32 %r8, %r8, 1;";
    let (past, through) = (read("ld.global.cg.v4.u32"), read("ld.global.ca.v4.u32"));
    for (name, place, access) in [
        ("traffic_read", all, past.as_str()),
        ("traffic_l1", own, &through),
        ("traffic_write", all, write),
        ("traffic_copy", all, copy),
    ] {
        let piece = format!(
            "    mul.wide.u32 %rd6, %r10, 16; add.s64 %rd6, %rd1, %rd6; {access}\n\
             \x20   add.u32 %r10, %r10, %r7; setp.ge.u32 %p1, %r10, %r12; sub.u32 %r13, %r10, %r12; selp.b32 %r10, %r13, %r10, %p1;\n"
        );
        let turn = piece.repeat(TURN as usize);
        let _ = write!(
            text,
            "\n.visible .entry {name}(.param .u64 data, .param .u64 sink, .param .u32 pieces, .param .u32 turns, .param .u32 passes) {{\n\
             \x20   .reg .pred %p<4>; .reg .b32 %r<32>; .reg .b64 %rd<12>;\n\
             \x20   ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [sink]; ld.param.u32 %r12, [pieces]; ld.param.u32 %r14, [turns]; ld.param.u32 %r1, [passes];\n\
             \x20   mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mul.wide.u32 %rd9, %r12, 16;\n\
             \x20   {place}\n\
             \x20   mov.u32 %r8, 0; mov.u32 %r9, 0; mov.u32 %r15, %r6;\n\
             next_pass_{name}:\n\
             \x20   mov.u32 %r10, %r15; mov.u32 %r11, 0;\n\
             next_turn_{name}:\n\
             {turn}\
             \x20   add.u32 %r11, %r11, 1; setp.lt.u32 %p2, %r11, %r14; @%p2 bra next_turn_{name};\n\
             \x20   add.u32 %r15, %r15, %r3; setp.ge.u32 %p1, %r15, %r12; sub.u32 %r13, %r15, %r12; selp.b32 %r15, %r13, %r15, %p1;\n\
             \x20   add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, %r1; @%p3 bra next_pass_{name};\n\
             \x20   mov.u32 %r2, %ctaid.x; mad.lo.u32 %r17, %r2, %r3, %r4; mul.wide.u32 %rd5, %r17, 4; add.s64 %rd5, %rd2, %rd5;\n\
             \x20   st.global.u32 [%rd5], %r8;\n\
             \x20   ret;\n}}\n"
        );
    }
    text.push_str("\n.visible .entry nothing() { ret; }\n");
}

pub(super) fn measure(bench: &mut Bench<'_>) -> Result<(), DriverError> {
    let l2_bytes = bench.driver.properties().l2_bytes;
    let groups = bench.driver.properties().units.max(1) * GROUPS_OF_A_UNIT;
    let sums = bench.driver.allocate(4 * u64::from(groups * THREADS))?;
    let of_group = L1_BYTES / 16;
    let turns = (of_group / u64::from(THREADS) / TURN) as u32;
    if u64::from(groups) * L1_BYTES <= data_bytes(l2_bytes) {
        let traffic = Traffic {
            kernel: "traffic_l1",
            what: "reads through the L1",
            bytes: L1_BYTES,
            pieces: of_group as u32,
            turns,
        };
        bandwidth(bench, traffic, groups, sums)?;
    }
    // Each thread has whole turns, and each piece belongs to one thread of a pass.
    let smallest = u64::from(groups * THREADS) * 16 * TURN;
    let most = data_bytes(l2_bytes).min(u64::from(l2_bytes).max(1 << 18) * 4);
    for (kernel, what, footprints) in KINDS {
        let mut bytes = smallest;
        while bytes * footprints <= most {
            let pieces = bytes / 16;
            let turns = pieces / u64::from(groups * THREADS) / TURN;
            let traffic = Traffic {
                kernel,
                what,
                bytes,
                pieces: pieces as u32,
                turns: turns as u32,
            };
            bandwidth(bench, traffic, groups, sums)?;
            bytes *= 2;
        }
    }
    host_copies(bench)?;
    launches(bench)
}

/// Measures copies between the device and ordinary memory of the host.
fn host_copies(bench: &mut Bench<'_>) -> Result<(), DriverError> {
    let bytes = data_bytes(bench.driver.properties().l2_bytes).min(HOST_COPY_BYTES);
    let mut memory = vec![1; bytes as usize];
    let (mut to_device, mut to_host) = (Vec::new(), Vec::new());
    for _ in 0..bench.effort.samples {
        let begin = bench.driver.mark()?;
        bench.driver.write(bench.data, &memory)?;
        let middle = bench.driver.mark()?;
        bench.driver.read(bench.data, &mut memory)?;
        let end = bench.driver.mark()?;
        to_device.push(bytes as f64 / bench.driver.between(begin, middle)?);
        to_host.push(bytes as f64 / bench.driver.between(middle, end)?);
        bench.driver.forget_marks();
    }
    bench.add(HOST_COPY, "copies from the host", bytes, to_device);
    bench.add(HOST_COPY, "copies to the host", bytes, to_host);
    Ok(())
}

/// Measures a kernel over as many passes as take long enough.
fn bandwidth(
    bench: &mut Bench<'_>,
    traffic: Traffic<'_>,
    groups: u32,
    sums: u64,
) -> Result<(), DriverError> {
    let Traffic {
        kernel,
        pieces,
        turns,
        ..
    } = traffic;
    let arguments = |passes: u32| {
        let addresses = [bench.data, sums].map(|it| it.to_le_bytes().to_vec());
        let numbers = [pieces, turns, passes].map(|it| it.to_le_bytes().to_vec());
        addresses.into_iter().chain(numbers).collect()
    };
    let launch = |passes| bench.launch(kernel, groups, THREADS, arguments(passes));
    let launches: Vec<(u32, Launch)> = (0..=PASSES_MOST.ilog2())
        .map(|power| (1 << power, launch(1 << power)))
        .collect();
    let mut chosen = &launches[0];
    for next in &launches {
        chosen = next;
        if nanoseconds(bench, &next.1, 1)? >= bench.effort.least_nanoseconds {
            break;
        }
    }
    let (passes, launch) = chosen;
    let moved = (u64::from(turns) * TURN * 16 * u64::from(groups * THREADS)) as f64;
    let mut samples = Vec::new();
    for _ in 0..bench.effort.samples {
        let time = nanoseconds(bench, launch, 1)?;
        samples.push(moved * f64::from(*passes) / time);
    }
    let properties = bench.driver.properties();
    // GB/s are bytes per nanosecond, of which the clock has its number of cycles.
    let of_a_cycle = f64::from(properties.units) * f64::from(properties.unit_clock_khz) / 1e6;
    let quantity = Quantity {
        measure: "bandwidth",
        unit: "GB/s",
        least: BANDWIDTH.0 * of_a_cycle,
        most: BANDWIDTH.1 * of_a_cycle,
    };
    bench.add(quantity, traffic.what, traffic.bytes, samples);
    Ok(())
}

/// Returns the nanoseconds that a launch takes, the mean of several.
fn nanoseconds(bench: &mut Bench<'_>, launch: &Launch, times: u32) -> Result<f64, DriverError> {
    let from = bench.driver.mark()?;
    for _ in 0..times {
        bench.driver.launch(launch)?;
    }
    let to = bench.driver.mark()?;
    let time = bench.driver.between(from, to)?;
    bench.driver.forget_marks();
    Ok(time / f64::from(times.max(1)))
}

/// Measures empty launches one after another, and empty work-groups.
fn launches(bench: &mut Bench<'_>) -> Result<(), DriverError> {
    let (samples, times) = (bench.effort.samples, bench.effort.launches);
    let empty = bench.launch("nothing", 1, 32, Vec::new());
    let mut figures = Vec::new();
    for _ in 0..samples {
        figures.push(nanoseconds(bench, &empty, times)? / 1e3);
    }
    bench.add(LAUNCH, "empty kernel", 0, figures);
    for threads in [32, 64, 128, 256, 512, 1024] {
        let groups = times.saturating_mul(bench.driver.properties().units);
        let grid = bench.launch("nothing", groups, threads, Vec::new());
        let mut figures = Vec::new();
        for _ in 0..samples {
            figures.push(f64::from(groups) / (nanoseconds(bench, &grid, 1)? / 1e3));
        }
        bench.add(GROUPS, "empty work-groups", u64::from(threads), figures);
    }
    Ok(())
}
