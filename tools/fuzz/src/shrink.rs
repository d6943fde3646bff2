//! Shrinks a failing input. It removes lines, then tokens, then bytes, as long as the input fails
//! in the same way.

use crate::case::Case;
use crate::mutate::tokens;
use crate::verdict::{Fault, Verdict};

/// Returns the smallest input found that fails like `case`, after at most `tries` attempts.
pub(crate) fn shrunk(
    case: &Case,
    fault: &Fault,
    mut tries: usize,
    mut verdict: impl FnMut(&Case) -> Verdict,
) -> Case {
    let mut best = case.clone();
    let cause = fault.cause();
    let mut still_fails = |bytes: Vec<u8>, best: &mut Case| {
        if tries == 0 {
            return false;
        }
        tries -= 1;
        let candidate = Case {
            bytes,
            ..best.clone()
        };
        let fails = matches!(verdict(&candidate), Err(fault) if fault.cause() == cause);
        if fails {
            *best = candidate;
        }
        fails
    };
    for cut in [lines, tokens, single] {
        let mut length = cut(&best.bytes).len().div_ceil(2);
        while length > 0 {
            let mut from = 0;
            loop {
                let pieces = cut(&best.bytes);
                if from >= pieces.len() {
                    break;
                }
                let until = (from + length).min(pieces.len());
                let (start, end) = (pieces[from].0, pieces[until - 1].1);
                let bytes = [&best.bytes[..start], &best.bytes[end..]].concat();
                if !still_fails(bytes, &mut best) {
                    from = until;
                }
            }
            length /= 2;
        }
    }
    best
}

fn lines(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut at = 0;
    let pieces = bytes.split_inclusive(|byte| *byte == b'\n');
    pieces
        .map(|line| {
            at += line.len();
            (at - line.len(), at)
        })
        .collect()
}

fn single(bytes: &[u8]) -> Vec<(usize, usize)> {
    (0..bytes.len()).map(|at| (at, at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;
    use crate::verdict::{FaultKind, InputOutcome};

    #[test]
    fn what_is_not_needed_for_the_failure_goes() {
        let case = Case {
            kind: Kind::Ptx,
            number: 0,
            file: "x",
            bytes: b"one\ntwo bad three\nfour\n".to_vec(),
            way: 0,
        };
        let fault = Fault::new(FaultKind::Panic, "bad");
        let small = shrunk(&case, &fault, 1000, |case| {
            if case.bytes.windows(3).any(|w| w == b"bad") {
                Err(fault.clone())
            } else {
                Ok(InputOutcome::Accepted)
            }
        });
        assert_eq!(small.bytes, b"bad");
    }
}
