//! Common interface of the VCD and FST waveform files.

use std::io::{self, Seek, Write};

use fst_writer::{
    FstBodyWriter, FstFileType, FstHeaderWriter, FstInfo, FstScopeType, FstSignalId, FstSignalType,
    FstVarDirection, FstVarType, FstWriteError,
};
use vcd::{IdCode, TimescaleUnit, Value, VarType};
use warpweave_framework::{Sample, Shape};

/// Variable of a waveform, with scopes and shape.
pub(crate) struct Variable {
    scopes: Vec<String>,
    name: String,
    shape: Shape,
}

impl Variable {
    /// Creates a variable. `path` consists of the scopes and the name, separated by dots.
    pub(crate) fn new(path: &str, shape: Shape) -> Self {
        let plain = path.replace('[', "(").replace(']', ")").replace(' ', "_");
        let mut scopes: Vec<_> = plain.split('.').map(str::to_owned).collect();
        let name = scopes.pop().expect("a path has a last part");
        Self {
            scopes,
            name,
            shape,
        }
    }
}

/// Interface of a waveform file that is being written.
pub(crate) trait Writer {
    /// Writes the variables that have new values at `time`, in picoseconds.
    fn changes(
        &mut self,
        time: u64,
        changes: &mut dyn Iterator<Item = (u32, &Sample)>,
    ) -> io::Result<()>;

    /// Ends the file at `time`, in picoseconds.
    fn finish(&mut self, time: u64) -> io::Result<()>;
}

/// Declaration of variables within scopes: `enter` and `leave` a scope, declare a variable.
trait Declare {
    fn enter(&mut self, scope: &str) -> io::Result<()>;
    fn leave(&mut self) -> io::Result<()>;
    fn variable(&mut self, number: usize, variable: &Variable) -> io::Result<()>;
}

fn declare_all(variables: &[Variable], out: &mut dyn Declare) -> io::Result<()> {
    // Every scope is opened once, so variables come in the order of their scopes.
    let mut order: Vec<_> = (0..variables.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (&variables[*a], &variables[*b]);
        (&a.scopes, &a.name).cmp(&(&b.scopes, &b.name))
    });
    let mut open: &[String] = &[];
    for number in order {
        let variable = &variables[number];
        let shared = open
            .iter()
            .zip(&variable.scopes)
            .take_while(|(a, b)| a == b)
            .count();
        for _ in shared..open.len() {
            out.leave()?;
        }
        for scope in &variable.scopes[shared..] {
            out.enter(scope)?;
        }
        open = &variable.scopes;
        out.variable(number, variable)?;
    }
    for _ in open {
        out.leave()?;
    }
    Ok(())
}

/// Writer for VCD (value-change dump), a text format.
pub(crate) struct Vcd<W: Write> {
    out: vcd::Writer<W>,
    codes: Vec<(IdCode, Shape)>,
}

impl<W: Write> Vcd<W> {
    pub(crate) fn new(out: W, variables: &[Variable]) -> io::Result<Self> {
        let mut vcd = Self {
            out: vcd::Writer::new(out),
            codes: vec![(IdCode::FIRST, Shape::Hidden); variables.len()],
        };
        vcd.out
            .version(concat!("warpweave ", env!("CARGO_PKG_VERSION")))?;
        vcd.out.timescale(1, TimescaleUnit::PS)?;
        declare_all(variables, &mut vcd)?;
        vcd.out.enddefinitions()?;
        Ok(vcd)
    }
}

impl<W: Write> Declare for Vcd<W> {
    fn enter(&mut self, scope: &str) -> io::Result<()> {
        self.out.add_module(scope)
    }

    fn leave(&mut self) -> io::Result<()> {
        self.out.upscope()
    }

    fn variable(&mut self, number: usize, variable: &Variable) -> io::Result<()> {
        let (kind, width) = match variable.shape {
            Shape::Bits(width) => (VarType::Wire, width),
            Shape::Real => (VarType::Real, 64),
            Shape::Text | Shape::Hidden => (VarType::String, 1),
        };
        let code = self.out.add_var(kind, width, &variable.name, None)?;
        self.codes[number] = (code, variable.shape);
        Ok(())
    }
}

