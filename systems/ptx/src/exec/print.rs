//! Formatted output of kernels: `vprintf`.
//!
//! The arguments are stored consecutively, as C passes them to a function without a prototype.
//! Integers and pointers take 4 or 8 bytes, and every floating-point number is a double. Each is
//! aligned to its size.

use std::fmt::Write as _;

/// Maximum number of output bytes that are kept.
const KEPT: usize = 1 << 20;

/// Output printed by the kernels of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// Printed text in order of emulation, limited to one MiB.
    pub text: String,
    /// Number of bytes beyond the limit that were dropped.
    pub cut: u64,
}

impl Printed {
    pub(super) fn add(&mut self, text: &str) {
        if self.cut == 0 && self.text.len() + text.len() <= KEPT {
            self.text.push_str(text);
        } else {
            self.cut += text.len() as u64;
        }
    }

    /// Appends the output of a later launch.
    pub fn append(&mut self, later: &Self) {
        self.add(&later.text);
        self.cut += later.cut;
    }
}

/// Source of the arguments of a format.
pub(super) trait Arguments {
    type Error;

    /// Returns the next argument, of 4 or 8 bytes.
    fn next(&mut self, bytes: u32) -> Result<u64, Self::Error>;

    /// Returns the zero-terminated text at an address.
    fn text(&mut self, address: u64) -> Result<Vec<u8>, Self::Error>;
}

/// A conversion specification such as `%-08.3lld`.
#[derive(Default)]
struct Conversion {
    left: bool,
    zero: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    is_long: bool,
    letter: u8,
}

/// Maximum width and precision; larger values are clamped.
const WIDTH_MAX: usize = 1024;

/// Formats the arguments according to `format`. Text that is not a conversion is copied unchanged.
pub(super) fn format<A: Arguments>(format: &[u8], arguments: &mut A) -> Result<String, A::Error> {
    let mut out = Vec::new();
    let mut rest = format;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        if let Some(after) = rest.strip_prefix(b"%") {
            out.push(b'%');
            rest = after;
            continue;
        }
        let Some((conversion, after)) = conversion(rest, arguments)? else {
            out.push(b'%');
            continue;
        };
        rest = after;
        out.extend(convert(&conversion, arguments)?);
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn conversion<'f, A: Arguments>(
    text: &'f [u8],
    arguments: &mut A,
) -> Result<Option<(Conversion, &'f [u8])>, A::Error> {
    let mut conversion = Conversion::default();
    let mut rest = text;
    loop {
        let Some((&byte, after)) = rest.split_first() else {
            return Ok(None);
        };
        match byte {
            b'-' => conversion.left = true,
            b'0' => conversion.zero = true,
            b'+' => conversion.plus = true,
            b' ' => conversion.space = true,
            b'#' => conversion.alternate = true,
            _ => break,
        }
        rest = after;
    }
    let mut number = |rest: &mut &'f [u8]| -> Result<usize, A::Error> {
        if let Some(after) = rest.strip_prefix(b"*") {
            *rest = after;
            let given = arguments.next(4)? as i32;
            return Ok(usize::try_from(given).unwrap_or(0).min(WIDTH_MAX));
        }
        let mut value = 0_usize;
        while let Some((digit @ b'0'..=b'9', after)) = rest.split_first() {
            value = (value * 10 + usize::from(digit - b'0')).min(WIDTH_MAX);
            *rest = after;
        }
        Ok(value)
    };
    conversion.width = number(&mut rest)?;
    if let Some(after) = rest.strip_prefix(b".") {
        rest = after;
        conversion.precision = Some(number(&mut rest)?);
    }
    while let Some((byte @ (b'l' | b'h' | b'z' | b'j' | b't'), after)) = rest.split_first() {
        conversion.is_long |= *byte != b'h';
        rest = after;
    }
    Ok(match rest.split_first() {
        Some((letter, after)) if b"diuxXocsfFeEgGp".contains(letter) => {
            conversion.letter = *letter;
            Some((conversion, after))
        }
        _ => None,
    })
}

fn convert<A: Arguments>(conversion: &Conversion, arguments: &mut A) -> Result<Vec<u8>, A::Error> {
    let size = if conversion.is_long { 8 } else { 4 };
    let sign = |negative: bool| match () {
        () if negative => "-",
        () if conversion.plus => "+",
        () if conversion.space => " ",
        () => "",
    };
    let digits = |mut digits: String| {
        let least = conversion.precision.unwrap_or(1);
        while digits.len() < least {
            digits.insert(0, '0');
        }
        digits
    };
    let (prefix, body) = match conversion.letter {
        b'd' | b'i' => {
            let raw = arguments.next(size)?;
            let value = if conversion.is_long {
                raw as i64
            } else {
                i64::from(raw as i32)
            };
            (sign(value < 0), digits(value.unsigned_abs().to_string()))
        }
        b'u' => ("", digits(arguments.next(size)?.to_string())),
        b'x' => ("", digits(format!("{:x}", arguments.next(size)?))),
        b'X' => ("", digits(format!("{:X}", arguments.next(size)?))),
        b'o' => ("", digits(format!("{:o}", arguments.next(size)?))),
        b'p' => ("0x", format!("{:x}", arguments.next(8)?)),
        b'c' => {
            return Ok(padded(
                conversion,
                "",
                vec![arguments.next(4)? as u8],
                false,
            ));
        }
        b's' => {
            let address = arguments.next(8)?;
            let mut text = arguments.text(address)?;
            text.truncate(conversion.precision.unwrap_or(usize::MAX));
            return Ok(padded(conversion, "", text, false));
        }
        letter => {
            let value = f64::from_bits(arguments.next(8)?);
            let magnitude = value.abs();
            let precision = conversion.precision.unwrap_or(6);
            let text = if magnitude.is_finite() {
                match letter {
                    b'f' | b'F' => format!("{magnitude:.precision$}"),
                    b'e' | b'E' => exponent(magnitude, precision),
                    _ => general(magnitude, precision.max(1), conversion.alternate),
                }
            } else if magnitude.is_nan() {
                "nan".to_owned()
            } else {
                "inf".to_owned()
            };
            let text = if letter.is_ascii_uppercase() {
                text.to_uppercase()
            } else {
                text
            };
            let zero = magnitude.is_finite();
            let prefix = sign(value.is_sign_negative());
            return Ok(padded(conversion, prefix, text.into_bytes(), zero));
        }
    };
    // A precision of an integer takes the zeros of its width.
    let zero = conversion.precision.is_none();
    let prefix = match (conversion.alternate, conversion.letter) {
        (true, b'x') if body != "0" => "0x",
        (true, b'X') if body != "0" => "0X",
        (true, b'o') if !body.starts_with('0') => "0",
        _ => prefix,
    };
    Ok(padded(conversion, prefix, body.into_bytes(), zero))
}

