//! Test cases: an instruction form, the kernel that runs it over rows of operands, and the results
//! expected by a model.

use std::fmt::Write as _;

use warpweave_ptx::{
    CodeForm, DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, Module, launch,
};
use warpweave_random::CounterRng;

use super::exact::{BRAIN, DOUBLE, Format, HALF, SINGLE};
use crate::harness::HEADER;

/// A PTX type as used by the models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) bits: u32,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Unsigned,
    Signed,
    Float(Format),
    /// A pair of floating-point numbers.
    Floats(Format),
    Integers {
        signed: bool,
    },
    Predicate,
}

pub(super) const WORD: Type = Type {
    bits: 32,
    kind: Kind::Unsigned,
};
pub(super) const DOUBLE_WORD: Type = Type {
    bits: 64,
    kind: Kind::Unsigned,
};
pub(super) const PREDICATE: Type = Type {
    bits: 1,
    kind: Kind::Predicate,
};

impl Type {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let (bits, kind) = match name {
            "b8" | "u8" => (8, Kind::Unsigned),
            "b16" | "u16" => (16, Kind::Unsigned),
            "b32" | "u32" => (32, Kind::Unsigned),
            "b64" | "u64" => (64, Kind::Unsigned),
            "s8" => (8, Kind::Signed),
            "s16" => (16, Kind::Signed),
            "s32" => (32, Kind::Signed),
            "s64" => (64, Kind::Signed),
            "f16" => (16, Kind::Float(HALF)),
            "bf16" => (16, Kind::Float(BRAIN)),
            "f32" => (32, Kind::Float(SINGLE)),
            "f64" => (64, Kind::Float(DOUBLE)),
            "f32x2" => (64, Kind::Floats(SINGLE)),
            "f16x2" => (32, Kind::Floats(HALF)),
            "bf16x2" => (32, Kind::Floats(BRAIN)),
            "u16x2" => (32, Kind::Integers { signed: false }),
            "s16x2" => (32, Kind::Integers { signed: true }),
            "pred" => (1, Kind::Predicate),
            _ => return None,
        };
        Some(Self { bits, kind })
    }

    pub(super) fn is_signed(self) -> bool {
        self.kind == Kind::Signed
    }

    /// Interprets bits as an integer of this type.
    pub(super) fn read(self, bits: u64) -> i128 {
        let value = i128::from(bits) & ((1 << self.bits) - 1);
        if self.is_signed() && value >> (self.bits - 1) == 1 {
            value - (1 << self.bits)
        } else {
            value
        }
    }

    /// Returns the low bits of an integer.
    pub(super) fn write(self, value: i128) -> u64 {
        (value & ((1 << self.bits) - 1)) as u64
    }

    /// Returns the smallest and the largest integer of the type.
    pub(super) fn limits(self) -> (i128, i128) {
        if self.is_signed() {
            (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)
        } else {
            (0, (1 << self.bits) - 1)
        }
    }

    pub(super) fn clamp(self, value: i128) -> u64 {
        let (low, high) = self.limits();
        self.write(value.clamp(low, high))
    }

    /// Returns the floating-point format of the type.
    pub(super) fn format(self) -> Format {
        match self.kind {
            Kind::Float(format) | Kind::Floats(format) => format,
            _ => panic!("no floating-point type"),
        }
    }

    pub(super) fn is_pair(self) -> bool {
        matches!(self.kind, Kind::Floats(_) | Kind::Integers { .. })
    }

    /// Returns the letter of the register file that holds the type.
    fn file(self) -> char {
        match self.bits {
            1 => 'p',
            64 => 'a',
            32 => 'w',
            _ => 'h',
        }
    }

    pub(super) fn register(self, n: usize) -> String {
        format!("%{}{n}", self.file())
    }

    /// Returns edge values that are likely to expose errors.
    fn edges(self) -> Vec<u64> {
        match self.kind {
            Kind::Predicate => vec![0, 1],
            Kind::Unsigned | Kind::Signed => {
                let top = 1u64 << (self.bits - 1);
                let all = top | (top - 1);
                let mut edges = vec![0, 1, 2, 5, 31 & all, 32 & all, 0x7f, 0x80, 0xff];
                edges.extend([top - 1, top, top + 1, all - 1, all]);
                if self.bits > 16 {
                    edges.extend([0x8000, 0xffff]);
                }
                if self.bits > 32 {
                    edges.extend([0x7fff_ffff, 0x8000_0000, 0xffff_ffff]);
                }
                edges
            }
            Kind::Float(format) => {
                let (sign, one, infinity) = (format.sign(), format.one(), format.infinity());
                let least_normal = infinity & !(infinity << 1);
                vec![
                    0,
                    sign,
                    1,
                    sign | (least_normal - 1),
                    least_normal,
                    sign | (least_normal + 1),
                    one,
                    sign | (one + 1),
                    one - 1,
                    one | least_normal >> 1,
                    sign | (one + least_normal * 2 - 1),
                    infinity - 1,
                    sign | (infinity - 1),
                    infinity,
                    sign | infinity,
                    infinity | 1,
                    sign | (sign - 1),
                ]
            }
            Kind::Floats(format) => {
                let half = self.bits / 2;
                let of = Self {
                    bits: half,
                    kind: Kind::Float(format),
                };
                let edges = of.edges();
                let turned = edges.iter().cycle().skip(5);
                edges
                    .iter()
                    .zip(turned)
                    .map(|(a, b)| a << half | b)
                    .collect()
            }
            Kind::Integers { .. } => vec![
                0,
                0x0001_ffff,
                0x7fff_8000,
                0x8000_7fff,
                0xffff_0001,
                0x8001_fffe,
                0x1234_5678,
                0xffff_ffff,
            ],
        }
    }

    fn random(self, dice: CounterRng, count: u64) -> u64 {
        let bits = dice.roll(2 * count);
        let all = if self.bits == 64 {
            u64::MAX
        } else {
            (1 << self.bits) - 1
        };
        match self.kind {
            // Half of the numbers are near one, so that sums and products neither vanish nor
            // overflow.
            Kind::Float(format) if dice.roll(2 * count + 1).is_multiple_of(2) => {
                let exponent = format.infinity();
                let near = format.one()
                    + (dice.roll(2 * count + 1) >> 8) % 4 * (exponent & !(exponent << 1));
                bits & all & !exponent | near & exponent
            }
            _ => bits & all,
        }
    }
}

