//! Tests of graphs described in files, and of what building them costs.

use warpweave_files::{Budget, Ledger};
use warpweave_params::{Source, from_node, parse};

use super::*;
use crate::reference;

fn committed(name: &str) -> GraphSource {
    let folder = "../../scenarios/data";
    GraphSource::File {
        path: [folder, name].iter().collect(),
        format: GraphFormat::MatrixMarket,
    }
}

fn build(source: &GraphSource, weights: EdgeWeights) -> Csr {
    let weighted = GraphSource::Weighted {
        source: Box::new(source.clone()),
        weights,
    };
    let files = Files::of(env!("CARGO_MANIFEST_DIR"));
    weighted.build(&files).unwrap()
}

/// Returns the default source, its degree, the number of vertices reached from it and the last
/// level.
fn search(graph: &Csr) -> (u32, u32, u32, u32) {
    let source = graph.default_source().unwrap();
    let levels = reference::bfs_levels(graph, source);
    let last = levels
        .into_iter()
        .filter(|&level| level != reference::UNREACHED)
        .max();
    (
        source,
        graph.degree(source),
        reference::reachable(graph, source),
        last.unwrap(),
    )
}

/// Compares with the counts in scenarios/data/README.md.
#[test]
fn road_network_reads_as_documented() {
    let graph = build(&committed("road-helsinki.mtx.gz"), EdgeWeights::AsStored);
    assert_eq!((graph.vertices(), graph.arcs()), (6768, 2 * 8060));
    assert_eq!(search(&graph), (217, 6, 6648, 107));
    // First entry of the file: vertices 2 and 1, 94 decimetres.
    assert!(graph.arcs_of(0).any(|arc| arc == (1, 94)));
    assert!(graph.arcs_of(1).any(|arc| arc == (0, 94)));
    assert_eq!(graph.hash(), 0x920d_c695_4b47_de98);
}

#[test]
fn blog_network_reads_as_documented() {
    let graph = build(&committed("polblogs.mtx.gz"), EdgeWeights::AsStored);
    assert_eq!((graph.vertices(), graph.arcs()), (1490, 19022));
    assert_eq!(search(&graph), (854, 256, 958, 6));
    assert_eq!(graph.weights(), None);
    assert_eq!(graph.hash(), 0x629c_bea7_0fac_7770);
}

#[test]
fn weights_are_kept_dropped_or_drawn() {
    let source = committed("road-helsinki.mtx.gz");
    let stored = build(&source, EdgeWeights::AsStored);
    let bare = build(&source, EdgeWeights::Without);
    let drawn = build(
        &source,
        EdgeWeights::Uniform {
            low: 1,
            high: 11,
            seed: 1,
        },
    );
    assert!(stored.weights().is_some() && bare.weights().is_none());
    assert!(drawn.weights().unwrap().iter().all(|w| (1..11).contains(w)));
    assert_eq!(stored.without_weights(), bare);
    assert_eq!(drawn.without_weights(), bare);
}

#[test]
fn every_generator_builds_what_its_function_builds() {
    let uniform_source = GraphSource::Uniform {
        vertices: 50,
        edges: 200,
        seed: 3,
    };
    assert_eq!(
        build(&uniform_source, EdgeWeights::AsStored),
        uniform(50, 200, 3).unwrap()
    );
    let (a, b, c) = (0.5, 0.2, 0.1);
    let rmat_source = GraphSource::Rmat {
        scale: 6,
        edge_factor: 4,
        a,
        b,
        c,
        seed: 3,
    };
    let shape = RmatShape {
        scale: 6,
        edge_factor: 4,
        a,
        b,
        c,
    };
    assert_eq!(
        build(&rmat_source, EdgeWeights::AsStored),
        rmat(shape, 3).unwrap()
    );
    let four = GraphSource::OutDegree {
        vertices: 50,
        degree: 4,
        seed: 3,
    };
    assert_eq!(
        build(&four, EdgeWeights::AsStored),
        out_degree(50, 4, 3).unwrap()
    );
    let drawn = GraphSource::Partners {
        vertices: 50,
        low: 2,
        high: 4,
        seed: 3,
    };
    assert_eq!(
        build(&drawn, EdgeWeights::AsStored),
        partners(50, 2, 4, 3).unwrap()
    );
    let source = |text: &str| -> GraphSource {
        from_node(&parse(&Source::new("graph.ron", text)).unwrap()).unwrap()
    };
    for (text, arcs) in [
        ("Geometric(vertices: 500, mean: 6, seed: 1)", 2_500..3_000),
        ("Streets(width: 9, height: 9, seed: 1)", 500..1_500),
        ("WebCopy(vertices: 500, seed: 1)", 3_000..15_000),
        ("Cliques(papers: 500, window: 50, seed: 1)", 2_000..50_000),
    ] {
        let graph = build(&source(text), EdgeWeights::AsStored);
        assert!(arcs.contains(&graph.arcs()), "{text}: {}", graph.arcs());
        let files = Files::default().charged_to(&Ledger::new(&Budget::of(20_000)));
        let refused = source(text).build(&files);
        assert!(matches!(refused, Err(InputError::OverBudget(_))), "{text}");
    }
    let grid_source = GraphSource::Grid {
        width: 5,
        height: 4,
    };
    assert_eq!(
        build(&grid_source, EdgeWeights::AsStored),
        grid(5, 4).unwrap()
    );
}

