//! Facts that components tell each other along their wires.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Where an instance or wire was described; a number that means something to the caller, handed
/// back in errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin(pub u32);

/// A value that can be compared with another one of its type.
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

/// What a component knows of itself that the component at the other end of a wire may rely on, such
/// as how many work-groups a compute unit holds. At most one fact per type.
///
/// A fact is told once, at elaboration, so it depends on the specification alone. It goes on through
/// components that let it pass ([`Component::passage`](super::Component::passage)).
#[derive(Clone, Default)]
pub struct Facts {
    /// Few: each with its type, and the field that it stands in. Clones share them; none: there are none.
    list: Option<Arc<Vec<Entry>>>,
    /// Number and path of the instance that states them.
    speaker: Option<(usize, Arc<str>)>,
}

type Entry = (TypeId, Arc<dyn Fact>, &'static str);

impl Facts {
    /// No facts.
    pub fn new() -> Self {
        Self::default()
    }

    /// States a fact; an earlier one of this type gives way.
    pub fn publish<T: Any + Send + Sync + PartialEq>(&mut self, fact: T) {
        self.publish_from("", fact);
    }

    /// As [`Facts::publish`], a fact that stands in this field of the specification.
    pub fn publish_from<T: Any + Send + Sync + PartialEq>(&mut self, field: &'static str, fact: T) {
        self.withdraw::<T>();
        let list = Arc::make_mut(self.list.get_or_insert_default());
        list.push((TypeId::of::<T>(), Arc::new(fact), field));
    }

    /// Takes the fact of this type out, so that it does not pass.
    pub fn withdraw<T: Any>(&mut self) {
        self.retain(|(id, ..)| *id != TypeId::of::<T>());
    }

    /// Takes out what is not `wanted`.
    fn retain(&mut self, wanted: impl Fn(&Entry) -> bool) {
        if let Some(list) = &mut self.list
            && !list.iter().all(&wanted)
        {
            Arc::make_mut(list).retain(wanted);
        }
    }

    /// The fact of this type, if one is stated.
    pub fn get<T: Any>(&self) -> Option<&T> {
        let (_, fact, _) = self.of(TypeId::of::<T>())?;
        // Not the box's own `as_any`.
        (**fact).as_any().downcast_ref()
    }

    /// Who states the fact of this type, if one is stated.
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

    /// Whether nothing is stated.
    pub fn is_empty(&self) -> bool {
        self.list().is_empty()
    }

    /// Takes out what `known` has too.
    pub(crate) fn withdraw_known(&mut self, known: &[Self]) {
        self.retain(|(id, fact, _)| {
            let same = |other: &Self| {
                let other = other.of(*id);
                other.is_some_and(|(_, other, _)| (**fact).is((**other).as_any()))
            };
            !known.iter().any(same)
        });
    }

    /// That instance number `instance`, at `path`, states them.
    pub(crate) fn said_by(&mut self, instance: usize, path: &Arc<str>) {
        self.speaker = Some((instance, Arc::clone(path)));
    }
}

/// Where a fact is stated: a field of the specification of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    pub(crate) instance: usize,
    path: Arc<str>,
    pub(crate) field: Cow<'static, str>,
}

impl Stated {
    /// Path of the instance.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The same instance, another field of it.
    #[must_use]
    pub fn field(self, field: impl Into<Cow<'static, str>>) -> Self {
        Self {
            field: field.into(),
            ..self
        }
    }
}

/// A place that disagrees with the one at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    Instance(Stated),
    Elsewhere(Origin),
}

/// What is wrong with a component once its wires are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Field of the specification at fault, as a path within it; empty for the whole.
    pub field: String,
    /// What is wrong and what would be right.
    pub message: String,
    /// What is said elsewhere, and where.
    pub(crate) beside: Vec<(String, Beside)>,
}

impl Unfit {
    /// A problem with one field, or with the whole where `field` is empty.
    pub fn at(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
            beside: Vec::new(),
        }
    }

    /// Adds the place that disagrees, if it is known: `message` says what stands there.
    #[must_use]
    pub fn beside(mut self, message: impl Into<String>, stated: Option<Stated>) -> Self {
        let there = stated.map(|stated| (message.into(), Beside::Instance(stated)));
        self.beside.extend(there);
        self
    }

    /// Adds a place outside the system, if it is known, by the number that whoever builds the system
    /// gave it.
    #[must_use]
    pub fn beside_origin(mut self, message: impl Into<String>, origin: Option<Origin>) -> Self {
        let there = origin.map(|origin| (message.into(), Beside::Elsewhere(origin)));
        self.beside.extend(there);
        self
    }
}

/// What components have to themselves: numbers and ranges that no other instance may have.
#[derive(Debug, Default)]
pub struct Claims {
    pub(crate) list: Vec<Claim>,
}

/// Part of a space that one instance has to itself.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) space: &'static str,
    pub(crate) range: Range<u64>,
    pub(crate) field: Cow<'static, str>,
}

impl Claims {
    /// States that no other instance has a number of `range` in `space`, which is named as a reader
    /// would name one of its numbers ("compute unit"); `field` of the specification says so.
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
