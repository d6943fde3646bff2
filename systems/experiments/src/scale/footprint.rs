//! Memory footprint of a program in global memory, independent of timing.
//!
//! Launches are processed in trace order, their work-groups by number, and the wavefronts of each
//! by number from beginning to end. No machine executes them so, but the order depends on the
//! program alone.

use serde::{Deserialize, Serialize};
use warpweave_reuse::{LruStack, lines_of};
use warpweave_trace::{KernelTrace, Lanes, Space, TraceError, TraceFile};

use super::caches::Caches;

/// Global-memory footprint of a program. A line access is a line that some lane of an instruction
/// accesses, counted once per instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    /// Thread instructions, including those that do not access memory.
    pub thread_instructions: u64,
    /// Bytes requested by lanes, summed over lanes.
    pub bytes_asked: u64,
    /// Number of line accesses, as defined above.
    pub line_accesses: u64,
    /// Number of distinct lines, which equals the number of first accesses.
    pub lines: u64,
    /// Accesses with a reuse distance below the number of lines in one first-level cache.
    pub within_l1: u64,
    /// Accesses with a reuse distance below the number of lines in the whole second level,
    /// including those of `within_l1`.
    pub within_l2: u64,
    /// Median reuse distance in lines, over all accesses except the first to a line; `None` if
    /// there are none.
    pub median: Option<u64>,
}

/// Running measurement of a program's footprint.
pub(super) struct Measuring {
    caches: Caches,
    reuse: LruStack,
    /// Number of accesses, indexed by reuse distance.
    distances: Vec<u64>,
    found: Footprint,
}

impl Measuring {
    pub(super) fn new(caches: Caches) -> Self {
        Self {
            caches,
            reuse: LruStack::new(),
            distances: Vec::new(),
            found: Footprint::default(),
        }
    }

    /// Adds the accesses of a kernel launch.
    pub(super) fn add(&mut self, kernel: &KernelTrace) {
        self.found.thread_instructions += kernel.thread_instructions();
        let mut lanes = Lanes::default();
        let mut touched = Vec::new();
        for work_group in 0..kernel.work_groups() {
            for wavefront in 0..kernel.wavefronts_per_work_group() {
                let mut cursor = kernel.cursor(work_group, wavefront);
                while let Some(record) = cursor.next(kernel, &mut lanes) {
                    if record.space != Space::Global || record.mask == 0 {
                        continue;
                    }
                    let bytes = kernel.code.instructions[record.pc as usize].access_bytes;
                    self.found.bytes_asked +=
                        u64::from(bytes) * u64::from(record.mask.count_ones());
                    let line_bytes = self.caches.line_bytes;
                    lines_of(&lanes, record.mask, bytes.into(), line_bytes, &mut touched);
                    for line in touched.drain(..) {
                        self.touch(line);
                    }
                }
            }
        }
    }

    fn touch(&mut self, line: u64) {
        self.found.line_accesses += 1;
        let Some(distance) = self.reuse.touch(line) else {
            return;
        };
        if distance >= self.distances.len() {
            self.distances.resize(distance + 1, 0);
        }
        self.distances[distance] += 1;
    }

    pub(super) fn finish(self) -> Footprint {
        let within = |lines: u64| {
            let lines = usize::try_from(lines).unwrap_or(usize::MAX);
            self.distances[..lines.min(self.distances.len())]
                .iter()
                .sum()
        };
        let again: u64 = self.distances.iter().sum();
        let mut left = again.div_ceil(2);
        let median = self.distances.iter().position(|count| {
            let reached = left > 0 && *count >= left;
            left = left.saturating_sub(*count);
            reached
        });
        Footprint {
            lines: self.reuse.distinct() as u64,
            within_l1: within(self.caches.lines_of_one_l1()),
            within_l2: within(self.caches.lines_of_l2()),
            median: median.map(|distance| distance as u64),
            ..self.found
        }
    }
}

/// Measures the footprint of a traced program, with one launch in memory at a time.
pub(super) fn of(trace: &mut TraceFile, caches: Caches) -> Result<Footprint, TraceError> {
    let mut measuring = Measuring::new(caches);
    for kernel in 0..trace.kernels() {
        measuring.add(&trace.kernel(kernel)?);
    }
    Ok(measuring.finish())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use warpweave_trace::{Class, Code, Instruction, KernelWriter, StreamWriter};

    use super::*;

    const CACHES: Caches = Caches {
        line_bytes: 128,
        one_l1_bytes: 256,
        l1_bytes: 512,
        l2_bytes: 512,
    };

    /// Returns c = a + b over 128 floats in two work-groups of two wavefronts.
    fn vector_add() -> KernelTrace {
        let access = |opcode, class| Instruction::new(opcode, class).accessing(Space::Global, 4);
        let code = Arc::new(Code {
            name: "add".to_owned(),
            instructions: vec![
                access("ld.global.f32", Class::Load),
                access("ld.global.f32", Class::Load),
                Instruction::new("add.f32", Class::FpAdd),
                access("st.global.f32", Class::Store),
                Instruction::new("exit", Class::Exit),
            ],
            ..Code::default()
        });
        let mut writer = KernelWriter::new(code, [2, 1, 1], [64, 1, 1], 0, Vec::new()).unwrap();
        for (work_group, wavefront) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let thread = u64::from(work_group * 64 + wavefront * 32);
            let of = |array: u64| std::array::from_fn(|lane| array + 4 * (thread + lane as u64));
            let mut stream = StreamWriter::new();
            stream.access(0, u32::MAX, Space::Global, false, &of(0x1000));
            stream.access(1, u32::MAX, Space::Global, false, &of(0x2000));
            stream.step(2, u32::MAX);
            stream.access(3, u32::MAX, Space::Global, false, &of(0x3000));
            stream.step(4, u32::MAX);
            writer
                .finish_wavefront(work_group, wavefront, stream)
                .unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn vector_addition_touches_three_arrays_once() {
        let mut measuring = Measuring::new(CACHES);
        measuring.add(&vector_add());
        let expected = Footprint {
            thread_instructions: 5 * 128,
            bytes_asked: 3 * 128 * 4,
            line_accesses: 12,
            lines: 12,
            within_l1: 0,
            within_l2: 0,
            median: None,
        };
        assert_eq!(measuring.finish(), expected);
    }

    #[test]
    fn a_second_launch_finds_every_line_as_far_away_as_there_are_others() {
        let mut measuring = Measuring::new(CACHES);
        measuring.add(&vector_add());
        measuring.add(&vector_add());
        let found = measuring.finish();
        assert_eq!((found.lines, found.line_accesses), (12, 24));
        assert_eq!(found.median, Some(11));
        assert_eq!(found.within_l2, 0, "four lines are less than twelve");
    }

    #[test]
    fn distances_are_counted_below_the_lines_of_each_level() {
        let mut measuring = Measuring::new(CACHES);
        // Distances 0, 1, 2 and 3 with two lines in one L1 and four in the L2; then 4.
        for line in [1, 1, 2, 1, 3, 2, 1, 4, 3, 2, 1, 5, 4, 3, 2, 1] {
            measuring.touch(line);
        }
        let found = measuring.finish();
        assert_eq!((found.lines, found.within_l1, found.within_l2), (5, 2, 7));
        assert_eq!(found.line_accesses - found.lines - found.within_l2, 4);
        assert_eq!(found.median, Some(3));
    }
}