#[test]
fn descriptions_read_from_ron() {
    let source: GraphSource = ron::from_str("Rmat(scale: 10, edge_factor: 8, seed: 1)").unwrap();
    let expected = GraphSource::Rmat {
        scale: 10,
        edge_factor: 8,
        a: 0.57,
        b: 0.19,
        c: 0.19,
        seed: 1,
    };
    assert_eq!(source, expected);
    let file: GraphSource =
        ron::from_str(r#"File(path: "../data/g.mtx.gz", format: MatrixMarket)"#).unwrap();
    assert!(matches!(
        file,
        GraphSource::File {
            format: GraphFormat::MatrixMarket,
            ..
        }
    ));
    let weights: EdgeWeights = ron::from_str("Uniform(low: 1, high: 9, seed: 2)").unwrap();
    assert_eq!(
        weights,
        EdgeWeights::Uniform {
            low: 1,
            high: 9,
            seed: 2
        }
    );
    assert!(ron::from_str::<GraphSource>("Grid(width: 2, height: 2, depth: 2)").is_err());
    assert!(ron::from_str::<GraphSource>("Grid(width: 2)").is_err());
    let weighted: GraphSource =
        ron::from_str("Graph(source: Grid(width: 2, height: 2), weights: Without)").unwrap();
    let expected = GraphSource::Weighted {
        source: Box::new(GraphSource::Grid {
            width: 2,
            height: 2,
        }),
        weights: EdgeWeights::Without,
    };
    assert_eq!(weighted, expected);
    let array: crate::ArrayGenerator =
        ron::from_str("Uniform(seed: 1, low: 0, high: 256)").unwrap();
    let expected = crate::ArrayGenerator::Uniform {
        seed: 1,
        low: 0.0,
        high: 256.0,
    };
    assert_eq!(array, expected);
    let constant: crate::ArrayGenerator = ron::from_str("Constant(3)").unwrap();
    assert_eq!(constant, crate::ArrayGenerator::Constant(3.0));
}

#[test]
fn a_graph_is_charged_before_it_is_drawn() {
    let of = |limit| Files::default().charged_to(&Ledger::new(&Budget::of(limit)));
    let rmat = GraphSource::Rmat {
        scale: 20,
        edge_factor: 8,
        a: 0.57,
        b: 0.19,
        c: 0.19,
        seed: 1,
    };
    let refused = rmat.build(&of(100 << 20)).expect_err("200 MiB");
    assert!(matches!(refused, InputError::OverBudget(_)), "{refused}");
    let partners = GraphSource::Partners {
        vertices: 1 << 20,
        low: 2,
        high: 4,
        seed: 1,
    };
    let refused = partners.build(&of(100 << 20)).expect_err("200 MiB");
    assert!(matches!(refused, InputError::OverBudget(_)), "{refused}");
    let absurd = GraphSource::OutDegree {
        vertices: u32::MAX,
        degree: u32::MAX,
        seed: 1,
    };
    assert!(absurd.build(&of(100 << 20)).is_err());
    let grid = GraphSource::Grid {
        width: 100,
        height: 100,
    };
    let files = of(2 << 20);
    let graph = grid.build(&files).expect("1 MiB");
    assert_eq!(files.ledger().bytes(), graph.bytes());
    let most = GraphSource::Rmat {
        scale: u32::MAX,
        edge_factor: u32::MAX,
        a: 0.0,
        b: 0.0,
        c: 0.0,
        seed: 1,
    };
    assert!(most.build(&Files::default()).is_err());
}

#[test]
fn both_copies_of_a_graph_are_charged_before_they_are_made() {
    let twice: GraphSource = ron::from_str("Twice(Grid(width: 100, height: 100))").unwrap();
    let of = |limit| Files::default().charged_to(&Ledger::new(&Budget::of(limit)));
    let files = of(2 << 20);
    let graph = twice.build(&files).unwrap();
    assert_eq!((graph.vertices(), graph.arcs()), (20_000, 2 * 39_600));
    assert_eq!(files.ledger().bytes(), graph.bytes());
    let drawing = 40_000 * DRAWN_ARC_BYTES + 10_000 * DRAWN_VERTEX_BYTES;
    let refused = twice.build(&of(drawing + graph.bytes() - 1));
    assert!(matches!(refused, Err(InputError::OverBudget(_))));
}

#[test]
fn edges_that_are_dealt_out_again_are_charged_before_they_are_drawn() {
    let text = "Rewired(source: Grid(width: 100, height: 100), seed: 3)";
    let source: GraphSource = ron::from_str(text).unwrap();
    let of = |limit| Files::default().charged_to(&Ledger::new(&Budget::of(limit)));
    let files = of(4 << 20);
    let graph = source.build(&files).unwrap();
    assert_eq!(graph, rewired(&grid(100, 100).unwrap(), 3).unwrap());
    assert_eq!(files.ledger().bytes(), graph.bytes());
    let grid = 40_000 * DRAWN_ARC_BYTES + 10_000 * DRAWN_VERTEX_BYTES;
    let drawing = grid + graph.bytes() + 39_600 * DRAWN_ARC_BYTES;
    assert!(source.build(&of(drawing)).is_ok());
    let refused = source.build(&of(drawing - 1));
    assert!(matches!(refused, Err(InputError::OverBudget(_))));
}

#[test]
fn a_missing_file_is_named() {
    let source = GraphSource::File {
        path: "absent.mtx".into(),
        format: GraphFormat::EdgeList,
    };
    let text = source.build(&Files::of("here")).unwrap_err().to_string();
    assert!(text.starts_with("here/absent.mtx: cannot open: "), "{text}");
}
