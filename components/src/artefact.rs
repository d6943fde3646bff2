//! Results of ahead-of-time analyses of a program, such as which kernels share lines. Policies use
//! them as input.
//!
//! They are one resource of the environment. Each artefact belongs to one program trace, and a
//! policy gets it only for a run of that program.
//!
//! ```text
//!   analysis ──► Artefacts::add(trace, value) ──► environment.provide(artefacts)
//!                                                        │
//!                        policy's build:  artefact::<Profile>(environment, "a reuse profile")
//! ```

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use warpweave_framework::{Environment, SpecError};
use warpweave_trace::{ContentHash, Program};

/// Artefacts available to a run, at most one per type.
pub struct Artefacts {
    program: Arc<Program>,
    /// Trace hash of the program, computed on first use.
    hash: OnceLock<ContentHash>,
    by_type: BTreeMap<TypeId, Artefact>,
}

struct Artefact {
    /// Hash of the trace that was analysed.
    trace: ContentHash,
    value: Arc<dyn Any + Send + Sync>,
}

impl Artefacts {
    /// Creates an empty set for a run of this program.
    pub fn of(program: Arc<Program>) -> Self {
        Self {
            program,
            hash: OnceLock::new(),
            by_type: BTreeMap::new(),
        }
    }

    /// Adds the result of analysing the trace with this hash. Replaces an earlier artefact of the
    /// same type.
    pub fn add<T: Any + Send + Sync>(&mut self, trace: ContentHash, value: T) {
        let value = Arc::new(value);
        self.by_type
            .insert(TypeId::of::<T>(), Artefact { trace, value });
    }

    fn get<T: Any + Send + Sync>(&self, what: &str) -> Result<Arc<T>, SpecError> {
        let Some(Artefact { trace, value }) = self.by_type.get(&TypeId::of::<T>()) else {
            return Err(absent(what));
        };
        let own = self.hash.get_or_init(|| self.program.hash());
        SpecError::require(trace == own, "", || {
            format!(
                "{what} is required for this program (trace {own}), but the one provided is for trace {trace}"
            )
        })?;
        Ok(Arc::clone(value)
            .downcast()
            .expect("artefacts are stored under their own type"))
    }
}

fn absent(what: &str) -> SpecError {
    SpecError::at("", format!("{what} is required, but none was provided"))
}

/// Returns the artefact of this type. `what` names it in error messages, for example "a reuse
/// profile".
///
/// # Errors
/// Returns an error if there is no such artefact or it belongs to another program's trace.
pub fn artefact<T: Any + Send + Sync>(
    environment: &Environment,
    what: &str,
) -> Result<Arc<T>, SpecError> {
    match environment.resource::<Artefacts>() {
        Some(artefacts) => artefacts.get(what),
        None => Err(absent(what)),
    }
}

/// Variant of [`artefact`] for optional artefacts. Returns `None` if there is none of this type.
///
/// # Errors
/// Returns an error if the artefact belongs to another program's trace.
pub fn artefact_if_any<T: Any + Send + Sync>(
    environment: &Environment,
    what: &str,
) -> Result<Option<Arc<T>>, SpecError> {
    let artefacts = environment.resource::<Artefacts>();
    let holds = |artefacts: &Arc<Artefacts>| artefacts.by_type.contains_key(&TypeId::of::<T>());
    let artefacts = artefacts.filter(holds);
    artefacts.map(|artefacts| artefacts.get(what)).transpose()
}

#[cfg(test)]
mod tests {
    use warpweave_framework::{NoFields, Policy, PolicyContext, PolicyKind, PolicyRole};
    use warpweave_trace::FrontEnd;

    use super::*;

    fn program(name: &str) -> Arc<Program> {
        Arc::new(Program {
            name: name.to_owned(),
            allocations: Vec::new(),
            commands: Vec::new(),
            kernels: Vec::new(),
            front_end: FrontEnd::default(),
        })
    }

    /// Test artefact that ranks kernels by launch count.
    struct FrequentKernels(u32);

    struct Order;

    impl PolicyRole for Order {
        const NAME: &'static str = "order";
        const SUMMARY: &'static str = "Which kernel is first";
        type Policy = u32;
        type Site = ();
    }

    struct Profiled;

    impl PolicyKind for Profiled {
        type Role = Order;
        const NAME: &'static str = "Profiled";
        const SUMMARY: &'static str = "The favourite";
        type Spec = NoFields;
        fn build(_: NoFields, context: &PolicyContext<'_, Order>) -> Result<u32, SpecError> {
            Ok(artefact::<FrequentKernels>(context.environment, "a list of favourites")?.0)
        }
    }

    /// Builds a component whose `order` is the profiled one and returns its result.
    fn built(artefacts: Option<Artefacts>) -> Result<u32, String> {
        let mut environment = Environment::new("gmu", 1);
        if let Some(artefacts) = artefacts {
            environment.provide(Arc::new(artefacts));
        }
        let policy = Policy::<Order>::plain::<Profiled>();
        let built = policy.build("order", &environment, &(), 0);
        built.map_err(|error| error.to_string())
    }

    #[test]
    fn a_policy_gets_the_artefact_of_the_program_that_runs() {
        let program = program("this");
        let mut artefacts = Artefacts::of(Arc::clone(&program));
        artefacts.add(program.hash(), FrequentKernels(7));
        assert_eq!(built(Some(artefacts)), Ok(7));
    }

    #[test]
    fn an_absent_artefact_and_one_of_another_trace_are_refused() {
        let none = "a list of favourites is required, but none was provided".to_owned();
        assert_eq!(built(None), Err(none.clone()));
        let mut artefacts = Artefacts::of(program("this"));
        artefacts.add(program("that").hash(), 7_u32);
        assert_eq!(built(Some(artefacts)), Err(none));
        let mut artefacts = Artefacts::of(program("this"));
        artefacts.add(program("that").hash(), FrequentKernels(7));
        let error = built(Some(artefacts)).unwrap_err();
        let (this, that) = (program("this").hash(), program("that").hash());
        assert!(
            error.contains(&this.to_string()) && error.contains(&that.to_string()),
            "{error}"
        );
    }
}
