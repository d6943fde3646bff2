//! Analysis of a recorded timeline: wait reasons and durations.
//!
//! Reads the output of [`crate::Timeline`] packet by packet. Only the tracks, the names, the open
//! slices and the sums are in memory.

use std::collections::BTreeMap;
use std::io::{self, Read};

use thiserror::Error;

use crate::perfetto::{LENGTH_DELIMITED, PACKETS, descriptor, event, packet};

/// Maximum length of a packet. Those of a timeline hold a few names and numbers.
const PACKET_MAX: u64 = 1 << 20;

/// Error from reading a timeline.
#[derive(Debug, Error)]
pub enum TimelineError {
    /// The file is not a timeline, or is damaged.
    #[error("byte {byte}: {message}")]
    Damaged {
        /// Byte offset of the packet that cannot be read.
        byte: u64,
        /// Description of what is wrong with the packet.
        message: String,
    },
    /// The operating system could not read the file.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
}

/// Wait statistics of a timeline. Times are in picoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// First and last time of any event in it.
    pub span: Option<(u64, u64)>,
    /// Kernels as seen by components, ordered by their ends.
    pub kernels: Vec<SeenKernel>,
    /// Wait sums by component, thing and reason.
    pub waits: BTreeMap<Waiting, Sum>,
}

/// Presence of a kernel in a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenKernel {
    /// Hierarchical path of the component instance.
    pub component: String,
    /// Name and number of the kernel.
    pub name: String,
    /// Time at which the kernel arrived, in picoseconds.
    pub from: u64,
    /// Time at which the kernel left, in picoseconds.
    pub until: u64,
}

/// Key of a wait: component, thing and reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiting {
    /// Hierarchical path of the component instance.
    pub component: String,
    /// Kind of thing that waited, such as `wavefront`; `None` for the component itself.
    pub thing: Option<String>,
    /// Reason of the wait, as recorded in the timeline.
    pub reason: String,
}

/// Number and duration of waits, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Number of waits that were counted.
    pub waits: u64,
    /// Total time of all waits, in picoseconds.
    pub time: u64,
    /// Duration of the longest wait, in picoseconds.
    pub longest: u64,
}

/// Track of the file with its open slices.
struct Track {
    path: String,
    /// Path of the component and kind of thing, if it is a row of things.
    row: Option<(String, String)>,
    open: Vec<(u64, u64)>,
    last: u64,
}

#[derive(Default)]
struct Reader {
    tracks: BTreeMap<u64, Track>,
    names: BTreeMap<u64, String>,
    waited: Waited,
}

impl Waited {
    /// Reads a timeline and sums its waits.
    ///
    /// # Errors
    /// Returns an error if the file is not a complete Warpweave timeline, with the byte offset of
    /// the packet.
    pub fn read(mut file: impl Read) -> Result<Self, TimelineError> {
        let mut reader = Reader::default();
        let (mut byte, mut bytes) = (0, Vec::new());
        loop {
            let damaged = |message: String| TimelineError::Damaged { byte, message };
            let (length, width) = match read_head(&mut file)? {
                Head::End => break,
                Head::Broken => return Err(damaged("not a timeline packet".to_owned())),
                Head::Packet { length, width } => (length, width),
            };
            bytes.clear();
            let found = (&mut file).take(length).read_to_end(&mut bytes)?;
            if found as u64 != length {
                return Err(damaged("the file ends inside this packet".to_owned()));
            }
            reader
                .packet(&bytes)
                .map_err(|message| damaged(message.to_owned()))?;
            byte += width + length;
        }
        let open = reader.tracks.values().any(|track| !track.open.is_empty());
        if byte == 0 || open {
            let message = "the file ends before the end of the recording".to_owned();
            return Err(TimelineError::Damaged { byte, message });
        }
        Ok(reader.waited)
    }
}

enum Head {
    End,
    Broken,
    /// Length of the packet in bytes, and of the head before it.
    Packet {
        length: u64,
        width: u64,
    },
}

