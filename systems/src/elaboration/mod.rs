//! Elaboration of a system file into components: composites, repeats, wildcards, overrides.
//!
//! ```text
//!  system.ron --system_file.rs--> SystemFile --scope.rs--> names, counts --parts.rs--> components
//!                                                               |
//!                                       overrides.rs            +--------wires.rs---> channels
//! ```
//!
//! `addresses.rs` lists the addresses of parts and ports that exist.
//! `partial.rs` holds the system under construction.
//! `presets.rs` applies presets, and `repetition.rs` shares work between repetitions of a part.
//! `resolved.rs` describes the system as built, and `stale.rs` finds caches that can return old
//! data. Errors of the framework, which knows no files, get their places in the file here.

mod addresses;
mod overrides;
mod partial;
mod parts;
mod presets;
mod repetition;
mod resolved;
mod scope;
mod sizes;
mod stale;
pub(crate) mod system_file;
mod wires;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashSet;
use warpweave_framework::{
    ElaborationErrors, Environment, Frequency, Origin, Registry, Simulation, SystemWarning,
    field_at,
};
use warpweave_params::{
    Diagnostic, Diagnostics, Kind, Node, Placed, Related, Span, from_node, name_hint,
};

use self::addresses::Addresses;
pub(crate) use self::overrides::InstanceOverride;
use self::overrides::InstanceOverrides;
use self::partial::PartialSystem;
use self::presets::Presets;
use self::repetition::ScopeMemory;
pub use self::resolved::ResolvedSystem;
use self::scope::{Names, ScopePath};
use self::stale::stale_caches;
use self::system_file::SystemFile;
use crate::limits::Limits;

/// Maximum number of problems reported for one location of a description.
const PROBLEMS_AT_A_PLACE: usize = 2;

/// Elaborated system that is ready to run, with the data that reports need.
pub struct ElaboratedSystem {
    /// Simulation at time zero, before the first cycle.
    pub simulation: Simulation,
    /// Flat description of the system as built.
    pub resolved: ResolvedSystem,
    /// Name of the clock that counts the cycles in reports.
    pub core_clock: String,
    /// Summary of the system in one sentence, from its file.
    pub summary: String,
    /// Warnings about legal descriptions that look unintended.
    pub warnings: Diagnostics,
}

/// Builds the system that `file` describes. `elsewhere` holds locations outside the file;
/// components refer to them by the first origin numbers.
///
/// # Errors
/// Returns every problem found, each with its location.
pub(crate) fn elaborate(
    file: &SystemFile,
    registry: &Registry,
    environment: &Environment,
    overrides: &[InstanceOverride],
    limits: &Limits,
    elsewhere: Vec<Option<Span>>,
) -> Result<ElaboratedSystem, Diagnostics> {
    let outside = |place| Described { place, part: None };
    let modules = file.modules.iter().map(|(_, scope)| scope);
    let memories = std::iter::once(&file.scope).chain(modules);
    let memories = memories.map(ScopeMemory::of);
    let elaborator = Elaborator {
        file,
        registry,
        environment,
        overrides: InstanceOverrides::new(overrides),
        limits,
        partial: PartialSystem::new(),
        places: elsewhere.into_iter().map(outside).collect(),
        problems: Diagnostics::new(),
        addresses: Addresses::default(),
        instances: FxHashSet::default(),
        absent: FxHashSet::default(),
        memories: memories.collect(),
        presets: Presets::new(file, registry),
        modules_used: BTreeSet::new(),
        texts: Default::default(),
    };
    elaborator.run()
}

struct Elaborator<'a> {
    file: &'a SystemFile,
    registry: &'a Registry,
    environment: &'a Environment,
    overrides: InstanceOverrides<'a>,
    limits: &'a Limits,
    partial: PartialSystem,
    /// Source locations of parts and wires, indexed by [`Origin`] number.
    places: Vec<Described>,
    problems: Diagnostics,
    /// All addresses that a wire can name.
    addresses: Addresses,
    /// Paths of component and module instances.
    instances: FxHashSet<Arc<str>>,
    /// Paths of parts, and addresses of module ports, that conditions exclude.
    absent: FxHashSet<Arc<str>>,
    /// Cached state of expanded scopes: first the system, then each module.
    memories: Vec<ScopeMemory>,
    presets: Presets<'a>,
    modules_used: BTreeSet<&'a str>,
    /// Scratch buffers for composing addresses, reused to avoid allocation.
    texts: [String; 2],
}

