//! Formats benchmark figures as text and as JSON.

use std::fmt::Write as _;

use warpweave_bench::Workload;

use crate::rounds::{Figure, Figures};

/// Formats the figures as a text table.
pub(crate) fn text(figures: &Figures) -> String {
    let mut text = String::new();
    for workload in Workload::ALL {
        let Some(own) = figures.get(workload.name()) else {
            continue;
        };
        let _ = writeln!(text, "{}, per {}", workload.name(), workload.unit());
        for by in workload.implementations() {
            if let Some(figure) = own.get(by.name()) {
                let _ = writeln!(text, "  {:16}{}", by.name(), line(figure));
            }
        }
    }
    text
}

fn line(figure: &Figure) -> String {
    let mut line = format!("{:>9.1} ns", figure.ns);
    if let Some(instructions) = figure.instructions {
        let _ = write!(line, "  {instructions:>9.1} instructions");
    }
    if let Some(ratio) = figure.ratio {
        let [low, high] = ratio.quartiles;
        let median = ratio.median;
        let _ = write!(line, "  {median:>7.2} x ours ({low:.2} to {high:.2})");
    }
    if let Some(bytes) = figure.bytes {
        let (component, channel) = (bytes.component, bytes.channel);
        let _ = write!(
            line,
            "  {component:.0} bytes, {channel:.0} more with a channel"
        );
    }
    line
}

/// Formats the figures as one JSON object: workloads by name, each with its implementations by
/// name.
pub(crate) fn json(figures: &Figures) -> String {
    serde_json::to_string_pretty(figures).expect("numbers by name") + "\n"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::rounds::{Bytes, Ratio};

    fn example() -> Figures {
        let ours = Figure {
            ns: 40.25,
            instructions: Some(199.5),
            ratio: None,
            bytes: None,
        };
        let theirs = Figure {
            ns: 120.75,
            ratio: Some(Ratio {
                median: 3.0,
                quartiles: [2.5, 3.25],
            }),
            ..ours.clone()
        };
        let built = Figure {
            ns: 2000.0,
            instructions: None,
            bytes: Some(Bytes {
                component: 300.0,
                channel: 250.0,
            }),
            ratio: None,
        };
        Figures::from([
            (
                "ring",
                BTreeMap::from([("warpweave", ours), ("systemc_event", theirs)]),
            ),
            ("elaboration", BTreeMap::from([("warpweave", built)])),
        ])
    }

    #[test]
    fn json_gives_implementations_by_workload_and_leaves_out_what_is_absent() {
        insta::assert_snapshot!(json(&example()), @r#"
        {
          "elaboration": {
            "warpweave": {
              "ns": 2000.0,
              "bytes": {
                "component": 300.0,
                "channel": 250.0
              }
            }
          },
          "ring": {
            "systemc_event": {
              "ns": 120.75,
              "instructions": 199.5,
              "ratio": {
                "median": 3.0,
                "quartiles": [
                  2.5,
                  3.25
                ]
              }
            },
            "warpweave": {
              "ns": 40.25,
              "instructions": 199.5
            }
          }
        }
        "#);
    }

    #[test]
    fn text_is_a_table_in_the_order_of_workloads() {
        insta::assert_snapshot!(text(&example()), @"
        ring, per hop
          warpweave            40.2 ns      199.5 instructions
          systemc_event       120.8 ns      199.5 instructions     3.00 x ours (2.50 to 3.25)
        elaboration, per component
          warpweave          2000.0 ns  300 bytes, 250 more with a channel
        ");
    }
}
