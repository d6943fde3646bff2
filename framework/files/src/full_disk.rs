//! Simulated disk with limited space, for tests.

use std::cell::Cell;
use std::fmt::Debug;
use std::path::Path;
use std::{fs, io};

thread_local! {
    /// Bytes that this thread may still write; `None` for no limit other than the disk's.
    static ROOM: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs `work` as if the disk had space for only `bytes` more bytes. Writes of this thread into
/// [`Output`](crate::Output)s beyond that fail as on a full disk. For tests only, enforced by a
/// lint.
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

/// Maximum number of disk sizes [`check_full_disks`] tries, in addition to those of a few bytes.
const ROOMS: u64 = 100;

/// Runs `write`, which must always write the same file `path`, on disks with increasing space until
/// it succeeds. Checks that the previous contents remain until then, and never a partial file. For
/// tests.
///
/// # Panics
/// Panics if the file has any other contents.
#[expect(clippy::disallowed_methods, reason = "also used by tests")]
pub fn check_full_disks<E: Debug>(path: &Path, mut write: impl FnMut() -> Result<(), E>) {
    let folder = path.parent().expect("a file is in a folder");
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
        assert_eq!(
            names(),
            others,
            "a partial file is left with room for {room} bytes"
        );
        if written.is_ok() {
            assert!(
                found == whole,
                "a partial file is left with room for {room} bytes"
            );
            assert!(failed, "nothing was written");
            return;
        }
        failed = true;
        assert!(
            found == before,
            "the previous contents are lost with room for {room} bytes"
        );
        room += if room < 8 { 1 } else { step };
    }
}

/// Returns the number of the bytes that fit on the disk.
pub(crate) fn room_for(bytes: &[u8]) -> io::Result<usize> {
    let Some(room) = ROOM.get() else {
        return Ok(bytes.len());
    };
    match room.min(bytes.len() as u64) {
        0 if !bytes.is_empty() => Err(io::ErrorKind::StorageFull.into()),
        fits => Ok(fits as usize),
    }
}

/// Subtracts bytes that were written from the remaining space.
pub(crate) fn written(bytes: usize) {
    ROOM.set(ROOM.get().map(|room| room.saturating_sub(bytes as u64)));
}
