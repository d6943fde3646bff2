//! Instruction lines of a warp.

use warpweave_params::Diagnostic;
use warpweave_trace::LANES;

use crate::header::Header;
use crate::text::{Field, Fields, Line};

/// Maximum number of source or destination registers; tracers write up to 5.
pub(crate) const REGISTERS_MAX: usize = 8;

/// Maximum access width of a lane, in bytes.
const WIDTH_MAX: u32 = 32;

/// Number of the zero register, which is never recorded.
pub(crate) const ZERO: u8 = 255;

/// Contents of an instruction line, except for the addresses.
pub(crate) struct Instruction<'a> {
    /// Source line number; 0 if unknown.
    pub(crate) source_line: u32,
    pub(crate) pc: u64,
    pub(crate) active: u32,
    pub(crate) opcode: Field<'a>,
    pub(crate) destinations: Registers,
    pub(crate) sources: Registers,
    pub(crate) width: Field<'a>,
    /// Access width of each lane in bytes; 0 if the instruction does not access memory.
    pub(crate) bytes: u32,
    /// Part that is the same in all warps, except pc and source line: from the destinations to the
    /// width.
    pub(crate) constant: &'a str,
}

/// Source or destination registers of an instruction, without the zero register.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Registers {
    numbers: [u8; REGISTERS_MAX],
    count: usize,
}

impl Registers {
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.numbers[..self.count]
    }

    /// Reads a count and that many registers. Uniform registers and predicates are skipped if the
    /// format has them.
    fn read(fields: &mut Fields<'_>, what: &str, with_classes: bool) -> Result<Self, Diagnostic> {
        // Put together only if they are shown.
        let expected =
            format_args!("the number of {what} registers that follow, 0 to {REGISTERS_MAX}");
        let field = fields.next(expected)?;
        let count: usize = fields.line.number(field, expected)?;
        if count > REGISTERS_MAX {
            return Err(fields.line.blame(field, expected));
        }
        let mut registers = Self::default();
        let expected = format_args!("a {what} register, `R0` to `R255`");
        for _ in 0..count {
            let field = fields.next(expected)?;
            if with_classes && is_uniform_or_predicate(field.text) {
                continue;
            }
            let number = field.text.strip_prefix('R').and_then(|n| n.parse().ok());
            let number: u8 = number.ok_or_else(|| fields.line.blame(field, expected))?;
            if number != ZERO {
                registers.numbers[registers.count] = number;
                registers.count += 1;
            }
        }
        Ok(registers)
    }
}

/// True for `UR4`, `P0` and `UP1`, for example.
fn is_uniform_or_predicate(register: &str) -> bool {
    let number = ["UR", "UP", "P"]
        .iter()
        .find_map(|class| register.strip_prefix(class));
    number.is_some_and(|number| number.parse::<u8>().is_ok())
}

/// Work-group and warp to which an instruction belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Block coordinates as written in the file.
    pub(crate) block: [u32; 3],
    /// Linear number of the work-group in the grid.
    pub(crate) work_group: u32,
    pub(crate) warp: u32,
}

