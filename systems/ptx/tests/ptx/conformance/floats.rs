//! Models of floating-point instructions in exact arithmetic (PTX ISA, "Floating Point
//! Instructions", "Half Precision").

use std::cmp::Ordering;

use super::cases::{Case, Kind, Model, PREDICATE, Row, Type, all_forms, has, types};
use super::exact::{DOUBLE, Format, HALF, Mode};

const EXACT: &str = "
    {add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32 {add,sub,mul}{,.rn,.rz,.rm,.rp}.f64
    {fma,mad}.{rn,rz,rm,rp}{,.ftz}{,.sat}.f32 {fma,mad}.{rn,rz,rm,rp}.f64 mad{,.ftz}{,.sat}.f32
    {add,sub,mul}{,.rn}{,.ftz}{,.sat}.{f16,f16x2} {add,sub,mul}{,.rn}.{bf16,bf16x2}
    fma.rn{,.ftz}{,.sat,.relu}.{f16,f16x2} fma.rn{,.relu}.{bf16,bf16x2}
    div.{rn,rz,rm,rp,approx,full}{,.ftz}.f32 div{,.ftz}.f32 div.{rn,rz,rm,rp}.f64
    {rcp,sqrt}.{rn,rz,rm,rp,approx}{,.ftz}.f32 {rcp,sqrt}.{rn,rz,rm,rp}.f64 rcp.approx.ftz.f64
    {neg,abs}{,.ftz}.{f32,f16,f16x2} {neg,abs}.{f64,bf16,bf16x2}
    {min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.{f32,f16,f16x2} {min,max}{,.NaN}{,.xorsign.abs}.{bf16,bf16x2}
    {add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}.f32x2 fma.{rn,rz,rm,rp}{,.ftz}.f32x2
    {min,max}.f64 copysign.{f32,f64}
";

pub(super) fn mode(form: &str) -> Mode {
    if has(form, "rz") || has(form, "rzi") {
        Mode::Zero
    } else if has(form, "rm") || has(form, "rmi") {
        Mode::Down
    } else if has(form, "rp") || has(form, "rpi") {
        Mode::Up
    } else {
        Mode::Nearest
    }
}

/// Returns the result for a single number of `format`.
fn one(form: &str, format: Format, operands: [u64; 3]) -> u64 {
    let ftz = has(form, "ftz");
    let [a, b, c] = operands.map(|bits| if ftz { format.flush(bits) } else { bits });
    let (mode, sign) = (mode(form), format.sign());
    let result = match form.split('.').next().unwrap_or_default() {
        // Signs are bits, those of NaNs too.
        "neg" => return a ^ sign,
        "abs" => return a & (sign - 1),
        "copysign" => return a & sign | b & (sign - 1),
        "add" => format.add(mode, a, b),
        "sub" => format.add(mode, a, b ^ sign),
        "mul" => format.multiply(mode, a, b),
        "fma" | "mad" => format.fuse(mode, [a, b, c]),
        "div" => format.divide(mode, a, b),
        "rcp" => format.divide(mode, format.one(), a),
        "sqrt" => format.root(mode, a),
        "min" => extreme(form, format, Ordering::Less, a, b),
        "max" => extreme(form, format, Ordering::Greater, a, b),
        opcode => panic!("no model for {opcode}"),
    };
    let result = if format.is_nan(result) {
        format.nan()
    } else {
        result
    };
    let result = if has(form, "sat") {
        format.saturate(result)
    } else {
        result
    };
    let negative = !format.is_nan(result) && result & sign != 0;
    let result = if has(form, "relu") && negative {
        0
    } else {
        result
    };
    if ftz { format.flush(result) } else { result }
}

/// Returns minimum or maximum; -0 is less than +0, and a number wins over NaN unless `.NaN` is set.
pub(super) fn extreme(form: &str, format: Format, wanted: Ordering, a: u64, b: u64) -> u64 {
    let sign = format.sign();
    let xorsign = has(form, "xorsign");
    let [x, y] = if has(form, "abs") {
        [a & (sign - 1), b & (sign - 1)]
    } else {
        [a, b]
    };
    let value = match format.compare(x, y) {
        None if has(form, "NaN") => return format.nan(),
        None if format.is_nan(x) && format.is_nan(y) => return format.nan(),
        None if format.is_nan(x) => y,
        None => x,
        Some(Ordering::Equal) => {
            // Equal numbers differ in the sign of zero at most.
            if (x & sign != 0) == (wanted == Ordering::Less) {
                x
            } else {
                y
            }
        }
        Some(order) => {
            if order == wanted {
                x
            } else {
                y
            }
        }
    };
    if xorsign {
        value & (sign - 1) | (a ^ b) & sign
    } else {
        value
    }
}

/// Applies a scalar function to a number, or to both halves of a pair.
pub(super) fn each(ty: Type, row: Row, f: impl Fn([u64; 3]) -> u64) -> u64 {
    let [a, b, c, _] = row;
    if !ty.is_pair() {
        return f([a, b, c]);
    }
    let width = ty.bits / 2;
    let half = |at: u32| f([a, b, c].map(|bits| bits >> at & ((1 << width) - 1)));
    half(width) << width | half(0)
}

fn testp(cases: &mut Vec<Case>) {
    for form in all_forms("testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64}") {
        let ty = types(&form)[0];
        let format = ty.format();
        let name = form.clone();
        let model = move |row: Row| {
            let (size, infinity) = (row[0] & (format.sign() - 1), format.infinity());
            u64::from(match name.split('.').nth(1).unwrap_or_default() {
                "finite" => size < infinity,
                "infinite" => size == infinity,
                "number" => size <= infinity,
                "notanumber" => size > infinity,
                "subnormal" => format.is_subnormal(row[0]),
                // Zeros are normal numbers.
                _ => size < infinity && !format.is_subnormal(row[0]),
            })
        };
        cases.push(Case::lane(&form, PREDICATE, &[ty], model));
    }
}

/// Adds cases of the minimum and maximum of three numbers.
fn of_three(cases: &mut Vec<Case>) {
    for form in all_forms("{min,max}{,.ftz}{,.NaN}{,.abs}.f32") {
        let ty = types(&form)[0];
        let format = ty.format();
        let name = form.clone();
        let model = move |row: Row| {
            let [a, b, c, _] = row;
            let two = one(&name, format, [a, b, 0]);
            let three = one(&name, format, [two, c, 0]);
            // A result that is a number does not end with a NaN of an operand.
            if has(&name, "NaN") && format.is_nan(two) {
                format.nan()
            } else {
                three
            }
        };
        cases.push(Case::lane(&form, ty, &[ty; 3], model));
    }
}

/// Adds cases of arithmetic of singles with 16-bit numbers.
fn mixed(cases: &mut Vec<Case>) {
    let patterns = "
        {add,sub}{,.rn,.rz,.rm,.rp}{,.sat}.f32.{f16,bf16} fma.{rn,rz,rm,rp}{,.sat}.f32.{f16,bf16}
    ";
    for form in all_forms(patterns) {
        let [ty, narrow] = types(&form)[..] else {
            panic!("{form}")
        };
        let factors = if form.starts_with("fma") { 2 } else { 1 };
        let sources: Vec<Type> = (0..=factors)
            .map(|at| if at < factors { narrow } else { ty })
            .collect();
        let name = form.clone();
        let format = ty.format();
        let model = move |row: Row| {
            let operands = std::array::from_fn(|at| {
                if at < factors {
                    format.round(Mode::Nearest, narrow.format().read(row[at]))
                } else {
                    row[at]
                }
            });
            one(&name, format, operands)
        };
        cases.push(Case::lane(&form, ty, &sources, model));
    }
}

const NEAR: &str = "
    {sin,cos,lg2,ex2,rsqrt}.approx{,.ftz}.f32 rsqrt.approx{,.ftz}.f64 tanh.approx.{f32,f16,f16x2,bf16,bf16x2}
    ex2.approx.{f16,f16x2} ex2.approx.ftz.{bf16,bf16x2}
";

/// Computes `2^x` by its power series.
fn power(x: f64) -> f64 {
    if x > 2000.0 {
        return f64::INFINITY;
    }
    if x < -2000.0 {
        return 0.0;
    }
    let whole = x.floor();
    let z = (x - whole) * std::f64::consts::LN_2;
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..30 {
        term *= z / f64::from(n);
        sum += term;
    }
    let half = (whole / 2.0).floor();
    sum * 2f64.powi(half as i32) * 2f64.powi((whole - half) as i32)
}

/// Computes the base-2 logarithm by the series of the inverse hyperbolic tangent.
fn logarithm(x: f64) -> f64 {
    let mut exponent = 0.0;
    let mut m = x;
    while m > std::f64::consts::SQRT_2 {
        m /= 2.0;
        exponent += 1.0;
    }
    while m < std::f64::consts::FRAC_1_SQRT_2 {
        m *= 2.0;
        exponent -= 1.0;
    }
    let z = (m - 1.0) / (m + 1.0);
    let sum: f64 = (0..40)
        .map(|n| z.powi(2 * n + 1) / f64::from(2 * n + 1))
        .sum();
    exponent + 2.0 * sum / std::f64::consts::LN_2
}

/// Computes the sine by its series; the cosine is a quarter turn later.
fn sine(x: f64) -> f64 {
    let turn = std::f64::consts::TAU;
    let x = x - (x / turn).round() * turn;
    let (mut term, mut sum) = (x, x);
    for n in 1..20 {
        term *= -x * x / f64::from(2 * n * (2 * n + 1));
        sum += term;
    }
    sum
}

fn tangent(x: f64) -> f64 {
    if x.abs() < 1e-4 {
        return x - x * x * x / 3.0;
    }
    let e = power(-2.0 * x.abs() / std::f64::consts::LN_2);
    ((1.0 - e) / (1.0 + e)).copysign(x)
}

/// Returns the value of an approximate function and the error that the ISA allows. Half a unit in
/// the last place of the format is added to that error.
fn near(form: &str, format: Format, x: f64) -> (f64, f64) {
    let least_normal = match format {
        HALF => 2f64.powi(-14),
        DOUBLE => f64::MIN_POSITIVE,
        _ => 2f64.powi(-126),
    };
    let flush = |x: f64| {
        if has(form, "ftz") && x.abs() < least_normal {
            0f64.copysign(x)
        } else {
            x
        }
    };
    let x = flush(x);
    let opcode = form.split('.').next().unwrap_or_default();
    let small = matches!(types(form)[0].bits, 16) || types(form)[0].is_pair();
    let value = match opcode {
        _ if x.is_nan() => f64::NAN,
        "sin" | "cos" if x.is_infinite() => f64::NAN,
        "sin" => sine(x),
        "cos" => sine(x + std::f64::consts::FRAC_PI_2),
        "lg2" if x == 0.0 => f64::NEG_INFINITY,
        "lg2" | "rsqrt" if x < 0.0 => f64::NAN,
        "lg2" if x.is_infinite() => x,
        "lg2" => logarithm(x),
        "ex2" => power(x),
        "rsqrt" if x == 0.0 => f64::INFINITY.copysign(x),
        "rsqrt" => 1.0 / x.sqrt(),
        _ => tangent(x),
    };
    let relative = |power: i32| value.abs() * 2f64.powi(power);
    // The least number of the format, for results that are subnormal or flushed.
    let least = match format {
        HALF => 2f64.powi(-24),
        DOUBLE => 0.0,
        _ => 2f64.powi(-126),
    };
    let by = match opcode {
        "sin" | "cos" => 2f64.powi(-20),
        "lg2" if (0.5..=2.0).contains(&x) => 2f64.powi(-22),
        "tanh" if !small => relative(-11),
        "tanh" if format == HALF => 2f64.powi(-10),
        "ex2" if format == HALF => relative(-9) + least,
        "tanh" | "ex2" if small => relative(-7) + least,
        _ => relative(-22) + least,
    };
    // Beyond the greatest number of the format.
    let greatest = if format == HALF {
        65520.0
    } else {
        2f64.powi(128)
    };
    if format != DOUBLE && value >= greatest {
        return (f64::INFINITY, 0.0);
    }
    (value, by)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for form in all_forms(EXACT) {
        let ty = types(&form)[0];
        let sources = match form.split('.').next().unwrap_or_default() {
            "fma" | "mad" => 3,
            "neg" | "abs" | "rcp" | "sqrt" => 1,
            _ => 2,
        };
        let name = form.clone();
        let format = ty.format();
        let model = move |row| each(ty, row, |operands| one(&name, format, operands));
        cases.push(Case::lane(&form, ty, &vec![ty; sources], model));
    }
    for form in all_forms(NEAR) {
        let ty = types(&form)[0];
        let name = form.clone();
        let format = ty.format();
        let model = move |x: f64| near(&name, format, x);
        let mut case = Case::new(&form, ty, &[ty], Model::Near(format, Box::new(model)));
        // Far from zero the series of the model lose the angle.
        if matches!(case.opcode(), "sin" | "cos") {
            case.below = Some(1e6);
        }
        cases.push(case);
    }
    testp(&mut cases);
    of_three(&mut cases);
    mixed(&mut cases);
    debug_assert!(
        cases
            .iter()
            .all(|case| case.sources[0].kind != Kind::Predicate)
    );
    cases
}
