//! Wrapper around a component that checks each of its evaluations.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::channel::{Bundle, Ports};
use crate::component::{Component, Inspect};
use crate::evaluation::{Context, Next};
use crate::observe::{Instrumented, Reason, Statistics};
use crate::state::{State, Stateful};

/// Evaluation counts collected by the wrapper.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// Number of evaluations while awake that changed something.
    pub(crate) useful: u64,
    /// Number of evaluations that the component requested and that changed nothing.
    pub(crate) wasted: u64,
    /// Describes the first evaluation asleep that changed something.
    pub(crate) overslept: Option<String>,
    /// Describes the first of the wasted evaluations.
    pub(crate) first_wasted: Option<String>,
}

/// Forwards all calls to the inner component.
pub(crate) struct Watch<C> {
    inner: C,
    path: String,
    said: Option<Next>,
    observed: Arc<Mutex<Observed>>,
}

impl<C: Component> Watch<C> {
    pub(crate) fn new(path: &str, inner: C, observed: Arc<Mutex<Observed>>) -> Self {
        Self {
            inner,
            path: path.to_owned(),
            said: None,
            observed,
        }
    }

    /// Returns the messages passed at every port, and the state if the component describes it.
    fn fingerprint(&mut self) -> (Vec<u64>, Option<Vec<u8>>) {
        let mut messages = Vec::new();
        self.inner.ports(&mut Ports::new(&mut |port| {
            messages.push(port.state().messages);
        }));
        let state = State::save(|state| self.inner.state(state)).ok();
        (messages, state)
    }
}

impl<C: Component> Bundle for Watch<C> {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        self.inner.ports(ports);
    }
}

impl<C: Component> Component for Watch<C> {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let before = self.fingerprint();
        let next = self.inner.evaluate(ctx);
        let after = self.fingerprint();
        let mut observed = self.observed.lock();
        let said = self.said.replace(next);
        let changed = before != after;
        if !ctx.invited() {
            if changed {
                let (path, cycle) = (&self.path, ctx.cycle());
                let said = said.map_or(Reason::Idle, Next::reason).name();
                observed.overslept.get_or_insert_with(|| {
                    format!(
                        "`{path}` had work in cycle {cycle} but slept (waiting for: {said}); nothing would have woken it"
                    )
                });
            }
            return next;
        }
        // To learn what to wait for is useful too. A state that is not described may have changed.
        let learned = said.map(Next::reason) != Some(next.reason());
        let asked = match said {
            Some(Next::Busy) => true,
            Some(Next::Until(at)) => ctx.cycle() >= at,
            _ => false,
        };
        if changed || learned {
            observed.useful += 1;
        } else if asked && after.1.is_some() {
            observed.wasted += 1;
            let (path, cycle) = (&self.path, ctx.cycle());
            observed.first_wasted.get_or_insert_with(|| {
                format!("`{path}` stayed busy in cycle {cycle} without doing anything")
            });
        }
        next
    }

    fn inspection(&self) -> Option<&dyn Inspect> {
        self.inner.inspection()
    }
}

impl<C: Component> Stateful for Watch<C> {
    fn state(&mut self, state: &mut State<'_>) {
        self.inner.state(state);
    }
}

impl<C: Component> Instrumented for Watch<C> {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.inner.statistics(statistics);
    }
}
