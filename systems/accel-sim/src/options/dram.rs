//! DRAM timing parameters and address mapping.

use warpweave_params::{Diagnostic, name_hint};

use super::fragment::Fragment;

/// DRAM timing parameters, in cycles of the command clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Timing {
    values: [Option<u32>; NAMES.len()],
}

/// Parameter names, in positional order for values given without names.
const NAMES: [&str; 14] = [
    "nbk", "CCD", "RRD", "RCD", "RAS", "RP", "RC", "CL", "WL", "CDLR", "WR", "nbkgrp", "CCDL",
    "RTPL",
];

/// Values of the last three, which older files omit: one bank group.
const WITHOUT_GROUPS: [u32; 3] = [1, 0, 0];

impl Timing {
    pub(super) fn read(value: &Fragment) -> Result<Self, Diagnostic> {
        let parts = value.split(':');
        let mut timing = Self::default();
        let named = value.text().contains('=');
        let ungrouped = NAMES.len() - WITHOUT_GROUPS.len();
        if !named && parts.len() != NAMES.len() && parts.len() != ungrouped {
            let expected = "`nbk=16:CCD=2:…`, or 14 numbers separated by `:`, or the first 11";
            return Err(value.refuse(expected));
        }
        for (number, part) in parts.iter().enumerate() {
            let (at, cycles) = if named {
                let [name, cycles] = &part.split('=')[..] else {
                    return Err(part.refuse("a name and a number, as in `CCD=2`"));
                };
                let at = NAMES.iter().position(|known| *known == name.text());
                let at = at.ok_or_else(|| {
                    let hint = name_hint(name.text(), "timing names", NAMES);
                    let message = format!("unknown timing `{}`", name.text());
                    name.blame(&message).hint(hint)
                })?;
                (at, cycles.clone())
            } else {
                (number, part.clone())
            };
            let cycles = cycles.within(0..=1 << 16, "cycles")?;
            if timing.values[at].replace(cycles).is_some() {
                return Err(part.blame(&format!("`{}` is given twice", NAMES[at])));
            }
        }
        for (value, absent) in timing.values[ungrouped..].iter_mut().zip(WITHOUT_GROUPS) {
            value.get_or_insert(absent);
        }
        match NAMES.iter().zip(timing.values).find(|(_, v)| v.is_none()) {
            Some((name, _)) => Err(value.blame(&format!("the timing is missing `{name}`"))),
            None => Ok(timing),
        }
    }

    pub(super) fn of(&self, name: &str) -> u32 {
        let at = NAMES.iter().position(|known| *known == name);
        self.values[at.expect("the name is in the table")].expect("it was read")
    }
}

/// Address bits within a channel that form row, bank and column; least significant first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) row: Vec<u32>,
    pub(super) bank: Vec<u32>,
    /// Column bits, including the byte offset within a burst.
    pub(super) column: Vec<u32>,
}

impl Columns {
    pub(super) fn read(value: &Fragment) -> Result<Self, Diagnostic> {
        let expected = "`dramid@8;` and 64 of the letters 0RBCS, bit 63 first";
        let bits = value.text().strip_prefix("dramid@8;");
        let bits = bits.ok_or_else(|| value.refuse(expected))?;
        let letters: Vec<char> = bits.chars().filter(|c| *c != '.').collect();
        if letters.len() != 64 {
            let message = format!("expected {expected}, found {} letters", letters.len());
            return Err(value.blame(&message));
        }
        let mut columns = Self::default();
        for (bit, letter) in (0..).zip(letters.iter().rev()) {
            match letter {
                'R' => columns.row.push(bit),
                'B' => columns.bank.push(bit),
                'C' | 'S' => columns.column.push(bit),
                '0' => {}
                _ => {
                    let message = format!("expected {expected}, found `{letter}`");
                    return Err(value.blame(&message));
                }
            }
        }
        Ok(columns)
    }
}

/// Returns an expression for address bits in terms of the access number, the address shifted right
/// by `shift`; highest bit first.
pub(super) fn bits(places: &[u32], shift: u32) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for place in places.iter().map(|place| place - shift) {
        match runs.last_mut() {
            Some((_, high)) if *high + 1 == place => *high = place,
            _ => runs.push((place, place)),
        }
    }
    let texts: Vec<String> = runs
        .iter()
        .rev()
        .map(|(low, high)| {
            if low == high {
                format!("a[{low}]")
            } else {
                format!("a[{high}:{low}]")
            }
        })
        .collect();
    match &texts[..] {
        [one] => one.clone(),
        several => format!("{{{}}}", several.join(", ")),
    }
}
