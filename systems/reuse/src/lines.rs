//! Mapping from trace records to the lines they touch.

use warpweave_trace::{Class, KernelTrace, Lanes, Program, Shape, Space, TraceError, TraceFile};

use crate::{Analysis, Unit};

/// Appends the distinct lines that an instruction touches to `touched`, in ascending order. `bytes`
/// is the access size per lane. `line_bytes` must be a power of two.
pub fn lines_of(lanes: &Lanes, mask: u32, bytes: u64, line_bytes: u64, touched: &mut Vec<u64>) {
    let line_bits = line_bytes.trailing_zeros();
    let lines = |first: u64, last: u64| {
        let end = last.saturating_add(bytes.saturating_sub(1));
        first >> line_bits..=end >> line_bits
    };
    let (low, high) = (mask.trailing_zeros(), mask.ilog2());
    let is_one_run = mask.count_ones() == high - low + 1;
    match lanes.shape {
        Shape::Uniform(address) => touched.extend(lines(address, address)),
        // Steps of no more than a line leave none out.
        Shape::Stride { step, .. }
            if is_one_run
                && u64::try_from(step).is_ok_and(|step| step <= line_bytes)
                && lanes.address(low) <= lanes.address(high) =>
        {
            touched.extend(lines(lanes.address(low), lanes.address(high)));
        }
        _ => {
            for (_, address) in lanes.iter(mask) {
                for line in lines(address, address) {
                    if touched.last() != Some(&line) {
                        touched.push(line);
                    }
                }
            }
            if !touched.is_sorted() {
                touched.sort_unstable();
            }
            touched.dedup();
        }
    }
}

/// Adds all global-memory accesses of a trace. Launches are added in order, then work-groups by
/// number, then each wavefront from start to end. No machine runs in this order, so distances are
/// properties of the program alone.
///
/// # Errors
/// Returns an error if the trace cannot be read.
pub fn trace(
    file: &mut TraceFile,
    line_bytes: u64,
    reads_only: bool,
    analysis: &mut Analysis,
) -> Result<(), TraceError> {
    for number in 0..file.kernels() {
        kernel(
            number,
            &file.kernel(number)?,
            line_bytes,
            reads_only,
            analysis,
        );
    }
    Ok(())
}

/// Like [`trace`], for a program in memory.
pub fn program(program: &Program, line_bytes: u64, reads_only: bool, analysis: &mut Analysis) {
    for (number, trace) in (0..).zip(&program.kernels) {
        kernel(number, trace, line_bytes, reads_only, analysis);
    }
}

/// Adds the accesses of one kernel launch.
fn kernel(
    number: u32,
    kernel: &KernelTrace,
    line_bytes: u64,
    reads_only: bool,
    analysis: &mut Analysis,
) {
    let mut lanes = Lanes::default();
    let mut touched = Vec::new();
    for work_group in 0..kernel.work_groups() {
        for wavefront in 0..kernel.wavefronts_per_work_group() {
            let by = Unit {
                kernel: number,
                work_group,
                wavefront,
            };
            let mut cursor = kernel.cursor(work_group, wavefront);
            while let Some(record) = cursor.next(kernel, &mut lanes) {
                if record.space != Space::Global || record.mask == 0 {
                    continue;
                }
                let instruction = &kernel.code.instructions[record.pc as usize];
                let counts = match instruction.class {
                    Class::Prefetch => false,
                    class => !reads_only || class == Class::Load,
                };
                if !counts {
                    continue;
                }
                let bytes = u64::from(instruction.access_bytes);
                lines_of(&lanes, record.mask, bytes, line_bytes, &mut touched);
                for line in touched.drain(..) {
                    analysis.touch(by, line);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_shape_touches_the_lines_of_its_lanes(
            mask in 1_u32..,
            base in 0_u64..10_000,
            step in -300_i64..300,
            bytes in prop::sample::select(vec![1_u64, 4, 16]),
            runs in any::<bool>(),
        ) {
            let mask = if runs { u32::MAX << (mask % 31) >> (mask % 7) } else { mask };
            let lanes = Lanes { shape: Shape::Stride { base: base + 10_000, step }, ..Lanes::default() };
            let mut expected: Vec<u64> = lanes
                .iter(mask)
                .flat_map(|(_, address)| address >> 7..=(address + bytes - 1) >> 7)
                .collect();
            expected.sort_unstable();
            expected.dedup();
            let mut touched = Vec::new();
            lines_of(&lanes, mask, bytes, 128, &mut touched);
            prop_assert_eq!(&touched, &expected);
            let mut list = lanes.clone();
            for (lane, address) in lanes.iter(mask) {
                list.list[lane as usize] = address;
            }
            list.shape = Shape::List;
            touched.clear();
            lines_of(&list, mask, bytes, 128, &mut touched);
            prop_assert_eq!(touched, expected);
        }
    }
}
