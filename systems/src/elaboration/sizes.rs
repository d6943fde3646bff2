//! Size limits of a system, checked before it is expanded.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_params::{Diagnostic, Env, NESTING_MAX, Node, Placed, eval_index};

use super::Elaborator;
use super::system_file::Scope;
use crate::address::Pattern;

/// Returns the number of repetitions for these index variables.
pub(super) fn repetitions(used: &BTreeSet<String>, counts: &[(&str, i64)]) -> u64 {
    let used = counts.iter().filter(|(name, _)| used.contains(*name));
    used.fold(1, |product, (_, count)| {
        product.saturating_mul(*count as u64)
    })
}

impl Elaborator<'_> {
    /// True if this many additional parts are within the limit; otherwise records the problem.
    pub(super) fn may_add_parts(&mut self, more: u64, key: &Placed<String>) -> bool {
        let before = (self.instances.len() + self.absent.len()) as u64;
        let fits = before.saturating_add(more) <= self.limits.instances.into();
        if !fits {
            let place = format!("`{}` adds {more} of them", key.value);
            self.refuse_size("parts", "instances", self.limits.instances, &place, key);
        }
        fits
    }

    /// True if this many additional wires or module ports are within the limit; otherwise records
    /// the problem.
    pub(super) fn may_add_wires(&mut self, more: u64, key: &Placed<String>) -> bool {
        let before = self.partial.wires.len().max(self.addresses.aliases()) as u64;
        let fits = before.saturating_add(more) <= self.limits.wires.into();
        if !fits {
            let place = format!("`{}` adds {more} of them", key.value);
            self.refuse_size("wires", "wires", self.limits.wires, &place, key);
        }
        fits
    }

    /// Charges `bytes` of memory for `what`. Returns false and records the problem if the limit is
    /// exceeded.
    pub(super) fn may_keep(&mut self, what: &str, bytes: u64, key: &Placed<String>) -> bool {
        let charged = self.environment.ledger().charge(what, bytes);
        let charged = charged.map_err(|mut error| {
            error.what = format!("`{what}`");
            key.blame(error)
        });
        self.problems.take(charged).is_some()
    }

    /// True unless a lower bound on the parts of this scope exceeds the limit, in which case the
    /// problem is recorded. Nothing is expanded: the bound omits parts with conditions or unknown
    /// indices. Parts of the system itself are multiplied by their repeat counts.
    pub(super) fn may_fit(&mut self, scope: &Scope, counts: &[(&str, i64)]) -> bool {
        // An override may leave out any part.
        let conditional = |path: &str| path.rsplit('.').next() == Some("if");
        if self.overrides.paths().any(conditional) {
            return true;
        }
        let mut known = BTreeMap::new();
        let mut sum: u64 = 0;
        for (key, value) in &scope.parts {
            let Some(repeats) = repeats_for_sure(key, value, counts) else {
                continue;
            };
            let each = self.parts_for_sure(value, &mut known, 0);
            let more = repeats.saturating_mul(each);
            sum = sum.saturating_add(more);
            if sum > self.limits.instances.into() {
                let place = format!("`{}` adds at least {more} of them", key.value);
                self.refuse_size("parts", "instances", self.limits.instances, &place, key);
                return false;
            }
        }
        true
    }

    /// Returns a lower bound on the number of parts in `value`, including itself.
    fn parts_for_sure<'s>(
        &'s self,
        value: &'s Node,
        known: &mut BTreeMap<&'s str, u64>,
        depth: usize,
    ) -> u64 {
        let name = value.name().map(|name| name.text.as_str());
        let module = name.and_then(|name| self.file.modules.get(name));
        let Some((name, scope)) = module.filter(|_| depth < NESTING_MAX) else {
            return 1;
        };
        if let Some(parts) = known.get(name.value.as_str()) {
            return *parts;
        }
        // A module that contains itself is counted as empty; it is refused when it is expanded.
        known.insert(&name.value, 1);
        // What its parameters are is not known here.
        let names = Env::new();
        let counts: Vec<(&str, i64)> = scope
            .repeats
            .iter()
            .filter_map(|(name, count)| {
                let count = match count.as_str() {
                    Some(text) => eval_index(text.strip_prefix('=')?, &names).ok()?,
                    None => i64::try_from(count.as_int()?).ok()?,
                };
                Some((name.value.as_str(), count.max(0)))
            })
            .collect();
        let mut sum: u64 = 1;
        for (key, value) in &scope.parts {
            if let Some(repeats) = repeats_for_sure(key, value, &counts) {
                let each = self.parts_for_sure(value, known, depth + 1);
                sum = sum.saturating_add(repeats.saturating_mul(each));
            }
        }
        known.insert(&name.value, sum);
        sum
    }

    fn refuse_size(
        &mut self,
        what: &str,
        field: &str,
        most: u32,
        place: &str,
        key: &Placed<String>,
    ) {
        let message = format!("the system has more than {most} {what}: {place}");
        let hint = format!("raise the limit with `--set limits.{field}=...` if this is intended");
        self.problems.push(key.error(message).hint(hint));
    }
}

/// Returns the repeat count of a part, or `None` if it depends on a condition or unknown index.
fn repeats_for_sure(key: &Placed<String>, value: &Node, counts: &[(&str, i64)]) -> Option<u64> {
    let pattern: Result<Pattern, Diagnostic> = Pattern::parse(&key.value, key);
    let used = pattern.ok()?.variables();
    let known = |name: &String| counts.iter().any(|(known, _)| known == name);
    let sure = value.field("if").is_none() && used.iter().all(known);
    sure.then(|| repetitions(&used, counts))
}