/// Up to four operands or results of a lane.
pub(super) type Row = [u64; 4];

/// Model that computes the expected results.
pub(super) enum Model {
    /// Computes the results of one lane.
    Lane(Box<dyn Fn(Row) -> Row>),
    /// Computes the results of all lanes of a wavefront.
    Wave(Box<dyn Fn(&[Row; 32]) -> [Row; 32]>),
    /// Computes the result, or each half of it, with the allowed error.
    Near(Format, Box<dyn Fn(f64) -> (f64, f64)>),
}

/// A test case for one form of an instruction.
pub(super) struct Case {
    pub(super) form: String,
    /// Types of values that the form does not name.
    pub(super) types: Vec<&'static str>,
    /// Instruction with its operands: sources are registers 0 to 3, results are 4 to 7.
    pub(super) instruction: String,
    pub(super) sources: Vec<Type>,
    pub(super) results: Vec<Type>,
    /// Text inserted before and after the instruction.
    pub(super) before: String,
    pub(super) after: String,
    pub(super) model: Model,
    /// Limits operands to magnitudes below this value, infinities and NaN.
    pub(super) below: Option<f64>,
}

impl Case {
    /// Creates a case of the form `form d, a, b, ...` with one result.
    pub(super) fn new(form: &str, result: Type, sources: &[Type], model: Model) -> Self {
        let operands: Vec<String> = std::iter::once(result.register(4))
            .chain(sources.iter().enumerate().map(|(n, ty)| ty.register(n)))
            .collect();
        Self {
            form: form.to_owned(),
            types: Vec::new(),
            instruction: format!("{form} {};", operands.join(", ")),
            sources: sources.to_vec(),
            results: vec![result],
            before: String::new(),
            after: String::new(),
            model,
            below: None,
        }
    }

    pub(super) fn lane(
        form: &str,
        result: Type,
        sources: &[Type],
        model: impl Fn(Row) -> u64 + 'static,
    ) -> Self {
        let model = Model::Lane(Box::new(move |row| [model(row), 0, 0, 0]));
        Self::new(form, result, sources, model)
    }

    pub(super) fn opcode(&self) -> &str {
        self.form.split('.').next().unwrap_or_default()
    }

