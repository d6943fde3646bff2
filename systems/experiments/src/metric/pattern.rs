//! Patterns that name statistics of instances.

use warpweave_params::nearest;
use warpweave_systems::any_index;
use warpweave_systems::report::{RecordedStatistic, RecordedStatistics};
use wildmatch::WildMatch;

/// `cluster[*].l1[*].reads`: an instance path and, after the last dot, a statistic. In both `*` stands for
/// anything.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    text: String,
    whole: WildMatch,
    path: WildMatch,
    statistic: WildMatch,
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

    /// Whether it names statistics of this instance.
    pub(crate) fn is_of(&self, path: &str) -> bool {
        self.path.matches(path)
    }

    /// Whether it names this statistic of the instances that it names.
    pub(crate) fn is_called(&self, statistic: &str) -> bool {
        self.statistic.matches(statistic)
    }

    /// Whether the whole of it names this path.
    pub(crate) fn is_path(&self, path: &str) -> bool {
        self.text == path || self.whole.matches(path)
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