/// Source location of a part or wire.
struct Described {
    place: Option<Span>,
    /// Index of the part in the list of resolved parts.
    part: Option<usize>,
}

impl Elaborator<'_> {
    fn run(mut self) -> Result<ElaboratedSystem, Diagnostics> {
        let file = self.file;
        let names = self.parameters(&file.scope, &[]);
        if self.problems.has_errors() {
            return Err(self.problems);
        }
        let clocks = self.read_clocks(&names);
        self.check_clock(&file.core);
        for (name, _) in &file.modules {
            if self.registry.get(&name.value).is_some() {
                let message = format!("`{}` is already the name of a component kind", name.value);
                self.problems.push(name.error(message));
            }
        }
        let at = ScopePath {
            prefix: String::new(),
            clock: file.core.value.as_str().into(),
            stack: Vec::new(),
            memory: 0,
            first_address: 0,
        };
        let counts = self.counts(&file.scope, &names);
        if self.problems.has_errors() || !self.may_fit(&file.scope, &counts) {
            return Err(self.problems);
        }
        self.scope(&file.scope, &at, &names);
        if !self.problems.has_errors() {
            let unmatched = self.overrides.unmatched(&self.instances, &self.absent);
            self.problems.extend(unmatched);
        }
        if self.problems.has_errors() {
            return Err(self.problems);
        }
        let simulation = std::mem::take(&mut self.partial.builder)
            .elaborate()
            .map_err(|errors| self.locate(errors))?;
        let mut warnings = simulation.warnings();
        self.add_stale_caches(&simulation, &mut warnings);
        self.warn(warnings);
        for (name, _) in &file.modules {
            if !self.modules_used.contains(name.value.as_str()) {
                let message = format!("module `{}` is never used", name.value);
                self.problems.push(name.blame(Diagnostic::warning(message)));
            }
        }
        Ok(ElaboratedSystem {
            simulation,
            resolved: ResolvedSystem {
                registry: self.registry.clone(),
                summary: file.summary.clone(),
                core: file.core.value.clone(),
                clocks,
                parts: self.partial.parts,
                wires: self.partial.wires,
                unwired: self.partial.unwired,
            },
            core_clock: file.core.value.clone(),
            summary: file.summary.clone(),
            warnings: self.problems,
        })
    }

    /// Creates the clocks and returns their frequencies.
    fn read_clocks(&mut self, names: &Names) -> Vec<(String, Node)> {
        let mut read = Vec::new();
        for (name, node) in &self.file.clocks {
            let mut node = node.clone();
            if self.problems.take(names.resolve(&mut node)).is_none() {
                continue;
            }
            if let Some(frequency) = self.problems.take(from_node::<Frequency>(&node)) {
                let clock = self.partial.builder.clock(&name.value, frequency);
                self.partial.clocks.insert(name.value.clone(), clock);
            }
            read.push((name.value.clone(), node));
        }
        read
    }

    /// True if a clock of this name exists; otherwise records the problem.
    fn check_clock(&mut self, name: &Placed<String>) -> bool {
        let clocks = &self.file.clocks;
        let known = clocks.get(&name.value).is_some();
        if !known {
            let message = format!("unknown clock `{}`", name.value);
            let hint = name_hint(&name.value, "clocks", clocks.names());
            self.problems.push(name.error(message).hint(hint));
        }
        known
    }

    /// Registers a location and returns its number for errors of the framework.
    fn origin(&mut self, place: &Placed<String>, part: Option<usize>) -> Origin {
        let place = place.place.clone();
        self.places.push(Described { place, part });
        Origin(self.places.len() as u32 - 1)
    }

    /// Maps errors of the framework to the source locations they belong to.
    fn locate(&self, errors: ElaborationErrors) -> Diagnostics {
        let mut problems = Diagnostics::new();
        let mut at_place: BTreeMap<(String, u32), usize> = BTreeMap::new();
        for error in errors.0 {
            let origin = error.origin.and_then(|Origin(number)| {
                self.place_of(&self.places[number as usize], &error.field)
            });
            if let Some(place) = &origin {
                // A repeated part or wire has the same problem every time.
                let place = (place.source.name().to_owned(), place.start);
                let shown = at_place.entry(place).or_default();
                *shown += 1;
                if *shown > PROBLEMS_AT_A_PLACE {
                    continue;
                }
            }
            // Without an origin it is the clocks that do not go together.
            let clocks = || self.file.clocks.iter().next().map(|(_, c)| c.span.clone());
            let related = error.related.into_iter().filter_map(|there| {
                let Origin(number) = there.origin?;
                let place = self.place_of(&self.places[number as usize], &there.field)?;
                let message = there.message;
                Some(Related { message, place })
            });
            problems.push(Diagnostic {
                place: origin.or_else(clocks),
                hint: error.hint,
                related: related.collect(),
                ..Diagnostic::error(error.message)
            });
        }
        problems
    }

    /// Adds warnings about caches below the first level that are never invalidated although others
    /// write below them.
    fn add_stale_caches(&self, simulation: &Simulation, warnings: &mut Vec<SystemWarning>) {
        let stale = stale_caches(simulation, &self.partial.unwired);
        if stale.is_empty() {
            return;
        }
        // Caches of which the port must be wired in any case are known already.
        let first_word = |warning: &SystemWarning| {
            let mut words = warning.message.split('`').skip(1);
            words.next().map(str::to_owned)
        };
        let known: BTreeSet<String> = warnings.iter().filter_map(first_word).collect();
        let mut origins = BTreeMap::new();
        for (number, described) in (0_u32..).zip(&self.places) {
            if let Some(part) = described.part {
                let path = &*self.partial.parts[part].path;
                origins.entry(path).or_insert(Origin(number));
            }
        }
        for path in stale {
            let port = format!("{path}.control");
            if known.contains(&port) {
                continue;
            }
            warnings.push(SystemWarning {
                message: format!(
                    "port `{port}` (Cache) is not connected: others write below this cache, and its lines are not invalidated when a kernel ends, so later kernels may hit stale lines"
                ),
                hint: None,
                origin: origins.get(path.as_str()).copied(),
                unwired: Some("control".to_owned()),
            });
        }
    }

    /// Records warnings about legal descriptions that look unintended. Ports without a wire are
    /// reported once per description, because every repetition of a part would repeat them.
    fn warn(&mut self, warnings: Vec<SystemWarning>) {
        let mut missed: Vec<(Option<Span>, String, Diagnostic, usize)> = Vec::new();
        for warning in warnings {
            let described = warning.origin.map(|Origin(n)| &self.places[n as usize]);
            let place = described.and_then(|described| described.place.clone());
            let part = described.and_then(|described| described.part);
            let (Some(port), Some(part)) = (warning.unwired, part) else {
                let problem = Diagnostic::warning(warning.message);
                self.problems.push(Diagnostic { place, ..problem });
                continue;
            };
            let same = |known: &&mut (Option<Span>, String, Diagnostic, usize)| {
                known.0 == place && known.1 == port
            };
            if let Some((.., more)) = missed.iter_mut().find(same) {
                *more += 1;
                continue;
            }
            let path = &*self.partial.parts[part].path;
            let name = path.rsplit('.').next().unwrap_or(path);
            let name = name.split('[').next().unwrap_or(name);
            let all = if path.ends_with(']') { "[*]" } else { "" };
            let hint = format!(
                "wire it, or write `unwired: [\"{name}{all}.{port}\"]` next to the wires if this is intended"
            );
            let problem = Diagnostic::warning(warning.message).hint(hint);
            let problem = Diagnostic {
                place: place.clone(),
                ..problem
            };
            missed.push((place, port, problem, 0));
        }
        for (.., mut problem, more) in missed {
            if more > 0 {
                problem.message = format!("{} ({more} more like it)", problem.message);
            }
            self.problems.push(problem);
        }
    }

    /// Returns the location of a part's field, or of the part if the field is not written.
    fn place_of(&self, described: &Described, field: &str) -> Option<Span> {
        let part = described.part.filter(|_| !field.is_empty());
        if let Some(number) = part {
            let node = &self.partial.parts[number].description.node();
            let found = field_at(node, field);
            if !std::ptr::eq(found, node) {
                return Some(found.head_span());
            }
        }
        described.place.clone()
    }
}

/// Removes a field from a description and returns it.
fn take_field(node: &mut Node, name: &str) -> Option<Node> {
    let Kind::Struct(value) = &mut node.kind else {
        return None;
    };
    let at = value
        .fields
        .iter()
        .position(|field| field.name.text == name)?;
    Some(value.fields.remove(at).value)
}
