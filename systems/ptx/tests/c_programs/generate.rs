//! Generator of random C programs without undefined behaviour, with the same text for host and
//! device.
//!
//! A program is a function `program(lane, out)` over integers and floats of every width. It has
//! loops, branches, `switch`, private arrays, tables, structures passed by value and calls. Shifts
//! are masked, and divisors are small and positive. Floats are converted to integers only within
//! range, and NaN bits are never observed. Signed numbers wrap (`-fwrapv`).

use std::fmt::Write as _;

use warpweave_random::CounterRng;

const TYPES: [&str; 10] = [
    "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "float", "double",
];

/// Number of lanes for which a program runs.
pub(crate) const LANES: u32 = 64;
/// Number of 64-bit results of each lane.
pub(crate) const RESULTS: u32 = 4;

/// Types, checked conversions and entry points for host and device.
const HEAD: &str = "\
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16;
typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64;
typedef struct { i32 a; double b; u8 c; float d; } pack;
#define FN static __attribute__((noinline))
FN i8 to_i8(double x) { return x > -129.0 && x < 128.0 ? (i8)x : 3; }
FN u8 to_u8(double x) { return x > -1.0 && x < 256.0 ? (u8)x : 3; }
FN i16 to_i16(double x) { return x > -32769.0 && x < 32768.0 ? (i16)x : 5; }
FN u16 to_u16(double x) { return x > -1.0 && x < 65536.0 ? (u16)x : 5; }
FN i32 to_i32(double x) { return x > -2147483649.0 && x < 2147483648.0 ? (i32)x : 7; }
FN u32 to_u32(double x) { return x > -1.0 && x < 4294967296.0 ? (u32)x : 7; }
FN i64 to_i64(double x) { return x > -9e18 && x < 9e18 ? (i64)x : 9; }
FN u64 to_u64(double x) { return x > -1.0 && x < 1.8e19 ? (u64)x : 9; }
FN u64 bits_float(float x) { u32 b; if (x != x) return 11; __builtin_memcpy(&b, &x, 4); return b; }
FN u64 bits_double(double x) { u64 b; if (x != x) return 13; __builtin_memcpy(&b, &x, 8); return b; }
FN u64 mix(u64 h, u64 v) { h ^= v; h *= 0x9e3779b97f4a7c15ULL; return h ^ h >> 29; }
";

