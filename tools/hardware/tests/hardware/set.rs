//! Measurement sets on the double, with small workloads and the shipped set.

use std::path::{Path, PathBuf};

use warpweave_hardware::campaign::{Campaign, Outcome};
use warpweave_hardware::measure::Meter;
use warpweave_hardware::micro::Effort;
use warpweave_hardware::power::{Reading, Sensor};
use warpweave_hardware::set::MeasurementSet;
use warpweave_hardware::table::MEASUREMENT_COLUMNS;

use crate::double::Double;

struct Steady;

impl Sensor for Steady {
    fn read(&mut self) -> Reading {
        Reading {
            watts: Some(100.0),
            ..Reading::default()
        }
    }
}

const SHORT: Effort = Effort {
    samples: 1,
    rounds: 1,
    least_nanoseconds: 1.0,
    launches: 2,
};

/// Measures a set on a double, and returns the outcome with what was reported.
fn measured(path: &Path, folder: &Path, double: &mut Double) -> (Outcome, Vec<String>) {
    let set = MeasurementSet::read(path).unwrap_or_else(|problems| panic!("{problems}"));
    let mut meter = Meter::start(Some(Box::new(Steady)));
    let mut said = Vec::new();
    let outcome = Campaign {
        path,
        set: &set,
        folder,
        effort: SHORT,
        measured_by: "a test",
        report: &mut |line| said.push(line.to_owned()),
    }
    .run(double, &mut meter);
    (outcome.unwrap(), said)
}

fn workloads() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/workloads")
}

/// Returns the rows of a table without its comments and columns.
fn rows(folder: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(str::to_owned).collect()
}

#[test]
fn a_set_is_measured_step_by_step_with_all_its_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.ron");
    let set = r#"MeasurementSet(
        idle_seconds: 0.02, passes: 2, micro: true,
        steps: [
            Step(algorithm: "BFS", strategy: "levels", workload: "WORK/bfs.ron",
                 seconds: 0.0, at_least: 2, launches: true),
        ],
        blocks: {
            "grid": Block(
                sets: {"graph": Grid(width: 12, height: 12)},
                steps: [
                    Step(algorithm: "BFS", strategy: "masks", workload: "WORK/bfs_mask.ron",
                         seconds: 0.0, at_least: 1),
                    Step(algorithm: "SSSP", workload: "WORK/sssp.ron", seconds: 0.0, at_least: 1,
                         sets: {"weights": Uniform(low: 1, high: 9, seed: 2)}),
                    Step(algorithm: "BFS", strategy: "no size", workload: "WORK/bfs.ron", size: "T"),
                ],
            ),
            "line": Block(sets: {"graph": Grid(width: 30, height: 1)}),
        },
    )"#;
    let set = set.replace("WORK", workloads().to_str().unwrap());
    std::fs::write(&path, set).unwrap();
    let (outcome, said) = measured(&path, folder.path(), &mut Double::new());
    let expected = Outcome {
        measured: 8,
        wrong: 0,
        failed: 2,
    };
    assert_eq!(outcome, expected, "{said:#?}");
    let all = rows(folder.path(), "measurements.csv");
    let begin = |row: &String| row.split(',').take(4).collect::<Vec<_>>().join(",");
    let mut names: Vec<String> = all.iter().map(begin).collect();
    assert_eq!(
        names[..3],
        ["BFS,levels,grid,0", "BFS,masks,grid,0", "SSSP,,grid,0"]
    );
    names[3..6].sort();
    assert_eq!(
        names[3..6],
        ["BFS,levels,grid,1", "BFS,masks,grid,1", "SSSP,,grid,1"]
    );
    assert_eq!(names[6..], ["BFS,levels,line,0", "BFS,levels,line,1"]);
    for row in &all {
        let cells: Vec<&str> = row.split(',').collect();
        assert_eq!(cells.len(), MEASUREMENT_COLUMNS.len(), "{row}");
        assert_eq!(cells[24], "true", "{row}");
    }
    // The two passes of the step of both blocks, each launch of a run with its time.
    let launches = rows(folder.path(), "launches.csv");
    let of = |row: &String| row.split(',').nth(9).unwrap().parse::<usize>().unwrap();
    assert_eq!(launches.len(), 2 * (of(&all[0]) + of(&all[6])));
    assert!(launches[0].starts_with("BFS,levels,grid,0,0,bfs_level,1x1x1,256x1x1,0,"));
    assert!(rows(folder.path(), "micro.csv").len() > 100);
    let power = rows(folder.path(), "power.csv");
    assert!(
        power.len() >= 2 && power[0].ends_with(",100.000,,,,,,"),
        "{}",
        power[0]
    );
    let text = std::fs::read_to_string(folder.path().join("measurements.csv")).unwrap();
    assert!(
        text.contains("# grid, BFS no size: failed: the workload has no "),
        "{text}"
    );
    assert!(text.contains("\n# sampled: watts\n"), "{text}");
    assert!(
        said.contains(&"grid: idle power 100.0 W".to_owned()),
        "{said:#?}"
    );
}

