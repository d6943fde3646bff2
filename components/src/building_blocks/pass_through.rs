//! How components that only look pass on what they see.

use warpweave_framework::{Context, InPort, Message, OutPort};

/// Passes the messages of one wire on, as many as the next wire takes in this cycle; says whether
/// some stayed. `look` sees each once, in order, and may stamp it.
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
