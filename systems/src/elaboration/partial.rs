//! System under construction: the clocks, parts and wires that exist so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpweave_framework::{Built, ClockId, Origin, PortList, SystemBuilder};
use warpweave_params::Node;

use super::repetition::Description;
use super::resolved::ResolvedPart;

/// Clocks, parts and wires that were added to the builder so far.
pub(super) struct PartialSystem {
    pub(super) builder: SystemBuilder,
    pub(super) clocks: BTreeMap<String, ClockId>,
    pub(super) parts: Vec<ResolvedPart>,
    pub(super) wires: Vec<(Arc<str>, Arc<str>, Arc<Node>)>,
    pub(super) unwired: Vec<String>,
}

/// Part that is about to be added to the system.
pub(super) struct NewPart<'k> {
    pub(super) path: Arc<str>,
    pub(super) kind: &'k Arc<str>,
    pub(super) clock: &'k Arc<str>,
    pub(super) description: Description,
}

impl PartialSystem {
    /// Creates a system without any part.
    pub(super) fn new() -> Self {
        Self {
            builder: SystemBuilder::new(),
            clocks: BTreeMap::new(),
            parts: Vec::new(),
            wires: Vec::new(),
            unwired: Vec::new(),
        }
    }

    /// Adds a part, with its ports if they are known, and returns the ports.
    pub(super) fn add_part(
        &mut self,
        part: NewPart<'_>,
        origin: Origin,
        clock: ClockId,
        built: Built,
        ports: Option<Arc<PortList>>,
    ) -> Arc<PortList> {
        let Built { component, resolve } = built;
        let (at, of_kind) = (Arc::clone(&part.path), Arc::clone(part.kind));
        let builder = &mut self.builder;
        let ports = match ports {
            Some(ports) => {
                builder.add_like(at, of_kind, clock, component, Some(origin), &ports);
                ports
            }
            None => builder.add_boxed(at, of_kind, clock, component, Some(origin)),
        };
        self.parts.push(ResolvedPart {
            path: part.path,
            kind: Arc::clone(part.kind),
            clock: Arc::clone(part.clock),
            description: part.description,
            resolve,
        });
        ports
    }
}