#[test]
fn what_was_measured_before_a_failure_stays_and_the_rest_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.ron");
    let set = r#"MeasurementSet(
        idle_seconds: 0.0,
        blocks: {
            "": Block(steps: [
                Step(algorithm: "sum", workload: "WORK/vector_add.ron", sets: {"n": 64},
                     seconds: 0.0, at_least: 1, warm_up: 0),
                Step(algorithm: "sum again", workload: "WORK/vector_add.ron", sets: {"n": 64},
                     seconds: 0.0, at_least: 1, warm_up: 0),
            ]),
        },
    )"#;
    let set = set.replace("WORK", workloads().to_str().unwrap());
    std::fs::write(&path, set).unwrap();
    let mut double = Double::new();
    double.refuses = Some(1);
    let (outcome, said) = measured(&path, folder.path(), &mut double);
    assert_eq!((outcome.measured, outcome.failed), (1, 1), "{said:#?}");
    assert_eq!(rows(folder.path(), "measurements.csv").len(), 1);
    assert!(
        said[2].contains("sum again : failed: `vector_add`, repetition 1: "),
        "{said:#?}"
    );
}

#[test]
fn a_set_that_makes_no_sense_is_refused_with_its_places() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.ron");
    let set = r#"MeasurementSet(
        passes: 0,
        blocks: {"a": Block(steps: [
            Step(algorithm: "x", workload: "nowhere.ron", seconds: 1e9),
        ])},
    )"#;
    std::fs::write(&path, set).unwrap();
    let said = MeasurementSet::read(&path).unwrap_err().to_string();
    for part in [
        "`passes` is 0, expected 1 to 100",
        "there is no file nowhere.ron",
        "wrong.ron:4:",
        "`seconds` is 1000000000, expected 0 to 3600",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    std::fs::write(&path, "MeasurementSet(blocks: {}, pases: 2)").unwrap();
    let said = MeasurementSet::read(&path).unwrap_err().to_string();
    assert!(said.contains("pases") && said.contains("passes"), "{said}");
}

/// The shipped set on small graphs of the same kinds, as a rehearsal.
#[test]
fn the_shipped_set_of_graphs_is_measured_at_a_small_size() {
    let folder = tempfile::tempdir().unwrap();
    let here = workloads();
    let shipped = here.join("../measurements/graphs.ron");
    let text = std::fs::read_to_string(shipped).unwrap();
    let small = [
        ("idle_seconds: 5", "idle_seconds: 0.0"),
        ("passes: 2", "passes: 1"),
        (
            "vertices: 4194304, edges: 47960000",
            "vertices: 300, edges: 1500",
        ),
        (
            "vertices: 4194304, mean: 14.49",
            "vertices: 300, mean: 14.49",
        ),
        ("width: 1108, height: 1108", "width: 6, height: 6"),
        ("vertices: 1382908", "vertices: 300"),
        ("papers: 540486", "papers: 200"),
        ("\"../workloads/", "\"WORK/"),
        ("Step(", "Step(seconds: 0.0, at_least: 1, warm_up: 0, "),
        ("WORK", here.to_str().unwrap()),
    ];
    let text = small.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    let path = folder.path().join("graphs.ron");
    std::fs::write(&path, text).unwrap();
    let (outcome, said) = measured(&path, folder.path(), &mut Double::new());
    let expected = Outcome {
        measured: 25,
        wrong: 0,
        failed: 0,
    };
    assert_eq!(outcome, expected, "{said:#?}");
    let rows = rows(folder.path(), "measurements.csv");
    assert!(rows.iter().all(|row| row.contains(",true,")), "{rows:#?}");
}
