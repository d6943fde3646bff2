//! Comparison of the unit with a model that keeps its kernels in plain lists.

use proptest::prelude::*;

use super::{Cycle, bench};
use crate::work_group_scheduler::tests::engines;

/// Queue rules over plain lists: determines which kernel runs when every launch has arrived.
struct Naive {
    queues: Vec<Vec<(u32, u32)>>,
    depth: usize,
    pool: Vec<(u32, u32)>,
}

impl Naive {
    fn settle(&mut self) {
        let mut at = 0;
        while at < self.pool.len() {
            let (kernel, stream) = self.pool[at];
            let own = self
                .queues
                .iter()
                .position(|q| q.first().is_some_and(|k| k.1 == stream));
            let place = match own {
                Some(own) if self.queues[own].len() < self.depth => Some(own),
                Some(_) => None,
                None => self.queues.iter().position(Vec::is_empty),
            };
            match place {
                Some(place) => {
                    self.queues[place].push((kernel, stream));
                    self.pool.remove(at);
                }
                None => at += 1,
            }
        }
    }

    fn running(&self) -> Vec<u32> {
        let mut running: Vec<u32> = self
            .queues
            .iter()
            .filter_map(|q| q.first())
            .map(|k| k.0)
            .collect();
        running.sort_unstable();
        running
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_running_kernels_are_those_of_a_naive_model_however_the_engine_works(
        streams in prop::collection::vec(0_u32..6, 1..24),
        hardware_queues in 1_u32..5,
        depth in 1_u32..4,
        choices in prop::collection::vec(any::<prop::sample::Index>(), 24),
    ) {
        let mut results = Vec::new();
        for options in engines() {
            let mut b = bench(hardware_queues, depth, 24);
            b.bench.set_options(options);
            let mut naive = Naive {
                queues: vec![Vec::new(); hardware_queues as usize],
                depth: depth as usize,
                pool: Vec::new(),
            };
            for (kernel, &stream) in streams.iter().enumerate() {
                b.launch_at(1 + kernel as Cycle, kernel as u32, stream);
                naive.pool.push((kernel as u32, stream));
                naive.settle();
            }
            b.bench.step(60);
            let mut trace = b.ready.take_all();
            let mut running: Vec<u32> = trace.iter().map(|t| t.1.kernel).collect();
            running.sort_unstable();
            for (turn, choice) in choices[..streams.len()].iter().enumerate() {
                prop_assert_eq!(&running, &naive.running());
                let kernel = running.remove(choice.index(running.len()));
                for queue in &mut naive.queues {
                    queue.retain(|k| k.0 != kernel);
                }
                naive.settle();
                b.done_at(62 + 20 * turn as Cycle, kernel);
                b.bench.step(20);
                let more = b.ready.take_all();
                running.extend(more.iter().map(|t| t.1.kernel));
                running.sort_unstable();
                trace.extend(more);
            }
            prop_assert!(running.is_empty());
            results.push((trace, b.host_done.take_all(), b.bench.statistics("gmu")));
        }
        prop_assert_eq!(&results[0], &results[1]);
        prop_assert_eq!(&results[0], &results[2]);
    }
}
