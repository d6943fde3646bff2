//! Checker for request/response protocols, attached to the two ports at one end of a wire.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::channel::{Message, Tap, Transit};
use crate::engine::{Simulation, TapError};
use crate::evaluation::Context;
use crate::time::Cycle;
use crate::verify::violation::Check;

/// A request of a protocol with replies; lets checkers match requests and replies.
pub trait Exchange: Message + Clone + Debug {
    /// Message type of the reply to this request.
    type Answer: Message + Debug;

    /// Identifies the request among those waiting for a reply on one wire.
    fn key(&self) -> u64;

    /// Returns the [`Exchange::key`] of the request that `answer` answers.
    fn key_of(answer: &Self::Answer) -> u64;

    /// True if the request is answered at all.
    fn wants_answer(&self) -> bool {
        true
    }

    /// True if a run may end before the request is answered, because no component waits for the
    /// reply.
    fn may_stay_open(&self) -> bool {
        false
    }

    /// Requests that return the same value here are answered in the order in which they were sent.
    fn order(&self) -> Option<u128> {
        None
    }

    /// Records that `answer`, which matches, has delivered its part. Returns true if the reply is
    /// complete; for replies in parts, with the last part.
    fn is_answered_by(&mut self, _answer: &Self::Answer) -> bool {
        true
    }

    /// Checks that the contents of `answer` match the request.
    ///
    /// # Errors
    /// Returns a description of the mismatch.
    fn fits(&self, _answer: &Self::Answer) -> Result<(), String> {
        Ok(())
    }
}

/// Bounds that a protocol checker asserts in addition to the rules of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeRules {
    /// Minimum number of cycles from request to reply.
    pub latency_min: Cycle,
    /// Maximum number of cycles from request to reply, if bounded.
    pub latency_max: Option<Cycle>,
    /// Maximum number of outstanding requests, if bounded.
    pub open_max: Option<usize>,
    /// True if the order given by [`Exchange::order`] is required.
    pub ordered: bool,
}

impl Default for ExchangeRules {
    fn default() -> Self {
        Self {
            latency_min: 0,
            latency_max: None,
            open_max: None,
            ordered: true,
        }
    }
}

/// Checks the request and reply ports of one component. Every request that wants a reply gets
/// exactly one, possibly in parts ([`Exchange::is_answered_by`]), and no reply lacks a request.
/// Contents must match, the order is kept where required, and `rules` hold. Requests answered in
/// parts are unordered. A violation ends the run.
///
/// # Errors
/// Returns an error if a port cannot be tapped.
pub fn check_exchange<Q: Exchange>(
    simulation: &mut Simulation,
    request_ports: &[&str],
    answer_port: &str,
    rules: ExchangeRules,
) -> Result<Arc<dyn Check>, TapError> {
    let state = Arc::new(Mutex::new(State {
        place: request_ports.join(", "),
        rules,
        open: BTreeMap::new(),
        ages: BTreeMap::new(),
        orders: BTreeMap::new(),
        seen: 0,
    }));
    for port in request_ports {
        simulation.tap::<Q>(port, Requests(Arc::clone(&state)))?;
    }
    simulation.tap::<Q::Answer>(answer_port, Answers::<Q>(Arc::clone(&state)))?;
    Ok(Arc::new(Ledger(state)))
}

struct Open<Q> {
    request: Q,
    since: Cycle,
    number: u64,
}

struct State<Q> {
    place: String,
    rules: ExchangeRules,
    open: BTreeMap<u64, Open<Q>>,
    /// Keys of outstanding requests by number, oldest first.
    ages: BTreeMap<u64, u64>,
    /// Keys of outstanding requests per order, oldest first.
    orders: BTreeMap<u128, VecDeque<u64>>,
    seen: u64,
}

impl<Q: Exchange> State<Q> {
    fn request(&mut self, cycle: Cycle, request: &Q) -> Result<(), String> {
        self.seen += 1;
        self.overdue(cycle)?;
        if !request.wants_answer() {
            return Ok(());
        }
        let key = request.key();
        if let Some(before) = self.open.get(&key) {
            return Err(format!(
                "{request:?} reuses the key of {:?}, which is outstanding since cycle {}",
                before.request, before.since
            ));
        }
        let number = self.seen;
        let request = request.clone();
        if let Some(order) = request.order().filter(|_| self.rules.ordered) {
            self.orders.entry(order).or_default().push_back(key);
        }
        self.ages.insert(number, key);
        let open = Open {
            request,
            since: cycle,
            number,
        };
        self.open.insert(key, open);
        match self.rules.open_max {
            Some(most) if self.open.len() > most => Err(format!(
                "{} requests are outstanding, but at most {most} are allowed",
                self.open.len()
            )),
            _ => Ok(()),
        }
    }

