//! Admission of requests from their ports, one access at a time, subject to queue space.

use warpweave_framework::{Context, Cycle};

use super::heads::Head;
use super::splitting::{Accesses, Splitting};
use super::{GddrController, Offer, Request};
use crate::memory::{MemRequest, RequestKind};

impl GddrController {
    /// Admits one access to the queues. Returns true if one entered.
    pub(super) fn enter(&mut self, ctx: &mut Context<'_>) -> bool {
        debug_assert!(
            self.waits_rightly(),
            "a request is waiting although it could enter"
        );
        if self.heads.all_wait() {
            return false;
        }
        if let Some(splitting) = self.splitting {
            let (channel, access) = self.access(splitting.accesses.next(), splitting.write);
            let entered = self.enter_access(ctx.cycle(), splitting, channel, access);
            if entered {
                self.heads.try_again();
            } else {
                self.heads.refuse_all();
            }
            return entered;
        }
        let ports = self.up.len();
        let mut next = self.turn;
        for _ in 0..ports {
            let port = next;
            next = if port + 1 == ports { 0 } else { port + 1 };
            if !self.heads.may_enter(port) {
                continue;
            }
            let known = self.heads.of(port);
            let new = if known.is_none() {
                let Some(request) = self.up[port].request.peek(ctx) else {
                    continue;
                };
                if let Err(message) = admissible(request) {
                    ctx.fail(message);
                    return false;
                }
                Some(self.head(*request))
            } else {
                None
            };
            let head = known.or(new.as_ref()).expect("one of them");
            if self.admits(head) {
                let head = *head;
                self.enter_request(ctx.cycle(), port, &head);
                self.up[port].request.pop(ctx);
                self.heads.entered(port);
                self.turn = next;
                return true;
            }
            self.heads.refuse(port, new);
        }
        false
    }

    /// Returns the head entry of a request with its first access.
    fn head(&self, request: MemRequest) -> Head {
        let local = match &self.interleave {
            Some(interleave) => interleave.local_of_group(request.line, self.up.len() as u32),
            None => request.line,
        };
        let accesses = Accesses::touched(local, request.words, self.access_bytes);
        let (channel, access) = self.access(accesses.next(), request.kind.carries_data());
        let access_bytes = u64::from(self.access_bytes);
        let offset = local & (access_bytes - 1);
        Head {
            request,
            address: self.mapping.wrapped(accesses.first()) * access_bytes + offset,
            accesses,
            channel,
            access,
        }
    }

    /// True if none of the requests marked as waiting could enter. For debug builds.
    fn waits_rightly(&self) -> bool {
        if let Some(Splitting {
            write, accesses, ..
        }) = self.splitting
        {
            let (channel, access) = self.access(accesses.next(), write);
            return !self.heads.all_wait() || !self.channels[channel].accepts(&access);
        }
        let mut waiting = (0..self.up.len()).filter(|port| !self.heads.may_enter(*port));
        waiting.all(|port| self.heads.of(port).is_some_and(|head| !self.admits(head)))
    }

    /// True if a request can enter. A request that stays in its port has no side effects.
    #[inline]
    fn admits(&self, head: &Head) -> bool {
        let is_read = || self.transactions.is_read(head.request.line);
        !(head.access.write && is_read())
            && self.transactions.has_room()
            && self.channels[head.channel].accepts(&head.access)
    }

    fn enter_request(&mut self, now: Cycle, port: usize, head: &Head) {
        let Head {
            request,
            address,
            accesses,
            channel,
            access,
        } = *head;
        let write = access.write;
        let count = accesses.count();
        let transaction = self.transactions.begin(now, port, request, count);
        let splitting = Splitting {
            transaction,
            write,
            accesses,
        };
        let entered = self.enter_access(now, splitting, channel, access);
        assert!(entered, "a channel must take every request that it accepts");
        if write {
            self.order_write(&request, address);
        } else {
            self.counts.read_requests += 1;
            let newest = self.sequences.of(address);
            self.transactions.order_read(transaction, newest);
        }
        self.counts.wrapped_requests += u64::from(self.mapping.wraps(accesses.first()));
    }

    /// Returns the channel of an access, and the request to offer to that channel.
    fn access(&self, access: u64, write: bool) -> (usize, Request) {
        let (channel, location) = self.mapping.locate(access);
        let request = Request {
            access,
            location,
            write,
            tag: 0,
        };
        (channel as usize, request)
    }

    /// Offers the next access of a request to its channel. Returns true if it entered. The last
    /// access of a write acknowledges it.
    fn enter_access(
        &mut self,
        now: Cycle,
        splitting: Splitting,
        channel: usize,
        mut access: Request,
    ) -> bool {
        let Splitting {
            transaction,
            write,
            accesses,
        } = splitting;
        access.tag = transaction.bits();
        if self.channels[channel].offer(now, access) == Offer::Refused {
            return false;
        }
        let left = accesses.after();
        self.splitting = left.map(|accesses| Splitting {
            accesses,
            ..splitting
        });
        if left.is_none() && write {
            let written = self.transactions.get(transaction);
            if written.request.kind.wants_response() {
                self.responses
                    .acknowledge(now + 1, written.port, transaction);
            } else {
                self.transactions.end(transaction);
            }
        }
        true
    }

    fn order_write(&mut self, request: &MemRequest, address: u64) {
        if request.kind == RequestKind::CopyBack {
            self.counts.copy_backs += 1;
        } else {
            self.counts.write_requests += 1;
        }
        if request.write_sequence > 0 {
            self.sequences.raise(address, request.write_sequence);
        }
    }
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
