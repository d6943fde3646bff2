//! Kernel import in two passes: the first collects the instructions of each function, the second
//! writes the warp streams.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use warpweave_files::Ledger;
use warpweave_params::Diagnostic;
use warpweave_trace::{
    CacheOperator, Code, Instruction as Static, KernelFileWriter, LANES, Operand, RegisterSet,
    Space, StreamWriter,
};

use crate::body::Sink;
use crate::header::Header;
use crate::instruction::{Instruction, Place, bytes_of_opcode};
use crate::opcodes::{AccessSpace, Architecture, Opcode, look_up};
use crate::space::{PRIVATE_WINDOW_BYTES, Windows};
use crate::text::Line;
use crate::{AccelSimError, Quirks};

/// Maximum number of warps in a launch (half a billion threads). Their bookkeeping alone takes one
/// or two GiB.
const WARPS_MAX: u64 = 1 << 24;

/// Alignment of the base of private offsets, in bytes.
pub(crate) const PRIVATE_ALIGNMENT: u64 = 128;

/// An instruction found in the trace, with its count.
#[derive(Clone, Debug)]
struct ScannedInstruction {
    opcode: Opcode,
    instruction: Static,
    /// Number of times that a warp executed the instruction.
    times: u64,
    /// Index of the instruction in the instruction table.
    number: u32,
}

/// Instructions of a kernel by pc; instructions with the same pc are distinguished by their
/// constant part.
type Table = BTreeMap<u64, BTreeMap<(u32, Box<str>), ScannedInstruction>>;

/// A group of kernels that share their instructions: same name, architecture and register count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    table: Table,
    /// Range of private offsets that are touched: the first, and one past the last.
    private: Option<(u64, u64)>,
    /// Path of the first trace of this function.
    source: PathBuf,
    /// Base that is subtracted from private offsets.
    private_base: u64,
}

/// Key of a function: name, architecture and register count.
pub(crate) type FunctionKey = (String, Architecture, u32);

/// Functions found so far in the list, by key.
pub(crate) type Functions = BTreeMap<FunctionKey, Function>;

/// First pass over a kernel: collects its instructions and the warps present.
pub(crate) struct KernelScan<'a> {
    quirks: Quirks,
    /// Ledger for memory kept per function.
    ledger: &'a Ledger,
    functions: &'a mut Functions,
    path: PathBuf,
    header: Option<Header>,
    function: Function,
    there: Bits,
    /// Ledger for memory kept per kernel.
    warps: Ledger,
}

/// Result of the first pass, needed to write the streams of a kernel.
pub(crate) struct ScannedKernel {
    pub(crate) header: Header,
    /// Warps present in the trace; `None` if all are.
    there: Option<(Bits, Ledger)>,
    windows: Windows,
}

impl<'a> KernelScan<'a> {
    /// Creates the survey for the trace at `path`.
    pub(crate) fn new(
        quirks: Quirks,
        path: PathBuf,
        functions: &'a mut Functions,
        ledger: &'a Ledger,
    ) -> Self {
        Self {
            quirks,
            ledger,
            functions,
            path,
            header: None,
            function: Function::default(),
            there: Bits::default(),
            warps: Ledger::new(&ledger.budget()),
        }
    }

    fn windows(&self) -> Windows {
        Windows::of(
            self.header
                .as_ref()
                .expect("the header precedes everything else"),
            self.quirks,
        )
    }

    /// Ends the survey and returns the surveyed kernel.
    pub(crate) fn finish(self) -> ScannedKernel {
        let windows = self.windows();
        let header = self.header.expect("a trace begins with a header");
        self.functions.insert(header.function(), self.function);
        let there = self.there;
        ScannedKernel {
            header,
            there: (!there.is_full()).then_some((there, self.warps)),
            windows,
        }
    }
}

impl Header {
    /// Returns the key of the kernel's function.
    pub(crate) fn function(&self) -> FunctionKey {
        (self.name.clone(), self.architecture, self.registers)
    }
}

