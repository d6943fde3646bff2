//! Parser for BookSim-style interconnect files, with lines such as `vc_buf_size = 64;`.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use warpweave_params::{Diagnostic, Files, Source, name_hint};

use super::fragment::Fragment;
use super::option_values::OptionValues;

/// Router of a single crossbar, in terms of our description files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Router {
    pub(super) flit_bytes: u32,
    pub(super) buffer_flits: u32,
    /// Number of iSLIP iterations per allocation.
    pub(super) iterations: u32,
    pub(super) internal_speedup: u32,
    pub(super) input_cycles: u32,
    pub(super) output_cycles: u32,
    pub(super) credit_cycles: u32,
}

/// Treatment of an interconnect field on import.
#[derive(Clone, Copy, Debug)]
enum Field {
    /// Sets a number of [`Router`]; the two values bound its range.
    Number(u32, u32),
    /// Must have this value, the only one supported.
    Only(&'static str),
    /// Values other than this one are not modelled.
    Unless(&'static str),
    /// Has no effect on the simulation.
    Idle,
}

/// Known fields, with their defaults.
const FIELDS: [(&str, Field, &str); 38] = [
    ("topology", Field::Only("fly"), ""),
    ("n", Field::Only("1"), ""),
    ("k", Field::Number(2, 4096), ""),
    ("routing_function", Field::Only("dest_tag"), "dest_tag"),
    ("subnets", Field::Only("2"), "2"),
    ("flit_size", Field::Number(1, 4096), ""),
    ("num_vcs", Field::Unless("1"), "1"),
    ("vc_buf_size", Field::Number(1, 4096), ""),
    ("vc_allocator", Field::Only("islip"), "islip"),
    ("sw_allocator", Field::Only("islip"), "islip"),
    ("alloc_iters", Field::Number(1, 8), "1"),
    ("internal_speedup", Field::Number(1, 4), "1"),
    ("routing_delay", Field::Number(0, 64), "0"),
    ("vc_alloc_delay", Field::Number(0, 64), "1"),
    ("sw_alloc_delay", Field::Number(0, 64), "1"),
    ("st_prepare_delay", Field::Number(0, 64), "0"),
    ("st_final_delay", Field::Number(0, 64), "1"),
    ("credit_delay", Field::Number(0, 64), "0"),
    ("input_speedup", Field::Unless("1"), "1"),
    ("output_speedup", Field::Unless("1"), "1"),
    ("wait_for_tail_credit", Field::Unless("0"), "0"),
    ("input_buffer_size", Field::Unless(""), ""),
    ("ejection_buffer_size", Field::Unless(""), ""),
    ("boundary_buffer_size", Field::Unless(""), ""),
    ("speculative", Field::Unless("0"), "0"),
    ("network_count", Field::Idle, ""),
    ("use_map", Field::Idle, ""),
    ("traffic", Field::Idle, ""),
    ("packet_size", Field::Idle, ""),
    ("packet_size_rate", Field::Idle, ""),
    ("sim_type", Field::Idle, ""),
    ("injection_rate", Field::Idle, ""),
    ("use_read_write", Field::Idle, ""),
    ("read_request_subnet", Field::Unless("0"), "0"),
    ("read_reply_subnet", Field::Unless("1"), "1"),
    ("write_request_subnet", Field::Unless("0"), "0"),
    ("write_reply_subnet", Field::Unless("1"), "1"),
    ("print_activity", Field::Idle, ""),
];

/// Fields that exist for each packet kind; there is a single virtual channel, number 0.
const CHANNELS: [&str; 8] = [
    "read_request_begin_vc",
    "read_request_end_vc",
    "read_reply_begin_vc",
    "read_reply_end_vc",
    "write_request_begin_vc",
    "write_request_end_vc",
    "write_reply_begin_vc",
    "write_reply_end_vc",
];

/// Option that names the interconnect file.
const FILE: &str = "-inter_config_file";

impl Router {
    /// Returns the Fermi router that is used by GPGPU-Sim.
    fn fermi(flit_bytes: u32) -> Self {
        Self {
            flit_bytes,
            buffer_flits: 64,
            iterations: 1,
            internal_speedup: 2,
            input_cycles: 2,
            output_cycles: 3,
            credit_cycles: 2,
        }
    }

    /// Returns the router from the interconnect file next to the option file, or the Fermi router
    /// if there is none. The router must have `ports` ports. The flag is true if the file gives the
    /// flit size.
    pub(super) fn of(
        given: &OptionValues,
        ports: u32,
        notes: &mut Vec<String>,
    ) -> Result<(Self, bool), Diagnostic> {
        let flit_bytes = given.count("-icnt_flit_size", 1..=4096, "bytes")?;
        let name = given.value(FILE)?;
        let beside = name.place().map(|place| Path::new(place.source.name()));
        let path = beside.map(|options| options.with_file_name(name.text()));
        let Some(path) = path.filter(|path| path.is_file()) else {
            if given.is_given(FILE) {
                let what = "no such file in the folder of the options; the Fermi router is used";
                notes.push(format!("{FILE} {}: {what}", name.in_a_line()));
            }
            return Ok((Self::fermi(flit_bytes), false));
        };
        let described = Described::read(&Files::default().description(&path, &[])?)?;
        let other = described.otherwise();
        notes.extend(
            other.map(|field| format!("{FILE} {}: {field} is not modelled", name.in_a_line())),
        );
        let has_flits = described.value("flit_size").is_some();
        Ok((described.router(flit_bytes, ports)?, has_flits))
    }
}

/// Fields and values read from an interconnect file.
struct Described {
    source: Arc<Source>,
    fields: Vec<(&'static str, Fragment)>,
}

impl Described {
    fn read(source: &Arc<Source>) -> Result<Self, Diagnostic> {
        let mut fields: Vec<(&'static str, Fragment)> = Vec::new();
        for (name, value) in statements(source)? {
            let names = FIELDS.iter().map(|(name, ..)| *name).chain(CHANNELS);
            let known = names.clone().find(|known| *known == name.text());
            let Some(known) = known else {
                let hint = name_hint(name.text(), "fields", names);
                let message = format!("unknown interconnect field `{}`", name.text());
                return Err(name.blame(&message).hint(hint));
            };
            if fields.iter().any(|(before, _)| *before == known) {
                return Err(name.blame(&format!("`{known}` is given twice")));
            }
            let found = FIELDS.iter().find(|(name, ..)| *name == known);
            let field = found.map_or(Field::Only("0"), |(_, field, _)| *field);
            match field {
                Field::Number(least, most) => {
                    number(&value, least..=most)?;
                }
                Field::Only(only) if value.text() != only => {
                    let why = "the interconnect model has one crossbar for requests and one for replies, with a queue at each port";
                    return Err(value.refuse(only).hint(why));
                }
                _ => {}
            }
            fields.push((known, value));
        }
        Ok(Self {
            source: Arc::clone(source),
            fields,
        })
    }

    fn value(&self, name: &str) -> Option<&Fragment> {
        let found = self.fields.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value)
    }

    /// Returns a numeric field or its default.
    fn number(&self, name: &str) -> Result<u32, Diagnostic> {
        match (
            self.value(name),
            FIELDS.iter().find(|(known, ..)| *known == name),
        ) {
            (Some(value), _) => number(value, 0..=u32::MAX),
            (None, Some((.., assumed))) if !assumed.is_empty() => {
                Ok(assumed.parse().expect("the default is a number"))
            }
            (None, _) => {
                let message = format!("`{name}` is missing in {}", self.source.name());
                Err(Diagnostic::error(message))
            }
        }
    }

    /// Returns fields with values that are not modelled as given.
    fn otherwise(&self) -> impl Iterator<Item = String> {
        self.fields.iter().filter_map(|(name, value)| {
            let (_, field, _) = FIELDS.iter().find(|(known, ..)| known == name)?;
            let is_other = matches!(field, Field::Unless(neutral) if value.text() != *neutral);
            is_other.then(|| format!("{name} = {}", value.in_a_line()))
        })
    }

    fn router(&self, flit_bytes: u32, ports: u32) -> Result<Router, Diagnostic> {
        for needed in ["topology", "n", "k", "vc_buf_size"] {
            if self.value(needed).is_none() {
                let message = format!("`{needed}` is missing in {}", self.source.name());
                return Err(Diagnostic::error(message));
            }
        }
        if let Some(k) = self.value("k")
            && number(k, 2..=4096)? < ports
        {
            let expected = format!("at least {ports} ports, one for each cluster and each slice");
            return Err(k.refuse(&expected));
        }
        let sum = |names: &[&str]| {
            let each = names.iter().map(|name| self.number(name));
            each.sum::<Result<u32, Diagnostic>>()
        };
        let flits = self.value("flit_size").map(|value| number(value, 1..=4096));
        Ok(Router {
            flit_bytes: flits.transpose()?.unwrap_or(flit_bytes),
            buffer_flits: self.number("vc_buf_size")?,
            iterations: self.number("alloc_iters")?,
            internal_speedup: self.number("internal_speedup")?,
            // Stages before the switch, of which there is one at least.
            input_cycles: sum(&["routing_delay", "vc_alloc_delay", "sw_alloc_delay"])?.max(1),
            // Those behind it, and the wires on both sides.
            output_cycles: 2 + sum(&["st_prepare_delay", "st_final_delay"])?,
            credit_cycles: 2 + self.number("credit_delay")?,
        })
    }
}

/// Parses a whole number, which may have a zero fraction.
fn number(value: &Fragment, range: RangeInclusive<u32>) -> Result<u32, Diagnostic> {
    let text = value.text();
    let whole = match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole,
        _ => text,
    };
    let expected = format!("a whole number from {} to {}", range.start(), range.end());
    match whole.parse() {
        Ok(number) if range.contains(&number) && !whole.starts_with('+') => Ok(number),
        _ => Err(value.refuse(&expected)),
    }
}

/// Splits a text into names and values: `name = value;`, with comments from `//` to the end of the
/// line.
fn statements(source: &Arc<Source>) -> Result<Vec<(Fragment, Fragment)>, Diagnostic> {
    let text = source.text();
    let piece = |start: usize, end: usize| Fragment::placed(source.span(start, end));
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        at = after_blanks(text, at);
        if at == text.len() {
            return Ok(found);
        }
        let name_end = at + length(&text[at..], |c| c.is_ascii_alphanumeric() || c == '_');
        if name_end == at {
            let character = text[at..].chars().next().map_or(0, char::len_utf8);
            return Err(piece(at, at + character).refuse("a field name"));
        }
        let name = piece(at, name_end);
        at = after_blanks(text, name_end);
        if !text[at..].starts_with('=') {
            return Err(name.blame(&format!("`{}` has no value: expected `=`", name.text())));
        }
        let start = after_blanks(text, at + 1);
        let end = start + length(&text[start..], |c| !matches!(c, ';' | '='));
        let value = text[start..end].trim_end();
        if !text[end..].starts_with(';') {
            let message = format!("expected `;` after the value of `{}`", name.text());
            return Err(name.blame(&message));
        }
        if value.is_empty() {
            return Err(name.blame(&format!("`{}` has no value", name.text())));
        }
        found.push((name, piece(start, start + value.len())));
        at = end + 1;
    }
}

/// Returns the offset of the first character after blanks and comments.
fn after_blanks(text: &str, mut at: usize) -> usize {
    loop {
        at += length(&text[at..], char::is_whitespace);
        if !text[at..].starts_with("//") {
            return at;
        }
        at += length(&text[at..], |c| c != '\n');
    }
}

/// Number of bytes before the first character for which `goes_on` is false.
fn length(text: &str, goes_on: impl Fn(char) -> bool) -> usize {
    text.find(|c| !goes_on(c)).unwrap_or(text.len())
}
