//! Dynamic checker for programs that run in the emulator.
//!
//! [`ProgramChecker`] follows every launch of a program. The emulator holds the values; the checker
//! adds shadow state. It tracks which bytes and registers were written (`shadow.rs`), and to which
//! allocation an address belongs (`objects.rs`). It tracks the happens-before order (`clocks.rs`)
//! and unordered accesses of different threads (`races.rs`). `registers.rs` checks every
//! instruction, `accesses.rs` memory accesses, and `barriers.rs` barriers; `finding.rs` holds the
//! results.
//!
//! # What is no finding
//! A value that was never written is no finding until something depends on it (`unset.rs`). It is
//! followed through registers, lanes and memory (`flow.rs`), bit by bit (`trial.rs`). Threads that
//! have ended count as arrived at a barrier. Two strong accesses (atomics, `.volatile`, `.relaxed`
//! and stronger) do not race, according to the PTX memory consistency model. Races between kernels
//! of different streams are not checked.

mod accesses;
mod barriers;
mod clocks;
mod finding;
mod flow;
mod objects;
mod races;
mod registers;
mod shadow;
mod trial;
mod unset;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use warpweave_files::{Charge, OverBudget};

use self::barriers::{BarrierMiss, PartialArrival};
use self::clocks::Clocks;
use self::finding::{Findings, Key};
use self::objects::{Object, Objects, Tag};
use self::races::{AccessConflict, Entry, RaceScope, Words};
use self::shadow::{MemoryShadow, PrivateShadow, Registers};
use self::unset::Origins;
use crate::address_space::DEVICE_BASE;
use crate::exec::error::EmulationError;
use crate::exec::observe::{Arrival, Frames, LaunchCounts, Observer, PendingAccess, Start, Step};
use crate::exec::registers::lanes;
use crate::exec::wavefront::Wavefront;
use crate::exec::{EmulationOptions, Family, LaunchConfig, Numbers, family};
use crate::kernel::Kernel;
use crate::memory::DeviceMemory;
use crate::module::Module;
use crate::ops::Region;

pub use self::finding::{AccessSite, Finding, FindingKind, SourcePlace, Verdict};

/// Granularity in bytes at which access histories are charged.
const HISTORY_CHARGED: u64 = 1 << 20;

/// Checks the launches of a program one after another on the same device memory.
#[derive(Debug, Default)]
pub struct ProgramChecker {
    findings: Findings,
    objects: Objects,
    /// Shadow of device memory, starting at [`DEVICE_BASE`].
    device: MemoryShadow,
    /// Fingerprints of modules whose variables are registered.
    modules: BTreeSet<u64>,
    launches: u32,
    launch: Launch,
    /// Set when a launch needed more memory than the budget has.
    over: Option<OverBudget>,
    counts: Option<Arc<LaunchCounts>>,
}

/// Shadow state of the launch in progress.
#[derive(Debug, Default)]
struct Launch {
    file: String,
    files: BTreeMap<u64, String>,
    grid: [u32; 3],
    block: [u32; 3],
    /// Provenance tags of the words of the argument block.
    arguments: Vec<Tag>,
    /// Provenance tags of the module's variables, by index.
    variables: Vec<Tag>,
    /// Tags of the kernel's local memory variables, by index in the module.
    shared: BTreeMap<usize, Tag>,
    /// Tags of frame variables by function, index and start of the frame.
    frames: BTreeMap<(usize, usize, u32), Tag>,
    waves: BTreeMap<(u32, u32), Wave>,
    groups: BTreeMap<u32, Group>,
    clocks: Clocks,
    /// Accesses of different work-groups to global memory, word by word.
    words: Words,
    history: History,
    /// Arrivals at barriers that are still closed.
    arrivals: BTreeMap<(u32, u32), Vec<(u32, Arrival)>>,
    /// Reported bytes: their memory, the first address and the number of bytes.
    missed: BTreeSet<(MemoryOwner, u64, u32)>,
}

/// A memory: its kind, and the work-group and thread to which it belongs.
type MemoryOwner = (u8, u32, u32);

/// Owner of global memory.
const EVERYBODY: MemoryOwner = (0, 0, 0);

