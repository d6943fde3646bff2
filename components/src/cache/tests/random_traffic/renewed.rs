//! Replacement of a cache by one restored from its own checkpoint.

use warpweave_framework::{Bundle, Stateful};

use crate::cache::*;

/// Cache that is replaced in the middle of the run by a fresh one loaded with its state.
pub(super) struct Renewed {
    pub(super) cache: Cache,
    pub(super) at: Option<Cycle>,
}

impl Renewed {
    fn renew(&mut self) {
        let bytes = State::save(|state| self.cache.state(state)).expect("a cache can be saved");
        let mut fresh = Cache::new(self.cache.spec.clone()).expect("as before");
        State::load(&bytes, |state| fresh.state(state)).expect("the same fields");
        std::mem::swap(&mut fresh.up, &mut self.cache.up);
        std::mem::swap(&mut fresh.down, &mut self.cache.down);
        std::mem::swap(&mut fresh.control, &mut self.cache.control);
        self.cache = fresh;
    }
}

impl Bundle for Renewed {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        self.cache.ports(ports);
    }
}

impl Component for Renewed {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.at.is_some_and(|at| at <= ctx.cycle()) {
            self.at = None;
            self.renew();
        }
        self.cache.evaluate(ctx)
    }
}

impl Stateful for Renewed {}

impl Instrumented for Renewed {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.cache.statistics(statistics);
    }
}
