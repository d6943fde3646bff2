//! Region of interest of a scenario: the launches of a program that are simulated.

use serde::{Deserialize, Serialize};
use warpweave_params::{
    Diagnostic, Diagnostics, Kind, Node, Placed, Span, from_node, name_hint, out_of_range,
};
use wildmatch::WildMatch;

/// Selection of a program's launches, and the treatment of the others.
#[derive(Clone, Debug)]
pub struct Region {
    /// Patterns of kernel names; empty for every name.
    kernels: Vec<Placed<String>>,
    /// Ranges of launch numbers; empty for every number.
    pub(crate) launches: Vec<Placed<LaunchRange>>,
    /// Minimum amount of work of a launch, including its descendants.
    pub(crate) at_least: Amount,
    /// Sample taken from the selected launches; `None` for all of them.
    pub(crate) sample: Option<Sample>,
    /// Treatment of the launches outside the region.
    pub outside: Outside,
    /// Location of the region in the scenario.
    pub(crate) place: Span,
}

/// Half-open range of launch numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaunchRange {
    pub(crate) from: u32,
    /// End of the range, exclusive; `None` for the end of the program.
    pub(crate) until: Option<u32>,
}

/// Amount of work that a launch does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Amount {
    pub(crate) work_groups: u64,
    pub(crate) wavefront_instructions: u64,
}

/// Sampling of the selected launches within strata. A stratum holds the launches of one kernel
/// whose wavefront instruction counts have equally many binary digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum Sample {
    /// Takes the first launch of each stratum, and every n-th after it. Also takes the last one if
    /// there would be only one.
    Every {
        /// Sampling interval in launches, at least 1.
        launches: u32,
    },
    /// Takes this many launches of each stratum at random.
    Draw {
        /// Number of launches per stratum, at least 2.
        launches: u32,
        /// Seed of the random draw; 1 by default.
        #[serde(default = "Sample::default_seed")]
        seed: u64,
    },
}

impl Sample {
    fn default_seed() -> u64 {
        1
    }
}

/// Treatment of launches that do not belong to the region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outside {
    /// Skips these launches without any effect.
    #[default]
    Skip,
    /// Replays launches that precede a launch of the region through the caches by functional
    /// access. Launches after the last one are skipped.
    Warm,
    /// Simulates all launches before the last launch of the region. Launches after it are skipped.
    Simulate,
}

impl Outside {
    /// Returns the name used in descriptions and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Skip => "Skip",
            Self::Warm => "Warm",
            Self::Simulate => "Simulate",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatedRegion {
    #[serde(default)]
    kernels: Option<Node>,
    #[serde(default)]
    launches: Option<Node>,
    #[serde(default)]
    at_least: Amount,
    #[serde(default)]
    sample: Option<Placed<Sample>>,
    #[serde(default)]
    outside: Outside,
}

impl Region {
    /// Parses and checks the field `region` of a scenario.
    pub(crate) fn read(node: &Node) -> Result<Self, Diagnostics> {
        let stated: StatedRegion = from_node(node)?;
        let mut problems = Diagnostics::new();
        let mut kernels = Vec::new();
        for item in items(stated.kernels.as_ref()) {
            kernels.extend(problems.take(from_node::<Placed<String>>(item)));
        }
        let mut launches = Vec::new();
        for item in items(stated.launches.as_ref()) {
            launches.extend(problems.take(range(item)));
        }
        if let Some(sample) = &stated.sample {
            problems.take(check_sample(sample, stated.outside));
        }
        if problems.has_errors() {
            return Err(problems);
        }
        Ok(Self {
            kernels,
            launches,
            at_least: stated.at_least,
            sample: stated.sample.map(|sample| sample.value),
            outside: stated.outside,
            place: node.head_span(),
        })
    }

    /// Checks that every pattern matches one of the kernels that the program launches.
    pub(super) fn check_names(&self, known: &[String], problems: &mut Diagnostics) {
        for pattern in &self.kernels {
            let wanted = WildMatch::new(&pattern.value);
            if !known.iter().any(|name| wanted.matches(name)) {
                let what = "kernels that the program launches";
                let hint = name_hint(&pattern.value, what, known.iter().map(String::as_str));
                let message = format!(
                    "the program does not launch a kernel named `{}`",
                    pattern.value
                );
                problems.push(pattern.error(message).hint(hint));
            }
        }
    }

    /// True if the region includes kernels of this name.
    pub(crate) fn names(&self, kernel: &str) -> bool {
        let mut patterns = self.kernels.iter();
        self.kernels.is_empty() || patterns.any(|p| WildMatch::new(&p.value).matches(kernel))
    }

    /// True if the region is known to include every launch of a kernel of this name.
    pub(crate) fn holds_all_of(&self, kernel: &str) -> bool {
        let all = self.launches.is_empty() && self.at_least == Amount::default();
        all && self.sample.is_none() && self.names(kernel)
    }

