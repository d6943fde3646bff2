//! Stages of one router step: route computation, virtual-channel allocation, switch allocation and
//! traversal.

use super::batch::Batch;
use super::switch_requests::{LaneMatcher, RequestMatrix};
use super::vc_allocator::elements;
use super::{NOBODY, Phase, Router};
use crate::crossbar::output_ports::LeavingFlit;
use crate::crossbar::requests::ports;

impl<P: Copy> Router<P> {
    /// Every stage sees the results of the previous step: first all stages decide, then all act.
    pub(super) fn router_step(&mut self, step: u64) {
        let routed = self.route(step);
        if self.waiting.outputs != 0 && self.allocated_at.is_none() {
            self.allocate_channels(step);
        }
        if self.matched_at.is_none() {
            self.allocate_switch(step);
        }
        if self.spec.speculative && self.waiting.outputs != 0 {
            self.speculate();
        }
        for lane in routed {
            self.await_channel(lane as usize);
        }
        if self.allocated_at.is_some_and(|at| at <= step) {
            self.allocated_at = None;
            self.take_channels();
        }
        if self.matched_at.is_some_and(|at| at <= step) {
            self.matched_at = None;
            self.pass_flits(step);
        }
        if self.spec.speculative {
            self.pass_speculated(step);
        }
    }

    /// Returns the lanes whose routes are known now.
    fn route(&mut self, step: u64) -> Vec<u32> {
        if self.routing_batch.is_empty() {
            if self.routing.is_empty() {
                return Vec::new();
            }
            self.routing_batch.extend(self.routing.drain(..));
            self.routed_at = self.done(step, self.spec.routing_cycles);
        }
        if self.routed_at <= step {
            std::mem::take(&mut self.routing_batch)
        } else {
            Vec::new()
        }
    }

    /// Returns the step in which a stage of `cycles` that begins in `step` is done.
    #[inline]
    fn done(&self, step: u64, cycles: u32) -> u64 {
        Batch::end(step, cycles, u64::from(self.spec.internal_speedup))
    }

    fn allocate_channels(&mut self, step: u64) {
        let (shape, network) = (self.shape, &self.ports);
        for output in ports(self.waiting.outputs) {
            let free = self.free[output];
            if free != 0 {
                let age = |waiter| network.age(shape.lane(waiter, output));
                let allocator = &mut self.vc_allocator;
                allocator.allocate((output, free), &self.waiting, age, &mut self.grants);
            }
        }
        self.allocated_at = Some(self.done(step, self.spec.vc_allocation_cycles));
    }

    /// Assigns the granted channels, if they are still free.
    fn take_channels(&mut self) {
        let mut grants = std::mem::take(&mut self.grants);
        for grant in grants.drain(..) {
            let output = grant.output as usize;
            if self.free[output] & 1 << grant.channel == 0 {
                continue;
            }
            let lane = self.shape.lane(grant.waiter as usize, output);
            let channel = output * self.shape.channels + grant.channel as usize;
            self.free[output] &= !(1 << grant.channel);
            self.waiting.remove(grant.waiter as usize, output);
            self.lanes[lane].phase = Phase::Active;
            self.lanes[lane].channel = channel as u32;
            self.active_flits += 1;
            self.channels[channel].owner = lane as u32;
            if self.channels[channel].credits > 0 {
                self.ask(lane);
            }
        }
        self.grants = grants;
    }

    /// Matches switch ports with outputs for this step.
    fn allocate_switch(&mut self, step: u64) {
        let wanted = self.asking.any();
        if wanted {
            let chooser = LaneMatcher {
                shape: self.shape,
                arbiter: self.allocator.arbiter().like(),
                first_lane: &self.first_lane,
                network: &self.ports,
            };
            let matches = chooser.allocate(&self.asking, &mut self.allocator, &mut self.matched);
            for index in matches {
                self.turn(self.matched[index].0 as usize);
            }
        }
        if wanted || self.active_flits > 0 {
            self.matched_at = Some(self.done(step, self.spec.switch_allocation_cycles));
        }
    }

