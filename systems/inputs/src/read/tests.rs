//! Tests of both formats through the public entry point: well-formed, malformed and hostile files.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use warpweave_files::Ledger;
use warpweave_params::Files;

use super::*;
use crate::write::{write_edge_list, write_matrix_market};

const KEEP: EntryValues = EntryValues::Weights;
const DROP: EntryValues = EntryValues::Ignored;

fn market(text: &str) -> Result<Csr, InputError> {
    parse_graph("g.mtx", text.as_bytes(), GraphFormat::MatrixMarket, KEEP)
}

fn edges(text: &str) -> Result<Csr, InputError> {
    parse_graph("g.txt", text.as_bytes(), GraphFormat::EdgeList, KEEP)
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_graph() {
    let text = "0 1\n1 0\n";
    assert_eq!(
        edges(&format!("\u{feff}{text}")).unwrap(),
        edges(text).unwrap()
    );
    let text = "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n";
    assert_eq!(
        market(&format!("\u{feff}{text}")).unwrap(),
        market(text).unwrap()
    );
}

fn message(result: Result<Csr, InputError>) -> String {
    result.expect_err("the text is wrong").to_string()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const PATTERN: &str = "%%MatrixMarket matrix coordinate pattern general\n";

#[test]
fn general_entries_are_arcs_from_row_to_column() {
    let graph = market(&format!(
        "{PATTERN}% a comment\n\n3 3 3\n1 2\n 3\t1 \r\n% late\n1 3"
    ))
    .unwrap();
    assert_eq!(
        graph,
        Csr::from_arcs(3, &[(0, 1), (0, 2), (2, 0)], None).unwrap()
    );
}

#[test]
fn symmetric_entries_are_mirrored_except_loops() {
    let text = "%%matrixmarket Matrix Coordinate INTEGER Symmetric\n3 3 3\n2 1 7\n3 3 5\n3 1 9\n";
    let arcs = [(0, 1), (1, 0), (2, 2), (2, 0), (0, 2)];
    let expected = Csr::from_arcs(3, &arcs, Some(&[7, 7, 5, 9, 9])).unwrap();
    assert_eq!(market(text).unwrap(), expected);
}

#[test]
fn repeated_entries_become_parallel_arcs() {
    let graph = market(&format!("{PATTERN}2 2 2\n1 2\n1 2\n")).unwrap();
    assert_eq!(graph.neighbours(0), [1, 1]);
    assert_eq!(edges("0 1\n0 1\n").unwrap().neighbours(0), [1, 1]);
}

#[test]
fn real_values_are_weights_if_whole_and_can_be_ignored() {
    let text = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 3.0\n2 1 4e2\n";
    assert_eq!(market(text).unwrap().weights(), Some(&[3, 400][..]));
    let text = text.replace("3.0", "-0.25");
    let bare = parse_graph("g", text.as_bytes(), GraphFormat::MatrixMarket, DROP).unwrap();
    assert_eq!((bare.arcs(), bare.weights()), (2, None));
    assert_eq!(bare.unusable_weights(), None);
    let text = text.replace("-0.25", "x");
    for values in [KEEP, DROP] {
        let result = parse_graph("g", text.as_bytes(), GraphFormat::MatrixMarket, values);
        assert_eq!(message(result), "g:3:5: expected a number, found \"x\"");
    }
}

/// Each line: the text after the banner's first words, and why its numbers are no weights.
#[test]
fn a_graph_with_numbers_that_are_no_weights_says_why_to_who_needs_them() {
    let whole = "expected a whole weight from 0 to 4294967295";
    let cases = [
        (
            "real general\n2 2 2\n1 2 3.0\n2 1 -0.25\n",
            format!("g.mtx:4:5: {whole}, found \"-0.25\""),
        ),
        (
            "integer symmetric\n2 2 2\n1 1 -7\n2 1 0.5\n",
            format!("g.mtx:3:5: {whole}, found \"-7\""),
        ),
        (
            "complex hermitian\n2 2 2\n1 1 1 0\n2 1 0.5 -2\n",
            "the numbers of g.mtx are complex".to_owned(),
        ),
        (
            "real skew-symmetric\n2 2 1\n2 1 1\n",
            "g.mtx is skew-symmetric, and weights have no sign".to_owned(),
        ),
    ];
    for (text, reason) in cases {
        let graph = market(&format!("%%MatrixMarket matrix coordinate {text}")).unwrap();
        assert_eq!(graph.weights(), None, "{text}");
        assert_eq!(graph.unusable_weights(), Some(reason.as_str()), "{text}");
        assert_eq!(graph.neighbours(1), [0], "{text}");
    }
    let graph = edges("0 1 5\n1 0 0.5\n1 1 6\n").unwrap();
    assert_eq!((graph.arcs(), graph.weights()), (3, None));
    assert_eq!(
        graph.unusable_weights(),
        Some(format!("g.txt:2:5: {whole}, found \"0.5\"").as_str())
    );
}

#[test]
fn edge_lists_count_from_zero() {
    let graph = edges("# a comment\n% another\n\n0 2\n  3\t0\n").unwrap();
    assert_eq!(graph, Csr::from_arcs(4, &[(0, 2), (3, 0)], None).unwrap());
    let graph = edges("0 2 5\n1 0 6\n").unwrap();
    assert_eq!(
        graph,
        Csr::from_arcs(3, &[(0, 2), (1, 0)], Some(&[5, 6])).unwrap()
    );
    let bare = parse_graph("g", &b"0 2 0.5\n1 0 -6\n"[..], GraphFormat::EdgeList, DROP).unwrap();
    assert_eq!(bare, Csr::from_arcs(3, &[(0, 2), (1, 0)], None).unwrap());
    assert_eq!(edges("").unwrap().vertices(), 0);
}

/// Each line: the text after the banner, and the reader's message.
#[test]
fn matrix_market_mistakes_are_named_with_their_place() {
    let cases = [
        (
            "",
            "2:1: expected the size line `rows columns entries`, found the end of the file",
        ),
        (
            "3 3\n",
            "2:4: expected a number of entries from 0 to 268435456, found the end of the line",
        ),
        (
            "3 4 1\n",
            "2:3: expected as many columns as rows (only a square matrix is a graph): 3, found \"4\"",
        ),
        (
            "3 3 1 1\n",
            "2:7: expected the end of the line, found \"1\"",
        ),
        (
            "-3 3 1\n",
            "2:1: expected a number of rows from 0 to 67108864, found \"-3\"",
        ),
        (
            "3 3 2\n1 2\n",
            "4:1: expected entry 2 of the 2 given by the size line, found the end of the file",
        ),
        (
            "3 3 1\n1 2\n2 3\n",
            "4:1: expected the end of the file after 1 entries, found \"2 3\"",
        ),
        (
            "3 3 1\n1 4\n",
            "3:3: expected a column from 1 to 3, found \"4\"",
        ),
        (
            "3 3 1\n0 1\n",
            "3:1: expected a row from 1 to 3, found \"0\"",
        ),
        (
            "3 3 1\none 1\n",
            "3:1: expected a row from 1 to 3, found \"one\"",
        ),
        (
            "3 3 1\n1 2 3\n",
            "3:5: expected the end of the line, found \"3\"",
        ),
        (
            "3 3 1\n1\n",
            "3:2: expected a column from 1 to 3, found the end of the line",
        ),
        (
            "0 0 1\n1 1\n",
            "3:1: expected no entry, because the matrix has no place for one, found \"1\"",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(
            message(market(&format!("{PATTERN}{text}"))),
            format!("g.mtx:{expected}")
        );
    }
}

#[test]
fn banner_mistakes_are_named_with_their_place() {
    let cases = [
        (
            "",
            "1:1: expected `%%MatrixMarket matrix <coordinate|array> <field> <symmetry>`, found the end of the file",
        ),
        (
            "1 2\n",
            "1:1: expected `%%MatrixMarket matrix <coordinate|array> <field> <symmetry>`, found \"1 2\"",
        ),
        (
            "%%MatrixMarket matrix array real general\n",
            "1:23: expected `coordinate` (a dense `array` is not a graph), found \"array\"",
        ),
        (
            "%%MatrixMarket matrix coordinate quaternion general\n",
            "1:34: expected `pattern`, `integer`, `real` or `complex`, found \"quaternion\"",
        ),
        (
            "%%MatrixMarket matrix coordinate real hermitian\n",
            "1:39: expected `general`, `symmetric` or `skew-symmetric`, found \"hermitian\"",
        ),
        (
            "%%MatrixMarket matrix coordinate real",
            "1:38: expected `general`, `symmetric` or `skew-symmetric`, found the end of the line",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(message(market(text)), format!("g.mtx:{expected}"));
    }
    let upper = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n1 2\n";
    assert_eq!(
        message(market(upper)),
        "g.mtx:3:3: expected a column of the lower triangle (the file is symmetric): 1, found \"2\""
    );
}

#[test]
fn edge_list_mistakes_are_named_with_their_place() {
    let cases = [
        (
            "0 1\n2\n",
            "2:2: expected a vertex number from 0 to 67108863, found the end of the line",
        ),
        (
            "0 1\n2 x\n",
            "2:3: expected a vertex number from 0 to 67108863, found \"x\"",
        ),
        (
            "0 1\n2 4000000000\n",
            "2:3: expected a vertex number from 0 to 67108863, found \"4000000000\"",
        ),
        (
            "0 1 5\n2 1\n",
            "2:4: expected a number, found the end of the line",
        ),
        (
            "0 1\n2 1 5\n",
            "2:5: expected the end of the line, found \"5\"",
        ),
        (
            "0 1 5 6\n",
            "1:7: expected the end of the line, found \"6\"",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(message(edges(text)), format!("g.txt:{expected}"));
    }
}

/// These files would need terabytes, or all of the machine's memory, if the stated sizes were
/// trusted.
#[test]
fn absurd_sizes_are_refused_or_not_believed() {
    let rows = message(market(&format!(
        "{PATTERN}99999999999999 99999999999999 1\n1 1\n"
    )));
    assert!(
        rows.starts_with("g.mtx:2:1: expected a number of rows from 0 to"),
        "{rows}"
    );
    let entries = message(market(&format!("{PATTERN}5 5 99999999999999\n1 1\n")));
    assert!(
        entries.starts_with("g.mtx:2:5: expected a number of entries from 0 to"),
        "{entries}"
    );
    let promised = message(market(&format!(
        "{PATTERN}67108864 67108864 268435456\n1 1\n"
    )));
    assert!(
        promised.contains("expected entry 2 of the 268435456"),
        "{promised}"
    );
}

#[test]
fn endless_lines_and_binary_rubbish_are_quoted_short() {
    let long = message(edges(&"7".repeat(1 << 20)));
    assert_eq!(
        long,
        "g.txt:1:65537: expected a line of at most 65536 bytes, found more text"
    );
    let rubbish = [b"0 ".as_slice(), &[0xff, 0, 0x1b].repeat(40)].concat();
    let result = parse_graph("g", rubbish.as_slice(), GraphFormat::EdgeList, KEEP);
    let text = message(result);
    assert!(
        text.starts_with("g:1:3: expected a vertex number"),
        "{text}"
    );
    assert!(text.len() < 300 && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn gzip_is_recognised_by_content_in_any_number_of_members() {
    let parts = [gzip(b"0 1\n"), gzip(b"1 2\n")].concat();
    let graph = parse_graph("g", parts.as_slice(), GraphFormat::EdgeList, KEEP).unwrap();
    assert_eq!(graph, edges("0 1\n1 2\n").unwrap());
}

#[test]
fn truncated_gzip_says_so_at_every_length() {
    let text = format!("{PATTERN}2 2 2\n1 2\n2 1\n");
    let zipped = gzip(text.as_bytes());
    for length in 2..zipped.len() {
        let result = parse_graph("g.gz", &zipped[..length], GraphFormat::MatrixMarket, KEEP);
        assert!(
            matches!(result, Err(InputError::GzipTruncated { .. })),
            "{length}: {result:?}"
        );
    }
    let text = message(parse_graph(
        "g.gz",
        &zipped[..20],
        GraphFormat::MatrixMarket,
        KEEP,
    ));
    assert!(text.starts_with("g.gz:1:"), "{text}");
    assert!(
        text.ends_with("hint: the file is truncated; fetch it again"),
        "{text}"
    );
}

#[test]
fn a_damaged_gzip_checksum_is_an_error() {
    let mut zipped = gzip(b"0 1\n");
    let checksum = zipped.len() - 8;
    zipped[checksum] ^= 1;
    let result = parse_graph("g.gz", zipped.as_slice(), GraphFormat::EdgeList, KEEP);
    assert!(
        matches!(result, Err(InputError::GzipDamaged { .. })),
        "{result:?}"
    );
}

#[test]
fn a_failing_device_is_not_an_empty_file() {
    /// Reader that fails once, after its text.
    struct Failing(&'static [u8]);
    impl Read for Failing {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(into) {
                Ok(0) => Err(std::io::Error::other("on fire")),
                read => read,
            }
        }
    }
    for (text, place) in [("", "g:1:1"), ("0 1\n", "g:2:1"), ("0 1\n1 ", "g:2:3")] {
        let result = parse_graph("g", Failing(text.as_bytes()), GraphFormat::EdgeList, KEEP);
        assert_eq!(
            message(result),
            format!("{place}: cannot read further: on fire")
        );
    }
}

#[test]
fn a_directory_is_not_a_graph() {
    let folder = tempfile::tempdir().unwrap();
    let result = read_graph(
        folder.path(),
        &Files::default(),
        GraphFormat::EdgeList,
        KEEP,
    );
    assert!(
        matches!(
            result,
            Err(InputError::Open { .. } | InputError::Read { .. })
        ),
        "{result:?}"
    );
}

/// Generates graphs whose last vertex has an arc, because an edge list cannot represent others.
fn graphs() -> impl Strategy<Value = Csr> {
    (1_u32..30, any::<bool>()).prop_flat_map(|(vertices, weighted)| {
        let arc = ((0..vertices, 0..vertices), any::<u32>());
        prop::collection::vec(arc, 0..80).prop_map(move |arcs| {
            let (mut ends, mut weights): (Vec<_>, Vec<_>) = arcs.into_iter().unzip();
            ends.push((vertices - 1, 0));
            weights.push(vertices);
            Csr::from_arcs(vertices, &ends, weighted.then_some(&weights[..])).unwrap()
        })
    })
}

fn written(graph: &Csr, format: GraphFormat, zipped: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    match format {
        GraphFormat::MatrixMarket => write_matrix_market(graph, &mut bytes).unwrap(),
        GraphFormat::EdgeList => write_edge_list(graph, &mut bytes).unwrap(),
    }
    if zipped { gzip(&bytes) } else { bytes }
}

fn formats() -> impl Strategy<Value = GraphFormat> {
    prop_oneof![Just(GraphFormat::MatrixMarket), Just(GraphFormat::EdgeList)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_written_is_read(graph in graphs(), format in formats(), zipped: bool) {
        let bytes = written(&graph, format, zipped);
        prop_assert_eq!(parse_graph("g", bytes.as_slice(), format, KEEP).unwrap(), graph.clone());
        let bare = parse_graph("g", bytes.as_slice(), format, DROP).unwrap();
        prop_assert_eq!(bare, graph.without_weights());
    }

    /// A Matrix Market file states its length, so the loss of a whole line is always noticed.
    #[test]
    fn a_matrix_market_file_cut_before_its_last_entry_is_an_error(
        graph in graphs(), cut: prop::sample::Index,
    ) {
        let bytes = written(&graph, GraphFormat::MatrixMarket, false);
        let body = &bytes[..bytes.len() - 1];
        let last_line = body.iter().rposition(|&byte| byte == b'\n').unwrap();
        let shorter = &bytes[..cut.index(last_line + 1)];
        prop_assert!(parse_graph("g", shorter, GraphFormat::MatrixMarket, KEEP).is_err());
    }

    /// Any modification of a file gives a valid graph or an error.
    #[test]
    fn mutated_files_never_panic(
        graph in graphs(),
        format in formats(),
        zipped: bool,
        keep: bool,
        edits in prop::collection::vec((any::<prop::sample::Index>(), mutation()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = written(&graph, format, zipped);
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let values = if keep { KEEP } else { DROP };
        if let Ok(read) = parse_graph("g", bytes.as_slice(), format, values) {
            let again = Csr::new(
                read.row_offsets().to_vec(),
                read.columns().to_vec(),
                read.weights().map(<[u32]>::to_vec),
            );
            prop_assert_eq!(again, Ok(read));
        }
    }

    #[test]
    fn random_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200), format in formats(), magic: bool,
    ) {
        let mut bytes = bytes;
        if magic {
            bytes.splice(0..0, [0x1f, 0x8b, 8, 0]);
        }
        let _ = parse_graph("g", bytes.as_slice(), format, KEEP);
    }
}

/// Generates bytes that are significant in the formats, and arbitrary ones.
fn mutation() -> impl Strategy<Value = u8> {
    prop_oneof![
        prop::sample::select(&b"0123456789 \n\t-+.eE%#"[..]),
        any::<u8>()
    ]
}

/// Returns the error message for `text`. The file is next to the scenario's folder if `outside`.
fn refusal(text: &[u8], format: GraphFormat, outside: bool) -> String {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let path = if outside { "../graph" } else { "graph" };
    std::fs::write(inner.join(path), text).unwrap();
    let files = Files::of(&inner).of_description_at(&inner.join("scenario.ron"));
    read_graph(Path::new(path), &files, format, KEEP)
        .unwrap_err()
        .to_string()
}

#[test]
fn what_is_no_graph_is_quoted_at_its_beginning_and_outside_the_scenario_not_at_all() {
    let early = b"root secret\n";
    let late = ["# comment\n".repeat(10), "root secret\n".to_owned()].concat();
    for format in [GraphFormat::MatrixMarket, GraphFormat::EdgeList] {
        assert!(refusal(early, format, false).contains("root"));
        let message = refusal(early, format, true);
        assert!(message.ends_with("found something else"), "{message}");
    }
    let message = refusal(late.as_bytes(), GraphFormat::EdgeList, false);
    assert!(
        message.contains("graph:11:1:") && !message.contains("root"),
        "{message}"
    );
    // A graph with an error is still recognised as a graph.
    let graph = format!("{}0 x\n", "0 1\n".repeat(40));
    let message = refusal(graph.as_bytes(), GraphFormat::EdgeList, true);
    assert!(message.ends_with("found \"x\""), "{message}");
}

#[test]
fn compressed_text_that_unpacks_to_a_thousand_times_its_size_is_refused() {
    let plain = vec![b'\n'; 64 << 20];
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&plain).unwrap();
    let message = refusal(&packer.finish().unwrap(), GraphFormat::EdgeList, false);
    assert!(message.contains("it unpacks to more than"), "{message}");
}

#[test]
fn a_graph_that_takes_more_memory_than_there_may_be_is_refused_while_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("long"), "1 2\n".repeat(100_000)).unwrap();
    std::fs::write(folder.path().join("wide"), "0 67108863\n").unwrap();
    let within = |name: &str, limit: u64| {
        let files = Files::of(folder.path());
        let files = files.charged_to(&Ledger::new(&warpweave_files::Budget::of(limit)));
        read_graph(Path::new(name), &files, GraphFormat::EdgeList, KEEP)
    };
    for name in ["long", "wide"] {
        let error = within(name, 1 << 20).unwrap_err();
        assert!(matches!(error, InputError::OverBudget(_)), "{error}");
    }
    assert!(within("long", 16 << 20).is_ok());
}
