//! What a checkpoint is of: the parts of a system, and the first difference to another.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Named things with the values of their fields, to tell two systems apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// In a fixed order.
    pub subjects: Vec<Subject>,
}

/// One thing of a [`Description`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Such as the path of an instance; unique within the description.
    pub name: String,
    /// Such as the kind of component.
    pub kind: String,
    /// Names and values.
    pub fields: Vec<(String, String)>,
}

/// The first difference between the system of a checkpoint and another.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Difference {
    /// Only the checkpoint has it.
    #[error("the checkpoint has `{name}` ({kind}), this system has not")]
    Gone {
        /// Name of the thing.
        name: String,
        /// Its kind.
        kind: String,
    },
    /// Only this system has it.
    #[error("this system has `{name}` ({kind}), the checkpoint has not")]
    New {
        /// Name of the thing.
        name: String,
        /// Its kind.
        kind: String,
    },
    /// Things are listed in another order.
    #[error("`{name}` ({kind}) comes at another place of the description than in the checkpoint")]
    Moved {
        /// Name of the thing.
        name: String,
        /// Its kind.
        kind: String,
    },
    /// Another kind of the same name.
    #[error("`{name}` is a {checkpoint} in the checkpoint and a {system} in this system")]
    Kind {
        /// Name of the thing.
        name: String,
        /// Its kind in the checkpoint.
        checkpoint: String,
        /// Its kind in this system.
        system: String,
    },
    /// Another value of a field.
    #[error(
        "`{name}` ({kind}): field `{field}`: the checkpoint has {}, this system has {}",
        shown(checkpoint.as_deref()),
        shown(system.as_deref())
    )]
    Field {
        /// Name of the thing.
        name: String,
        /// Its kind.
        kind: String,
        /// The field.
        field: String,
        /// Its value in the checkpoint, if there.
        checkpoint: Option<String>,
        /// Its value in this system, if there.
        system: Option<String>,
    },
}

fn shown(value: Option<&str>) -> &str {
    value.unwrap_or("none")
}

impl Description {
    /// The first difference to `system`, where `self` is the description in a checkpoint.
    ///
    /// # Errors
    /// That difference.
    pub fn compare(&self, system: &Self) -> Result<(), Difference> {
        for (saved, here) in self.subjects.iter().zip(&system.subjects) {
            if saved.name != here.name {
                return Err(self.misplaced(saved, here, system));
            }
            saved.compare(here)?;
        }
        let (saved, here) = (self.subjects.len(), system.subjects.len());
        match (self.subjects.get(here), system.subjects.get(saved)) {
            (Some(gone), _) => Err(gone.gone()),
            (_, Some(new)) => Err(new.new_here()),
            (None, None) => Ok(()),
        }
    }

    fn misplaced(&self, saved: &Subject, here: &Subject, system: &Self) -> Difference {
        let has = |list: &Self, name: &str| list.subjects.iter().any(|s| s.name == name);
        if !has(system, &saved.name) {
            saved.gone()
        } else if !has(self, &here.name) {
            here.new_here()
        } else {
            Difference::Moved {
                name: here.name.clone(),
                kind: here.kind.clone(),
            }
        }
    }
}

impl Subject {
    fn gone(&self) -> Difference {
        Difference::Gone {
            name: self.name.clone(),
            kind: self.kind.clone(),
        }
    }

    fn new_here(&self) -> Difference {
        Difference::New {
            name: self.name.clone(),
            kind: self.kind.clone(),
        }
    }

    fn value(&self, field: &str) -> Option<String> {
        let found = self.fields.iter().find(|(name, _)| name == field);
        found.map(|(_, value)| value.clone())
    }

    fn compare(&self, here: &Self) -> Result<(), Difference> {
        if self.kind != here.kind {
            return Err(Difference::Kind {
                name: self.name.clone(),
                checkpoint: self.kind.clone(),
                system: here.kind.clone(),
            });
        }
        if self.fields == here.fields {
            return Ok(());
        }
        let names = self.fields.iter().chain(&here.fields).map(|(name, _)| name);
        for field in names {
            let (checkpoint, system) = (self.value(field), here.value(field));
            if checkpoint != system {
                return Err(Difference::Field {
                    name: self.name.clone(),
                    kind: self.kind.clone(),
                    field: field.clone(),
                    checkpoint,
                    system,
                });
            }
        }
        Ok(())
    }
}