impl<W: Write> Writer for Vcd<W> {
    fn changes(
        &mut self,
        time: u64,
        changes: &mut dyn Iterator<Item = (u32, &Sample)>,
    ) -> io::Result<()> {
        self.out.timestamp(time)?;
        for (variable, value) in changes {
            let (code, shape) = self.codes[variable as usize];
            match value {
                Sample::Bits(value) => {
                    let bit = |b: u32| Value::from(value >> b & 1 != 0);
                    match shape {
                        Shape::Bits(1) => self.out.change_scalar(code, bit(0))?,
                        Shape::Bits(bits) => {
                            self.out.change_vector(code, (0..bits).rev().map(bit))?;
                        }
                        _ => {}
                    }
                }
                Sample::Real(value) => self.out.change_real(code, *value)?,
                // Blanks end a text.
                Sample::Text(text) => self.out.change_string(code, &text.replace(' ', "_"))?,
            }
        }
        Ok(())
    }

    fn finish(&mut self, time: u64) -> io::Result<()> {
        self.out.timestamp(time)?;
        self.out.flush()
    }
}

/// Writer for FST (fast signal trace), which compresses blocks.
pub(crate) struct Fst<W: Write + Seek> {
    body: Option<FstBodyWriter<W>>,
    signals: Vec<Option<(FstSignalId, Shape)>>,
    text: Vec<u8>,
}

/// Bytes of changes buffered in memory before a block is written.
const BLOCK: usize = 64 << 20;

struct FstDeclarations<W: Write + Seek> {
    header: FstHeaderWriter<W>,
    /// Signal ids and shapes; `None` for text variables, which the library cannot write.
    signals: Vec<Option<(FstSignalId, Shape)>>,
}

impl<W: Write + Seek> Fst<W> {
    pub(crate) fn new(out: W, variables: &[Variable]) -> io::Result<Self> {
        let info = FstInfo {
            start_time: 0,
            timescale_exponent: -12,
            version: concat!("warpweave ", env!("CARGO_PKG_VERSION")).to_owned(),
            // The same run gives the same file.
            date: String::new(),
            file_type: FstFileType::Verilog,
        };
        let mut declarations = FstDeclarations {
            header: FstHeaderWriter::new(out, &info).map_err(told)?,
            signals: vec![None; variables.len()],
        };
        declare_all(variables, &mut declarations)?;
        Ok(Self {
            body: Some(declarations.header.finish().map_err(told)?),
            signals: declarations.signals,
            text: Vec::new(),
        })
    }
}

impl<W: Write + Seek> Declare for FstDeclarations<W> {
    fn enter(&mut self, scope: &str) -> io::Result<()> {
        self.header
            .scope(scope, "", FstScopeType::Module)
            .map_err(told)
    }

    fn leave(&mut self) -> io::Result<()> {
        self.header.up_scope().map_err(told)
    }

    fn variable(&mut self, number: usize, variable: &Variable) -> io::Result<()> {
        let (signal, kind) = match variable.shape {
            Shape::Bits(bits) => (FstSignalType::bit_vec(bits), FstVarType::Wire),
            Shape::Real => (FstSignalType::real(), FstVarType::Real),
            Shape::Text | Shape::Hidden => return Ok(()),
        };
        let direction = FstVarDirection::Implicit;
        let id = self
            .header
            .var(&variable.name, signal, kind, direction, None)
            .map_err(told)?;
        self.signals[number] = Some((id, variable.shape));
        Ok(())
    }
}

impl<W: Write + Seek> Writer for Fst<W> {
    fn changes(
        &mut self,
        time: u64,
        changes: &mut dyn Iterator<Item = (u32, &Sample)>,
    ) -> io::Result<()> {
        let body = self.body.as_mut().expect("not finished");
        body.time_change(time).map_err(told)?;
        for (variable, value) in changes {
            let Some((id, shape)) = self.signals[variable as usize] else {
                continue;
            };
            self.text.clear();
            match (shape, value) {
                (Shape::Bits(bits), Sample::Bits(value)) => {
                    let digit = |b: u32| b'0' + u8::from(value >> b & 1 != 0);
                    self.text.extend((0..bits).rev().map(digit));
                }
                (Shape::Real, Sample::Real(value)) => self.text.extend(value.to_le_bytes()),
                _ => continue,
            }
            body.signal_change(id, &self.text).map_err(told)?;
        }
        if body.size() > BLOCK {
            body.flush().map_err(told)?;
        }
        Ok(())
    }

    fn finish(&mut self, time: u64) -> io::Result<()> {
        if let Some(mut body) = self.body.take() {
            body.time_change(time).map_err(told)?;
            body.finish().map_err(told)?.flush()?;
        }
        Ok(())
    }
}

fn told(error: FstWriteError) -> io::Error {
    match error {
        FstWriteError::Io(error) => error,
        other => io::Error::other(other),
    }
}
