//! Modules of a program, and selection of the module that a command refers to.

use std::sync::{Arc, OnceLock};

use warpweave_files::Ledger;
use warpweave_inputs::Name;
use warpweave_params::{Diagnostic, Diagnostics, Source, Span, name_hint};
use warpweave_ptx::{CodeForm, Kernel, Module};

use super::unknown;

/// PTX text of a module, before parsing.
#[derive(Clone, Debug)]
pub(super) struct ModuleText {
    pub(super) name: Name,
    pub(super) file: String,
    pub(super) text: Arc<str>,
    /// The module itself, if another program has parsed it.
    pub(super) parsed: Option<Arc<Module>>,
    /// Location in the file that names it.
    pub(super) place: Option<Span>,
}

/// Parsed PTX module of a host program.
#[derive(Debug)]
pub struct ProgramModule {
    name: String,
    module: Arc<Module>,
    /// Module in the form of compiled code, once it was asked for.
    compiled: OnceLock<Arc<Module>>,
    text: Arc<str>,
}

impl ProgramModule {
    /// Returns the name of the module in host commands.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the parsed module with its kernels and variables.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Returns the parsed module and its text, for other programs that name it.
    pub(super) fn shared(&self) -> (&Arc<Module>, &Arc<str>) {
        (&self.module, &self.text)
    }

    /// Returns the module in a form of code, after charging the ledger for a new one.
    pub(super) fn in_form(
        &self,
        form: CodeForm,
        ledger: &Ledger,
    ) -> Result<&Arc<Module>, Diagnostic> {
        if form == CodeForm::AsWritten {
            return Ok(&self.module);
        }
        if let Some(compiled) = self.compiled.get() {
            return Ok(compiled);
        }
        let file = self.module.file();
        // The text is kept in both forms while one is made of the other.
        let bytes = Module::parse_bytes(&self.text).saturating_mul(2);
        ledger.charge(file, bytes).map_err(Diagnostic::from)?;
        let compiled = Module::parse_as(file, &self.text, form);
        let compiled = compiled.map_err(|problems| Diagnostic::error(problems.to_string()))?;
        Ok(self.compiled.get_or_init(|| Arc::new(compiled)))
    }

    /// Returns the PTX text of the module.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the names of all kernels, including those that cannot be launched.
    pub(super) fn kernel_names(&self) -> impl Iterator<Item = &str> + Clone {
        let refused = self.module.refused().iter();
        let names = self.module.kernels().iter().map(Kernel::name);
        names.chain(refused.map(|kernel| kernel.name.as_str()))
    }
}

/// Parses all modules of a program.
pub(super) fn parse(texts: Vec<ModuleText>) -> Result<Vec<ProgramModule>, Diagnostics> {
    if texts.is_empty() {
        return Err(Diagnostic::error("a host program needs a module")
            .hint("call `.module(file, text)`")
            .into());
    }
    let mut problems = Diagnostics::new();
    let mut modules: Vec<ProgramModule> = Vec::new();
    for text in texts {
        let twice = modules
            .iter()
            .find(|earlier| earlier.name == text.name.value || earlier.module.file() == text.file);
        if let Some(earlier) = twice {
            let message = format!(
                "module `{}` is already listed, as `{}` of {}",
                text.name.value,
                earlier.name,
                earlier.module.file()
            );
            problems.push(text.name.error(message));
            continue;
        }
        let module = match &text.parsed {
            Some(parsed) => Some(Arc::clone(parsed)),
            None => problems.take(parse_one(&text)).map(Arc::new),
        };
        modules.extend(module.map(|module| ProgramModule {
            name: text.name.value,
            module,
            compiled: OnceLock::new(),
            text: text.text,
        }));
    }
    problems.into_result(modules)
}

fn parse_one(module: &ModuleText) -> Result<Module, Diagnostics> {
    let ModuleText {
        file, text, place, ..
    } = module;
    let complaints = match Module::parse(file, text) {
        Ok(module) => return Ok(module),
        Err(complaints) => complaints,
    };
    let diagnostics = in_module(file, text, complaints).map(|diagnostic| match place {
        Some(place) => diagnostic.related("the module is named here", place),
        None => diagnostic,
    });
    Err(diagnostics.collect())
}

/// Converts problems of a module to diagnostics that point into its text.
pub(super) fn in_module(
    file: &str,
    text: &str,
    complaints: warpweave_ptx::Diagnostics,
) -> impl Iterator<Item = Diagnostic> {
    let source = Source::new(file, text);
    complaints.0.into_iter().map(move |complaint| {
        let start = source.offset(warpweave_params::Position {
            line: complaint.line as usize,
            column: complaint.column as usize,
        });
        let place = source.span(start, start + complaint.width as usize);
        let mut diagnostic = Diagnostic::error(complaint.message).at(&place);
        diagnostic.hint = complaint.hint;
        diagnostic
    })
}

/// Kind of named item in a module.
#[derive(Clone, Copy)]
pub(super) enum SymbolKind {
    Kernel,
    Variable,
    TextureReference,
}

impl SymbolKind {
    fn word(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Variable => "variable",
            Self::TextureReference => "texture reference",
        }
    }

    /// Returns the names of a module's items of this kind.
    fn names(self, module: &ProgramModule) -> Vec<&str> {
        match self {
            Self::Kernel => module.kernel_names().collect(),
            Self::Variable => module.module.variable_names().collect(),
            Self::TextureReference => module.module.texture_references().collect(),
        }
    }
}

/// Returns the index of the module that defines an item: the chosen one, or else the only one that
/// defines it.
pub(super) fn find(
    modules: &[ProgramModule],
    chosen: Option<&Name>,
    thing: SymbolKind,
    name: &Name,
) -> Result<usize, Diagnostic> {
    let word = thing.word();
    let has = |number: &usize| {
        thing
            .names(&modules[*number])
            .contains(&name.value.as_str())
    };
    let asked: Vec<usize> = match chosen {
        Some(chosen) => {
            let found = modules.iter().position(|it| it.name == chosen.value);
            let names = modules.iter().map(|it| it.name.as_str());
            vec![found.ok_or_else(|| unknown("module", chosen, names))?]
        }
        None => (0..modules.len()).collect(),
    };
    let having: Vec<usize> = asked.iter().copied().filter(has).collect();
    match having[..] {
        [number] => Ok(number),
        [] => {
            let files: Vec<&str> = asked.iter().map(|it| modules[*it].module.file()).collect();
            let message = match files[..] {
                [file] => format!("{file} has no {word} `{}`", name.value),
                _ => format!("none of {} has a {word} `{}`", files.join(", "), name.value),
            };
            let mut names: Vec<&str> = asked
                .iter()
                .flat_map(|it| thing.names(&modules[*it]))
                .collect();
            names.sort_unstable();
            names.dedup();
            let hint = name_hint(&name.value, &format!("{word}s"), names);
            Err(name.error(message).hint(hint))
        }
        _ => {
            let names: Vec<String> = having
                .iter()
                .map(|it| format!("`{}`", modules[*it].name))
                .collect();
            let message = format!(
                "several modules have a {word} `{}`: {}",
                name.value,
                names.join(", ")
            );
            let hint = format!("say which: module: \"{}\"", modules[having[0]].name);
            Err(name.error(message).hint(hint))
        }
    }
}
