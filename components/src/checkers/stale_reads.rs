//! Freshness check of a whole machine: a kernel reads what earlier kernels wrote on other units.
//!
//! All writes are numbered in the order in which their requesters send them, and memories answer
//! with the newest number that reached them. Caches pass the numbers on. A read is stale if its
//! answer has a lower number than the last write to one of its words that
//!
//! * was acknowledged before the read was sent, and
//! * is of another compute unit, in a kernel that ended before the kernel of the read began.
//!
//! Within a kernel, and between kernels of one family of device launches, memory is weakly ordered
//! and stale lines are allowed. A cache has one number for a line, so a later write to the line
//! hides older words beside it. Answers without a number are not judged.

use std::any::type_name;
use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use warpweave_files::Ledger;
use warpweave_framework::{Context, Direction, PortAddress, Simulation, Tap, TapError, Transit};
use warpweave_trace::Program;

use super::answers_beside;
use crate::launch::{KernelDone, KernelReady};
use crate::memory::{LINE_BYTES_MAX, MemRequest, MemResponse, RequestKind, Source};

/// Number of data that no request wrote. Zero belongs to components without numbers.
const INITIAL: u32 = 1;

const WORDS: usize = LINE_BYTES_MAX as usize / 4;

/// Last acknowledged write of a word.
#[derive(Clone, Copy, Default)]
struct Written {
    number: u32,
    /// Index in the list of writers.
    writer: u32,
}

/// Writes and kernels of a machine so far.
struct History {
    program: Arc<Program>,
    /// Host launch that each launch comes from, by number.
    roots: Vec<u32>,
    ledger: Ledger,
    next: u32,
    /// Acknowledged writes by line of the largest size.
    acknowledged: FxHashMap<u64, Box<[Written; WORDS]>>,
    /// Newest number of each word that reached a memory, by line of the largest size.
    arrived: FxHashMap<u64, Box<[u32; WORDS]>>,
    writers: Vec<Source>,
    writer_indices: FxHashMap<(u32, u32, u16), u32>,
    /// Beginnings and ends of kernels so far, and the count at those of each kernel.
    events: u64,
    began: FxHashMap<u32, u64>,
    ended: FxHashMap<u32, u64>,
}

/// Iterates over the words of a message: bit in its mask, line of the largest size, index in that
/// line.
fn words_of(line: u64, words: u32) -> impl Iterator<Item = (u32, u64, usize)> {
    (0..32_u32)
        .filter(move |bit| words >> bit & 1 == 1)
        .map(move |bit| {
            let word = (line / 4).wrapping_add(bit.into());
            (bit, word / WORDS as u64, (word % WORDS as u64) as usize)
        })
}

impl History {
    fn new(program: &Arc<Program>, ledger: &Ledger) -> Self {
        let mut roots: Vec<u32> = Vec::with_capacity(program.kernels.len());
        for (number, kernel) in (0_u32..).zip(&program.kernels) {
            let parent = kernel.parent.map(|parent| parent.kernel as usize);
            roots.push(parent.map_or(number, |parent| roots[parent]));
        }
        Self {
            program: Arc::clone(program),
            roots,
            ledger: ledger.clone(),
            next: INITIAL,
            acknowledged: FxHashMap::default(),
            arrived: FxHashMap::default(),
            writers: Vec::new(),
            writer_indices: FxHashMap::default(),
            events: 0,
            began: FxHashMap::default(),
            ended: FxHashMap::default(),
        }
    }

    fn event(&mut self) -> u64 {
        self.events += 1;
        self.events
    }

    fn writer(&mut self, source: &Source) -> u32 {
        let key = (source.kernel, source.pc, source.compute_unit);
        let index = self.writers.len() as u32;
        let known = *self.writer_indices.entry(key).or_insert(index);
        if known == index {
            self.writers.push(*source);
        }
        known
    }

    /// Charges the memory of one more line.
    fn charge<T>(&self) -> Result<(), String> {
        let bytes = (size_of::<T>() + size_of::<(u64, Box<T>)>()) as u64;
        let charged = self.ledger.charge("the check for stale reads", bytes);
        charged.map_err(|error| error.to_string())
    }

    fn acknowledge(&mut self, response: &MemResponse, written: Written) -> Result<(), String> {
        for (_, line, word) in words_of(response.line, response.words) {
            if !self.acknowledged.contains_key(&line) {
                self.charge::<[Written; WORDS]>()?;
            }
            let known = &mut self.acknowledged.entry(line).or_default()[word];
            if known.number < written.number {
                *known = written;
            }
        }
        Ok(())
    }

