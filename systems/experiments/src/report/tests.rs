use warpweave_files::Budget;
use warpweave_params::Placed;

use super::tables::scale_rows;
use super::*;
use crate::judge::tests::study;
use crate::judge::{BaselineRun, Bounds, EnergyRow, HeadroomRow};
use crate::model::EqualPairs;
use crate::scale::{Caches, Footprint, Program, Scale};

fn series() -> Vec<Series> {
    vec![Series {
        number: 1,
        hash: "ab".repeat(32),
        opened: "2026-01-01T00:00:00Z".to_owned(),
        note: "first".to_owned(),
        program_version: "0.1.0".to_owned(),
    }]
}

fn published(text: &str) -> Result<Published, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.ron");
    std::fs::write(&path, text).unwrap();
    let read = Published::read(&Placed::from(path), &study(), &Budget::unlimited());
    read.map_err(|error| {
        error
            .to_string()
            .replace(&folder.path().display().to_string(), ".")
    })
}

const VALUES: &str = r#"Published(
    source: "a paper",
    values: { "speed": { "E, x=1": { "mean": 1.21, "a": 1.7, "b": 1.0 } } },
    explained: { "speed/E, x=1/a": "the run without it" },
)"#;

#[test]
fn the_page_needs_nothing_but_itself() {
    let published = published(VALUES).unwrap();
    let provenance = vec![("command".to_owned(), "warpweave experiment <e>".to_owned())];
    let written = write(&study(), &series(), &provenance, Some(&published));
    let html = &written.html;
    for outside in [
        "src=", "href=", "<script", "url(", "@import", "<link", "<iframe",
    ] {
        assert!(!html.contains(outside), "{outside}");
    }
    // The name space of SVG is no request.
    let addresses = html.replace("http://www.w3.org/2000/svg", "");
    assert!(!addresses.contains("http://") && !addresses.contains("https://"));
    assert!(html.contains("default-src 'none'"));
    assert!(html.contains("warpweave experiment &lt;e&gt;"));
    for (name, svg) in &written.figures {
        assert!(html.contains(svg.as_str()), "{name}");
    }
    let names: Vec<&str> = written
        .figures
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "metric_speed.svg",
            "metric_time.svg",
            "metric_cycles.svg",
            "claims.svg"
        ]
    );
}

#[test]
fn pairs_that_repeat_each_other_are_told() {
    let mut study = study();
    study.equal_pairs = vec![EqualPairs {
        workload: "a".to_owned(),
        pairs: vec![vec![0, 5], vec![1, 6, 8]],
    }];
    let words = "on `a`, equal draws make these pairs identical: 0 = 5, 1 = 6 = 8; its confidence intervals understate the noise";
    let page = write(&study, &series(), &Vec::new(), None).html;
    assert!(page.contains(words) && super::text(&study).contains(words));
}

#[test]
fn few_work_groups_for_each_unit_are_told() {
    let mut study = study();
    let mut page = |work_groups_per_unit| {
        study.work = vec![BaselineRun {
            workload: "a".to_owned(),
            kernels: "k".to_owned(),
            launches: 2,
            work_groups: 3,
            work_groups_per_unit,
            slots_without_wavefront: None,
            wavefront_instructions: 4,
            cycles: 5,
            headroom: Vec::new(),
        }];
        write(&study, &series(), &Vec::new(), None).html
    };
    assert!(page(Some(7.9)).contains("fewer than 8 work-groups"));
    assert!(!page(Some(8.0)).contains("fewer than 8 work-groups"));
    assert!(!page(None).contains("fewer than 8 work-groups"));
}

#[test]
fn the_scale_of_programs_is_the_same_in_text_page_and_table() {
    let mut study = study();
    let caches = Caches {
        line_bytes: 128,
        one_l1_bytes: 16 << 10,
        l1_bytes: 240 << 10,
        l2_bytes: 0,
    };
    let program = |workload: &str, footprint| Program {
        workload: workload.to_owned(),
        caches,
        footprint,
    };
    let footprint = Footprint {
        thread_instructions: 1000,
        bytes_asked: 2500,
        line_accesses: 200,
        lines: 50,
        within_l1: 100,
        within_l2: 0,
        median: Some(7),
    };
    study.scale = Some(Scale {
        programs: vec![
            program("a", Ok(footprint)),
            program("b", Err("its trace was not kept".to_owned())),
        ],
    });
    study.work = vec![BaselineRun {
        workload: "a".to_owned(),
        kernels: "k".to_owned(),
        launches: 1,
        work_groups: 2,
        work_groups_per_unit: Some(2.0),
        slots_without_wavefront: Some(0.25),
        wavefront_instructions: 4,
        cycles: 5,
        headroom: Vec::new(),
    }];
    let written = write(&study, &series(), &Vec::new(), None);
    let text = super::text(&study);
    let from = text.find("scale of").unwrap();
    let text = text[from..].split("\n\n").next().unwrap();
    insta::assert_snapshot!(format!("{text}\n\n{}", written.tables[0].1));
    for row in scale_rows(&study) {
        match row.unknown {
            Some(why) => assert!(written.html.contains(&why)),
            None => {
                for cell in row.cells {
                    assert!(written.html.contains(&format!("<td>{cell}</td>")), "{cell}");
                }
            }
        }
    }
}

