//! Options given by the files, and those that are not modelled.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use warpweave_params::{Diagnostic, Diagnostics, Source, name_hint};

use super::UnknownOptions;
use super::form::flag;
use super::fragment::Fragment;
use super::table::{OPTIONS, OptionEntry, OptionMapping, known};
use super::tokens::words;

/// Value of each option, and the values that were overridden.
#[derive(Debug)]
pub(super) struct OptionValues {
    unknown: UnknownOptions,
    /// Unknown options that are left out, with their values.
    left_out: Vec<(Fragment, Option<Fragment>)>,
    values: BTreeMap<&'static str, Fragment>,
    /// Values overridden by a later value of the same option.
    overruled: Vec<(&'static str, Fragment)>,
    /// Names of the files as shown in messages.
    files: Vec<String>,
}

impl OptionValues {
    pub(super) fn new(unknown: UnknownOptions) -> Self {
        Self {
            unknown,
            left_out: Vec::new(),
            values: BTreeMap::new(),
            overruled: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Adds the options of a file and appends its errors to `problems`.
    pub(super) fn read(&mut self, source: &Arc<Source>, problems: &mut Diagnostics) {
        self.files.push(source.name().to_owned());
        let Some(words) = problems.take(words(source)) else {
            return;
        };
        let mut words = words.into_iter().peekable();
        while let Some(name) = words.next() {
            let is_option = name.text().starts_with('-');
            if known(name.text()).is_none() && is_option {
                // What is an option has a value, unless the next option follows.
                let value = words.next_if(|value| known(value.text()).is_none());
                match self.unknown {
                    UnknownOptions::LeaveOut => self.left_out.push((name, value)),
                    UnknownOptions::Refuse => problems.push(refuse_unknown(&name)),
                }
                continue;
            }
            let Some(option) = problems.take(option(&name)) else {
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

    /// Returns the value of a known option, or its default.
    pub(super) fn value(&self, name: &str) -> Result<Fragment, Diagnostic> {
        let option = known(name).expect("the option is in the table");
        match self.values.get(name) {
            Some(value) => Ok(value.clone()),
            None if option.assumed.is_empty() => Err(Diagnostic::error(format!(
                "`{name}`, which a machine needs, is missing in {}",
                self.files.join(", ")
            ))),
            None => {
                let files = self.files.join(", ");
                let reason = format!(
                    "`{name}` is missing in {files}; the default is {}",
                    option.assumed
                );
                Ok(Fragment::assumed(option.assumed, &reason))
            }
        }
    }

    pub(super) fn is_given(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Returns a numeric option, checked against the range that machines support.
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

    /// Returns table text and formatted value of the options selected by `chosen`, in table order.
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

    /// Returns options with unmodelled effects, each preceded by the effect.
    pub(super) fn lost(&self) -> Vec<(&'static str, String)> {
        self.shown(|option, value| !option.fate.loses_nothing(value.text()))
    }

    /// Returns options, or option values, that do not affect the simulation, each preceded by its
    /// topic.
    pub(super) fn idle(&self) -> Vec<(&'static str, String)> {
        self.shown(|option, value| {
            option.fate != OptionMapping::Mapped && option.fate.loses_nothing(value.text())
        })
    }

    /// Returns the given options among these names, with their values.
    pub(super) fn named(&self, names: &[&str]) -> Vec<String> {
        let named = self.shown(|option, _| names.contains(&option.name));
        named.into_iter().map(|(_, shown)| shown).collect()
    }

    /// Returns the unknown options that are left out, with their values and positions.
    pub(super) fn left_out(&self) -> impl Iterator<Item = String> {
        self.left_out.iter().map(|(name, value)| {
            let line = name.place().map_or(0, |place| place.position().line);
            let value = value
                .as_ref()
                .map(|value| format!(" {}", value.in_a_line()));
            let value = value.unwrap_or_default();
            format!("{}{value} from line {line}", name.in_a_line())
        })
    }

    /// Returns the overridden values with their positions.
    pub(super) fn overruled(&self) -> impl Iterator<Item = String> {
        self.overruled.iter().map(|(name, value)| {
            let line = value.place().map_or(0, |place| place.position().line);
            format!("{name} {} from line {line}", value.in_a_line())
        })
    }
}

fn option(name: &Fragment) -> Result<&'static OptionEntry, Diagnostic> {
    known(name.text()).ok_or_else(|| name.refuse("an option that begins with `-`"))
}

fn refuse_unknown(name: &Fragment) -> Diagnostic {
    let names = OPTIONS.iter().map(|option| option.name);
    let hint = name_hint(name.text(), "options", names);
    let hint = format!("{hint}; `--leave-out-unknown` leaves out what is unknown and lists it");
    name.blame(&format!("unknown option `{}`", name.text()))
        .hint(hint)
}
