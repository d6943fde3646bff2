//! Sharing of a launch from its trace.

use warpweave_files::{Budget, OverBudget};
use warpweave_trace::{Class, KernelTrace, Lanes, Space};

use super::{Effect, LaunchSharing, SharingCounts, Touch, TouchOrder, WORD_BYTES};
use crate::lines_of;

/// Returns the sharing of a launch by its accesses to global memory, without prefetches. The order
/// of its work-groups does not matter.
///
/// # Errors
/// Returns an error if the memory budget does not hold the lines and words of the launch.
pub fn sharing_of(
    kernel: &KernelTrace,
    line_bytes: u32,
    budget: &Budget,
) -> Result<SharingCounts, OverBudget> {
    let mut sharing = LaunchSharing::new(line_bytes, TouchOrder::ByWorkGroup, budget)?;
    let work_groups = 0..kernel.work_groups();
    for_each_access(kernel, work_groups, &mut |touch| sharing.touch(touch))?;
    Ok(sharing.counts())
}

/// Visits the accesses of work-groups in this order.
pub(super) fn for_each_access(
    kernel: &KernelTrace,
    work_groups: impl Iterator<Item = u32>,
    visit: &mut impl FnMut(&Touch<'_>) -> Result<(), OverBudget>,
) -> Result<(), OverBudget> {
    let mut lanes = Lanes::default();
    let mut words = Vec::new();
    for work_group in work_groups {
        for wavefront in 0..kernel.wavefronts_per_work_group() {
            let mut cursor = kernel.cursor(work_group, wavefront);
            while let Some(record) = cursor.next(kernel, &mut lanes) {
                if record.space != Space::Global || record.mask == 0 {
                    continue;
                }
                let instruction = &kernel.code.instructions[record.pc as usize];
                let effect = match instruction.class {
                    Class::Prefetch => continue,
                    Class::Load => Effect::Read,
                    _ => Effect::Write,
                };
                let bytes = u64::from(instruction.access_bytes);
                words.clear();
                lines_of(&lanes, record.mask, bytes, WORD_BYTES, &mut words);
                visit(&Touch {
                    work_group,
                    effect,
                    words: &words,
                    bytes_asked: u64::from(record.mask.count_ones()) * bytes,
                })?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use warpweave_trace::{Code, Instruction, KernelWriter, LANES, StreamWriter};

    use super::*;
    use crate::sharing::SharingClass;

    /// Word addresses of the lanes of a load, and of a store, by work-group.
    type Lanes32 = [u64; LANES];

    /// Class of eight work-groups of one wavefront that load twice and store once.
    fn class(load: impl Fn(u64, u64) -> u64, store: impl Fn(u64, u64) -> u64) -> SharingClass {
        let accessing = |name: &str, class| Instruction::new(name, class);
        let code = Code {
            name: "synthetic".to_owned(),
            instructions: vec![
                accessing("ld", Class::Load).accessing(Space::Global, 4),
                accessing("st", Class::Store).accessing(Space::Global, 4),
            ],
            ..Code::default()
        };
        let (grid, block) = ([8, 1, 1], [32, 1, 1]);
        let mut writer = KernelWriter::new(Arc::new(code), grid, block, 0, Vec::new()).unwrap();
        for work_group in 0..8 {
            let lanes = |word: &dyn Fn(u64, u64) -> u64| -> Lanes32 {
                std::array::from_fn(|lane| 4 * word(work_group.into(), lane as u64))
            };
            let mut stream = StreamWriter::new();
            for (pc, word) in [
                (0, &load as &dyn Fn(u64, u64) -> u64),
                (0, &load),
                (1, &store),
            ] {
                stream.access(pc, u32::MAX, Space::Global, false, &lanes(word));
            }
            writer.finish_wavefront(work_group, 0, stream).unwrap();
        }
        let kernel = writer.finish().unwrap();
        let counts = sharing_of(&kernel, 128, &Budget::unlimited()).unwrap();
        SharingClass::of(&counts).unwrap()
    }

    /// First word of an array that is stored only.
    const OUTPUT: u64 = 1 << 20;

    #[test]
    fn five_synthetic_kernels_have_five_classes() {
        let apart = |group: u64, lane: u64| OUTPUT + 32 * group + lane;
        assert_eq!(class(|_, lane| lane, apart), SharingClass::Algorithm);
        // Rows of 8 words: each line holds words of eight work-groups.
        let beside = |group: u64, lane: u64| 8 * lane + group;
        assert_eq!(class(beside, apart), SharingClass::CacheLine);
        let scattered = |group: u64, lane: u64| 32 * (32 * group + lane * 7 % 32);
        assert_eq!(class(scattered, apart), SharingClass::Data);
        let own = |group: u64, lane: u64| 32 * group + lane;
        let next = |group: u64, lane: u64| 32 * group + lane + 1;
        assert_eq!(class(next, own), SharingClass::Write);
        assert_eq!(class(own, apart), SharingClass::Streaming);
    }
}
