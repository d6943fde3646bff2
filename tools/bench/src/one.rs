//! Runs one workload once in this process, by the framework or a hand-written loop.

use crate::workload::{Implementation, Sample, Workload};
use crate::{components, elaboration, emulation, limit, phold, signals};

/// Runs `workload` for about `units` units (items, for the pipe).
///
/// # Errors
/// Fails with a text if the implementation cannot run it or the sizes are wrong.
pub fn run(
    workload: Workload,
    by: Implementation,
    sizes: &[u64],
    units: u64,
) -> Result<Sample, String> {
    workload.check(sizes, units)?;
    let size = |i: usize| sizes[i];
    use Implementation as I;
    use Workload as W;
    Ok(match (workload, by) {
        (W::Ring, I::Warpweave) => components::ring(size(0), size(1), units),
        (W::Ring, I::Limit) => limit::ring(size(0), size(1), units),
        (W::Pipe, I::Warpweave) => components::pipe(size(0), size(1), size(2), units),
        (W::Pipe, I::Limit) => limit::pipe(size(0), size(1), size(2), units),
        (W::Phold, I::Warpweave) => phold::phold(size(0), size(1), size(2), units),
        (W::Phold, I::Limit) => limit::phold(size(0), size(1), size(2), units),
        (W::Sleepers, I::Warpweave) => components::sleepers(size(0), size(1), units),
        (W::Crossing, I::Warpweave) => components::crossing(size(0), size(1), units),
        (W::Signals, I::Warpweave) => signals::signals(size(0), size(1), units),
        (W::Elaboration, I::Warpweave) => elaboration::elaboration(size(0) > 0, units),
        (W::EmulatedInteger, I::Warpweave) => {
            emulation::emulated(emulation::INTEGER, size(0), units)
        }
        (W::EmulatedFloat, I::Warpweave) => emulation::emulated(emulation::FLOAT, size(0), units),
        (W::EmulatedMemory, I::Warpweave) => emulation::emulated(emulation::MEMORY, size(0), units),
        (W::EmulatedScatter, I::Warpweave) => {
            emulation::emulated(emulation::SCATTERED, size(0), units)
        }
        _ => {
            let (name, by) = (workload.name(), by.name());
            return Err(format!("{name} is not written for {by} in this program"));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [(Workload, &[u64], u64); 9] = [
        (Workload::Ring, &[1024, 64], 10_000),
        (Workload::Ring, &[7, 7], 500),
        (Workload::Ring, &[5, 1], 300),
        (Workload::Pipe, &[8, 4, 3], 500),
        (Workload::Pipe, &[1, 1, 1], 100),
        (Workload::Pipe, &[3, 2, 7], 100),
        (Workload::Phold, &[1024, 16, 1000], 50_000),
        (Workload::Phold, &[10, 2, 4000], 2_000),
        (Workload::Phold, &[3, 1, 1], 100),
    ];

    #[test]
    fn the_hand_written_loops_compute_what_the_framework_computes() {
        for (workload, sizes, units) in SIZES {
            let by = |who| run(workload, who, sizes, units).unwrap();
            let (ours, theirs) = (by(Implementation::Warpweave), by(Implementation::Limit));
            assert_eq!(
                (ours.units, ours.checksum),
                (theirs.units, theirs.checksum),
                "{workload:?} {sizes:?}"
            );
        }
    }

    #[test]
    fn checksums_tell_lengths_and_sizes_apart() {
        let checksum = |workload, sizes: &[u64], units| {
            let by = Implementation::Limit;
            run(workload, by, sizes, units).unwrap().checksum
        };
        for (workload, sizes, units) in SIZES {
            let longer = checksum(workload, sizes, units + 100);
            assert_ne!(checksum(workload, sizes, units), longer, "{workload:?}");
        }
        let pipe = |every| checksum(Workload::Pipe, &[3, 2, every], 100);
        assert_ne!(pipe(2), pipe(3), "the cycle of every item counts");
    }

    #[test]
    fn sleepers_change_nothing_for_those_awake() {
        let by = Implementation::Warpweave;
        let few = run(Workload::Sleepers, by, &[64, 8], 4000).unwrap();
        let many = run(Workload::Sleepers, by, &[5000, 8], 4000).unwrap();
        assert_eq!(few.units, many.units);
        assert!(few.units >= 4000 - 8, "{few:?}");
    }

    #[test]
    fn every_hop_between_two_clocks_is_counted() {
        let by = Implementation::Warpweave;
        let sample = run(Workload::Crossing, by, &[8, 2], 1000).unwrap();
        assert!((500..=2000).contains(&sample.units), "{sample:?}");
    }

    #[test]
    fn every_flip_ripples_through_all_its_chain() {
        let by = Implementation::Warpweave;
        let sample = run(Workload::Signals, by, &[4, 5], 4 * 5 * 10).unwrap();
        assert_eq!(sample.units, 200);
    }

    #[test]
    fn elaboration_builds_what_was_asked_for() {
        let by = Implementation::Warpweave;
        let linked = run(Workload::Elaboration, by, &[1], 5000).unwrap();
        assert_eq!((linked.units, linked.checksum), (5000, 5000));
        let alone = run(Workload::Elaboration, by, &[0], 5000).unwrap();
        assert_eq!((alone.units, alone.checksum), (5000, 0));
    }

    #[test]
    fn emulated_loops_do_the_rounds_that_they_are_asked_for() {
        let by = Implementation::Warpweave;
        for (workload, of_round) in [
            (Workload::EmulatedInteger, 35),
            (Workload::EmulatedFloat, 35),
            (Workload::EmulatedMemory, 32),
            (Workload::EmulatedScatter, 32),
        ] {
            let sample = |lanes, units| run(workload, by, &[lanes], units).unwrap();
            assert_eq!(sample(32, of_round * 20).units, of_round * 20);
            assert_eq!(sample(32, of_round * 20 - 1).units, of_round * 20);
            assert_ne!(sample(32, 400).checksum, sample(7, 400).checksum);
        }
        assert!(run(Workload::EmulatedFloat, by, &[33], 1).is_err());
    }

    #[test]
    fn who_cannot_run_a_workload_says_so() {
        let refusal = run(Workload::Signals, Implementation::Limit, &[4, 4], 100);
        assert!(refusal.unwrap_err().contains("signals"));
        let sizes = run(Workload::Ring, Implementation::Limit, &[4], 100);
        assert!(sizes.unwrap_err().contains("[1024, 64]"));
        let nothing = run(Workload::Ring, Implementation::Limit, &[0, 1], 100);
        assert!(nothing.is_err());
    }
}
