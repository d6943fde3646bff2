//! Detection of spin loops: wavefronts that wait for memory to change, and parties that can end the
//! wait.
//!
//! A wavefront without effect for a long time is watched for a while. If it returns to a loop head
//! with the same registers and paths, it spins until a word that it read changes. If all running
//! wavefronts spin like this, the launch is stuck. The word may also be changed by a work-group
//! that started later and had not touched it before. Then the loop is a grid-wide barrier, which
//! passes only if all work-groups are resident. The holder of a lock, in contrast, has touched the
//! lock before.
//!
//! For "residency" and its effects see the CUDA C++ Programming Guide, "Grid Synchronization".

use crate::address_space::DEVICE_BASE;
use crate::exec::Machine;
use crate::exec::access::lanes;
use crate::exec::barrier::Shared;
use crate::exec::error::{EmulationError, Fault, Place, Wait};
use crate::exec::observe::Observer;
use crate::exec::registers::Register;
use crate::exec::run::Pause;
use crate::exec::schedule::Group;
use crate::exec::stack::{Activation, Path};
use crate::exec::wavefront::{State, Wavefront};
use crate::ops::Op;

/// Instructions without effect before a wavefront is watched for the first time; each further
/// interval is four times longer.
const QUIET: u64 = 1 << 12;
/// Number of instructions for which a wavefront is watched; longer loops are not detected.
const WATCHED: u64 = 1 << 9;
/// Number of instructions without effect for a wavefront that repeats the same access.
const SUSPECT: u32 = 1 << 7;
/// Maximum number of words tracked per loop.
const WORDS_MAX: usize = 8;
/// Size of the Bloom filter of touched addresses, in 64-bit words.
const TOUCHED: usize = 8;

/// Spin loop detection state of a wavefront.
#[derive(Default)]
pub(super) struct Spin {
    /// Number of instructions since its last effect.
    quiet: u64,
    /// Value of `quiet` at which the wavefront is watched next.
    next: u64,
    /// Saved state at a loop head, with its time.
    saved: Option<(Box<Saved>, u64)>,
    /// Device memory words read since the state was saved.
    words: Vec<u64>,
    /// True if one of the reads was an atomic, as in a lock attempt.
    tries: bool,
    /// Last access that may be a wait: instruction, lanes, lowest lane's address, and time of the
    /// launch's last effect.
    last: (u32, u32, u64, u64),
    /// True if the wavefront repeated the same access with no effect in between.
    is_suspect: bool,
    /// Instructions without effect after which a suspect is examined.
    patience: u64,
    /// Time at which a spin was detected, in instructions of the launch.
    found: Option<u64>,
    /// Bloom filter of the addresses of atomics and strong loads.
    touched: [u64; TOUCHED],
}

#[allow(clippy::vec_box)] // As the registers are.
/// State that determines the further execution of a wavefront, apart from memory.
struct Saved {
    words: Vec<Box<Register<u32>>>,
    doubles: Vec<Box<Register<u64>>>,
    predicates: Vec<u32>,
    paths: Vec<Path>,
    activations: Vec<Activation>,
    carry: u32,
}

/// A memory word on which a wavefront spins.
pub(super) struct WatchedWord {
    /// Start order of the waiting work-group.
    order: u32,
    place: Place,
    address: u64,
    value: u32,
}

