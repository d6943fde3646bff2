//! Parameter sweep: one scenario at the levels of a few axes, without claims.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpweave_params::{
    Diagnostic, Diagnostics, Entries, Kind, Node, Placed, Source, is_expression, parse_from,
};

use crate::file::{
    Axis, Combination, Combine, ExperimentFile, MetricFile, MetricKind, StatedWorkload,
};
use crate::read::{Baseline, Experiment};

/// Axis given on the command line.
#[derive(Debug)]
pub struct SweepAxis {
    path: Placed<String>,
    values: Vec<Node>,
}

/// Name of the only variant of a sweep.
const VARIANT: &str = "-";

impl SweepAxis {
    /// Parses `path=value,value,...`. Commas inside brackets and quotes belong to a value.
    ///
    /// # Errors
    /// Returns an error for text not of this form, with the position.
    pub fn read(text: &str) -> Result<Self, Diagnostics> {
        let source = Source::new(format!("--axis {text}"), text);
        let Some(equals) = text.find('=').filter(|at| !text[..*at].trim().is_empty()) else {
            let place = source.span(0, text.len());
            return Err(Diagnostic::error("an axis is `path=value,value,...`")
                .at(&place)
                .hint("such as `unit[*].l1.ways=2,4,8`")
                .into());
        };
        let path = Placed::at(text[..equals].trim().to_owned(), &source.span(0, equals));
        let mut problems = Diagnostics::new();
        let mut values = Vec::new();
        for (start, end) in parts(text, equals + 1) {
            values.extend(problems.take(value(&source, start, end)));
        }
        problems.into_result(Self { path, values })
    }
}

/// Returns the begin and end of each value in a list.
fn parts(text: &str, start: usize) -> Vec<(usize, usize)> {
    let mut parts = Vec::new();
    let (mut begin, mut depth, mut quoted) = (start, 0_usize, false);
    for (at, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            b'"' => quoted = !quoted,
            b'(' | b'[' | b'{' if !quoted => depth += 1,
            b')' | b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            b',' if !quoted && depth == 0 => {
                parts.push((begin, at));
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push((begin, text.len()));
    parts
}

/// Parses RON, or an expression written without quotes.
fn value(source: &Arc<Source>, start: usize, end: usize) -> Result<Node, Diagnostics> {
    // The text up to the end of the value: what stands before it keeps its columns.
    let upto = Source::new(source.name(), &source.text()[..end]);
    let text = upto.text()[start..].trim();
    parse_from(&upto, start).or_else(|problems| {
        let bare = text.strip_prefix('=').unwrap_or(text);
        if is_expression(bare) {
            let kind = Kind::Text(format!("={bare}"));
            Ok(Node::new(kind, source.span(start, end)))
        } else {
            Err(problems)
        }
    })
}

impl Experiment {
    /// Creates a sweep of the scenario at `path`, with its own workload. The axes are combined as a
    /// product, or level by level with `zip`. `metrics` are expressions.
    ///
    /// # Errors
    /// Returns an error for axes that cannot be combined, or duplicate axes.
    pub fn sweep(
        path: &Path,
        axes: Vec<SweepAxis>,
        zip: bool,
        metrics: &[String],
    ) -> Result<Self, Diagnostics> {
        let name = path.file_name().map(PathBuf::from).unwrap_or_default();
        let workload = StatedWorkload {
            sizes: Entries::default(),
            file: name.clone().into(),
            size: None,
            sets: [].into_iter().collect(),
            group: None,
        };
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let axes = axes.into_iter().map(|SweepAxis { path, values }| {
            let axis = Axis::Values {
                path: path.clone(),
                values,
            };
            (path, axis)
        });
        let mut file = ExperimentFile::of(name.into(), axes.collect());
        file.combine = if zip { Combine::Zip } else { Combine::Product };
        file.workloads = [(stem.into_owned().into(), workload)].into_iter().collect();
        file.variants = [(VARIANT.into(), [].into_iter().collect())]
            .into_iter()
            .collect();
        file.metrics = metrics.iter().map(|text| metric(text)).collect();
        let experiment = Self {
            path: path.to_owned(),
            extended: Vec::new(),
            file,
            baseline: Baseline {
                variant: VARIANT.to_owned(),
                levels: Vec::new(),
            },
            own_workload: true,
            frozen: String::new(),
        };
        experiment.check_axes()?;
        Ok(experiment)
    }
}

fn metric(text: &str) -> (Placed<String>, MetricFile) {
    let place = Source::new(format!("--metric {text}"), text).span(0, text.len());
    let metric = MetricFile {
        value: Placed::at(text.to_owned(), &place),
        kind: MetricKind::Value,
        better: None,
        over: None,
        mean: Combination::default(),
        groups: None,
        variants: None,
        unit: String::new(),
    };
    (text.into(), metric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::level_name;

    #[test]
    fn commas_part_values_but_not_inside_brackets() {
        let read = |text| {
            let axis = SweepAxis::read(text).unwrap_or_else(|e| panic!("{e}"));
            axis.values.iter().map(level_name).collect::<Vec<_>>()
        };
        assert_eq!(read("l1.ways=2,4, 8"), ["2", "4", "8"]);
        assert_eq!(
            read("x=Lrr,Two(a: 1, b: [1, 2])"),
            ["Lrr", "Two(a: 1, b: [1, 2])"]
        );
        assert_eq!(read("x=\"1,5 GHz\",2 * n"), ["1,5 GHz", "=2 * n"]);
        assert!(SweepAxis::read("l1.ways").is_err());
        let wrong = SweepAxis::read("l1.ways=2,)").unwrap_err().to_string();
        assert!(wrong.contains("--axis l1.ways=2,):1:11"), "{wrong}");
    }

    #[test]
    fn axes_meet_or_go_side_by_side() {
        let read = |text| SweepAxis::read(text).unwrap();
        let path = Path::new("a/quickstart.ron");
        let axes = || vec![read("x=1,2"), read("y=1,2,3")];
        assert!(Experiment::sweep(path, axes(), false, &[]).is_ok());
        let refused = Experiment::sweep(path, axes(), true, &[]).unwrap_err();
        assert!(
            refused.to_string().contains("`y` has 3 levels"),
            "{refused}"
        );
    }
}
