//! Overrides of single fields of instances.

use warpweave_params::{Absent, Diagnostic, Diagnostics, Node, Override, Span, nearest};

use super::Elaborator;
use super::address::field_path_of;
use super::system_file::Scope;

/// An override of one field of one or more instances.
pub(crate) struct InstanceOverride {
    /// Instance path (wildcards allowed), a dot, and the field path.
    pub(crate) path: String,
    /// Where it was given.
    pub(crate) place: Span,
    /// The new value.
    pub(crate) value: Node,
}

impl Elaborator<'_> {
    /// Applies the overrides that name this instance; for a module only those of its own
    /// parameters. False when one of them is wrong.
    pub(super) fn override_fields(
        &mut self,
        path: &str,
        node: &mut Node,
        module: Option<&Scope>,
    ) -> bool {
        for (i, replacement) in self.overrides.iter().enumerate() {
            let Some(field) = field_path_of(&replacement.path, path) else {
                continue;
            };
            let first = field.split(['.', '[']).next().unwrap_or(field);
            if module.is_some_and(|scope| scope.params.get(first).is_none()) {
                continue;
            }
            self.used[i] = true;
            let applied = Override::of_value(field, &replacement.place, replacement.value.clone())
                .and_then(|o| o.apply(node, Absent::Insert).map_err(Diagnostics::from));
            if self.problems.take(applied).is_none() {
                return false;
            }
        }
        true
    }

    /// Refuses the first override that named no instance.
    pub(super) fn check_overrides(&mut self) {
        for (replacement, used) in self.overrides.iter().zip(&self.used) {
            if *used || self.problems.has_errors() {
                continue;
            }
            let path = &replacement.path;
            let wanted = path
                .rsplit_once('.')
                .map_or(path.as_str(), |(instance, _)| instance);
            let message = format!("`{path}` matches no instance");
            let known = self.instances.iter().map(String::as_str);
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
