//! Elaboration of wires, and of the module ports they may connect to.

use std::collections::BTreeSet;
use std::sync::Arc;

use warpweave_framework::{Link, Origin};
use warpweave_params::{Node, Placed, from_node, nearest};

use super::repetition::{ExpansionCache, WireMemory, WireTerms};
use super::scope::{Names, ScopePath};
use super::sizes::repetitions;
use super::system_file::WireSpec;
use super::{Elaborator, take_field};
use crate::address::{Pattern, is_within};

/// Bytes charged for a wire, besides its messages.
const WIRE_BYTES: u64 = 1 << 10;

/// Bytes charged per message slot, about the size of the largest protocol message.
const MESSAGE_BYTES: u64 = 192;

/// Pair of addresses in which a wire is written.
struct WireEnds<'w> {
    left: &'w Pattern,
    right: &'w Pattern,
    written: &'w Placed<String>,
    origin: Origin,
}

impl Elaborator<'_> {
    /// Makes the module ports named by `outer` aliases for those named by `inner`, for port
    /// `number` of the scope.
    pub(super) fn port(
        &mut self,
        number: usize,
        (outer, inner): (&Placed<String>, &Placed<String>),
        at: &ScopePath<'_>,
        names: &Names,
        counts: &[(&str, i64)],
    ) {
        let known = self.memories[at.memory].ports[number].take();
        let patterns = known.or_else(|| {
            let patterns = (
                self.problems.take(Pattern::parse(&outer.value, outer)),
                self.problems.take(Pattern::parse(&inner.value, inner)),
            );
            Some((patterns.0?, patterns.1?))
        });
        let Some((outer_pattern, inner_pattern)) = &patterns else {
            return;
        };
        let used = outer_pattern.variables();
        if !self.may_add_wires(repetitions(&used, counts), outer) {
            return;
        }
        let mut assignments = names.assignments(&used, counts);
        while let Some(Names { env }) = assignments.next() {
            let [from, to] = &mut self.texts;
            let ends = (
                (self.problems).take(outer_pattern.address(from, &at.prefix, env, outer)),
                (self.problems).take(inner_pattern.address(to, &at.prefix, env, inner)),
            );
            let (Some(()), Some(())) = ends else {
                return;
            };
            let [from, to] = [&*from, &*to].map(|text| Arc::<str>::from(text.as_str()));
            if self.is_left_out(&to, &at.prefix) {
                self.absent.insert(from);
                continue;
            }
            if !self.addresses.contains(&to) {
                return self.unknown_address(&to[at.prefix.len()..], &at.prefix, inner);
            }
            self.addresses.add_port(from, to);
        }
        self.memories[at.memory].ports[number] = patterns;
    }

    fn unknown_address(&mut self, name: &str, prefix: &str, written: &Placed<String>) {
        let known = self.addresses.behind(prefix);
        let hint = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "ports are named `part.port`".to_owned(),
        };
        let problem = written.error(format!("`{name}` does not name a port"));
        self.problems.push(problem.hint(hint));
    }

    /// Creates every wire that a pair of addresses names, for wire `number` of the scope.
    pub(super) fn wire(
        &mut self,
        number: usize,
        ends: &Placed<String>,
        terms: &Node,
        at: &ScopePath<'_>,
        names: &Names,
        counts: &[(&str, i64)],
    ) {
        let mut memory = std::mem::take(&mut self.memories[at.memory].wires[number]);
        if memory.ends.is_none() {
            memory.ends = self.ends_of(ends);
        }
        if let WireMemory {
            ends: Some((left, right, used)),
            terms: known,
            origin,
        } = &mut memory
        {
            let known = known.get_or_insert_with(|| WireTerms::new(terms));
            let origin = *origin.get_or_insert_with(|| self.origin(ends, None));
            let wire = WireEnds {
                left,
                right,
                written: ends,
                origin,
            };
            if self.may_add_wires(repetitions(used, counts), ends) {
                let mut assignments = names.assignments(used, counts);
                while let Some(names) = assignments.next() {
                    if !self.wire_once(&wire, known, at, names) {
                        break;
                    }
                }
            }
        }
        self.memories[at.memory].wires[number] = memory;
    }

    /// Returns the patterns of both ends, and the names they use.
    fn ends_of(&mut self, ends: &Placed<String>) -> Option<(Pattern, Pattern, BTreeSet<String>)> {
        let Some((left, right)) = ends.value.split_once("<->") else {
            let problem = ends.error(format!(
                "`{}` does not name the two ports to connect",
                ends.value
            ));
            let hint = "write `part.port <-> part.port`";
            self.problems.push(problem.hint(hint));
            return None;
        };
        let patterns = (
            self.problems.take(Pattern::parse(left, ends)),
            self.problems.take(Pattern::parse(right, ends)),
        );
        let (left, right) = (patterns.0?, patterns.1?);
        let used = left
            .variables()
            .union(&right.variables())
            .cloned()
            .collect();
        Some((left, right, used))
    }

    /// Creates the wires of one assignment of indices. Returns false if the other assignments would
    /// have the same problem.
    fn wire_once(
        &mut self,
        wire: &WireEnds<'_>,
        terms: &mut WireTerms,
        at: &ScopePath<'_>,
        names: &Names,
    ) -> bool {
        let WireEnds {
            left,
            right,
            written: ends,
            ..
        } = *wire;
        if let Some((written, known)) = &mut terms.condition {
            let holds = known.get(written, names, |node| names.holds(node));
            match self.problems.take(holds.copied()) {
                Some(true) => {}
                Some(false) => return true,
                None => return false,
            }
        }
        let resolved = terms.resolved.get(&terms.written, names, |mut node| {
            names.resolve(&mut node)?;
            Ok((from_node(&node)?, Arc::new(node)))
        });
        let Some((spec, terms)) = self.problems.take(resolved.cloned()) else {
            return false;
        };
        let problems_before = self.problems.len();
        if !left.has_wildcard() && !right.has_wildcard() {
            let mut texts = std::mem::take(&mut self.texts);
            let [a, b] = &mut texts;
            let named = (
                (self.problems).take(left.address(a, &at.prefix, &names.env, ends)),
                (self.problems).take(right.address(b, &at.prefix, &names.env, ends)),
            );
            // A wire goes with the part at its end.
            let made = named == (Some(()), Some(()))
                && (self.is_left_out(a, &at.prefix)
                    || self.is_left_out(b, &at.prefix)
                    || self.may_add_wires(1, ends) && {
                        self.connect((a, b), spec, wire, &terms);
                        self.problems.len() == problems_before
                    });
            self.texts = texts;
            return made;
        }
        let pair = (
            self.problems.take(left.evaluate(&names.env, ends)),
            self.problems.take(right.evaluate(&names.env, ends)),
        );
        let (Some(left), Some(right)) = pair else {
            return false;
        };
        let (lefts, rights) = (self.expand(&left, at), self.expand(&right, at));
        if self.ends_nowhere(&left, &lefts, &at.prefix)
            || self.ends_nowhere(&right, &rights, &at.prefix)
        {
            return true;
        }
        if lefts.len() != rights.len() || lefts.is_empty() {
            let problem = ends.error(format!(
                "`{}` matches {} ports, but `{}` matches {}",
                left.text(),
                lefts.len(),
                right.text(),
                rights.len()
            ));
            let hint = "wildcards are joined one to one, in the order of their indices";
            self.problems.push(problem.hint(hint));
            return false;
        }
        if !self.may_add_wires(lefts.len() as u64, ends) {
            return false;
        }
        for (a, b) in lefts.iter().zip(&rights) {
            self.connect((a, b), spec, wire, &terms);
            if self.problems.len() > problems_before {
                return false;
            }
        }
        true
    }

    /// Records ports that are intentionally left without a wire.
    pub(super) fn leave_unwired(
        &mut self,
        port: &Placed<String>,
        at: &ScopePath<'_>,
        names: &Names,
        counts: &[(&str, i64)],
    ) {
        let Some(pattern) = self.problems.take(Pattern::parse(&port.value, port)) else {
            return;
        };
        let mut assignments = names.assignments(&pattern.variables(), counts);
        while let Some(names) = assignments.next() {
            let Some(name) = self.problems.take(pattern.evaluate(&names.env, port)) else {
                return;
            };
            let found = self.expand(&name, at);
            if self.ends_nowhere(&name, &found, &at.prefix) {
                continue;
            }
            let unknown = |address: &String| !self.addresses.contains(address);
            if found.is_empty() || found.iter().any(unknown) {
                return self.unknown_address(&name.text(), &at.prefix, port);
            }
            for address in found {
                let address = self.addresses.inner(&address);
                let origin = self.origin(port, None);
                self.partial.builder.leave_unwired(&*address, Some(origin));
                self.partial.unwired.push(address.as_ref().to_owned());
            }
        }
    }

    /// Returns the full addresses that a pattern names. Without wildcards it returns the address
    /// itself, even if unknown.
    fn expand(&self, pattern: &Pattern, at: &ScopePath<'_>) -> Vec<String> {
        if !pattern.has_wildcard() {
            return vec![format!("{}{}", at.prefix, pattern.text())];
        }
        self.addresses
            .matching(pattern, &at.prefix, at.first_address)
    }

    /// True if conditions exclude everything that one end of a wire names; `found` holds its known
    /// addresses.
    fn ends_nowhere(&self, pattern: &Pattern, found: &[String], prefix: &str) -> bool {
        if self.absent.is_empty() {
            return false;
        }
        match (found, pattern.has_wildcard()) {
            ([address], false) => self.is_left_out(address, prefix),
            ([], true) => {
                let pattern = format!("{prefix}{}", pattern.text());
                self.absent.iter().any(|absent| is_within(&pattern, absent))
            }
            _ => false,
        }
    }

    /// True if an address is in a part that a condition excludes. Conditions never exclude
    /// `prefix`, the start of the address.
    fn is_left_out(&self, address: &str, prefix: &str) -> bool {
        if self.absent.is_empty() {
            return false;
        }
        let behind = &address.as_bytes()[prefix.len()..];
        let dots = behind.iter().enumerate().filter(|(_, c)| **c == b'.');
        let ends = dots.map(|(at, _)| prefix.len() + at);
        ends.chain([address.len()])
            .any(|end| self.absent.contains(&address[..end]))
    }

    fn connect(
        &mut self,
        (a, b): (&str, &str),
        spec: WireSpec,
        wire: &WireEnds<'_>,
        terms: &Arc<Node>,
    ) {
        let (a, b) = (self.addresses.inner(a), self.addresses.inner(b));
        let link = Link::from(spec);
        let slots = link.capacity.unwrap_or_else(|| link.full_rate_capacity());
        let bytes = WIRE_BYTES + u64::from(slots) * MESSAGE_BYTES;
        if !self.may_keep(&wire.written.value, bytes, wire.written) {
            return;
        }
        self.partial
            .builder
            .connect_from(Arc::clone(&a), Arc::clone(&b), link, Some(wire.origin));
        self.partial.wires.push((a, b, Arc::clone(terms)));
    }
}

impl WireTerms {
    /// Creates the cached terms of a wire from its description.
    fn new(terms: &Node) -> Self {
        let mut written = terms.clone();
        let condition = take_field(&mut written, "if");
        Self {
            condition: condition.map(|condition| (condition, ExpansionCache::new())),
            written,
            resolved: ExpansionCache::new(),
        }
    }
}
