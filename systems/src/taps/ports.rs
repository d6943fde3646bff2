//! Ports named by a pattern, and listeners for them.

use std::collections::BTreeSet;

use warpweave_components::memory::{MemRequest, MemResponse};
use warpweave_framework::verify::PortRecording;
use warpweave_framework::{Simulation, TapError};
use warpweave_params::{Diagnostic, Placed, nearest};

use super::{Event, Point, TapRecord};
use crate::address::{Pattern, any_index};

/// Port bundle of the memory protocol that matches a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MemoryPort {
    /// Numbers matched by the wildcards, in order.
    pub(super) numbers: Vec<u64>,
    /// Address of the port, as `instance.port`.
    pub(super) address: String,
}

/// Returns the connected bundles of the memory protocol that match `pattern`, sorted by their
/// numbers.
///
/// # Errors
/// Fails if no such bundle exists, or if none is connected.
pub(super) fn named_by(
    written: &Placed<String>,
    simulation: &mut Simulation,
) -> Result<Vec<MemoryPort>, Diagnostic> {
    let text = &written.value;
    let pattern = Pattern::parse(text, written)?;
    if let Some(variable) = pattern.variables().into_iter().next() {
        let message = format!("`{variable}` in `{text}` has no value here");
        let hint = "an index must be a number, or `*` for all";
        return Err(written.error(message).hint(hint));
    }
    let request = std::any::type_name::<MemRequest>();
    let mut known = BTreeSet::new();
    let (mut found, mut unconnected) = (Vec::new(), false);
    for port in simulation.port_addresses() {
        let Some(bundle) = port.address.strip_suffix(".request") else {
            continue;
        };
        if port.message != request {
            continue;
        }
        let Some(numbers) = pattern.matches(bundle) else {
            known.insert(any_index(bundle));
            continue;
        };
        if port.capacity == 0 {
            unconnected = true;
            continue;
        }
        found.push(MemoryPort {
            numbers,
            address: bundle.to_owned(),
        });
    }
    if found.is_empty() {
        if unconnected {
            return Err(written.error(format!("`{text}` is not wired in this machine")));
        }
        let message = format!("`{text}` does not match a memory port of this machine");
        let hint = nearest(text, known.iter().map(String::as_str)).map_or_else(
            || format!("such as `{}`", known.first().map_or("unit[*].l1.up", |k| k)),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(written.error(message).hint(hint));
    }
    found.sort();
    Ok(found)
}

/// Listener for the messages of one port.
pub(super) struct Listener {
    point: Point,
    port: u32,
    heard: Messages,
}

enum Messages {
    Requests(PortRecording<MemRequest>),
    Responses(PortRecording<MemResponse>),
}

impl Listener {
    /// Attaches a listener to the requests of a bundle.
    pub(super) fn of_requests(
        simulation: &mut Simulation,
        address: &str,
        (point, port): (Point, u32),
    ) -> Result<Self, TapError> {
        let heard = PortRecording::at(simulation, &format!("{address}.request"))?;
        Ok(Self {
            point,
            port,
            heard: Messages::Requests(heard),
        })
    }

    /// Attaches a listener to the responses of a bundle.
    pub(super) fn of_responses(
        simulation: &mut Simulation,
        address: &str,
        (point, port): (Point, u32),
    ) -> Result<Self, TapError> {
        let heard = PortRecording::at(simulation, &format!("{address}.response"))?;
        Ok(Self {
            point,
            port,
            heard: Messages::Responses(heard),
        })
    }

    /// Appends the events since the last call.
    pub(super) fn fetch(&self, events: &mut Vec<Event>) {
        let event = |tick, passed| Event {
            tick,
            point: self.point,
            port: self.port,
            passed,
        };
        match &self.heard {
            Messages::Requests(heard) => {
                let heard = heard.fetch().into_iter();
                events
                    .extend(heard.map(|(tick, message)| event(tick, TapRecord::Request(message))));
            }
            Messages::Responses(heard) => {
                let heard = heard.fetch().into_iter();
                events
                    .extend(heard.map(|(tick, message)| event(tick, TapRecord::Response(message))));
            }
        }
    }
}

/// Reports a port that exists but cannot be observed.
pub(super) fn refused(written: &Placed<String>, error: &TapError) -> Diagnostic {
    written.error(error.to_string())
}
