//! Second-level invalidation at kernel end: after the first level, before the kernel is done.

use std::collections::VecDeque;

use fixedbitset::FixedBitSet;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Id, Ports, State, Waits};

use super::{InvalidateAt, SecondLevelSpec};
use crate::launch::{CacheCommand, CacheCommandDone, CacheControlMaster};

/// Second-level slices, and the kernels whose ends invalidate them.
#[derive(Ports, State)]
pub(super) struct SecondLevel {
    #[state(skip)]
    invalidate_at: InvalidateAt,
    #[port]
    caches: Vec<CacheControlMaster>,
    /// Kernels whose first-level lines are being invalidated.
    ended: Vec<Id>,
    /// Kernels waiting for the second-level invalidation in progress.
    waiting: VecDeque<Id>,
    dropping: Option<Dropping>,
}

/// A kernel at whose end the slices invalidate their lines.
#[derive(Serialize, Deserialize)]
struct Dropping {
    kernel: Id,
    /// Slices that have not been sent the command yet.
    #[serde(deserialize_with = "crate::bits::read")]
    unsent: FixedBitSet,
    /// Slices whose reply to the command is outstanding.
    #[serde(deserialize_with = "crate::bits::read")]
    unanswered: FixedBitSet,
}

impl SecondLevel {
    /// Creates the slices; there are none if the second level keeps its lines.
    pub(super) fn of(spec: Option<SecondLevelSpec>) -> Self {
        let spec = spec.unwrap_or(SecondLevelSpec {
            slices: 0,
            invalidate_at: InvalidateAt::Never,
        });
        let caches = (0..spec.slices).map(|_| CacheControlMaster::default());
        Self {
            invalidate_at: spec.invalidate_at,
            caches: caches.collect(),
            ended: Vec::new(),
            waiting: VecDeque::new(),
            dropping: None,
        }
    }

    /// Notes that all work-groups of a kernel have completed.
    pub(super) fn ended(&mut self, kernel: Id, family_ended: bool) {
        if self.invalidate_at.drops(family_ended) {
            self.ended.push(kernel);
        }
    }

    /// Takes over a kernel after its first-level invalidation. Returns false if the second level
    /// has nothing to invalidate for it.
    pub(super) fn takes(&mut self, kernel: Id) -> bool {
        let Some(place) = self.ended.iter().position(|ended| *ended == kernel) else {
            return false;
        };
        self.ended.remove(place);
        self.waiting.push_back(kernel);
        true
    }

    /// Takes replies and sends commands to slices with room. Returns a kernel for which all slices
    /// have finished.
    pub(super) fn go_on(&mut self, ctx: &mut Context<'_>) -> Option<Id> {
        let mut finished = None;
        if let Some(dropping) = &mut self.dropping {
            for slice in dropping.unanswered.clone().ones() {
                if let Some(CacheCommandDone) = self.caches[slice].done.pop(ctx) {
                    dropping.unanswered.remove(slice);
                }
            }
            if dropping.unanswered.is_clear() {
                finished = Some(dropping.kernel);
                self.dropping = None;
            }
        }
        if self.dropping.is_none()
            && let Some(kernel) = self.waiting.pop_front()
        {
            let mut slices = FixedBitSet::with_capacity(self.caches.len());
            slices.insert_range(..);
            self.dropping = Some(Dropping {
                kernel,
                unsent: slices.clone(),
                unanswered: slices,
            });
        }
        if let Some(dropping) = &mut self.dropping {
            for slice in dropping.unsent.clone().ones() {
                let command = &mut self.caches[slice].command;
                if command.try_send(ctx, CacheCommand::Invalidate).is_ok() {
                    dropping.unsent.remove(slice);
                }
            }
        }
        finished
    }

    /// True if slices have not been sent the command yet.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        let dropping = self.dropping.as_ref();
        dropping.is_some_and(|dropping| !dropping.unsent.is_clear())
    }

    /// Returns the kernels whose end is delayed by this level.
    pub(super) fn kernels(&self) -> impl Iterator<Item = Id> {
        let dropping = self.dropping.iter().map(|dropping| dropping.kernel);
        dropping.chain(self.waiting.iter().copied())
    }

    pub(super) fn waits(&self, waits: &mut Waits<'_>) {
        for slice in self.dropping.iter().flat_map(|d| d.unanswered.ones()) {
            waits.on_port(
                format!("caches[{slice}].done"),
                "the second-level invalidation has not completed",
            );
        }
    }
}
