//! Encoding of control flow, calls, barriers and exchange between lanes.

use crate::address_space::function_address;
use crate::alloc::File;
use crate::diagnostics::{Span, SpannedError};
use crate::lower::encode::{Encoded, Encoder, Form};
use crate::lower::names::{Formal, Operand, Value};
use crate::lower::{external, memory};
use crate::ops::{
    Barrier, BarrierKind, CallSite, IndirectCall, Jump, NO_PC, NO_REGISTER, Op, Pred, Shuffle,
    ShuffleMode, Src, Transfer, Vote, VoteMode,
};
use crate::site::Symbol;
use crate::types::ScalarType;

/// Returns the operands of a list, with the elements of vectors in place of the vectors.
pub(super) fn scalars(list: &[Operand]) -> Vec<Operand> {
    let elements = list.iter().flat_map(|operand| match &operand.value {
        Value::Vector(elements) => elements.as_slice(),
        _ => std::slice::from_ref(operand),
    });
    elements.cloned().collect()
}

pub(crate) fn control(
    encoder: &mut Encoder<'_, '_>,
    form: &mut Form<'_>,
    index_of: usize,
) -> Encoded<Op> {
    match form.base {
        "bra" => {
            form.take("uni");
            form.count(1)?;
            let Value::Label(target) = form.operands[0].value else {
                return Err(SpannedError::new(form.operands[0].span, "expected a label"));
            };
            let meet = encoder.function.graph.meet(index_of);
            Ok(Op::Branch {
                target: encoder.start + target as u32,
                meet: meet.map_or(NO_PC, |meet| encoder.start + meet as u32),
            })
        }
        "ret" | "exit" => {
            form.take("uni");
            form.count(0)?;
            // A kernel that returns ends its thread.
            Ok(if encoder.is_entry || form.base == "exit" {
                Op::Exit
            } else {
                Op::Return
            })
        }
        "trap" | "brkpt" => Ok(Op::Trap),
        "brx" => {
            form.take("uni");
            if !form.take("idx") {
                return Err(form.unsupported("expected brx.idx"));
            }
            form.count(2)?;
            let Value::Targets(targets) = form.operands[1].value else {
                let message = "expected a label declared by `.branchtargets`";
                return Err(SpannedError::new(form.operands[1].span, message));
            };
            let index = encoder.word(&form.operands[0], ScalarType::U32)?;
            let targets = &encoder.function.body.targets[targets];
            let meet = encoder.function.graph.meet(index_of);
            encoder.tables.control.jumps.push(Jump {
                index,
                targets: targets
                    .iter()
                    .map(|&to| encoder.start + to as u32)
                    .collect(),
                meet: meet.map_or(NO_PC, |meet| encoder.start + meet as u32),
            });
            Ok(Op::BranchIndexed(
                encoder.tables.control.jumps.len() as u32 - 1,
            ))
        }
        "call" => call(encoder, form),
        "alloca" => {
            let ty = form.take_type()?;
            if !matches!(form.operands.len(), 2 | 3) {
                form.count(2)?;
            }
            let align = match form.operands.get(2).map(|operand| &operand.value) {
                None => 8,
                Some(&Value::Integer(align)) if (1..=256).contains(&align) => align as u32,
                Some(_) => {
                    return Err(
                        form.unsupported("the alignment must be a power of two of at most 256")
                    );
                }
            };
            if !align.is_power_of_two() {
                return Err(form.unsupported("the alignment must be a power of two of at most 256"));
            }
            Ok(Op::Allocate {
                d: encoder.destination(&form.operands[0], ty)?,
                bytes: encoder.source(&form.operands[1], ty)?,
                align,
                wide: ty.bits() == 64,
            })
        }
        "stacksave" => {
            let ty = form.take_type()?;
            form.count(1)?;
            Ok(Op::SaveStack {
                d: encoder.destination(&form.operands[0], ty)?,
                wide: ty.bits() == 64,
            })
        }
        "stackrestore" => {
            let ty = form.take_type()?;
            form.count(1)?;
            Ok(Op::RestoreStack {
                a: encoder.source(&form.operands[0], ty)?,
                wide: ty.bits() == 64,
            })
        }
        "bar" | "barrier" => barrier(encoder, form),
        "membar" | "fence" => {
            let words = [
                "cta", "gl", "sys", "gpu", "cluster", "sc", "acq_rel", "acquire", "release",
                "proxy", "alias",
            ];
            while form
                .take_one(|name| words.contains(&name).then_some(()))
                .is_some()
            {}
            form.count(0)?;
            Ok(Op::Nothing)
        }
        "nanosleep" => {
            form.take("u32");
            Ok(Op::Nothing)
        }
        // No launch waits for another one to end.
        "griddepcontrol" => {
            if !form.take("wait") && !form.take("launch_dependents") {
                return Err(form.unsupported("expected `.wait` or `.launch_dependents`"));
            }
            form.count(0)?;
            Ok(Op::Nothing)
        }
        "pmevent" => {
            form.take("mask");
            form.count(1)?;
            encoder.word(&form.operands[0], ScalarType::U32)?;
            Ok(Op::Nothing)
        }
        "prefetch" => memory::prefetch(encoder, form),
        "prefetchu" | "discard" => {
            let words = ["global", "L1", "L2"];
            while form
                .take_one(|name| words.contains(&name).then_some(()))
                .is_some()
            {}
            Ok(Op::Nothing)
        }
        "activemask" => {
            form.take("b32");
            form.count(1)?;
            Ok(Op::ActiveMask {
                d: encoder.destination(&form.operands[0], ScalarType::B32)?,
            })
        }
        _ => Err(form.unsupported("this instruction is not supported")),
    }
}