/// Memory of the access histories of a launch.
#[derive(Debug, Default)]
struct History {
    charge: Option<Charge>,
    /// Number of bytes that all histories take.
    bytes: u64,
    /// Set when the budget is exceeded; accesses are not recorded from then on.
    over: Option<OverBudget>,
}

impl History {
    /// Counts the growth of a history, and charges it before it grows large.
    fn grow(&mut self, bytes: u64) {
        self.bytes += bytes;
        let Some(charge) = &mut self.charge else {
            return;
        };
        if self.bytes > charge.bytes() {
            let more = HISTORY_CHARGED.max(self.bytes - charge.bytes());
            self.over = charge
                .grow("the accesses that --check-program compares", more)
                .err();
        }
    }
}

/// Shadow state of a wavefront: live lanes, registers and private memory.
#[derive(Debug, Default)]
struct Wave {
    /// Lanes that have not ended, as a mask.
    alive: u32,
    /// Barriers that these lanes have not all reached.
    partial_arrivals: Vec<PartialArrival>,
    /// Register shadows of all open function calls, innermost last.
    frames: Vec<Registers>,
    private: PrivateShadow,
}

/// Shadow of the local memory of a work-group, and what its threads did.
#[derive(Debug, Default)]
struct Group {
    memory: MemoryShadow,
    words: Words,
    /// Accesses of its threads to global memory.
    global_words: Words,
    origins: Origins,
}

/// A finding before it is formatted and added.
struct Case {
    kind: FindingKind,
    verdict: Verdict,
    pc: u32,
    group: u32,
    /// Linear thread index in its work-group.
    thread: u32,
    address: Option<u64>,
    /// Name and start address of the buffer or variable.
    buffer: Option<(String, u64)>,
    near: Option<String>,
    /// Other access of a race: instruction, work-group and thread.
    other: Option<(u32, u32, u32)>,
}

impl Case {
    fn new(kind: FindingKind, verdict: Verdict, pc: u32, (group, thread): (u32, u32)) -> Self {
        Self {
            kind,
            verdict,
            pc,
            group,
            thread,
            address: None,
            buffer: None,
            near: None,
            other: None,
        }
    }
}

impl ProgramChecker {
    /// Creates a checker for a device whose memory is entirely uninitialised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Marks bytes of device memory as written by the host.
    pub fn host_wrote(&mut self, address: u64, bytes: u64) {
        self.device.written_by_host(address - DEVICE_BASE, bytes);
    }

    /// Executes a launch like [`launch_family`](crate::launch_family) and checks its kernels.
    ///
    /// # Errors
    /// Returns the errors of [`launch`](crate::launch). Findings made before the error are kept.
    pub fn launch(
        &mut self,
        module: &Module,
        kernel: &str,
        config: LaunchConfig<'_>,
        memory: &mut DeviceMemory,
        options: &EmulationOptions,
        numbers: &mut Numbers,
    ) -> Result<Family, EmulationError> {
        let result = family(module, kernel, config, memory, options, numbers, self);
        if let Err(EmulationError::Deadlock { kernel, .. }) = &result
            && let Ok(kernel) = module.kernel(kernel.as_str())
        {
            let misses = self.launch.stuck();
            self.report_misses(kernel, misses);
        }
        if result.is_err() {
            self.launch_ends();
        }
        match self.over.take() {
            Some(over) => Err(over.into()),
            None => result,
        }
    }

    /// Updates these counts during the launches.
    pub fn counting(mut self, counts: &Arc<LaunchCounts>) -> Self {
        self.counts = Some(Arc::clone(counts));
        self
    }

    /// Returns all findings in the order of their first occurrence.
    pub fn findings(&self) -> &[Finding] {
        &self.findings.list
    }

    /// Returns the number of occurrences of findings that were not kept.
    pub fn dropped(&self) -> u64 {
        self.findings.dropped
    }

