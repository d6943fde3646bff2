//! Floating-point arithmetic by definition: the exact result in arbitrary-precision integers,
//! rounded once.

use num_bigint::BigUint;

/// A binary IEEE 754 format, given by the widths of its exponent and fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    exponent: u32,
    fraction: u32,
}

pub(super) const HALF: Format = Format {
    exponent: 5,
    fraction: 10,
};
pub(super) const BRAIN: Format = Format {
    exponent: 8,
    fraction: 7,
};
pub(super) const SINGLE: Format = Format {
    exponent: 8,
    fraction: 23,
};
pub(super) const DOUBLE: Format = Format {
    exponent: 11,
    fraction: 52,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Nearest,
    Zero,
    Down,
    Up,
}

/// Value of a bit pattern; a finite number is `size * 2^exponent`.
#[derive(Clone, Debug)]
pub(super) enum Number {
    Nan,
    Infinite {
        negative: bool,
    },
    Finite {
        negative: bool,
        size: BigUint,
        exponent: i64,
    },
}

impl Format {
    pub(super) fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    pub(super) fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    /// Returns the canonical NaN of the format.
    pub(super) fn nan(self) -> u64 {
        if self == DOUBLE {
            0x7ff8_0000_0000_0000
        } else {
            self.sign() - 1
        }
    }

    pub(super) fn one(self) -> u64 {
        (self.infinity() / 2) >> self.fraction << self.fraction
    }

    fn bias(self) -> i64 {
        (1 << (self.exponent - 1)) - 1
    }

    pub(super) fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    pub(super) fn is_subnormal(self, bits: u64) -> bool {
        bits & self.infinity() == 0 && bits & (self.sign() - 1) != 0
    }