fn barrier(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let word = ScalarType::U32;
    form.take("aligned");
    form.take("cta");
    if form.take("warp") {
        form.take("sync");
        form.count(1)?;
        encoder.word(&form.operands[0], word)?;
        return Ok(Op::Nothing);
    }
    if form.take("cluster") {
        return Err(form.unsupported("clusters are not supported"));
    }
    let mut barrier = Barrier {
        kind: BarrierKind::Wait,
        id: Src(0),
        threads: None,
        d: NO_REGISTER,
        p: Pred(Pred::TRUE),
    };
    let mut rest = form.operands;
    if form.take("red") {
        barrier.kind = form
            .take_one(|name| match name {
                "popc" => Some(BarrierKind::Count),
                "and" => Some(BarrierKind::All),
                "or" => Some(BarrierKind::Any),
                _ => None,
            })
            .ok_or_else(|| form.unsupported("the reduction must be popc, and, or"))?;
        let ty = form.take_type()?;
        let [d, middle @ .., p] = rest else {
            return Err(form.unsupported("expected a destination, a barrier and a predicate"));
        };
        barrier.d = match barrier.kind {
            BarrierKind::Count => encoder.destination(d, ty)?,
            _ => encoder.predicate_destination(d)?,
        };
        barrier.p = encoder.predicate(p)?;
        rest = middle;
    } else if form.take("arrive") {
        barrier.kind = BarrierKind::Arrive;
    } else if !form.take("sync") {
        return Err(form.unsupported("expected sync, red or arrive"));
    }
    let (Some(id), true) = (rest.first(), rest.len() <= 2) else {
        return Err(form.unsupported("expected a barrier and optionally a number of threads"));
    };
    barrier.id = encoder.word(id, word)?;
    if let Some(threads) = rest.get(1) {
        barrier.threads = Some(encoder.word(threads, word)?);
    }
    if barrier.kind == BarrierKind::Arrive && barrier.threads.is_none() {
        return Err(form.unsupported("`arrive` requires the number of threads"));
    }
    encoder.tables.barriers.push(barrier);
    Ok(Op::Barrier(encoder.tables.barriers.len() as u32 - 1))
}