/// Reads the tag and the length before a packet.
fn read_head(file: &mut impl Read) -> io::Result<Head> {
    let mut byte = [0];
    let mut next = |file: &mut dyn Read| -> io::Result<Option<u8>> {
        loop {
            match file.read(&mut byte) {
                Ok(0) => return Ok(None),
                Ok(_) => return Ok(Some(byte[0])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    };
    match next(file)? {
        None => return Ok(Head::End),
        Some(tag) if u32::from(tag) == PACKETS << 3 | LENGTH_DELIMITED => {}
        Some(_) => return Ok(Head::Broken),
    }
    let mut length = 0;
    for width in 0..4 {
        let Some(byte) = next(file)? else {
            return Ok(Head::Broken);
        };
        length |= u64::from(byte & 0x7f) << (7 * width);
        if byte & 0x80 == 0 {
            return Ok(if length > PACKET_MAX {
                Head::Broken
            } else {
                Head::Packet {
                    length,
                    width: width + 2,
                }
            });
        }
    }
    Ok(Head::Broken)
}

/// Value of a field of a protocol-buffer message.
enum Field<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

/// Calls `take` with the number and value of each field of a message.
fn fields<'b>(
    mut bytes: &'b [u8],
    mut take: impl FnMut(u32, Field<'b>) -> Result<(), &'static str>,
) -> Result<(), &'static str> {
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let number = u32::try_from(tag >> 3).map_err(|_| "a field has an invalid number")?;
        let value = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)?),
            1 => {
                let (value, rest) = bytes.split_first_chunk().ok_or("a field is truncated")?;
                bytes = rest;
                Field::Number(u64::from_le_bytes(*value))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok();
                let split = length.and_then(|length| bytes.split_at_checked(length));
                let (value, rest) = split.ok_or("a field is truncated")?;
                bytes = rest;
                Field::Bytes(value)
            }
            _ => return Err("a field has a type not used in timelines"),
        };
        take(number, value)?;
    }
    Ok(())
}

fn varint(bytes: &mut &[u8]) -> Result<u64, &'static str> {
    let mut value = 0;
    for at in 0..10 {
        let (byte, rest) = bytes.split_first().ok_or("a number is truncated")?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(7 * at).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number is not terminated")
}

fn text(bytes: &[u8]) -> Result<String, &'static str> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "a name is not text")
}

impl Reader {
    fn packet(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let (mut time, mut described, mut happened) = (None, None, None);
        fields(bytes, |number, field| {
            match (number, field) {
                (packet::TIMESTAMP, Field::Number(at)) => time = Some(at),
                (packet::TRACK_DESCRIPTOR, Field::Bytes(bytes)) => described = Some(bytes),
                (packet::TRACK_EVENT, Field::Bytes(bytes)) => happened = Some(bytes),
                (packet::INTERNED, Field::Bytes(bytes)) => fields(bytes, |_, name| match name {
                    Field::Bytes(bytes) => self.name(bytes),
                    Field::Number(_) => Ok(()),
                })?,
                _ => {}
            }
            Ok(())
        })?;
        if let Some(bytes) = described {
            self.track(bytes)?;
        }
        match (happened, time) {
            (Some(bytes), Some(time)) => self.event(time, bytes),
            (Some(_), None) => Err("an event has no time"),
            (None, _) => Ok(()),
        }
    }

    fn name(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let (mut id, mut name) = (None, None);
        fields(bytes, |number, field| {
            match (number, field) {
                (crate::perfetto::NAME_ID, Field::Number(n)) => id = Some(n),
                (crate::perfetto::NAME_TEXT, Field::Bytes(bytes)) => name = Some(text(bytes)?),
                _ => {}
            }
            Ok(())
        })?;
        let (id, name) = id.zip(name).ok_or("a name has no number or no text")?;
        self.names.insert(id, name);
        Ok(())
    }

    fn track(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let (mut id, mut name, mut parent) = (None, None, None);
        fields(bytes, |number, field| {
            match (number, field) {
                (descriptor::UUID, Field::Number(n)) => id = Some(n),
                (descriptor::NAME, Field::Bytes(bytes)) => name = Some(text(bytes)?),
                (descriptor::PARENT, Field::Number(n)) => parent = Some(n),
                _ => {}
            }
            Ok(())
        })?;
        let (id, name) = id.zip(name).ok_or("a track has no number or no name")?;
        let above = match parent {
            Some(parent) => Some(
                self.tracks
                    .get(&parent)
                    .ok_or("a track has an unknown parent")?,
            ),
            None => None,
        };
        // Rows of things are called `wavefront 0`; instances have no blanks in their names.
        let row = above.zip(name.rsplit_once(' '));
        let row = row.map(|(above, (label, _))| (above.path.clone(), label.to_owned()));
        let path = match above {
            Some(above) => format!("{}.{name}", above.path),
            None => name,
        };
        let track = Track {
            path,
            row,
            open: Vec::new(),
            last: 0,
        };
        self.tracks.insert(id, track);
        Ok(())
    }

