//! Footprints: the lines that a unit touches, with touch counts.

/// Touched lines in ascending order, each with its number of touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    lines: Vec<(u32, u32)>,
    /// Total number of touches of all lines.
    pub(crate) accesses: u64,
}

impl Footprint {
    /// Builds a footprint from touches in any order.
    pub(crate) fn of(mut touches: Vec<u32>) -> Self {
        touches.sort_unstable();
        let mut lines: Vec<(u32, u32)> = Vec::new();
        for line in &touches {
            match lines.last_mut() {
                Some((last, count)) if last == line => *count += 1,
                _ => lines.push((*line, 1)),
            }
        }
        lines.shrink_to_fit();
        Self {
            lines,
            accesses: touches.len() as u64,
        }
    }

    /// Returns the union of several footprints, with touch counts added.
    pub(crate) fn union<'f>(parts: impl IntoIterator<Item = &'f Self>) -> Self {
        let parts = parts.into_iter().flat_map(|part| &part.lines).copied();
        let mut all: Vec<(u32, u32)> = parts.collect();
        all.sort_unstable_by_key(|(line, _)| *line);
        let mut union = Self::default();
        for (line, count) in all {
            union.accesses += u64::from(count);
            match union.lines.last_mut() {
                Some((last, sum)) if *last == line => *sum += count,
                _ => union.lines.push((line, count)),
            }
        }
        union
    }

    pub(crate) fn lines(&self) -> &[(u32, u32)] {
        &self.lines
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(crate) fn has(&self, line: u32) -> bool {
        let found = self.lines.binary_search_by_key(&line, |(line, _)| *line);
        found.is_ok()
    }

    /// Returns the number of touches of lines that the same unit touched before.
    pub(crate) fn again(&self) -> u64 {
        self.accesses - self.lines.len() as u64
    }

    /// Returns the number of touches of lines that `other` also touches.
    pub(crate) fn shared_with(&self, other: &Self) -> u64 {
        let (mut a, mut b) = (self.lines.iter().peekable(), other.lines.iter().peekable());
        let mut shared = 0;
        while let (Some((mine, count)), Some((theirs, _))) = (a.peek(), b.peek()) {
            match mine.cmp(theirs) {
                std::cmp::Ordering::Less => drop(a.next()),
                std::cmp::Ordering::Greater => drop(b.next()),
                std::cmp::Ordering::Equal => {
                    shared += u64::from(*count);
                    a.next();
                    b.next();
                }
            }
        }
        shared
    }
}