    /// True if the region includes launches of this number.
    pub(crate) fn numbers(&self, launch: u32) -> bool {
        let mut ranges = self.launches.iter();
        self.launches.is_empty() || ranges.any(|range| range.value.holds(launch))
    }
}

impl LaunchRange {
    pub(crate) fn holds(self, launch: u32) -> bool {
        launch >= self.from && self.until.is_none_or(|until| launch < until)
    }
}

/// Returns the elements of a list, or a single value as a list of one.
fn items(node: Option<&Node>) -> &[Node] {
    match node {
        None => &[],
        Some(node) => match &node.kind {
            Kind::List(items) => items,
            _ => std::slice::from_ref(node),
        },
    }
}

/// Parses `7`, or a text: `"5..8"`, `"40.."`, `"..3"`, `"7"`.
fn range(node: &Node) -> Result<Placed<LaunchRange>, Diagnostic> {
    let read = match &node.kind {
        Kind::Int(number) => u32::try_from(*number).ok().map(only),
        Kind::Text(text) => range_of(text),
        _ => None,
    };
    let empty = |range: &LaunchRange| range.until.is_some_and(|until| until <= range.from);
    match read {
        Some(range) if empty(&range) => {
            let message = format!("empty launch range {}", node.describe());
            let hint = "the number after `..` is excluded";
            Err(Diagnostic::error(message).at(&node.head_span()).hint(hint))
        }
        Some(range) => Ok(Placed::at(range, &node.span)),
        None => {
            let message = format!(
                "`launches` must hold launch numbers and ranges, found {}",
                node.describe()
            );
            let hint =
                "such as `launches: [0, \"5..8\", \"40..\"]`: 0, 5, 6, 7, and all from 40 on";
            Err(Diagnostic::error(message).at(&node.head_span()).hint(hint))
        }
    }
}

fn only(number: u32) -> LaunchRange {
    LaunchRange {
        from: number,
        until: number.checked_add(1),
    }
}

fn range_of(text: &str) -> Option<LaunchRange> {
    let Some((from, until)) = text.split_once("..") else {
        return text.trim().parse().ok().map(only);
    };
    let number = |text: &str, absent| match text.trim() {
        "" => Some(absent),
        digits => digits.parse().ok().map(Some),
    };
    Some(LaunchRange {
        from: number(from, Some(0))?.unwrap_or(0),
        until: number(until, None)?,
    })
}

fn check_sample(sample: &Placed<Sample>, outside: Outside) -> Result<(), Diagnostic> {
    let (launches, least, why) = match sample.value {
        Sample::Every { launches } => (launches, 1, "1 selects all of them"),
        Sample::Draw { launches, .. } => (
            launches,
            2,
            "a single launch gives no estimate of the variation between launches",
        ),
    };
    if let Some(problem) = out_of_range(&launches, &(least..)) {
        return Err(sample.error(format!("launches: {problem}")).hint(why));
    }
    if outside == Outside::Simulate {
        let message = "a sample estimates what is not simulated, but `outside: Simulate` simulates everything";
        return Err(sample
            .error(message)
            .hint("`outside: Warm` keeps the contents of caches close to those of a whole run"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use warpweave_params::{Source, parse};

    use super::*;

    fn read(text: &str) -> Result<Region, String> {
        let node = parse(&Source::new("region.ron", text)).unwrap();
        Region::read(&node).map_err(|problems| problems.to_string())
    }

    #[test]
    fn numbers_and_ranges_are_read_as_they_are_written() {
        let region = read(r#"(launches: [0, "5..8", "40.."])"#).unwrap();
        let taken: Vec<u32> = (0..50).filter(|launch| region.numbers(*launch)).collect();
        let expected: Vec<u32> = [0, 5, 6, 7].into_iter().chain(40..50).collect();
        assert_eq!(taken, expected);
        assert!(read(r#"(launches: "..3")"#).unwrap().numbers(2));
        assert!(read("()").unwrap().numbers(u32::MAX));
    }

    #[test]
    fn patterns_of_names_stand_alone_or_in_a_list() {
        let region = read(r#"(kernels: ["bfs_*", "scan"])"#).unwrap();
        assert!(region.names("bfs_level") && region.names("scan") && !region.names("scan2"));
        assert!(read(r#"(kernels: "s*")"#).unwrap().names("scan2"));
        assert!(read("()").unwrap().names("any"));
    }

    #[test]
    fn mistakes_are_refused_with_their_place_and_a_way_out() {
        for (text, says, column) in [
            (r#"(launches: "5..5")"#, "empty launch range", 12),
            (
                r#"(launches: ["x"])"#,
                "`launches` must hold launch numbers",
                13,
            ),
            ("(launches: -1)", "`launches` must hold launch numbers", 12),
            ("(kernel: \"a\")", "did you mean `kernels`?", 2),
            ("(outside: Warn)", "did you mean `Warm`?", 11),
            ("(sample: Draw(launches: 1))", "launches: 1", 10),
            ("(sample: Every(launches: 0))", "launches: 0", 10),
            (
                "(sample: Every(launches: 2), outside: Simulate)",
                "a sample estimates what is not simulated",
                10,
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
            let place = format!("region.ron:1:{column}\n");
            assert!(error.contains(&place), "{text}: {error}");
        }
    }

    #[test]
    fn a_name_that_fits_no_kernel_is_refused_with_the_nearest() {
        let region = read(r#"(kernels: ["bfs_levl", "bfs_*"])"#).unwrap();
        let mut problems = Diagnostics::new();
        region.check_names(&["bfs_level", "scan"].map(str::to_owned), &mut problems);
        let text = problems.to_string();
        assert!(
            text.contains("the program does not launch a kernel named `bfs_levl`"),
            "{text}"
        );
        assert!(text.contains("region.ron:1:12\n"), "{text}");
        assert!(text.contains("did you mean `bfs_level`?"), "{text}");
        assert!(!text.contains("`bfs_*`"), "{text}");
    }
}