    fn report(&mut self, kernel: &Kernel, case: Case, detail: impl FnOnce() -> String) {
        let key = Key {
            kind: case.kind,
            verdict: case.verdict,
            kernel: kernel.name().to_owned(),
            pc: case.pc,
            other: case.other.map_or(u32::MAX, |(pc, ..)| pc),
            place: case.buffer.as_ref().map_or(0, |(_, start)| *start),
        };
        let launch = &self.launch;
        let number = self.launches;
        self.findings.add(key, || Finding {
            kind: case.kind,
            verdict: case.verdict,
            file: launch.file.clone(),
            kernel: kernel.name().to_owned(),
            launch: number,
            spot: launch.spot(kernel, case.pc, case.group, case.thread),
            address: case.address,
            near: case.near,
            buffer: case.buffer.map(|(name, _)| name),
            detail: detail(),
            other: case
                .other
                .map(|(pc, group, thread)| launch.spot(kernel, pc, group, thread)),
            count: 1,
        });
    }

    fn report_misses(&mut self, kernel: &Kernel, misses: Vec<BarrierMiss>) {
        for BarrierMiss { case, detail } in misses {
            self.report(kernel, case, || detail);
        }
    }

    /// Returns the tag of a device allocation.
    fn allocation(&mut self, memory: &DeviceMemory, address: u64) -> Tag {
        match memory.containing(address) {
            Some(allocation) => self.objects.tag(Object {
                region: Region::Global,
                start: allocation.base,
                bytes: allocation.bytes,
                name: allocation.name.clone(),
            }),
            None => Tag::NONE,
        }
    }
}

impl Launch {
    /// Records an access to a word, and returns an earlier one that it conflicts with.
    fn note(
        &mut self,
        region: Region,
        scope: RaceScope,
        word: u64,
        entry: Entry,
    ) -> Option<AccessConflict> {
        if self.history.over.is_some() {
            return None;
        }
        let words = match (region, scope) {
            (Region::Shared, _) => &mut self.groups.entry(entry.who.group).or_default().words,
            (_, RaceScope::Threads) => {
                let group = self.groups.entry(entry.who.group).or_default();
                &mut group.global_words
            }
            (_, RaceScope::Groups) => &mut self.words,
        };
        let before = words.bytes();
        let clash = words.note(word, entry, scope, &self.clocks);
        let more = words.bytes() - before;
        if more > 0 {
            self.history.grow(more);
        }
        clash
    }

    fn spot(&self, kernel: &Kernel, pc: u32, group: u32, thread: u32) -> AccessSite {
        let site = &kernel.sites[pc as usize];
        let instruction = &kernel.code().instructions[pc as usize];
        let ([x, y, _], [gx, gy, _]) = (self.block, self.grid);
        let source = site.location.map(|location| SourcePlace {
            file: match self.files.get(&location.file) {
                Some(name) => name.clone(),
                None => format!("file {}", location.file),
            },
            line: location.line,
            column: location.column,
        });
        AccessSite {
            line: instruction.line,
            column: site.column,
            opcode: instruction.opcode.clone(),
            source,
            work_group: [group % gx, group / gx % gy, group / gx / gy],
            thread: [thread % x, thread / x % y, thread / x / y],
        }
    }
}

impl Observer for ProgramChecker {
    const WATCHES: bool = true;

    fn launch_starts(&mut self, start: &Start<'_>) {
        let (module, memory) = (start.module, start.memory);
        let addresses = memory.variables(module);
        let mut variables = Vec::with_capacity(addresses.len());
        for &address in addresses {
            variables.push(self.allocation(memory, address));
        }
        if self.modules.insert(module.fingerprint) {
            for (storage, &address) in module.variables.iter().zip(addresses) {
                if storage.is_external {
                    continue;
                }
                let start = address - DEVICE_BASE;
                self.device.define(start, storage.bytes.len() as u64);
                for patch in &storage.patches {
                    let (at, tag) = (start + patch.at as u64, variables[patch.variable]);
                    self.device.set_pointer(at, patch.width as u64, tag);
                }
            }
        }
        let mut arguments = vec![Tag::NONE; start.kernel.argument_bytes().div_ceil(4) as usize];
        for (parameter, argument) in start.kernel.parameters().iter().zip(start.config.args) {
            if let Some(address) = argument.pointer() {
                let tag = self.allocation(memory, address);
                let words = parameter.offset / 4..(parameter.offset + parameter.bytes).div_ceil(4);
                arguments[words.start as usize..words.end as usize].fill(tag);
            }
        }
        let mut shared = BTreeMap::new();
        let end = start.kernel.code().static_local_bytes + start.config.dynamic_local_bytes;
        for range in &start.kernel.shared {
            let bytes = range.bytes.unwrap_or(end.saturating_sub(range.start));
            let tag = self.objects.tag(Object {
                region: Region::Shared,
                start: range.start.into(),
                bytes: bytes.into(),
                name: range.name.clone(),
            });
            shared.insert(range.number, tag);
        }
        self.launch = Launch {
            file: module.file().to_owned(),
            files: module.files.clone(),
            grid: start.config.grid,
            block: start.config.block,
            arguments,
            variables,
            shared,
            history: History {
                charge: memory.ledger().budget().charge("--check-program", 0).ok(),
                ..History::default()
            },
            ..Launch::default()
        };
    }

