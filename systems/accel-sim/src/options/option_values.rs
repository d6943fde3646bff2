//! The options that files give, and what of them is lost.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use warpweave_params::{Diagnostic, Diagnostics, Source, name_hint};

use super::form::flag;
use super::fragment::Fragment;
use super::table::{OPTIONS, OptionEntry, OptionMapping, known};
use super::tokens::words;

/// The value of each option, and what was overruled.
#[derive(Debug, Default)]
pub(super) struct OptionValues {
    values: BTreeMap<&'static str, Fragment>,
    /// Values that a later one of the same option took the place of.
    overruled: Vec<(&'static str, Fragment)>,
    /// The files, as messages name them.
    files: Vec<String>,
}

impl OptionValues {
    /// Adds the options of a file.
    pub(super) fn read(&mut self, source: &Arc<Source>, problems: &mut Diagnostics) {
        self.files.push(source.name().to_owned());
        let Some(words) = problems.take(words(source)) else {
            return;
        };
        let mut words = words.into_iter();
        while let Some(name) = words.next() {
            let Some(option) = problems.take(option(&name)) else {
                // What is no option may be a value too many; what is one has a value.
                if name.text().starts_with('-') {
                    words.next();
                }
                continue;
            };
            let value = words.next().filter(|value| known(value.text()).is_none());
            let Some(value) = value else {
                problems.push(name.blame(&format!("`{}` has no value", option.name)));
                return;
            };
            if problems.take(option.form.check(&value)).is_some()
                && let Some(before) = self.values.insert(option.name, value)
            {
                self.overruled.push((option.name, before));
            }
        }
    }

    /// The value of an option of the table, or what holds without.
    pub(super) fn value(&self, name: &str) -> Result<Fragment, Diagnostic> {
        let option = known(name).expect("it is in the table");
        match self.values.get(name) {
            Some(value) => Ok(value.clone()),
            None if option.assumed.is_empty() => Err(Diagnostic::error(format!(
                "`{name}`, which a machine needs, is not in {}",
                self.files.join(", ")
            ))),
            None => {
                let files = self.files.join(", ");
                let reason = format!("`{name}` is not in {files}: it is {}", option.assumed);
                Ok(Fragment::assumed(option.assumed, &reason))
            }
        }
    }

    pub(super) fn is_given(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// A number of an option, within what machines may have.
    pub(super) fn count(
        &self,
        name: &str,
        range: RangeInclusive<u32>,
        what: &str,
    ) -> Result<u32, Diagnostic> {
        self.value(name)?.within(range, what)
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Diagnostic> {
        flag(&self.value(name)?)
    }

    /// Option and value, for those to which `chosen` applies, in the order of the table.
    fn shown(
        &self,
        chosen: impl Fn(&OptionEntry, &Fragment) -> bool,
    ) -> Vec<(&'static str, String)> {
        let all = OPTIONS.iter().filter_map(|option| {
            let value = self.values.get(option.name)?;
            let shown = format!("{} {}", option.name, value.in_a_line());
            chosen(option, value).then_some((option.text, shown))
        });
        all.collect()
    }

    /// Options with an effect that is not modelled, after what is not modelled.
    pub(super) fn lost(&self) -> Vec<(&'static str, String)> {
        self.shown(|option, value| !option.fate.loses_nothing(value.text()))
    }

    /// Options without effect on what is simulated, or with values that have none, after what they are about.
    pub(super) fn idle(&self) -> Vec<(&'static str, String)> {
        self.shown(|option, value| {
            option.fate != OptionMapping::Mapped && option.fate.loses_nothing(value.text())
        })
    }

    /// Options of these names that are given, with their values.
    pub(super) fn named(&self, names: &[&str]) -> Vec<String> {
        let named = self.shown(|option, _| names.contains(&option.name));
        named.into_iter().map(|(_, shown)| shown).collect()
    }

    /// Values that do not count, with their places.
    pub(super) fn overruled(&self) -> impl Iterator<Item = String> {
        self.overruled.iter().map(|(name, value)| {
            let line = value.place().map_or(0, |place| place.position().line);
            format!("{name} {} of line {line}", value.in_a_line())
        })
    }
}

fn option(name: &Fragment) -> Result<&'static OptionEntry, Diagnostic> {
    if !name.text().starts_with('-') {
        return Err(name.refuse("an option, which begins with `-`"));
    }
    known(name.text()).ok_or_else(|| {
        let names = OPTIONS.iter().map(|option| option.name);
        let hint = name_hint(name.text(), "options", names);
        name.blame(&format!("unknown option `{}`", name.text()))
            .hint(hint)
    })
}
