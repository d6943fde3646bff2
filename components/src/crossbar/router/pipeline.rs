//! Stages of one router step: route computation, virtual-channel allocation, switch allocation and
//! traversal.

use super::batch::Batch;
use super::{NOBODY, Phase, Router};
use crate::crossbar::output_ports::LeavingFlit;

impl<P: Copy> Router<P> {
    /// Every stage sees the results of the previous step: first all stages decide, then all act.
    pub(super) fn router_step(&mut self, step: u64) {
        let (shape, speedup) = (self.shape, u64::from(self.spec.internal_speedup));
        let routed = self.routing.step(step, self.spec.routing_cycles, speedup);
        if self.vc_allocation.can_begin() {
            let done = Batch::end(step, self.spec.vc_allocation_cycles, speedup);
            self.vc_allocation.begin(shape, &self.ports, done);
        }
        if self.switching.can_begin() && self.switching.begin(shape, &self.places, &self.ports) {
            let done = Batch::end(step, self.spec.switch_allocation_cycles, speedup);
            self.switching.end_at(done);
        }
        if self.spec.speculative && self.vc_allocation.waiting.outputs != 0 {
            self.switching.speculate(
                shape,
                &self.places,
                &self.ports,
                &self.vc_allocation,
                &self.channels,
            );
        }
        for lane in routed {
            self.await_channel(lane as usize);
        }
        if self.vc_allocation.ends(step) {
            self.take_channels();
        }
        if self.switching.ends(step) {
            self.pass_flits(step);
        }
        if self.spec.speculative {
            self.pass_speculated(step);
        }
    }

    /// Assigns the granted channels, if they are still free.
    fn take_channels(&mut self) {
        let mut grants = std::mem::take(&mut self.vc_allocation.grants);
        for grant in grants.drain(..) {
            if !self.vc_allocation.take(grant) {
                continue;
            }
            let output = grant.output as usize;
            let lane = self.shape.lane(grant.waiter as usize, output);
            let channel = output * self.shape.channels + grant.channel as usize;
            self.lanes[lane].phase = Phase::Active;
            self.lanes[lane].channel = channel as u32;
            self.switching.active_flits += 1;
            self.channels[channel].owner = lane as u32;
            if self.channels[channel].credits > 0 {
                self.ask(lane);
            }
        }
        self.vc_allocation.grants = grants;
    }

    /// Applies speculative matches whose lane got a channel with a credit in the same step.
    fn pass_speculated(&mut self, step: u64) {
        for (lane, output) in self.switching.take_speculated() {
            let lane = lane as usize;
            self.switching.turn(self.shape, &self.places, lane);
            let channel = self.lanes[lane].channel as usize;
            if self.lanes[lane].phase == Phase::Active && self.channels[channel].credits > 0 {
                self.pass_flit(step, lane, output as usize);
            }
        }
    }

    fn pass_flits(&mut self, step: u64) {
        let mut matched = std::mem::take(&mut self.switching.matched);
        for (lane, output) in matched.drain(..) {
            self.pass_flit(step, lane as usize, output as usize);
        }
        self.switching.matched = matched;
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
            self.switching.asking.clear(cell, place, output);
        }
        if stops {
            self.switching.active_flits -= 1;
        }
        if flit.is_tail {
            state.owner = NOBODY;
            self.vc_allocation.free[output] |= 1 << (channel as usize % self.shape.channels);
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
        let at = self.links.cross(step, output, &self.spec);
        self.ports.outputs.push(output, at, leaving);
    }
}
