//! Code without comments and tests, and the paths of modules that occur in it.

/// Path that begins at the crate's root or at a module around the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Segments in order, the first of them `crate`, `self`, `super` or the name of a submodule.
    pub path: Vec<String>,
    /// Name that a `use` declaration gives to the item; `None` for a path within an expression.
    pub name: Option<String>,
}

const TESTS: &str = "#[cfg(test)]\nmod tests {";

/// Returns the code of a file without its comments and without its unit tests, which may use
/// everything.
pub fn product_code(text: &str) -> String {
    let code = text.split(TESTS).next().unwrap_or_default();
    let lines = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the modules that a file declares for tests only.
pub fn test_modules(text: &str) -> Vec<String> {
    let after = text.split("#[cfg(test)]\n").skip(1);
    let names = after.filter_map(|rest| {
        let line = rest.lines().next()?.trim().strip_suffix(';')?;
        let (_, name) = line.rsplit_once("mod ")?;
        Some(name.to_owned())
    });
    names.collect()
}

/// Returns every path in a piece of code that begins with `crate`, `self` or `super`. Paths of
/// `use` declarations may also begin with a submodule.
pub fn imports(code: &str, submodules: &[String]) -> Vec<Import> {
    let mut found = Vec::new();
    let mut declares = false;
    let mut at = 0;
    while let Some(first) = code[at..].chars().next() {
        if !is_of_a_name(first) {
            at += first.len_utf8();
            continue;
        }
        let rest = &code[at..];
        let end = rest.find(|c| !is_of_a_name(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let is_root = matches!(word, "crate" | "self" | "super");
        let is_ours = is_root || declares && submodules.iter().any(|name| name == word);
        let is_first = !code[..at].ends_with("::") && !code[..at].ends_with('$');
        at += if is_ours && is_first && after.starts_with("::") {
            tree(rest, &[], declares, &mut found)
        } else {
            end
        };
        declares = word == "use";
    }
    found
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reads a path or a tree of paths at the beginning of `text` and returns its length.
fn tree(text: &str, above: &[String], declares: bool, found: &mut Vec<Import>) -> usize {
    let mut path = above.to_vec();
    let mut at = 0;
    loop {
        at += blanks(&text[at..]);
        let rest = &text[at..];
        if let Some(inside) = rest.strip_prefix('{') {
            return at + 1 + group(inside, &path, declares, found);
        }
        let end = rest.find(|c| !is_of_a_name(c)).unwrap_or(rest.len());
        if end > 0 {
            path.push(rest[..end].to_owned());
        }
        at += end;
        if !text[at..].starts_with("::") {
            break;
        }
        at += 2;
    }
    let mut name = path.last().cloned();
    let rest = text[at..].trim_start();
    if let Some(alias) = rest.strip_prefix("as ") {
        let end = alias.find(|c| !is_of_a_name(c)).unwrap_or(alias.len());
        name = Some(alias[..end].to_owned());
        at = text.len() - alias.len() + end;
    }
    let name = name.filter(|_| declares);
    found.push(Import { path, name });
    at
}

/// Reads the trees of a group after its opening brace, and returns the length up to behind the
/// closing one.
fn group(text: &str, above: &[String], declares: bool, found: &mut Vec<Import>) -> usize {
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        match next {
            '}' => return at + 1,
            _ if is_of_a_name(next) || next == '{' => {
                at += tree(&text[at..], above, declares, found);
            }
            _ => at += next.len_utf8(),
        }
    }
    at
}

fn blanks(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str) -> Vec<String> {
        let submodules = ["below".to_owned()];
        let found = imports(code, &submodules);
        let written = found.into_iter().map(|import| match import.name {
            Some(name) => format!("{} as {name}", import.path.join("::")),
            None => import.path.join("::"),
        });
        written.collect()
    }

    #[test]
    fn groups_and_new_names_are_spelled_out() {
        assert_eq!(
            paths("use crate::{a::{B, c as D}, E};\nuse std::f;"),
            ["crate::a::B as B", "crate::a::c as D", "crate::E as E"]
        );
        assert_eq!(paths("pub use below::{self, X};").len(), 2);
        assert_eq!(paths("pub(in crate::a) fn f(x: super::Y) {}").len(), 2);
    }

    #[test]
    fn paths_of_other_crates_and_plain_words_are_no_imports() {
        assert!(paths("let x = other::crate_::y; self.z(); $crate::w!(); below::v();").is_empty());
    }

    #[test]
    fn tests_and_comments_are_no_product_code() {
        let text = "use crate::a; // crate::b\n#[cfg(test)]\nmod tests {\n use crate::c;\n}\n";
        assert_eq!(paths(&product_code(text)), ["crate::a as a"]);
        assert_eq!(
            test_modules("#[cfg(test)]\npub(crate) mod harness;\n"),
            ["harness"]
        );
    }
}
