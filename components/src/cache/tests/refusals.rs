//! Tests of rejected specifications, with the field at fault.

use super::*;
use crate::cache::replacement::PseudoLru;

#[test]
fn specifications_are_refused_with_the_field_at_fault() {
    let cases = [
        (
            CacheSpec {
                line_bytes: 96,
                ..l1()
            },
            "line_bytes",
        ),
        (
            CacheSpec {
                size_bytes: 500,
                ..l1()
            },
            "size_bytes",
        ),
        (
            CacheSpec {
                size_bytes: 0,
                ..l1()
            },
            "size_bytes",
        ),
        (CacheSpec { ways: 0, ..l1() }, "ways"),
        (
            CacheSpec {
                mshr_entries: 0,
                ..l1()
            },
            "mshr_entries",
        ),
        (
            CacheSpec {
                miss_queue_entries: 1,
                ..l1()
            },
            "miss_queue_entries",
        ),
        (
            CacheSpec {
                mshr_entries: 1 << 20,
                mshr_merges: 1 << 20,
                ..l1()
            },
            "mshr_merges",
        ),
        (
            CacheSpec {
                pass_entries: 1 << 20,
                ..l1()
            },
            "pass_entries",
        ),
        (
            CacheSpec {
                size_bytes: 1 << 31,
                line_bytes: 4,
                ways: 1,
                ..l1()
            },
            "size_bytes",
        ),
        (
            CacheSpec {
                interleave: Some(crate::interleave::Interleave::in_turn(64, 2)),
                ..l1()
            },
            "interleave.granule_bytes",
        ),
    ];
    for (spec, field) in cases {
        let error = Cache::new(spec).err().expect("the value is out of range");
        assert_eq!(error.field, field, "{error}");
    }
}

#[test]
fn features_that_do_not_go_together_are_refused_by_field() {
    let partitions = Some(Partitions {
        count: 2,
        by: PartitionBy::WorkGroup,
    });
    let back = WritePolicy::WriteBack {
        partial: PartialWrite::WordMask,
    };
    let cases = [
        (
            "partitions",
            CacheSpec {
                partitions,
                write: back,
                ..l1()
            },
        ),
        (
            "partitions",
            CacheSpec {
                partitions,
                level: CacheLevel::L2,
                ..l1()
            },
        ),
        (
            "sector_bytes",
            CacheSpec {
                sector_bytes: Some(256),
                ..l1()
            },
        ),
        (
            "below_line_bytes",
            CacheSpec {
                below_line_bytes: Some(24),
                ..l1()
            },
        ),
        (
            "cut",
            CacheSpec {
                cut: Cut::Below,
                ..l1()
            },
        ),
        (
            "cut",
            CacheSpec {
                cut: Cut::Below,
                below_line_bytes: Some(32),
                sector_bytes: Some(32),
                ..l1()
            },
        ),
        (
            "above_line_bytes",
            CacheSpec {
                above_line_bytes: Some(64),
                ..l1()
            },
        ),
        (
            "miss_queue_entries",
            CacheSpec {
                below_line_bytes: Some(32),
                ..l1()
            },
        ),
        (
            "write_allocate",
            CacheSpec {
                write_allocate: Some(true),
                ..l1()
            },
        ),
        (
            "set_hash",
            CacheSpec {
                set_hash: SetHash::Xor,
                size_bytes: 768,
                ..l1()
            },
        ),
    ];
    for (field, spec) in cases {
        let error = Cache::new(spec).err().expect(field);
        assert_eq!(error.field, field, "{}", error.message);
    }
    let three = CacheSpec {
        size_bytes: 768,
        ways: 3,
        replacement: Policy::plain::<PseudoLru>(),
        ..l1()
    };
    assert_eq!(
        Cache::new(three).err().expect("three ways").field,
        "replacement"
    );
}