    /// Returns the kernel with this name. It uses registers from 10 on for itself.
    fn kernel(&self, name: &str) -> String {
        let mut text = format!(
            ".visible .entry {name}(.param .u64 in, .param .u64 out) {{
 .reg .b64 %a<16>; .reg .b32 %w<16>; .reg .b16 %h<16>; .reg .pred %p<16>;
 mov.u32 %w14, %ctaid.x; mov.u32 %w15, %tid.x; mad.lo.u32 %w14, %w14, 32, %w15;
 ld.param.u64 %a14, [in]; mad.wide.u32 %a14, %w14, 32, %a14;
 ld.param.u64 %a15, [out]; mad.wide.u32 %a15, %w14, 32, %a15;\n"
        );
        for (n, ty) in self.sources.iter().enumerate() {
            let _ = write!(text, " ld.global.u64 %a{n}, [%a14+{}];", 8 * n);
            let _ = match ty.file() {
                'p' => writeln!(
                    text,
                    " and.b64 %a{n}, %a{n}, 1; setp.ne.u64 %p{n}, %a{n}, 0;"
                ),
                'w' => writeln!(text, " cvt.u32.u64 %w{n}, %a{n};"),
                'h' => writeln!(text, " cvt.u16.u64 %h{n}, %a{n};"),
                _ => writeln!(text),
            };
        }
        for (n, ty) in (4..).zip(&self.results) {
            let _ = match ty.file() {
                'p' => writeln!(text, " setp.ne.u32 %p{n}, 0, 0;"),
                letter => writeln!(text, " mov.b{} %{letter}{n}, 0;", ty.bits.max(16)),
            };
        }
        let _ = writeln!(
            text,
            "{}\n{}\n{}",
            self.before, self.instruction, self.after
        );
        for (n, ty) in (4..).zip(&self.results) {
            let _ = match ty.file() {
                'p' => writeln!(text, " selp.b64 %a{n}, 1, 0, %p{n};"),
                'w' => writeln!(text, " cvt.u64.u32 %a{n}, %w{n};"),
                'h' => writeln!(text, " cvt.u64.u16 %a{n}, %h{n};"),
                _ => writeln!(text),
            };
            let _ = writeln!(text, " st.global.u64 [%a15+{}], %a{n};", 8 * (n - 4));
        }
        text + " ret;\n}\n"
    }

    /// Returns rows of operands: edge values combined across operands, followed by random values.
    fn rows(&self) -> Vec<Row> {
        let edges: Vec<Vec<u64>> = self.sources.iter().map(|ty| ty.edges()).collect();
        let count = |at: usize| edges.get(at).map_or(1, Vec::len);
        let mut rows = Vec::new();
        for i in 0..count(0) {
            for j in 0..count(1) {
                let turned = [i, j, 3 * i + 5 * j + 2, 7 * i + 3 * j + 1];
                rows.push(std::array::from_fn(|at| {
                    edges
                        .get(at)
                        .map_or(0, |edges| edges[turned[at] % edges.len()])
                }));
            }
        }
        let dice = CounterRng::new(14, &self.form);
        let mut random = rows.len() as u64;
        while rows.len() < 64 || rows.len() % 32 != 0 || random < rows.len() as u64 / 4 {
            rows.push(std::array::from_fn(|at| {
                let ty = self.sources.get(at);
                ty.map_or(0, |ty| ty.random(dice, 4 * random + at as u64))
            }));
            random += 1;
        }
        if let Some(below) = self.below {
            let format = self.sources[0].format();
            for row in &mut rows {
                let value = format.value(row[0]);
                if value.is_finite() && value.abs() >= below {
                    row[0] = 0;
                }
            }
        }
        rows
    }

