//! Parameters of a robustness study: their draws, and their position in the range.

use warpweave_params::{Diagnostic, Diagnostics, Kind, Node, Placed, name_hint};
use warpweave_random::CounterRng;

use super::file::{Range, Scale};
use crate::read::{level_name, plain};

/// Parameter that the study varies, with a checked range.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) path: Placed<String>,
    /// Value of the parameter in the experiment.
    pub(super) stated: Node,
    /// Position of the stated value, from 0 to 1.
    pub(super) stated_position: f64,
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    Between {
        ends: (f64, f64),
        scale: Scale,
        is_integer: bool,
    },
    Listed(Vec<Node>),
}

/// Value of a parameter on one machine.
#[derive(Clone, Debug)]
pub(super) struct DrawnValue {
    pub(super) value: Node,
    /// Position in the range, from 0 to 1.
    pub(super) position: f64,
}

impl Parameter {
    /// Checks a range as written in the file.
    pub(super) fn of(path: &Placed<String>, range: &Range) -> Result<Self, Diagnostics> {
        let (values, stated, stated_position) = match range {
            Range::Between {
                low,
                high,
                stated,
                scale,
            } => {
                let (values, position) = between(low, high, stated, *scale)?;
                (values, stated, position)
            }
            Range::Values { values, stated } => {
                let position = listed(path, values, stated)?;
                (Values::Listed(values.clone()), stated, position)
            }
        };
        Ok(Self {
            path: path.clone(),
            stated: stated.clone(),
            stated_position,
            values,
        })
    }

    /// Returns the value for a machine, which depends only on the seed, the path and the number.
    pub(super) fn drawn(&self, seed: u64, machine: u32) -> DrawnValue {
        let dice = CounterRng::new(seed, &plain(&self.path.value));
        let count = u64::from(machine);
        match &self.values {
            Values::Listed(values) => {
                let at = dice.below(count, values.len() as u64) as usize;
                let position = at as f64 / (values.len() - 1) as f64;
                let value = values[at].clone();
                DrawnValue { value, position }
            }
            Values::Between {
                ends: (low, high),
                scale,
                is_integer,
            } => {
                // 53 bits, which a float holds exactly.
                let part = (dice.roll(count) >> 11) as f64 / (1_u64 << 53) as f64;
                let value = match (scale, is_integer) {
                    // Every integer has the same chance, and so have those at the ends.
                    (Scale::Linear, true) => low + (part * (high - low + 1.0)).floor(),
                    (Scale::Linear, false) => low + part * (high - low),
                    (Scale::Log, _) => low * (high / low).powf(part),
                };
                let value = if *is_integer {
                    value.round()
                } else {
                    rounded(value)
                };
                let value = value.clamp(*low, *high);
                let kind = if *is_integer {
                    Kind::Int(value as i128)
                } else {
                    Kind::Float(value)
                };
                DrawnValue {
                    value: Node::new(kind, self.stated.span.clone()),
                    position: position(value, (*low, *high), *scale),
                }
            }
        }
    }

    /// Formats the possible values as one text.
    pub(super) fn range(&self) -> String {
        match &self.values {
            Values::Between {
                ends: (low, high),
                scale,
                ..
            } => {
                let scale = if *scale == Scale::Log {
                    ", logarithmic"
                } else {
                    ""
                };
                format!("{low} to {high}{scale}")
            }
            Values::Listed(values) => {
                let names: Vec<String> = values.iter().map(level_name).collect();
                names.join(", ")
            }
        }
    }
}

/// Returns the position of a value between the ends of its range, from 0 to 1.
fn position(value: f64, (low, high): (f64, f64), scale: Scale) -> f64 {
    match scale {
        Scale::Linear => (value - low) / (high - low),
        Scale::Log => (value / low).ln() / (high / low).ln(),
    }
}

/// Rounds a drawn value to four significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

fn number(node: &Node) -> Result<f64, Diagnostic> {
    let number = match node.kind {
        Kind::Int(value) => Some(value as f64),
        Kind::Float(value) => Some(value),
        _ => None,
    };
    number.filter(|value| value.is_finite()).ok_or_else(|| {
        let message = format!("expected a number, found {}", node.describe());
        let hint =
            "list texts, names and quantities with a unit: `Values(values: [..], stated: ..)`";
        Diagnostic::error(message).at(&node.span).hint(hint)
    })
}

fn between(
    low: &Node,
    high: &Node,
    stated: &Node,
    scale: Scale,
) -> Result<(Values, f64), Diagnostics> {
    let mut problems = Diagnostics::new();
    let numbers = [low, high, stated].map(|node| problems.take(number(node)));
    let [Some(least), Some(most), Some(value)] = numbers else {
        return Err(problems);
    };
    if least >= most {
        let message = format!("the upper end {most} is not above the lower end {least}");
        problems.push(Diagnostic::error(message).at(&high.span));
    } else if !(least..=most).contains(&value) {
        let message = format!("the stated value {value} is not between {least} and {most}");
        let hint = "a range must contain the experiment's own value";
        problems.push(Diagnostic::error(message).at(&stated.span).hint(hint));
    }
    if scale == Scale::Log && least <= 0.0 {
        let message = format!("a logarithmic range cannot begin at {least}");
        let hint = "begin above 0, or omit `scale: Log`";
        problems.push(Diagnostic::error(message).at(&low.span).hint(hint));
    }
    let is_integer = [low, high]
        .iter()
        .all(|node| matches!(node.kind, Kind::Int(_)));
    let ends = (least, most);
    let values = Values::Between {
        ends,
        scale,
        is_integer,
    };
    problems.into_result((values, position(value, ends, scale)))
}

