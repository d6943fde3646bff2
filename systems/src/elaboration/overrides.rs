//! Overrides of single fields of instances.

use std::sync::Arc;

use warpweave_params::{Diagnostic, Diagnostics, MissingField, Node, Override, Span, nearest};

use super::Elaborator;
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

impl Elaborator<'_> {
    /// Applies the overrides of this instance's fields for which `wanted` returns true. `wanted`
    /// gets the field's name, and true if the override path continues below it. Expressions use the
    /// names visible at the instance. Returns false if an override is invalid.
    pub(super) fn override_fields(
        &mut self,
        path: &str,
        node: &mut Node,
        names: &Names,
        wanted: impl Fn(&str, bool) -> bool,
    ) -> bool {
        for (i, replacement) in self.overrides.iter().enumerate() {
            let Some(field) = field_path_of(&replacement.path, path) else {
                continue;
            };
            let first = field.split(['.', '[']).next().unwrap_or(field);
            if !wanted(first, first != field) {
                continue;
            }
            self.used[i] = true;
            let mut value = replacement.value.clone();
            let applied = names
                .resolve(&mut value)
                .and_then(|()| Override::of_value(field, &replacement.place, value))
                .and_then(|o| {
                    o.apply(node, MissingField::Insert)
                        .map_err(Diagnostics::from)
                });
            if self.problems.take(applied).is_none() {
                return false;
            }
        }
        true
    }

    /// Reports the first override that matches no instance.
    pub(super) fn check_overrides(&mut self) {
        for (replacement, used) in self.overrides.iter().zip(&self.used) {
            if *used || self.problems.has_errors() {
                continue;
            }
            let path = &replacement.path;
            let wanted = path
                .rsplit_once('.')
                .map_or(path.as_str(), |(instance, _)| instance);
            let left_out = |absent: &&Arc<str>| field_path_of(path, absent).is_some();
            if let Some(absent) = self.absent.iter().filter(|absent| left_out(absent)).min() {
                let message = format!("`{absent}` is not part of this system");
                let problem = Diagnostic::error(message).at(&replacement.place);
                let hint = "it is excluded by a condition, `if: ..`";
                self.problems.push(problem.hint(hint));
                continue;
            }
            let message = format!("`{path}` matches no instance");
            let mut known: Vec<&str> = self.instances.iter().map(|path| &**path).collect();
            known.sort_unstable();
            let hint = match nearest(wanted, known) {
                Some(name) => format!("did you mean `{name}`?"),
                None => "paths are `instance.field`, such as `cluster[*].l1.ways`; `check` lists \
                         the instances"
                    .to_owned(),
            };
            self.problems
                .push(Diagnostic::error(message).at(&replacement.place).hint(hint));
        }
    }
}
