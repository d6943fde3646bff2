//! Round-trip and corruption tests for access logs.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use warpweave_accesses::{AccessLog, AccessLogWriter, Head, Kind, Port, Record};
use warpweave_files::{Budget, Ledger, check_full_disks};
use warpweave_trace::Parent;

fn head() -> Head {
    let port = |address: &str, tap: &str| Port {
        address: address.to_owned(),
        tap: tap.to_owned(),
    };
    Head {
        program: "two kernels".to_owned(),
        trace_hash: "0123".to_owned(),
        core_period: 5,
        core_cycle_s: 1e-9,
        kernels: vec!["first".to_owned(), "second".to_owned()],
        parents: vec![
            None,
            Some(Parent {
                kernel: 0,
                work_group: 3,
                wavefront: 1,
                record: 2,
                lane: 31,
                stream: 9,
            }),
        ],
        ports: vec![port("unit[0].l1.up", "l1"), port("unit[1].l1.up", "l1")],
    }
}

fn write(path: &Path, records: &[Record]) {
    let mut writer = AccessLogWriter::create(path, head()).expect("the folder can be written");
    for record in records {
        writer.push(*record).expect("there is room");
    }
    assert_eq!(
        writer.finish().expect("there is room"),
        records.len() as u64
    );
}

fn read(path: &Path, from: u64) -> Vec<Record> {
    let mut log = AccessLog::open(path, &Ledger::default()).expect("it was written");
    let records = log.records_from(from).map(|record| record.expect("sound"));
    records.collect()
}

prop_compose! {
    fn record()(
        step in 0_u64..4,
        port in 0_u32..2,
        (kernel, work_group, pc) in any::<(u32, u32, u32)>(),
        (compute_unit, wavefront_slot) in any::<(u16, u8)>(),
        kind in 0_usize..5,
        (line, words) in any::<(u64, u32)>(),
    ) -> Record {
        let kind = Kind::ALL[kind];
        Record { tick: step, port, kernel, work_group, compute_unit, wavefront_slot, pc, kind, line, words }
    }
}

fn in_order(mut records: Vec<Record>) -> Vec<Record> {
    let mut tick = 0;
    for record in &mut records {
        tick += record.tick;
        record.tick = tick;
    }
    records
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(records in proptest::collection::vec(record(), 0..300), from in 0_u64..600) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.wwa");
        let records = in_order(records);
        write(&path, &records);
        prop_assert_eq!(&read(&path, 0), &records);
        let later: Vec<_> = records.iter().copied().filter(|r| r.tick >= from).collect();
        prop_assert_eq!(read(&path, from), later);
    }
}

fn long() -> Vec<Record> {
    let record = |n: u32| Record {
        tick: u64::from(n / 3),
        port: n % 2,
        kernel: 0,
        work_group: n / 100,
        compute_unit: (n % 15) as u16,
        wavefront_slot: (n % 48) as u8,
        pc: n % 7,
        kind: Kind::ALL[n as usize % 5],
        line: u64::from(n % 1000) * 128,
        words: 1 << (n % 32),
    };
    (0..150_000).map(record).collect()
}

#[test]
fn a_log_of_several_chunks_is_read_from_any_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.wwa");
    let records = long();
    write(&path, &records);
    for from in [0, 1, 21_845, 21_846, 43_690, 43_691, 49_999, 50_000] {
        let later: Vec<_> = records.iter().filter(|r| r.tick >= from).copied().collect();
        assert_eq!(read(&path, from), later, "{from}");
    }
    let mut log = AccessLog::open(&path, &Ledger::default()).unwrap();
    assert_eq!((log.len(), log.head()), (150_000, &head()));
    assert!(log.records().all(|record| record.is_ok()));
}

#[test]
fn every_damaged_byte_and_every_cut_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.wwa");
    write(&path, &long()[..500]);
    let whole = fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        match AccessLog::open(&path, &Ledger::default()) {
            Ok(mut log) => log.records().any(|record| record.is_err()),
            Err(error) => {
                assert!(error.to_string().contains("offset"), "{error}");
                true
            }
        }
    };
    assert!(!refused(&whole));
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(refused(&damaged), "byte {at}");
        assert!(refused(&whole[..at]), "the first {at} bytes");
    }
}

#[test]
fn a_log_takes_no_more_memory_than_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.wwa");
    write(&path, &long());
    let little = Ledger::new(&Budget::of(1 << 16));
    let mut log = AccessLog::open(&path, &little).unwrap();
    let refused = log
        .records()
        .find_map(Result::err)
        .expect("a chunk is larger");
    assert!(refused.is_over_budget(), "{refused}");
    // One chunk at a time.
    let enough = Ledger::new(&Budget::of(16 << 20));
    let mut log = AccessLog::open(&path, &enough).unwrap();
    assert_eq!(log.records().flatten().count(), 150_000);
}

#[test]
fn a_full_disk_leaves_no_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.wwa");
    let records = &long()[..2000];
    check_full_disks(&path, || {
        let mut writer = AccessLogWriter::create(&path, head())?;
        for record in records {
            writer.push(*record)?;
        }
        writer.finish().map(drop)
    });
}