    fn arrive(&mut self, request: &MemRequest) -> Result<(), String> {
        if !request.kind.carries_data() {
            return Ok(());
        }
        for (_, line, word) in words_of(request.line, request.words) {
            if !self.arrived.contains_key(&line) {
                self.charge::<[u32; WORDS]>()?;
            }
            let known = &mut self.arrived.entry(line).or_default()[word];
            *known = request.write_sequence.max(*known);
        }
        Ok(())
    }

    /// Returns the number of the newest write to these words that reached a memory.
    fn newest(&self, line: u64, words: u32) -> u32 {
        words_of(line, words)
            .filter_map(|(_, line, word)| Some(self.arrived.get(&line)?[word]))
            .fold(INITIAL, u32::max)
    }

    /// True if the read must return the write, which it need not within one kernel or family.
    fn must_return(&self, read: &Source, written: Written) -> bool {
        let Some(write) = self.writers.get(written.writer as usize) else {
            return false;
        };
        let root = |kernel: u32| self.roots.get(kernel as usize).copied();
        let ended = self.ended.get(&write.kernel);
        let began = self.began.get(&read.kernel);
        written.number > 0
            && write.compute_unit != read.compute_unit
            && root(write.kernel) != root(read.kernel)
            && ended.zip(began).is_some_and(|(ended, began)| ended < began)
    }

    /// Returns the writes that a read must return, by bit of its words.
    fn required(&self, read: &MemRequest) -> Vec<(u32, Written)> {
        words_of(read.line, read.words)
            .filter_map(|(bit, line, word)| Some((bit, self.acknowledged.get(&line)?[word])))
            .filter(|(_, written)| self.must_return(&read.source, *written))
            .collect()
    }

    /// Describes the instruction that sent a request.
    fn place(&self, source: &Source) -> String {
        let Source {
            kernel,
            pc,
            compute_unit,
            work_group,
            ..
        } = *source;
        let launch = self.program.kernels.get(kernel as usize);
        let name = launch.map_or("?", |launch| launch.code.name.as_str());
        let instruction = launch.and_then(|launch| launch.code.instructions.get(pc as usize));
        let opcode = instruction.map_or("?", |instruction| instruction.opcode.as_str());
        let line = instruction.map_or(0, |instruction| instruction.line);
        let line = match line {
            0 => String::new(),
            line => format!(", line {line}"),
        };
        format!(
            "instruction {pc} (`{opcode}`{line}) of kernel {kernel} (`{name}`), work-group {work_group} on compute unit {compute_unit}"
        )
    }
}

/// Request that waits for its response.
enum Open {
    Read {
        source: Source,
        unanswered: u32,
        required: Vec<(u32, Written)>,
    },
    Write {
        unanswered: u32,
        written: Written,
    },
}

/// Port through which a requester sends its requests and receives responses.
struct Requester {
    address: String,
    open: FxHashMap<u32, Open>,
    history: Arc<Mutex<History>>,
}

impl Requester {
    fn request(&mut self, request: &mut MemRequest) {
        let mut history = self.history.lock();
        let unanswered = request.words;
        let open = if request.kind.carries_data() {
            history.next = history.next.saturating_add(1);
            request.write_sequence = history.next;
            let writer = history.writer(&request.source);
            Open::Write {
                unanswered,
                written: Written {
                    number: history.next,
                    writer,
                },
            }
        } else {
            let required = match request.kind {
                RequestKind::Read => history.required(request),
                _ => Vec::new(),
            };
            if required.is_empty() {
                return;
            }
            Open::Read {
                source: request.source,
                unanswered,
                required,
            }
        };
        if request.kind.wants_response() {
            self.open.insert(request.id, open);
        }
    }

    fn response(&mut self, response: &MemResponse) -> Result<(), String> {
        let Some(open) = self.open.get_mut(&response.id) else {
            return Ok(());
        };
        let mut history = self.history.lock();
        let unanswered = match open {
            Open::Write {
                unanswered,
                written,
            } => {
                history.acknowledge(response, *written)?;
                unanswered
            }
            Open::Read {
                source,
                unanswered,
                required,
            } => {
                let number = response.write_sequence;
                let is_stale = |(bit, written): &&(u32, Written)| {
                    response.words >> bit & 1 == 1 && number != 0 && number < written.number
                };
                if let Some((bit, written)) = required.iter().find(is_stale) {
                    return Err(format!(
                        "{}: stale data at {:#x}: read by {}, but before that kernel began it was written by {}; a cache between them keeps lines that nothing invalidates",
                        self.address,
                        response.line.wrapping_add(u64::from(*bit) * 4),
                        history.place(source),
                        history.place(&history.writers[written.writer as usize]),
                    ));
                }
                unanswered
            }
        };
        *unanswered &= !response.words;
        if *unanswered == 0 {
            self.open.remove(&response.id);
        }
        Ok(())
    }
}

