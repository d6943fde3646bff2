//! `warpweave new policy`: writes the file of a policy.

use std::path::Path;

use warpweave_framework::Registry;
use warpweave_params::name_hint;

use super::name::{ComponentName, mentions};
use super::write_new;
use crate::outcome::Failure;

/// Template of a policy: its role, its name (replaced by the requested one), its file, and a field
/// of a description that holds one.
struct Template {
    role: &'static str,
    name: &'static str,
    text: &'static str,
    field: &'static str,
}

/// Templates, one per role of Warpweave's own blocks, taken from the example crate with third-party
/// policies.
const TEMPLATES: [Template; 8] = [
    Template {
        role: "wavefront_scheduler",
        name: "Youngest",
        text: include_str!("../../../tests/third-party/src/scheduler.rs"),
        field: "scheduler: NAME",
    },
    Template {
        role: "work_group_placement",
        name: "Backwards",
        text: include_str!("../../../tests/third-party/src/placement.rs"),
        field: "policy: NAME",
    },
    Template {
        role: "kernel_order",
        name: "FairStreams",
        text: include_str!("../../../tests/third-party/src/order.rs"),
        field: "order: NAME",
    },
    Template {
        role: "cache_policy",
        name: "SharedOnly",
        text: include_str!("../../../tests/third-party/src/cache_policy.rs"),
        field: "policies: [NAME]",
    },
    Template {
        role: "replacement",
        name: "MostRecent",
        text: include_str!("../../../tests/third-party/src/replacement.rs"),
        field: "replacement: NAME",
    },
    Template {
        role: "prefetcher",
        name: "BackAndForth",
        text: include_str!("../../../tests/third-party/src/prefetcher.rs"),
        field: "prefetchers: [NAME]",
    },
    Template {
        role: "request_order",
        name: "OpenRowsFirst",
        text: include_str!("../../../tests/third-party/src/request_order.rs"),
        field: "scheduler: NAME",
    },
    Template {
        role: "arbiter",
        name: "LongestWaiting",
        text: include_str!("../../../tests/third-party/src/arbiter.rs"),
        field: "arbiter: NAME",
    },
];

/// Writes the policy's file into the folder `out`. Returns instructions for its use.
pub(super) fn write(
    registry: &Registry,
    name: &str,
    role: &str,
    out: &Path,
) -> Result<String, Failure> {
    let Some(template) = TEMPLATES.iter().find(|template| template.role == role) else {
        let roles = TEMPLATES.map(|template| template.role);
        return Err(Failure::InputText(format!(
            "no template for a policy of role `{role}`\nhint: {}",
            name_hint(role, "roles", roles)
        )));
    };
    let ComponentName { kind, module } = &ComponentName::parse(name).map_err(Failure::InputText)?;
    if registry.policy(role, kind).is_some() {
        return Err(Failure::InputText(format!(
            "{role} `{kind}` already exists\nhint: `warpweave list policies` lists all policies"
        )));
    }
    // Beside these the file imports names; a policy called the same could not be told apart.
    let taken = [kind.clone(), format!("{kind}Spec")];
    let others = template.text.replace(template.name, "");
    if let Some(taken) = taken.iter().find(|name| mentions(&others, name)) {
        return Err(Failure::InputText(format!(
            "the file of a policy uses the name `{taken}` for something else\nhint: choose another \
             name"
        )));
    }
    let path = out.join(format!("{module}.rs"));
    write_new(&path, &template.text.replace(template.name, kind))?;
    let field = template.field.replace("NAME", kind);
    Ok(format!(
        "{} holds the {role} {kind} and its tests. Two lines add it to a program, and a \
         description then says `{field}`:\n\n    mod {module};\n    \
         registry.register_policy::<{module}::{kind}>();\n",
        path.display()
    ))
}