#[test]
fn energy_for_other_tools_has_ratios_and_every_coefficient_alone() {
    let bounds = |low, nominal, high| Bounds { low, nominal, high };
    let mut study = study();
    study.energy = Some(StudiedEnergy {
        rows: vec![EnergyRow {
            point: "E, x=1".to_owned(),
            workloads: vec![("a".to_owned(), bounds(0.7, 0.8, 0.9), bounds(0.5, 0.6, 0.7))],
            energy: bounds(0.7, 0.8, 0.9),
            edp: bounds(0.5, 0.6, 0.7),
            tornado: vec![("crossbar: flits".to_owned(), 0.85, 0.75)],
        }],
        ..StudiedEnergy::default()
    });
    let written = write(&study, &series(), &Vec::new(), None);
    let (name, table) = written.tables.last().unwrap();
    assert_eq!(name, "energy.csv");
    insta::assert_snapshot!(table);
}

#[test]
fn published_values_agree_or_differ_with_a_reason_or_unexplained() {
    let published = published(VALUES).unwrap();
    let beside = published.beside(&study());
    let of = |workload: &str| beside.iter().find(|row| row.workload == workload).unwrap();
    assert!(!of("mean").differs);
    assert!(of("a").differs && of("a").explained.is_some());
    assert!(of("b").differs && of("b").explained.is_none());
    assert_eq!(beside[0].workload, "mean");
    let html = write(&study(), &series(), &Vec::new(), Some(&published)).html;
    assert!(html.contains("unexplained") && html.contains("the run without it"));
}

#[test]
fn names_that_the_experiment_does_not_have_are_refused_with_the_nearest() {
    let wrong = r#"Published(source: "", values: { "sped": { "E": { "meen": 1 } } })"#;
    insta::assert_snapshot!(published(wrong).unwrap_err());
}

#[test]
fn no_name_steers_a_terminal_or_a_spreadsheet() {
    let mut study = study();
    study.summary = "s\u{1b}[31mred\u{9b}".to_owned();
    study.workloads[0] = "=1+2\u{1b}[0m".to_owned();
    study.points[0].name = "\u{1b}]0;title\u{7}".to_owned();
    study.metrics[0].name = "@m\u{202e}\0".to_owned();
    study.claims[0].name = "-c\u{1b}[2J".to_owned();
    let note = vec![Series {
        note: "why\u{1b}[2J".to_owned(),
        ..series().remove(0)
    }];
    let provenance = vec![("command".to_owned(), "\u{1b}[2J".to_owned())];
    let written = write(&study, &note, &provenance, None);
    let mut texts = vec![written.html, super::text(&study)];
    texts.extend(written.figures.into_iter().map(|(_, figure)| figure));
    texts.extend(written.tables.into_iter().map(|(_, table)| table));
    for text in texts {
        let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!text.contains(steers), "{text:?}");
    }
    let claims = crate::store::claims_csv(&study.claim_rows());
    assert!(claims.contains("\n'-c\\u{1b}[2J,"), "{claims}");
}

#[test]
fn headroom_is_the_same_in_text_page_and_table() {
    let mut study = study();
    let row = |machine: &str, speed, hits| HeadroomRow {
        machine: machine.to_owned(),
        speed,
        shown: vec![("L1 hits and merges".to_owned(), hits)],
    };
    let work = |workload: &str, headroom| BaselineRun {
        workload: workload.to_owned(),
        kernels: "k".to_owned(),
        launches: 1,
        work_groups: 2,
        work_groups_per_unit: Some(2.0),
        slots_without_wavefront: Some(0.25),
        wavefront_instructions: 4,
        cycles: 5,
        headroom,
    };
    let first = vec![
        row("D", Some(1.0), Some(0.5)),
        row("infinite L1", Some(1.9), Some(0.75)),
    ];
    let second = vec![row("D", Some(1.0), None), row("infinite L1", None, None)];
    study.work = vec![work("a", first), work("longer", second)];
    let written = write(&study, &series(), &Vec::new(), None);
    let text = super::text(&study);
    let text = &text[text.find("headroom of").unwrap()..];
    let text = text.split("\n\n").next().unwrap();
    let table = written
        .tables
        .iter()
        .find(|(name, _)| name == "headroom.csv");
    insta::assert_snapshot!(format!("{text}\n\n{}", table.unwrap().1));
    for cell in ["infinite L1", "1.9000", "0.7500", "—"] {
        assert!(written.html.contains(&format!(">{cell}</td>")), "{cell}");
    }
}
