//! Logging of the requests observed by `Accesses` taps.

use std::path::Path;

use warpweave_accesses::{AccessLogWriter, Head, Kind, Port, Record};
use warpweave_components::memory::{MemRequest, RequestKind};
use warpweave_files::OutputError;

use super::{Event, TapRecord};

/// Log of a run. Nothing is written after an error.
pub(super) struct Log {
    writer: Option<AccessLogWriter>,
    failed: Option<OutputError>,
    /// Port number in the log, by tap and by port number there.
    ports: Vec<Vec<u32>>,
    /// Requests since the last write, as time, port and request.
    heard: Vec<(u64, u32, MemRequest)>,
}

impl Log {
    /// Starts a log of taps, each with its name and the addresses of its ports.
    pub(super) fn create(
        path: &Path,
        mut head: Head,
        taps: &[(&str, &[String])],
    ) -> Result<Self, OutputError> {
        let port = |tap: &str, address: &String| Port {
            address: address.clone(),
            tap: tap.to_owned(),
        };
        let ports = taps
            .iter()
            .flat_map(|(tap, addresses)| addresses.iter().map(move |address| port(tap, address)));
        head.ports = ports.collect();
        head.ports.sort();
        let number = |tap: &str, address: &String| {
            let found = head.ports.binary_search(&port(tap, address));
            found.expect("the port is in the list") as u32
        };
        let ports = taps.iter().map(|(tap, addresses)| {
            let numbers = addresses.iter().map(|address| number(tap, address));
            numbers.collect()
        });
        let ports = ports.collect();
        Ok(Self {
            writer: Some(AccessLogWriter::create(path, head)?),
            failed: None,
            ports,
            heard: Vec::new(),
        })
    }

    /// Adds the events observed by tap number `tap`, in order.
    pub(super) fn take(&mut self, tap: usize, events: &[Event]) {
        let ports = &self.ports[tap];
        let requests = events.iter().filter_map(|event| match event.passed {
            TapRecord::Request(request) => {
                Some((event.tick.0, ports[event.port as usize], request))
            }
            TapRecord::Response(_) => None,
        });
        self.heard.extend(requests);
    }

    /// Writes the collected events of all taps, by time, port and order at the port.
    pub(super) fn write(&mut self) {
        self.heard.sort_by_key(|(tick, port, _)| (*tick, *port));
        for (tick, port, request) in self.heard.drain(..) {
            let Some(writer) = &mut self.writer else {
                return;
            };
            if let Err(error) = writer.push(record(tick, port, &request)) {
                self.writer = None;
                self.failed = Some(error);
            }
        }
    }

    /// Completes the log and returns any error.
    pub(super) fn finish(self) -> Result<(), OutputError> {
        match (self.failed, self.writer) {
            (Some(error), _) => Err(error),
            (None, Some(writer)) => writer.finish().map(drop),
            (None, None) => Ok(()),
        }
    }
}

fn record(tick: u64, port: u32, request: &MemRequest) -> Record {
    let source = request.source;
    Record {
        tick,
        port,
        kernel: source.kernel,
        work_group: source.work_group,
        compute_unit: source.compute_unit,
        wavefront_slot: source.wavefront_slot,
        pc: source.pc,
        kind: match request.kind {
            RequestKind::Read => Kind::Read,
            RequestKind::Write => Kind::Write,
            RequestKind::Atomic => Kind::Atomic,
            RequestKind::Prefetch => Kind::Prefetch,
            RequestKind::CopyBack => Kind::CopyBack,
        },
        line: request.line,
        words: request.words,
    }
}
