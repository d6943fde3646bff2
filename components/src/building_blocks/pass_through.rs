//! Forwarding of messages for components that only observe traffic.
//!
//! ```
//! use warpweave_components::building_blocks::pass;
//! use warpweave_framework::{Component, Context, InPort, Next, OutPort, Ports, State, Statistics, TestBench};
//!
//! /// Adds up the numbers that pass.
//! #[derive(Default, Ports, State, Statistics)]
//! struct Adder {
//!     #[port]
//!     input: InPort<u64>,
//!     #[port]
//!     output: OutPort<u64>,
//!     sum: u64,
//! }
//!
//! impl Component for Adder {
//!     fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
//!         let sum = &mut self.sum;
//!         let held = pass(ctx, &mut self.input, &mut self.output, |_, n| *sum += *n);
//!         if held { Next::Credit } else { Next::Message }
//!     }
//! }
//!
//! let mut bench = TestBench::new();
//! bench.add("adder", Adder::default());
//! let input = bench.source::<u64>("adder.input");
//! let output = bench.sink::<u64>("adder.output");
//! input.send_at(10, 7);
//! // What is readable leaves in the same cycle: the component costs its wire.
//! bench.expect_at(&output, 10, &7);
//! ```

use warpweave_framework::{Context, InPort, Message, OutPort};

/// Forwards the messages of one wire, as many as the next wire accepts in this cycle. Returns true
/// if some remained. `look` is called once per message, in order, and may modify it.
pub fn pass<T: Message>(
    ctx: &mut Context<'_>,
    input: &mut InPort<T>,
    output: &mut OutPort<T>,
    mut look: impl FnMut(&mut Context<'_>, &mut T),
) -> bool {
    while input.peek(ctx).is_some() {
        if !output.can_send(ctx) {
            return true;
        }
        let mut message = input.pop(ctx).expect("just seen");
        look(ctx, &mut message);
        output.send(ctx, message);
    }
    false
}
