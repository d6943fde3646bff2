//! Metrics: expressions over the results of one run.
//!
//! ```text
//!   sum(cluster[*].l1[*].read_misses) / sum(cluster[*].l1[*].reads)
//!   wavefront_instructions / kernels(*, cycles)
//! ```
//!
//! `parse.rs` parses them, `pattern.rs` finds the statistics that a pattern matches.

mod parse;
mod pattern;
#[cfg(test)]
pub(crate) mod tests;

use warpweave_systems::report::{
    Record, RecordedEnergy, RecordedKernel, RecordedStatistic, RecordedValue,
};
use wildmatch::WildMatch;

pub use self::pattern::Pattern;

/// Parsed expression over the results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression(Term);

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Number(f64),
    Whole(Quantity),
    Energy(Pattern),
    Statistics(Aggregation, Pattern),
    Kernels(WildMatch, Box<Term>),
    Negated(Box<Term>),
    Binary(Operator, Box<Term>, Box<Term>),
}

/// Quantity that a run, or a launch, has exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Cycles,
    Ipc,
    Seconds,
    WavefrontInstructions,
    ThreadInstructions,
    Occupancy,
    KernelCycles,
    KernelOccupancy,
    EstimatedCycles,
    Energy,
    Edp,
    Power,
}

/// Aggregation over the statistics that a pattern matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aggregation {
    Sum,
    Max,
    Mean,
    Part,
    Whole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Dependence of an expression on energy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum EnergyUse {
    /// The expression is the total energy itself.
    Total,
    /// The expression is the energy-delay product itself.
    Edp,
    /// The expression is the power itself.
    Power,
    /// The expression is the energy of the components that a pattern matches.
    Components(Pattern),
    /// The expression computes with one of these.
    Computed,
}

/// Part of the results that an expression is evaluated on.
#[derive(Clone, Copy)]
enum Scope<'r> {
    Run(&'r Record),
    /// Launches of the run, at least one. Counts are summed over all of them.
    Launches(&'r Record, &'r [&'r RecordedKernel]),
}

/// Value, or `None` if it is undefined. An error if the run does not have the requested data.
type Value = Result<Option<f64>, String>;

impl Expression {
    /// Evaluates the expression for a run. Returns `None` on division by zero or for a mean of no
    /// values.
    ///
    /// # Errors
    /// Returns an error for data the run does not have: a pattern without matches, energy without
    /// coefficients, no launch of that name.
    pub fn evaluate(&self, record: &Record) -> Value {
        self.0.value(Scope::Run(record))
    }

    /// Evaluates the expression for one launch of a run.
    ///
    /// # Errors
    /// Returns an error for data the launch does not have.
    pub(crate) fn evaluate_launch(&self, record: &Record, launch: &RecordedKernel) -> Value {
        self.0.value(Scope::Launches(record, &[launch]))
    }

    /// Returns the part of the expression that a single launch does not have, if any.
    pub(crate) fn unfit_for_launches(&self) -> Option<&'static str> {
        self.0.unfit_for_launches()
    }

    /// Returns all patterns in the expression that match statistics.
    pub fn patterns(&self) -> Vec<&Pattern> {
        let mut patterns = Vec::new();
        self.0.collect(&mut patterns);
        patterns
    }

    /// Returns the dependence on energy, if any.
    pub(crate) fn energy_use(&self) -> Option<EnergyUse> {
        match &self.0 {
            Term::Whole(Quantity::Energy) => Some(EnergyUse::Total),
            Term::Whole(Quantity::Edp) => Some(EnergyUse::Edp),
            Term::Whole(Quantity::Power) => Some(EnergyUse::Power),
            Term::Energy(pattern) => Some(EnergyUse::Components(pattern.clone())),
            other => other.has_energy().then_some(EnergyUse::Computed),
        }
    }
}

impl Term {
    fn has_energy(&self) -> bool {
        match self {
            Self::Whole(Quantity::Energy | Quantity::Edp | Quantity::Power) | Self::Energy(_) => {
                true
            }
            Self::Kernels(_, inner) | Self::Negated(inner) => inner.has_energy(),
            Self::Binary(_, left, right) => left.has_energy() || right.has_energy(),
            Self::Number(_) | Self::Whole(_) | Self::Statistics(..) => false,
        }
    }

    fn unfit_for_launches(&self) -> Option<&'static str> {
        match self {
            Self::Whole(
                quantity @ (Quantity::Seconds
                | Quantity::Occupancy
                | Quantity::KernelCycles
                | Quantity::KernelOccupancy
                | Quantity::EstimatedCycles
                | Quantity::Energy
                | Quantity::Edp
                | Quantity::Power),
            ) => Some(quantity.name()),
            Self::Energy(_) => Some("energy"),
            Self::Kernels(..) => Some("kernels"),
            Self::Negated(inner) => inner.unfit_for_launches(),
            Self::Binary(_, left, right) => left
                .unfit_for_launches()
                .or_else(|| right.unfit_for_launches()),
            Self::Number(_) | Self::Whole(_) | Self::Statistics(..) => None,
        }
    }

    fn collect<'t>(&'t self, patterns: &mut Vec<&'t Pattern>) {
        match self {
            Self::Statistics(_, pattern) => patterns.push(pattern),
            Self::Kernels(_, inner) | Self::Negated(inner) => inner.collect(patterns),
            Self::Binary(_, left, right) => {
                left.collect(patterns);
                right.collect(patterns);
            }
            Self::Number(_) | Self::Whole(_) | Self::Energy(_) => {}
        }
    }

    fn value(&self, scope: Scope<'_>) -> Value {
        match self {
            Self::Number(number) => Ok(Some(*number)),
            Self::Whole(quantity) => quantity.of(scope),
            Self::Energy(pattern) => energy_of(pattern, scope),
            Self::Statistics(over, pattern) => over.of(&scope.statistics(pattern)?),
            Self::Kernels(name, inner) => of_launches(name, inner, scope),
            Self::Negated(inner) => Ok(inner.value(scope)?.map(|value| -value)),
            Self::Binary(operator, left, right) => {
                let (left, right) = (left.value(scope)?, right.value(scope)?);
                Ok(left
                    .zip(right)
                    .and_then(|(left, right)| operator.of(left, right)))
            }
        }
    }
}