impl ScannedKernel {
    /// True if the trace has the warp with this number.
    fn has(&self, warp: u64) -> bool {
        self.there.as_ref().is_none_or(|(there, _)| there.get(warp))
    }
}

impl Function {
    /// Builds the instruction table and assigns each instruction its index.
    pub(crate) fn code(&mut self, key: &FunctionKey) -> Result<Arc<Code>, Diagnostic> {
        let (name, _, registers) = key;
        let file = self.source.file_name().unwrap_or_default();
        let mut code = Code {
            name: name.clone(),
            registers_per_thread: *registers,
            source: file.display().to_string(),
            ..Code::default()
        };
        for met in self.table.values_mut().flat_map(BTreeMap::values_mut) {
            met.number = code.instructions.len() as u32;
            code.instructions.push(met.instruction.clone());
        }
        let (first, end) = self.private.unwrap_or_default();
        self.private_base = first - first % PRIVATE_ALIGNMENT;
        if end - self.private_base > PRIVATE_WINDOW_BYTES {
            return Err(Diagnostic::error(format!(
                "{}: private memory is accessed from {first:#x} to {end:#x}, a range of more than 16 MiB",
                self.source.display()
            )));
        }
        code.private_bytes = (end - self.private_base) as u32;
        Ok(Arc::new(code))
    }

    /// Returns each unmodelled opcode, what is not modelled, and its instruction count.
    pub(crate) fn unmodelled(&self) -> impl Iterator<Item = (&str, &'static str, u64)> {
        let met = self.table.values().flat_map(BTreeMap::values);
        met.filter(|met| !met.opcode.lacks.is_empty()).map(|met| {
            let opcode = met.instruction.opcode.split('.').next();
            (opcode.unwrap_or_default(), met.opcode.lacks, met.times)
        })
    }
}

impl Sink for KernelScan<'_> {
    fn header(&mut self, header: &Header) -> Result<(), AccelSimError> {
        let warps = warps_of(header);
        if warps > WARPS_MAX {
            let message = format!(
                "{}: kernel {} has {warps} warps; the maximum is {WARPS_MAX}",
                self.path.display(),
                header.name
            );
            return Err(Diagnostic::error(message).into());
        }
        let what = format!("the warps of `{}`", header.name);
        // Those that the trace has, and those whose streams were written.
        let charged = self.warps.charge(&what, warps.div_ceil(8) * 2);
        charged.map_err(Diagnostic::from)?;
        self.there = Bits::of(warps);
        let known = self.functions.remove(&header.function());
        self.function = known.unwrap_or_else(|| Function {
            source: self.path.clone(),
            ..Function::default()
        });
        self.header = Some(header.clone());
        Ok(())
    }

    fn warp(&mut self, place: Place, line: Line<'_>) -> Result<(), AccelSimError> {
        let warps = self.header.as_ref().map_or(0, Header::warps);
        if self.there.set(number(place, warps)) {
            let [x, y, z] = place.block;
            let message = format!("warp {} of block {x},{y},{z} appears twice", place.warp);
            return Err(line.refuse_whole(message).into());
        }
        Ok(())
    }

    fn instruction(
        &mut self,
        line: Line<'_>,
        read: &Instruction<'_>,
        addresses: &[u64; LANES],
    ) -> Result<(), AccelSimError> {
        let windows = self.windows();
        let forms = self.function.table.entry(read.pc).or_default();
        let key = (read.source_line, Box::from(read.constant));
        if !forms.contains_key(&key) {
            let met = self
                .header
                .as_ref()
                .map(|header| meet(line, read, header, self.quirks));
            let met = met.expect("the header precedes everything else")?;
            let what = format!(
                "the instructions of `{}`",
                self.header.as_ref().map_or("", |h| &h.name)
            );
            let bytes = (size_of::<ScannedInstruction>() + 3 * key.1.len()) as u64;
            self.ledger.charge(&what, bytes).map_err(Diagnostic::from)?;
            forms.insert(key.clone(), met);
        }
        let met = forms.get_mut(&key).expect("it was met");
        met.times += 1;
        let is_silent = read.bytes == 0 && read.active != 0;
        if is_silent
            && !matches!(
                met.opcode.reach,
                AccessSpace::Nothing | AccessSpace::Other | AccessSpace::In(Space::Const)
            )
        {
            let expected = format!(
                "the number of bytes that each lane of {} accesses",
                read.opcode.text
            );
            return Err(line.blame(read.width, &expected).into());
        }
        if read.bytes != 0 {
            let private = &mut self.function.private;
            windows.split(
                met.opcode.reach,
                read.active,
                addresses,
                |space, mask, addresses| {
                    if space == Space::Local {
                        for lane in (0..LANES).filter(|lane| mask >> lane & 1 != 0) {
                            let (first, last) = private.unwrap_or((u64::MAX, 0));
                            let end = addresses[lane].saturating_add(u64::from(read.bytes));
                            *private = Some((first.min(addresses[lane]), last.max(end)));
                        }
                    }
                },
            );
        }
        Ok(())
    }

    fn end_of_warp(&mut self) -> Result<(), AccelSimError> {
        Ok(())
    }
}

