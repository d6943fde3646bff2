//! Access counts: number of requests, and amount of memory they touch.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpweave_components::memory::RequestKind;
use warpweave_framework::{Simulation, Statistics};
use warpweave_params::{Diagnostics, Placed};

use super::ports::{Listener, named_by, refused};
use super::{ActiveTap, Analysis, Event, Point, TapRecord};

/// Description of an `Accesses` tap in a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccessesSpec {
    /// Memory ports that the tap observes.
    at: Placed<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Accesses {
    /// Request counts by kind, in the order of [`RequestKind::ALL`].
    requests: [u64; RequestKind::ALL.len()],
    /// Mask of touched 4-byte words, by line.
    touched: BTreeMap<u64, u32>,
    words: u64,
}

impl AccessesSpec {
    pub(super) fn attach(&self, simulation: &mut Simulation) -> Result<ActiveTap, Diagnostics> {
        let ports = named_by(&self.at, simulation)?;
        let listeners = (0_u32..).zip(&ports).map(|(number, port)| {
            let listener = Listener::of_requests(simulation, &port.address, (Point::At, number));
            listener.map_err(|error| refused(&self.at, &error))
        });
        let listeners = listeners.collect::<Result<_, _>>()?;
        Ok(ActiveTap {
            analysis: Analysis::Accesses(Accesses::default()),
            listeners,
            ports: ports.into_iter().map(|port| port.address).collect(),
        })
    }
}

impl Accesses {
    pub(super) fn hear(&mut self, event: &Event) {
        let TapRecord::Request(request) = &event.passed else {
            return;
        };
        self.requests[request.kind as usize] += 1;
        let touched = self.touched.entry(request.line).or_default();
        self.words += u64::from((request.words & !*touched).count_ones());
        *touched |= request.words;
    }

    pub(super) fn report(&self, statistics: &mut Statistics<'_>) {
        let meanings = [
            ("reads", "read requests passing the port"),
            ("writes", "write requests passing the port"),
            ("atomics", "atomic requests passing the port"),
            ("prefetches", "prefetch requests passing the port"),
            ("copy_backs", "dirty lines copied back through the port"),
        ];
        for ((name, meaning), count) in meanings.into_iter().zip(self.requests) {
            statistics.counter(name, "requests", meaning, count);
        }
        let meaning = "distinct lines accessed by requests";
        statistics.counter("lines", "lines", meaning, self.touched.len() as u64);
        let meaning = "distinct bytes accessed by requests, in words of 4";
        statistics.counter("bytes", "bytes", meaning, self.words.saturating_mul(4));
    }
}
