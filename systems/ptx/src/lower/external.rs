//! Encoding of calls to device runtime functions.

use crate::diagnostics::{Span, SpannedError, nearest_name};
use crate::lower::encode::{Encoded, Encoder};
use crate::lower::names::{Operand, Value};
use crate::ops::{External, ExternalSite, Op, WAITING};
use crate::site::Symbol;

/// Encodes a call of a function that has no body.
///
/// Arguments and results of runtime functions are `.param` variables. A launch ends at the call
/// of any other function.
pub(super) fn external(
    encoder: &mut Encoder<'_, '_>,
    name: &str,
    span: Span,
    arguments: &[Operand],
    results: &[Operand],
) -> Encoded<Op> {
    if WAITING.contains(&name) {
        let message = format!(
            "`{name}` waits for kernels launched from the device, which is not supported on a device"
        );
        return Err(SpannedError::unsupported(span, message)
            .hint("wait on the host, or move the rest into a separate kernel (CUDA 12 has no such function)"));
    }
    let Some(function) = External::named(name) else {
        let known = External::NAMES.iter().map(|(name, _)| *name);
        let nearest = nearest_name(name, known);
        encoder
            .tables
            .control
            .missing
            .push((name.to_owned(), nearest));
        return Ok(Op::Missing(encoder.tables.control.missing.len() as u32 - 1));
    };
    let (wanted, returned) = function.shape();
    // A result may be thrown away.
    let fits =
        arguments.len() == wanted.len() && (results.is_empty() || results.len() == returned.len());
    if !fits {
        let message = format!(
            "`{name}` takes {} arguments and returns {}, but the call has {} and {}",
            wanted.len(),
            returned.len(),
            arguments.len(),
            results.len()
        );
        return Err(SpannedError::new(span, message));
    }
    let places = |operands: &[Operand], sizes: &[u32]| {
        let pairs = operands.iter().zip(sizes);
        pairs
            .map(|(operand, &bytes)| place(encoder, name, operand, bytes))
            .collect::<Encoded<Vec<u32>>>()
    };
    let site = ExternalSite {
        function,
        arguments: places(arguments, wanted)?,
        results: places(results, returned)?,
    };
    encoder.tables.control.externals.push(site);
    Ok(Op::External(
        encoder.tables.control.externals.len() as u32 - 1,
    ))
}

/// Returns the frame offset of a variable, which must have `bytes` bytes.
fn place(encoder: &Encoder<'_, '_>, name: &str, operand: &Operand, bytes: u32) -> Encoded<u32> {
    match operand.value {
        Value::Symbol(Symbol::Frame(index), 0)
            if encoder.function.body.frame[index].bytes == bytes =>
        {
            Ok(encoder.function.body.frame[index].offset)
        }
        _ => {
            let message = format!("`{name}` requires a `.param` variable of {bytes} bytes here");
            Err(SpannedError::new(operand.span, message))
        }
    }
}