    fn wavefront_starts(&mut self, kernel: &Kernel, wavefront: &Wavefront) {
        let wave = Wave {
            alive: wavefront.active(),
            partial_arrivals: Vec::new(),
            frames: vec![Registers::new(kernel.functions[0].registers)],
            private: PrivateShadow::default(),
        };
        let (group, index) = (wavefront.group, wavefront.index);
        self.launch.waves.insert((group, index), wave);
        self.launch.clocks.wavefront_starts(group, index);
    }

    fn step(&mut self, step: &Step<'_>) {
        self.instruction(step);
    }

    fn reach(&mut self, reach: &PendingAccess<'_>) {
        self.access(reach);
    }

    fn call(&mut self, kernel: &Kernel, wavefront: &Wavefront, frames: Frames<'_>) {
        self.open_call(kernel, wavefront, &frames);
    }

    fn end_call(&mut self, kernel: &Kernel, wavefront: &Wavefront, frames: Frames<'_>) {
        self.close_call(kernel, wavefront, &frames);
    }

    fn launch_ends(&mut self) {
        self.launches += 1;
        let launch = std::mem::take(&mut self.launch);
        self.over = self.over.take().or(launch.history.over);
    }

    fn handed_out(&mut self, address: u64, bytes: u64) {
        self.device.forget(address - DEVICE_BASE, bytes);
        let words = address / 4..(address + bytes).div_ceil(4);
        let groups = self.launch.groups.values_mut();
        for group in groups {
            group.global_words.forget(words.clone());
        }
        self.launch.words.forget(words);
        let bytes = (EVERYBODY, address, 0)..(EVERYBODY, address + bytes, 0);
        let missed: Vec<_> = self.launch.missed.range(bytes).copied().collect();
        for missed in missed {
            self.launch.missed.remove(&missed);
        }
    }

    fn runtime_filled(&mut self, address: u64, bytes: u64) {
        self.host_wrote(address, bytes);
    }

    fn runtime_wrote(
        &mut self,
        wavefront: &Wavefront,
        memory: &DeviceMemory,
        (start, bytes): (u32, u32),
        mask: u32,
    ) {
        for lane in lanes(mask) {
            // What is the address of an allocation was made as a pointer to it.
            let tag = match bytes {
                8 => {
                    let value = wavefront.private.read(lane, start as usize, bytes);
                    self.allocation(memory, value)
                }
                _ => Tag::NONE,
            };
            let place = (wavefront.group, wavefront.index);
            if let Some(wave) = self.launch.waves.get_mut(&place) {
                wave.private.define(lane, u64::from(start), bytes);
                for word in start / 4..(start + bytes).div_ceil(4) {
                    wave.private.pointers.set(word, lane, tag);
                }
            }
        }
    }

    fn arrive(&mut self, wavefront: &Wavefront, arrival: Arrival) {
        self.launch.arrived(wavefront, arrival);
    }

    fn release(&mut self, group: u32, barriers: u32) {
        self.launch.released(group, barriers);
    }

    fn child_starts(&mut self) {
        if let Some(counts) = &self.counts {
            counts.child_starts();
        }
    }

    fn group_ends(&mut self, group: u32) {
        if let Some(counts) = &self.counts {
            counts.group_ends();
        }
        let launch = &mut self.launch;
        if let Some(group) = launch.groups.remove(&group) {
            launch.history.bytes -= group.words.bytes() + group.global_words.bytes();
        }
        launch.clocks.group_ends(group);
        while let Some((&key, _)) = launch.waves.range((group, 0)..=(group, u32::MAX)).next() {
            launch.waves.remove(&key);
        }
    }
}
