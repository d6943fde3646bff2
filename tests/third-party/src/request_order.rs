//! Memory request order: the request whose command can be issued earliest; on a tie open rows
//! first, then the oldest.

use warpweave::components::dram::{
    AnyRequestOrder, RequestOrder, RequestOrderPolicy, View, WaitingRequest,
};
use warpweave::framework::{Cycle, Id, NoFields, PolicyContext, PolicyKind, SpecError, State};

/// Request order described at the top of the file.
pub(crate) struct OpenRowsFirst;

impl PolicyKind for OpenRowsFirst {
    type Role = RequestOrder;
    const NAME: &'static str = "OpenRowsFirst";
    const SUMMARY: &'static str = "Requests for open rows first, then the oldest";
    type Spec = NoFields;

    fn build(
        _spec: NoFields,
        context: &PolicyContext<'_, RequestOrder>,
    ) -> Result<AnyRequestOrder, SpecError> {
        Ok(AnyRequestOrder::open::<Self>(Self, context))
    }
}

/// Returns the rank of a request. Smaller ranks go first.
fn rank(request: &WaitingRequest, open_row: Option<u32>) -> (bool, u64) {
    (open_row != Some(request.row), request.age)
}

impl RequestOrderPolicy for OpenRowsFirst {
    fn next(&self, view: &View<'_>) -> Option<(Cycle, Id)> {
        let candidates = view.waiting().filter_map(|id| {
            let request = view.request(id)?;
            let rank = rank(&request, view.row(request.bank));
            Some((view.earliest(id)?, rank, id))
        });
        let best = candidates.min_by_key(|&(cycle, rank, _)| (cycle, rank));
        best.map(|(cycle, _, id)| (cycle, id))
    }

    fn state(&mut self, _state: &mut State<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_an_open_row_goes_before_an_older_one() {
        let request = |row, age| WaitingRequest {
            access: 0,
            bank: 0,
            row,
            column: 0,
            write: false,
            age,
        };
        assert!(rank(&request(5, 9), Some(5)) < rank(&request(4, 1), Some(5)));
        assert!(rank(&request(4, 1), None) < rank(&request(5, 9), None));
    }
}