pub(crate) fn shuffle(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let word = ScalarType::B32;
    let sync = form.take("sync");
    let mode = form
        .take_one(|name| match name {
            "up" => Some(ShuffleMode::Up),
            "down" => Some(ShuffleMode::Down),
            "bfly" => Some(ShuffleMode::Butterfly),
            "idx" => Some(ShuffleMode::Index),
            _ => None,
        })
        .ok_or_else(|| form.unsupported("expected up, down, bfly or idx"))?;
    let ty = form.take_type()?;
    if ty.bits() != 32 {
        return Err(form.unsupported("the value must have 32 bits"));
    }
    form.count(if sync { 5 } else { 4 })?;
    if sync {
        encoder.word(&form.operands[4], word)?;
    }
    let (d, p) = match &form.operands[0].value {
        Value::Pair(d, p) => (
            encoder.optional_destination(d, word)?,
            encoder.predicate_destination(p)?,
        ),
        _ => (encoder.destination(&form.operands[0], word)?, Pred::NONE),
    };
    let a = encoder.word(&form.operands[1], word)?;
    let (b, c) = (
        encoder.word(&form.operands[2], word)?,
        encoder.word(&form.operands[3], word)?,
    );
    encoder.tables.shuffles.push(Shuffle {
        mode,
        d,
        p,
        a,
        b,
        c,
    });
    Ok(Op::Shuffle(encoder.tables.shuffles.len() as u32 - 1))
}

/// Encodes `vote.sync.ballot.b32`, `vote.ballot.sync.b32` and the older `vote.ballot.b32`.
pub(crate) fn vote(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let sync = form.take("sync");
    let mode = form
        .take_one(|name| match name {
            "all" => Some(VoteMode::All),
            "any" => Some(VoteMode::Any),
            "uni" => Some(VoteMode::Uniform),
            "ballot" => Some(VoteMode::Ballot),
            _ => None,
        })
        .ok_or_else(|| form.unsupported("expected all, any, uni or ballot"))?;
    let ty = form.take_type()?;
    form.count(if sync { 3 } else { 2 })?;
    let d = match (mode, ty.bits()) {
        (VoteMode::Ballot, 32) => encoder.destination(&form.operands[0], ty)?,
        (VoteMode::All | VoteMode::Any | VoteMode::Uniform, 1) => {
            encoder.predicate_destination(&form.operands[0])?
        }
        _ => {
            return Err(form.unsupported("the result of a ballot is .b32, of other votes .pred"));
        }
    };
    let a = encoder.predicate(&form.operands[1])?;
    let members = match form.operands.get(2) {
        Some(operand) => Some(encoder.word(operand, ScalarType::B32)?),
        None => None,
    };
    encoder.tables.votes.push(Vote {
        mode,
        d,
        a,
        members,
    });
    Ok(Op::Vote(encoder.tables.votes.len() as u32 - 1))
}

fn call(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    form.take("uni");
    let list = |operand: Option<&'_ Operand>| match operand {
        Some(Operand {
            value: Value::List(list),
            ..
        }) => Some(scalars(list)),
        _ => None,
    };
    let results = list(form.operands.first());
    let rest = if results.is_some() {
        &form.operands[1..]
    } else {
        form.operands
    };
    let Some(called) = rest.first() else {
        return Err(form.unsupported("missing function name"));
    };
    let span = called.span;
    let (results, arguments) = (
        results.unwrap_or_default(),
        list(rest.get(1)).unwrap_or_default(),
    );
    let function = match called.value {
        Value::Function(function) => function,
        Value::Register(_) => return indirect_call(encoder, form, called, &arguments, &results),
        _ => {
            let message = "expected a function or a register";
            return Err(SpannedError::new(span, message));
        }
    };
    if encoder.functions[function].is_none() {
        return external::external(
            encoder,
            encoder.function_names[function],
            span,
            &arguments,
            &results,
        );
    }
    let site = call_site(encoder, function, span, &arguments, &results)?;
    Ok(Op::Call(site))
}

/// Encodes a call through a register, with one call site for each possible target.
fn indirect_call(
    encoder: &mut Encoder<'_, '_>,
    form: &Form<'_>,
    called: &Operand,
    arguments: &[Operand],
    results: &[Operand],
) -> Encoded<Op> {
    let Some(&Operand {
        value: Value::Prototype(prototype),
        ..
    }) = form.operands.last()
    else {
        let message = "an indirect call must end with the label of its prototype or targets";
        return Err(SpannedError::new(called.span, message));
    };
    let Value::Register(register) = called.value else {
        return Err(form.unsupported("an indirect call requires a register"));
    };
    let wide = encoder.ty(register).bits() == 64;
    let pointer = encoder.source(
        called,
        if wide {
            ScalarType::U64
        } else {
            ScalarType::U32
        },
    )?;
    let function = encoder.function;
    let prototype = &function.body.prototypes[prototype];
    let mut sites = Vec::new();
    for &target in prototype.targets.iter().flatten() {
        let site = call_site(encoder, target, called.span, arguments, results)?;
        sites.push((function_address(target), site));
    }
    encoder.tables.control.indirect_calls.push(IndirectCall {
        pointer,
        wide,
        sites,
    });
    Ok(Op::CallIndirect(
        encoder.tables.control.indirect_calls.len() as u32 - 1,
    ))
}

