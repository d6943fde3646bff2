//! One run of one workload by one implementation, in this process.

use crate::workload::{Implementation, Sample, Workload};
use crate::{components, elaboration, limit, phold, signals};

/// Runs `workload` for about `units` units (items, for the pipe).
///
/// # Errors
/// Which implementation cannot run it, or which sizes it wants, as text.
pub(crate) fn run(
    workload: Workload,
    by: Implementation,
    sizes: &[u64],
    units: u64,
) -> Result<Sample, String> {
    let wanted = workload.sizes().len();
    if sizes.len() != wanted {
        let (name, given) = (workload.name(), sizes.len());
        return Err(format!(
            "{name} has {wanted} sizes and {given} are given\nhint: {name} has by default {:?}",
            workload.sizes()
        ));
    }
    let smallest = u64::from(workload != Workload::Elaboration);
    if units == 0 || sizes.iter().any(|size| *size < smallest) {
        return Err("nothing to simulate: lengths and sizes are at least 1".to_owned());
    }
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
        #[cfg(feature = "peers")]
        (W::Ring, I::Nexosim) => crate::nexosim_peer::ring(size(0), size(1), units)?,
        #[cfg(feature = "peers")]
        (W::Pipe, I::Nexosim) => crate::nexosim_peer::pipe(size(0), size(1), size(2), units)?,
        #[cfg(feature = "peers")]
        (W::Phold, I::Nexosim) => crate::nexosim_peer::phold(size(0), size(1), size(2), units)?,
        (_, I::Nexosim) if cfg!(not(feature = "peers")) => {
            return Err(format!(
                "this program is built without NeXosim\n{PEERS_HINT}"
            ));
        }
        _ => {
            let (name, by) = (workload.name(), by.name());
            return Err(format!("{name} is not written for {by} in this program"));
        }
    })
}

/// How to get the peers that are crates.
pub(crate) const PEERS_HINT: &str = "hint: cargo run --release -p warpweave-bench --features peers";
