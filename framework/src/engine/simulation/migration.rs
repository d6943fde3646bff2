//! Migration of instances between partitions, with all their scheduled wake-ups.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::channel::{End, Ports, Positions, Reach};
use crate::engine::division;
use crate::engine::parallel::CutChannel;
use crate::engine::partition::{Partition, Place, Slot};
use crate::engine::simulation::Simulation;
use crate::evaluation::Target;
use crate::sync::AtomicBool;
use crate::time::{Cycle, Tick};

/// Scheduled wake-ups of the whole system, by instance.
pub(crate) struct Scheduled {
    /// Last evaluated cycle of each clock domain, and true if there was one.
    pub(crate) standing: Vec<(Cycle, bool)>,
    pub(crate) wakes: Vec<(u32, Cycle)>,
    pub(crate) background: Vec<(Tick, u32)>,
}

impl Simulation {
    /// Passes the locations of components to the partition that drives the event world and wakes
    /// them.
    pub(crate) fn set_world_targets(&mut self) {
        if self.world.is_some() {
            let targets = self.instances.iter().map(|i| i.place.target).collect();
            self.partitions[0].world.set_targets(targets);
        }
    }

    /// Moves every instance to its partition.
    pub(crate) fn place(&mut self, partition_of: &[u32]) {
        self.divided_for = None;
        let count = partition_of
            .iter()
            .max()
            .map_or(1, |last| *last as usize + 1);
        let sink = self.take_sink();
        let scheduled = self.scheduled();
        let (evaluations, messages) = (self.evaluations(), self.messages());
        let slots = self.take_slots(partition_of, count);
        self.partitions = slots
            .into_iter()
            .map(|slots| Partition::new(&self.time, slots, self.options, count == 1))
            .collect();
        self.partitions[0].evaluations = evaluations;
        self.partitions[0].shared.messages = messages;
        for partition in &mut self.partitions {
            partition.now = self.now;
            partition.shared.last_progress = self.coordinator.last_progress;
        }
        self.reschedule(&scheduled);
        self.connect();
        self.set_world_targets();
        self.place_sink(sink);
    }

    pub(crate) fn scheduled(&self) -> Scheduled {
        let domains = self.partitions[0].slots.len();
        let mut scheduled = Scheduled {
            standing: vec![(0, false); domains],
            wakes: Vec::new(),
            background: Vec::new(),
        };
        for partition in &self.partitions {
            let number = |target: Target| partition.slot(target).number;
            for (d, schedule) in partition.domains.iter().enumerate() {
                let (cycle, started) = &mut scheduled.standing[d];
                let (pending, last, any) = schedule.save();
                *started |= any;
                *cycle = (*cycle).max(last);
                let domain = d as u32;
                let pending = pending.into_iter();
                let wakes = pending.map(|(at, index)| (number(Target { domain, index }), at));
                scheduled.wakes.extend(wakes);
            }
            let background = partition.shared.background.iter();
            scheduled
                .background
                .extend(background.map(|(tick, target)| (*tick, number(*target))));
        }
        scheduled
    }

    /// Moves every component to its new location.
    fn take_slots(&mut self, partition_of: &[u32], count: usize) -> Vec<Vec<Vec<Slot>>> {
        let domains = self.partitions[0].slots.len();
        let mut by_number: Vec<Option<Slot>> = Vec::new();
        by_number.resize_with(self.instances.len(), || None);
        for partition in &mut self.partitions {
            for slot in partition.slots.iter_mut().flat_map(std::mem::take) {
                let number = slot.number as usize;
                by_number[number] = Some(slot);
            }
        }
        let mut slots: Vec<Vec<Vec<Slot>>> = Vec::new();
        slots.resize_with(count, || {
            let mut empty = Vec::new();
            empty.resize_with(domains, Vec::new);
            empty
        });
        for (number, slot) in by_number.into_iter().enumerate() {
            let place = &mut self.instances[number].place;
            place.partition = partition_of[number];
            let list = &mut slots[place.partition as usize][place.target.domain as usize];
            place.target.index = list.len() as u32;
            list.push(slot.expect("every instance is in one partition"));
        }
        slots
    }

    fn reschedule(&mut self, scheduled: &Scheduled) {
        for partition in &mut self.partitions {
            for (schedule, (cycle, started)) in
                partition.domains.iter_mut().zip(&scheduled.standing)
            {
                schedule.load(*cycle, *started);
            }
        }
        for (number, cycle) in &scheduled.wakes {
            let Place { partition, target } = self.instances[*number as usize].place;
            let partition = &mut self.partitions[partition as usize];
            partition.domains[target.domain as usize].wake(target.index, *cycle);
        }
        for (tick, number) in &scheduled.background {
            let Place { partition, target } = self.instances[*number as usize].place;
            self.partitions[partition as usize]
                .shared
                .background
                .insert((*tick, target));
        }
    }

    /// Sets, at both ends of every channel, the location of the other end.
    fn connect(&mut self) {
        let place = |number: u32| self.instances[number as usize].place;
        let mut cuts = Vec::new();
        let mut reaches = Vec::with_capacity(self.channels.len());
        let mut ends: BTreeMap<(u32, &str), Vec<usize>> = BTreeMap::new();
        for (number, channel) in self.channels.iter().enumerate() {
            let (from, to) = (place(channel.from.0), place(channel.to.0));
            if from.partition == to.partition {
                reaches.push((
                    Reach::within(from.target, to.target),
                    Reach::within(to.target, from.target),
                ));
            } else {
                let positions = Arc::new(Positions::default());
                let cut = cuts.len() as u32;
                let reach = Reach::Cut(cut, Arc::clone(&positions));
                reaches.push((reach.clone(), reach));
                cuts.push(CutChannel {
                    from,
                    to,
                    positions,
                    boundary: None,
                    waiting: AtomicBool::new(false),
                });
            }
            ends.entry((channel.from.0, &*channel.from.1))
                .or_default()
                .push(number);
            ends.entry((channel.to.0, &*channel.to.1))
                .or_default()
                .push(number);
        }
        for number in 0..self.instances.len() as u32 {
            let Place { partition, target } = self.instances[number as usize].place;
            let partition = &mut self.partitions[partition as usize];
            let mut waiting = Vec::new();
            let slot = &mut partition.slots[target.domain as usize][target.index as usize];
            slot.component.ports(&mut Ports::new(&mut |port| {
                let channels = ends.get(&(number, port.name)).into_iter().flatten();
                for channel in channels {
                    let (forward, back) = &reaches[*channel];
                    let output = match port.port.end() {
                        End::Output(output) => output,
                        End::Input(input) => {
                            input.place_sender(back.clone());
                            continue;
                        }
                    };
                    let seen = output.place_receiver(*channel as u32, forward.clone());
                    if let (Some((boundary, waits)), Reach::Cut(cut, _)) = (seen, forward) {
                        cuts[*cut as usize].boundary = Some(boundary);
                        waiting.extend(waits.then_some(*cut));
                    }
                }
            }));
            partition.shared.across.waiting.append(&mut waiting);
        }
        self.coordinator.lookahead = division::lookahead(&self.edges(), &self.partition_numbers());
        self.coordinator.cuts = cuts.into();
    }
}
