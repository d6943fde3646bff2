//! Description of the system that a checkpoint belongs to, and the first difference from another
//! system.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Named subjects with the values of their fields, by which systems are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Subjects of the description in a fixed order.
    pub subjects: Vec<Subject>,
}

/// One named subject of a [`Description`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Name, such as the path of an instance; unique within the description.
    pub name: String,
    /// Kind, such as the kind of component.
    pub kind: String,
    /// Names and values of the subject's fields.
    pub fields: Vec<(String, String)>,
}

/// The first difference between the system of a checkpoint and another.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Difference {
    /// The subject exists only in the checkpoint.
    #[error("the checkpoint has `{name}` ({kind}), but this system does not")]
    Gone {
        /// Name of the subject in the description.
        name: String,
        /// Kind of the subject, such as its component kind.
        kind: String,
    },
    /// The subject exists only in this system.
    #[error("this system has `{name}` ({kind}), but the checkpoint does not")]
    New {
        /// Name of the subject in the description.
        name: String,
        /// Kind of the subject, such as its component kind.
        kind: String,
    },
    /// The subjects are listed in a different order.
    #[error(
        "`{name}` ({kind}) is at a different position in the description than in the checkpoint"
    )]
    Moved {
        /// Name of the subject in the description.
        name: String,
        /// Kind of the subject, such as its component kind.
        kind: String,
    },
    /// The subject has the same name but a different kind.
    #[error("`{name}` is a {checkpoint} in the checkpoint and a {system} in this system")]
    Kind {
        /// Name of the subject in the description.
        name: String,
        /// Kind of the subject in the checkpoint.
        checkpoint: String,
        /// Kind of the subject in this system.
        system: String,
    },
    /// A field of the subject has a different value.
    #[error(
        "`{name}` ({kind}): field `{field}`: the checkpoint has {}, this system has {}",
        shown(checkpoint.as_deref()),
        shown(system.as_deref())
    )]
    Field {
        /// Name of the subject in the description.
        name: String,
        /// Kind of the subject, such as its component kind.
        kind: String,
        /// Name of the field that differs.
        field: String,
        /// Value in the checkpoint, if the field exists there.
        checkpoint: Option<String>,
        /// Value in this system, if the field exists here.
        system: Option<String>,
    },
}

fn shown(value: Option<&str>) -> &str {
    value.unwrap_or("none")
}

impl Description {
    /// Compares `self`, the description in a checkpoint, with `system`.
    ///
    /// # Errors
    /// Returns the first difference found.
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