impl<'a> Instruction<'a> {
    /// Parses a line and writes the addresses of its active lanes to `addresses`.
    pub(crate) fn read(
        line: Line<'a>,
        header: &Header,
        place: Place,
        addresses: &mut [u64; LANES],
    ) -> Result<Self, Diagnostic> {
        let mut fields = line.fields();
        if header.with_place {
            let [x, y, z] = place.block;
            let here = [("x", x), ("y", y), ("z", z), ("warp", place.warp)];
            for (what, number) in here {
                let expected = format_args!("the {what} of the current block and warp, {number}");
                let field = fields.next(expected)?;
                if field.text.parse() != Ok(number) {
                    return Err(line.blame(field, expected));
                }
            }
        }
        let source_line = if header.with_line {
            fields.number("a source line")?
        } else {
            0
        };
        let pc = fields.hexadecimal("the pc of an instruction in hexadecimal digits")?;
        let mask = fields.next(MASK)?;
        let active = Some(mask.text).filter(|text| text.len() == 8 && !text.starts_with('+'));
        let active = active.and_then(|text| u32::from_str_radix(text, 16).ok());
        let active = active.ok_or_else(|| line.blame(mask, MASK))?;
        let lanes = header.lanes(place.warp);
        if active & !lanes != 0 {
            let expected = format!("a subset of the warp's lanes, {lanes:08x}");
            return Err(line.blame(mask, &expected));
        }
        let constant_from = mask.start + mask.text.len();
        let destinations = Registers::read(&mut fields, "destination", header.with_values)?;
        let opcode = fields.next("an opcode")?;
        let sources = Registers::read(&mut fields, "source", header.with_values)?;
        if header.with_values && opcode.text.contains("GMMA") {
            fields.number::<u8>("whether a group of matrix operations is committed, 0 or 1")?;
        }
        let width = fields.next(WIDTH)?;
        let mut bytes: u32 = line.number(width, WIDTH)?;
        if header.with_values && is_bulk(opcode.text) {
            // Bulk copies list transfers, not accesses of lanes.
            bytes = 0;
        }
        if bytes != 0 && !(bytes.is_power_of_two() && bytes <= WIDTH_MAX) {
            return Err(line.blame(width, WIDTH));
        }
        let constant = line.text[constant_from..width.start + width.text.len()].trim_start();
        if bytes != 0 {
            read_addresses(&mut fields, active, addresses)?;
        }
        if !header.with_values {
            // Older tracers write none.
            if let Some(immediate) = fields.take() {
                line.number::<i64>(immediate, "an immediate, a decimal number")?;
            }
            fields.end()?;
        }
        Ok(Self {
            source_line,
            pc,
            active,
            opcode,
            destinations,
            sources,
            width,
            bytes,
            constant,
        })
    }
}

/// Opcodes whose lines list the transfers of a copy.
const BULK_COPIES: [&str; 7] = [
    "UTMALDG", "UTMASTG", "UTMAPF", "UTMAREDG", "UBLKCP", "UBLKPF", "UBLKRED",
];

fn is_bulk(opcode: &str) -> bool {
    let base = opcode.split('.').next().unwrap_or_default();
    BULK_COPIES.contains(&base)
}

const MASK: &str = "the active lanes as 8 hexadecimal digits";
const WIDTH: &str = "bytes accessed by each lane: 0, 1, 2, 4, 8, 16 or 32";

fn read_addresses(
    fields: &mut Fields<'_>,
    active: u32,
    addresses: &mut [u64; LANES],
) -> Result<(), Diagnostic> {
    let mode = fields.next("the address mode: 0, 1 or 2")?;
    let lanes = (0..LANES).filter(|lane| active >> lane & 1 != 0);
    match mode.text {
        "0" => {
            for lane in lanes {
                addresses[lane] = fields.hexadecimal("the address of each active lane")?;
            }
        }
        "1" => {
            let base = fields.hexadecimal("the address of the first active lane")?;
            let step: i64 = fields.number("the address stride between lanes")?;
            let run = active >> active.trailing_zeros().min(31);
            if run & run.wrapping_add(1) != 0 {
                let expected =
                    format!("mode 0 or 2 for lanes {active:08x}, which are not contiguous");
                return Err(fields.line.blame(mode, &expected));
            }
            let mut address = base;
            for lane in lanes {
                addresses[lane] = address;
                address = address.wrapping_add_signed(step);
            }
        }
        "2" => {
            let mut address = fields.hexadecimal("the address of the first active lane")?;
            for (turn, lane) in lanes.enumerate() {
                if turn > 0 {
                    let expected =
                        "the address difference to the previous lane, for each further active lane";
                    address = address.wrapping_add_signed(fields.number(expected)?);
                }
                addresses[lane] = address;
            }
        }
        _ => {
            return Err(fields.line.blame(mode, "the address mode: 0, 1 or 2"));
        }
    }
    Ok(())
}

/// Returns the access width per lane in bytes implied by the opcode. It is the first number, or `U`
/// and a number, in bits; 4 bytes otherwise.
pub(crate) fn bytes_of_opcode(opcode: &str) -> u32 {
    let bits = opcode.split('.').skip(1).find_map(|part| {
        let digits = part.strip_prefix('U').unwrap_or(part);
        digits.parse::<u32>().ok()
    });
    match bits {
        Some(bits) if bits >= 8 && bits / 8 <= WIDTH_MAX => bits / 8,
        _ => 4,
    }
}