    /// Gives a matched lane the lowest priority in its switch port from now on.
    #[inline]
    fn turn(&mut self, lane: usize) {
        let lanes = self.shape.lanes_per_input;
        let next = (lane + self.shape.rows_per_input) % lanes;
        self.first_lane[self.places[lane].row] = next as u32;
    }

    /// Matches ports left by regular requests with heads that still request a channel.
    fn speculate(&mut self) {
        let Some((asking, allocator)) = &mut self.speculation else {
            return;
        };
        *asking = RequestMatrix::new(self.first_lane.len(), self.shape.outputs);
        for output in ports(self.waiting.outputs) {
            let first = output * self.shape.channels;
            let has_credit = |c: usize| self.channels[first + c].credits > 0;
            if !elements(&[self.free[output]]).any(has_credit) {
                continue;
            }
            for waiter in elements(self.waiting.of(output)) {
                let place = self.places[self.shape.lane(waiter, output)];
                asking.set(self.shape.cell(place.row, output), place, output);
            }
        }
        let chooser = LaneMatcher {
            shape: self.shape,
            arbiter: self.allocator.arbiter().like(),
            first_lane: &self.first_lane,
            network: &self.ports,
        };
        let mut matched = Vec::new();
        chooser.allocate(asking, allocator, &mut matched);
        let taken = |(lane, output): &(u32, u32)| {
            let row = |lane: u32| self.places[lane as usize].row;
            let mut regular = self.matched.iter();
            regular.any(|m| m.1 == *output || row(m.0) == row(*lane))
        };
        matched.retain(|m| !taken(m));
        self.speculated = matched;
    }

    /// Applies speculative matches whose lane got a channel with a credit in the same step.
    fn pass_speculated(&mut self, step: u64) {
        for (lane, output) in std::mem::take(&mut self.speculated) {
            let lane = lane as usize;
            self.turn(lane);
            let channel = self.lanes[lane].channel as usize;
            if self.lanes[lane].phase == Phase::Active && self.channels[channel].credits > 0 {
                self.pass_flit(step, lane, output as usize);
            }
        }
    }

    fn pass_flits(&mut self, step: u64) {
        let mut matched = std::mem::take(&mut self.matched);
        for (lane, output) in matched.drain(..) {
            self.pass_flit(step, lane as usize, output as usize);
        }
        self.matched = matched;
    }

    /// Moves the first flit of a lane through the switch.
    fn pass_flit(&mut self, step: u64, number: usize, output: usize) {
        let (flit, _) = self.ports.inputs.take_flit(number);
        let flits = self.ports.inputs.buffer(number).flits();
        let channel = self.lanes[number].channel;
        let state = &mut self.channels[channel as usize];
        state.credits -= 1;
        let stops = flit.is_tail || flits == 0;
        if stops || state.credits == 0 {
            let place = self.places[number];
            let cell = self.shape.cell(place.row, output);
            self.asking.clear(cell, place, output);
        }
        if stops {
            self.active_flits -= 1;
        }
        if flit.is_tail {
            state.owner = NOBODY;
            self.free[output] |= 1 << (channel as usize % self.shape.channels);
            self.lanes[number].phase = Phase::Idle;
            if flits > 0 {
                self.begin_packet(number);
            }
        }
        let now = step / u64::from(self.spec.internal_speedup);
        let credit = now + u64::from(self.spec.credit_wire_cycles);
        let input = self.places[number].input;
        self.returning.push(input, step, credit, number as u32);
        let leaving = LeavingFlit {
            packet: flit.packet,
            is_tail: flit.is_tail,
            channel,
        };
        self.depart(step, output, leaving);
    }

    /// Moves a flit that was granted the switch through it and onto the wire.
    #[inline]
    fn depart(&mut self, step: u64, output: usize, flit: LeavingFlit) {
        let speedup = u64::from(self.spec.internal_speedup);
        let crossed = self
            .traversal
            .pass(step, self.spec.traversal_cycles, speedup);
        let departs = (crossed / speedup).max(self.next_departure[output]);
        self.next_departure[output] = departs + 1;
        let at = departs + u64::from(self.spec.output_wire_cycles);
        self.ports.outputs.push(output, at, flit);
    }
}
