//! Patterns that match statistics of instances.

use std::fmt;

use warpweave_params::nearest;
use warpweave_systems::any_index;
use warpweave_systems::report::{RecordedStatistic, RecordedStatistics};
use wildmatch::WildMatch;

/// Pattern such as `cluster[*].l1[*].reads`: an instance path and, after the last dot, a statistic.
/// In both, `*` matches anything.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    text: String,
    whole: WildMatch,
    path: WildMatch,
    statistic: WildMatch,
}

/// Formats as written, in backquotes.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.text)
    }
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
        let (path, statistic) = text.rsplit_once('.').unwrap_or((text, ""));
        Self {
            text: text.to_owned(),
            whole: WildMatch::new(text),
            path: WildMatch::new(path),
            statistic: WildMatch::new(statistic),
        }
    }

    /// True if it matches statistics of this instance.
    pub(crate) fn is_of(&self, path: &str) -> bool {
        self.path.matches(path)
    }

    /// True if it matches this statistic of the instances that it matches.
    pub(crate) fn is_called(&self, statistic: &str) -> bool {
        self.statistic.matches(statistic)
    }

    /// True if the whole pattern matches this path.
    pub(crate) fn is_path(&self, path: &str) -> bool {
        self.text == path || self.whole.matches(path)
    }

    /// Returns all matching statistics in the order of their paths.
    ///
    /// # Errors
    /// Returns an error if it matches nothing, with the nearest existing name.
    pub(super) fn statistics<'s>(
        &self,
        all: &'s RecordedStatistics,
    ) -> Result<Vec<(String, &'s RecordedStatistic)>, String> {
        let mut found = Vec::new();
        for (path, statistics) in all.iter().filter(|(path, _)| self.is_of(path)) {
            let named = statistics.iter().filter(|(name, _)| self.is_called(name));
            found.extend(named.map(|(name, statistic)| (format!("{path}.{name}"), statistic)));
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

    /// Returns a message that it matches nothing, with the nearest known name.
    pub fn names_no<'k>(&self, known: impl Iterator<Item = &'k str>) -> String {
        // Any index is as near as any other.
        let mut known: Vec<String> = known.map(any_index).collect();
        known.sort();
        known.dedup();
        let near = nearest(&self.text, known.iter().map(String::as_str)).map(str::to_owned);
        let near = near.or_else(|| self.nearest_by_part(&known));
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        format!("`{}` names nothing{near}", self.text)
    }

    /// Returns the nearest name, with the part and its statistic each looked up on its own. What
    /// exists is kept.
    fn nearest_by_part(&self, known: &[String]) -> Option<String> {
        let split = |name: &String| {
            let (path, statistic) = name.rsplit_once('.')?;
            Some((path.to_owned(), statistic.to_owned()))
        };
        let names: Vec<(String, String)> = known.iter().filter_map(split).collect();
        let (path, statistic) = self.text.rsplit_once('.').unwrap_or((&self.text, ""));
        let has = |part: &str, wanted: &WildMatch| wanted.matches(part) || part == path;
        let existing = names.iter().find(|(known, _)| has(known, &self.path));
        let path = if let Some((known, _)) = existing {
            known
        } else {
            // A part with this statistic is meant rather than another.
            let with = names.iter().filter(|(_, known)| self.is_called(known));
            let with = nearest(path, with.map(|(known, _)| known.as_str()));
            with.or_else(|| nearest(path, names.iter().map(|(known, _)| known.as_str())))?
        };
        let of_path = || names.iter().filter(|(known, _)| known == path);
        if of_path().any(|(_, known)| self.is_called(known)) {
            return Some(format!("{path}.{statistic}"));
        }
        let near = nearest(statistic, of_path().map(|(_, known)| known.as_str()))?;
        Some(format!("{path}.{near}"))
    }
}
