//! The reorder queue of a texture port: answers go on in the order of requests.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::memory::MemResponse;

/// Requests whose responses have not been forwarded, oldest first, with the responses that arrived
/// early.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct ReorderQueue(VecDeque<(u32, Option<MemResponse>)>);

impl ReorderQueue {
    /// Notes that a request with this ID was sent.
    pub(crate) fn sent(&mut self, id: u32) {
        self.0.push_back((id, None));
    }

    /// Stores the response to an outstanding request.
    ///
    /// # Errors
    /// Returns an error if no outstanding request matches the response.
    pub(crate) fn arrived(&mut self, response: MemResponse) -> Result<(), String> {
        let id = response.id;
        let mut waiting = self.0.iter_mut();
        let place = waiting.find(|(request, answer)| *request == id && answer.is_none());
        let Some((_, answer)) = place else {
            return Err(format!(
                "a response has id {id}, which matches no request in flight"
            ));
        };
        *answer = Some(response);
        Ok(())
    }

    /// Returns true if the response to the oldest request has arrived.
    pub(crate) fn has_next(&self) -> bool {
        self.0.front().is_some_and(|(_, answer)| answer.is_some())
    }

    /// Removes and returns the response to the oldest request, if it has arrived.
    pub(crate) fn next(&mut self) -> Option<MemResponse> {
        let (_, answer) = self.0.pop_front_if(|(_, answer)| answer.is_some())?;
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Level, MemRequest};

    fn answer(id: u32) -> MemResponse {
        MemRequest::read(id, 0, 1).answer(Level::L1)
    }

    #[test]
    fn answers_go_on_in_the_order_of_requests() {
        let mut queue = ReorderQueue::default();
        for id in [4, 9, 2] {
            queue.sent(id);
        }
        queue.arrived(answer(9)).expect("it was sent");
        assert_eq!(queue.next(), None);
        queue.arrived(answer(4)).expect("it was sent");
        let next: Vec<u32> = std::iter::from_fn(|| queue.next().map(|a| a.id)).collect();
        assert_eq!(next, [4, 9]);
        assert!(queue.arrived(answer(9)).is_err());
    }
}
