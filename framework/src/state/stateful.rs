//! Values that name their state: components, their parts, policies.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::State;

/// A value whose state can be saved, restored, hashed and listed, field by field.
///
/// `#[derive(State)]` implements it from the declaration of a struct or enum.
pub trait Stateful {
    /// Names every field of the state, in a fixed order: everything that later evaluations and
    /// reports depend on and that the specification does not determine. Ports are not named, since
    /// the engine saves channels itself. A component without this cannot be part of a checkpoint.
    fn state(&mut self, state: &mut State<'_>) {
        state.refuse("its kind does not implement `state`");
    }
}

impl<S: Stateful + ?Sized> Stateful for Box<S> {
    fn state(&mut self, state: &mut State<'_>) {
        (**self).state(state);
    }
}

/// Visits the value if there is one, which the specification determines.
impl<S: Stateful> Stateful for Option<S> {
    fn state(&mut self, state: &mut State<'_>) {
        if let Some(value) = self {
            value.state(state);
        }
    }
}

/// A value that is saved as a whole, through serde.
pub trait SavedValue: Serialize + DeserializeOwned {}

impl<T: Serialize + DeserializeOwned> SavedValue for T {}
