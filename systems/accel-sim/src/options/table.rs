//! The options there are: how their values look, and what becomes of them.

use std::sync::LazyLock;

use super::form::Form;

/// One option.
#[derive(Debug)]
pub(super) struct OptionEntry {
    /// With its minus sign.
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// What holds where it is not given; empty where it is not used, or needed.
    pub(super) assumed: &'static str,
    pub(super) fate: OptionMapping,
    /// What it becomes, or what is not modelled, or what it is about.
    pub(super) text: &'static str,
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionMapping {
    /// The machine has it.
    Mapped,
    /// It has an effect that is not modelled, but for this value.
    Lost { neutral: &'static str },
    /// It has no effect on what is simulated.
    Outside,
}

/// All options.
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
        Some(("!", neutral)) => OptionMapping::Lost {
            neutral: neutral.trim(),
        },
        _ => panic!("`{fate}` is a fate"),
    };
    let form = Form::named(form).unwrap_or_else(|| panic!("`{form}` is a form"));
    OptionEntry {
        name,
        form,
        assumed,
        fate,
        text,
    }
}

/// The option of this name.
pub(super) fn known(name: &str) -> Option<&'static OptionEntry> {
    OPTIONS.iter().find(|known| known.name == name)
}

impl OptionMapping {
    /// Whether nothing is lost with this value.
    pub(super) fn loses_nothing(self, value: &str) -> bool {
        match self {
            Self::Mapped | Self::Outside => true,
            Self::Lost { neutral: "off" } => value.starts_with("0,"),
            Self::Lost { neutral } => neutral == value,
        }
    }
}
