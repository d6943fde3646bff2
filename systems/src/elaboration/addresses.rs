//! Addresses that wires can name: ports of parts, and module ports that are aliases for them.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use warpweave_framework::PortList;

use crate::address::Pattern;

/// Set of all addresses that a wire can name, in declaration order.
#[derive(Default)]
pub(super) struct Addresses {
    declared: Vec<Declared>,
    /// Port lists of parts, keyed by the part's path.
    ports: FxHashMap<Arc<str>, Arc<PortList>>,
    /// Module ports: maps each full outer address to the full inner address.
    aliases: FxHashMap<Arc<str>, Arc<str>>,
}

/// Declaration that adds addresses to the set.
enum Declared {
    /// Part, given by its path and its ports.
    Part(Arc<str>, Arc<PortList>),
    /// Module port, given by its full outer address.
    Port(Arc<str>),
}

impl Addresses {
    /// Adds the ports of the part at `path`.
    pub(super) fn add_part(&mut self, path: Arc<str>, ports: Arc<PortList>) {
        self.ports.insert(Arc::clone(&path), Arc::clone(&ports));
        self.declared.push(Declared::Part(path, ports));
    }

    /// Adds the module port `outer`, an alias for `inner`.
    pub(super) fn add_port(&mut self, outer: Arc<str>, inner: Arc<str>) {
        self.declared.push(Declared::Port(Arc::clone(&outer)));
        self.aliases.insert(outer, inner);
    }

    /// Returns the number of added parts and module ports.
    pub(super) fn len(&self) -> usize {
        self.declared.len()
    }

    /// Returns the number of module ports that were added.
    pub(super) fn aliases(&self) -> usize {
        self.aliases.len()
    }

    /// True if a wire can name this address.
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

    /// Returns the part port that an address refers to.
    pub(super) fn inner(&self, address: &str) -> Arc<str> {
        let Some(mut address) = self.aliases.get(address) else {
            return address.into();
        };
        while let Some(next) = self.aliases.get(address) {
            address = next;
        }
        Arc::clone(address)
    }

    /// Returns all addresses below `prefix`, without the prefix.
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

    /// Returns the full addresses that `pattern` names below `prefix`, ordered by the numbers its
    /// wildcards match. Only declarations from number `first` on are searched.
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
