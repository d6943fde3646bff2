//! Analysis of the waits between components in a deadlock.

use std::collections::BTreeMap;
use std::fmt;

use crate::channel::Direction;
use crate::engine::simulation::Simulation;
use crate::observe::{Reason, Waits};
use crate::time::Tick;

/// State of a run in which nothing, or nothing useful, can happen any more.
#[derive(Clone, Debug, PartialEq)]
pub struct DeadlockReport {
    /// Time of the last evaluated edge, in ticks.
    pub now: Tick,
    /// Simulated time of `now` in seconds.
    pub seconds: f64,
    /// Time of the last progress; see [`RunLimits::silence`](crate::RunLimits::silence).
    pub last_progress: Tick,
    /// Number of obligations that were not discharged.
    pub obligations: u64,
    /// Every wait found in the system.
    pub waits: Vec<WaitEdge>,
    /// Indices into `waits` that form one closed chain, in order; empty if there is none.
    pub cycle: Vec<usize>,
    /// Channels that still hold messages: name, occupancy, capacity.
    pub occupied: Vec<(String, usize, usize)>,
    /// Number of entries at the end of `waits` that belong to processes.
    processes: usize,
}

/// A waiting component, with the component it waits for if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitEdge {
    /// Path of the component that waits.
    pub who: String,
    /// Path of the component it waits for.
    pub whom: Option<String>,
    /// Name of the port at which it waits.
    pub port: Option<String>,
    /// Describes the awaited condition in hardware terms.
    pub what: String,
}

impl DeadlockReport {
    pub(crate) fn of(simulation: &mut Simulation) -> Self {
        let mut occupied = Vec::new();
        // The instance at the other end of every port, by (instance number, port name).
        let channels: Vec<_> = (simulation.channels.iter())
            .map(|channel| (channel.from.clone(), channel.to.clone()))
            .collect();
        let mut peers = BTreeMap::new();
        for (from, to) in &channels {
            peers.insert((from.0 as usize, &*from.1), to.0 as usize);
            peers.insert((to.0 as usize, &*to.1), from.0 as usize);
        }
        let peer = |number: usize, port: &str| peers.get(&(number, port)).copied();
        let mut edges: Vec<(usize, Option<usize>, Option<String>, String)> = Vec::new();
        for number in 0..simulation.instances.len() {
            let mut blocked = Vec::new();
            let mut held = Vec::new();
            simulation.visit_ports(number, &mut |port| {
                let state = port.state();
                if state.blocked {
                    blocked.push((port.name.to_owned(), state));
                }
                if port.direction() == Direction::Input && state.occupancy > 0 {
                    held.push((port.name.to_owned(), state));
                }
            });
            let path = simulation.instances[number].path.clone();
            for (port, state) in held {
                occupied.push((format!("{path}.{port}"), state.occupancy, state.capacity));
            }
            if blocked.is_empty() && simulation.reason(number) == Reason::Credit {
                let what = "waits for a credit, but none of its outputs is full".to_owned();
                edges.push((number, None, None, what));
            }
            for (port, state) in blocked {
                let what = format!(
                    "waits for room ({} of {} slots taken)",
                    state.occupancy, state.capacity
                );
                edges.push((number, peer(number, &port), Some(port), what));
            }
            let mut lines = Vec::new();
            if let Some(component) = simulation.component(number).inspection() {
                component.waits(&mut Waits { lines: &mut lines });
            }
            for wait in lines {
                let whom = wait.port.as_deref().and_then(|p| peer(number, p));
                edges.push((number, whom, wait.port, wait.what));
            }
        }
        let cycle = closed_chain(simulation.instances.len(), &edges);
        let path = |number: usize| simulation.instances[number].path.to_string();
        let mut waits: Vec<_> = edges
            .iter()
            .map(|(who, whom, port, what)| WaitEdge {
                who: path(*who),
                whom: whom.map(path),
                port: port.clone(),
                what: what.clone(),
            })
            .collect();
        let processes = simulation.waiting_processes();
        let count = processes.len();
        waits.extend(processes.into_iter().map(|(name, what)| WaitEdge {
            who: format!("process {name}"),
            whom: None,
            port: None,
            what,
        }));
        Self {
            now: simulation.now(),
            seconds: simulation.time.seconds(simulation.now()),
            last_progress: simulation.coordinator.last_progress.min(simulation.now()),
            obligations: simulation.coordinator.obligations,
            waits,
            cycle,
            occupied,
            processes: count,
        }
    }

