//! System files as written: clocks, parameters, modules, parts and wires.
//!
//! ```ron
//! System(
//!     clocks: { "core": "1.4 GHz", "dram": "924 MHz" },
//!     core: "core",                       // the clock that counts the cycles of a report
//!     params: { "units": 4 },
//!     modules: {
//!         "Cluster": Module(
//!             params: { "ways": 4 },      // defaults; `Cluster(ways: 8)` overrides
//!             ports: { "noc": "l1.down" },
//!             parts: { "l1": Cache(preset: "small", ways: "=ways", ...) },
//!         ),
//!     },
//!     presets: { "small": Cache(ways: 2, ...) },
//!     for: { "i": "=units" },             // `[i]` below runs over 0, 1, 2, 3
//!     parts: {
//!         "cluster[i]": Cluster(ways: 8),
//!         "dram": Gddr5(clock: "dram", ...),
//!         "checker": CoalescingChecker(if: "=units > 1", ...),
//!     },
//!     wires: {
//!         "cluster[i].noc <-> crossbar.up[i]": (latency: 1),
//!         "crossbar.down[*] <-> l2[*].up": (latency: 1),
//!     },
//!     unwired: ["cluster[*].l1.control"], // optional ports that are meant to have no wire
//! )
//! ```

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Link, Width};
use warpweave_params::{Diagnostic, Diagnostics, Entries, Node, Placed, from_named};

/// Scope of parts and wires: the system itself or a module.
#[derive(Deserialize)]
#[serde(rename = "Module")]
pub(crate) struct Scope {
    /// Clock of the parts that name none; the clock of the enclosing scope if absent.
    #[serde(default)]
    pub(crate) clock: Option<Placed<String>>,
    /// Parameters with their defaults, in declaration order.
    #[serde(default)]
    pub(crate) params: Entries<Node>,
    /// Index variables, each with its repeat count.
    #[serde(default, rename = "for")]
    pub(crate) repeats: Entries<Node>,
    /// Name and description of each part.
    #[serde(default)]
    pub(crate) parts: Entries<Node>,
    /// Both ends and the terms of each wire.
    #[serde(default)]
    pub(crate) wires: Entries<Node>,
    /// Ports that are intentionally left without a wire.
    #[serde(default)]
    pub(crate) unwired: Vec<Placed<String>>,
    /// Port name and the inner address it is an alias for; modules only.
    #[serde(default)]
    pub(crate) ports: Entries<Placed<String>>,
}

/// Parsed system file with its modules and presets.
pub(crate) struct SystemFile {
    pub(crate) summary: String,
    pub(crate) clocks: Entries<Node>,
    pub(crate) core: Placed<String>,
    /// Reusable composite modules, by their names.
    pub(crate) modules: Entries<Scope>,
    /// Presets: named descriptions that parts can start from.
    pub(crate) presets: Entries<Node>,
    pub(crate) scope: Scope,
}

/// Fields of a system file: those of a scope, and those that only the top level has.
#[derive(Deserialize)]
struct System {
    #[serde(default)]
    summary: String,
    clocks: Entries<Node>,
    core: Placed<String>,
    // Carried out before the system is read; here for the list of fields.
    #[serde(default, rename = "extends")]
    _extends: IgnoredAny,
    #[serde(default, rename = "include")]
    _include: IgnoredAny,
    #[serde(default)]
    modules: Entries<Scope>,
    #[serde(default)]
    presets: Entries<Node>,
    #[serde(default)]
    clock: Option<Placed<String>>,
    #[serde(default)]
    params: Entries<Node>,
    #[serde(default, rename = "for")]
    repeats: Entries<Node>,
    #[serde(default)]
    parts: Entries<Node>,
    #[serde(default)]
    wires: Entries<Node>,
    #[serde(default)]
    unwired: Vec<Placed<String>>,
}

/// Terms of a wire in description files.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireSpec {
    latency: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    credit_latency: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    width: Option<WidthSpec>,
}

/// Width of a wire in description files.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum WidthSpec {
    /// Width as a number of messages per cycle.
    Messages(u32),
    /// Width as a number of bytes per cycle.
    Bytes(u32),
}

impl From<WireSpec> for Link {
    fn from(spec: WireSpec) -> Self {
        Self {
            latency: spec.latency,
            credit_latency: spec.credit_latency.unwrap_or(spec.latency),
            capacity: spec.capacity,
            width: match spec.width {
                None => Width::Messages(1),
                Some(WidthSpec::Messages(n)) => Width::Messages(n),
                Some(WidthSpec::Bytes(n)) => Width::Bytes(n),
            },
        }
    }
}

impl SystemFile {
    /// Parses the tree of a system file.
    pub(crate) fn read(node: &Node) -> Result<Self, Diagnostics> {
        let system: System = from_named(node, "System")?;
        if system.clocks.is_empty() {
            return Err(Diagnostic::error("a system needs at least one clock")
                .at(&node.head_span())
                .hint("add `clocks: { \"core\": \"1 GHz\" }`")
                .into());
        }
        Ok(Self {
            summary: system.summary,
            clocks: system.clocks,
            core: system.core,
            modules: system.modules,
            presets: system.presets,
            scope: Scope {
                clock: system.clock,
                params: system.params,
                repeats: system.repeats,
                parts: system.parts,
                wires: system.wires,
                unwired: system.unwired,
                ports: Entries::default(),
            },
        })
    }
}
