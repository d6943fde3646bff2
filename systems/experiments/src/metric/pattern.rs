//! Patterns that name statistics of instances.

use std::fmt;

use warpweave_params::nearest;
use warpweave_systems::report::{RecordedStatistic, RecordedStatistics};
use wildmatch::WildMatch;

/// `cluster[*].l1[*].reads`: an instance path and a statistic, in both of which `*` stands for anything.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    text: String,
    fits: WildMatch,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            fits: WildMatch::new(text),
        }
    }

    /// The pattern as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it names this statistic of this instance.
    pub fn fits(&self, path: &str, statistic: &str) -> bool {
        self.fits.matches(&format!("{path}.{statistic}"))
    }

    /// Whether it names this path.
    pub(super) fn is_path(&self, path: &str) -> bool {
        self.text == path || self.fits.matches(path)
    }

    /// Everything that it names, in the order of the paths.
    ///
    /// # Errors
    /// It names nothing: with the nearest name that there is.
    pub(super) fn statistics<'s>(
        &self,
        all: &'s RecordedStatistics,
    ) -> Result<Vec<(String, &'s RecordedStatistic)>, String> {
        let mut found = Vec::new();
        for (path, statistics) in all {
            for (name, statistic) in statistics {
                if self.fits(path, name) {
                    found.push((format!("{path}.{name}"), statistic));
                }
            }
        }
        if found.is_empty() {
            let known = all
                .iter()
                .flat_map(|(path, names)| names.keys().map(move |name| format!("{path}.{name}")));
            let known: Vec<String> = known.collect();
            return Err(self.names_no(known.iter().map(String::as_str)));
        }
        Ok(found)
    }

    /// That it names nothing, and what is nearest to it.
    pub fn names_no<'k>(&self, known: impl Iterator<Item = &'k str>) -> String {
        // Any index is as near as any other.
        let mut known: Vec<String> = known.map(any_index).collect();
        known.sort();
        known.dedup();
        let near = nearest(&self.text, known.iter().map(String::as_str));
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        format!("`{}` names nothing{near}", self.text)
    }
}

/// The path with `[*]` for every index.
fn any_index(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    let mut inside = false;
    for c in path.chars() {
        match c {
            '[' => {
                text.push_str("[*]");
                inside = true;
            }
            ']' => inside = false,
            c if !inside => text.push(c),
            _ => {}
        }
    }
    text
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