/// Builds the table entry from the constant part of an instruction.
fn meet(
    line: Line<'_>,
    read: &Instruction<'_>,
    header: &Header,
    quirks: Quirks,
) -> Result<ScannedInstruction, Diagnostic> {
    let field = read.opcode;
    let opcode = look_up(header.architecture, field.text).map_err(|hint| {
        let (start, end) = (field.start, field.start + field.text.len());
        line.refuse(start, end, format!("unknown opcode `{}`", field.text))
            .hint(hint)
    })?;
    if read.bytes != 0 && opcode.reach == AccessSpace::Nothing {
        let expected = format!("0 bytes, because {} does not access memory", field.text);
        return Err(line.blame(read.width, &expected));
    }
    let mut instruction = Static::new(field.text, opcode.class);
    let space = match opcode.reach {
        AccessSpace::In(space) => space,
        AccessSpace::Generic => Space::Global,
        AccessSpace::Nothing | AccessSpace::Other => Space::None,
    };
    if read.bytes != 0 && space != Space::None {
        let bytes = if quirks.opcode_width {
            bytes_of_opcode(field.text)
        } else {
            read.bytes
        };
        instruction = instruction.accessing(space, bytes as u8);
    }
    let set =
        |registers: &[u8]| -> RegisterSet { registers.iter().map(|r| u16::from(*r)).collect() };
    instruction.writes = set(read.destinations.as_slice());
    instruction.reads = set(read.sources.as_slice());
    let registers = read
        .destinations
        .as_slice()
        .iter()
        .chain(read.sources.as_slice());
    instruction.operands = registers
        .map(|r| Operand::Register(u16::from(*r)))
        .collect();
    instruction.line = read.source_line;
    let mut words = field.text.split('.');
    if words.clone().any(|word| word == "STRONG") && words.any(|word| word == "GPU") {
        instruction.hints.cache = CacheOperator::GlobalLevel;
    }
    Ok(ScannedInstruction {
        opcode,
        instruction,
        times: 0,
        number: 0,
    })
}

/// Returns the total number of warps in a launch.
fn warps_of(header: &Header) -> u64 {
    u64::from(header.blocks()) * u64::from(header.warps())
}

/// Returns the linear number of a warp within its launch.
fn number(place: Place, warps: u32) -> u64 {
    u64::from(place.work_group) * u64::from(warps) + u64::from(place.warp)
}

/// Second pass over a kernel: writes the streams of its warps.
pub(crate) struct Streams<'s, 'w> {
    surveyed: &'s ScannedKernel,
    function: &'s Function,
    writer: KernelFileWriter<'w>,
    stream: StreamWriter,
    place: Option<Place>,
    /// Set of warps whose streams have been written.
    written: Bits,
    /// Number of the first warp not yet written.
    next: u64,
}

impl<'s, 'w> Streams<'s, 'w> {
    pub(crate) fn new(
        surveyed: &'s ScannedKernel,
        function: &'s Function,
        writer: KernelFileWriter<'w>,
    ) -> Self {
        let header = &surveyed.header;
        Self {
            surveyed,
            function,
            writer,
            stream: StreamWriter::new(),
            place: None,
            written: Bits::of(warps_of(header)),
            next: 0,
        }
    }

