//! Names of components and crates, in the forms required by Rust and cargo.

/// Maximum length of a name, since file systems and cargo's messages need short ones.
const LENGTH_MAX: usize = 64;

/// Component name in two forms: as its type and as its file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ComponentName {
    /// Name of the type, and in description files: `WriteCounter`.
    pub(super) kind: String,
    /// Name of the module and its file: `write_counter`.
    pub(super) module: String,
}

impl ComponentName {
    /// Parses a name in any of the usual forms: `WriteCounter`, `write_counter`, `write-counter`.
    ///
    /// # Errors
    /// Returns an error with the problem and a valid form if it cannot be a Rust name.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        check_letters(text)?;
        let words = words(text);
        let module = words.join("_").to_lowercase();
        let kind = words.iter().map(|word| capitalised(word)).collect();
        let name = Self { kind, module };
        for form in [&name.kind, &name.module] {
            if KEYWORDS.contains(&form.as_str()) {
                return Err(keyword(form));
            }
        }
        if OTHER_FILES.contains(&name.module.as_str()) {
            return Err(format!(
                "`{}.rs` has a special meaning to cargo\nhint: choose another name",
                name.module
            ));
        }
        if DEPENDENCIES.contains(&name.module.as_str()) {
            return Err(taken_by_dependency(&name.module));
        }
        Ok(name)
    }
}

/// Checks the name of a crate that becomes a program.
///
/// # Errors
/// Returns an error with the problem if the name is invalid.
pub(super) fn check_program(name: &str) -> Result<(), String> {
    check_letters(name)?;
    let module = name.replace('-', "_");
    if KEYWORDS.contains(&module.as_str()) {
        return Err(keyword(&module));
    }
    if DEPENDENCIES.contains(&module.as_str()) {
        return Err(taken_by_dependency(&module));
    }
    if BUILD_FOLDERS.contains(&name) {
        return Err(format!(
            "`{name}` is a build folder of cargo\nhint: choose another name"
        ));
    }
    Ok(())
}

/// True if `name` occurs in `text` as a whole word.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(|word| word == name)
}

fn check_letters(name: &str) -> Result<(), String> {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.len() > LENGTH_MAX {
        return Err(format!(
            "a name of {} bytes is too long\nhint: use at most {LENGTH_MAX} letters",
            name.len()
        ));
    }
    if begins && name.chars().all(goes_on) {
        return Ok(());
    }
    let name = name.escape_debug();
    Err(format!(
        "`{name}` is not a valid name\nhint: start with a letter, then use letters, digits, `_` or `-`, all ASCII"
    ))
}

/// Splits a name into words: at `_` and `-`, and before capital letters.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (i, &letter) in letters.iter().enumerate() {
        if letter == '_' || letter == '-' {
            words.push(String::new());
            continue;
        }
        let before = i.checked_sub(1).map(|i| letters[i]);
        let after = letters.get(i + 1);
        let begins = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                !before.is_ascii_uppercase() || after.is_some_and(char::is_ascii_lowercase)
            });
        if begins {
            words.push(String::new());
        }
        words
            .last_mut()
            .expect("the list of words is not empty")
            .push(letter);
    }
    words.retain(|word| !word.is_empty());
    words
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

fn keyword(name: &str) -> String {
    format!("`{name}` is a Rust keyword\nhint: choose another name")
}

fn taken_by_dependency(name: &str) -> String {
    format!("`{name}` is a crate that the program uses\nhint: choose another name")
}

/// Keywords of Rust, including those reserved for future use.
const KEYWORDS: [&str; 52] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
    "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if",
    "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub",
    "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Crates that a program made from the template can name.
const DEPENDENCIES: [&str; 8] = [
    "alloc",
    "core",
    "proc_macro",
    "schemars",
    "serde",
    "std",
    "test",
    "warpweave",
];

/// Files of `src/` that are not modules.
const OTHER_FILES: [&str; 2] = ["lib", "main"];

/// Names of folders next to a built program.
const BUILD_FOLDERS: [&str; 4] = ["build", "deps", "examples", "incremental"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_every_usual_way() {
        for (text, kind, module) in [
            ("WriteCounter", "WriteCounter", "write_counter"),
            ("write_counter", "WriteCounter", "write_counter"),
            ("write-counter", "WriteCounter", "write_counter"),
            ("writeCounter", "WriteCounter", "write_counter"),
            ("L2Cache", "L2Cache", "l2_cache"),
            ("GDDR5Controller", "GDDR5Controller", "gddr5_controller"),
            ("x", "X", "x"),
        ] {
            let (kind, module) = (kind.to_owned(), module.to_owned());
            assert_eq!(
                ComponentName::parse(text),
                Ok(ComponentName { kind, module })
            );
        }
    }

    #[test]
    fn what_rust_or_cargo_would_refuse_is_refused() {
        for name in ["", "9lives", "a b", "é", "../up", "_", "a.b", "-a"] {
            let error = ComponentName::parse(name).unwrap_err();
            assert!(error.contains("is not a valid name"), "{error}");
            assert_eq!(check_program(name), Err(error));
        }
        let long = "a".repeat(65);
        let error = check_program(&long).unwrap_err();
        assert!(error.contains("64 letters"), "{error}");
        let error = check_program("\u{1b}[31m").unwrap_err();
        assert!(!error.contains('\u{1b}'), "{error}");
        for name in ["Match", "self", "Self", "Lib", "main", "Serde", "Warpweave"] {
            assert!(ComponentName::parse(name).is_err(), "{name}");
        }
        for name in ["match", "warpweave", "serde", "proc-macro", "test", "deps"] {
            assert!(check_program(name).is_err(), "{name}");
        }
        assert_eq!(check_program("my-gpu_2"), Ok(()));
    }

    #[test]
    fn only_whole_words_are_mentioned() {
        assert!(mentions("use a::{Next, Ports};", "Next"));
        assert!(!mentions("use a::{NextOne};", "Next"));
    }
}
