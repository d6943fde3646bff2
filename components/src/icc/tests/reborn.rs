//! Replacement of a unit by one restored from its own checkpoint.

use warpweave_framework::Bundle;

use super::*;

/// Unit that is saved and replaced by a new one loaded from the checkpoint, at every `every`-th
/// cycle in which it is evaluated.
pub(super) struct Reborn {
    pub(super) unit: IccUnit,
    pub(super) every: Cycle,
    pub(super) last: Cycle,
}

impl Bundle for Reborn {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        self.unit.ports(ports);
    }
}

impl Component for Reborn {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if ctx.cycle() >= self.last + self.every {
            self.last = ctx.cycle();
            let bytes = State::save(|s| self.unit.state(s)).expect("plain data");
            let mut new = unit(self.unit.spec.clone());
            State::load(&bytes, |s| new.state(s)).expect("the same fields");
            // The engine keeps channels itself.
            new.up = std::mem::take(&mut self.unit.up);
            new.down = std::mem::take(&mut self.unit.down);
            new.control_up = std::mem::take(&mut self.unit.control_up);
            new.control_down = std::mem::take(&mut self.unit.control_down);
            self.unit = new;
        }
        self.unit.evaluate(ctx)
    }
}

impl Stateful for Reborn {}

impl Instrumented for Reborn {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.unit.statistics(statistics);
    }
}
