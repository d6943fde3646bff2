//! Functional accesses, which change the contents of a system without any cycle passing.

use std::any::Any;

use thiserror::Error;

use crate::channel::PortId;

/// Reason for which a component did not carry out a functional access.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FunctionalError {
    /// The component accepts no message of this type at this port.
    #[error("a message came to `{0}` that it does not take without time")]
    UnexpectedMessage(PortId),
    /// The component accepts the message but cannot carry it out, for this reason.
    #[error("{0}")]
    Refused(String),
}

impl From<String> for FunctionalError {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

/// A component that supports functional accesses.
///
/// [`Component::functional`](super::Component::functional) offers it to the engine.
pub trait Functional {
    /// Receives a functional-access message from the wire at `port`. Between two cycles, contents
    /// change as if the message and all its consequences had happened, such as accesses that bring
    /// lines into a cache. Statistics do not count it and there is no reply. Messages for other
    /// components are sent with `onward`.
    ///
    /// # Errors
    /// Returns an error if the component accepts no such message or cannot carry it out.
    fn functional_access(
        &mut self,
        port: PortId,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), FunctionalError>;

    /// Empties the component of memory contents, as between two kernels that are to start with cold
    /// caches. Modified data is sent to the next level with `onward`. A component without storage
    /// for memory contents does nothing.
    fn flush(&mut self, onward: &mut Onward) {
        let _ = onward;
    }
}

/// An owned message in transit, of any type.
pub(crate) type Parcel = Box<dyn Any + Send>;

/// Messages that a component sends on when it receives a functional access
/// ([`functional_access`](Functional::functional_access)). All consequences of one message are
/// complete before the next is delivered.
#[derive(Default)]
pub struct Onward {
    /// Ports and messages, in the order of sending.
    pub(crate) sent: Vec<(PortId, Parcel)>,
    pub(crate) again: Option<Parcel>,
}

impl Onward {
    /// Sends a message through a port.
    pub fn send<T: Any + Send>(&mut self, port: impl Into<PortId>, message: T) {
        self.sent.push((port.into(), Box::new(message)));
    }

    /// Takes out all messages sent so far and returns those of type `T`, with their ports. Lets a
    /// unit test look at what one component sends on.
    pub fn take_sent<T: Any>(&mut self) -> Vec<(PortId, T)> {
        let sent = self.sent.drain(..);
        sent.filter_map(|(port, message)| {
            let message: Box<dyn Any> = message;
            Some((port, *message.downcast().ok()?))
        })
        .collect()
    }

    /// Delivers the message again to the component at the same port, once nothing else is left to
    /// deliver. Several such messages are delivered in turn. For work in interleaved pieces.
    pub fn again<T: Any + Send>(&mut self, message: T) {
        self.again = Some(Box::new(message));
    }
}