/// Builds the call site for `function`, a number in the table, and returns its index.
fn call_site(
    encoder: &mut Encoder<'_, '_>,
    function: usize,
    span: Span,
    arguments: &[Operand],
    results: &[Operand],
) -> Encoded<u32> {
    let functions = encoder.functions;
    let (Some(callee), Some(&place)) = (&functions[function], encoder.places.get(&function)) else {
        let message = "the function called has no body in this module";
        return Err(SpannedError::unsupported(span, message));
    };
    let (formals, returned) = (&callee.body.parameters, &callee.body.returns);
    if arguments.len() != formals.len() || results.len() != returned.len() {
        let message = format!(
            "the function takes {} arguments and returns {}, but the call has {} and {}",
            formals.len(),
            returned.len(),
            arguments.len(),
            results.len()
        );
        return Err(SpannedError::new(span, message));
    }
    let mut site = CallSite {
        callee: place,
        ..CallSite::default()
    };
    for (operand, &formal) in arguments.iter().zip(formals) {
        transfer(encoder, operand, formal, function, &mut site.arguments)?;
    }
    for (operand, &formal) in results.iter().zip(returned) {
        // The caller discards this value.
        if !matches!(operand.value, Value::Nowhere) {
            transfer(encoder, operand, formal, function, &mut site.results)?;
        }
    }
    encoder.tables.control.calls.push(site);
    Ok(encoder.tables.control.calls.len() as u32 - 1)
}

/// Adds the transfer of one value between the caller's and the callee's frame.
fn transfer(
    encoder: &mut Encoder<'_, '_>,
    operand: &Operand,
    formal: Formal,
    function: usize,
    transfers: &mut Vec<Transfer>,
) -> Encoded<()> {
    let functions = encoder.functions;
    let callee = functions[function]
        .as_ref()
        .expect("the callee was resolved earlier");
    let mismatch = || SpannedError::new(operand.span, "the argument does not match the parameter");
    match (formal, &operand.value) {
        (Formal::Memory(index), &Value::Symbol(Symbol::Frame(mine), 0)) => {
            let theirs = &callee.body.frame[index];
            let own = &encoder.function.body.frame[mine];
            if own.bytes != theirs.bytes {
                return Err(mismatch());
            }
            transfers.push(Transfer::Memory {
                caller: own.offset,
                callee: theirs.offset,
                bytes: own.bytes,
            });
        }
        (Formal::Register(register), value) => {
            let ty = callee.body.registers[register as usize].ty;
            let number = callee.allocation.numbers[register as usize];
            // An unused parameter has no register.
            let is_used = number != u16::MAX;
            let number = if is_used { number } else { NO_REGISTER };
            let half = |at: u16| {
                Src(if is_used {
                    number / 2 + at
                } else {
                    NO_REGISTER
                })
            };
            match (ty.bits(), value) {
                (1, &Value::Register(mine)) if encoder.file(mine) == File::Predicate => {
                    let caller = encoder.number(mine);
                    transfers.push(Transfer::Predicate {
                        caller,
                        callee: number,
                    });
                }
                (1, _) => return Err(mismatch()),
                (128, _) => {
                    let Src(low) = encoder.source(operand, ty)?;
                    transfers.extend([0, 1].map(|at| Transfer::Double {
                        caller: Src(low + at),
                        callee: half(at),
                    }));
                }
                (64, _) => transfers.push(Transfer::Double {
                    caller: encoder.double(operand, ty)?,
                    callee: half(0),
                }),
                _ => transfers.push(Transfer::Word {
                    caller: encoder.any_word(operand, ty)?,
                    callee: Src(number),
                }),
            }
        }
        _ => return Err(mismatch()),
    }
    Ok(())
}