    /// True if silence now would be a deadlock: an obligation is open, a component waits, or a
    /// channel holds a message. Processes may wait forever, as servers do.
    pub(crate) fn is_deadlock(&self) -> bool {
        self.obligations > 0 || self.waits.len() > self.processes || !self.occupied.is_empty()
    }
}

/// Maximum number of lines of each list shown to the user.
const SHOWN: usize = 40;

/// Returns a closed chain of waits as indices of edges in order; empty if there is none.
fn closed_chain(
    components: usize,
    edges: &[(usize, Option<usize>, Option<String>, String)],
) -> Vec<usize> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); components];
    for (e, (who, whom, ..)) in edges.iter().enumerate() {
        if whom.is_some() {
            out[*who].push(e);
        }
    }
    // Depth-first search with an explicit stack: 0 = new, 1 = on the path, 2 = done.
    let mut color = vec![0u8; components];
    for start in 0..components {
        if color[start] != 0 {
            continue;
        }
        let mut path: Vec<usize> = Vec::new();
        let mut stack = vec![(start, 0usize)];
        color[start] = 1;
        while let Some((node, at)) = stack.last_mut() {
            let Some(&edge) = out[*node].get(*at) else {
                color[*node] = 2;
                stack.pop();
                path.pop();
                continue;
            };
            *at += 1;
            let next = edges[edge].1.expect("only edges with both ends are listed");
            match color[next] {
                0 => {
                    color[next] = 1;
                    path.push(edge);
                    stack.push((next, 0));
                }
                1 => {
                    path.push(edge);
                    let from = path
                        .iter()
                        .position(|e| edges[*e].0 == next)
                        .expect("the dependency chain returns to a component on the path");
                    return path.split_off(from);
                }
                _ => {}
            }
        }
    }
    Vec::new()
}

impl fmt::Display for DeadlockReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "no progress at {} ({:.9} s); last progress at {}; {} obligations open",
            self.now, self.seconds, self.last_progress, self.obligations
        )?;
        let line = |f: &mut fmt::Formatter<'_>, mark: &str, wait: &WaitEdge| {
            write!(f, "{mark} {}", wait.who)?;
            if let Some(port) = &wait.port {
                write!(f, ".{port}")?;
            }
            if let Some(whom) = &wait.whom {
                write!(f, " -> {whom}")?;
            }
            writeln!(f, ": {}", wait.what)
        };
        if self.cycle.is_empty() {
            writeln!(f, "waiting components:")?;
        } else {
            writeln!(f, "circular wait:")?;
            for edge in self.cycle.iter().take(SHOWN) {
                line(f, "  *", &self.waits[*edge])?;
            }
            if self.cycle.len() > SHOWN {
                writeln!(f, "  * and {} more", self.cycle.len() - SHOWN)?;
            }
        }
        let mut in_cycle = vec![false; self.waits.len()];
        for edge in &self.cycle {
            in_cycle[*edge] = true;
        }
        let rest: Vec<_> = (0..self.waits.len()).filter(|e| !in_cycle[*e]).collect();
        if !self.cycle.is_empty() && !rest.is_empty() {
            writeln!(f, "others that wait:")?;
        }
        for edge in rest.iter().take(SHOWN) {
            line(f, "   ", &self.waits[*edge])?;
        }
        if rest.len() > SHOWN {
            writeln!(f, "    and {} more", rest.len() - SHOWN)?;
        }
        if !self.occupied.is_empty() {
            writeln!(f, "channels holding messages:")?;
            for (name, occupancy, capacity) in self.occupied.iter().take(SHOWN) {
                writeln!(f, "    {name}: {occupancy} of {capacity}")?;
            }
            if self.occupied.len() > SHOWN {
                writeln!(f, "    and {} more", self.occupied.len() - SHOWN)?;
            }
        }
        Ok(())
    }
}
