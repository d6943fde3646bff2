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
use crate::exec::barrier::{Group, Shared};
use crate::exec::error::{EmulationError, Fault, Place, Wait};
use crate::exec::observe::Observer;
use crate::exec::registers::lanes;
use crate::exec::run::Pause;
use crate::exec::spin::{QUIET, Saved, TOUCHED, bit};
use crate::exec::wavefront::{State, Wavefront};
use crate::ops::Op;

/// Number of instructions for which a wavefront is watched; longer loops are not detected.
const WATCHED: u64 = 1 << 9;
/// Number of instructions without effect for a wavefront that repeats the same access.
const SUSPECT: u32 = 1 << 7;
/// Maximum number of words tracked per loop.
const WORDS_MAX: usize = 8;

/// A memory word on which a wavefront spins.
pub(super) struct WatchedWord {
    /// Start order of the waiting work-group.
    order: u32,
    place: Place,
    address: u64,
    value: u32,
}

impl<O: Observer> Machine<'_, O> {
    /// Executes a turn of a wavefront; also returns true if the turn had an effect.
    pub(super) fn turn(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
    ) -> (Result<Pause, Fault>, bool) {
        let before = self.progress.last_effect;
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
        (paused, self.progress.last_effect != before)
    }

    fn part_of_turn(
        &mut self,
        wavefront: &mut Wavefront,
        run: impl FnOnce(&mut Self, &mut Wavefront) -> Result<Pause, Fault>,
    ) -> Result<Pause, Fault> {
        let (steps, progress) = (self.progress.steps, self.progress.last_effect);
        let paused = run(self, wavefront);
        let effect = self.progress.last_effect != progress;
        wavefront.spin.turn(self.progress.steps - steps, effect);
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
        let before = self.progress.last_effect;
        for _ in 0..SUSPECT {
            self.watch(wavefront);
            let is_over = wavefront.spin.found.is_some() || self.progress.last_effect != before;
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
            Some(at) if at > self.progress.last_effect => return,
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
                Some((saved, at))
                    if *at >= self.progress.last_effect && saved.is_now(wavefront) =>
                {
                    wavefront.spin.found = Some(self.progress.steps + 1);
                    return;
                }
                // A loop inside the one whose head was kept.
                Some((saved, at))
                    if *at >= self.progress.last_effect && saved.head() != Some(pc) => {}
                _ => {
                    wavefront.spin.forget();
                    let saved = Box::new(Saved::of(wavefront));
                    wavefront.spin.saved = Some((saved, self.progress.steps));
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
            Op::AtomicVector { first, .. } => {
                wavefront.spin.tries = true;
                &tables.atomics[first as usize].address
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
        let bytes = self.memory.device.read(address, 4).ok()?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Watches the words for which a wavefront of `group` spins, after the spin was detected.
    pub(super) fn keep_in_view(&mut self, group: u32, order: u32, wavefront: &Wavefront) {
        if self.options.is_cooperative {
            // It may wait for any other.
            return;
        }
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
                return Err(EmulationError::Spin {
                    place: Box::new(watch.place),
                    word: self.memory.device.nearest(watch.address),
                    wait: Wait::Later {
                        work_group: self.config.group_id(number),
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
                .is_some_and(|at| at > self.progress.last_effect),
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
            Some(&address) => self.memory.device.nearest(address),
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
