//! Wires, and the ports of modules that they may end at.

use std::collections::BTreeSet;

use warpweave_framework::Link;
use warpweave_params::{Node, Placed, from_node, nearest};

use super::address::{Pattern, is_within};
use super::scope::{At, Names};
use super::sizes::repetitions;
use super::system_file::WireSpec;
use super::{Elaborator, take_field};

/// Bytes of a wire beside its messages.
const WIRE_BYTES: u64 = 1 << 10;

/// Bytes of a place for a message; the largest of the protocols take about so many.
const MESSAGE_BYTES: u64 = 192;

impl Elaborator<'_> {
    /// Makes the ports of a module that `outer` names stand for those that `inner` names.
    pub(super) fn port(
        &mut self,
        outer: &Placed<String>,
        inner: &Placed<String>,
        at: &At<'_>,
        names: &Names,
        counts: &[(&str, i64)],
    ) {
        let patterns = (
            self.problems.take(Pattern::parse(&outer.value, outer)),
            self.problems.take(Pattern::parse(&inner.value, inner)),
        );
        let (Some(outer_pattern), Some(inner_pattern)) = patterns else {
            return;
        };
        let used = outer_pattern.variables();
        if !self.may_add_wires(repetitions(&used, counts), outer) {
            return;
        }
        for names in names.assignments(&used, counts) {
            let ends = (
                self.problems
                    .take(outer_pattern.evaluate(&names.env, outer)),
                self.problems
                    .take(inner_pattern.evaluate(&names.env, inner)),
            );
            let (Some(outer_name), Some(inner_name)) = ends else {
                return;
            };
            let from = format!("{}{}", at.prefix, outer_name.text());
            let to = format!("{}{}", at.prefix, inner_name.text());
            if self.is_left_out(&to) {
                self.absent.insert(from);
                continue;
            }
            if !self.known_addresses.contains(&to) {
                return self.unknown_address(&inner_name.text(), &at.prefix, inner);
            }
            self.add_address(from.clone());
            self.aliases.insert(from, to);
        }
    }

    pub(super) fn add_address(&mut self, address: String) {
        self.known_addresses.insert(address.clone());
        self.addresses.push(address);
    }

    fn unknown_address(&mut self, name: &str, prefix: &str, written: &Placed<String>) {
        let known = self.addresses.iter().filter_map(|a| a.strip_prefix(prefix));
        let hint = match nearest(name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "ports are named `part.port`".to_owned(),
        };
        let problem = written.error(format!("`{name}` names no port"));
        self.problems.push(problem.hint(hint));
    }

    /// Makes every wire that a pair of addresses names.
    pub(super) fn wire(
        &mut self,
        ends: &Placed<String>,
        terms: &Node,
        at: &At<'_>,
        names: &Names,
        counts: &[(&str, i64)],
    ) {
        let Some((left, right)) = ends.value.split_once("<->") else {
            let problem = ends.error(format!("`{}` does not say what it joins", ends.value));
            return self
                .problems
                .push(problem.hint("write `part.port <-> part.port`"));
        };
        let patterns = (
            self.problems.take(Pattern::parse(left, ends)),
            self.problems.take(Pattern::parse(right, ends)),
        );
        let (Some(left), Some(right)) = patterns else {
            return;
        };
        let used: BTreeSet<_> = left
            .variables()
            .union(&right.variables())
            .cloned()
            .collect();
        if !self.may_add_wires(repetitions(&used, counts), ends) {
            return;
        }
        for names in names.assignments(&used, counts) {
            let mut terms = terms.clone();
            if let Some(condition) = take_field(&mut terms, "if") {
                match self.problems.take(names.holds(condition)) {
                    Some(true) => {}
                    Some(false) => continue,
                    None => return,
                }
            }
            if self.problems.take(names.resolve(&mut terms)).is_none() {
                return;
            }
            let Some(spec) = self.problems.take(from_node::<WireSpec>(&terms)) else {
                return;
            };
            let pair = (
                self.problems.take(left.evaluate(&names.env, ends)),
                self.problems.take(right.evaluate(&names.env, ends)),
            );
            let (Some(left), Some(right)) = pair else {
                return;
            };
            let (lefts, rights) = (
                self.expand(&left, &at.prefix),
                self.expand(&right, &at.prefix),
            );
            // A wire goes with the part at its end.
            if self.ends_nowhere(&left, &lefts, &at.prefix)
                || self.ends_nowhere(&right, &rights, &at.prefix)
            {
                continue;
            }
            if lefts.len() != rights.len() || lefts.is_empty() {
                let problem = ends.error(format!(
                    "`{}` names {} ports and `{}` names {}",
                    left.text(),
                    lefts.len(),
                    right.text(),
                    rights.len()
                ));
                let hint = "wildcards are joined one to one, in the order of their indices";
                return self.problems.push(problem.hint(hint));
            }
            if !self.may_add_wires(lefts.len() as u64, ends) {
                return;
            }
            for (a, b) in lefts.into_iter().zip(rights) {
                let problems_before = self.problems.len();
                self.connect(&a, &b, spec, ends, &terms);
                if self.problems.len() > problems_before {
                    return;
                }
            }
        }
    }

    /// Notes that ports are meant to stay without a wire.
    pub(super) fn leave_unwired(
        &mut self,
        port: &Placed<String>,
        at: &At<'_>,
        names: &Names,
        counts: &[(&str, i64)],
    ) {
        let Some(pattern) = self.problems.take(Pattern::parse(&port.value, port)) else {
            return;
        };
        for names in names.assignments(&pattern.variables(), counts) {
            let Some(name) = self.problems.take(pattern.evaluate(&names.env, port)) else {
                return;
            };
            let found = self.expand(&name, &at.prefix);
            if self.ends_nowhere(&name, &found, &at.prefix) {
                continue;
            }
            let unknown = |address: &String| !self.known_addresses.contains(address);
            if found.is_empty() || found.iter().any(unknown) {
                return self.unknown_address(&name.text(), &at.prefix, port);
            }
            for address in found {
                let address = self.inner(&address);
                let origin = self.origin(port, None);
                self.builder.leave_unwired(&address, Some(origin));
                self.resolved_unwired.push(address);
            }
        }
    }

    /// The port of a component that an address stands for.
    fn inner(&self, address: &str) -> String {
        let mut address = address.to_owned();
        while let Some(next) = self.aliases.get(&address) {
            address.clone_from(next);
        }
        address
    }

    /// The full addresses that a pattern names; without wildcards the address itself, known or not.
    fn expand(&self, pattern: &Pattern, prefix: &str) -> Vec<String> {
        if !pattern.has_wildcard() {
            return vec![format!("{prefix}{}", pattern.text())];
        }
        let mut found: Vec<(Vec<u64>, &String)> = self
            .addresses
            .iter()
            .filter_map(|a| Some((pattern.matches(a.strip_prefix(prefix)?)?, a)))
            .collect();
        found.sort();
        found
            .into_iter()
            .map(|(_, address)| address.clone())
            .collect()
    }

    /// Whether conditions leave out all that one end of a wire names, which is `found`.
    fn ends_nowhere(&self, pattern: &Pattern, found: &[String], prefix: &str) -> bool {
        if self.absent.is_empty() {
            return false;
        }
        match (found, pattern.has_wildcard()) {
            ([address], false) => self.is_left_out(address),
            ([], true) => {
                let pattern = format!("{prefix}{}", pattern.text());
                self.absent.iter().any(|absent| is_within(&pattern, absent))
            }
            _ => false,
        }
    }

    /// Whether an address lies in a part that a condition leaves out.
    fn is_left_out(&self, address: &str) -> bool {
        let ends = address.match_indices('.').map(|(at, _)| at);
        ends.chain([address.len()])
            .any(|end| self.absent.contains(&address[..end]))
    }

    fn connect(&mut self, a: &str, b: &str, spec: WireSpec, ends: &Placed<String>, terms: &Node) {
        let (a, b) = (self.inner(a), self.inner(b));
        let link = Link::from(spec);
        let slots = link.capacity.unwrap_or_else(|| link.full_rate_capacity());
        let bytes = WIRE_BYTES + u64::from(slots) * MESSAGE_BYTES;
        if !self.may_keep(&ends.value, bytes, ends) {
            return;
        }
        let origin = self.origin(ends, None);
        self.builder.connect_from(&a, &b, link, Some(origin));
        self.resolved_wires
            .push((format!("{a} <-> {b}"), terms.clone()));
    }
}
