//! Counts of the sharing among work-groups, which can be summed over launches.

/// Touches of lines, or of words, by the work-groups of launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reuses {
    /// Number of touches, first ones included.
    pub touches: u64,
    /// Reuses of what other work-groups touched before, but not the same one.
    pub inter: u64,
    /// Reuses of what the same work-group touched before.
    pub intra: u64,
    /// Reuses whose previous touch was by another work-group. They depend on the order.
    pub last_by_other: u64,
}

impl Reuses {
    /// Returns the fraction of all reuses that are inter, or `None` without reuses.
    pub fn inter_share(&self) -> Option<f64> {
        self.share(self.inter)
    }

    /// Returns the fraction of reuses whose previous touch was by another work-group.
    pub fn last_share(&self) -> Option<f64> {
        self.share(self.last_by_other)
    }

    fn share(&self, part: u64) -> Option<f64> {
        let all = self.inter + self.intra;
        (all > 0).then(|| part as f64 / all as f64)
    }

    fn add(&mut self, other: &Self) {
        self.touches += other.touches;
        self.inter += other.inter;
        self.intra += other.intra;
        self.last_by_other += other.last_by_other;
    }
}

/// Sharing among the work-groups of a launch, or summed over launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharingCounts {
    /// Number of accesses: wavefront instructions, or requests of a log.
    pub accesses: u64,
    /// Bytes asked for by the lanes of the accesses, for each access at most those of its lines.
    pub bytes_asked: u64,
    /// Bytes of the lines that the accesses touch, each line once per access.
    pub line_bytes_touched: u64,
    /// Touches of lines, each once per access.
    pub lines: Reuses,
    /// Touches of words of 4 bytes.
    pub words: Reuses,
    /// Lines that a work-group reads and another one writes or updates.
    pub contested_lines: u64,
}

impl SharingCounts {
    /// Adds the counts of another launch, whose work-groups are others.
    pub fn add(&mut self, other: &Self) {
        self.accesses += other.accesses;
        self.bytes_asked += other.bytes_asked;
        self.line_bytes_touched += other.line_bytes_touched;
        self.lines.add(&other.lines);
        self.words.add(&other.words);
        self.contested_lines += other.contested_lines;
    }

    /// Returns the coalescing degree, or `None` without accesses:
    ///
    /// ```text
    /// bytes asked / (lines touched × bytes of a line)
    /// ```
    pub fn coalescing(&self) -> Option<f64> {
        let all = self.line_bytes_touched;
        (all > 0).then(|| self.bytes_asked as f64 / all as f64)
    }
}
