//! Writer for Perfetto's trace format, limited to the protocol-buffer packets that a timeline
//! needs.
//!
//! Field numbers are those of Perfetto's published `trace_packet.proto`, `track_event.proto`,
//! `track_descriptor.proto`, `debug_annotation.proto` and `interned_data.proto`. The format's unit
//! of time is the nanosecond. A timeline writes picoseconds there, so one microsecond on the screen
//! is one simulated nanosecond.

use std::collections::BTreeMap;
use std::io::{self, Write};

use warpweave_framework::About;

/// Track of the timeline: a row or a group of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Track(pub(crate) u64);

/// Type of data that a track shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Slices and instants, or child tracks.
    Slices,
    /// Value of a counter over time.
    Counter,
}

pub(crate) mod packet {
    pub(crate) const TIMESTAMP: u32 = 8;
    pub(crate) const SEQUENCE: u32 = 10;
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const INTERNED: u32 = 12;
    pub(crate) const SEQUENCE_FLAGS: u32 = 13;
    pub(crate) const TRACK_DESCRIPTOR: u32 = 60;
}

pub(crate) mod descriptor {
    pub(crate) const UUID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const PARENT: u32 = 5;
    pub(crate) const COUNTER: u32 = 8;
}

pub(crate) mod event {
    pub(crate) const ANNOTATION: u32 = 4;
    pub(crate) const TYPE: u32 = 9;
    pub(crate) const NAME_ID: u32 = 10;
    pub(crate) const TRACK: u32 = 11;
    pub(crate) const FLOW: u32 = 47;
    pub(crate) const COUNTER_VALUE: u32 = 44;
    pub(crate) const BEGIN: u64 = 1;
    pub(crate) const END: u64 = 2;
    pub(crate) const INSTANT: u64 = 3;
    pub(crate) const COUNTER: u64 = 4;
}

mod annotation {
    pub(super) const UINT: u32 = 3;
    pub(super) const TEXT: u32 = 6;
    pub(super) const NAME: u32 = 10;
}

pub(crate) const PACKETS: u32 = 1;
const EVENT_NAMES: u32 = 2;
pub(crate) const NAME_ID: u32 = 1;
pub(crate) const NAME_TEXT: u32 = 2;
/// Sequence id of the only writer, which writes all packets.
const THE_SEQUENCE: u64 = 1;
/// Flag of the first packet, which clears interned data. The others declare that they need it.
const CLEARED: u64 = 1;
const NEEDED: u64 = 2;

/// Writer of Perfetto packets to an output.
pub(crate) struct Trace<W> {
    out: W,
    tracks: u64,
    names: BTreeMap<String, u64>,
    packet: Vec<u8>,
    inner: Vec<u8>,
    cleared: bool,
}

impl<W: Write> Trace<W> {
    pub(crate) fn new(out: W) -> Self {
        Self {
            out,
            tracks: 0,
            names: BTreeMap::new(),
            packet: Vec::new(),
            inner: Vec::new(),
            cleared: false,
        }
    }

    /// Adds a track as a child of `parent`.
    pub(crate) fn track(
        &mut self,
        name: &str,
        parent: Option<Track>,
        kind: Kind,
    ) -> io::Result<Track> {
        self.tracks += 1;
        let track = Track(self.tracks);
        self.inner.clear();
        put_number(&mut self.inner, descriptor::UUID, track.0);
        put_bytes(&mut self.inner, descriptor::NAME, name.as_bytes());
        if let Some(parent) = parent {
            put_number(&mut self.inner, descriptor::PARENT, parent.0);
        }
        if kind == Kind::Counter {
            put_bytes(&mut self.inner, descriptor::COUNTER, &[]);
        }
        put_bytes(&mut self.packet, packet::TRACK_DESCRIPTOR, &self.inner);
        self.write_packet()?;
        Ok(track)
    }