    /// Ends the launch and returns its number.
    pub(crate) fn finish(mut self) -> Result<u32, AccelSimError> {
        self.write_missing()?;
        Ok(self.writer.finish()?)
    }

    /// Writes empty streams for warps missing from the trace, in warp order.
    fn write_missing(&mut self) -> Result<(), AccelSimError> {
        let warps = u64::from(self.surveyed.header.warps());
        while self.next < self.written.length {
            let is_there = self.surveyed.has(self.next);
            if is_there && !self.written.get(self.next) {
                return Ok(());
            }
            if !is_there {
                let (work_group, warp) = (self.next / warps, self.next % warps);
                let empty = StreamWriter::new();
                self.writer
                    .finish_wavefront(work_group as u32, warp as u32, empty)?;
            }
            self.next += 1;
        }
        Ok(())
    }
}

impl Sink for Streams<'_, '_> {
    fn header(&mut self, header: &Header) -> Result<(), AccelSimError> {
        if *header != self.surveyed.header {
            let message = format!(
                "the trace of `{}` changed while it was being read",
                header.name
            );
            return Err(Diagnostic::error(message).into());
        }
        self.write_missing()
    }

    fn warp(&mut self, place: Place, _line: Line<'_>) -> Result<(), AccelSimError> {
        self.place = Some(place);
        Ok(())
    }

    fn instruction(
        &mut self,
        line: Line<'_>,
        read: &Instruction<'_>,
        addresses: &[u64; LANES],
    ) -> Result<(), AccelSimError> {
        let forms = self.function.table.get(&read.pc);
        let key = (read.source_line, Box::from(read.constant));
        let met = forms.and_then(|forms| forms.get(&key));
        let met =
            met.ok_or_else(|| line.refuse_whole("the trace changed while it was being read"))?;
        let (pc, base) = (met.number, self.function.private_base);
        // Parts of one instruction follow each other; only the last does not continue.
        let mut before: Option<(Space, u32, [u64; LANES])> = None;
        let stream = &mut self.stream;
        if read.bytes != 0 {
            let windows = self.surveyed.windows;
            windows.split(
                met.opcode.reach,
                read.active,
                addresses,
                |space, mask, addresses| {
                    let addresses = match space {
                        Space::Local => addresses.map(|address| address.wrapping_sub(base)),
                        _ => *addresses,
                    };
                    if let Some((space, mask, addresses)) = before.replace((space, mask, addresses))
                    {
                        stream.access(pc, mask, space, true, &addresses);
                    }
                },
            );
        }
        match before {
            Some((space, mask, addresses)) => stream.access(pc, mask, space, false, &addresses),
            None => stream.step(pc, read.active),
        }
        Ok(())
    }

    fn end_of_warp(&mut self) -> Result<(), AccelSimError> {
        let Some(place) = self.place.take() else {
            return Ok(());
        };
        let stream = std::mem::take(&mut self.stream);
        self.writer
            .finish_wavefront(place.work_group, place.warp, stream)?;
        self.written
            .set(number(place, self.surveyed.header.warps()));
        self.write_missing()
    }
}

/// Bit set of fixed size.
#[derive(Clone, Debug, Default)]
struct Bits {
    words: Vec<u64>,
    length: u64,
    count: u64,
}

impl Bits {
    fn of(length: u64) -> Self {
        Self {
            words: vec![0; length.div_ceil(64) as usize],
            length,
            count: 0,
        }
    }

    fn get(&self, at: u64) -> bool {
        self.words[(at / 64) as usize] >> (at % 64) & 1 != 0
    }

    /// True if all bits of the set are set.
    fn is_full(&self) -> bool {
        self.count == self.length
    }

    /// Sets a bit and returns its previous value.
    fn set(&mut self, at: u64) -> bool {
        let was = self.get(at);
        self.count += u64::from(!was);
        self.words[(at / 64) as usize] |= 1 << (at % 64);
        was
    }
}
