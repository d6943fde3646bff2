//! The head of the input: the request that is accepted next, or the reason why it waits.

use warpweave_framework::{Context, Cycle, InPort, State};

use super::access::{Access, LONGER_LINE};
use super::blocked::{Blocked, BlockedTime};
use super::control::Control;
use super::controller::Controller;
use super::line_splitter::LineSplitter;
use super::refusal::Refusal;
use super::spec::CacheSpec;
use crate::memory::{MemRequest, MemResponse};

/// State of the input stage.
#[derive(State)]
#[state(restore = Self::forget_refusal)]
pub(super) struct Head {
    /// Present where lines above are longer.
    #[state(part)]
    splitter: Option<LineSplitter>,
    /// The event that the head request waits for; derived from the state, and none itself.
    #[state(skip)]
    refusal: Refusal,
    /// True if each refusal ends with a single event.
    #[state(skip)]
    refuses_simply: bool,
    blocked: BlockedTime,
}

impl Head {
    pub(super) fn new(spec: &CacheSpec) -> Self {
        let above = spec.above_line();
        Self {
            splitter: (above > spec.line_bytes).then(|| LineSplitter::new(above, spec.line_bytes)),
            refusal: Refusal::Unknown,
            refuses_simply: Refusal::are_simple(spec),
            blocked: BlockedTime::default(),
        }
    }

    fn forget_refusal(&mut self) {
        self.refusal = Refusal::Unknown;
    }

    /// Returns the size in bytes of the parts in which longer requests are answered.
    pub(super) fn part_bytes(&self) -> Option<u32> {
        self.splitter.map(|splitter| splitter.part_bytes())
    }

    /// For how long the head request waited, and why.
    pub(super) fn blocked(&self) -> &BlockedTime {
        &self.blocked
    }

    /// Accepts the request at the head unless something it needs is missing. Returns whether it
    /// did.
    pub(super) fn accept(
        &mut self,
        request: &mut InPort<MemRequest>,
        control: &Control,
        controller: &mut Controller,
        ctx: &mut Context<'_>,
        now: Cycle,
    ) -> bool {
        let Some(peeked) = request.peek(ctx) else {
            return false;
        };
        if control.is_pending(ctx) {
            self.refusal = Refusal::Unknown;
            self.blocked.set(now, Some(Blocked::Invalidation));
            return false;
        }
        if self.is_still_refused(peeked, controller, now) {
            return false;
        }
        let mut part = None;
        let Some((head, access)) = self.access(peeked, &mut part, controller) else {
            ctx.fail(format!("cache: {peeked:?} {LONGER_LINE}"));
            return false;
        };
        match controller.decide(head, access, now) {
            Ok(action) => {
                self.refusal = Refusal::Unknown;
                self.blocked.set(now, None);
                let accepted = self.take(request, ctx);
                controller.perform(&accepted, access, action, now);
                true
            }
            Err(reason) => {
                self.refuse(head, access, reason, controller);
                self.blocked.set(now, Some(reason));
                false
            }
        }
    }

    /// The request to decide about next: all of the one at the head or, of a longer one, its next
    /// part. None if it crosses a line.
    #[inline]
    fn access<'a>(
        &self,
        peeked: &'a MemRequest,
        part: &'a mut Option<MemRequest>,
        controller: &Controller,
    ) -> Option<(&'a MemRequest, Access)> {
        let head = match &self.splitter {
            None => peeked,
            Some(splitter) => {
                *part = splitter.part(peeked);
                part.as_ref()?
            }
        };
        Some((head, controller.store.lookup.access(head)?))
    }

    /// Takes from the input what was decided about.
    #[inline]
    fn take(&mut self, request: &mut InPort<MemRequest>, ctx: &mut Context<'_>) -> MemRequest {
        const PEEKED: &str = "the head request was peeked before";
        let Some(splitter) = &mut self.splitter else {
            return request.pop(ctx).expect(PEEKED);
        };
        let peeked = request.peek(ctx).expect(PEEKED);
        let part = splitter.part(peeked).expect(PEEKED);
        if splitter.take(peeked, &part) {
            request.pop(ctx);
        }
        part
    }

    /// Tells whether the head request waits for the reason for which it was refused before.
    #[inline]
    fn is_still_refused(&self, peeked: &MemRequest, controller: &Controller, now: Cycle) -> bool {
        let still = self.refusal.lasts(controller);
        debug_assert!(
            !still || self.reason_to_wait(peeked, controller, now) == self.blocked.reason(),
            "{:?} hides that {peeked:?} waits for {:?}",
            self.refusal,
            self.reason_to_wait(peeked, controller, now)
        );
        still
    }

    /// The reason why the request cannot be accepted, if it cannot.
    fn reason_to_wait(
        &self,
        peeked: &MemRequest,
        controller: &Controller,
        now: Cycle,
    ) -> Option<Blocked> {
        let mut part = None;
        let (head, access) = self.access(peeked, &mut part, controller)?;
        controller.decide(head, access, now).err()
    }

    #[inline]
    fn refuse(
        &mut self,
        head: &MemRequest,
        access: Access,
        reason: Blocked,
        controller: &Controller,
    ) {
        self.refusal = if self.refuses_simply {
            Refusal::of(controller, head, access, reason)
        } else {
            Refusal::Unknown
        };
    }

    /// Returns true if events after the look-up of this cycle change the outcome for the head
    /// request. They may have made room or changed the reason for its stall.
    pub(super) fn is_affected(
        &mut self,
        peeked: &MemRequest,
        controller: &Controller,
        now: Cycle,
    ) -> bool {
        if self.is_still_refused(peeked, controller, now + 1) {
            return false;
        }
        let mut part = None;
        let Some((head, access)) = self.access(peeked, &mut part, controller) else {
            return false;
        };
        let reason = controller.decide(head, access, now + 1).err();
        if reason != self.blocked.reason() {
            return true;
        }
        if let Some(reason) = reason {
            self.refuse(head, access, reason, controller);
        }
        false
    }

    /// The cycle in which the bank that the head request waits for is free.
    pub(super) fn bank_turn(
        &self,
        request: &InPort<MemRequest>,
        controller: &Controller,
        ctx: &Context<'_>,
    ) -> Option<Cycle> {
        let banks = controller.store.banks.as_ref()?;
        if self.blocked.reason() != Some(Blocked::Bank) {
            return None;
        }
        let mut part = None;
        let (_, access) = self.access(request.peek(ctx)?, &mut part, controller)?;
        Some(banks.free_from(access.set))
    }

    /// The requests for one line each of which a functional access consists; none if it crosses a
    /// line.
    pub(super) fn parts(&self, request: &MemRequest) -> Option<Vec<MemRequest>> {
        match &self.splitter {
            None => Some(vec![*request]),
            Some(splitter) => splitter.parts(request),
        }
    }

    /// Names the words of an answer as the requester does.
    #[inline]
    pub(super) fn rejoin(&self, response: &mut MemResponse) {
        if let Some(splitter) = &self.splitter {
            splitter.rejoin(response);
        }
    }
}