    /// Applies `.ftz`: subnormal numbers become zero.
    pub(super) fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) {
            bits & self.sign()
        } else {
            bits
        }
    }

    /// Applies `.sat`: NaN and negative values become zero, and values above one become one.
    pub(super) fn saturate(self, bits: u64) -> u64 {
        if self.is_nan(bits) || bits & self.sign() != 0 {
            0
        } else {
            bits.min(self.one())
        }
    }

    pub(super) fn read(self, bits: u64) -> Number {
        let negative = bits & self.sign() != 0;
        let magnitude = bits & (self.sign() - 1);
        if magnitude > self.infinity() {
            return Number::Nan;
        }
        if magnitude == self.infinity() {
            return Number::Infinite { negative };
        }
        let biased = (magnitude >> self.fraction) as i64;
        let fraction = magnitude & ((1 << self.fraction) - 1);
        let hidden = u64::from(biased != 0) << self.fraction;
        Number::Finite {
            negative,
            size: BigUint::from(fraction | hidden),
            exponent: biased.max(1) - self.bias() - i64::from(self.fraction),
        }
    }

    /// Returns the value as a double, in which all formats but [`DOUBLE`] fit with room to spare.
    pub(super) fn value(self, bits: u64) -> f64 {
        match self.read(bits) {
            Number::Nan => f64::NAN,
            number => f64::from_bits(DOUBLE.round(Mode::Nearest, number)),
        }
    }

    /// Rounds a number to this format and returns its bits.
    pub(super) fn round(self, mode: Mode, number: Number) -> u64 {
        self.round_above(mode, number, false)
    }

    /// Same as [`Format::round`], for a number whose magnitude is slightly larger if `more` is set.
    /// The number must then have two more bits than the format.
    fn round_above(self, mode: Mode, number: Number, more: bool) -> u64 {
        let (negative, size, exponent) = match number {
            Number::Nan => return self.nan(),
            Number::Infinite { negative } => {
                return self.infinity() | (u64::from(negative) * self.sign());
            }
            Number::Finite {
                negative,
                size,
                exponent,
            } => (negative, size, exponent),
        };
        let sign = u64::from(negative) * self.sign();
        if size == BigUint::ZERO {
            return sign;
        }
        let top = exponent + size.bits() as i64 - 1;
        let least = 1 - self.bias();
        let unit = top.max(least) - i64::from(self.fraction);
        let (kept, above_half, half, rest) = if exponent >= unit {
            (size << (exponent - unit) as u64, false, false, false)
        } else {
            let shift = (unit - exponent) as u64;
            let kept = &size >> shift;
            let left = size - (&kept << shift);
            let middle = BigUint::from(1u8) << (shift - 1);
            (
                kept,
                left > middle || left == middle && more,
                left == middle && !more,
                left != BigUint::ZERO || more,
            )
        };
        let kept = u64::try_from(kept).expect("a fraction has at most 53 bits");
        let away = match mode {
            Mode::Nearest => above_half || half && kept % 2 == 1,
            Mode::Zero => false,
            Mode::Down => rest && negative,
            Mode::Up => rest && !negative,
        };
        let kept = kept + u64::from(away);
        let biased = (unit + i64::from(self.fraction) + self.bias()) as u64;
        let hidden = 1 << self.fraction;
        let bits = if kept < hidden {
            kept
        } else {
            (biased << self.fraction).saturating_add(kept - hidden)
        };
        if bits < self.infinity() {
            return sign | bits;
        }
        let to_infinity = match mode {
            Mode::Nearest => true,
            Mode::Zero => false,
            Mode::Down => negative,
            Mode::Up => !negative,
        };
        sign | (self.infinity() - u64::from(!to_infinity))
    }

    pub(super) fn add(self, mode: Mode, a: u64, b: u64) -> u64 {
        self.round(mode, sum(mode, self.read(a), self.read(b)))
    }

    pub(super) fn multiply(self, mode: Mode, a: u64, b: u64) -> u64 {
        self.round(mode, product(self.read(a), self.read(b)))
    }

    pub(super) fn fuse(self, mode: Mode, [a, b, c]: [u64; 3]) -> u64 {
        let product = product(self.read(a), self.read(b));
        self.round(mode, sum(mode, product, self.read(c)))
    }

    pub(super) fn divide(self, mode: Mode, a: u64, b: u64) -> u64 {
        let negative = (a ^ b) & self.sign() != 0;
        match (self.read(a), self.read(b)) {
            (Number::Nan, _)
            | (_, Number::Nan)
            | (Number::Infinite { .. }, Number::Infinite { .. }) => self.nan(),
            (Number::Infinite { .. }, _) => self.round(mode, Number::Infinite { negative }),
            (_, Number::Infinite { .. }) => u64::from(negative) * self.sign(),
            (
                Number::Finite { size, exponent, .. },
                Number::Finite {
                    size: by,
                    exponent: of_divisor,
                    ..
                },
            ) => {
                if by == BigUint::ZERO {
                    return if size == BigUint::ZERO {
                        self.nan()
                    } else {
                        self.round(mode, Number::Infinite { negative })
                    };
                }
                let scaled = size << 128u32;
                let quotient = &scaled / &by;
                let more = &quotient * &by != scaled;
                let number = Number::Finite {
                    negative,
                    size: quotient,
                    exponent: exponent - of_divisor - 128,
                };
                self.round_above(mode, number, more)
            }
        }
    }

    pub(super) fn root(self, mode: Mode, a: u64) -> u64 {
        match self.read(a) {
            Number::Finite { size, .. } if size == BigUint::ZERO => a,
            Number::Nan
            | Number::Infinite { negative: true }
            | Number::Finite { negative: true, .. } => self.nan(),
            Number::Infinite { .. } => a,
            Number::Finite { size, exponent, .. } => {
                let scale = 200 + exponent.rem_euclid(2) as u64;
                let scaled = size << scale;
                let root = scaled.sqrt();
                let more = &root * &root != scaled;
                let number = Number::Finite {
                    negative: false,
                    size: root,
                    exponent: (exponent - scale as i64) / 2,
                };
                self.round_above(mode, number, more)
            }
        }
    }

    /// Compares two values; returns `None` if either is NaN.
    pub(super) fn compare(self, a: u64, b: u64) -> Option<std::cmp::Ordering> {
        if self.is_nan(a) || self.is_nan(b) {
            return None;
        }
        let key = |bits: u64| {
            let size = (bits & (self.sign() - 1)) as i64;
            if bits & self.sign() == 0 { size } else { -size }
        };
        Some(key(a).cmp(&key(b)))
    }
}