/// Watches that reads of a kernel return the writes of earlier kernels on other units. A stale read
/// ends the run with both places. The tracked lines are charged to `ledger`.
///
/// # Errors
/// Fails if a port that sends requests has no matching response port.
pub fn check_stale_reads(
    simulation: &mut Simulation,
    program: &Arc<Program>,
    ledger: &Ledger,
) -> Result<(), TapError> {
    let mut ports = simulation.port_addresses();
    ports.retain(|port| port.capacity > 0);
    let paths: BTreeSet<String> = simulation
        .instances()
        .map(|(path, _)| path.to_owned())
        .collect();
    let carries_requests = |port: &&PortAddress| port.message == type_name::<MemRequest>();
    let owners_of = |direction: Direction| -> BTreeSet<&str> {
        let of_direction = ports.iter().filter(carries_requests);
        let of_direction = of_direction.filter(|port| port.direction == direction);
        of_direction
            .map(|port| owner(&paths, &port.address))
            .collect()
    };
    let (send, take) = (owners_of(Direction::Output), owners_of(Direction::Input));
    let history = Arc::new(Mutex::new(History::new(program, ledger)));
    for port in ports.iter().filter(carries_requests) {
        let owner = owner(&paths, &port.address);
        let response = answers_beside(port, "response");
        match port.direction {
            Direction::Output if !take.contains(owner) => {
                let requester = Arc::new(Mutex::new(Requester {
                    address: port.address.clone(),
                    open: FxHashMap::default(),
                    history: Arc::clone(&history),
                }));
                let watch = Asking(Arc::clone(&requester));
                simulation.tap::<MemRequest>(&port.address, watch)?;
                simulation.tap::<MemResponse>(&response, Asking(requester))?;
            }
            Direction::Input if !send.contains(owner) => {
                let watch = Remembering(Arc::clone(&history));
                simulation.tap::<MemRequest>(&port.address, watch)?;
                simulation.tap::<MemResponse>(&response, Remembering(Arc::clone(&history)))?;
            }
            _ => {}
        }
    }
    let starts = |port: &&PortAddress| {
        port.direction == Direction::Output && port.message == type_name::<KernelReady>()
    };
    for port in ports.iter().filter(starts) {
        let done = answers_beside(port, "done");
        simulation.tap::<KernelReady>(&port.address, Kernels(Arc::clone(&history)))?;
        simulation.tap::<KernelDone>(&done, Kernels(Arc::clone(&history)))?;
    }
    Ok(())
}

/// Returns the path of the instance to which a port belongs.
fn owner<'p>(paths: &BTreeSet<String>, address: &'p str) -> &'p str {
    let mut path = address;
    while let Some((above, _)) = path.rsplit_once('.') {
        path = above;
        if paths.contains(path) {
            break;
        }
    }
    path
}

/// Observes what one requester reads and writes.
struct Asking(Arc<Mutex<Requester>>);

impl Tap<MemRequest> for Asking {
    fn send(
        &mut self,
        _: &mut Context<'_>,
        mut transit: Transit<MemRequest>,
        wire: &mut Vec<Transit<MemRequest>>,
    ) {
        self.0.lock().request(&mut transit.message);
        wire.push(transit);
    }
}

impl Tap<MemResponse> for Asking {
    fn take(&mut self, ctx: &mut Context<'_>, response: &mut MemResponse) {
        if let Err(problem) = self.0.lock().response(response) {
            ctx.fail(problem);
        }
    }
}

/// Observes what one memory returns and stores.
struct Remembering(Arc<Mutex<History>>);

impl Tap<MemRequest> for Remembering {
    fn take(&mut self, ctx: &mut Context<'_>, request: &mut MemRequest) {
        if let Err(problem) = self.0.lock().arrive(request) {
            ctx.fail(problem);
        }
    }
}

impl Tap<MemResponse> for Remembering {
    fn send(
        &mut self,
        _: &mut Context<'_>,
        mut transit: Transit<MemResponse>,
        wire: &mut Vec<Transit<MemResponse>>,
    ) {
        let MemResponse { line, words, .. } = transit.message;
        transit.message.write_sequence = self.0.lock().newest(line, words);
        wire.push(transit);
    }
}

/// Taps between the grid management unit and a work-group scheduler.
struct Kernels(Arc<Mutex<History>>);

impl Tap<KernelReady> for Kernels {
    fn send(
        &mut self,
        _: &mut Context<'_>,
        transit: Transit<KernelReady>,
        wire: &mut Vec<Transit<KernelReady>>,
    ) {
        let mut history = self.0.lock();
        let now = history.event();
        history.began.insert(transit.message.kernel, now);
        wire.push(transit);
    }
}

impl Tap<KernelDone> for Kernels {
    fn take(&mut self, _: &mut Context<'_>, done: &mut KernelDone) {
        let mut history = self.0.lock();
        let now = history.event();
        history.ended.insert(done.kernel, now);
    }
}
