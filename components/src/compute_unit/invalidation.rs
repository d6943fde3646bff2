//! The invalidation of the first-level cache on behalf of the work-group scheduler.

use serde::{Deserialize, Serialize};
use warpweave_framework::Context;

use super::ComputeUnit;
use crate::launch::{CacheCommand, CacheCommandDone, Completion};

/// An invalidation that is not answered.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Invalidation {
    pub(super) kernel: u32,
    pub(super) is_commanded: bool,
}

impl ComputeUnit {
    pub(super) fn carry_out_invalidation(&mut self, ctx: &mut Context<'_>) {
        let Some(invalidation) = self.invalidation else {
            return;
        };
        if !self.cache_control.command.is_connected() {
            self.answer_invalidation(invalidation.kernel);
        } else if !invalidation.is_commanded {
            let sent = self
                .cache_control
                .command
                .try_send(ctx, CacheCommand::Invalidate);
            self.invalidation = Some(Invalidation {
                is_commanded: sent.is_ok(),
                ..invalidation
            });
        } else if let Some(CacheCommandDone) = self.cache_control.done.pop(ctx) {
            self.answer_invalidation(invalidation.kernel);
        }
    }

    fn answer_invalidation(&mut self, kernel: u32) {
        self.invalidation = None;
        self.completions
            .push_back(Completion::Invalidated { kernel });
    }
}