/// Returns the exact sum; a zero sum of opposite signs is negative only when rounding down.
fn sum(mode: Mode, a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) => Number::Nan,
        (Number::Infinite { negative: a }, Number::Infinite { negative: b }) if a != b => {
            Number::Nan
        }
        (infinite @ Number::Infinite { .. }, _) | (_, infinite @ Number::Infinite { .. }) => {
            infinite
        }
        (
            Number::Finite {
                negative: of_a,
                size: a,
                exponent: ea,
            },
            Number::Finite {
                negative: of_b,
                size: b,
                exponent: eb,
            },
        ) => {
            let exponent = ea.min(eb);
            let (a, b) = (a << (ea - exponent) as u64, b << (eb - exponent) as u64);
            let (negative, size) = if of_a == of_b {
                (of_a, a + b)
            } else if a == b {
                (mode == Mode::Down, BigUint::ZERO)
            } else if a > b {
                (of_a, a - b)
            } else {
                (of_b, b - a)
            };
            Number::Finite {
                negative,
                size,
                exponent,
            }
        }
    }
}

fn product(a: Number, b: Number) -> Number {
    let sign = |number: &Number| {
        matches!(
            number,
            Number::Infinite { negative: true } | Number::Finite { negative: true, .. }
        )
    };
    let negative = sign(&a) != sign(&b);
    match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) => Number::Nan,
        (Number::Infinite { .. }, Number::Finite { size, .. })
        | (Number::Finite { size, .. }, Number::Infinite { .. })
            if size == BigUint::ZERO =>
        {
            Number::Nan
        }
        (
            Number::Finite {
                size: a,
                exponent: ea,
                ..
            },
            Number::Finite {
                size: b,
                exponent: eb,
                ..
            },
        ) => Number::Finite {
            negative,
            size: a * b,
            exponent: ea + eb,
        },
        _ => Number::Infinite { negative },
    }
}

/// Rounds a finite number to an integer.
pub(super) fn whole(mode: Mode, number: Number) -> Number {
    let Number::Finite {
        negative,
        size,
        exponent,
    } = number
    else {
        return number;
    };
    if exponent >= 0 {
        return Number::Finite {
            negative,
            size,
            exponent,
        };
    }
    let shift = -exponent as u64;
    let kept = &size >> shift;
    let left = size - (&kept << shift);
    let middle = BigUint::from(1u8) << (shift - 1);
    let away = match mode {
        Mode::Nearest => left > middle || left == middle && kept.bit(0),
        Mode::Zero => false,
        Mode::Down => negative && left != BigUint::ZERO,
        Mode::Up => !negative && left != BigUint::ZERO,
    };
    Number::Finite {
        negative,
        size: kept + u8::from(away),
        exponent: 0,
    }
}

pub(super) fn integer(value: i128) -> Number {
    Number::Finite {
        negative: value < 0,
        size: BigUint::from(value.unsigned_abs()),
        exponent: 0,
    }
}

/// Clamps an integer between two limits; returns `None` for NaN.
pub(super) fn clamped(number: &Number, low: i128, high: i128) -> Option<i128> {
    Some(match number {
        Number::Nan => return None,
        Number::Infinite { negative: true } => low,
        Number::Infinite { .. } => high,
        Number::Finite {
            negative,
            size,
            exponent,
        } => {
            let size = size << (*exponent).max(0) as u64;
            let size = i128::try_from(size).unwrap_or(i128::MAX);
            (if *negative { -size } else { size }).clamp(low, high)
        }
    })
}