/// Evaluates the term over all launches of kernels whose name matches, taken together.
fn of_launches(name: &WildMatch, inner: &Term, scope: Scope<'_>) -> Value {
    let Scope::Run(record) = scope else {
        return Err("`kernels` cannot be nested".to_owned());
    };
    let launches = record.kernels.iter();
    let launches: Vec<_> = launches
        .filter(|kernel| name.matches(&kernel.name))
        .collect();
    if launches.is_empty() {
        return Err(format!("no launch of a kernel named `{name}`"));
    }
    inner.value(Scope::Launches(record, &launches))
}

fn energy_of(pattern: &Pattern, scope: Scope<'_>) -> Value {
    let energy = scope.energy()?;
    let components = energy.components.iter();
    let mut joules = components
        .filter(|component| pattern.is_path(&component.component))
        .map(|component| component.total_j)
        .peekable();
    if joules.peek().is_none() {
        let known = energy.components.iter().map(|c| c.component.as_str());
        return Err(pattern.names_no(known));
    }
    Ok(Some(joules.sum()))
}

impl<'r> Scope<'r> {
    /// Returns the statistics that the pattern matches, each with its path.
    fn statistics(self, pattern: &Pattern) -> Result<Vec<(String, &'r RecordedStatistic)>, String> {
        let (record, launches) = match self {
            Self::Run(record) => return pattern.statistics(&record.stats),
            Self::Launches(record, launches) => (record, launches),
        };
        if launches.iter().all(|launch| launch.stats.is_empty()) {
            return Err(
                "the run has no per-launch statistics: set `measure.kernels` to true".to_owned(),
            );
        }
        // A launch may lack what did not grow during it, but the run has all there is.
        pattern.statistics(&record.stats)?;
        let found = launches
            .iter()
            .filter_map(|launch| pattern.statistics(&launch.stats).ok());
        Ok(found.flatten().collect())
    }

    fn energy(self) -> Result<&'r RecordedEnergy, String> {
        let Self::Run(record) = self else {
            return Err("energy is available for whole runs only".to_owned());
        };
        record.energy.as_ref().ok_or_else(|| {
            "the run has no energy: name a coefficient file in the scenario".to_owned()
        })
    }
}

