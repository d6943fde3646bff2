//! Admission of requests from their ports, access by access, subject to queue space.

use warpweave_framework::{Context, Cycle, State};

use super::address_map::AddressMap;
use super::channels::Channels;
use super::controller::{Offer, Request};
use super::heads::{Head, Heads};
use super::outstanding::Outstanding;
use super::splitting::Splitting;
use crate::memory::{MemRequest, MemSlave, RequestKind};

/// Requests at the ports, and the one whose accesses are entering the queues.
#[derive(State)]
#[state(prepare = Admission::forget_heads)]
pub(super) struct Admission {
    #[state(skip)]
    addresses: AddressMap,
    splitting: Option<Splitting>,
    #[state(skip)]
    heads: Heads,
    /// Next port in round-robin order.
    turn: usize,
    /// Number of accesses that can enter in a cycle.
    #[state(skip)]
    width: u32,
}

impl Admission {
    /// Creates the front end, which admits up to `width` accesses in a cycle.
    pub(super) fn new(addresses: AddressMap, width: u32) -> Self {
        Self {
            splitting: None,
            heads: Heads::new(addresses.ports as usize),
            turn: 0,
            addresses,
            width,
        }
    }

    /// Returns the way from lines to the devices.
    pub(super) fn addresses(&self) -> &AddressMap {
        &self.addresses
    }

    /// Drops the cached requests, which are found again at the ports.
    fn forget_heads(&mut self) {
        self.heads.forget();
    }

    /// Offers refused requests again, because the channels or the table may accept them now.
    #[inline]
    pub(super) fn try_again(&mut self) {
        self.heads.try_again();
    }

    /// True if a request has accesses that have not entered yet.
    #[inline]
    pub(super) fn is_splitting(&self) -> bool {
        self.splitting.is_some()
    }

    /// Admits the accesses of a cycle to the queues. Returns true if one entered.
    #[inline]
    pub(super) fn enter(
        &mut self,
        ctx: &mut Context<'_>,
        up: &mut [MemSlave],
        channels: &mut Channels,
        outstanding: &mut Outstanding,
    ) -> bool {
        let mut entered = false;
        let mut wrote = false;
        for _ in 0..self.width {
            let Some(write) = self.enter_one(ctx, up, channels, outstanding, wrote) else {
                break;
            };
            entered = true;
            wrote |= write;
        }
        entered
    }

    /// Admits one access to the queues, of any request or `after_write` of a write only. A read
    /// answered from a write of the same cycle would overtake its acknowledgement. Returns true for
    /// the access of a write, and `None` if none entered.
    #[inline]
    fn enter_one(
        &mut self,
        ctx: &mut Context<'_>,
        up: &mut [MemSlave],
        channels: &mut Channels,
        outstanding: &mut Outstanding,
        after_write: bool,
    ) -> Option<bool> {
        debug_assert!(
            self.waits_rightly(channels, outstanding),
            "a request is waiting although it could enter"
        );
        if self.heads.all_wait() {
            return None;
        }
        if let Some(splitting) = self.splitting {
            let next = splitting.accesses.next();
            let (channel, access) = self.addresses.access(next, splitting.write);
            let place = (channel, access);
            let entered = self.enter_access(ctx.cycle(), splitting, place, channels, outstanding);
            if entered {
                self.heads.try_again();
            } else {
                self.heads.refuse_all();
            }
            return entered.then_some(splitting.write);
        }
        let ports = up.len();
        let mut next = self.turn;
        for _ in 0..ports {
            let port = next;
            next = if port + 1 == ports { 0 } else { port + 1 };
            if !self.heads.may_enter(port) {
                continue;
            }
            let known = self.heads.of(port);
            let new = if known.is_none() {
                let Some(request) = up[port].request.peek(ctx) else {
                    continue;
                };
                if let Err(message) = admissible(request) {
                    ctx.fail(message);
                    return None;
                }
                Some(self.addresses.head(*request))
            } else {
                None
            };
            let head = known.or(new.as_ref()).expect("one of them");
            if after_write && !head.access.write {
                continue;
            }
            if admits(head, channels, outstanding) {
                let head = *head;
                self.enter_request(ctx.cycle(), port, &head, channels, outstanding);
                up[port].request.pop(ctx);
                self.heads.entered(port);
                self.turn = next;
                return Some(head.access.write);
            }
            self.heads.refuse(port, new);
        }
        None
    }

    /// True if none of the requests marked as waiting could enter. For debug builds.
    fn waits_rightly(&self, channels: &Channels, outstanding: &Outstanding) -> bool {
        if let Some(Splitting {
            write, accesses, ..
        }) = self.splitting
        {
            let (channel, access) = self.addresses.access(accesses.next(), write);
            return !self.heads.all_wait() || !channels.list[channel].accepts(&access);
        }
        let ports = 0..self.addresses.ports as usize;
        let mut waiting = ports.filter(|port| !self.heads.may_enter(*port));
        let refused = |head: &Head| !admits(head, channels, outstanding);
        waiting.all(|port| self.heads.of(port).is_some_and(refused))
    }

    fn enter_request(
        &mut self,
        now: Cycle,
        port: usize,
        head: &Head,
        channels: &mut Channels,
        outstanding: &mut Outstanding,
    ) {
        let accesses = head.accesses;
        let count = accesses.count();
        let transactions = &mut outstanding.transactions;
        let splitting = Splitting {
            transaction: transactions.begin(now, port, head.request, count),
            write: head.access.write,
            accesses,
        };
        let place = (head.channel, head.access);
        let entered = self.enter_access(now, splitting, place, channels, outstanding);
        assert!(entered, "a channel must take every request that it accepts");
        let wraps = self.addresses.mapping.wraps(accesses.first());
        outstanding.order(splitting.transaction, head, wraps);
    }

    /// Offers the next access of a request to its channel. Returns true if it entered. The last
    /// access of a write acknowledges it.
    fn enter_access(
        &mut self,
        now: Cycle,
        splitting: Splitting,
        (channel, mut access): (usize, Request),
        channels: &mut Channels,
        outstanding: &mut Outstanding,
    ) -> bool {
        let Splitting {
            transaction,
            write,
            accesses,
        } = splitting;
        access.tag = transaction.bits();
        if channels.list[channel].offer(now, access) == Offer::Refused {
            return false;
        }
        let left = accesses.after();
        self.splitting = left.map(|accesses| Splitting {
            accesses,
            ..splitting
        });
        if left.is_none() && write {
            outstanding.written(now, transaction);
        }
        true
    }
}

/// True if a request can enter. A request that stays in its port has no side effects.
#[inline]
fn admits(head: &Head, channels: &Channels, outstanding: &Outstanding) -> bool {
    outstanding.admits(head) && channels.list[head.channel].accepts(&head.access)
}

/// Checks that memory can serve this request.
fn admissible(request: &MemRequest) -> Result<(), String> {
    let MemRequest { line, words, .. } = *request;
    if request.kind == RequestKind::Atomic {
        return Err(format!(
            "an atomic on line {line:#x} reached memory; place a cache that performs atomics above the memory"
        ));
    }
    if words == 0 {
        return Err(format!("a request for line {line:#x} touches no words"));
    }
    Ok(())
}
