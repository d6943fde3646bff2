//! Evaluation of the components that are awake in one cycle of one clock.

use crate::engine::partition::Slot;
use crate::evaluation::{Context, Next, Sink, Sweep};
use crate::observe::{Blocked, Probe, Reason};
use crate::time::Tick;

/// Records the changes that an evaluation made to the shown contents and to the wait reason.
#[cold]
#[inline(never)]
pub(super) fn record(slot: &mut Slot, sink: &mut Sink, (now, domain): (Tick, u32), reason: Reason) {
    let at = (now, domain, slot.number);
    let changed = slot.activity.reason() != reason;
    let component = &slot.component;
    let blocked = slot.shown.as_mut().map_or(Blocked::AsBefore, |shown| {
        shown.update(
            changed,
            |contents| {
                if let Some(component) = component.inspection() {
                    component.contents(contents);
                }
            },
            |probe| sink.record(at, probe),
        )
    });
    if changed || blocked == Blocked::Ended {
        sink.record(at, Probe::Waits { reason });
    }
}

/// Evaluates the awake components among more than 64; returns their number.
#[inline(never)]
pub(super) fn evaluate_groups(slots: &mut [Slot], ctx: &mut Context<'_>) -> u64 {
    let mut evaluations = 0;
    let mut sweep = Sweep::default();
    while let Some((first, mut words)) = ctx.here.next_group(&mut sweep) {
        while words != 0 {
            let word = first + words.trailing_zeros() as usize;
            words &= words - 1;
            let bits = ctx.here.take_word(word);
            evaluations += evaluate_word(slots, ctx, word, bits);
        }
    }
    evaluations
}

/// Evaluates the components of one word that are set in `bits`; returns their number.
#[inline(always)]
pub(super) fn evaluate_word(
    slots: &mut [Slot],
    ctx: &mut Context<'_>,
    word: usize,
    mut bits: u64,
) -> u64 {
    let mut evaluations = 0;
    while bits != 0 {
        let index = (word as u32) << 6 | bits.trailing_zeros();
        bits &= bits - 1;
        ctx.me.index = index;
        evaluate(&mut slots[index as usize], ctx);
        evaluations += 1;
    }
    evaluations
}

/// Evaluates the single component at index `ctx.me`.
#[inline(always)]
pub(super) fn evaluate(slot: &mut Slot, ctx: &mut Context<'_>) {
    ctx.component = slot.number;
    let next = slot.component.evaluate(ctx);
    let cycle = ctx.cycle;
    if ctx.observed
        && let Some(sink) = &mut ctx.shared.sink
    {
        record(slot, sink, (ctx.now, ctx.me.domain), next.reason());
    }
    slot.evaluations += 1;
    slot.activity.charge(cycle, next);
    if let Next::Until(at) = next {
        ctx.wake_me_at(at.max(cycle + 1));
    } else if next == Next::Busy {
        ctx.here.wake(ctx.me.index, cycle + 1);
    }
}
