//! Sets of bytes as sorted runs that do not touch.

use crate::cause::Cause;

/// Runs that a set may have.
pub(crate) const RUNS_MAX: usize = 1 << 18;

/// Bytes as ranges [start, end), ascending and apart.
pub type Runs = Vec<(i128, i128)>;

/// Sorts ranges and joins those that touch.
pub(crate) fn merged(mut ranges: Runs) -> Runs {
    ranges.sort_unstable();
    let mut runs = Runs::with_capacity(ranges.len().min(64));
    for (start, end) in ranges {
        match runs.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => runs.push((start, end)),
        }
    }
    runs
}

/// Returns the runs repeated `count` times, each moved by `step` from the one before.
pub(crate) fn repeated(runs: &Runs, step: i128, count: i128) -> Result<Runs, Cause> {
    if count <= 0 {
        return Ok(Runs::new());
    }
    let too_many = Cause::Ranges { max: RUNS_MAX };
    let span = step
        .checked_mul(count - 1)
        .ok_or_else(|| too_many.clone())?;
    if let &[(start, end)] = &runs[..]
        && step.abs() <= end - start
    {
        return Ok(vec![(start + span.min(0), end + span.max(0))]);
    }
    if count.saturating_mul(runs.len() as i128) > RUNS_MAX as i128 {
        return Err(too_many);
    }
    let mut all = Runs::with_capacity(runs.len() * count as usize);
    for at in 0..count {
        all.extend(runs.iter().map(|&(a, b)| (a + at * step, b + at * step)));
    }
    Ok(merged(all))
}

/// True if one run holds the whole range.
pub(crate) fn holds(runs: &Runs, start: i128, end: i128) -> bool {
    let after = runs.partition_point(|&(first, _)| first <= start);
    after.checked_sub(1).is_some_and(|at| runs[at].1 >= end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_runs_become_one_and_a_stride_within_a_run_widens_it() {
        assert_eq!(
            merged(vec![(8, 12), (0, 4), (4, 8), (20, 24)]),
            [(0, 12), (20, 24)]
        );
        assert_eq!(repeated(&vec![(0, 4)], 4, 16), Ok(vec![(0, 64)]));
        assert_eq!(repeated(&vec![(0, 4)], -4, 3), Ok(vec![(-8, 4)]));
        assert_eq!(
            repeated(&vec![(0, 4)], 8, 3),
            Ok(vec![(0, 4), (8, 12), (16, 20)])
        );
        assert!(repeated(&vec![(0, 4)], 8, 1 << 40).is_err());
        assert!(holds(&vec![(0, 4), (8, 12)], 8, 12) && !holds(&vec![(0, 4), (8, 12)], 3, 9));
    }
}