/// Returns the position of the stated value in a list.
fn listed(path: &Placed<String>, values: &[Node], stated: &Node) -> Result<f64, Diagnostics> {
    let mut problems = Diagnostics::new();
    if values.len() < 2 {
        let message = format!("`{}` needs two or more values", path.value);
        problems.push(path.error(message).hint("list what the parameter could be"));
    }
    for (at, value) in values.iter().enumerate() {
        if values[..at].contains(value) {
            let message = format!("the value `{}` is listed twice", level_name(value));
            problems.push(
                Diagnostic::error(message)
                    .at(&value.span)
                    .hint("remove one"),
            );
        }
    }
    let at = values.iter().position(|value| value == stated);
    if at.is_none() {
        let name = level_name(stated);
        let known: Vec<String> = values.iter().map(level_name).collect();
        let hint = name_hint(&name, "listed values", known.iter().map(String::as_str));
        let message = format!("the stated value `{name}` is not among the listed ones");
        problems.push(Diagnostic::error(message).at(&stated.span).hint(hint));
    }
    let last = values.len().max(2) - 1;
    problems.into_result(at.unwrap_or(0) as f64 / last as f64)
}

#[cfg(test)]
mod tests {
    use warpweave_params::{Source, from_node, parse};

    use super::*;

    fn parameter(range: &str) -> Result<Parameter, String> {
        let node = parse(&Source::new("r", range)).map_err(|e| e.to_string())?;
        let range: Range = from_node(&node).map_err(|e| e.to_string())?;
        Parameter::of(&"a.b".into(), &range).map_err(|e| e.to_string())
    }

    fn drawn(range: &str) -> Vec<(String, f64)> {
        let parameter = parameter(range).unwrap();
        let all = (1..=400).map(|machine| parameter.drawn(1, machine));
        all.map(|drawn| (level_name(&drawn.value), drawn.position))
            .collect()
    }

    #[test]
    fn every_integer_of_a_range_is_drawn_about_equally_often_and_none_beside_it() {
        let all = drawn("Between(low: 1, high: 4, stated: 2)");
        for value in ["1", "2", "3", "4"] {
            let times = all.iter().filter(|(name, _)| name == value).count();
            assert!((70..130).contains(&times), "{value}: {times}");
        }
        assert!(
            all.iter()
                .all(|(name, at)| (at - (name.parse::<f64>().unwrap() - 1.0) / 3.0).abs() < 1e-12)
        );
    }

    #[test]
    fn a_logarithmic_range_has_half_of_its_machines_below_the_geometric_mean() {
        let all = drawn("Between(low: 1.0, high: 10000.0, stated: 100.0, scale: Log)");
        let below = all
            .iter()
            .filter(|(name, _)| name.parse::<f64>().unwrap() < 100.0);
        assert!((160..240).contains(&below.count()));
        for (name, at) in &all {
            let value: f64 = name.parse().unwrap();
            assert!((1.0..=10000.0).contains(&value) && (at - value.log10() / 4.0).abs() < 1e-9);
        }
    }

    #[test]
    fn listed_values_are_drawn_by_place_and_a_draw_depends_on_seed_path_and_machine_alone() {
        let all = drawn("Values(values: [Lru, Fifo, Random], stated: Fifo)");
        for (name, at) in [("Lru", 0.0), ("Fifo", 0.5), ("Random", 1.0)] {
            assert!(
                all.iter()
                    .filter(|drawn| **drawn == (name.to_owned(), at))
                    .count()
                    > 90
            );
        }
        let one = parameter("Between(low: 1, high: 1000, stated: 2)").unwrap();
        let of = |seed, machine| level_name(&one.drawn(seed, machine).value);
        assert_eq!(of(1, 7), of(1, 7));
        assert!((1..50).any(|machine| of(1, machine) != of(2, machine)));
    }

    #[test]
    fn a_range_that_cannot_be_drawn_from_is_refused_with_its_place() {
        for (range, told) in [
            (
                "Between(low: 4, high: 4, stated: 4)",
                "the upper end 4 is not above the lower end 4\n --> r:1:23",
            ),
            (
                "Between(low: 1, high: 4, stated: 5)",
                "the stated value 5 is not between 1 and 4",
            ),
            (
                "Between(low: 0, high: 4, stated: 1, scale: Log)",
                "cannot begin at 0",
            ),
            (
                "Between(low: \"1 GHz\", high: 4, stated: 4)",
                "expected a number, found",
            ),
            ("Values(values: [64], stated: 64)", "two or more values"),
            ("Values(values: [64, 72, 64], stated: 64)", "listed twice"),
            (
                "Values(values: [Lru, Fifo], stated: Fifi)",
                "did you mean `Fifo`",
            ),
            (
                "Between(low: 1, high: 4, stated: 2, scale: Lag)",
                "did you mean `Log`",
            ),
            (
                "Betwen(low: 1, high: 4, stated: 2)",
                "did you mean `Between`",
            ),
        ] {
            let refused = parameter(range).unwrap_err();
            assert!(refused.contains(told), "{range}: {refused}");
        }
    }
}
