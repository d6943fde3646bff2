//! Answers in the order of requests.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::memory::MemResponse;

/// Requests whose answers have not gone on, oldest first, with the answers that came early.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct InOrder(VecDeque<(u32, Option<MemResponse>)>);

impl InOrder {
    /// A request of this number leaves.
    pub(crate) fn sent(&mut self, id: u32) {
        self.0.push_back((id, None));
    }

    /// Takes an answer.
    ///
    /// # Errors
    /// No request waits for it.
    pub(crate) fn arrived(&mut self, response: MemResponse) -> Result<(), String> {
        let id = response.id;
        let mut waiting = self.0.iter_mut();
        let place = waiting.find(|(request, answer)| *request == id && answer.is_none());
        let Some((_, answer)) = place else {
            return Err(format!(
                "a response has id {id}, which no request in flight has"
            ));
        };
        *answer = Some(response);
        Ok(())
    }

    /// The answer to the oldest request, if it is there; the next one is the oldest then.
    pub(crate) fn next(&mut self) -> Option<MemResponse> {
        let (_, answer) = self.0.pop_front_if(|(_, answer)| answer.is_some())?;
        answer
    }

    /// Numbers of the requests.
    pub(crate) fn requests(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|(id, _)| *id)
    }
}
