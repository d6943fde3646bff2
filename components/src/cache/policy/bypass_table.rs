//! Decision table of bypass with copy-back: what is learned of an instruction and of a region, and
//! what follows for a line (BYP-M5).

use super::request_bits::{BYPASS_L2, EXCLUSIVE};
use super::tracking::Learned;

/// Decision about a line that missed in the first level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BypassDecision {
    /// True if the line gets a place in the first level.
    pub(super) insert: bool,
    /// Flags that the second level sees.
    pub(super) flags: u16,
}

/// Decides about a line. `reuse` tells of hits in the first level on lines of its instruction.
/// `region` tells of shared reuse (`a`) and private reuse (`b`) in its region. Each is `None` while
/// it is unknown.
pub(super) fn decide(reuse: Option<bool>, region: Option<Learned>) -> BypassDecision {
    let flags = match region {
        Some(Learned { a: false, b: true }) => EXCLUSIVE,
        Some(Learned { a: false, b: false }) => BYPASS_L2,
        Some(Learned { a: true, .. }) | None => 0,
    };
    BypassDecision {
        // A line of private reuse goes to the second level when it leaves the first.
        insert: reuse != Some(false) || flags == EXCLUSIVE,
        flags,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byp_m5_every_row_of_the_table_is_decided_as_it_says() {
        const N: Option<bool> = Some(false);
        const Y: Option<bool> = Some(true);
        const U: Option<bool> = None;
        let none = (true, 0);
        let bypass_first = (false, 0);
        let bypass_second = (true, BYPASS_L2);
        let bypass_both = (false, BYPASS_L2);
        let copy_back = (true, EXCLUSIVE);
        // Reuse in the first level, shared reuse, private reuse.
        let rows = [
            (N, N, N, bypass_both),
            (N, N, Y, copy_back),
            (N, Y, N, bypass_first),
            (N, Y, Y, bypass_first),
            (Y, N, N, bypass_second),
            (Y, N, Y, copy_back),
            (Y, Y, N, none),
            (Y, Y, Y, none),
            (N, U, U, bypass_first),
            (U, N, Y, copy_back),
            (U, N, N, bypass_second),
            (U, Y, N, none),
            (U, Y, Y, none),
            (Y, U, U, none),
            (U, U, U, none),
        ];
        for (reuse, shared, private, (insert, flags)) in rows {
            let region = shared.zip(private).map(|(a, b)| Learned { a, b });
            let decision = decide(reuse, region);
            let row = (reuse, shared, private);
            assert_eq!(decision, BypassDecision { insert, flags }, "{row:?}");
        }
    }
}
