//! Policies on the command line: `list policies`, `describe ROLE/NAME`, and parsing of roles and
//! names.

use std::fmt::Write as _;

use warpweave_framework::{PolicyEntry, Registry};
use warpweave_params::{Diagnostic, name_hint};

use crate::fields::{fields_in_words, indented};
use crate::stub;

/// Lists every role with its policies.
pub(crate) fn list(registry: &Registry) -> String {
    let mut text = String::new();
    for (role, summary) in registry.roles() {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "{role}: {}", summary.trim_end_matches('.'));
        for policy in registry.policies(role) {
            let summary = policy.summary.trim_end_matches('.');
            let _ = writeln!(text, "  {:<20} {summary}", policy.name);
        }
    }
    text
}

/// Returns the names of all policies, each once.
pub(crate) fn names(registry: &Registry) -> Vec<&'static str> {
    let policies = registry
        .roles()
        .flat_map(|(role, _)| registry.policies(role));
    let mut names: Vec<_> = policies.map(|policy| policy.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Finds a policy by `role/name`, or by `name` if only one role has it.
///
/// # Errors
/// Fails if there is no such role or policy, naming the nearest one. Also fails if several roles
/// have the name, listing all.
pub(crate) fn find<'r>(registry: &'r Registry, text: &str) -> Result<&'r PolicyEntry, Diagnostic> {
    if let Some((role, name)) = text.split_once('/') {
        let roles: Vec<_> = registry.roles().map(|(role, _)| role).collect();
        if !roles.contains(&role) {
            return Err(Diagnostic::error(format!("unknown role `{role}`"))
                .hint(name_hint(role, "roles", roles)));
        }
        return registry.policy(role, name).ok_or_else(|| {
            let known: Vec<_> = registry.policies(role).map(|policy| policy.name).collect();
            Diagnostic::error(format!("unknown {role} `{name}`")).hint(name_hint(
                name,
                "policies of this role",
                known,
            ))
        });
    }
    let all = || {
        registry
            .roles()
            .flat_map(|(role, _)| registry.policies(role))
    };
    let called: Vec<_> = all().filter(|policy| policy.name == text).collect();
    match called[..] {
        [policy] => Ok(policy),
        [] => Err(
            Diagnostic::error(format!("unknown policy `{text}`")).hint(name_hint(
                text,
                "policies",
                names(registry),
            )),
        ),
        _ => {
            let written: Vec<_> = called
                .iter()
                .map(|policy| format!("{}/{}", policy.role, policy.name))
                .collect();
            let message = format!("several roles have a policy `{text}`");
            Err(Diagnostic::error(message).hint(format!("write {}", written.join(" or "))))
        }
    }
}

/// Describes the purpose and fields of a policy, with a line to paste.
pub(crate) fn describe(registry: &Registry, policy: &PolicyEntry) -> String {
    let PolicyEntry {
        role,
        name,
        summary,
        ..
    } = policy;
    let fields = policy.fields();
    let mut text = format!("{role}/{name}: {}\n\n", summary.trim_end_matches('.'));
    if fields.is_empty() {
        text.push_str("no fields\n");
    } else {
        text.push_str("fields\n");
        text.push_str(&fields_in_words(&fields));
    }
    let stub = stub::of_policy(registry, name, &fields);
    let _ = write!(text, "\nto write\n{}", indented(&stub));
    text
}

#[cfg(test)]
mod tests {
    use warpweave_systems::standard_registry;

    use super::*;

    #[test]
    fn a_policy_is_found_by_role_and_name_and_by_a_name_alone_that_one_role_has() {
        let registry = standard_registry();
        for (role, _) in registry.roles() {
            for policy in registry.policies(role) {
                let written = format!("{role}/{}", policy.name);
                let found = find(&registry, &written).unwrap_or_else(|e| panic!("{e}"));
                assert_eq!((found.role, found.name), (role, policy.name));
            }
        }
        let found = find(&registry, "Gto").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(found.role, "wavefront_scheduler");
    }

    #[test]
    fn a_wrong_role_or_name_is_told_the_nearest() {
        let registry = standard_registry();
        let refused = |text| match find(&registry, text) {
            Ok(policy) => panic!("{text} is {}/{}", policy.role, policy.name),
            Err(problem) => problem.to_string(),
        };
        for (text, hint) in [
            ("wavefront_schedular/Gto", "`wavefront_scheduler`"),
            ("wavefront_scheduler/Gtoo", "`Gto`"),
            ("Gtoo", "`Gto`"),
        ] {
            let problem = refused(text);
            assert!(problem.contains(hint), "{problem}");
        }
    }
}