const TAIL: &str = "
#ifdef DEVICE
__attribute__((nvptx_kernel)) void kernel(u64 *out) {
  u32 lane = __nvvm_read_ptx_sreg_ctaid_x() * 32 + __nvvm_read_ptx_sreg_tid_x();
  program(lane, out + 4 * lane);
}
#else
#include <stdio.h>
int main(void) {
  for (u32 lane = 0; lane < 64; lane++) {
    u64 out[4];
    program(lane, out);
    for (int at = 0; at < 4; at++) printf(\"%llu\\n\", out[at]);
  }
  return 0;
}
#endif
";

struct Variable {
    name: String,
    ty: usize,
    /// False for loop counters and tables, which are never written.
    writable: bool,
    /// Number of elements, a power of two; zero for a scalar.
    elements: u64,
}

struct Function {
    name: String,
    result: usize,
    parameters: Vec<usize>,
    /// Maximum number of iterations of its innermost loop.
    rounds: u64,
}

/// Maximum iterations of the innermost loop of a function, including all functions it calls.
const ROUNDS: u64 = 48;
const ROUNDS_WITH_CALLS: u64 = 600;

/// Generates a program, one function after another.
struct Writer {
    dice: CounterRng,
    count: u64,
    text: String,
    variables: Vec<Variable>,
    functions: Vec<Function>,
    names: u64,
    /// Maximum executions of the current statement per call of its function, and the largest value
    /// so far.
    rounds: u64,
    most_rounds: u64,
}

/// Returns the program generated from this number.
pub(crate) fn program(number: u64) -> String {
    let mut writer = Writer {
        dice: CounterRng::new(number, "C program"),
        count: 0,
        text: HEAD.to_owned(),
        variables: Vec::new(),
        functions: Vec::new(),
        names: 0,
        rounds: 1,
        most_rounds: 1,
    };
    writer.tables();
    for _ in 0..=writer.below(3) {
        writer.function();
    }
    writer.main();
    writer.text + TAIL
}

impl Writer {
    fn below(&mut self, n: u64) -> u64 {
        self.count += 1;
        self.dice.below(self.count, n)
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len() as u64) as usize]
    }

    fn ty(&mut self) -> usize {
        self.below(TYPES.len() as u64) as usize
    }

    fn is_float(ty: usize) -> bool {
        ty >= 8
    }

    fn name(&mut self, letter: char) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    fn literal(&mut self, ty: usize) -> String {
        let of_float = [
            "0.0",
            "1.0",
            "-1.5",
            "0.1",
            "3.25e7",
            "-2.5e-9",
            "1e30",
            "6.1e-39",
            "0.333333333333",
        ];
        if Self::is_float(ty) {
            return format!("({}){}", TYPES[ty], self.pick(&of_float));
        }
        let value = match self.below(4) {
            0 => self.below(4),
            1 => self.below(256),
            2 => (1u64 << self.below(64)).wrapping_sub(self.below(2)),
            _ => {
                self.count += 1;
                self.dice.roll(self.count)
            }
        };
        format!("({}){value}ULL", TYPES[ty])
    }

    /// Returns the text that converts a value from one type to another.
    fn converted(from: usize, to: usize, text: &str) -> String {
        if Self::is_float(from) && !Self::is_float(to) {
            return format!("to_{}({text})", TYPES[to]);
        }
        format!("({})({text})", TYPES[to])
    }

    fn leaf(&mut self, ty: usize) -> String {
        if self.variables.is_empty() || self.below(5) == 0 {
            return self.literal(ty);
        }
        let at = self.below(self.variables.len() as u64) as usize;
        let (name, of, elements) = {
            let variable = &self.variables[at];
            (variable.name.clone(), variable.ty, variable.elements)
        };
        if elements == 0 {
            return Self::converted(of, ty, &name);
        }
        let index = self.expression(5, 0);
        Self::converted(of, ty, &format!("{name}[({index}) & {}]", elements - 1))
    }

    /// Returns an expression of this type with at most this depth.
    fn expression(&mut self, ty: usize, depth: u32) -> String {
        if depth == 0 {
            return self.leaf(ty);
        }
        let depth = depth - 1;
        let name = TYPES[ty];
        match self.below(10) {
            0 => self.leaf(ty),
            1 => {
                let from = self.ty();
                let value = self.expression(from, depth);
                Self::converted(from, ty, &value)
            }
            2 => {
                let condition = self.condition(depth);
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                format!("({condition} ? {a} : {b})")
            }
            3 if !self.functions.is_empty() => self.call(ty, depth),
            4 => {
                let a = self.expression(ty, depth);
                if Self::is_float(ty) {
                    let (suffix, b) = (if ty == 8 { "f" } else { "" }, self.expression(ty, depth));
                    let c = self.leaf(ty);
                    return match self.below(5) {
                        0 => format!("__builtin_sqrt{suffix}({a})"),
                        1 => format!("__builtin_fabs{suffix}({a})"),
                        2 => format!("__builtin_fma{suffix}({a}, {b}, {c})"),
                        3 => format!("__builtin_floor{suffix}({a})"),
                        _ => format!("(-({a}))"),
                    };
                }
                let operator = self.pick(&["-", "~", "!"]);
                format!("({name})({operator}({a}))")
            }
            5 if !Self::is_float(ty) => {
                let (a, by) = (self.expression(ty, depth), self.expression(5, depth));
                let width = [8, 8, 16, 16, 32, 32, 64, 64][ty];
                let operator = self.pick(&["<<", ">>"]);
                format!("({name})(({a}) {operator} (({by}) & {}))", width - 1)
            }
            6 if !Self::is_float(ty) => {
                let (a, b) = (self.expression(ty, depth), self.expression(1, depth));
                let operator = self.pick(&["/", "%"]);
                format!("({name})(({a}) {operator} ({name})((({b}) & 63) + 1))")
            }
            7 if !Self::is_float(ty) => {
                let a = self.expression(5, depth);
                let b = self.expression(7, depth);
                match self.below(4) {
                    0 => format!("({name})__builtin_popcount({a})"),
                    1 => format!("({name})__builtin_popcountll({b})"),
                    2 => format!("({name})__builtin_clz(({a}) | 1)"),
                    _ => format!("({name})__builtin_ctzll(({b}) | 1ULL << 63)"),
                }
            }
            _ => {
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                let operator = if Self::is_float(ty) {
                    self.pick(&["+", "-", "*", "/"])
                } else {
                    self.pick(&["+", "-", "*", "&", "|", "^"])
                };
                format!("({name})(({a}) {operator} ({b}))")
            }
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        let ty = self.ty();
        let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
        let operator = self.pick(&["==", "!=", "<", "<=", ">", ">="]);
        let first = format!("({a}) {operator} ({b})");
        match self.below(6) {
            0 => {
                let other = self.leaf(4);
                let join = self.pick(&["&&", "||"]);
                format!("(({first}) {join} ({other}) > 9)")
            }
            _ => format!("({first})"),
        }
    }

    fn call(&mut self, ty: usize, depth: u32) -> String {
        let at = self.below(self.functions.len() as u64) as usize;
        let rounds = self.rounds * self.functions[at].rounds;
        if rounds > ROUNDS_WITH_CALLS {
            return self.leaf(ty);
        }
        self.most_rounds = self.most_rounds.max(rounds);
        let name = self.functions[at].name.clone();
        let result = self.functions[at].result;
        let parameters = self.functions[at].parameters.clone();
        let arguments: Vec<String> = parameters
            .iter()
            .map(|&ty| self.expression(ty, depth.min(1)))
            .collect();
        let packed = self.leaf(4);
        let given = format!(
            "{name}({}, (pack){{{packed}, 0.5, 200, 1.25f}})",
            arguments.join(", ")
        );
        Self::converted(result, ty, &given)
    }

    fn target(&mut self) -> Option<(String, usize)> {
        let places: Vec<usize> = (0..self.variables.len())
            .filter(|&at| self.variables[at].writable)
            .collect();
        if places.is_empty() {
            return None;
        }
        let at = places[self.below(places.len() as u64) as usize];
        let (name, ty, elements) = {
            let variable = &self.variables[at];
            (variable.name.clone(), variable.ty, variable.elements)
        };
        if elements == 0 {
            return Some((name, ty));
        }
        let index = self.expression(5, 1);
        Some((format!("{name}[({index}) & {}]", elements - 1), ty))
    }

    fn assignment(&mut self) {
        if let Some((target, ty)) = self.target() {
            let value = self.expression(ty, 2);
            let operator = match self.below(4) {
                0 if Self::is_float(ty) => self.pick(&["+=", "-=", "*="]),
                0 => self.pick(&["+=", "^=", "|=", "-="]),
                _ => "=",
            };
            let _ = writeln!(self.text, "{target} {operator} {value};");
        }
    }

    fn block(&mut self, depth: u32) {
        let known = self.variables.len();
        self.text += "{\n";
        for _ in 0..=self.below(3) {
            self.statement(depth);
        }
        self.text += "}\n";
        self.variables.truncate(known);
    }

    fn declaration(&mut self) {
        let (ty, name) = (self.ty(), self.name('v'));
        let elements = [0, 0, 4, 8, 16][self.below(5) as usize];
        if elements == 0 {
            let value = self.expression(ty, 2);
            let _ = writeln!(self.text, "{} {name} = {value};", TYPES[ty]);
        } else {
            let value = self.expression(ty, 1);
            let _ = writeln!(
                self.text,
                "{} {name}[{elements}]; for (int at = 0; at < {elements}; at++) {name}[at] = ({})(({value}) + at);",
                TYPES[ty], TYPES[ty]
            );
        }
        self.variables.push(Variable {
            name,
            ty,
            writable: true,
            elements,
        });
    }

    fn counter(&mut self) -> String {
        let name = self.name('n');
        self.variables.push(Variable {
            name: name.clone(),
            ty: 5,
            writable: false,
            elements: 0,
        });
        name
    }

    fn statement(&mut self, depth: u32) {
        if depth == 0 {
            return self.assignment();
        }
        let depth = depth - 1;
        match self.below(9) {
            2..=4 if 8 * self.rounds > ROUNDS => self.assignment(),
            0 => self.declaration(),
            1 => {
                let condition = self.condition(2);
                let _ = write!(self.text, "if {condition} ");
                self.block(depth);
                if self.below(2) == 0 {
                    self.text += "else ";
                    self.block(depth);
                }
            }
            2 | 3 => {
                let known = self.variables.len();
                // The number of rounds may differ from lane to lane.
                let (bound, rounds) = (self.expression(5, 1), 1 + self.below(5));
                let counter = self.counter();
                let _ = write!(
                    self.text,
                    "for (u32 {counter} = 0; {counter} < (({bound}) & 3) + {rounds}; {counter}++) "
                );
                self.text += "{\n";
                self.rounds *= 8;
                self.most_rounds = self.most_rounds.max(self.rounds);
                self.block(depth);
                if self.below(2) == 0 {
                    let condition = self.condition(1);
                    let way = self.pick(&["break", "continue"]);
                    let _ = writeln!(self.text, "if {condition} {way};");
                    self.assignment();
                }
                self.rounds /= 8;
                self.text += "}\n";
                self.variables.truncate(known);
            }
            4 => {
                let known = self.variables.len();
                let (counter, rounds) = (self.counter(), 1 + self.below(6));
                let _ = writeln!(self.text, "{{ u32 {counter} = 0; do {{");
                self.rounds *= 8;
                self.most_rounds = self.most_rounds.max(self.rounds);
                self.block(depth);
                let condition = self.condition(1);
                self.rounds /= 8;
                let _ = writeln!(
                    self.text,
                    "}} while (++{counter} < {rounds} && {condition}); }}"
                );
                self.variables.truncate(known);
            }
            5 => {
                let value = self.expression(5, 2);
                let cases = 2 + self.below(6);
                let _ = writeln!(self.text, "switch (({value}) % {}) {{", cases + 1);
                for case in 0..cases {
                    let _ = writeln!(self.text, "case {case}:");
                    self.block(depth.min(1));
                    if self.below(3) > 0 {
                        self.text += "break;\n";
                    }
                }
                self.text += "default: ";
                self.block(0);
                self.text += "}\n";
            }
            _ => self.assignment(),
        }
    }

    fn tables(&mut self) {
        for _ in 0..2 {
            let (ty, name) = (self.ty(), self.name('t'));
            let values: Vec<String> = (0..8).map(|_| self.literal(ty)).collect();
            let _ = writeln!(
                self.text,
                "static const {} {name}[8] = {{{}}};",
                TYPES[ty],
                values.join(", ")
            );
            self.variables.push(Variable {
                name,
                ty,
                writable: false,
                elements: 8,
            });
        }
    }

    fn function(&mut self) {
        let known = self.variables.len();
        self.most_rounds = 1;
        let (name, result) = (self.name('f'), self.ty());
        let parameters: Vec<usize> = (0..=self.below(4)).map(|_| self.ty()).collect();
        let _ = write!(self.text, "FN {} {name}(", TYPES[result]);
        for &ty in &parameters {
            let name = self.name('p');
            let _ = write!(self.text, "{} {name}, ", TYPES[ty]);
            self.variables.push(Variable {
                name,
                ty,
                writable: true,
                elements: 0,
            });
        }
        self.text += "pack s) {\n";
        for (field, ty) in [("s.a", 4), ("s.b", 9), ("s.c", 1), ("s.d", 8)] {
            self.variables.push(Variable {
                name: field.to_owned(),
                ty,
                writable: true,
                elements: 0,
            });
        }
        for _ in 0..2 + self.below(3) {
            self.statement(2);
        }
        let value = self.expression(result, 3);
        let _ = writeln!(self.text, "return {value};\n}}");
        self.variables.truncate(known);
        self.functions.push(Function {
            name,
            result,
            parameters,
            rounds: self.most_rounds,
        });
    }

    fn main(&mut self) {
        self.text +=
            "FN void program(u32 lane, u64 *out) {\nu64 seed = lane * 0xd1342543de82ef95ULL + 1;\n";
        for (name, ty) in [("lane", 5), ("seed", 7)] {
            self.variables.push(Variable {
                name: name.to_owned(),
                ty,
                writable: false,
                elements: 0,
            });
        }
        for _ in 0..4 {
            self.declaration();
        }
        for _ in 0..3 + self.below(4) {
            self.statement(3);
        }
        self.text += "u64 h0 = seed, h1 = 1, h2 = 2, h3 = 3;\n";
        let mut text = String::new();
        for (number, variable) in self.variables.iter().enumerate() {
            let hash = format!("h{}", number % 4);
            let as_bits = |value: &str| match TYPES[variable.ty] {
                name @ ("float" | "double") => format!("bits_{name}({value})"),
                _ => format!("(u64){value}"),
            };
            let name = &variable.name;
            if variable.elements == 0 {
                let _ = writeln!(text, "{hash} = mix({hash}, {});", as_bits(name));
            } else {
                let element = as_bits(&format!("{name}[at]"));
                let _ = writeln!(
                    text,
                    "for (int at = 0; at < {}; at++) {hash} = mix({hash}, {element});",
                    variable.elements
                );
            }
        }
        self.text += &text;
        self.text += "out[0] = h0; out[1] = h1; out[2] = h2; out[3] = h3;\n}\n";
    }
}
