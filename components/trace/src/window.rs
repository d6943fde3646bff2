//! Windows through which streams are read. Each advances with its reader.

use std::sync::Arc;

/// Bytes at the end of a window in which no token begins. The longest token is shorter.
pub(crate) const TOKEN_MAX: u64 = 512;

/// Part of a stream held in memory.
#[derive(Debug)]
pub(crate) struct Window {
    /// Number of bytes of the stream before the window.
    pub(crate) first: u64,
    /// Position in the stream from which tokens may extend past the window.
    pub(crate) end: u64,
    /// Bytes of the window, from index `from` on, including the padding.
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) from: usize,
}

/// Windows of one stream, one for each reader up to a limit.
#[derive(Debug, Default)]
pub(crate) struct Windows(Vec<Window>);

/// Maximum number of windows per stream.
const WINDOWS_MAX: usize = 8;

impl Windows {
    /// Returns the window that contains the token at a position of the stream.
    #[inline]
    pub(crate) fn at(
        &mut self,
        position: u64,
        load: impl FnOnce(u64) -> Option<Window>,
    ) -> Option<&Window> {
        let holds = |window: &Window| (window.first..window.end).contains(&position);
        let place = self.0.iter().position(holds);
        if place.is_none() {
            let window = load(position)?;
            self.leave(position);
            if self.0.len() == WINDOWS_MAX {
                self.0.remove(0);
            }
            self.0.push(window);
        }
        // The last one is the one that was loaded.
        place.map_or_else(|| self.0.last(), |place| self.0.get(place))
    }

    /// Drops the window that ends at this position, because a reader has passed it.
    pub(crate) fn leave(&mut self, position: u64) {
        let left = |window: &Window| window.end <= position && position < window.end + TOKEN_MAX;
        self.0.retain(|window| !left(window));
        if self.0.is_empty() {
            self.0 = Vec::new();
        }
    }
}
