//! Facts that components communicate along their wires at elaboration.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Place where an instance or wire was described, as a number chosen by the caller and returned in
/// errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin(pub u32);

/// A value that can be compared with another value of its type.
trait Fact: Any + Send + Sync {
    fn is(&self, other: &dyn Any) -> bool;
    fn as_any(&self) -> &dyn Any;
}

impl<T: Any + Send + Sync + PartialEq> Fact for T {
    fn is(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Properties of a component that the component at the other end of a wire may rely on. An example
/// is the number of work-groups a compute unit holds. There is at most one fact per type.
///
/// A fact is communicated once, at elaboration, so it depends on the specification only. Components
/// may pass it on to others ([`Negotiate::passage`](super::Negotiate::passage)).
#[derive(Clone, Default)]
pub struct Facts {
    /// Facts with their type and the specification field that states them; few. Clones share the
    /// list; `None` if it is empty.
    list: Option<Arc<Vec<Entry>>>,
    /// Number and path of the instance that states the facts.
    speaker: Option<(usize, Arc<str>)>,
}

type Entry = (TypeId, Arc<dyn Fact>, &'static str);

impl Facts {
    /// Creates a set without any facts.
    pub fn new() -> Self {
        Self::default()
    }

    /// States a fact, replacing an earlier one of this type.
    pub fn publish<T: Any + Send + Sync + PartialEq>(&mut self, fact: T) {
        self.publish_from("", fact);
    }

    /// States a fact like [`Facts::publish`], with the specification field that contains it.
    pub fn publish_from<T: Any + Send + Sync + PartialEq>(&mut self, field: &'static str, fact: T) {
        self.withdraw::<T>();
        let list = Arc::make_mut(self.list.get_or_insert_default());
        list.push((TypeId::of::<T>(), Arc::new(fact), field));
    }

    /// Removes the fact of this type, so that it is not passed on.
    pub fn withdraw<T: Any>(&mut self) {
        self.retain(|(id, ..)| *id != TypeId::of::<T>());
    }

    /// Keeps only the entries that are `wanted`.
    fn retain(&mut self, wanted: impl Fn(&Entry) -> bool) {
        if let Some(list) = &mut self.list
            && !list.iter().all(&wanted)
        {
            Arc::make_mut(list).retain(wanted);
        }
    }

    /// Returns the fact of this type, if one is stated.
    pub fn get<T: Any>(&self) -> Option<&T> {
        let (_, fact, _) = self.of(TypeId::of::<T>())?;
        // Not the box's own `as_any`.
        (**fact).as_any().downcast_ref()
    }

    /// Returns the origin of the fact of this type, if one is stated.
    pub fn stated<T: Any>(&self) -> Option<Stated> {
        let (.., field) = self.of(TypeId::of::<T>())?;
        let (instance, path) = self.speaker.clone()?;
        let field = Cow::Borrowed(*field);
        Some(Stated {
            instance,
            path,
            field,
        })
    }

    fn list(&self) -> &[Entry] {
        self.list.as_deref().map_or(&[], Vec::as_slice)
    }

    fn of(&self, id: TypeId) -> Option<&Entry> {
        self.list().iter().find(|(known, ..)| *known == id)
    }

    /// True if no facts are stated.
    pub fn is_empty(&self) -> bool {
        self.list().is_empty()
    }

    /// Removes the facts that `known` also contains.
    pub(crate) fn withdraw_known(&mut self, known: &[Self]) {
        self.retain(|(id, fact, _)| {
            let same = |other: &Self| {
                let other = other.of(*id);
                other.is_some_and(|(_, other, _)| (**fact).is((**other).as_any()))
            };
            !known.iter().any(same)
        });
    }

    /// Sets the instance that states the facts: its number and its path.
    pub(crate) fn said_by(&mut self, instance: usize, path: &Arc<str>) {
        self.speaker = Some((instance, Arc::clone(path)));
    }
}

/// Place of a fact: a field of the specification of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    pub(crate) instance: usize,
    path: Arc<str>,
    pub(crate) field: Cow<'static, str>,
}

impl Stated {
    /// Returns the path of the instance that states the fact.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the place of another field of the same instance.
    #[must_use]
    pub fn field(self, field: impl Into<Cow<'static, str>>) -> Self {
        Self {
            field: field.into(),
            ..self
        }
    }
}

/// A place that conflicts with the one at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    Instance(Stated),
    Elsewhere(Origin),
}

/// Problem of a component that is found once its wires are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Specification field at fault, as a path within the specification; empty for the whole.
    pub field: String,
    /// Describes the problem and the valid values.
    pub message: String,
    /// Conflicting statements, each with its place.
    pub(crate) beside: Vec<(String, Beside)>,
}

impl Unfit {
    /// Creates a problem of one field, or of the whole specification if `field` is empty.
    pub fn at(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
            beside: Vec::new(),
        }
    }

    /// Adds the conflicting place, if it is known; `message` describes its contents.
    #[must_use]
    pub fn beside(mut self, message: impl Into<String>, stated: Option<Stated>) -> Self {
        let there = stated.map(|stated| (message.into(), Beside::Instance(stated)));
        self.beside.extend(there);
        self
    }

    /// Adds a place outside the system, if it is known, by the number that the system's creator
    /// gave it.
    #[must_use]
    pub fn beside_origin(mut self, message: impl Into<String>, origin: Option<Origin>) -> Self {
        let there = origin.map(|origin| (message.into(), Beside::Elsewhere(origin)));
        self.beside.extend(there);
        self
    }
}

/// Exclusive claims of components: numbers and ranges that no other instance may have.
#[derive(Debug, Default)]
pub struct Claims {
    pub(crate) list: Vec<Claim>,
}

/// Part of a space claimed exclusively by one instance.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) space: &'static str,
    pub(crate) range: Range<u64>,
    pub(crate) field: Cow<'static, str>,
}

impl Claims {
    /// Claims the numbers of `range` in `space` exclusively for this instance. `space` is the
    /// reader's term for one of its numbers ("compute unit"). `field` is the specification field
    /// that contains the claim.
    pub fn own(
        &mut self,
        space: &'static str,
        range: Range<u64>,
        field: impl Into<Cow<'static, str>>,
    ) {
        self.list.push(Claim {
            space,
            range,
            field: field.into(),
        });
    }
}
