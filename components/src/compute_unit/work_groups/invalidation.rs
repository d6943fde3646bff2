//! The invalidation of first-level caches on behalf of the work-group scheduler: of that for data, and of those for
//! constants and textures where they are wired to be told.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Waits};

use crate::compute_unit::ComputeUnit;
use crate::launch::{CacheCommand, CacheCommandDone, CacheControlMaster, Completion};

/// Bundles of ports to the caches.
const CACHES: [(&str, &str, &str); 3] = [
    (
        "cache_control.command",
        "cache_control.done",
        "first-level cache",
    ),
    (
        "constants_control.command",
        "constants_control.done",
        "cache for constants",
    ),
    (
        "textures_control.command",
        "textures_control.done",
        "cache for textures",
    ),
];

/// An invalidation that is not answered.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Invalidation {
    kernel: u32,
    /// Caches that were told, a bit each; and those of them that have answered.
    told: u8,
    done: u8,
}

impl Invalidation {
    pub(crate) fn new(kernel: u32) -> Self {
        Self {
            kernel,
            told: 0,
            done: 0,
        }
    }
}

impl ComputeUnit {
    /// The wires to the caches, in the order of [`CACHES`].
    fn cache_controls(&mut self) -> impl Iterator<Item = &mut CacheControlMaster> {
        std::iter::once(&mut self.cache_control).chain(self.read_paths.controls())
    }

    /// Ports by which caches are told to drop their lines, as far as they are wired.
    pub(crate) fn caches_told(&self) -> impl Iterator<Item = &'static str> {
        let data = std::iter::once(&self.cache_control);
        let controls = data.chain(self.read_paths.controls_there());
        let known = CACHES.iter().zip(controls);
        known
            .filter(|(_, control)| control.command.is_connected())
            .map(|((command, ..), _)| *command)
    }

    pub(crate) fn carry_out_invalidation(&mut self, ctx: &mut Context<'_>) {
        let Some(mut invalidation) = self.invalidation else {
            return;
        };
        let mut is_done = true;
        for (cache, control) in self.cache_controls().enumerate() {
            let bit = 1 << cache;
            if !control.command.is_connected() || invalidation.done & bit != 0 {
                continue;
            }
            if invalidation.told & bit == 0 {
                let told = control.command.try_send(ctx, CacheCommand::Invalidate);
                invalidation.told |= u8::from(told.is_ok()) << cache;
            } else if let Some(CacheCommandDone) = control.done.pop(ctx) {
                invalidation.done |= bit;
                continue;
            }
            is_done = false;
        }
        self.invalidation = Some(invalidation);
        if is_done {
            self.invalidation = None;
            let kernel = invalidation.kernel;
            self.completions
                .push_back(Completion::Invalidated { kernel });
        }
    }

    pub(crate) fn waits_for_caches(&self, waits: &mut Waits<'_>) {
        let Some(Invalidation { told, done, .. }) = self.invalidation else {
            return;
        };
        for (cache, (_, answer, what)) in CACHES.iter().enumerate() {
            if (told & !done) >> cache & 1 != 0 {
                waits.on_port(*answer, format!("the {what} is to drop its lines"));
            }
        }
    }
}
