//! List of a component's ports by their names.

use crate::channel::{Direction, Ports};
use crate::component::Component;

/// One port of a component, for reference pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortDoc {
    /// Name within the component, such as `up[2].request`.
    pub name: String,
    /// Direction in which messages pass through the port.
    pub direction: Direction,
    /// Name of the message type without its module path.
    pub message: String,
    /// True if the component also works without this port.
    pub optional: bool,
}

/// Returns every port of a component in the order it names them.
pub fn described_ports(component: &mut dyn Component) -> Vec<PortDoc> {
    let mut ports = Vec::new();
    component.ports(&mut Ports::new(&mut |port| {
        ports.push(PortDoc {
            name: port.name.to_owned(),
            direction: port.direction(),
            message: without_paths(port.message_type_name()),
            optional: port.optional,
        });
    }));
    ports
}

/// Removes module paths: `a::b::Wrapped<c::Value>` becomes `Wrapped<Value>`.
fn without_paths(name: &str) -> String {
    let mut text = String::new();
    for part in name.split_inclusive(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':')) {
        text.push_str(part.rsplit("::").next().unwrap_or(part));
    }
    text
}
