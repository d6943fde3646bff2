//! Queues of responses waiting for their ports.

use warpweave_framework::{Cycle, Id, State};

use crate::building_blocks::Fifo;

/// Transactions that are ready for a response or will be acknowledged.
#[derive(State)]
pub(super) struct Responses {
    /// Scheduled write acknowledgements: (cycle of sending, port, transaction).
    acknowledgements: Fifo<(Cycle, u32, Id)>,
    /// Finished transactions per port, and the mask of ports that have any.
    #[state(array)]
    ready: Vec<Fifo<Id>>,
    ready_ports: u64,
}

impl Responses {
    pub(super) fn new(ports: usize) -> Self {
        Self {
            acknowledgements: Fifo::default(),
            ready: vec![Fifo::default(); ports],
            ready_ports: 0,
        }
    }

    /// Marks a transaction as ready for its response.
    #[inline]
    pub(super) fn push(&mut self, port: u32, id: Id) {
        self.ready[port as usize].push(id);
        self.ready_ports |= 1 << port;
    }

    /// Schedules the acknowledgement of a write. `at` must not be earlier than that of previous
    /// calls.
    #[inline]
    pub(super) fn acknowledge(&mut self, at: Cycle, port: u32, id: Id) {
        self.acknowledgements.push((at, port, id));
    }

    /// Marks the acknowledgements due by now as ready.
    #[inline]
    pub(super) fn advance(&mut self, now: Cycle) {
        while let Some(&(cycle, port, id)) = self.acknowledgements.front()
            && cycle <= now
        {
            self.acknowledgements.remove_first();
            self.push(port, id);
        }
    }

    /// Returns the cycle of the next acknowledgement.
    #[inline]
    pub(super) fn next_acknowledgement(&self) -> Option<Cycle> {
        self.acknowledgements.front().map(|(cycle, ..)| *cycle)
    }

    /// Offers every ready transaction to its port, in order, until the port refuses one.
    #[inline]
    pub(super) fn send(&mut self, mut takes: impl FnMut(usize, Id) -> bool) {
        let mut ports = self.ready_ports;
        while ports != 0 {
            let port = ports.trailing_zeros() as usize;
            ports &= ports - 1;
            let ready = &mut self.ready[port];
            while ready.front().is_some_and(|id| takes(port, *id)) {
                ready.remove_first();
            }
            if ready.is_empty() {
                self.ready_ports &= !(1 << port);
            }
        }
    }

    /// True if any transaction waits for its port.
    #[inline]
    pub(super) fn any_ready(&self) -> bool {
        self.ready_ports != 0
    }

    /// Returns the number of waiting transactions per port.
    pub(super) fn waiting(&self) -> impl Iterator<Item = usize> {
        self.ready.iter().map(Fifo::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_refuses_holds_up_its_own_responses_alone() {
        let mut responses = Responses::new(2);
        let ids = [0, 1, 2].map(Id::from_bits);
        responses.push(0, ids[0]);
        responses.push(0, ids[1]);
        responses.acknowledge(5, 1, ids[2]);
        responses.advance(4);
        let mut sent = Vec::new();
        let mut step = |responses: &mut Responses, open: bool| {
            responses.send(|port, id| {
                let takes = open || port == 1;
                if takes {
                    sent.push((port, id));
                }
                takes
            });
        };
        step(&mut responses, false);
        assert_eq!(responses.next_acknowledgement(), Some(5));
        responses.advance(5);
        step(&mut responses, false);
        assert_eq!(responses.waiting().collect::<Vec<_>>(), [2, 0]);
        step(&mut responses, true);
        assert!(!responses.any_ready());
        assert_eq!(sent, [(1, ids[2]), (0, ids[0]), (0, ids[1])]);
    }
}
