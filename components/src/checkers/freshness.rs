//! Freshness check: reads through a device return data at least as new as required.
//!
//! Writes are numbered, and the memory behind the device answers with the highest number of a line.
//! A read must be answered with no less than
//!
//! * the newest write of its wavefront to the line that the device accepted before the read;
//! * the newest write to the line that the device had acknowledged when it accepted the read;
//! * the writes of others before the end of a kernel whose invalidation the device had completed.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use warpweave_framework::verify::{Check, Exchange};
use warpweave_framework::{Context, Simulation, Tap, TapError, Transit};

use crate::launch::{CacheCommand, CacheCommandDone};
use crate::memory::{MemRequest, MemResponse, RequestKind};

/// Request that waits for its response.
struct Open {
    request: MemRequest,
    /// Lowest write number allowed in the response to a read.
    newer_than: u32,
    why: &'static str,
}

/// Requests and responses of the device at one of its up ports.
#[derive(Default)]
struct Port {
    name: String,
    open: BTreeMap<u32, Open>,
    /// Newest write by wavefront and line.
    taken: BTreeMap<u128, u32>,
    /// Newest acknowledged write of each line.
    acknowledged: BTreeMap<u64, u32>,
    /// Invalidations begun; `ended` counts those completed.
    begun: u32,
    ended: u32,
    seen: u64,
}

impl Port {
    fn request(&mut self, request: &MemRequest) {
        self.seen += 1;
        let order = request.order().unwrap_or(request.line.into());
        let taken = self.taken.entry(order).or_default();
        let bounds = [
            (*taken, "a write of the same wavefront"),
            (
                self.acknowledged.get(&request.line).copied().unwrap_or(0),
                "an acknowledged write",
            ),
            (self.ended, "the end of a kernel"),
        ];
        if request.kind.carries_data() {
            *taken = request.write_sequence.max(*taken);
        }
        let (newer_than, why) = bounds
            .into_iter()
            .max_by_key(|(number, _)| *number)
            .expect("the array has three bounds");
        if request.kind.wants_response() {
            let open = Open {
                request: *request,
                newer_than,
                why,
            };
            self.open.insert(request.id, open);
        }
    }

    fn response(&mut self, response: &MemResponse) -> Result<(), String> {
        self.seen += 1;
        // That it answers nothing is the business of another checker.
        let Some(open) = self.open.remove(&response.id) else {
            return Ok(());
        };
        if open.request.kind.carries_data() {
            let newest = self.acknowledged.entry(response.line).or_default();
            *newest = open.request.write_sequence.max(*newest);
        }
        let reads = matches!(open.request.kind, RequestKind::Read | RequestKind::Prefetch);
        if reads && response.write_sequence < open.newer_than {
            return Err(format!(
                "{}: stale data: line {:#x} was returned as of write {}, but must be no older than {}, write {}",
                self.name, response.line, response.write_sequence, open.why, open.newer_than
            ));
        }
        Ok(())
    }
}

/// Asserts that reads are fresh at one up port of a device, and at its control port if it has one.
pub(super) fn check_freshness(
    simulation: &mut Simulation,
    up: &str,
    control: Option<&str>,
) -> Result<Arc<dyn Check>, TapError> {
    let port = Arc::new(Mutex::new(Port {
        name: up.to_owned(),
        ..Port::default()
    }));
    let (request, response) = (format!("{up}.request"), format!("{up}.response"));
    simulation.tap::<MemRequest>(&request, Watch(Arc::clone(&port)))?;
    simulation.tap::<MemResponse>(&response, Watch(Arc::clone(&port)))?;
    if let Some(control) = control {
        let (command, done) = (format!("{control}.command"), format!("{control}.done"));
        simulation.tap::<CacheCommand>(&command, Watch(Arc::clone(&port)))?;
        simulation.tap::<CacheCommandDone>(&done, Watch(Arc::clone(&port)))?;
    }
    Ok(Arc::new(Watch(port)))
}

struct Watch(Arc<Mutex<Port>>);

impl Check for Watch {
    fn seen(&self) -> u64 {
        self.0.lock().seen
    }

    fn finish(&self) -> Result<(), String> {
        let port = self.0.lock();
        if port.begun == port.ended {
            return Ok(());
        }
        let (name, begun, ended) = (&port.name, port.begun, port.ended);
        Err(format!(
            "{name}: {begun} invalidations were started, but {ended} completed"
        ))
    }
}

impl Tap<MemRequest> for Watch {
    fn take(&mut self, _: &mut Context<'_>, request: &mut MemRequest) {
        self.0.lock().request(request);
    }
}

impl Tap<MemResponse> for Watch {
    fn send(
        &mut self,
        ctx: &mut Context<'_>,
        transit: Transit<MemResponse>,
        wire: &mut Vec<Transit<MemResponse>>,
    ) {
        if let Err(problem) = self.0.lock().response(&transit.message) {
            ctx.fail(problem);
        }
        wire.push(transit);
    }
}

impl Tap<CacheCommand> for Watch {
    fn take(&mut self, _: &mut Context<'_>, _: &mut CacheCommand) {
        self.0.lock().begun += 1;
    }
}

impl Tap<CacheCommandDone> for Watch {
    fn send(
        &mut self,
        _: &mut Context<'_>,
        transit: Transit<CacheCommandDone>,
        wire: &mut Vec<Transit<CacheCommandDone>>,
    ) {
        self.0.lock().ended += 1;
        wire.push(transit);
    }
}
