//! Decoder for Perfetto files that uses a protocol-buffer library and the published field numbers.

use std::collections::BTreeMap;

use prost::Message;

#[derive(Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<Packet>,
}

#[derive(Message)]
struct Packet {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    interned_data: Option<InternedData>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    kind: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    track_uuid: Option<u64>,
    #[prost(double, optional, tag = "44")]
    double_counter_value: Option<f64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flow_ids: Vec<u64>,
}

#[derive(Message)]
struct DebugAnnotation {
    #[prost(uint64, optional, tag = "3")]
    uint_value: Option<u64>,
    #[prost(string, optional, tag = "6")]
    string_value: Option<String>,
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
}

#[derive(Message)]
struct InternedData {
    #[prost(message, repeated, tag = "2")]
    event_names: Vec<EventName>,
}

#[derive(Message)]
struct EventName {
    #[prost(uint64, optional, tag = "1")]
    iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
}

#[derive(Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
}

/// Event on a track, whose name includes its parents. An event with a name begins a slice, and one
/// without ends it. A counter has a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) time: u64,
    pub(crate) track: String,
    pub(crate) name: Option<String>,
    pub(crate) value: Option<f64>,
    pub(crate) flow: Option<u64>,
    pub(crate) notes: Vec<(String, u64)>,
    pub(crate) texts: Vec<(String, String)>,
}

/// Slice with its begin and end times.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slice {
    pub(crate) from: u64,
    pub(crate) until: u64,
    /// Number of slices around it on its track.
    pub(crate) depth: usize,
    pub(crate) begin: Event,
}

impl Slice {
    /// Returns the numeric annotation of this name.
    pub(crate) fn note(&self, name: &str) -> Option<u64> {
        let mut notes = self.begin.notes.iter();
        notes.find(|(n, _)| n == name).map(|(_, value)| *value)
    }
}

/// Pairs begin and end events. Panics if they do not match on a track, or if time goes back.
pub(crate) fn slices(events: &[Event]) -> Vec<Slice> {
    let mut tracks = BTreeMap::<&str, (u64, Vec<&Event>)>::new();
    let mut slices = Vec::new();
    for event in events {
        let (last, open) = tracks.entry(&event.track).or_default();
        assert!(event.time >= *last, "{event:?} is before {last}");
        *last = event.time;
        match (&event.name, event.value) {
            (_, Some(_)) => {}
            (Some(_), None) => open.push(event),
            (None, None) => {
                let begin = open.pop().unwrap_or_else(|| panic!("only ends: {event:?}"));
                slices.push(Slice {
                    from: begin.time,
                    until: event.time,
                    depth: open.len(),
                    begin: begin.clone(),
                });
            }
        }
    }
    for (track, (_, open)) in tracks {
        assert!(open.is_empty(), "{track} is left with {open:?}");
    }
    slices
}

pub(crate) fn decode(file: &[u8]) -> Vec<Event> {
    let trace = Trace::decode(file).expect("protocol buffers");
    let (mut tracks, mut names) = (BTreeMap::new(), BTreeMap::new());
    let mut events = Vec::new();
    for packet in trace.packet {
        assert_eq!(packet.trusted_packet_sequence_id, Some(1));
        if let Some(track) = packet.track_descriptor {
            let name = track.name.expect("named");
            let path = match track.parent_uuid {
                Some(parent) => format!("{}/{name}", tracks[&parent]),
                None => name,
            };
            tracks.insert(track.uuid.expect("numbered"), path);
        }
        for entry in packet.interned_data.into_iter().flat_map(|d| d.event_names) {
            names.insert(entry.iid.expect("numbered"), entry.name.expect("text"));
        }
        if let Some(event) = packet.track_event {
            let (mut notes, mut texts) = (Vec::new(), Vec::new());
            for annotation in event.debug_annotations {
                let name = annotation.name.expect("named");
                match annotation.string_value {
                    Some(text) => texts.push((name, text)),
                    None => notes.push((name, annotation.uint_value.expect("a number"))),
                }
            }
            events.push(Event {
                time: packet.timestamp.expect("timed"),
                track: tracks[&event.track_uuid.expect("on a track")].clone(),
                name: event.name_iid.map(|id| names[&id].clone()),
                value: event.double_counter_value,
                flow: event.flow_ids.first().copied(),
                notes,
                texts,
            });
        }
    }
    events
}