    fn answer(&mut self, cycle: Cycle, answer: &Q::Answer) -> Result<(), String> {
        self.seen += 1;
        let key = Q::key_of(answer);
        let Some(open) = self.open.get_mut(&key) else {
            return Err(format!("{answer:?} matches no outstanding request"));
        };
        let problem = open.request.fits(answer);
        let problem =
            problem.map_err(|p| format!("{answer:?} does not match {:?}: {p}", open.request));
        let order = open.request.order().filter(|_| self.rules.ordered);
        let (since, number) = (open.since, open.number);
        if problem.is_ok() && !open.request.is_answered_by(answer) {
            if let Some(order) = order {
                self.leave_order(order, key);
            }
        } else {
            self.open.remove(&key);
            self.ages.remove(&number);
            if let Some(order) = order {
                self.in_order(order, key, answer)?;
            }
            problem?;
        }
        let taken = cycle.saturating_sub(since);
        if taken < self.rules.latency_min {
            return Err(format!(
                "{answer:?} arrived {taken} cycles after its request, expected at least {}",
                self.rules.latency_min
            ));
        }
        match self.rules.latency_max {
            Some(most) if taken > most => Err(format!(
                "{answer:?} arrived {taken} cycles after its request, expected at most {most}"
            )),
            _ => self.overdue(cycle),
        }
    }

    fn in_order(&mut self, order: u128, key: u64, answer: &Q::Answer) -> Result<(), String> {
        match self
            .leave_order(order, key)
            .filter(|first| *first != key)
            .and_then(|first| self.open.get(&first))
        {
            Some(older) => Err(format!(
                "{answer:?} arrived before the answer to {:?}, which was requested earlier, in cycle {}",
                older.request, older.since
            )),
            None => Ok(()),
        }
    }

    /// Removes a request from its order. Returns the key that was first before; `None` if this
    /// request was removed earlier.
    fn leave_order(&mut self, order: u128, key: u64) -> Option<u64> {
        let queue = self.orders.get_mut(&order)?;
        let first = queue.front().copied();
        let before = queue.len();
        queue.retain(|k| *k != key);
        let was_in = queue.len() < before;
        if queue.is_empty() {
            self.orders.remove(&order);
        }
        first.filter(|_| was_in)
    }

    fn oldest(&self) -> Option<&Open<Q>> {
        self.ages
            .first_key_value()
            .and_then(|(_, key)| self.open.get(key))
    }

    fn overdue(&self, cycle: Cycle) -> Result<(), String> {
        match (self.rules.latency_max, self.oldest()) {
            (Some(most), Some(open)) if cycle.saturating_sub(open.since) > most => Err(format!(
                "{:?} of cycle {} is unanswered after {} cycles, expected at most {most}",
                open.request,
                open.since,
                cycle - open.since
            )),
            _ => Ok(()),
        }
    }

    fn judge(&self, ctx: &mut Context<'_>, result: Result<(), String>) {
        if let Err(problem) = result {
            ctx.fail(format!(
                "{}: in cycle {} {problem}",
                self.place,
                ctx.cycle()
            ));
        }
    }
}

struct Ledger<Q>(Arc<Mutex<State<Q>>>);

impl<Q: Exchange> Check for Ledger<Q> {
    fn seen(&self) -> u64 {
        self.0.lock().seen
    }

    fn finish(&self) -> Result<(), String> {
        let state = self.0.lock();
        let by_age = state.ages.values().filter_map(|key| state.open.get(key));
        let mut waited_for = by_age.filter(|open| !open.request.may_stay_open());
        let Some(oldest) = waited_for.next() else {
            return Ok(());
        };
        Err(format!(
            "{}: {} requests were never answered, the oldest is {:?} of cycle {}",
            state.place,
            1 + waited_for.count(),
            oldest.request,
            oldest.since
        ))
    }
}

struct Requests<Q>(Arc<Mutex<State<Q>>>);

impl<Q: Exchange> Requests<Q> {
    fn pass(&self, ctx: &mut Context<'_>, request: &Q) {
        let mut state = self.0.lock();
        let result = state.request(ctx.cycle(), request);
        state.judge(ctx, result);
    }
}

impl<Q: Exchange> Tap<Q> for Requests<Q> {
    fn send(&mut self, ctx: &mut Context<'_>, transit: Transit<Q>, wire: &mut Vec<Transit<Q>>) {
        self.pass(ctx, &transit.message);
        wire.push(transit);
    }

    fn take(&mut self, ctx: &mut Context<'_>, message: &mut Q) {
        self.pass(ctx, message);
    }
}

struct Answers<Q>(Arc<Mutex<State<Q>>>);

impl<Q: Exchange> Answers<Q> {
    fn pass(&self, ctx: &mut Context<'_>, answer: &Q::Answer) {
        let mut state = self.0.lock();
        let result = state.answer(ctx.cycle(), answer);
        state.judge(ctx, result);
    }
}

impl<Q: Exchange> Tap<Q::Answer> for Answers<Q> {
    fn send(
        &mut self,
        ctx: &mut Context<'_>,
        transit: Transit<Q::Answer>,
        wire: &mut Vec<Transit<Q::Answer>>,
    ) {
        self.pass(ctx, &transit.message);
        wire.push(transit);
    }

    fn take(&mut self, ctx: &mut Context<'_>, message: &mut Q::Answer) {
        self.pass(ctx, message);
    }
}
