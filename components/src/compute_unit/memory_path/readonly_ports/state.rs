//! What a checkpoint keeps of the paths, and whether what was loaded fits.

use warpweave_framework::State;

use super::ReadPaths;
use super::queue::ReadQueue;
use crate::compute_unit::memory_path::load_store::Access;

impl ReadPaths {
    pub(crate) fn state(&mut self, state: &mut State<'_>) {
        for path in &mut self.0 {
            if let Some(queue) = &mut path.queue {
                state.part(path.names.path, |state| queue.state(state));
            }
        }
    }

    /// Loads in flight.
    pub(crate) fn accesses(&self) -> impl Iterator<Item = &Access> {
        self.queues().flat_map(|queue| queue.unit.accesses())
    }

    /// Whether queues, loads and requests fit each other.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.0.iter().try_for_each(|path| {
            let checked = path.queue.as_deref().map_or(Ok(()), ReadQueue::check);
            checked.map_err(|problem| format!("{}: {problem}", path.names.path))
        })
    }
}

impl ReadQueue {
    fn check(&self) -> Result<(), String> {
        self.unit.check()?;
        let Some(in_order) = &self.in_order else {
            return Ok(());
        };
        let mut ordered: Vec<u32> = in_order.requests().collect();
        let count = ordered.len();
        ordered.sort_unstable();
        ordered.dedup();
        let are_known = ordered.iter().all(|id| self.unit.is_under_way(*id));
        if ordered.len() != count || count != self.unit.outstanding() as usize || !are_known {
            return Err("the requests that keep their order are others".to_owned());
        }
        Ok(())
    }
}
