//! A disk with little room, for tests.

use std::cell::Cell;
use std::io;

thread_local! {
    /// Bytes that this thread may still write; none: as many as the disk takes.
    static ROOM: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs `work` as on a disk with room for so many bytes more: what this thread writes into
/// [`Output`](crate::Output)s beyond them fails as on a full disk. For tests; a lint keeps it out of
/// everything else.
pub fn with_room<R>(bytes: u64, work: impl FnOnce() -> R) -> R {
    struct Before(Option<u64>);
    impl Drop for Before {
        fn drop(&mut self) {
            ROOM.set(self.0);
        }
    }
    let _before = Before(ROOM.replace(Some(bytes)));
    work()
}

/// How many of the bytes find room.
pub(crate) fn room_for(bytes: &[u8]) -> io::Result<usize> {
    let Some(room) = ROOM.get() else {
        return Ok(bytes.len());
    };
    match room.min(bytes.len() as u64) {
        0 if !bytes.is_empty() => Err(io::ErrorKind::StorageFull.into()),
        fits => Ok(fits as usize),
    }
}

/// Takes note of bytes that were written.
pub(crate) fn written(bytes: usize) {
    ROOM.set(ROOM.get().map(|room| room.saturating_sub(bytes as u64)));
}