impl Quantity {
    /// Function names as written in expressions.
    const ALL: [(&'static str, Self); 12] = [
        ("cycles", Self::Cycles),
        ("ipc", Self::Ipc),
        ("seconds", Self::Seconds),
        ("wavefront_instructions", Self::WavefrontInstructions),
        ("thread_instructions", Self::ThreadInstructions),
        ("occupancy", Self::Occupancy),
        ("kernel_cycles", Self::KernelCycles),
        ("kernel_occupancy", Self::KernelOccupancy),
        ("estimated_cycles", Self::EstimatedCycles),
        ("energy", Self::Energy),
        ("edp", Self::Edp),
        ("power", Self::Power),
    ];

    fn name(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        all.find(|(_, known)| *known == self)
            .map_or("", |(name, _)| name)
    }

    fn of(self, scope: Scope<'_>) -> Value {
        match (self, scope) {
            (Self::Cycles, Scope::Run(run)) => Ok(Some(run.cycles as f64)),
            (Self::Cycles, Scope::Launches(_, launches)) => {
                // Without the time that a launch waits for others before it.
                let cycles = launches.iter().map(|launch| launch.run_cycles);
                Ok(cycles.sum::<Option<u64>>().map(|cycles| cycles as f64))
            }
            (Self::Ipc, Scope::Run(run)) => Ok(Some(run.ipc)),
            (Self::Ipc, Scope::Launches(..)) => {
                let instructions = Self::WavefrontInstructions.of(scope)?;
                let both = instructions.zip(Self::Cycles.of(scope)?);
                Ok(both.and_then(|(count, cycles)| Operator::Divide.of(count, cycles)))
            }
            (Self::WavefrontInstructions, Scope::Run(run)) => {
                Ok(Some(run.wavefront_instructions as f64))
            }
            (Self::WavefrontInstructions, Scope::Launches(_, launches)) => {
                let counts = launches.iter().map(|launch| launch.wavefront_instructions);
                Ok(Some(counts.sum::<u64>() as f64))
            }
            (Self::ThreadInstructions, Scope::Run(run)) => Ok(Some(run.thread_instructions as f64)),
            (Self::ThreadInstructions, Scope::Launches(_, launches)) => {
                let counts = launches.iter().map(|launch| launch.thread_instructions);
                Ok(Some(counts.sum::<u64>() as f64))
            }
            (Self::Seconds, Scope::Run(run)) => Ok(Some(run.simulated_s)),
            (Self::Occupancy, Scope::Run(run)) => Ok(run.occupancy),
            (Self::KernelCycles, Scope::Run(run)) => {
                Ok(run.kernel_time.as_ref().map(|time| time.cycles as f64))
            }
            (Self::KernelOccupancy, Scope::Run(run)) => {
                Ok(run.kernel_time.as_ref().and_then(|time| time.occupancy))
            }
            (Self::EstimatedCycles, Scope::Run(run)) => match &run.region {
                None => Ok(Some(run.cycles as f64)),
                Some(region) => match &region.estimate {
                    Some(estimate) if estimate.whole => Ok(Some(estimate.cycles as f64)),
                    _ => Err(
                        "the run has no estimate of the whole program: sample all its \
                              launches, `region: (sample: Every(launches: 8), outside: Warm)`"
                            .to_owned(),
                    ),
                },
            },
            (Self::Energy, scope) => Ok(Some(scope.energy()?.total_j)),
            (Self::Edp, scope) => Ok(Some(scope.energy()?.edp_js)),
            (Self::Power, scope) => {
                let energy = scope.energy()?;
                Ok(Operator::Divide.of(energy.total_j, energy.seconds))
            }
            (
                Self::Seconds
                | Self::Occupancy
                | Self::KernelCycles
                | Self::KernelOccupancy
                | Self::EstimatedCycles,
                Scope::Launches(..),
            ) => Err(format!(
                "`{}` is available for whole runs only",
                self.name()
            )),
        }
    }
}

impl Aggregation {
    /// Function names as written in expressions.
    const ALL: [(&'static str, Self); 5] = [
        ("sum", Self::Sum),
        ("max", Self::Max),
        ("mean", Self::Mean),
        ("part", Self::Part),
        ("whole", Self::Whole),
    ];

    fn of(self, found: &[(String, &RecordedStatistic)]) -> Value {
        if let Self::Part | Self::Whole = self {
            let mut sum = 0_u64;
            for (path, statistic) in found {
                let Some((part, whole)) = statistic.part_and_whole() else {
                    return Err(format!(
                        "`{path}` is neither a ratio nor a mean, so it has no part and no whole"
                    ));
                };
                sum += if self == Self::Part { part } else { whole };
            }
            return Ok(Some(sum as f64));
        }
        let numbers = found.iter().map(|(path, statistic)| {
            if let RecordedValue::Series(_) = statistic.value {
                return Err(format!("`{path}` is a series, not a number"));
            }
            Ok(statistic.number())
        });
        let numbers: Option<Vec<f64>> = numbers.collect::<Result<_, String>>()?;
        let Some(numbers) = numbers else {
            return Ok(None);
        };
        Ok(Some(match self {
            _ if numbers.is_empty() => 0.0,
            Self::Max => numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Mean => numbers.iter().sum::<f64>() / numbers.len() as f64,
            _ => numbers.iter().sum(),
        }))
    }
}

impl Operator {
    /// Applies the operator. Returns `None` if the result is undefined.
    fn of(self, left: f64, right: f64) -> Option<f64> {
        let value = match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
        };
        value.is_finite().then_some(value)
    }
}
