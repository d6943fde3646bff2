//! Workload of signals and delta cycles: changes that ripple through chains of combinational
//! methods.

use std::cell::Cell;
use std::rc::Rc;

use crate::components::{elaborate, one_clock, timed};
use crate::workload::Sample;

/// Simulates `width` chains of `depth` inverters. The inputs flip at every tick, and each flip
/// ripples through `depth` delta cycles. The run ends after about `total` changes.
pub(crate) fn signals(width: u64, depth: u64, total: u64) -> Sample {
    let ticks = total / (width * depth);
    let (mut builder, _) = one_clock();
    let world = builder.world();
    let changes = Rc::new(Cell::new(0u64));
    let mut inputs = Vec::new();
    for chain in 0..width {
        let mut before = world.signal(format!("chain[{chain}].input"), false);
        inputs.push(before.clone());
        for stage in 0..depth {
            // Settled from the start: each is what the one before it makes of it.
            let after = world.signal(format!("chain[{chain}].stage[{stage}]"), stage % 2 == 0);
            let (input, output, count) = (before.clone(), after.clone(), Rc::clone(&changes));
            let inverter = move || {
                count.set(count.get() + 1);
                output.write(!input.read());
            };
            world.handler("inverter", &[before.changed()], inverter);
            before = after;
        }
    }
    let tick = world.event("tick");
    let (mut left, mut level, again) = (ticks, false, tick.clone());
    world.handler("driver", &[&tick], move || {
        level = !level;
        for input in &inputs {
            input.write(level);
        }
        left -= 1;
        if left > 0 {
            again.notify_after(1);
        }
    });
    if ticks > 0 {
        tick.notify_after(1);
    }
    let mut simulation = elaborate(builder);
    let elapsed = timed(&mut simulation, None);
    Sample {
        ns: elapsed.as_nanos() as u64,
        units: changes.get(),
        ..Sample::default()
    }
}
