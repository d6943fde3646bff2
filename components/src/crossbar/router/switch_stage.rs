//! Switch allocation as a stage: requests of lanes, and the lanes that were granted the switch.

use warpweave_framework::State;

use super::Channel;
use super::channel_stage::ChannelStage;
use super::shape::{Place, Shape};
use super::switch_requests::{LaneMatcher, RequestMatrix};
use super::vc_allocator::elements;
use crate::crossbar::allocator::Allocator;
use crate::crossbar::arbiter::AnyArbiter;
use crate::crossbar::network_ports::NetworkPorts;
use crate::crossbar::requests::ports;

/// Matches of heads that request the switch while they request a channel.
#[derive(State)]
struct Speculation {
    #[state(flatten)]
    allocator: Allocator,
    /// Matches of the step; empty between steps.
    #[state(skip)]
    matched: Vec<(u32, u32)>,
}

/// Requests for the switch, and the matches of lanes and outputs.
#[derive(State)]
pub(super) struct SwitchStage {
    pub(super) asking: RequestMatrix,
    /// Number of flits in active lanes. A stage of several cycles counts them even while their
    /// output has no credits.
    pub(super) active_flits: u32,
    #[state(part)]
    allocator: Allocator,
    /// Pairs of lane and output.
    pub(super) matched: Vec<(u32, u32)>,
    /// Step in which the current allocation is done.
    done_at: Option<u64>,
    /// Lane with the highest priority, for each switch port.
    #[state(array)]
    first_lane: Vec<u32>,
    #[state(part)]
    speculation: Option<Speculation>,
}

impl SwitchStage {
    pub(super) fn new(shape: Shape, arbiter: AnyArbiter, speculative: Option<AnyArbiter>) -> Self {
        let Shape { rows, outputs, .. } = shape;
        let first_lane = |row| (row % shape.rows_per_input) as u32;
        let speculation = |arbiter| Speculation {
            allocator: Allocator::new(arbiter, rows, outputs),
            matched: Vec::new(),
        };
        Self {
            asking: RequestMatrix::new(rows, outputs),
            active_flits: 0,
            allocator: Allocator::new(arbiter, rows, outputs),
            matched: Vec::new(),
            done_at: None,
            first_lane: (0..rows).map(first_lane).collect(),
            speculation: speculative.map(speculation),
        }
    }

    /// Iterates over the arbiters and their prefixes in statistics.
    pub(super) fn arbiters(&self) -> impl Iterator<Item = (Option<&'static str>, &AnyArbiter)> {
        let speculation = self.speculation.as_ref();
        let speculative = speculation.map(|s| (Some("speculation"), s.allocator.arbiter()));
        std::iter::once((None, self.allocator.arbiter())).chain(speculative)
    }

    /// True if no allocation is under way.
    #[inline]
    pub(super) fn can_begin(&self) -> bool {
        self.done_at.is_none()
    }

    /// Matches switch ports with outputs. Returns true if the stage has work, which is done in a
    /// step to be set by [`SwitchStage::end_at`].
    #[inline]
    pub(super) fn begin<P: Copy>(
        &mut self,
        shape: Shape,
        places: &[Place],
        network: &NetworkPorts<P>,
    ) -> bool {
        let wanted = self.asking.any();
        if wanted {
            let chooser = LaneMatcher {
                shape,
                arbiter: self.allocator.arbiter().like(),
                first_lane: &self.first_lane,
                network,
            };
            let matches = chooser.allocate(&self.asking, &mut self.allocator, &mut self.matched);
            for index in matches {
                self.turn(shape, places, self.matched[index].0 as usize);
            }
        }
        wanted || self.active_flits > 0
    }

    /// Sets the step in which the allocation under way is done.
    #[inline]
    pub(super) fn end_at(&mut self, done: u64) {
        self.done_at = Some(done);
    }

    /// True if the allocation under way is done in this step, which ends it.
    #[inline]
    pub(super) fn ends(&mut self, step: u64) -> bool {
        let ends = self.done_at.is_some_and(|at| at <= step);
        if ends {
            self.done_at = None;
        }
        ends
    }

    /// Gives a matched lane the lowest priority in its switch port from now on.
    #[inline]
    pub(super) fn turn(&mut self, shape: Shape, places: &[Place], lane: usize) {
        let next = (lane + shape.rows_per_input) % shape.lanes_per_input;
        self.first_lane[places[lane].row] = next as u32;
    }

    /// Matches ports left by regular requests with heads that still request a channel.
    pub(super) fn speculate<P: Copy>(
        &mut self,
        shape: Shape,
        places: &[Place],
        network: &NetworkPorts<P>,
        stage: &ChannelStage,
        channels: &[Channel],
    ) {
        let Some(speculation) = &mut self.speculation else {
            return;
        };
        let mut asking = RequestMatrix::new(self.first_lane.len(), shape.outputs);
        for output in ports(stage.waiting.outputs) {
            let first = output * shape.channels;
            let has_credit = |c: usize| channels[first + c].credits > 0;
            if !elements(&[stage.free[output]]).any(has_credit) {
                continue;
            }
            for waiter in elements(stage.waiting.of(output)) {
                let place = places[shape.lane(waiter, output)];
                asking.set(shape.cell(place.row, output), place, output);
            }
        }
        let chooser = LaneMatcher {
            shape,
            arbiter: self.allocator.arbiter().like(),
            first_lane: &self.first_lane,
            network,
        };
        let mut matched = Vec::new();
        chooser.allocate(&asking, &mut speculation.allocator, &mut matched);
        let taken = |(lane, output): &(u32, u32)| {
            let row = |lane: u32| places[lane as usize].row;
            let mut regular = self.matched.iter();
            regular.any(|m| m.1 == *output || row(m.0) == row(*lane))
        };
        matched.retain(|m| !taken(m));
        speculation.matched = matched;
    }

    /// Takes the speculative matches of the step.
    pub(super) fn take_speculated(&mut self) -> Vec<(u32, u32)> {
        let speculation = self.speculation.as_mut();
        speculation.map_or_else(Vec::new, |s| std::mem::take(&mut s.matched))
    }

    /// Returns the step in which the allocation under way is done.
    #[inline]
    pub(super) fn done_at(&self) -> Option<u64> {
        self.done_at
    }

    /// True if the next step has work. An allocation of several cycles works on flits that it
    /// cannot grant, too.
    #[inline]
    pub(super) fn has_work(&self, cycles: u32) -> bool {
        self.done_at.is_none() && (self.asking.any() || self.active_flits > 0 && cycles > 1)
    }
}
