//! Contract of every component with the kernel, tested with a single line.

use thiserror::Error;
use warpweave_random::CounterRng;

use crate::engine::{EngineOptions, Order};
use crate::time::Cycle;
use crate::verify::rig::{Rig, Seen, Traffic};
use crate::verify::rule::Rule;

/// A violated requirement with the smallest traffic found that reproduces it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("violated: {rule}\n  {message}\n  smallest failing traffic ({tries} tries): {traffic:?}")]
pub struct Failure {
    /// Requirement that the component violated in this run.
    pub rule: Rule,
    /// Describes the violation, with places and cycles.
    pub message: String,
    /// Smallest traffic that reproduces the violation.
    pub traffic: Traffic,
    /// Number of runs needed to shrink the traffic.
    pub tries: u32,
}

/// A suite of runs of a device in a hostile environment.
///
/// The closure builds the device and defines its inputs and expected outputs; it is called anew for
/// each run.
///
/// ```
/// # use warpweave_framework::*;
/// # use warpweave_framework::verify::*;
/// # #[derive(Default, Ports, State, Statistics)]
/// # struct Relay { #[port] input: InPort<u64>, #[port] output: OutPort<u64> }
/// # impl Component for Relay {
/// #     fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
/// #         while self.input.peek(ctx).is_some() && self.output.can_send(ctx) {
/// #             let message = self.input.pop(ctx).unwrap();
/// #             self.output.send(ctx, message);
/// #         }
/// #         if self.input.peek(ctx).is_some() { Next::Credit } else { Next::Message }
/// #     }
/// # }
/// Contract::new(|rig| {
///     rig.add("relay", Relay::default());
///     rig.drive("relay.input", |n| n);
///     rig.expect("relay.output", Matching::InOrder, |n| n);
/// })
/// .assert();
/// ```
pub struct Contract<F> {
    build: F,
    seed: u64,
    cases: u64,
    bound: f64,
}

/// Maximum evaluations per useful one. Counts those that the component requested, with
/// [`crate::Next::Busy`] or [`crate::Next::Until`], or that changed its state.
const EVALUATION_BOUND: f64 = 1.2;
/// Number of wasted evaluations that are not counted, for the start and end of a run.
const WASTED_FREE: f64 = 4.0;
/// Maximum number of attempts to shrink a failure.
const TRIES_MAX: u32 = 300;

impl<F: Fn(&mut Rig)> Contract<F> {
    /// Creates the contract of the device that `build` puts on a rig.
    pub fn new(build: F) -> Self {
        Self {
            build,
            seed: 1,
            cases: 12,
            bound: EVALUATION_BOUND,
        }
    }

    /// Sets the seed of the random traffic (default 1).
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the number of different traffics (default 12); each is run eight times.
    pub fn cases(mut self, cases: u64) -> Self {
        self.cases = cases;
        self
    }

    /// Sets the maximum evaluations per useful one (default 1.2). Wake-ups by the engine are not
    /// counted.
    pub fn evaluation_bound(mut self, bound: f64) -> Self {
        self.bound = bound;
        self
    }

    /// Tests every requirement with every traffic case.
    ///
    /// # Errors
    /// Returns the first violated requirement, with shrunk traffic.
    pub fn run(&self) -> Result<(), Box<Failure>> {
        for case in 0..self.cases {
            self.run_with(Traffic::nth(self.seed, case))?;
        }
        Ok(())
    }

    /// Tests one traffic, such as that of an earlier failure or of a `proptest` strategy.
    ///
    /// # Errors
    /// Returns the first violated requirement, with shrunk traffic.
    pub fn run_with(&self, traffic: Traffic) -> Result<(), Box<Failure>> {
        match self.try_once(traffic) {
            Ok(()) => Ok(()),
            Err((rule, message)) => Err(Box::new(self.shrink(traffic, rule, message))),
        }
    }

    /// Runs the suite like [`Contract::run`] and panics on failure.
    ///
    /// # Panics
    /// Panics if a requirement is violated.
    pub fn assert(&self) {
        if let Err(failure) = self.run() {
            panic!("{failure}");
        }
    }

