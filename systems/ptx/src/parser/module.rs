//! Parser for module level: directives, functions, variables and their initializers.

use super::{Parsed, Parser};
use crate::ast::{Function, FunctionDirectives, Initialiser, Linkage, Location, Tree, Variable};
use crate::diagnostics::{Span, SpannedError};
use crate::lexer::Kind;
use crate::types::{ScalarType, StateSpace};

/// Alignment of device allocations in bytes; the maximum for variables.
const ALIGNMENT_MAX: u32 = 256;

/// Maximum size in bytes; it keeps sizes within 32 bits, so that layouts do not overflow.
const BYTES_MAX: u64 = 1 << 31;

const MODULE_DIRECTIVES: [&str; 20] = [
    "version",
    "target",
    "address_size",
    "visible",
    "extern",
    "weak",
    "common",
    "entry",
    "func",
    "global",
    "const",
    "shared",
    "local",
    "file",
    "loc",
    "section",
    "pragma",
    "alias",
    "reg",
    "param",
];

impl<'a> Parser<'a> {
    pub(super) fn module(&mut self) -> Tree<'a> {
        let mut tree = Tree {
            address_bits: 32,
            ..Tree::default()
        };
        while self.peek().kind != Kind::End {
            let before = self.at;
            if let Err(complaint) = self.module_item(&mut tree) {
                self.complain(complaint);
                self.recover();
                self.eat('}');
            }
            if self.at == before {
                self.next();
            }
        }
        if tree.version.is_empty() && self.complaints.is_empty() {
            let span = self.tokens[0].span;
            self.complain(SpannedError::new(
                span,
                "expected `.version` at the start of the module",
            ));
        }
        tree
    }

    fn module_item(&mut self, tree: &mut Tree<'a>) -> Parsed<()> {
        if self.eat(';') {
            return Ok(());
        }
        let token = self.peek();
        let Some(name) = self.dot() else {
            return Err(self.expected("a directive such as `.visible .entry` or `.global`"));
        };
        match name {
            "version" => {
                self.next();
                let value = self.next();
                if !matches!(value.kind, Kind::Double(_) | Kind::Integer(_)) {
                    self.at -= 1;
                    return Err(self.expected("a version such as `7.0`"));
                }
                self.slice(value.span).clone_into(&mut tree.version);
            }
            "target" => {
                self.next();
                loop {
                    tree.target.push(self.word("a target such as `sm_70`")?.0);
                    if !self.eat(',') {
                        break;
                    }
                }
            }
            "address_size" => {
                self.next();
                tree.address_bits = self.integer("`32` or `64`")? as u32;
                if !matches!(tree.address_bits, 32 | 64) {
                    return Err(SpannedError::new(
                        self.last_span(),
                        "the address size must be 32 or 64",
                    ));
                }
            }
            "file" | "loc" => {
                self.location()?;
            }
            "section" => self.section(),
            "alias" => {
                self.next();
                let (name, span) = self.word("a function name")?;
                self.expect(',', "between the names")?;
                let (meant, _) = self.word("a function name")?;
                tree.aliases.push((name, span, meant));
                self.expect(';', "after `.alias`")?;
            }
            "pragma" => self.pragma()?,
            _ => self.declaration(tree).map_err(|complaint| {
                if complaint.span == token.span && complaint.hint.is_none() {
                    complaint.nearest(name, MODULE_DIRECTIVES)
                } else {
                    complaint
                }
            })?,
        }
        Ok(())
    }

    /// Parses `.file 1 "name"[, time, size]` or
    /// `.loc file line column[, function_name f, inlined_at ..]`.
    pub(super) fn location(&mut self) -> Parsed<Option<Location>> {
        let is_file = self.dot() == Some("file");
        self.next();
        let file = self.integer("a file index")?;
        if is_file {
            if self.peek().kind != Kind::Text {
                return Err(self.expected("a file name in quotes"));
            }
            let quoted = self.next().span;
            self.files
                .insert(file, self.slice(quoted).trim_matches('"'));
            while self.eat(',') {
                self.integer("a number")?;
            }
            return Ok(None);
        }
        let line = self.integer("a line")?;
        let column = self.integer("a column")?;
        while self.eat(',') {
            let (word, _) = self.word("`function_name` or `inlined_at`")?;
            if word == "function_name" {
                self.word("a label")?;
                if self.eat('+') {
                    self.integer("an offset")?;
                }
            } else {
                for _ in 0..3 {
                    self.integer("a number")?;
                }
            }
        }
        let small = |number: u64| u32::try_from(number).unwrap_or(0);
        Ok(Some(Location {
            file,
            line: small(line),
            column: small(column),
        }))
    }

    /// Skips `.section name { ... }`, which holds debug data.
    pub(super) fn section(&mut self) {
        self.next();
        self.next();
        if self.is_punct('{') {
            self.skip_braces();
        }
    }

    /// Skips `(...)` after `.attribute`, with nested parentheses.
    fn attribute(&mut self) -> Parsed<()> {
        self.expect('(', "after `.attribute`")?;
        let mut depth = 1;
        while depth > 0 {
            depth = match self.next().kind {
                Kind::Punct('(') => depth + 1,
                Kind::Punct(')') => depth - 1,
                Kind::End => return Err(self.expected("`)` after the attribute")),
                _ => depth,
            };
        }
        Ok(())
    }

    pub(super) fn pragma(&mut self) -> Parsed<()> {
        self.next();
        while self.peek().kind == Kind::Text {
            self.next();
            self.eat(',');
        }
        self.expect(';', "after `.pragma`").map(|_| ())
    }

    fn linkage(&mut self) -> Linkage {
        let mut linkage = Linkage::Internal;
        loop {
            linkage = match self.dot() {
                Some("visible") => Linkage::Visible,
                Some("extern") => Linkage::Extern,
                Some("weak" | "common") => Linkage::Weak,
                _ => return linkage,
            };
            self.next();
        }
    }

    fn declaration(&mut self, tree: &mut Tree<'a>) -> Parsed<()> {
        let linkage = self.linkage();
        match self.dot() {
            Some("entry" | "func") => {
                let function = self.function()?;
                tree.functions.push(function);
                Ok(())
            }
            Some(name) if StateSpace::from_name(name).is_some() || name == "tex" => {
                let from = tree.variables.len();
                self.variables(linkage, &mut tree.variables)?;
                for variable in &tree.variables[from..] {
                    if variable.space == StateSpace::Register {
                        let message = "registers must be declared inside a function";
                        return Err(SpannedError::new(variable.span, message));
                    }
                    let is_private =
                        matches!(variable.space, StateSpace::Local | StateSpace::Param);
                    if is_private && variable.initialiser.is_some() {
                        let message = "per-thread variables cannot have an initial value";
                        return Err(SpannedError::new(variable.span, message));
                    }
                }
                Ok(())
            }
            _ => Err(self.expected("`.entry`, `.func` or a state space")),
        }
    }

    fn function(&mut self) -> Parsed<Function<'a>> {
        let is_entry = self.dot() == Some("entry");
        self.next();
        // `.func .noreturn (..)` and friends.
        loop {
            if self.eat_dot("attribute") {
                self.attribute()?;
            } else if !self.eat_dot("noreturn") {
                break;
            }
        }
        let returns = if self.is_punct('(') {
            self.parameters()?
        } else {
            Vec::new()
        };
        let (name, span) = self.word("the function name")?;
        let parameters = if self.is_punct('(') {
            self.parameters()?
        } else {
            Vec::new()
        };
        let opaque = parameters.iter().filter_map(|parameter| {
            let message = format!("`{}`: {}", parameter.name, parameter.unsupported?);
            Some(SpannedError::unsupported(parameter.span, message))
        });
        let mut unsupported: Vec<SpannedError> = opaque.collect();
        let directives = self.function_directives(&mut unsupported)?;
        let body = if self.eat(';') {
            None
        } else if self.is_punct('{') {
            Some(self.body()?)
        } else if self.peek().kind == Kind::Dot || self.peek().kind == Kind::End {
            // Old compilers end declarations without a semicolon.
            None
        } else {
            return Err(self.expected("`{` and a body, or `;`"));
        };
        Ok(Function {
            name,
            span,
            is_entry,
            returns,
            parameters,
            unsupported,
            directives,
            body,
        })
    }

    /// Reads the directives between head and body. Those on tuning alone have no functional effect.
    /// Demands for unsupported features are added to `unsupported`.
    pub(super) fn function_directives(
        &mut self,
        unsupported: &mut Vec<SpannedError>,
    ) -> Parsed<FunctionDirectives> {
        let mut directives = FunctionDirectives::default();
        while let Some(name) = self.dot() {
            let span = self.peek().span;
            match name {
                "reqnctapercluster" | "explicitcluster" => {
                    self.next();
                    let mut size = u64::from(name == "explicitcluster") + 1;
                    while matches!(self.peek().kind, Kind::Integer(_)) {
                        size = size.saturating_mul(self.integer("a number")?);
                        self.eat(',');
                    }
                    if size != 1 {
                        let message =
                            format!("`.{name}`: clusters of work-groups are not supported");
                        unsupported.push(SpannedError::unsupported(span, message));
                    }
                }
                "attribute" => {
                    self.next();
                    self.attribute()?;
                }
                "maxntid" => directives.most_threads = Some((span, self.extents()?)),
                "reqntid" => directives.required_threads = Some((span, self.extents()?)),
                "maxnreg"
                | "minnctapersm"
                | "maxnctapersm"
                | "noreturn"
                | "maxclusterrank"
                | "blocksareclusters"
                | "abi_preserve"
                | "abi_preserve_control"
                | "unified" => {
                    self.next();
                    while matches!(self.peek().kind, Kind::Integer(_)) {
                        self.next();
                        self.eat(',');
                    }
                }
                "pragma" => self.pragma()?,
                "file" | "loc" => {
                    self.location()?;
                }
                _ => return Ok(directives),
            }
        }
        Ok(directives)
    }

    /// Reads one to three extents after a directive; missing ones are one.
    fn extents(&mut self) -> Parsed<[u32; 3]> {
        self.next();
        let mut extents = [1; 3];
        for (index, extent) in extents.iter_mut().enumerate() {
            if index > 0 && !self.eat(',') {
                break;
            }
            let threads = self.integer("a number of threads")?;
            *extent = u32::try_from(threads).unwrap_or(u32::MAX);
        }
        Ok(extents)
    }

    pub(super) fn parameters(&mut self) -> Parsed<Vec<Variable<'a>>> {
        self.expect('(', "before parameters")?;
        let mut list = Vec::new();
        while !self.is_punct(')') {
            match self.dot().and_then(StateSpace::from_name) {
                Some(StateSpace::Param | StateSpace::Register) => {}
                _ => return Err(self.expected("`.param` or `.reg`")),
            }
            self.one_variable(Linkage::Internal, &mut list)?;
            if !self.eat(',') {
                break;
            }
        }
        self.expect(')', "after parameters")?;
        Ok(list)
    }

    /// Parses one declaration including its `;`, which may declare several names.
    pub(super) fn variables(
        &mut self,
        linkage: Linkage,
        list: &mut Vec<Variable<'a>>,
    ) -> Parsed<()> {
        let from = list.len();
        self.one_variable(linkage, list)?;
        while self.eat(',') {
            let first = list[from].clone();
            let (name, span) = self.word("a name")?;
            let mut variable = Variable {
                name,
                span,
                range: None,
                extents: Vec::new(),
                initialiser: None,
                ..first
            };
            self.variable_tail(&mut variable)?;
            list.push(variable);
        }
        self.expect(';', "after the declaration").map(|_| ())
    }

    fn one_variable(&mut self, linkage: Linkage, list: &mut Vec<Variable<'a>>) -> Parsed<()> {
        // `.tex .u32 name` is how texture references were declared before `.global .texref name`.
        let mut is_texture = self.dot() == Some("tex");
        let space = match self.dot() {
            Some(_) if is_texture => Some(StateSpace::Global),
            name => name.and_then(StateSpace::from_name),
        };
        let space = space.filter(|space| *space != StateSpace::Argument);
        let space = space.ok_or_else(|| self.expected("a state space such as `.reg`"))?;
        self.next();
        let (mut align, mut vector, mut ty, mut unsupported) = (None, 1, None, None);
        while let Some(word) = self.dot() {
            let span = self.peek().span;
            self.next();
            match word {
                "align" => {
                    let value = self.integer("an alignment")? as u32;
                    if !value.is_power_of_two() || value > ALIGNMENT_MAX {
                        let message = "the alignment must be a power of two of at most 256";
                        return Err(SpannedError::new(self.last_span(), message));
                    }
                    // `.ptr .align n` describes what a pointer points to, not the parameter.
                    align = align.or(Some(value));
                }
                "v2" => vector = 2,
                "v4" => vector = 4,
                "ptr" => self.pointer_attributes()?,
                "attribute" => self.attribute()?,
                "texref" if space == StateSpace::Global => is_texture = true,
                "texref" => {
                    unsupported = Some("texture references are supported as variables only");
                }
                "samplerref" => unsupported = Some("separate samplers are not supported"),
                "surfref" => unsupported = Some("surfaces are not supported"),
                _ => ty = Some(variable_type(word, span)?),
            }
        }
        let ty = match ty {
            _ if is_texture || unsupported.is_some() => ScalarType::B64,
            ty => ty.ok_or_else(|| self.expected("a type such as `.b32`"))?,
        };
        // Parameters of a prototype may go without a name.
        let (name, span) = match self.peek().kind {
            Kind::Punct(',' | ')') => ("_", self.last_span()),
            _ => self.word("a name")?,
        };
        let mut variable = Variable {
            name,
            span,
            linkage,
            space,
            ty,
            is_texture,
            vector,
            align,
            extents: Vec::new(),
            range: None,
            initialiser: None,
            unsupported,
        };
        self.variable_tail(&mut variable)?;
        if is_texture && !(variable.extents.is_empty() && variable.initialiser.is_none()) {
            let message =
                "a texture reference can be neither an array nor initialized; the host binds it";
            return Err(SpannedError::new(span, message));
        }
        list.push(variable);
        Ok(())
    }

    /// Skips `.ptr [.space] [.align n]` on kernel parameters, which is an assertion for the
    /// compiler.
    fn pointer_attributes(&mut self) -> Parsed<()> {
        while let Some(word) = self.dot() {
            if word == "align" {
                self.next();
                self.integer("an alignment")?;
            } else if StateSpace::from_name(word).is_some() {
                self.next();
            } else {
                break;
            }
        }
        Ok(())
    }

    fn variable_tail(&mut self, variable: &mut Variable<'a>) -> Parsed<()> {
        if self.eat('<') {
            variable.range = Some(self.integer("the number of registers")?);
            self.expect('>', "after the number of registers")?;
        }
        while self.eat('[') {
            let extent = if self.is_punct(']') {
                None
            } else {
                Some(self.expression()?)
            };
            variable.extents.push(extent);
            self.expect(']', "after the extent")?;
        }
        let elements = variable
            .extents
            .iter()
            .flatten()
            .try_fold(1u64, |n, &e| n.checked_mul(e));
        let bytes = elements.and_then(|elements| elements.checked_mul(variable.element_bytes()));
        if bytes.is_none_or(|bytes| bytes > BYTES_MAX) {
            let message = format!("`{}` takes more than {BYTES_MAX} bytes", variable.name);
            return Err(SpannedError::new(self.last_span(), message));
        }
        if self.eat('=') {
            // The attributes of an opaque object.
            if variable.unsupported.is_some() && self.is_punct('{') {
                self.skip_braces();
                return Ok(());
            }
            variable.initialiser = Some(self.initialiser()?);
        }
        Ok(())
    }

    fn initialiser(&mut self) -> Parsed<Initialiser<'a>> {
        if self.eat('{') {
            let mut list = Vec::new();
            while !self.is_punct('}') {
                list.push(self.deeper(Self::initialiser)?);
                if !self.eat(',') {
                    break;
                }
            }
            self.expect('}', "after the initialiser")?;
            return Ok(Initialiser::List(list));
        }
        let negative = self.is_punct('-');
        match self.peek_kind(usize::from(negative)) {
            Kind::Single(bits) => {
                self.at += usize::from(negative) + 1;
                Ok(Initialiser::Single(bits ^ (u32::from(negative) << 31)))
            }
            Kind::Double(bits) => {
                self.at += usize::from(negative) + 1;
                Ok(Initialiser::Double(bits ^ (u64::from(negative) << 63)))
            }
            Kind::Integer(_) | Kind::Punct('-' | '~' | '!' | '(') => {
                Ok(Initialiser::Integer(self.expression()?))
            }
            Kind::Word => {
                let (mut name, mut span) = self.word("a name")?;
                // Every variable of global and constant memory already has a generic address.
                if name == "generic" && self.eat('(') {
                    (name, span) = self.word("a name")?;
                    self.expect(')', "after the name")?;
                }
                let offset = self.signed_offset()?;
                Ok(Initialiser::Address { name, span, offset })
            }
            _ => Err(self.expected("a number, a name or `{`")),
        }
    }
}

fn variable_type(word: &str, span: Span) -> Parsed<ScalarType> {
    if let Some(ty) = ScalarType::from_name(word) {
        return Ok(ty);
    }
    let what = match word {
        "e4m3" | "e5m2" | "tf32" => "this type is not supported",
        _ => "unknown type",
    };
    let complaint = SpannedError::new(span, format!("{what}: `.{word}`"));
    Err(complaint.nearest(word, ["b32", "b64", "f32", "f64", "pred"]))
}
