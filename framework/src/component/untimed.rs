//! Messages of no time: what changes the contents of a system without a cycle passing.

use std::any::Any;

/// A port by its name without the number in brackets, and that number: `up[3].request` is port 3 of
/// `up.request`. A port without brackets has number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortName<'a> {
    /// The name.
    pub name: &'a str,
    /// The number.
    pub number: u32,
}

impl<'a> PortName<'a> {
    /// Splits the full name of a port; gives the name with its brackets taken out.
    pub(crate) fn split(full: &str) -> (String, u32) {
        let bracketed = full.split_once('[').and_then(|(before, rest)| {
            let (number, after) = rest.split_once(']')?;
            Some((format!("{before}{after}"), number.parse().ok()?))
        });
        bracketed.unwrap_or_else(|| (full.to_owned(), 0))
    }

    /// The only port of this name.
    pub const fn only(name: &'a str) -> Self {
        Self { name, number: 0 }
    }
}

/// A message on its way, owned.
pub(crate) type Parcel = Box<dyn Any + Send>;

/// What a component sends on when it is given a message of no time
/// ([`Component::untimed`](crate::Component::untimed)). Everything that follows from one message has happened before the
/// next one is delivered.
#[derive(Default)]
pub struct Onward {
    /// Names by which components send, each once.
    pub(crate) names: Vec<&'static str>,
    /// In the order of sending: place of the name, number of the port, message.
    pub(crate) sent: Vec<(u32, u32, Parcel)>,
    pub(crate) again: Option<Parcel>,
}

impl Onward {
    /// Sends a message by port `number` of this name, see [`PortName`].
    pub fn send<T: Any + Send>(&mut self, name: &'static str, number: u32, message: T) {
        let place = self.names.iter().position(|known| *known == name);
        let place = place.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        self.sent.push((place as u32, number, Box::new(message)));
    }

    /// Gives the component this message at the same port later: when nothing else is left to be delivered, in
    /// turn with others that asked for that. For work in pieces, side by side.
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
