//! Evaluating those awake in one cycle of one clock.

use crate::engine::partition::Slot;
use crate::evaluation::{Context, Next, Sink, Sweep};
use crate::observe::{Blocked, Probe, Reason};
use crate::time::Tick;

/// Records what an evaluation changed in what the component shows and in what it waits for.
#[cold]
#[inline(never)]
pub(super) fn record(slot: &mut Slot, sink: &mut Sink, (now, domain): (Tick, u32), reason: Reason) {
    let at = (now, domain, slot.number);
    let changed = slot.activity.reason() != reason;
    let component = &slot.component;
    let blocked = slot.shown.as_mut().map_or(Blocked::AsBefore, |shown| {
        shown.update(
            changed,
            |contents| component.contents(contents),
            |probe| sink.record(at, probe),
        )
    });
    if changed || blocked == Blocked::Ended {
        sink.record(at, Probe::Waits { reason });
    }
}

/// Evaluates those awake among more than 64 components; returns how many those were.
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

/// Evaluates the components of one word that `bits` names; returns how many those are.
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

/// Evaluates one component, the one at `ctx.me`.
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
