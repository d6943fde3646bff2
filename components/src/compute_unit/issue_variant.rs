//! Specialisations of the evaluation, so that features that a unit lacks cost it nothing.

use std::marker::PhantomData;

use crate::compute_unit::spec::ComputeUnitSpec;

/// The cheapest specialisation that serves a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IssueVariant {
    /// See [`Plain`].
    Plain,
    /// See [`Fetching`].
    Fetching,
    /// See [`Limited`].
    Limited,
    /// See [`Open`].
    Open,
    /// See [`Watched`], with built-in schedulers.
    Watched,
    /// See [`Watched`], with schedulers of any crate.
    OpenWatched,
}

/// Features that a specialisation looks at.
pub(crate) trait Variant {
    /// Instructions are fetched.
    const FETCH: bool;
    /// Register file, accesses per cycle, several issues per cycle, a scheduler that stays with one
    /// wavefront, read-only ports, or events of the first-level cache.
    const LIMITED: bool;
    /// Schedulers are objects of any crate.
    const OPEN: bool;
    /// Loads are prefetched into spare registers, or waits for them are measured.
    const WATCHED: bool = false;
}

/// Built-in schedulers that issue one instruction per cycle, limited by operands and units alone.
pub(crate) struct Plain;
/// [`Plain`] with instruction fetch.
pub(crate) struct Fetching;
/// [`Fetching`] with every limit of [`Variant::LIMITED`].
pub(crate) struct Limited;
/// [`Limited`] with schedulers of any crate.
pub(crate) struct Open;
/// Another variant in which wavefronts are watched as they issue and receive values, for
/// prefetching into spare registers or a meter of waits.
pub(crate) struct Watched<V>(PhantomData<V>);

impl Variant for Plain {
    const FETCH: bool = false;
    const LIMITED: bool = false;
    const OPEN: bool = false;
}

impl Variant for Fetching {
    const FETCH: bool = true;
    const LIMITED: bool = false;
    const OPEN: bool = false;
}

impl Variant for Limited {
    const FETCH: bool = true;
    const LIMITED: bool = true;
    const OPEN: bool = false;
}

impl Variant for Open {
    const FETCH: bool = true;
    const LIMITED: bool = true;
    const OPEN: bool = true;
}

impl<V: Variant> Variant for Watched<V> {
    const FETCH: bool = V::FETCH;
    const LIMITED: bool = V::LIMITED;
    const OPEN: bool = V::OPEN;
    const WATCHED: bool = true;
}

impl IssueVariant {
    /// Chooses by the specification alone.
    pub(crate) fn of(spec: &ComputeUnitSpec) -> Self {
        let is_limited = spec.issues_per_cycle > 1
            || spec.register_banks.is_some()
            || spec.results_per_cycle.is_some()
            || spec.load_store.issues_per_cycle.is_some()
            || spec.constants.is_some()
            || spec.textures.is_some();
        match (is_limited, spec.fetch.is_some()) {
            (true, _) => Self::Limited,
            (false, true) => Self::Fetching,
            (false, false) => Self::Plain,
        }
    }

    /// The same with every limit of [`Variant::LIMITED`].
    pub(crate) fn limited(self) -> Self {
        match self {
            Self::Plain | Self::Fetching => Self::Limited,
            _ => self,
        }
    }

    /// The same with wavefronts that are watched.
    pub(crate) fn watched(self) -> Self {
        match self {
            Self::Open | Self::OpenWatched => Self::OpenWatched,
            _ => Self::Watched,
        }
    }
}
