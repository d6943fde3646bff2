//! The addresses that wires can name: ports of parts, and the ports of modules that stand for them.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use warpweave_framework::PortList;

use super::address::Pattern;

/// Every address that a wire can name, in the order of declaration.
#[derive(Default)]
pub(super) struct Addresses {
    declared: Vec<Declared>,
    /// Ports of parts by the paths of the parts.
    ports: FxHashMap<Arc<str>, Arc<PortList>>,
    /// Ports of modules: full outer address to full inner address.
    aliases: FxHashMap<Arc<str>, Arc<str>>,
}

/// What makes addresses known.
enum Declared {
    /// A part, by its path and its ports.
    Part(Arc<str>, Arc<PortList>),
    /// A port of a module.
    Port(Arc<str>),
}

impl Addresses {
    /// Adds the ports of the part at `path`.
    pub(super) fn add_part(&mut self, path: Arc<str>, ports: Arc<PortList>) {
        self.ports.insert(Arc::clone(&path), Arc::clone(&ports));
        self.declared.push(Declared::Part(path, ports));
    }

    /// Adds the port `outer` of a module, which stands for `inner`.
    pub(super) fn add_port(&mut self, outer: Arc<str>, inner: Arc<str>) {
        self.declared.push(Declared::Port(Arc::clone(&outer)));
        self.aliases.insert(outer, inner);
    }

    /// How many parts and ports of modules were added.
    pub(super) fn len(&self) -> usize {
        self.declared.len()
    }

    /// Ports of modules.
    pub(super) fn aliases(&self) -> usize {
        self.aliases.len()
    }

    /// Whether a wire can name this address.
    pub(super) fn contains(&self, address: &str) -> bool {
        if self.aliases.contains_key(address) {
            return true;
        }
        let Some((path, port)) = address.rsplit_once('.') else {
            return false;
        };
        let ports = self.ports.get(path);
        ports.is_some_and(|ports| ports.connectable().iter().any(|known| **known == *port))
    }

    /// The port of a part that an address stands for.
    pub(super) fn inner(&self, address: &str) -> Arc<str> {
        let Some(mut address) = self.aliases.get(address) else {
            return address.into();
        };
        while let Some(next) = self.aliases.get(address) {
            address = next;
        }
        Arc::clone(address)
    }

    /// All addresses behind `prefix`, without it.
    pub(super) fn behind(&self, prefix: &str) -> Vec<String> {
        let mut all = Vec::new();
        for declared in &self.declared {
            let mut add = |address: &str| {
                all.extend(address.strip_prefix(prefix).map(str::to_owned));
            };
            match declared {
                Declared::Port(address) => add(address),
                Declared::Part(path, ports) => {
                    let names = ports.connectable().iter();
                    names.for_each(|name| add(&format!("{path}.{name}")));
                }
            }
        }
        all
    }

    /// The full addresses that `pattern` names behind `prefix`, in the order of the numbers in the places
    /// of its wildcards; looks at what was added from number `first` on.
    pub(super) fn matching(&self, pattern: &Pattern, prefix: &str, first: usize) -> Vec<String> {
        let mut found: Vec<(Vec<u64>, String)> = Vec::new();
        let cut = pattern.part_and_port();
        for declared in &self.declared[first..] {
            let (Declared::Part(path, _) | Declared::Port(path)) = declared;
            let Some(rest) = path.strip_prefix(prefix) else {
                continue;
            };
            let Declared::Part(_, ports) = declared else {
                if let Some(numbers) = pattern.matches(rest) {
                    found.push((numbers, path.as_ref().to_owned()));
                }
                continue;
            };
            let Some(cut) = &cut else { continue };
            let Some(mut numbers) = cut.matches_part(rest) else {
                continue;
            };
            let of_part = numbers.len();
            for port in ports.connectable() {
                if cut.matches_port(port, &mut numbers) {
                    found.push((numbers.clone(), [path, ".", port].concat()));
                }
                numbers.truncate(of_part);
            }
        }
        if !found.is_sorted() {
            found.sort();
        }
        found.into_iter().map(|(_, address)| address).collect()
    }
}
