//! Assignment of instances to partitions, balanced by their work so far.

use crate::engine::division;
use crate::engine::division::{Edge, Goal, Parts};
use crate::engine::simulation::{ChannelInfo, Simulation};
use crate::world::WorldDriver;

/// Maximum length of a run after its end was decided, in cycles of the slowest clock.
const STOP_DELAY_CYCLES: u64 = 64;

/// Minimum reduction of the busiest thread's work, in percent, that justifies moving instances.
const WORTH_PERCENT: u64 = 2;

/// Partitioning of a system between threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Division {
    /// Partition number of every instance, indexed by instance.
    pub partition_of: Vec<u32>,
    /// Share of the total work that each partition does, in percent.
    pub share_percent: Vec<f64>,
    /// Ticks the partitions may run between synchronisations; `None` if no wire connects them.
    pub lookahead: Option<u64>,
    /// Numbers of the channels between partitions that limit the look-ahead.
    pub limited_by: Vec<u32>,
    /// Number of channels that connect different partitions.
    pub cut: usize,
}

impl Simulation {
    /// Divides the system into the number of partitions given by the options, balanced by the work
    /// of each instance so far. Scheduled wake-ups move along. Results do not depend on the time or
    /// frequency of calls.
    pub(crate) fn divide(&mut self) {
        let goal = self.options.goal();
        let whole = goal.partitions <= 1;
        let partition_of = if whole {
            vec![0; self.instances.len()]
        } else {
            self.best_division(goal)
        };
        let stays = if self.divided_for == Some(goal) {
            !self.is_better(&partition_of, goal)
        } else {
            whole && self.partitions.len() == 1
        };
        if stays {
            for partition in &mut self.partitions {
                partition.set_options(self.options);
            }
        } else {
            self.place(&partition_of);
            self.divided_for = Some(goal);
        }
    }

    /// True if a partitioning is enough of an improvement over the current one to justify moving
    /// instances.
    fn is_better(&self, partition_of: &[u32], goal: Goal) -> bool {
        let standing = self.partition_numbers();
        self.with_parts(|parts| {
            let cost = |division: &[u32]| goal.cost(parts, division);
            cost(partition_of) * 100 < cost(&standing) * (100 - WORTH_PERCENT)
        })
    }

    /// Returns the current partitioning of the system.
    pub fn division(&self) -> Division {
        let edges = self.edges();
        let partition_of = self.partition_numbers();
        let crosses =
            |e: &Edge| partition_of[e.ends[0] as usize] != partition_of[e.ends[1] as usize];
        let lookahead = division::lookahead(&edges, &partition_of);
        let limiting =
            |(n, e): (usize, &Edge)| (crosses(e) && e.ticks == lookahead).then_some(n as u32);
        let limited_by = edges.iter().enumerate().filter_map(limiting).collect();
        let weights = self.weights();
        let mut loads = vec![0u64; self.partitions.len()];
        for (number, partition) in partition_of.iter().enumerate() {
            loads[*partition as usize] += weights[number];
        }
        let total = weights.iter().sum::<u64>().max(1) as f64;
        Division {
            share_percent: loads.iter().map(|l| *l as f64 * 100.0 / total).collect(),
            lookahead: (lookahead != u64::MAX).then_some(lookahead),
            limited_by,
            cut: edges.iter().filter(|e| crosses(e)).count(),
            partition_of,
        }
    }

    /// Returns the number of threads, at most `available`, that justify their synchronisation,
    /// based on the work done so far. Each thread must have enough work within a window.
    pub fn worthwhile_threads(&self, available: usize) -> usize {
        let elapsed = self.now.0.max(1);
        let work: u64 = self.weights().iter().sum();
        let edges = self.edges();
        let enough = |threads: &usize| {
            let goal = self.options.divided_for(*threads).goal();
            let lookahead = division::lookahead(&edges, &self.best_division(goal));
            let window = lookahead.min(self.stop_delay()).min(elapsed);
            let per_window = u128::from(work) * u128::from(window) / u128::from(elapsed);
            per_window >= *threads as u128 * u128::from(division::WORK_PER_MEETING)
        };
        (2..=available).rev().find(enough).unwrap_or(1)
    }

    fn best_division(&self, goal: Goal) -> Vec<u32> {
        self.with_parts(|parts| division::divide(parts, goal))
    }

