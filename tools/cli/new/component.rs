//! `warpweave new component`: writes the file of a component.

use std::path::Path;

use warpweave_framework::Registry;

use super::name::{ComponentName, mentions};
use super::write_new;
use crate::outcome::Failure;

/// Template of a component in a memory wire. Its name, `Throttle`, is replaced by the requested
/// one.
pub(super) const TEMPLATE: &str = include_str!("../templates/program/src/throttle.rs");

/// Writes the component's file into the folder `out`. Returns instructions for its use.
pub(super) fn write(registry: &Registry, name: &str, out: &Path) -> Result<String, Failure> {
    let name = ComponentName::parse(name).map_err(Failure::InputText)?;
    let ComponentName { kind, module } = &name;
    if registry.get(kind).is_some() {
        return Err(Failure::InputText(format!(
            "component kind `{kind}` already exists\nhint: `warpweave list components` lists all kinds"
        )));
    }
    // Beside these the file imports names; a component called the same could not be told apart.
    let taken = [kind.clone(), format!("{kind}Spec")];
    if let Some(taken) = taken.iter().find(|name| mentions(&renamed(""), name)) {
        return Err(Failure::InputText(format!(
            "the file of a component uses the name `{taken}` for something else\nhint: choose \
             another name"
        )));
    }
    let path = out.join(format!("{module}.rs"));
    write_new(&path, &renamed(kind))?;
    Ok(format!(
        "{} holds the component {kind} and its tests. Two lines add it to a program:\n\n    \
         mod {module};\n    registry.register::<{module}::{kind}>();\n",
        path.display()
    ))
}

/// Returns the template with the component's name replaced.
fn renamed(kind: &str) -> String {
    TEMPLATE.replace("Throttle", kind)
}