/// Pads to the width; with zeros if requested and `zero` allows it.
fn padded(conversion: &Conversion, prefix: &str, body: Vec<u8>, zero: bool) -> Vec<u8> {
    let fill = conversion.width.saturating_sub(prefix.len() + body.len());
    let mut out = Vec::new();
    let zeros = conversion.zero && zero && !conversion.left;
    if !zeros && !conversion.left {
        out.resize(fill, b' ');
    }
    out.extend_from_slice(prefix.as_bytes());
    if zeros {
        out.resize(out.len() + fill, b'0');
    }
    out.extend(body);
    if conversion.left {
        out.resize(out.len() + fill, b' ');
    }
    out
}

/// Formats a number with an exponent, as in `1.500000e+00`.
fn exponent(magnitude: f64, precision: usize) -> String {
    let text = format!("{magnitude:.precision$e}");
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let sign = if power < 0 { '-' } else { '+' };
    let mut out = mantissa.to_owned();
    let _ = write!(out, "e{sign}{:02}", power.unsigned_abs());
    out
}

/// Returns the shorter of both forms, with `precision` significant digits.
fn general(magnitude: f64, precision: usize, keeps_zeros: bool) -> String {
    let scientific = exponent(magnitude, precision - 1);
    let power: i32 = scientific
        .split_once('e')
        .and_then(|(_, power)| power.parse().ok())
        .unwrap_or(0);
    let trim = |text: &str| {
        if keeps_zeros || !text.contains('.') {
            return text.to_owned();
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if power < -4 || power >= precision as i32 {
        let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
        return format!("{}e{power}", trim(mantissa));
    }
    let decimals = (precision as i32 - 1 - power).max(0) as usize;
    trim(&format!("{magnitude:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Given(Vec<u64>);

    impl Arguments for Given {
        type Error = std::convert::Infallible;

        fn next(&mut self, bytes: u32) -> Result<u64, Self::Error> {
            let value = self.0.remove(0);
            Ok(if bytes == 4 {
                value & 0xffff_ffff
            } else {
                value
            })
        }

        fn text(&mut self, _: u64) -> Result<Vec<u8>, Self::Error> {
            Ok(b"text".to_vec())
        }
    }

    fn printed(text: &str, given: &[u64]) -> String {
        let Ok(out) = format(text.as_bytes(), &mut Given(given.to_vec()));
        out
    }

    #[test]
    fn integers_and_texts_are_what_c_makes_of_them() {
        assert_eq!(
            printed(
                "%d|%5d|%-5d|%05d|%+d",
                &[(-7_i64) as u64, 42, 42, (-42_i64) as u64, 3]
            ),
            "-7|   42|42   |-0042|+3"
        );
        assert_eq!(
            printed(
                "%u %x %#X %o %lld",
                &[u64::MAX, 255, 255, 8, (-1_i64) as u64]
            ),
            "4294967295 ff 0XFF 10 -1"
        );
        assert_eq!(
            printed("%c%c %s|%6s|%.2s|%p", &[104, 105, 0, 0, 0, 0x1000]),
            "hi text|  text|te|0x1000"
        );
        assert_eq!(
            printed("%.3d|%*d|100%%|%q|%", &[5, 4, 7]),
            "005|   7|100%|%q|%"
        );
    }

    #[test]
    fn numbers_with_a_point_are_what_c_makes_of_them() {
        let x = |value: f64| value.to_bits();
        assert_eq!(
            printed(
                "%f %.2f %8.1f|%-8.1f|%08.2f",
                &[x(1.5), x(2.345), x(3.0), x(3.0), x(-1.5)]
            ),
            "1.500000 2.35      3.0|3.0     |-0001.50"
        );
        assert_eq!(
            printed(
                "%e %.1E %g %g %g",
                &[x(12345.678), x(0.00012), x(100000.0), x(1e6), x(0.0001)]
            ),
            "1.234568e+04 1.2E-04 100000 1e+06 0.0001"
        );
        assert_eq!(
            printed("%f %5.1f %g", &[x(f64::INFINITY), x(f64::NAN), x(-0.5)]),
            "inf   nan -0.5"
        );
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_rest_is_counted() {
        let mut printed = Printed::default();
        printed.add(&"x".repeat(KEPT));
        printed.add("four");
        printed.add("");
        assert_eq!((printed.text.len(), printed.cut), (KEPT, 4));
    }
}