    /// Describes the first result that differs from the model.
    fn mistakes(&self, rows: &[Row], got: &[Row]) -> Option<String> {
        let told = |row: &Row, got: &Row, expected: &dyn std::fmt::Debug| {
            let mut text = format!("{} of", self.instruction);
            for (value, _) in row.iter().zip(&self.sources) {
                let _ = write!(text, " {value:#x}");
            }
            text += ": ";
            for (value, _) in got.iter().zip(&self.results) {
                let _ = write!(text, "{value:#x} ");
            }
            Some(format!("{text}, expected {expected:x?}"))
        };
        for (rows, got) in rows.chunks(32).zip(got.chunks(32)) {
            match &self.model {
                Model::Wave(model) => {
                    let rows = rows.try_into().expect("32 lanes");
                    for ((expected, got), row) in model(rows).iter().zip(got).zip(rows) {
                        if expected[..self.results.len()] != got[..self.results.len()] {
                            return told(row, got, expected);
                        }
                    }
                }
                Model::Lane(model) => {
                    for (row, got) in rows.iter().zip(got) {
                        let expected = model(*row);
                        if expected[..self.results.len()] != got[..self.results.len()] {
                            return told(row, got, &expected);
                        }
                    }
                }
                Model::Near(format, model) => {
                    let parts = if self.results[0].is_pair() { 2 } else { 1 };
                    let mask = format.sign() | (format.sign() - 1);
                    for (row, got) in rows.iter().zip(got) {
                        for part in 0..parts {
                            let of = |bits: u64| bits >> (16 * part) & mask;
                            let (value, by) = model(format.value(of(row[0])));
                            let found = format.value(of(got[0]));
                            let near = if value.is_nan() || found.is_nan() {
                                of(got[0]) == format.nan() && value.is_nan()
                            } else {
                                found == value || (found - value).abs() <= by
                            };
                            if !near {
                                return told(row, got, &(value, by, found));
                            }
                        }
                    }
                }
            }
        }
        None
    }
}

/// Runs cases that share a module and returns the mismatches found.
pub(super) fn run(cases: &[Case], module_variables: &str) -> Vec<String> {
    let mut text = format!("{HEADER}{module_variables}");
    for (number, case) in cases.iter().enumerate() {
        text += &case.kernel(&format!("k{number}"));
    }
    let forms = [CodeForm::AsWritten, CodeForm::AsCompiled];
    let mistakes = forms.map(|form| run_as(cases, &text, form));
    mistakes.into_iter().flatten().collect()
}

/// Returns the mistakes of the cases' kernels in one form of code.
fn run_as(cases: &[Case], text: &str, form: CodeForm) -> Vec<String> {
    let module = match Module::parse_as("conformance.ptx", text, form) {
        Ok(module) => module,
        Err(errors) => return vec![errors.to_string()],
    };
    let mut mistakes: Vec<String> = module
        .refused()
        .iter()
        .map(|refused| refused.reasons.to_string())
        .collect();
    for (number, case) in cases.iter().enumerate() {
        let name = format!("k{number}");
        if module.kernel(&name).is_err() {
            continue;
        }
        let rows = case.rows();
        let mut memory = DeviceMemory::new();
        let bytes = 32 * rows.len() as u64;
        let (from, to) = (memory.allocate("in", bytes), memory.allocate("out", bytes));
        let raw: Vec<u8> = rows
            .iter()
            .flatten()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        memory.write(from, &raw).expect("inside the buffer");
        let config = LaunchConfig {
            grid: [rows.len() as u32 / 32, 1, 1],
            block: [32, 1, 1],
            dynamic_local_bytes: 0,
            args: &[KernelArgument::Pointer(from), KernelArgument::Pointer(to)],
        };
        if let Err(error) = launch(
            &module,
            &name,
            config,
            &mut memory,
            &EmulationOptions::default(),
        ) {
            mistakes.push(format!("{}: {error}", case.instruction));
            continue;
        }
        let raw = memory.read(to, bytes).expect("inside the buffer");
        let got: Vec<Row> = raw
            .chunks(32)
            .map(|row| {
                std::array::from_fn(|at| {
                    let bytes = row[8 * at..8 * at + 8].try_into();
                    u64::from_le_bytes(bytes.expect("eight bytes"))
                })
            })
            .collect();
        mistakes.extend(case.mistakes(&rows, &got));
    }
    mistakes
}

/// Expands a pattern: `{a,b,}` stands for each of its alternatives.
pub(super) fn forms(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else {
        return vec![pattern.to_owned()];
    };
    let (choices, after) = rest.split_once('}').expect("a brace is closed");
    let after = forms(after);
    let of_choice = |choice: &str| -> Vec<String> {
        after
            .iter()
            .map(|after| format!("{before}{choice}{after}"))
            .collect()
    };
    choices.split(',').flat_map(of_choice).collect()
}

/// Expands several patterns, separated by spaces.
pub(super) fn all_forms(patterns: &str) -> Vec<String> {
    patterns.split_whitespace().flat_map(forms).collect()
}

pub(super) fn has(form: &str, modifier: &str) -> bool {
    form.split('.').skip(1).any(|word| word == modifier)
}

/// Returns the types that a form names, in order.
pub(super) fn types(form: &str) -> Vec<Type> {
    form.split('.')
        .skip(1)
        .filter_map(Type::from_name)
        .collect()
}
