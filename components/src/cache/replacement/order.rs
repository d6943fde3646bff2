//! What a cache asks of a replacement policy, known or not.

/// The order in which the lines of each set leave.
pub(super) trait Order {
    /// The line in this way was used.
    fn used(&mut self, set: usize, way: usize);

    /// A line was put into this way, in place of what was there.
    fn installed(&mut self, set: usize, way: usize);

    /// The line in this way was dropped; the way is empty.
    fn removed(&mut self, _set: usize, _way: usize) {}

    /// So many ways of each set are in use from here on, the first ones. Those beyond hold nothing, and may not leave.
    fn use_ways(&mut self, _ways: usize) {}

    /// The way whose line leaves next among those that may, if any may.
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize>;
}
