//! Functional accesses, which change the contents of a system without any cycle passing.

use std::any::Any;

/// A port name without the number in brackets, and that number: `up[3].request` is port 3 of
/// `up.request`. A port without brackets has number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortName<'a> {
    /// Name of the port without the brackets.
    pub name: &'a str,
    /// Number in the brackets; 0 without brackets.
    pub number: u32,
}

impl<'a> PortName<'a> {
    /// Splits the full name of a port; returns the name without its brackets, and the number.
    pub(crate) fn split(full: &str) -> (String, u32) {
        let bracketed = full.split_once('[').and_then(|(before, rest)| {
            let (number, after) = rest.split_once(']')?;
            Some((format!("{before}{after}"), number.parse().ok()?))
        });
        bracketed.unwrap_or_else(|| (full.to_owned(), 0))
    }

    /// Creates the name of a port without a number.
    pub const fn only(name: &'a str) -> Self {
        Self { name, number: 0 }
    }
}

/// An owned message in transit, of any type.
pub(crate) type Parcel = Box<dyn Any + Send>;

/// Messages that a component sends on when it receives a functional access
/// ([`Component::untimed`](crate::Component::untimed)). All consequences of one message are
/// complete before the next is delivered.
#[derive(Default)]
pub struct Onward {
    /// Port names by which components send, each listed once.
    pub(crate) names: Vec<&'static str>,
    /// Messages in order of sending: index of the name, number of the port, message.
    pub(crate) sent: Vec<(u32, u32, Parcel)>,
    pub(crate) again: Option<Parcel>,
}

impl Onward {
    /// Sends a message through port `number` of this name, see [`PortName`].
    pub fn send<T: Any + Send>(&mut self, name: &'static str, number: u32, message: T) {
        let place = self.names.iter().position(|known| *known == name);
        let place = place.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        self.sent.push((place as u32, number, Box::new(message)));
    }

    /// Delivers the message again to the component at the same port, once nothing else is left to
    /// deliver. Several such messages are delivered in turn. For work in interleaved pieces.
    pub fn again<T: Any + Send>(&mut self, message: T) {
        self.again = Some(Box::new(message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_split_into_its_name_and_its_number() {
        for (full, name, number) in [
            ("up[3].request", "up.request", 3),
            ("down.request", "down.request", 0),
            ("peers[12]", "peers", 12),
            ("odd[x].request", "odd[x].request", 0),
        ] {
            assert_eq!(PortName::split(full), (name.to_owned(), number));
        }
    }
}