fn bit(address: u64) -> (usize, u64) {
    let hash = (address >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55;
    (hash as usize / 64, 1 << (hash % 64))
}

impl Spin {
    /// Records an access that may take a lock or wait. `effect` is the time of the launch's last
    /// effect.
    #[inline]
    pub(super) fn touch(&mut self, (pc, mask): (u32, u32), addresses: &[u64; 32], effect: u64) {
        let lane = mask.trailing_zeros() as usize & 31;
        let now = (pc, mask, addresses[lane], effect);
        self.is_suspect |= now == self.last && self.quiet >= self.patience;
        self.last = now;
        for lane in lanes(mask) {
            let (word, bit) = bit(addresses[lane]);
            self.touched[word] |= bit;
        }
    }

    /// True if the next turn is to be watched.
    #[inline]
    fn is_due(&self) -> bool {
        self.quiet >= self.next.max(QUIET)
    }

    /// Ends a turn of `instructions` instructions; `effect` is true if the wavefront had an effect.
    #[inline]
    fn turn(&mut self, instructions: u64, effect: bool) {
        if !effect {
            self.quiet += instructions;
            return;
        }
        self.quiet = 0;
        self.next = 0;
        self.patience = 0;
        if self.found.is_some() || self.saved.is_some() {
            self.found = None;
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.saved = None;
        self.words.clear();
        self.tries = false;
    }
}

impl Saved {
    fn of(wavefront: &Wavefront) -> Self {
        let registers = &wavefront.registers;
        Self {
            words: registers.words.clone(),
            doubles: registers.doubles.clone(),
            predicates: registers.predicates.clone(),
            paths: wavefront.paths.clone(),
            activations: wavefront.activations.clone(),
            carry: wavefront.carry,
        }
    }

    fn head(&self) -> Option<usize> {
        self.paths.last().map(|path| path.pc as usize)
    }

    fn is_now(&self, wavefront: &Wavefront) -> bool {
        let registers = &wavefront.registers;
        self.paths == wavefront.paths
            && self.activations == wavefront.activations
            && self.carry == wavefront.carry
            && self.predicates == registers.predicates
            && self.words == registers.words
            && self.doubles == registers.doubles
    }
}

impl<O: Observer> Machine<'_, O> {
    /// Executes a turn of a wavefront; also returns true if the turn had an effect.
    pub(super) fn turn(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
    ) -> (Result<Pause, Fault>, bool) {
        let before = self.last_progress;
        let mut paused = self.part_of_turn(wavefront, |machine, wavefront| {
            if wavefront.spin.is_due() {
                machine.run_watched(wavefront, shared)
            } else {
                machine.run(wavefront, shared, machine.options.quantum)
            }
        });
        if std::mem::take(&mut wavefront.spin.is_suspect) && matches!(paused, Ok(Pause::Quantum)) {
            paused = self.part_of_turn(wavefront, |machine, wavefront| {
                machine.run_suspect(wavefront, shared)
            });
        }
        (paused, self.last_progress != before)
    }

    fn part_of_turn(
        &mut self,
        wavefront: &mut Wavefront,
        run: impl FnOnce(&mut Self, &mut Wavefront) -> Result<Pause, Fault>,
    ) -> Result<Pause, Fault> {
        let (steps, progress) = (self.steps, self.last_progress);
        let paused = run(self, wavefront);
        let effect = self.last_progress != progress;
        wavefront.spin.turn(self.steps - steps, effect);
        paused
    }

    /// Executes a turn of a wavefront that may be in a spin loop.
    fn run_watched(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
    ) -> Result<Pause, Fault> {
        let begin = wavefront.spin.next.max(QUIET);
        if wavefront.spin.quiet >= begin + WATCHED && wavefront.spin.found.is_none() {
            wavefront.spin.next = 4 * begin;
            wavefront.spin.forget();
        }
        for _ in 0..self.options.quantum {
            self.watch(wavefront);
            let paused = self.run(wavefront, shared, 1)?;
            if !matches!(paused, Pause::Quantum) {
                return Ok(paused);
            }
        }
        Ok(Pause::Quantum)
    }

    /// Confirms or rejects a suspected spin before other wavefronts run.
    fn run_suspect(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
    ) -> Result<Pause, Fault> {
        let before = self.last_progress;
        for _ in 0..SUSPECT {
            self.watch(wavefront);
            let is_over = wavefront.spin.found.is_some() || self.last_progress != before;
            let paused = if is_over {
                Pause::Quantum
            } else {
                self.run(wavefront, shared, 1)?
            };
            if is_over || !matches!(paused, Pause::Quantum) {
                return Ok(paused);
            }
        }
        wavefront.spin.is_suspect = false;
        wavefront.spin.patience = 2 * wavefront.spin.quiet + u64::from(SUSPECT);
        wavefront.spin.forget();
        Ok(Pause::Quantum)
    }

    /// Examines the next instruction of a watched wavefront.
    fn watch(&self, wavefront: &mut Wavefront) {
        match wavefront.spin.found {
            Some(at) if at > self.last_progress => return,
            // Someone had an effect; does it still wait?
            Some(_) => {
                wavefront.spin.found = None;
                wavefront.spin.forget();
            }
            None => {}
        }
        let pc = wavefront.pc() as usize;
        let Some(instruction) = self.kernel.code().instructions.get(pc) else {
            return;
        };
        if instruction.loop_head == Some(pc as u32) {
            match &wavefront.spin.saved {
                Some((saved, at)) if *at >= self.last_progress && saved.is_now(wavefront) => {
                    wavefront.spin.found = Some(self.steps + 1);
                    return;
                }
                // A loop inside the one whose head was kept.
                Some((saved, at)) if *at >= self.last_progress && saved.head() != Some(pc) => {}
                _ => {
                    wavefront.spin.forget();
                    let saved = Box::new(Saved::of(wavefront));
                    wavefront.spin.saved = Some((saved, self.steps));
                }
            }
        }
        let tables = &self.kernel.tables;
        let address = match self.kernel.ops[pc].op {
            Op::Load(at) => &tables.accesses[at as usize].address,
            Op::Atomic(at) => {
                wavefront.spin.tries = true;
                &tables.atomics[at as usize].address
            }
            _ => return,
        };
        let mask = wavefront.active();
        let addresses = self.addresses(wavefront, address);
        let words = &mut wavefront.spin.words;
        for lane in lanes(mask) {
            let word = addresses[lane] & !3;
            if word >= DEVICE_BASE && words.len() < WORDS_MAX && !words.contains(&word) {
                words.push(word);
            }
        }
    }

    fn value(&self, address: u64) -> Option<u32> {
        let bytes = self.memory.read(address, 4).ok()?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Watches the words for which a wavefront of `group` spins, after the spin was detected.
    pub(super) fn keep_in_view(&mut self, group: u32, order: u32, wavefront: &Wavefront) {
        if wavefront.spin.found.is_none() || self.watches.iter().any(|watch| watch.order == order) {
            return;
        }
        for &address in &wavefront.spin.words {
            if let Some(value) = self.value(address) {
                let place = self.place(group, wavefront, None);
                self.watches.push(WatchedWord {
                    order,
                    place,
                    address,
                    value,
                });
            }
        }
    }

    /// Rejects a wait ended by a work-group that had not touched the word before its turn.
    /// `touched` holds its earlier accesses.
    pub(super) fn check_waits(
        &mut self,
        number: u32,
        order: u32,
        touched: &TouchedWords,
    ) -> Result<(), EmulationError> {
        let mut at = 0;
        while at < self.watches.len() {
            let watch = &self.watches[at];
            if self.value(watch.address) == Some(watch.value) {
                at += 1;
                continue;
            }
            let watch = self.watches.swap_remove(at);
            if order > watch.order && !touched.has(watch.address) {
                let [gx, gy, _] = self.grid;
                return Err(EmulationError::Spin {
                    place: Box::new(watch.place),
                    word: self.memory.nearest(watch.address),
                    wait: Wait::Later {
                        work_group: [number % gx, number / gx % gy, number / gx / gy],
                    },
                });
            }
        }
        Ok(())
    }

    /// Returns the error if all running wavefronts wait in loops.
    pub(super) fn stuck(&self, resident: &[Group], not_started: usize) -> Option<EmulationError> {
        let running = |group: &&Group| {
            let mut running = group.wavefronts.iter();
            running.any(|wavefront| wavefront.state == State::Running)
        };
        let waits = |wavefront: &Wavefront| match wavefront.state {
            State::Running => wavefront
                .spin
                .found
                .is_some_and(|at| at > self.last_progress),
            _ => true,
        };
        let all = resident.iter().flat_map(|group| &group.wavefronts);
        if !all.into_iter().all(waits) {
            return None;
        }
        let group = resident.iter().find(running)?;
        let mut of_group = group.wavefronts.iter();
        let wavefront = of_group.find(|wavefront| wavefront.state == State::Running)?;
        let alive = wavefront.paths.iter().fold(0, |all, path| all | path.mask);
        let behind = (alive & !wavefront.active()).count_ones();
        let word = match wavefront.spin.words.first() {
            Some(&address) => self.memory.nearest(address),
            None => "local memory of the work-group".to_owned(),
        };
        let wait = match (behind, not_started) {
            (0, 0) => Wait::Nobody,
            (1.., 0) => Wait::LockStep { lanes: behind },
            (1.., _) if wavefront.spin.tries => Wait::LockStep { lanes: behind },
            (_, work_groups) => Wait::NotStarted { work_groups },
        };
        Some(EmulationError::Spin {
            place: Box::new(self.place(group.number, wavefront, None)),
            word,
            wait,
        })
    }
}

/// Bloom filter of the addresses that a work-group touched before a turn.
pub(super) struct TouchedWords([u64; TOUCHED]);

impl TouchedWords {
    pub(super) fn of(group: &Group) -> Self {
        let mut all = [0; TOUCHED];
        for wavefront in &group.wavefronts {
            for (all, word) in all.iter_mut().zip(&wavefront.spin.touched) {
                *all |= word;
            }
        }
        Self(all)
    }

    fn has(&self, address: u64) -> bool {
        let (word, bit) = bit(address);
        self.0[word] & bit != 0
    }
}
