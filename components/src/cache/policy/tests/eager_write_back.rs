//! Dirty lines that are written back while they stay.

use super::*;

/// A set of four ways in which this many lines may stay dirty.
fn keeping(dirty_lines: u32) -> Rig {
    let spec = CacheSpec {
        ways: 4,
        write: WritePolicy::WriteBack {
            partial: PartialWrite::WordMask,
        },
        policies: vec![Policy::of::<EagerWriteBack>(&EagerWriteBackSpec {
            dirty_lines,
        })],
        ..l1()
    };
    Rig::new(Cache::new(spec).unwrap())
}

impl Rig {
    /// Stores a word of a line, and returns the lines that were copied back.
    fn store(&mut self, line: u64) -> Vec<u64> {
        self.request.send(MemRequest::write(1, line, 0b1));
        self.bench.receive(&self.response);
        self.bench.step(20);
        let below = self.below.take_all().into_iter();
        below.map(|(_, request)| request.line).collect()
    }
}

#[test]
fn a_dirty_line_is_written_back_when_enough_others_were_used_after_it() {
    let mut rig = keeping(2);
    assert!(rig.store(0).is_empty());
    assert!(rig.store(128).is_empty());
    assert_eq!(rig.store(256), [0]);
    // A store makes it the most recently used one again, so 128 falls behind.
    assert_eq!(rig.store(0), [128]);
    assert_eq!(rig.count("eager_write_backs"), 2);
    assert_eq!(rig.count("copy_backs"), 2);
    assert_eq!(rig.read(128, 0), (Level::L1, 0), "it stays");
}

#[test]
fn reads_push_dirty_lines_behind_too() {
    let mut rig = keeping(1);
    assert!(rig.store(0).is_empty());
    rig.request.send(MemRequest::read(7, 128, 1));
    let (_, fetch) = rig.bench.receive(&rig.below);
    assert_eq!((fetch.line, fetch.kind), (128, RequestKind::Read));
    rig.answer.send(fetch.answer(Level::L2));
    rig.bench.receive(&rig.response);
    let (_, copied) = rig.bench.receive(&rig.below);
    assert_eq!((copied.line, copied.kind), (0, RequestKind::CopyBack));
}

#[test]
fn a_line_that_was_written_back_is_replaced_without_a_second_copy() {
    let mut rig = keeping(1);
    let copied: Vec<_> = (0..6).flat_map(|n| rig.store(128 * n)).collect();
    assert_eq!(copied, [0, 128, 256, 384, 512]);
    assert_eq!(rig.count("copy_backs"), 5);
}

#[test]
fn with_as_many_dirty_lines_as_ways_only_victims_are_copied_back() {
    let mut rig = keeping(4);
    let copied: Vec<_> = (0..6).flat_map(|n| rig.store(128 * n)).collect();
    assert_eq!(copied, [0, 128]);
    assert_eq!(rig.count("eager_write_backs"), 0);
}