    fn shrink(&self, mut traffic: Traffic, rule: Rule, mut message: String) -> Failure {
        let mut tries = 0;
        'smaller: while tries < TRIES_MAX {
            for simpler in traffic.simpler() {
                tries += 1;
                if let Err((found, text)) = self.try_once(simpler)
                    && found == rule
                {
                    (traffic, message) = (simpler, text);
                    continue 'smaller;
                }
            }
            break;
        }
        Failure {
            rule,
            message,
            traffic,
            tries,
        }
    }

    fn try_once(&self, traffic: Traffic) -> Result<(), (Rule, String)> {
        let awake = EngineOptions::default();
        let plain = self.see(traffic, awake, false);
        if let Err(problem) = judge(&plain) {
            return Err(self.explain(&plain, problem));
        }
        self.bound_evaluations(&plain)?;

        let again = self.see(traffic, awake, false);
        compare(&plain, &again).map_err(|d| (Rule::Repeatable, d))?;

        let unsleeping = self.see(traffic, UNSLEEPING, false);
        overslept(&unsleeping)?;
        compare(&plain, &unsleeping).map_err(|d| (Rule::Asleep, d))?;

        for seed in [traffic.seed, traffic.seed ^ 0x5eed] {
            let shuffled = EngineOptions {
                order: Order::Shuffled { seed },
                ..awake
            };
            let shuffled = self.see(traffic, shuffled, false);
            compare(&plain, &shuffled).map_err(|d| (Rule::Shuffled, d))?;
        }

        self.resume(&plain)?;
        let stalled = self.see(traffic, awake, true);
        judge(&stalled).map_err(|(_, message)| (Rule::Stalled, message))
    }

    fn resume(&self, plain: &Seen) -> Result<(), (Rule, String)> {
        let traffic = plain.traffic;
        let rig = || {
            let mut rig = Rig::new(traffic, EngineOptions::default(), false);
            (self.build)(&mut rig);
            rig
        };
        let last = plain.logs.iter().filter_map(|(_, log)| Some(log.last()?.0));
        let middle = 1 + CounterRng::new(traffic.seed, "resume").below(0, last.max().unwrap_or(1));
        let Some(saved) = rig().save_after(middle) else {
            return Ok(());
        };
        let resumed = rig().resume(&saved);
        let result = resumed.and_then(|resumed| compare(plain, &resumed));
        result.map_err(|d| (Rule::Resumed, format!("saved in cycle {middle}: {d}")))
    }

    /// Searches for a specific cause of a run that does not end or has no result.
    fn explain(&self, plain: &Seen, problem: (Rule, String)) -> (Rule, String) {
        let cause = self.bound_evaluations(plain).and_then(|()| {
            let mut rig = Rig::new(plain.traffic, UNSLEEPING, false);
            (self.build)(&mut rig);
            rig.linger();
            overslept(&rig.run())
        });
        cause.err().unwrap_or(problem)
    }

    fn see(&self, traffic: Traffic, options: EngineOptions, stalled: bool) -> Seen {
        let mut rig = Rig::new(traffic, options, stalled);
        (self.build)(&mut rig);
        rig.run()
    }

    fn bound_evaluations(&self, seen: &Seen) -> Result<(), (Rule, String)> {
        for (path, observed) in &seen.observed {
            let (wasted, useful) = (observed.wasted, observed.useful);
            let most = (self.bound - 1.0) * useful as f64 + WASTED_FREE;
            if wasted as f64 > most {
                let first = observed.first_wasted.as_deref().unwrap_or_default();
                let message = format!(
                    "`{path}` requested {wasted} evaluations that changed nothing and {useful} that changed something; first {first}"
                );
                return Err((Rule::Evaluations, message));
            }
        }
        Ok(())
    }
}

const UNSLEEPING: EngineOptions = EngineOptions {
    order: Order::Added,
    sleeping: false,
    threads: 1,
    partitions: 0,
    shares: 0,
};

fn overslept(seen: &Seen) -> Result<(), (Rule, String)> {
    let first = seen.observed.iter().find_map(|(_, o)| o.overslept.clone());
    first.map_or(Ok(()), |message| Err((Rule::Asleep, message)))
}

fn judge(seen: &Seen) -> Result<(), (Rule, String)> {
    // A hang explains why messages are missing.
    seen.outcome.clone()?;
    if seen.pending > 0 {
        let message = format!("{} messages were never accepted", seen.pending);
        return Err((Rule::Completion, message));
    }
    seen.judged
        .clone()
        .map_err(|message| (Rule::Protocol, message))
}

/// Returns the first difference between two runs that should be equal.
fn compare(a: &Seen, b: &Seen) -> Result<(), String> {
    if a.outcome != b.outcome {
        return Err(format!(
            "one run ends with {:?}, the other with {:?}",
            a.outcome, b.outcome
        ));
    }
    for ((port, one), (_, other)) in a.logs.iter().zip(&b.logs) {
        let differs = (0..one.len().max(other.len())).find(|i| one.get(*i) != other.get(*i));
        if let Some(i) = differs {
            let text = |list: &[(Cycle, String)]| {
                list.get(i)
                    .map_or("nothing".to_owned(), |(cycle, message)| {
                        format!("{message} in cycle {cycle}")
                    })
            };
            let (one, other) = (text(one), text(other));
            return Err(format!(
                "{port}: message {i} is {one}, but {other} in the other run"
            ));
        }
    }
    for (one, other) in a.statistics.iter().zip(&b.statistics) {
        for (x, y) in one.values.iter().zip(&other.values) {
            if x != y {
                let (x, y, name) = (&x.value, &y.value, &x.name);
                let path = &one.path;
                return Err(format!(
                    "{path}: {name} is {x:?}, but {y:?} in the other run"
                ));
            }
        }
    }
    Ok(())
}
