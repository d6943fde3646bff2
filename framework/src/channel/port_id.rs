//! Identities of ports within their component.

use std::fmt;

/// Name of a port field of a component, or of a port within a bundle.
///
/// `#[derive(Ports)]` declares one constant per port field: `Crossbar::UP`, `MemMaster::REQUEST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortName(&'static str);

impl PortName {
    /// Creates the name of a field.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Returns the name as text.
    pub const fn text(self) -> &'static str {
        self.0
    }

    /// Returns entry `number` of a list of ports or bundles.
    pub const fn at(self, number: u32) -> PortId {
        PortId {
            name: self,
            number: Some(number),
            member: PortId::NONE,
        }
    }

    /// Returns a port of this bundle.
    pub const fn member(self, member: Self) -> PortId {
        PortId {
            name: self,
            number: None,
            member,
        }
    }
}

impl From<&'static str> for PortName {
    fn from(name: &'static str) -> Self {
        Self(name)
    }
}

/// Identity of a port within its component: `up[2].request` is member `request` of entry 2 of `up`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId {
    /// Field that holds the port.
    pub name: PortName,
    /// Entry of the field, if it is a list.
    pub number: Option<u32>,
    /// Name of the port within a bundle; empty for a single port.
    pub member: PortName,
}

impl PortId {
    const NONE: PortName = PortName("");

    /// Visitor state before any name.
    pub(crate) const ROOT: Self = Self {
        name: Self::NONE,
        number: None,
        member: Self::NONE,
    };

    /// Returns a port of this bundle.
    pub const fn member(self, member: PortName) -> Self {
        Self { member, ..self }
    }

    /// Returns the entry of the field, 0 if it is not a list.
    pub fn index(self) -> u32 {
        self.number.unwrap_or(0)
    }

    /// Returns true if this is the member of the field, in any entry.
    pub fn is(self, name: PortName, member: PortName) -> bool {
        self.name == name && self.member == member
    }

    /// Adds the next part of a name.
    pub(crate) fn extended(self, part: PortName) -> Self {
        if part == Self::NONE {
            self
        } else if self.name == Self::NONE {
            Self { name: part, ..self }
        } else {
            self.member(part)
        }
    }
}

impl From<PortName> for PortId {
    fn from(name: PortName) -> Self {
        name.member(Self::NONE)
    }
}

impl From<PortId> for String {
    fn from(port: PortId) -> Self {
        port.to_string()
    }
}

impl fmt::Display for PortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.text())?;
        if let Some(number) = self.number {
            write!(f, "[{number}]")?;
        }
        if self.member == Self::NONE {
            return Ok(());
        }
        write!(f, ".{}", self.member.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_written_as_descriptions_name_it() {
        const UP: PortName = PortName::new("up");
        const REQUEST: PortName = PortName::new("request");
        for (port, text) in [
            (UP.into(), "up"),
            (UP.at(3), "up[3]"),
            (UP.member(REQUEST), "up.request"),
            (UP.at(3).member(REQUEST), "up[3].request"),
            (PortId::ROOT.extended(UP).extended(REQUEST), "up.request"),
        ] {
            assert_eq!(port.to_string(), text);
        }
    }
}
