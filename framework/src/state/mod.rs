//! State of a component, field by field. One description serves checkpoints, restoring, state
//! hashes and the list of differences between two runs.
//!
//! A component names every field that a later evaluation or report depends on, as it names its
//! ports. Properties that its specification determines (sizes, latencies, shared program data) are
//! not state: a checkpoint is loaded into a system elaborated from the same description.
//!
//! The submodule `id_table` holds values with a limited lifetime. Nothing here depends on
//! components.
//!
//! The named state must depend only on the events at the component, never on its number of
//! evaluations. A component that slept and one that stayed awake have the same state hash. A
//! counter that has to break this rule is excluded from the hash by [`State::tally`].

mod id_table;
mod stateful;

pub use id_table::{Id, IdTable};
pub use stateful::{SavedValue, Stateful};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

/// Reason for which state could not be saved or restored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StateError {
    /// The component cannot be saved, for this reason.
    #[error("cannot be saved: {0}")]
    Refused(String),
    /// A field of the file differs from the one that the component expects at this position.
    #[error("field `{field}`: {problem}")]
    Field {
        /// Field name with the enclosing parts, such as `tags.ways`.
        field: String,
        /// Describes the problem with the field.
        problem: String,
    },
}

enum Mode<'a> {
    Save(&'a mut Vec<u8>),
    Load(&'a [u8]),
    /// Saved bytes, but without names and tallies.
    Hash(&'a mut Vec<u8>),
    /// Names and values for display to the user.
    List(&'a mut Vec<(String, Value)>),
}

/// Visits the fields of a component's state.
pub struct State<'a> {
    mode: Mode<'a>,
    path: String,
    error: Option<StateError>,
}

impl State<'_> {
    /// Saves the fields that `visit` names as bytes.
    ///
    /// # Errors
    /// Returns an error if the component refuses, or if a field cannot be written.
    pub fn save(visit: impl FnOnce(&mut State<'_>)) -> Result<Vec<u8>, StateError> {
        let mut bytes = Vec::new();
        let mut state = State::new(Mode::Save(&mut bytes));
        visit(&mut state);
        state.finish()?;
        Ok(bytes)
    }

    /// Restores the fields that `visit` names from the bytes of [`State::save`].
    ///
    /// # Errors
    /// Returns an error if the component refuses, or if the bytes hold other fields than `visit`
    /// names. Some of the fields may then be restored and others not.
    pub fn load(bytes: &[u8], visit: impl FnOnce(&mut State<'_>)) -> Result<(), StateError> {
        let mut state = State::new(Mode::Load(bytes));
        visit(&mut state);
        state.finish()
    }

    /// Appends the data for a component's state hash to `bytes`.
    ///
    /// # Errors
    /// Returns an error if the component refuses, or if a field cannot be written.
    pub fn hash(bytes: &mut Vec<u8>, visit: impl FnOnce(&mut State<'_>)) -> Result<(), StateError> {
        let mut state = State::new(Mode::Hash(bytes));
        visit(&mut state);
        state.finish()
    }

    /// Returns the fields that `visit` names with their values, without tallies.
    ///
    /// # Errors
    /// Returns an error if the component refuses.
    pub fn list(visit: impl FnOnce(&mut State<'_>)) -> Result<Vec<(String, Value)>, StateError> {
        let mut fields = Vec::new();
        let mut state = State::new(Mode::List(&mut fields));
        visit(&mut state);
        state.finish()?;
        Ok(fields)
    }

    fn new(mode: Mode<'_>) -> State<'_> {
        State {
            mode,
            path: String::new(),
            error: None,
        }
    }

    /// Returns true while the fields are being restored and none has failed.
    pub fn is_loading(&self) -> bool {
        matches!(self.mode, Mode::Load(_)) && self.error.is_none()
    }

    /// Names a field. Names must be unique within a component and always in the same order.
    pub fn field<T: Serialize + DeserializeOwned>(&mut self, name: &str, value: &mut T) {
        self.visit(name, value, |value, found| {
            *value = found;
            Ok(())
        });
    }

    /// Names a field that evaluations update and that only reports depend on, such as cycles
    /// counted until the component fell asleep. It is saved, but excluded from the state hash.
    pub fn tally<T: Serialize + DeserializeOwned>(&mut self, name: &str, value: &mut T) {
        if matches!(self.mode, Mode::Save(_) | Mode::Load(_)) {
            self.field(name, value);
        }
    }

    /// Names an array whose length the specification determines.
    pub fn array<T: Serialize + DeserializeOwned>(&mut self, name: &str, values: &mut [T]) {
        self.visit(name, values, |values, found: Vec<T>| {
            let (length, expected) = (found.len(), values.len());
            if length != expected {
                return Err(format!("the file has {length} entries, not {expected}"));
            }
            values
                .iter_mut()
                .zip(found)
                .for_each(|(value, found)| *value = found);
            Ok(())
        });
    }

    /// Names a field that is saved in another form: the output of `save`, from which `load`
    /// restores it or returns the problem.
    pub fn field_as<T: ?Sized, S: Serialize + DeserializeOwned>(
        &mut self,
        name: &str,
        value: &mut T,
        save: impl FnOnce(&T) -> S,
        load: impl FnOnce(&mut T, S) -> Result<(), String>,
    ) {
        if matches!(self.mode, Mode::Load(_)) {
            let mut found = None;
            self.visit(name, &mut found, |into, saved: S| {
                *into = Some(saved);
                Ok(())
            });
            if let Some(saved) = found
                && let Err(problem) = load(value, saved)
            {
                self.fail(name, problem);
            }
        } else {
            self.visit(name, &mut save(value), |_, _: S| Ok(()));
        }
    }

    fn visit<T: Serialize + ?Sized, S: DeserializeOwned>(
        &mut self,
        name: &str,
        value: &mut T,
        load: impl FnOnce(&mut T, S) -> Result<(), String>,
    ) {
        if self.error.is_some() {
            return;
        }
        let result = match &mut self.mode {
            Mode::Save(bytes) => put(bytes, name).and_then(|()| put(bytes, value)),
            Mode::Hash(bytes) => put(bytes, value),
            Mode::List(fields) => {
                // Maps with keys other than text have no such form: show their bytes.
                let shown = serde_json::to_value(&*value).or_else(|_| {
                    let mut bytes = Vec::new();
                    serde_json::to_value(put(&mut bytes, value).is_ok().then_some(bytes))
                });
                fields.push((format!("{}{name}", self.path), shown.unwrap_or_default()));
                Ok(())
            }
            Mode::Load(bytes) => take::<String>(bytes).and_then(|found| {
                if found != name {
                    let found: String = found.chars().take(40).collect();
                    return Err(format!("the file has `{}` here", found.escape_debug()));
                }
                load(value, take(bytes)?)
            }),
        };
        if let Err(problem) = result {
            self.fail(name, problem);
        }
    }

    fn fail(&mut self, name: &str, problem: String) {
        let field = format!("{}{name}", self.path);
        self.error
            .get_or_insert(StateError::Field { field, problem });
    }

    /// Names the fields of an inner block, which become `name.field`.
    pub fn part(&mut self, name: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(name);
        self.path.push('.');
        visit(self);
        self.path.truncate(length);
    }

    /// Reports that this component, or the part being visited, cannot be saved, and the reason.
    pub fn refuse(&mut self, why: &str) {
        let part = self.path.trim_end_matches('.');
        let colon = if part.is_empty() { "" } else { ": " };
        self.error
            .get_or_insert_with(|| StateError::Refused(format!("{part}{colon}{why}")));
    }

    fn finish(self) -> Result<(), StateError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        match self.mode {
            Mode::Load(rest) if !rest.is_empty() => Err(StateError::Field {
                field: self.path,
                problem: format!("{} bytes are left over", rest.len()),
            }),
            _ => Ok(()),
        }
    }
}

fn put<T: Serialize + ?Sized>(bytes: &mut Vec<u8>, value: &T) -> Result<(), String> {
    postcard::to_io(value, bytes)
        .map(|_| ())
        .map_err(|e| e.to_string())
}

fn take<T: DeserializeOwned>(bytes: &mut &[u8]) -> Result<T, String> {
    let (value, rest) = postcard::take_from_bytes(bytes).map_err(|e| e.to_string())?;
    *bytes = rest;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Counter {
        count: u64,
        recent: Vec<u8>,
    }

    impl Counter {
        fn state(&mut self, state: &mut State<'_>) {
            state.field("count", &mut self.count);
            state.part("history", |state| state.field("recent", &mut self.recent));
        }
    }

    #[test]
    fn what_is_saved_is_restored() {
        let mut before = Counter {
            count: 7,
            recent: vec![1, 2],
        };
        let bytes = State::save(|s| before.state(s)).expect("plain data");
        let mut after = Counter::default();
        State::load(&bytes, |s| after.state(s)).expect("the same fields");
        assert_eq!(after, before);
    }

    #[test]
    fn a_field_that_differs_is_named_with_its_part() {
        let bytes = State::save(|state| {
            state.field("count", &mut 7u64);
            state.field("future", &mut 7u64);
        });
        let bytes = bytes.expect("plain data");
        let error = State::load(&bytes, |s| Counter::default().state(s)).expect_err("another");
        assert_eq!(
            error.to_string(),
            "field `history.recent`: the file has `future` here"
        );
    }

    #[test]
    fn a_tally_is_saved_but_not_hashed_or_listed() {
        let bytes = |idle: u64| {
            let visit = |state: &mut State<'_>| {
                state.tally("idle", &mut { idle });
                state.field("count", &mut 7u64);
            };
            let mut hashed = Vec::new();
            State::hash(&mut hashed, visit).expect("plain data");
            let listed = State::list(visit).expect("plain data");
            (State::save(visit).expect("plain data"), hashed, listed)
        };
        let (one, two) = (bytes(1), bytes(2));
        assert_ne!(one.0, two.0);
        assert_eq!((&one.1, &one.2), (&two.1, &two.2));
        assert_eq!(one.2, [("count".to_owned(), 7.into())]);
    }

    #[test]
    fn an_array_of_another_length_is_refused() {
        let bytes = State::save(|state| state.array("ways", &mut [1, 2, 3])).expect("plain data");
        let mut four = [0; 4];
        let error = State::load(&bytes, |state| state.array("ways", &mut four));
        assert_eq!(
            error.expect_err("another length").to_string(),
            "field `ways`: the file has 3 entries, not 4"
        );
    }

    #[test]
    fn a_field_in_another_form_is_restored_by_its_own_rule() {
        let visit = |state: &mut State<'_>, text: &mut String| {
            state.field_as("number", text, String::len, |text, length| {
                *text = "x".repeat(length);
                (length < 5)
                    .then_some(())
                    .ok_or_else(|| "too long".to_owned())
            });
        };
        for (length, fits) in [(4, true), (5, false)] {
            let mut text = "a".repeat(length);
            let bytes = State::save(|s| visit(s, &mut text)).expect("plain data");
            let loaded = State::load(&bytes, |s| visit(s, &mut text));
            assert_eq!(loaded.is_ok(), fits);
            assert_eq!(text, "x".repeat(length));
        }
    }

    #[test]
    fn bytes_left_over_are_noticed() {
        let mut bytes = State::save(|s| Counter::default().state(s)).expect("plain data");
        bytes.push(0);
        assert!(State::load(&bytes, |s| Counter::default().state(s)).is_err());
    }
}