    /// Passes the instances and wires to be divided to `decide`.
    fn with_parts<R>(&self, decide: impl FnOnce(&Parts<'_>) -> R) -> R {
        let paths: Vec<&str> = self.instances.iter().map(|i| &*i.path).collect();
        decide(&Parts {
            paths: &paths,
            weights: &self.weights(),
            ticks: self.busy_ticks(),
            edges: &self.edges(),
            island: &self.island(),
        })
    }

    /// Returns a lower bound on the number of ticks with an awake component; 1 before the first
    /// run, as in [`Simulation::weights`].
    fn busy_ticks(&self) -> u64 {
        let ticks = self.instances.iter().enumerate().map(|(number, instance)| {
            let period = self.time.period(instance.place.target.domain as usize);
            self.evaluations_of(number).saturating_mul(period)
        });
        ticks.max().unwrap_or(0).max(1)
    }

    /// Returns the work of every instance: measured so far, or as declared by its kind before the
    /// first run.
    fn weights(&self) -> Vec<u64> {
        let started = self.evaluations() > 0;
        (0..self.instances.len())
            .map(|number| {
                let cost = self.component(number).evaluation_cost();
                let evaluations = if started {
                    self.evaluations_of(number)
                } else {
                    1
                };
                cost.saturating_mul(evaluations).max(1)
            })
            .collect()
    }

    /// Returns one graph edge per channel.
    pub(super) fn edges(&self) -> Vec<Edge> {
        let period = |number: u32| {
            let place = self.instances[number as usize].place;
            self.time.period(place.target.domain as usize)
        };
        let edge = |channel: &ChannelInfo| {
            let (from, to) = (channel.from.0, channel.to.0);
            let latency = u64::from(channel.link.latency) * period(from);
            let credit = u64::from(channel.link.credit_latency) * period(to);
            let ticks = if channel.tapped {
                // Taps may break the promise of the wire, so both ends stay together.
                0
            } else if channel.published {
                latency
            } else {
                latency.min(credit)
            };
            Edge {
                ends: [from, to],
                ticks,
            }
        };
        self.channels.iter().map(edge).collect()
    }

    /// Returns the instances that share more than channels with the event world.
    fn island(&self) -> Vec<u32> {
        let world = self.world.as_ref();
        let mut island = world.map_or(Vec::new(), WorldDriver::instances_of_ports);
        island.sort_unstable();
        island
    }

    pub(crate) fn stop_delay_of_wires(&self) -> u64 {
        let slowest = (0..self.partitions[0].slots.len())
            .map(|d| self.time.period(d))
            .max();
        let cap = slowest.unwrap_or(1).saturating_mul(STOP_DELAY_CYCLES);
        division::longest_lookahead(self.instances.len(), &self.edges(), &self.island())
            .unwrap_or(1)
            .min(cap)
    }

    pub(super) fn partition_numbers(&self) -> Vec<u32> {
        self.instances.iter().map(|i| i.place.partition).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Bundle, Component, Context, Cycle, EngineOptions, Frequency, Instrumented, Next, Ports,
        RunLimits, Stateful, SystemBuilder,
    };

    /// Component that is busy for the given number of cycles.
    struct Toil(Cycle);

    impl Bundle for Toil {
        fn ports(&mut self, _: &mut Ports<'_>) {}
    }

    impl Component for Toil {
        fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
            if ctx.cycle() < self.0 {
                Next::Busy
            } else {
                Next::Idle
            }
        }
    }

    impl Stateful for Toil {}

    impl Instrumented for Toil {}

    /// Runs a system that was divided in two before anything was known about its work.
    fn run(work: [Cycle; 6]) -> Simulation {
        let mut builder = SystemBuilder::new();
        let clock = builder.clock("core", Frequency::new(1_000_000_000, 1).unwrap());
        for (i, cycles) in work.into_iter().enumerate() {
            builder.add(format!("toil[{i}]"), clock, Toil(cycles));
        }
        let mut simulation = builder.elaborate().unwrap();
        simulation.set_options(EngineOptions {
            partitions: 2,
            ..EngineOptions::default()
        });
        simulation.run(&RunLimits::default());
        simulation
    }

    /// Returns the busiest thread's work with the present partitioning, in percent of that with a
    /// new one. Also returns true if instances move.
    fn divides_again(mut simulation: Simulation) -> (u64, bool) {
        let goal = simulation.options.goal();
        let before = simulation.division().partition_of;
        let better = simulation.best_division(goal);
        let cost = |division: &[u32]| simulation.with_parts(|parts| goal.cost(parts, division));
        let percent = cost(&better) * 100 / cost(&before);
        simulation.divide();
        (percent, simulation.division().partition_of != before)
    }

    #[test]
    fn a_division_that_gains_next_to_nothing_moves_nobody() {
        let nearly_even = run([1030, 1000, 1030, 1000, 1030, 1000]);
        assert_eq!(divides_again(nearly_even), (99, false));
    }

    #[test]
    fn a_division_that_gains_moves_instances() {
        let uneven = run([5000, 1000, 1000, 1000, 1000, 1000]);
        assert_eq!(divides_again(uneven), (71, true));
    }
}
