//! Overrides of single fields of instances.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use warpweave_params::{Diagnostic, Diagnostics, MissingField, Node, Override, Span, nearest};

use super::scope::Names;
use crate::address::field_path_of;

/// An override of one field of one or more instances.
pub(crate) struct InstanceOverride {
    /// Instance path (wildcards allowed), a dot, and the field path.
    pub(crate) path: String,
    /// Location where the override was given.
    pub(crate) place: Span,
    /// New value of the field, possibly an expression.
    pub(crate) value: Node,
}

/// All overrides of instances, with those that matched one so far.
pub(super) struct InstanceOverrides<'a> {
    all: &'a [InstanceOverride],
    used: Vec<bool>,
}

impl<'a> InstanceOverrides<'a> {
    /// Creates overrides of which none has matched an instance.
    pub(super) fn new(all: &'a [InstanceOverride]) -> Self {
        Self {
            all,
            used: vec![false; all.len()],
        }
    }

    /// Returns the paths of all overrides, as written.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|replacement| &*replacement.path)
    }

    /// True if an override changes the instance at `path`.
    pub(super) fn change(&self, path: &str) -> bool {
        self.paths()
            .any(|changed| field_path_of(changed, path).is_some())
    }

    /// Applies the overrides of this instance's fields for which `wanted` returns true. `wanted`
    /// gets the field's name, and true if the override path continues below it. Expressions use the
    /// names visible at the instance. Fails at the first override that is invalid.
    pub(super) fn apply(
        &mut self,
        path: &str,
        node: &mut Node,
        names: &Names,
        wanted: impl Fn(&str, bool) -> bool,
    ) -> Result<(), Diagnostics> {
        for (replacement, used) in self.all.iter().zip(&mut self.used) {
            let Some(field) = field_path_of(&replacement.path, path) else {
                continue;
            };
            let first = field.split(['.', '[']).next().unwrap_or(field);
            if !wanted(first, first != field) {
                continue;
            }
            *used = true;
            let mut value = replacement.value.clone();
            names.resolve(&mut value)?;
            let change = Override::of_value(field, &replacement.place, value)?;
            change.apply(node, MissingField::Insert)?;
        }
        Ok(())
    }

    /// Reports the first override that matches no instance.
    pub(super) fn unmatched(
        &self,
        instances: &FxHashSet<Arc<str>>,
        absent: &FxHashSet<Arc<str>>,
    ) -> Option<Diagnostic> {
        let mut pairs = self.all.iter().zip(&self.used);
        let (replacement, _) = pairs.find(|(_, used)| !**used)?;
        let path = &replacement.path;
        let left_out = |absent: &&Arc<str>| field_path_of(path, absent).is_some();
        if let Some(absent) = absent.iter().filter(|absent| left_out(absent)).min() {
            let message = format!("`{absent}` is not part of this system");
            let problem = Diagnostic::error(message).at(&replacement.place);
            let hint = "it is excluded by a condition, `if: ..`";
            return Some(problem.hint(hint));
        }
        let message = format!("`{path}` matches no instance");
        let wanted = path.rsplit_once('.');
        let wanted = wanted.map_or(path.as_str(), |(instance, _)| instance);
        let mut known: Vec<&str> = instances.iter().map(|path| &**path).collect();
        known.sort_unstable();
        let hint = match nearest(wanted, known) {
            Some(name) => format!("did you mean `{name}`?"),
            None => "paths are `instance.field`, such as `cluster[*].l1.ways`; `check` lists \
                     the instances"
                .to_owned(),
        };
        let problem = Diagnostic::error(message).at(&replacement.place);
        Some(problem.hint(hint))
    }
}
