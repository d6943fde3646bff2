//! Mutates traces and tables. Nothing may panic or hang, and every error must name a position.

use proptest::prelude::*;
use warpweave_standalone::{Own, StandaloneError, cache, dram, environment, noc};

use super::Folder;

const REQUESTS: &str = "arrival,rw,address\n0,R,0\n0,R,4096\n9,W,64\n50,R,131072\n60,W,4096\n";
const PLACES: &str = "arrival,rw,bg,ba,row,col\n0,R,0,0,1,2\n4,W,1,2,1,2\n40,R,3,3,4095,63\n";
const SERVED: &str = "idx,accept,done\n0,0,27\n1,1,40\n2,9,-1\n";
const SUMMARY: &str = "trace,end_cycle,lat_mean,row_hit_rate\nt,160,31.25,0.5\n";
const COMMANDS: &str = "cycle,cmd,bg,ba,row,col\n1,ACT,0,0,1,\n13,RD,0,0,1,2\n40,PREA,,,,\n";
const PACKETS: &str = "create,src,dst,flits,inject,arrive\n0,2,0,5,0,10\n0,0,1,1,0,6\n3,1,1,2,4,\n";
const ACCESSES: &str = "rw,addr_hex\nR,0\nW,80\nR,0x1f84\nR,4\n";
const COUNTS: &str = "trace,policy,hits,misses,l2_hits\nt,LRU,1,3,\nt,LFU,,3,\n";
const BITS: &str = "trace,policy,hit_bits\nt,FIFO,0001\n";

const ESCAPE: char = '\u{1b}';

/// Single modification of a text file.
#[derive(Clone, Debug)]
enum Mutation {
    /// Replaces a byte range with the given bytes.
    Splice(usize, usize, Vec<u8>),
    /// Replaces the cell at the given position.
    Cell(usize, &'static str),
    /// Duplicates the line with this index.
    Again(usize),
    /// Truncates the text at this position.
    Cut(usize),
}

const CELLS: [&str; 22] = [
    "",
    "0",
    "-1",
    "1e9",
    "nan",
    "inf",
    "R",
    "W",
    "Q",
    "\"",
    "\"\"",
    "t",
    "../t",
    "0x",
    "ffffffffffffffff",
    "18446744073709551615",
    "4611686018427387904",
    "4611686018427387905",
    "4294967295",
    "4294967296",
    "65536",
    "\u{1b}[31m",
];

fn mutation() -> impl Strategy<Value = Mutation> {
    let bytes = prop::collection::vec(any::<u8>(), 0..4);
    prop_oneof![
        (any::<usize>(), 0..4usize, bytes).prop_map(|(at, n, with)| Mutation::Splice(at, n, with)),
        (any::<usize>(), prop::sample::select(&CELLS[..]))
            .prop_map(|(at, c)| Mutation::Cell(at, c)),
        any::<usize>().prop_map(Mutation::Again),
        any::<usize>().prop_map(Mutation::Cut),
    ]
}

fn mutated(text: &str, mutations: &[Mutation]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for mutation in mutations {
        let length = bytes.len();
        match mutation {
            Mutation::Splice(at, n, with) => {
                let from = at % (length + 1);
                bytes.splice(from..(from + n).min(length), with.iter().copied());
            }
            Mutation::Cell(at, cell) => {
                let from = at % (length + 1);
                let ends = |byte: &u8| matches!(byte, b',' | b'\n');
                let start = bytes[..from].iter().rposition(ends).map_or(0, |at| at + 1);
                let end = bytes[from..]
                    .iter()
                    .position(ends)
                    .map_or(length, |n| from + n);
                bytes.splice(start..end, cell.bytes());
            }
            Mutation::Again(at) => {
                let lines: Vec<_> = bytes.split_inclusive(|b| *b == b'\n').collect();
                if let Some(line) = lines.get(at % lines.len().max(1)) {
                    let line = line.to_vec();
                    bytes.extend(line);
                }
            }
            Mutation::Cut(at) => bytes.truncate(at % (length + 1)),
        }
    }
    bytes
}

/// True if an error gives a position: a line of a file, a file, or a request that names one.
fn has_a_place(error: &StandaloneError) -> bool {
    match error {
        StandaloneError::OverBudget(error) => panic!("nothing limits the memory: {error}"),
        StandaloneError::Line { path, line, .. } => *line > 0 && path.exists(),
        StandaloneError::File { path, .. } => !path.as_os_str().is_empty(),
        StandaloneError::Description(_) | StandaloneError::Specification(_) => false,
        StandaloneError::Request(text) => text.contains(".csv") || text.contains('`'),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn mutated_traces_are_served_or_refused_at_their_place(
        kind in 0..5usize,
        mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        let folder = Folder::new();
        let text = [REQUESTS, PLACES, COMMANDS, PACKETS, ACCESSES][kind];
        let path = folder.path("t.csv");
        std::fs::write(&path, mutated(text, &mutations)).unwrap();
        let setup = dram::load("A").unwrap();
        let result = match kind {
            0 | 1 => dram::read_requests(&path).and_then(|trace| {
                let run = dram::drive(&setup, &trace.rows, kind == 1, &environment());
                run.map(drop).map_err(|e| trace.refused(e))
            }),
            2 => dram::judge(&setup, &path).map(drop),
            3 => noc::read_packets(&path).and_then(|packets| {
                noc::bench("fifo_s1", &packets, None, None, &environment()).map(drop)
            }),
            _ => cache::read_trace(&path).map(drop),
        };
        if let Err(error) = result {
            prop_assert!(has_a_place(&error), "{error}");
            prop_assert!(error.to_string().len() < 4000);
            prop_assert!(!error.to_string().contains(ESCAPE), "{error}");
        }
    }

    #[test]
    fn mutated_reference_tables_are_compared_or_refused_at_their_place(
        kind in 0..7usize,
        mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        let folder = Folder::new();
        let tables = [
            [("traces/t.csv", REQUESTS), ("per_request/t.csv", SERVED), ("summary.csv", SUMMARY)],
            [("list.csv", PACKETS), ("list.csv", PACKETS), ("list.csv", PACKETS)],
            [("t.trace.csv", ACCESSES), ("summary.csv", COUNTS), ("hitbits.csv", BITS)],
        ];
        let (of, which) = ([0, 0, 0, 1, 2, 2, 2][kind], [0, 1, 2, 0, 0, 1, 2][kind]);
        for (number, (name, text)) in tables[of].into_iter().enumerate() {
            let path = folder.write(name, text);
            if number == which || of == 1 {
                std::fs::write(path, mutated(text, &mutations)).unwrap();
            }
        }
        let environment = environment();
        let preset = ["A", "gpgpusim_s2", "L1_16k_4w+L2_128k_16w"][of];
        let own = Own { preset, within: None, environment: &environment };
        let result = match of {
            0 => dram::validate_own(folder.root(), &own),
            1 => noc::validate_own(folder.root(), &own),
            _ => cache::validate_own(folder.root(), &own),
        };
        match result {
            Ok(comparison) => {
                let text = comparison.text();
                prop_assert!(!text.contains(ESCAPE), "{text}");
            }
            Err(error) => {
                prop_assert!(has_a_place(&error), "{error}");
                prop_assert!(!error.to_string().contains(ESCAPE), "{error}");
            }
        }
    }
}
