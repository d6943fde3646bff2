//! Policy that watches which hits of a shared level are private and which are shared.
//!
//! A hit is private if no other compute unit has touched the line since it was inserted, else
//! shared. A copy-back starts this anew with its compute unit. The policy decides nothing.

use serde::{Deserialize, Serialize};
use warpweave_framework::{
    NeutralSpec, NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics,
};

use super::{CachePolicies, CachePolicy, EventContext, Fill, Swap, TagLookup};
use crate::cache::tag_array::Slot;
use crate::memory::RequestKind;

/// Compute units that touched a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Touched {
    #[default]
    Nobody,
    One(u16),
    Several,
}

impl Touched {
    /// Returns the compute units after a touch of another one, or of the same.
    fn by(self, core: u16) -> Self {
        match self {
            Self::Nobody => Self::One(core),
            Self::One(first) if first == core => self,
            _ => Self::Several,
        }
    }
}

/// Policy that counts private and shared hits.
#[derive(State, Statistics)]
pub struct HitsBySharing {
    #[state(array)]
    touched: Vec<Touched>,
    /// Lines in flight without a place, oldest first, and who asked for them.
    in_flight: Vec<(u64, Touched)>,
    /// hits on lines that no other compute unit touched
    #[statistic(unit = "requests")]
    private_hits: u64,
    /// hits on lines that another compute unit touched
    #[statistic(unit = "requests")]
    shared_hits: u64,
}

impl PolicyKind for HitsBySharing {
    type Role = CachePolicies;
    const NAME: &'static str = "HitsBySharing";
    const SUMMARY: &'static str = "Counts private and shared hits, decides nothing";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "HitsBySharing",
        like: "",
    });
    type Spec = NoFields;

    fn build(
        _spec: NoFields,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        Ok(Box::new(Self {
            touched: vec![Touched::Nobody; context.site.lines as usize],
            in_flight: Vec::new(),
            private_hits: 0,
            shared_hits: 0,
        }))
    }
}

impl HitsBySharing {
    fn begin(&mut self, slot: Option<Slot>, touched: Touched) {
        if let Some(slot) = slot {
            self.touched[slot.index()] = touched;
        }
    }
}

impl CachePolicy for HitsBySharing {
    fn on_access(&mut self, access: &TagLookup<'_>, hit: bool, _context: &mut EventContext<'_>) {
        let core = access.request.source.compute_unit;
        if access.request.kind == RequestKind::CopyBack {
            return;
        }
        if let Some(slot) = access.slot {
            let touched = &mut self.touched[slot.index()];
            *touched = touched.by(core);
            let shared = *touched == Touched::Several;
            self.shared_hits += u64::from(hit && shared);
            self.private_hits += u64::from(hit && !shared);
        } else {
            let mut newest = self.in_flight.iter_mut().rev();
            if let Some((_, touched)) = newest.find(|(line, _)| *line == access.line) {
                *touched = touched.by(core);
            }
        }
    }

    fn on_miss(
        &mut self,
        miss: &TagLookup<'_>,
        _decision: super::MissDecision,
        _context: &mut EventContext<'_>,
    ) {
        if miss.slot.is_none() {
            let core = miss.request.source.compute_unit;
            self.in_flight.push((miss.line, Touched::One(core)));
        }
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        if !fill.first {
            return;
        }
        let oldest = self
            .in_flight
            .iter()
            .position(|(line, _)| *line == fill.line);
        let touched = oldest.map(|oldest| self.in_flight.remove(oldest).1);
        self.begin(fill.slot, touched.unwrap_or_default());
    }

    fn on_new_line(&mut self, store: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        let core = store.request.source.compute_unit;
        self.begin(store.slot, Touched::One(core));
    }

    fn on_ignored(&mut self, copy_back: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        let core = copy_back.request.source.compute_unit;
        self.begin(copy_back.slot, Touched::One(core));
    }

    fn on_swap(&mut self, swap: &Swap, _context: &mut EventContext<'_>) {
        let core = swap.owner.compute_unit;
        self.begin(Some(swap.slot), Touched::One(core));
    }
}
