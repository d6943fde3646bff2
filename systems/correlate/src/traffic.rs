//! Requests and sectors of a launch, counted from its trace.

use warpweave_reuse::lines_of;
use warpweave_trace::{Class, KernelTrace, Lanes, Space};

/// Size of the sectors that Nsight Compute counts, in bytes.
pub(crate) const SECTOR_BYTES: u64 = 32;

/// Accesses of a launch to global memory, and to local memory of work-groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Wavefront instructions that load from global memory.
    pub load_requests: u64,
    /// Sectors that these loads touch, each once per instruction.
    pub load_sectors: u64,
    /// Wavefront instructions that store to global memory.
    pub store_requests: u64,
    /// Sectors that these stores touch, each once per instruction.
    pub store_sectors: u64,
    /// Wavefront instructions that access local memory of their work-group.
    pub shared_accesses: u64,
}

impl Traffic {
    /// Counts the accesses of a launch with at least one active lane. Prefetches do not count, and
    /// atomics count in local memory only.
    pub fn of(kernel: &KernelTrace) -> Self {
        let mut counts = Self::default();
        let mut lanes = Lanes::default();
        let mut sectors = Vec::new();
        for work_group in 0..kernel.work_groups() {
            for wavefront in 0..kernel.wavefronts_per_work_group() {
                let mut cursor = kernel.cursor(work_group, wavefront);
                while let Some(record) = cursor.next(kernel, &mut lanes) {
                    if record.mask == 0 {
                        continue;
                    }
                    let instruction = &kernel.code.instructions[record.pc as usize];
                    match (record.space, instruction.class) {
                        (Space::Shared, _) => counts.shared_accesses += 1,
                        (Space::Global, Class::Load | Class::Store) => {
                            let bytes = u64::from(instruction.access_bytes);
                            sectors.clear();
                            lines_of(&lanes, record.mask, bytes, SECTOR_BYTES, &mut sectors);
                            counts.add(instruction.class, sectors.len() as u64);
                        }
                        _ => {}
                    }
                }
            }
        }
        counts
    }

    fn add(&mut self, class: Class, sectors: u64) {
        if class == Class::Load {
            self.load_requests += 1;
            self.load_sectors += sectors;
        } else {
            self.store_requests += 1;
            self.store_sectors += sectors;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use warpweave_trace::{Code, Instruction, KernelWriter, LANES, StreamWriter};

    use super::*;

    #[test]
    fn sectors_are_counted_once_for_each_instruction() {
        let accessing =
            |name: &str, class, space, bytes| Instruction::new(name, class).accessing(space, bytes);
        let code = Code {
            name: "k".to_owned(),
            instructions: vec![
                accessing("ld", Class::Load, Space::Global, 4),
                accessing("ld8", Class::Load, Space::Global, 8),
                accessing("st", Class::Store, Space::Global, 4),
                accessing("lds", Class::Load, Space::Shared, 4),
                accessing("atom", Class::Atomic, Space::Global, 4),
            ],
            ..Code::default()
        };
        let mut writer =
            KernelWriter::new(Arc::new(code), [1, 1, 1], [32, 1, 1], 0, Vec::new()).unwrap();
        let mut stream = StreamWriter::new();
        let every = |step: u64, start: u64| -> [u64; LANES] {
            std::array::from_fn(|lane| start + step * lane as u64)
        };
        for (pc, mask, space, lanes) in [
            // 128 bytes from a sector's begin: 4. From its middle: 5.
            (0, u32::MAX, Space::Global, every(4, 1024)),
            (0, u32::MAX, Space::Global, every(4, 1040)),
            // 256 bytes: 8. All lanes at one place: 1. One sector for each lane: 32.
            (1, u32::MAX, Space::Global, every(8, 0)),
            (0, u32::MAX, Space::Global, every(0, 64)),
            (0, u32::MAX, Space::Global, every(32, 0)),
            // Nothing is requested without lanes.
            (0, 0, Space::Global, every(4, 0)),
            (2, 0b11, Space::Global, every(64, 0)),
            (3, u32::MAX, Space::Shared, every(4, 0)),
            (4, u32::MAX, Space::Global, every(4, 0)),
        ] {
            stream.access(pc, mask, space, false, &lanes);
        }
        writer.finish_wavefront(0, 0, stream).unwrap();
        let found = Traffic::of(&writer.finish().unwrap());
        assert_eq!(
            (found.load_requests, found.load_sectors),
            (5, 4 + 5 + 8 + 1 + 32)
        );
        assert_eq!((found.store_requests, found.store_sectors), (1, 2));
        assert_eq!(found.shared_accesses, 1);
    }
}