    /// Begins a slice on `track`, annotated with `number`, `about` and `texts`.
    pub(crate) fn begin(
        &mut self,
        time: u64,
        track: Track,
        name: &str,
        number: Option<u64>,
        about: &About,
        texts: &[(String, &str)],
    ) -> io::Result<()> {
        self.named(event::BEGIN, track, name);
        let number = number.map(|number| ("id", number));
        for (name, value) in number.iter().chain(&about.numbers) {
            let mut note = Vec::with_capacity(16);
            put_bytes(&mut note, annotation::NAME, name.as_bytes());
            put_number(&mut note, annotation::UINT, *value);
            put_bytes(&mut self.inner, event::ANNOTATION, &note);
        }
        for (name, text) in texts {
            let mut note = Vec::with_capacity(32);
            put_bytes(&mut note, annotation::NAME, name.as_bytes());
            put_bytes(&mut note, annotation::TEXT, text.as_bytes());
            put_bytes(&mut self.inner, event::ANNOTATION, &note);
        }
        if let Some(flow) = about.flow {
            put_fixed64(&mut self.inner, event::FLOW, flow);
        }
        self.write_event(time)
    }

    /// Ends the innermost open slice of `track`.
    pub(crate) fn end(&mut self, time: u64, track: Track) -> io::Result<()> {
        self.inner.clear();
        put_number(&mut self.inner, event::TYPE, event::END);
        put_number(&mut self.inner, event::TRACK, track.0);
        self.write_event(time)
    }

    /// Adds an instant event to a track.
    pub(crate) fn instant(&mut self, time: u64, track: Track, name: &str) -> io::Result<()> {
        self.named(event::INSTANT, track, name);
        self.write_event(time)
    }

    /// Sets the value of a counter `track`.
    pub(crate) fn counter(&mut self, time: u64, track: Track, value: f64) -> io::Result<()> {
        self.inner.clear();
        put_number(&mut self.inner, event::TYPE, event::COUNTER);
        put_number(&mut self.inner, event::TRACK, track.0);
        put_fixed64(&mut self.inner, event::COUNTER_VALUE, value.to_bits());
        self.write_event(time)
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Starts an event with an interned name, which is written out only at its first use.
    fn named(&mut self, kind: u64, track: Track, name: &str) {
        let next = self.names.len() as u64 + 1;
        let id = if let Some(id) = self.names.get(name) {
            *id
        } else {
            self.names.insert(name.to_owned(), next);
            let (mut entry, mut interned) = (Vec::new(), Vec::new());
            put_number(&mut entry, NAME_ID, next);
            put_bytes(&mut entry, NAME_TEXT, name.as_bytes());
            put_bytes(&mut interned, EVENT_NAMES, &entry);
            put_bytes(&mut self.packet, packet::INTERNED, &interned);
            next
        };
        self.inner.clear();
        put_number(&mut self.inner, event::TYPE, kind);
        put_number(&mut self.inner, event::NAME_ID, id);
        put_number(&mut self.inner, event::TRACK, track.0);
    }

    fn write_event(&mut self, time: u64) -> io::Result<()> {
        put_number(&mut self.packet, packet::TIMESTAMP, time);
        put_bytes(&mut self.packet, packet::TRACK_EVENT, &self.inner);
        self.write_packet()
    }

    fn write_packet(&mut self) -> io::Result<()> {
        put_number(&mut self.packet, packet::SEQUENCE, THE_SEQUENCE);
        let flags = if self.cleared { NEEDED } else { CLEARED };
        self.cleared = true;
        put_number(&mut self.packet, packet::SEQUENCE_FLAGS, flags);
        let mut head = Vec::with_capacity(8);
        put_varint(&mut head, u64::from(PACKETS << 3 | LENGTH_DELIMITED));
        put_varint(&mut head, self.packet.len() as u64);
        self.out.write_all(&head)?;
        self.out.write_all(&self.packet)?;
        self.packet.clear();
        Ok(())
    }
}

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
pub(crate) const LENGTH_DELIMITED: u32 = 2;

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_number(out: &mut Vec<u8>, field: u32, value: u64) {
    put_varint(out, u64::from(field << 3 | VARINT));
    put_varint(out, value);
}

fn put_fixed64(out: &mut Vec<u8>, field: u32, value: u64) {
    put_varint(out, u64::from(field << 3 | FIXED64));
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_varint(out, u64::from(field << 3 | LENGTH_DELIMITED));
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
