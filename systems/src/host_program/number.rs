//! From a number as written to a number in range.

use warpweave_inputs::ElementType;
use warpweave_params::{
    Diagnostic, Env, Kind, Node, Span, eval_index, out_of_range, resolve_expressions,
};

use super::description::{Number, Placed, ScalarKind, Value};

/// An error at a place, if there is one.
pub(super) fn error_at(place: Option<&Span>, message: impl Into<String>) -> Diagnostic {
    let diagnostic = Diagnostic::error(message);
    match place {
        Some(place) => diagnostic.at(place),
        None => diagnostic,
    }
}

/// The value with expressions replaced by what they stand for.
fn evaluate(value: &Value, env: &Env) -> Result<Number, Diagnostic> {
    let Number::Expression(text) = &value.value else {
        return Ok(value.value.clone());
    };
    let Some(place) = &value.place else {
        let result = eval_index(text, env).map(|value| Number::Int(value.into()));
        return result.map_err(|error| {
            let diagnostic = Diagnostic::error(format!("expression `{text}`: {error}"));
            match error.hint {
                Some(hint) => diagnostic.hint(hint),
                None => diagnostic,
            }
        });
    };
    let mut node = Node::new(Kind::Text(format!("={text}")), place.clone());
    match resolve_expressions(&mut node, env) {
        Ok(()) => Ok(Number::Int(
            node.as_int().expect("expressions become integers"),
        )),
        Err(problems) => Err(problems
            .iter()
            .next()
            .expect("an error has a message")
            .clone()),
    }
}

/// A whole number of a range; `what` begins the message.
pub(super) fn integer(
    value: &Value,
    env: &Env,
    what: &str,
    (min, max): (i128, i128),
) -> Result<i128, Diagnostic> {
    match evaluate(value, env)? {
        Number::Int(number) => match out_of_range(&number, &(min..=max)) {
            Some(words) => Err(error_at(value.place.as_ref(), format!("{what} is {words}"))),
            None => Ok(number),
        },
        Number::Float(number) => {
            let message = format!("{what} is {number:?}, expected a whole number");
            Err(error_at(value.place.as_ref(), message))
        }
        Number::Expression(_) => unreachable!("evaluation leaves no expressions"),
    }
}

/// Any number.
pub(super) fn float(value: &Value, env: &Env) -> Result<f64, Diagnostic> {
    Ok(match evaluate(value, env)? {
        Number::Int(number) => number as f64,
        Number::Float(number) => number,
        Number::Expression(_) => unreachable!("evaluation leaves no expressions"),
    })
}

/// A number in the range of single precision, rounded to nearest.
pub(super) fn single(value: &Value, env: &Env, what: &str) -> Result<f32, Diagnostic> {
    let number = float(value, env)?;
    if number.is_finite() && !(number as f32).is_finite() {
        let message = format!("{what} is {number:e}, which is beyond the range of f32");
        return Err(error_at(value.place.as_ref(), message));
    }
    Ok(number as f32)
}

/// The bit pattern of an element.
pub(super) fn element(
    value: &Value,
    env: &Env,
    what: &str,
    element: ElementType,
) -> Result<u32, Diagnostic> {
    match element {
        ElementType::U32 => Ok(integer(value, env, what, (0, u32::MAX.into()))? as u32),
        ElementType::F32 => Ok(single(value, env, what)?.to_bits()),
    }
}

/// The kernel argument of a type.
pub(super) fn scalar(
    kind: ScalarKind,
    value: &Value,
    env: &Env,
) -> Result<warpweave_ptx::KernelArgument, Diagnostic> {
    use warpweave_ptx::KernelArgument as Argument;
    let within = |min: i128, max: i128| {
        integer(
            value,
            env,
            &format!("an argument of type {kind:?}"),
            (min, max),
        )
    };
    Ok(match kind {
        ScalarKind::U8 => Argument::U8(within(0, u8::MAX.into())? as u8),
        ScalarKind::U16 => Argument::U16(within(0, u16::MAX.into())? as u16),
        ScalarKind::U32 => Argument::U32(within(0, u32::MAX.into())? as u32),
        ScalarKind::U64 => Argument::U64(within(0, u64::MAX.into())? as u64),
        ScalarKind::S32 => Argument::S32(within(i32::MIN.into(), i32::MAX.into())? as i32),
        ScalarKind::S64 => Argument::S64(within(i64::MIN.into(), i64::MAX.into())? as i64),
        ScalarKind::F32 => Argument::F32(single(value, env, "an argument of type F32")?),
        ScalarKind::F64 => Argument::F64(float(value, env)?),
    })
}

/// Fails unless the expression has a value for some number of a round, 0 or 1.
pub(super) fn check_in_loops(value: &Value, counters: [&Env; 2]) -> Result<(), Diagnostic> {
    let first = evaluate(value, counters[0]);
    if first.is_err() && evaluate(value, counters[1]).is_ok() {
        return Ok(());
    }
    first.map(|_| ())
}

impl Placed<Number> {
    pub(super) fn int(number: i128, place: &Span) -> Self {
        Self::at(Number::Int(number), place)
    }
}
