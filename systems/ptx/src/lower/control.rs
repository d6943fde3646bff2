//! Control flow, calls, barriers and exchange between lanes.

use crate::alloc::File;
use crate::diagnostics::Complaint;
use crate::lower::encode::{Encoded, Encoder, Form};
use crate::lower::names::{Formal, Operand, Symbol, Value};
use crate::ops::{
    Barrier, BarrierKind, CallSite, NO_PC, NO_REGISTER, Op, Pred, Shuffle, ShuffleMode, Src,
    Transfer, Vote, VoteMode,
};
use crate::types::ScalarType;

impl Encoder<'_, '_> {
    pub(crate) fn control(&mut self, form: &mut Form<'_>, index: usize) -> Encoded<Op> {
        match form.base {
            "bra" => {
                form.take("uni");
                form.count(1)?;
                let Value::Label(target) = form.operands[0].value else {
                    return Err(Complaint::new(form.operands[0].span, "expected a label"));
                };
                let meet = self.function.graph.meet(index);
                Ok(Op::Branch {
                    target: self.start + target as u32,
                    meet: meet.map_or(NO_PC, |meet| self.start + meet as u32),
                })
            }
            "ret" | "exit" => {
                form.take("uni");
                form.count(0)?;
                // A kernel that returns ends its thread.
                Ok(if self.is_entry || form.base == "exit" {
                    Op::Exit
                } else {
                    Op::Return
                })
            }
            "trap" | "brkpt" => Ok(Op::Trap),
            "call" => self.call(form),
            "bar" | "barrier" => self.barrier(form),
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
            "prefetch" | "prefetchu" | "discard" => {
                let words = [
                    "global",
                    "local",
                    "L1",
                    "L2",
                    "L2::evict_last",
                    "L2::evict_normal",
                ];
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
                    d: self.destination(&form.operands[0], ScalarType::B32)?,
                })
            }
            _ => Err(form.unsupported("this instruction is not supported")),
        }
    }

    fn barrier(&mut self, form: &mut Form<'_>) -> Encoded<Op> {
        let word = ScalarType::U32;
        form.take("aligned");
        form.take("cta");
        if form.take("warp") {
            form.take("sync");
            form.count(1)?;
            self.word(&form.operands[0], word)?;
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
                .ok_or_else(|| form.unsupported("it reduces by popc, and, or"))?;
            let ty = form.take_type()?;
            let [d, middle @ .., p] = rest else {
                return Err(form.unsupported("it takes a destination, a barrier and a predicate"));
            };
            barrier.d = match barrier.kind {
                BarrierKind::Count => self.destination(d, ty)?,
                _ => self.predicate_destination(d)?,
            };
            barrier.p = self.predicate(p)?;
            rest = middle;
        } else if form.take("arrive") {
            barrier.kind = BarrierKind::Arrive;
        } else if !form.take("sync") {
            return Err(form.unsupported("it is sync, red or arrive"));
        }
        let (Some(id), true) = (rest.first(), rest.len() <= 2) else {
            return Err(form.unsupported("it takes a barrier and perhaps a number of threads"));
        };
        barrier.id = self.word(id, word)?;
        if let Some(threads) = rest.get(1) {
            barrier.threads = Some(self.word(threads, word)?);
        }
        if barrier.kind == BarrierKind::Arrive && barrier.threads.is_none() {
            return Err(form.unsupported("`arrive` needs the number of threads"));
        }
        self.tables.barriers.push(barrier);
        Ok(Op::Barrier(self.tables.barriers.len() as u32 - 1))
    }

    pub(crate) fn shuffle(&mut self, form: &mut Form<'_>) -> Encoded<Op> {
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
            .ok_or_else(|| form.unsupported("it is up, down, bfly or idx"))?;
        let ty = form.take_type()?;
        if ty.bits() != 32 {
            return Err(form.unsupported("it moves 32-bit values"));
        }
        form.count(if sync { 5 } else { 4 })?;
        if sync {
            self.word(&form.operands[4], word)?;
        }
        let (d, p) = match &form.operands[0].value {
            Value::Pair(d, p) => (
                self.optional_destination(d, word)?,
                self.predicate_destination(p)?,
            ),
            _ => (self.destination(&form.operands[0], word)?, Pred::NONE),
        };
        let a = self.word(&form.operands[1], word)?;
        let (b, c) = (
            self.word(&form.operands[2], word)?,
            self.word(&form.operands[3], word)?,
        );
        self.tables.shuffles.push(Shuffle {
            mode,
            d,
            p,
            a,
            b,
            c,
        });
        Ok(Op::Shuffle(self.tables.shuffles.len() as u32 - 1))
    }

    /// `vote.sync.ballot.b32`, `vote.ballot.sync.b32` and the old `vote.ballot.b32`.
    pub(crate) fn vote(&mut self, form: &mut Form<'_>) -> Encoded<Op> {
        let sync = form.take("sync");
        let mode = form
            .take_one(|name| match name {
                "all" => Some(VoteMode::All),
                "any" => Some(VoteMode::Any),
                "uni" => Some(VoteMode::Uniform),
                "ballot" => Some(VoteMode::Ballot),
                _ => None,
            })
            .ok_or_else(|| form.unsupported("it is all, any, uni or ballot"))?;
        let ty = form.take_type()?;
        form.count(if sync { 3 } else { 2 })?;
        let d = match (mode, ty.bits()) {
            (VoteMode::Ballot, 32) => self.destination(&form.operands[0], ty)?,
            (VoteMode::All | VoteMode::Any | VoteMode::Uniform, 1) => {
                self.predicate_destination(&form.operands[0])?
            }
            _ => return Err(form.unsupported("a ballot gives .b32, other votes .pred")),
        };
        let a = self.predicate(&form.operands[1])?;
        let members = match form.operands.get(2) {
            Some(operand) => Some(self.word(operand, ScalarType::B32)?),
            None => None,
        };
        self.tables.votes.push(Vote {
            mode,
            d,
            a,
            members,
        });
        Ok(Op::Vote(self.tables.votes.len() as u32 - 1))
    }

    pub(crate) fn match_any(&mut self, form: &mut Form<'_>) -> Encoded<Op> {
        form.take("sync");
        if !form.take("any") {
            return Err(form.unsupported("only match.any is supported"));
        }
        let ty = form.take_type()?;
        form.count(3)?;
        let d = self.destination(&form.operands[0], ScalarType::B32)?;
        let a = self.source(&form.operands[1], ty)?;
        let members = self.word(&form.operands[2], ScalarType::B32)?;
        Ok(Op::Match {
            d,
            a,
            wide: ty.bits() == 64,
            members,
        })
    }

    fn call(&mut self, form: &mut Form<'_>) -> Encoded<Op> {
        form.take("uni");
        let list = |operand: Option<&'_ Operand>| match operand {
            Some(Operand {
                value: Value::List(list),
                ..
            }) => Some(list.clone()),
            _ => None,
        };
        let results = list(form.operands.first());
        let rest = if results.is_some() {
            &form.operands[1..]
        } else {
            form.operands
        };
        let Some(&Operand {
            value: Value::Function(function),
            span,
        }) = rest.first()
        else {
            return Err(form.unsupported("indirect calls are not supported"));
        };
        let arguments = list(rest.get(1)).unwrap_or_default();
        if self.functions[function].is_none() {
            let results = results.unwrap_or_default();
            return self.external(self.function_names[function], span, &arguments, &results);
        }
        let results = results.unwrap_or_default();
        let functions = self.functions;
        let (Some(callee), Some(&place)) = (&functions[function], self.places.get(&function))
        else {
            let message = "the function called has no body in this module";
            return Err(Complaint::unsupported(span, message));
        };
        let (formals, returned) = (&callee.body.parameters, &callee.body.returns);
        if arguments.len() != formals.len() || results.len() != returned.len() {
            let message = format!(
                "the function takes {} arguments and returns {}, the call has {} and {}",
                formals.len(),
                returned.len(),
                arguments.len(),
                results.len()
            );
            return Err(Complaint::new(span, message));
        }
        let mut site = CallSite {
            callee: place,
            ..CallSite::default()
        };
        for (operand, &formal) in arguments.iter().zip(formals) {
            let transfer = self.transfer(operand, formal, function)?;
            site.arguments.push(transfer);
        }
        for (operand, &formal) in results.iter().zip(returned) {
            let transfer = self.transfer(operand, formal, function)?;
            site.results.push(transfer);
        }
        self.tables.calls.push(site);
        Ok(Op::Call(self.tables.calls.len() as u32 - 1))
    }

    /// How one value moves between this function's frame and the callee's.
    fn transfer(
        &mut self,
        operand: &Operand,
        formal: Formal,
        function: usize,
    ) -> Encoded<Transfer> {
        let functions = self.functions;
        let callee = functions[function]
            .as_ref()
            .expect("the callee was found before");
        let mismatch = || Complaint::new(operand.span, "the argument does not fit the parameter");
        match (formal, &operand.value) {
            (Formal::Memory(index), &Value::Symbol(Symbol::Frame(mine), 0)) => {
                let theirs = &callee.body.frame[index];
                let own = &self.function.body.frame[mine];
                if own.bytes != theirs.bytes {
                    return Err(mismatch());
                }
                Ok(Transfer::Memory {
                    caller: own.offset,
                    callee: theirs.offset,
                    bytes: own.bytes,
                })
            }
            (Formal::Register(register), value) => {
                let ty = callee.body.registers[register as usize].ty;
                let number = callee.allocation.numbers[register as usize];
                // A parameter nobody uses has no register.
                let number = if number == u16::MAX {
                    NO_REGISTER
                } else {
                    number
                };
                match (ty.bits(), value) {
                    (1, &Value::Register(mine)) if self.file(mine) == File::Predicate => {
                        let caller = self.number(mine);
                        Ok(Transfer::Predicate {
                            caller,
                            callee: number,
                        })
                    }
                    (1, _) => Err(mismatch()),
                    (64, _) => {
                        let caller = self.double(operand, ty)?;
                        let callee = if number == NO_REGISTER {
                            number
                        } else {
                            number / 2
                        };
                        Ok(Transfer::Double {
                            caller,
                            callee: Src(callee),
                        })
                    }
                    _ => {
                        let caller = self.any_word(operand, ty)?;
                        Ok(Transfer::Word {
                            caller,
                            callee: Src(number),
                        })
                    }
                }
            }
            _ => Err(mismatch()),
        }
    }
}
