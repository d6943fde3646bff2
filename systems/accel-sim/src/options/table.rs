//! Table of known options: value formats and treatment on import.

use std::sync::LazyLock;

use super::form::Form;

/// A known option, one row of the table.
#[derive(Debug)]
pub(super) struct OptionEntry {
    /// Name of the option, including its leading minus sign.
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// Default value; empty if the option is required, or not used.
    pub(super) assumed: &'static str,
    pub(super) fate: OptionMapping,
    /// Result of the mapping, the unmodelled effect, the topic, or the present name, depending on
    /// `fate`.
    pub(super) text: &'static str,
}

/// Treatment of an option on import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionMapping {
    /// The option is mapped to a parameter of the machine.
    Mapped,
    /// Its effect is not modelled; the value `neutral` has no effect.
    Lost { neutral: &'static str },
    /// Has no effect on the simulation.
    Outside,
    /// An older name of another option.
    Renamed,
}

/// All known options, in the order of the table file.
pub(super) static OPTIONS: LazyLock<Vec<OptionEntry>> = LazyLock::new(|| {
    let lines = include_str!("options.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.map(row).collect()
});

fn row(line: &'static str) -> OptionEntry {
    let columns: Vec<&str> = line.splitn(5, '|').collect();
    let [name, form, assumed, fate, text] = columns[..] else {
        panic!("`{line}` has five columns");
    };
    let fate = match fate.split_at_checked(1) {
        Some(("=", "")) => OptionMapping::Mapped,
        Some(("-", "")) => OptionMapping::Outside,
        Some((">", "")) => OptionMapping::Renamed,
        Some(("!", neutral)) => OptionMapping::Lost {
            neutral: neutral.trim(),
        },
        _ => panic!("`{fate}` is not a known fate"),
    };
    let form = Form::named(form).unwrap_or_else(|| panic!("`{form}` is not a known form"));
    OptionEntry {
        name,
        form,
        assumed,
        fate,
        text,
    }
}

/// Looks up a known option by its present name or an older one.
pub(super) fn known(name: &str) -> Option<&'static OptionEntry> {
    let named = |name: &str| OPTIONS.iter().find(|known| known.name == name);
    let found = named(name)?;
    match found.fate {
        OptionMapping::Renamed => named(found.text),
        _ => Some(found),
    }
}

impl OptionMapping {
    /// True if no effect is lost with this value.
    pub(super) fn loses_nothing(self, value: &str) -> bool {
        match self {
            Self::Mapped | Self::Outside | Self::Renamed => true,
            Self::Lost { neutral: "off" } => value.starts_with("0,"),
            Self::Lost { neutral } => neutral == value,
        }
    }
}
