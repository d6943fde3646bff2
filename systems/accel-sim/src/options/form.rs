//! Formats of option values and their parsers.

use std::ops::RangeInclusive;

use warpweave_params::{Diagnostic, name_hint};

use super::cache::CacheText;
use super::dram::{Columns, Timing};
use super::fragment::Fragment;

/// Format that the value of an option must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Any text; the value is not checked.
    Text,
    /// A flag, which is either 0 or 1.
    Flag,
    Integer,
    /// A whole number of at least 0.
    Count,
    /// Whole numbers separated by commas, any number of them.
    Counts,
    /// Whole numbers separated by commas, at least and at most so many.
    CountsOf(usize, usize),
    /// A fixed number of counts separated by colons.
    Queues(usize),
    /// Latency and initiation interval in cycles, separated by a comma.
    Pair,
    /// Description of a specialized execution unit.
    Unit,
    /// Clock frequencies in MHz, separated by colons.
    Clocks,
    /// Number of threads and warp width, separated by a colon.
    Pipeline,
    Scheduler,
    Cache,
    Timing,
    Mapping,
}

/// Scheduler names, with the numbers that may follow them.
const SCHEDULERS: [&str; 6] = [
    "lrr",
    "gto",
    "old",
    "rrr",
    "two_level_active:6:0:1",
    "warp_limiting:2:8",
];

impl Form {
    /// Returns the format with this name in the option table.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name.split_once(' ') {
            Some(("counts", count)) => {
                let (least, most) = count.split_once("..").unwrap_or((count, count));
                Self::CountsOf(least.parse().ok()?, most.parse().ok()?)
            }
            Some(("queues", count)) => Self::Queues(count.parse().ok()?),
            Some(_) => return None,
            None => match name {
                "text" => Self::Text,
                "flag" => Self::Flag,
                "integer" => Self::Integer,
                "count" => Self::Count,
                "counts" => Self::Counts,
                "pair" => Self::Pair,
                "unit" => Self::Unit,
                "clocks" => Self::Clocks,
                "pipeline" => Self::Pipeline,
                "scheduler" => Self::Scheduler,
                "cache" => Self::Cache,
                "timing" => Self::Timing,
                "mapping" => Self::Mapping,
                _ => return None,
            },
        })
    }

    /// Checks that a value has this format.
    pub(super) fn check(self, value: &Fragment) -> Result<(), Diagnostic> {
        match self {
            Self::Text => Ok(()),
            Self::Flag => flag(value).map(|_| ()),
            Self::Integer => value.number::<i64>("a whole number").map(|_| ()),
            Self::Count => value.number::<u32>(COUNT).map(|_| ()),
            Self::Counts => counts(value, ',', None).map(|_| ()),
            Self::CountsOf(least, most) => counts(value, ',', Some(least..=most)).map(|_| ()),
            Self::Queues(count) => counts(value, ':', Some(count..=count)).map(|_| ()),
            Self::Pair => pair(value).map(|_| ()),
            Self::Unit => Unit::read(value).map(|_| ()),
            Self::Clocks => clocks(value).map(|_| ()),
            Self::Pipeline => pipeline(value).map(|_| ()),
            Self::Scheduler => scheduler(value).map(|_| ()),
            Self::Cache => CacheText::read(value).map(|_| ()),
            Self::Timing => Timing::read(value).map(|_| ()),
            Self::Mapping => Columns::read(value).map(|_| ()),
        }
    }
}

const COUNT: &str = "a number from 0 to 4294967295";

pub(super) fn flag(value: &Fragment) -> Result<bool, Diagnostic> {
    match value.text() {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(value.refuse("0 or 1")),
    }
}

/// Parses whole numbers separated by `separator`, as many of them as `count` says.
pub(super) fn counts(
    value: &Fragment,
    separator: char,
    count: Option<RangeInclusive<usize>>,
) -> Result<Vec<u32>, Diagnostic> {
    let parts = value.split(separator);
    if let Some(count) = count.filter(|count| !count.contains(&parts.len())) {
        let (least, most) = (count.start(), count.end());
        let count = if least == most {
            least.to_string()
        } else {
            format!("{least} to {most}")
        };
        return Err(value.refuse(&format!("{count} numbers separated by `{separator}`")));
    }
    parts.iter().map(|part| part.number(COUNT)).collect()
}

