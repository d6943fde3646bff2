//! Selection of the launches that belong to a region.

use std::collections::BTreeMap;

use warpweave_params::Diagnostic;
use warpweave_random::CounterRng;
use warpweave_trace::{HostCommand, Program};

use super::Part;
use crate::scenario::{Outside, Region, Sample};

/// Treatment of each launch of a program: simulated, warmed or skipped.
pub(super) struct LaunchSelection {
    /// Part of each launch, by number; device launches share the part of the host launch they come
    /// from.
    pub(super) parts: Vec<Part>,
    /// Host launch that each launch comes from, by launch number.
    roots: Vec<u32>,
    pub(super) outside: Outside,
    /// Strata of host launches with the sampled ones; empty without a sample.
    pub(super) strata: Vec<Stratum>,
    /// Number of host launches outside the sampled set that are not simulated.
    pub(super) unsampled: u32,
}

/// Stratum: launches that are assumed to be similar.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Stratum {
    /// All launches of the stratum, in the order in which the host launches them.
    pub(super) launches: Vec<u32>,
    /// Sampled launches, which are simulated, in ascending order.
    pub(super) taken: Vec<u32>,
}

/// Work of a host launch and all its descendants.
#[derive(Clone, Copy, Default)]
struct LaunchWork {
    work_groups: u64,
    instructions: u64,
}

impl LaunchSelection {
    pub(super) fn new(region: &Region, program: &Program) -> Result<Self, Diagnostic> {
        let roots = roots(program);
        let mut does = vec![LaunchWork::default(); roots.len()];
        for (kernel, root) in program.kernels.iter().zip(&roots) {
            let family = &mut does[*root as usize];
            family.work_groups += u64::from(kernel.work_groups());
            family.instructions += kernel.wavefront_instructions();
        }
        let launched = program.commands.iter().filter_map(|command| match command {
            HostCommand::Launch { kernel, .. } => Some(*kernel),
            _ => None,
        });
        let launched: Vec<u32> = launched.collect();
        check_numbers(region, program, &launched)?;
        let fits = |launch: &u32| {
            let does = does[*launch as usize];
            region.numbers(*launch)
                && region.names(&program.kernels[*launch as usize].code.name)
                && does.work_groups >= region.at_least.work_groups
                && does.instructions >= region.at_least.wavefront_instructions
        };
        let mut chosen: Vec<u32> = launched.iter().copied().filter(fits).collect();
        if chosen.is_empty() && !launched.is_empty() {
            return Err(nothing(region, &does, &launched));
        }
        let unsampled = (launched.len() - chosen.len()) as u32;
        let mut strata = Vec::new();
        if let Some(sample) = region.sample {
            strata = take(sample, program, &chosen, &does);
            chosen = strata
                .iter()
                .flat_map(|s| s.taken.iter().copied())
                .collect();
        }
        Ok(Self {
            parts: parts(region.outside, &roots, &launched, &chosen),
            roots,
            outside: region.outside,
            strata,
            unsampled,
        })
    }

    /// Returns a host launch and all its descendants, ascending.
    pub(super) fn family_of(&self, root: u32) -> impl Iterator<Item = u32> {
        let roots = (0_u32..).zip(&self.roots);
        roots
            .filter(move |(_, of)| **of == root)
            .map(|(kernel, _)| kernel)
    }
}

/// Returns the host launch that each launch comes from, by launch number.
fn roots(program: &Program) -> Vec<u32> {
    let mut roots: Vec<u32> = Vec::with_capacity(program.kernels.len());
    for (kernel, trace) in (0_u32..).zip(&program.kernels) {
        // Kernels come after those that launched them.
        let parent = trace.parent.map(|parent| roots[parent.kernel as usize]);
        roots.push(parent.unwrap_or(kernel));
    }
    roots
}

fn parts(outside: Outside, roots: &[u32], launched: &[u32], chosen: &[u32]) -> Vec<Part> {
    let mut of_roots = vec![Part::Skipped; roots.len()];
    let mut belongs = vec![false; roots.len()];
    for launch in chosen {
        belongs[*launch as usize] = true;
    }
    let last = launched
        .iter()
        .rposition(|launch| belongs[*launch as usize]);
    for (position, launch) in launched.iter().enumerate() {
        let before = last.is_some_and(|last| position < last);
        of_roots[*launch as usize] = match outside {
            _ if belongs[*launch as usize] => Part::Region,
            Outside::Warm if before => Part::Warmed,
            Outside::Simulate if before => Part::Before,
            _ => Part::Skipped,
        };
    }
    roots.iter().map(|root| of_roots[*root as usize]).collect()
}

/// Checks that every range contains a launch.
fn check_numbers(region: &Region, program: &Program, launched: &[u32]) -> Result<(), Diagnostic> {
    for range in &region.launches {
        let from = range.value.from;
        let all = program.kernels.len();
        if from as usize >= all {
            let message = format!("no launch {from}: the program has {all} launches");
            return Err(range.error(message).hint("launches count from 0"));
        }
        if !launched.iter().any(|launch| range.value.holds(*launch)) {
            let message = format!(
                "launch {from} is not a host launch: `{}` is launched from the device",
                program.kernels[from as usize].code.name
            );
            let root = roots(program)[from as usize];
            return Err(range.error(message).hint(format!(
                "name launch {root}, its ancestor on the host; a launch includes all its descendants"
            )));
        }
    }
    Ok(())
}

fn nothing(region: &Region, does: &[LaunchWork], launched: &[u32]) -> Diagnostic {
    let does = || launched.iter().map(|launch| does[*launch as usize]);
    let hint = format!(
        "the {} launches have at most {} work-groups and {} wavefront instructions",
        launched.len(),
        does().map(|d| d.work_groups).max().unwrap_or(0),
        does().map(|d| d.instructions).max().unwrap_or(0)
    );
    Diagnostic::error("the region contains no launch of the program")
        .at(&region.place)
        .hint(hint)
}

/// Samples the selected launches and returns the strata.
fn take(sample: Sample, program: &Program, chosen: &[u32], does: &[LaunchWork]) -> Vec<Stratum> {
    let mut strata: BTreeMap<(&str, u32), Stratum> = BTreeMap::new();
    for launch in chosen {
        let name = program.kernels[*launch as usize].code.name.as_str();
        let digits = u64::BITS - does[*launch as usize].instructions.leading_zeros();
        let stratum = strata.entry((name, digits)).or_default();
        stratum.launches.push(*launch);
    }
    for ((name, digits), stratum) in &mut strata {
        let launches = &stratum.launches;
        stratum.taken = match sample {
            Sample::Every { launches: every } => {
                let mut taken: Vec<u32> =
                    launches.iter().step_by(every as usize).copied().collect();
                if taken.len() == 1 {
                    taken.extend(launches.last().filter(|_| launches.len() > 1));
                }
                taken
            }
            Sample::Draw {
                launches: most,
                seed,
            } => {
                let dice = CounterRng::new(seed, &format!("{name} {digits}"));
                draw(launches, most as usize, dice)
            }
        };
    }
    strata.into_values().collect()
}

/// Draws at most `most` launches uniformly at random, kept in order.
fn draw(launches: &[u32], most: usize, dice: CounterRng) -> Vec<u32> {
    let mut order: Vec<usize> = (0..launches.len()).collect();
    let taken = most.min(launches.len());
    for at in 0..taken {
        let other = dice.below(at as u64, (launches.len() - at) as u64);
        order.swap(at, at + other as usize);
    }
    order.truncate(taken);
    order.sort_unstable();
    order.into_iter().map(|at| launches[at]).collect()
}
