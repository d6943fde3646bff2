//! Interface between a cache and its replacement policy, known or open.

/// Replacement order of the lines of each set.
pub(super) trait Order {
    /// Records a use of the line in this way.
    fn used(&mut self, set: usize, way: usize);

    /// Records that a line was installed in this way, replacing its previous content.
    fn installed(&mut self, set: usize, way: usize);

    /// Records that the line in this way was dropped; the way is now empty.
    fn removed(&mut self, _set: usize, _way: usize) {}

    /// Sets the number of ways in use per set; these are the first ones. Ways beyond are empty and
    /// must not be chosen.
    fn use_ways(&mut self, _ways: usize) {}

    /// Returns the victim way among those that may leave, if there is one.
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize>;
}
