//! Responder that answers the requests of a device under contract.

use std::collections::VecDeque;

use warpweave_random::CounterRng;

use crate::channel::{Bundle, InPort, OutPort, Ports};
use crate::component::Component;
use crate::evaluation::{Context, Next};
use crate::observe::Instrumented;
use crate::state::{State, Stateful};
use crate::time::Cycle;
use crate::verify::exchange::Exchange;

/// Computes the replies to requests, and may keep state.
pub trait Respond<Q: Exchange>: Send + 'static {
    /// Called when a request arrives; requests of one wire arrive in the order in which they were
    /// sent.
    fn arrive(&mut self, _cycle: Cycle, _request: &Q) {}

    /// Returns the reply to a request that has arrived, in the cycle in which the reply leaves.
    fn answer(&mut self, cycle: Cycle, request: &Q) -> Q::Answer;

    /// Requests with the same value are answered in the order in which they arrived.
    fn order(&self, request: &Q) -> Option<u128> {
        request.order()
    }

    /// Names the fields of the responder's state.
    fn state(&mut self, _state: &mut State<'_>) {}
}

/// Stateless responder that answers with a function.
pub(super) struct Plain<F>(pub(super) F);

impl<Q: Exchange, F: Fn(&Q) -> Q::Answer + Send + 'static> Respond<Q> for Plain<F> {
    fn answer(&mut self, _: Cycle, request: &Q) -> Q::Answer {
        (self.0)(request)
    }
}

/// Answers requests after a random time.
pub(super) struct Responder<Q: Exchange, R> {
    requests: InPort<Q>,
    answers: OutPort<Q::Answer>,
    respond: R,
    /// Requests with the cycle from which each can be answered.
    pending: VecDeque<(Cycle, Q)>,
    dice: CounterRng,
    count: u64,
    slowest: u64,
}

/// Maximum number of requests a responder takes before the first reply.
const PENDING_MAX: usize = 8;

impl<Q: Exchange, R: Respond<Q>> Responder<Q, R> {
    pub(super) fn new(respond: R, dice: CounterRng, slowest: u64) -> Self {
        Self {
            requests: InPort::new(),
            answers: OutPort::new(),
            respond,
            pending: VecDeque::new(),
            dice,
            count: 0,
            slowest,
        }
    }

    /// Returns the request to answer next: the earliest due among those with no predecessor in
    /// their order.
    fn next(&self) -> Option<(Cycle, usize)> {
        let free = |at: usize| {
            let order = self.respond.order(&self.pending[at].1);
            let before = self.pending.iter().take(at);
            order.is_none() || before.clone().all(|(_, q)| self.respond.order(q) != order)
        };
        let all = (0..self.pending.len()).filter(|at| free(*at));
        all.map(|at| (self.pending[at].0, at)).min()
    }
}

impl<Q: Exchange, R: Respond<Q>> Bundle for Responder<Q, R> {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.input("requests", &mut self.requests);
        ports.output("answers", &mut self.answers);
    }
}

impl<Q: Exchange, R: Respond<Q>> Component for Responder<Q, R> {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        while self.pending.len() < PENDING_MAX
            && let Some(request) = self.requests.pop(ctx)
        {
            let due = ctx.cycle() + self.dice.below(self.count, self.slowest);
            self.count += 1;
            self.respond.arrive(ctx.cycle(), &request);
            if request.wants_answer() {
                self.pending.push_back((due, request));
            }
        }
        let Some((due, at)) = self.next() else {
            return Next::Message;
        };
        if due > ctx.cycle() {
            return Next::Until(due);
        }
        if !self.answers.can_send(ctx) {
            return Next::Credit;
        }
        let (_, request) = self.pending.remove(at).expect("found above");
        let answer = self.respond.answer(ctx.cycle(), &request);
        self.answers.send(ctx, answer);
        if self.pending.is_empty() && self.requests.peek(ctx).is_none() {
            Next::Message
        } else {
            Next::Busy
        }
    }
}

impl<Q: Exchange, R: Respond<Q>> Stateful for Responder<Q, R> {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("pending", &mut self.pending);
        state.field("count", &mut self.count);
        state.part("respond", |state| self.respond.state(state));
    }
}

impl<Q: Exchange, R: Respond<Q>> Instrumented for Responder<Q, R> {}
