//! Arbiter that serves the oldest packet first, output by output, starting at a different output in
//! each matching.

use warpweave::components::crossbar::{AnyArbiter, Arbiter, ArbiterPolicy, Matching};
use warpweave::framework::{NoFields, PolicyContext, PolicyKind, SpecError, State};

/// Arbiter policy described at the top of the file.
pub(crate) struct LongestWaiting {
    outputs: usize,
    /// Output at which the next matching starts.
    first: usize,
}

impl PolicyKind for LongestWaiting {
    type Role = Arbiter;
    const NAME: &'static str = "LongestWaiting";
    const SUMMARY: &'static str = "The packet that is on its way for longest first";
    type Spec = NoFields;

    fn build(
        _spec: NoFields,
        context: &PolicyContext<'_, Arbiter>,
    ) -> Result<AnyArbiter, SpecError> {
        let policy = Self {
            outputs: context.site.outputs as usize,
            first: 0,
        };
        Ok(AnyArbiter::open::<Self>(policy))
    }
}

impl ArbiterPolicy for LongestWaiting {
    fn matching(&mut self, asked: &Matching<'_>, matches: &mut Vec<(usize, usize)>) {
        let mut taken = 0_u128;
        for step in 0..self.outputs {
            let output = (self.first + step) % self.outputs;
            let inputs = asked.inputs_of(output) & !taken;
            let asking = (0..128).filter(|input| inputs >> input & 1 == 1);
            if let Some(input) = asking.min_by_key(|&input| (asked.since(input, output), input)) {
                taken |= 1 << input;
                matches.push((input, output));
            }
        }
        self.first = (self.first + 1) % self.outputs;
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("first", &mut self.first);
    }
}
