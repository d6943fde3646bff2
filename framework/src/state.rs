//! The state of a component, field by field: one description serves checkpoints, restoring and
//! state hashes.
//!
//! A component names every field that a later evaluation or report depends on, as it names its
//! ports. What its specification determines (sizes, latencies, shared program data) is not state:
//! a checkpoint is loaded into a system elaborated from the same description.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Why state could not be saved or restored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StateError {
    /// The component cannot be saved.
    #[error("cannot be saved: {0}")]
    Refused(String),
    /// A field of the file is not what the component expects at this place.
    #[error("field `{field}`: {problem}")]
    Field {
        /// The field, with the parts it lies in: `tags.ways`.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
}

enum Mode<'a> {
    Save(&'a mut Vec<u8>),
    Load(&'a [u8]),
}

/// Visits the fields of a component's state.
pub struct State<'a> {
    mode: Mode<'a>,
    path: String,
    error: Option<StateError>,
}

impl State<'_> {
    /// The fields that `visit` names, as bytes.
    ///
    /// # Errors
    /// When the component refuses, or a field cannot be written.
    pub fn save(visit: impl FnOnce(&mut State<'_>)) -> Result<Vec<u8>, StateError> {
        let mut bytes = Vec::new();
        let mut state = State::new(Mode::Save(&mut bytes));
        visit(&mut state);
        state.finish()?;
        Ok(bytes)
    }

    /// Restores the fields that `visit` names from what [`State::save`] returned.
    ///
    /// # Errors
    /// When the component refuses, or the bytes hold other fields than `visit` names. Then some
    /// fields may be restored and others not.
    pub fn load(bytes: &[u8], visit: impl FnOnce(&mut State<'_>)) -> Result<(), StateError> {
        let mut state = State::new(Mode::Load(bytes));
        visit(&mut state);
        state.finish()
    }

    fn new(mode: Mode<'_>) -> State<'_> {
        State {
            mode,
            path: String::new(),
            error: None,
        }
    }

    /// Names a field. Names are unique within a component and always come in the same order.
    pub fn field<T: Serialize + DeserializeOwned>(&mut self, name: &str, value: &mut T) {
        if self.error.is_some() {
            return;
        }
        let result = match &mut self.mode {
            Mode::Save(bytes) => put(bytes, name).and_then(|()| put(bytes, value)),
            Mode::Load(bytes) => take::<String>(bytes).and_then(|found| {
                if found != name {
                    return Err(format!("the file has `{found}` here"));
                }
                *value = take(bytes)?;
                Ok(())
            }),
        };
        if let Err(problem) = result {
            let field = format!("{}{name}", self.path);
            self.error = Some(StateError::Field { field, problem });
        }
    }

    /// Names the fields of an inner block: they become `name.field`.
    pub fn part(&mut self, name: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(name);
        self.path.push('.');
        visit(self);
        self.path.truncate(length);
    }

    /// Says that this component cannot be saved, and why.
    pub fn refuse(&mut self, why: &str) {
        self.error
            .get_or_insert_with(|| StateError::Refused(why.to_owned()));
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
    fn bytes_left_over_are_noticed() {
        let mut bytes = State::save(|s| Counter::default().state(s)).expect("plain data");
        bytes.push(0);
        assert!(State::load(&bytes, |s| Counter::default().state(s)).is_err());
    }
}