/// Latency and initiation interval of instructions, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PipeTiming {
    pub(super) latency: u32,
    pub(super) interval: u32,
}

/// Maximum latency and initiation interval of instructions, in cycles.
pub(super) const LATENCY_MAX: u32 = 1 << 16;

pub(super) fn pair(value: &Fragment) -> Result<PipeTiming, Diagnostic> {
    let [latency, interval] = &value.split(',')[..] else {
        return Err(value.refuse("latency and initiation interval, as in `4,1`"));
    };
    Ok(PipeTiming {
        latency: latency.within(1..=LATENCY_MAX, "cycles of latency")?,
        interval: interval.within(1..=LATENCY_MAX, "cycles between instructions")?,
    })
}

/// A specialized unit: enable flag, number of units, and name of the opcodes that it executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) on: bool,
    pub(super) units: u32,
    pub(super) name: String,
}

impl Unit {
    pub(super) fn read(value: &Fragment) -> Result<Self, Diagnostic> {
        let [on, units, latency, collectors, interval, name] = &value.split(',')[..] else {
            let expected = "an enable flag, four numbers and a name, as in `1,4,4,4,4,BRA`";
            return Err(value.refuse(expected));
        };
        for number in [latency, collectors, interval] {
            number.number::<u32>(COUNT)?;
        }
        Ok(Self {
            on: flag(on)?,
            units: units.number(COUNT)?,
            name: name.text().to_owned(),
        })
    }
}

/// Parses the frequencies of cores, interconnect, second level and DRAM, in MHz.
pub(super) fn clocks(value: &Fragment) -> Result<[f64; 4], Diagnostic> {
    let expected = "four frequencies in MHz, as in `700.0:700.0:700.0:924.0`";
    let parts = value.split(':');
    let mut clocks = [0.0; 4];
    if parts.len() != clocks.len() {
        return Err(value.refuse(expected));
    }
    for (part, clock) in parts.iter().zip(&mut clocks) {
        let plain = part.text().bytes();
        let plain = plain
            .into_iter()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
        *clock = part.number("a frequency in MHz")?;
        if !plain || !(1.0..=100_000.0).contains(clock) || part.text().len() > 16 {
            return Err(part.refuse("a frequency from 1 to 100000 MHz"));
        }
    }
    Ok(clocks)
}

/// Returns the number of warps per core.
pub(super) fn pipeline(value: &Fragment) -> Result<u32, Diagnostic> {
    let [threads, width] = &value.split(':')[..] else {
        return Err(value.refuse("threads per core and threads per warp, as in `1536:32`"));
    };
    if width.text() != "32" {
        return Err(width.refuse("a warp of 32 threads"));
    }
    let count: u32 = threads.number(COUNT)?;
    if count.is_multiple_of(32) && (1..=64).contains(&(count / 32)) {
        Ok(count / 32)
    } else {
        Err(threads.refuse("a thread count from 32 to 2048 that is a multiple of 32"))
    }
}

/// Parses the name of a scheduler and its numbers.
pub(super) fn scheduler(value: &Fragment) -> Result<(String, Vec<u32>), Diagnostic> {
    let parts = value.split(':');
    let known = SCHEDULERS.iter().find(|known| {
        let mut words = known.split(':');
        words.next() == parts.first().map(Fragment::text)
    });
    let Some(known) = known else {
        let message = format!("unknown scheduler `{}`", value.text());
        let hint = name_hint(value.text(), "schedulers", SCHEDULERS);
        return Err(value.blame(&message).hint(hint));
    };
    if known.split(':').count() != parts.len() {
        return Err(value.refuse(&format!("something like `{known}`")));
    }
    let numbers = parts[1..].iter().map(|part| part.number(COUNT));
    Ok((
        parts[0].text().to_owned(),
        numbers.collect::<Result<_, _>>()?,
    ))
}
