//! A disk with little room, for tests.

use std::cell::Cell;
use std::fmt::Debug;
use std::path::Path;
use std::{fs, io};

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

/// Rooms that [`check_full_disks`] tries at most, beside those for a few bytes.
const ROOMS: u64 = 100;

/// Checks what `write`, which writes the file `path` and always the same, leaves behind on disks with
/// more and more room, up to the first on which it ends well: what was there before until then, and
/// never a part. For tests.
///
/// # Panics
/// When anything else is there.
pub fn check_full_disks<E: Debug>(path: &Path, mut write: impl FnMut() -> Result<(), E>) {
    let folder = path.parent().expect("a file lies in a folder");
    let names = || fs::read_dir(folder).expect("a folder").count();
    write().expect("there is room");
    let whole = fs::read(path).expect("a file");
    let step = (whole.len() as u64 / ROOMS).max(1);
    let before = b"what was there before";
    fs::write(path, before).expect("there is room");
    let others = names();
    let mut failed = false;
    let mut room = 0;
    loop {
        let written = with_room(room, &mut write);
        let found = fs::read(path).expect("a file");
        assert_eq!(names(), others, "a partial file is left after {room} bytes");
        if written.is_ok() {
            assert!(found == whole, "a part is left after {room} bytes");
            assert!(failed, "nothing was written");
            return;
        }
        failed = true;
        assert!(found == before, "what was there is gone after {room} bytes");
        room += if room < 8 { 1 } else { step };
    }
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