    fn event(&mut self, time: u64, bytes: &[u8]) -> Result<(), &'static str> {
        let (mut kind, mut name, mut track) = (None, None, None);
        fields(bytes, |number, field| {
            match (number, field) {
                (event::TYPE, Field::Number(n)) => kind = Some(n),
                (event::NAME_ID, Field::Number(n)) => name = Some(n),
                (event::TRACK, Field::Number(n)) => track = Some(n),
                _ => {}
            }
            Ok(())
        })?;
        let track = track.and_then(|track| self.tracks.get_mut(&track));
        let track = track.ok_or("an event refers to no known track")?;
        if time < track.last {
            return Err("timestamps of a track go backwards");
        }
        track.last = time;
        let (from, until) = self.waited.span.unwrap_or((time, time));
        self.waited.span = Some((from.min(time), until.max(time)));
        match kind {
            Some(event::BEGIN) => {
                let name = name.filter(|name| self.names.contains_key(name));
                track.open.push((name.ok_or("a slice has no name")?, time));
                Ok(())
            }
            Some(event::END) => {
                let (name, from) = track
                    .open
                    .pop()
                    .ok_or("a slice ends without having begun")?;
                let name = &self.names[&name];
                let (component, thing) = match &track.row {
                    Some((component, label)) if track.open.is_empty() => {
                        if label == "kernel" {
                            self.waited.kernels.push(SeenKernel {
                                component: component.clone(),
                                name: name.clone(),
                                from,
                                until: time,
                            });
                        }
                        return Ok(());
                    }
                    Some((component, label)) => (component, Some(label.clone())),
                    None => (&track.path, None),
                };
                let waiting = Waiting {
                    component: component.clone(),
                    thing,
                    reason: name.clone(),
                };
                let sum = self.waited.waits.entry(waiting).or_default();
                sum.waits += 1;
                sum.time = sum.time.saturating_add(time - from);
                sum.longest = sum.longest.max(time - from);
                Ok(())
            }
            Some(event::INSTANT | event::COUNTER) => Ok(()),
            _ => Err("an event has a type not used in timelines"),
        }
    }
}

#[cfg(test)]
mod tests {
    use warpweave_framework::About;

    use super::*;
    use crate::perfetto::{Kind, Trace};

    fn file() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut trace = Trace::new(&mut bytes);
        let none = About::default();
        let host = trace.track("host", None, Kind::Slices).unwrap();
        let row = trace.track("kernel 0", Some(host), Kind::Slices).unwrap();
        let fill = trace.track("fill", Some(host), Kind::Counter).unwrap();
        trace.begin(5, row, "add #0", Some(0), &none, &[]).unwrap();
        trace.begin(10, host, "credit", None, &none, &[]).unwrap();
        trace.counter(11, fill, 3.0).unwrap();
        trace.end(30, host).unwrap();
        trace
            .begin(30, row, "a work queue", None, &none, &[])
            .unwrap();
        trace.end(37, row).unwrap();
        trace.end(40, row).unwrap();
        trace.begin(40, host, "credit", None, &none, &[]).unwrap();
        trace.end(45, host).unwrap();
        trace.flush().unwrap();
        drop(trace);
        bytes
    }

    #[test]
    fn waits_and_kernels_are_found_with_their_times() {
        let waited = Waited::read(&file()[..]).unwrap();
        assert_eq!(waited.span, Some((5, 45)));
        let of = |thing: Option<&str>, reason: &str| {
            waited.waits[&Waiting {
                component: "host".to_owned(),
                thing: thing.map(str::to_owned),
                reason: reason.to_owned(),
            }]
        };
        let sum = |waits, time, longest| Sum {
            waits,
            time,
            longest,
        };
        assert_eq!(of(None, "credit"), sum(2, 25, 20));
        assert_eq!(of(Some("kernel"), "a work queue"), sum(1, 7, 7));
        assert_eq!(waited.waits.len(), 2);
        let [kernel] = &waited.kernels[..] else {
            panic!("{:?}", waited.kernels);
        };
        assert_eq!(
            (kernel.name.as_str(), kernel.from, kernel.until),
            ("add #0", 5, 40)
        );
    }

    #[test]
    fn no_cut_and_no_flipped_byte_is_more_than_refused() {
        let whole = file();
        for cut in 0..whole.len() {
            // A cut between the last slices leaves a timeline that is whole.
            let _ = Waited::read(&whole[..cut]);
        }
        assert!(Waited::read(&whole[..whole.len() - 1]).is_err());
        assert!(Waited::read(&[][..]).is_err());
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                let _ = Waited::read(&damaged[..]);
            }
        }
        let error = Waited::read(&b"{ \"json\": 1 }"[..]).unwrap_err();
        assert_eq!(error.to_string(), "byte 0: not a timeline packet");
    }
}
