//! Checks the comments of all sources: openings, length and words.
//!
//! A doc sentence has the item or its user as subject and the verb first, and at most 25 words.
//! Docs that only repeat a name are deleted; `missing_docs` is off for that reason.

use std::fs;
use std::path::PathBuf;

/// Words that do not open a doc: a reader looks for the verb or the noun.
const OPENINGS: [&str; 11] = [
    "What", "Who", "Whom", "Whose", "Whether", "Which", "Of", "As", "Where", "Why", "How",
];

/// Words and phrases that the literature of the field has better ones for.
const WORDS: [&str; 14] = [
    "whoever",
    "whomever",
    "nobody",
    "somebody",
    "of no time",
    "foretold",
    "foretell",
    "goes on",
    "as far as",
    "all the same",
    "is told",
    "are told",
    "meanwhile",
    "beside each other",
];

/// Words of a sentence at most.
const SENTENCE_WORDS_MAX: usize = 25;

/// Columns of a comment line at most. Rows of tables and lines of code cannot be wrapped.
const COLUMNS_MAX: usize = 100;

/// Docs of five words or fewer in all sources. Most repeat the name of their item.
const SHORT_DOCS_MAX: usize = 300;

/// A paragraph or list item of a comment.
struct Paragraph {
    line: usize,
    is_doc: bool,
    /// True for the first paragraph of a comment.
    is_first: bool,
    /// True for the only paragraph of a comment.
    is_alone: bool,
    text: String,
}

/// Returns the marker and the text of a line that is a comment as a whole.
fn comment(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim_start();
    for marker in ["///", "//!", "//"] {
        if let Some(text) = line.strip_prefix(marker) {
            return (!text.starts_with('/'))
                .then(|| (marker, text.strip_prefix(' ').unwrap_or(text)));
        }
    }
    None
}

/// Returns the mark that ends a raw string which begins in `line` and does not end there.
fn open_raw_string(line: &str) -> Option<String> {
    let start = line.find("r\"").or_else(|| line.find("r#"))?;
    let hashes = line[start + 1..].chars().take_while(|c| *c == '#').count();
    let body = line[start + 1 + hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    (!body.contains(&end)).then_some(end)
}

/// Returns the paragraphs of one comment, whose lines are `bodies` and begin at `line`.
fn paragraphs(bodies: &[&str], marker: &str, line: usize, into: &mut Vec<Paragraph>) {
    let begin = into.len();
    let (mut in_code, mut continues) = (false, false);
    for (at, body) in bodies.iter().enumerate() {
        let text = body.trim();
        if text.starts_with("```") {
            in_code = !in_code;
            continues = false;
            continue;
        }
        let is_prose = !in_code && !text.is_empty() && !text.starts_with(['#', '|', '<']);
        let is_link = text.starts_with('[') && text.contains("]: ");
        if !is_prose || is_link {
            continues = false;
            continue;
        }
        let item = text.strip_prefix("- ").or_else(|| text.strip_prefix("* "));
        match into.last_mut() {
            Some(last) if continues && item.is_none() => {
                last.text.push(' ');
                last.text.push_str(text);
            }
            _ => into.push(Paragraph {
                line: line + at,
                is_doc: marker != "//",
                is_first: at == 0,
                is_alone: false,
                text: item.unwrap_or(text).to_owned(),
            }),
        }
        continues = true;
    }
    if let [only] = &mut into[begin..] {
        only.is_alone = only.is_first;
    }
}

fn paragraphs_of(source: &str) -> Vec<Paragraph> {
    let lines: Vec<&str> = source.lines().collect();
    let mut all = Vec::new();
    let mut raw_end: Option<String> = None;
    let mut at = 0;
    while at < lines.len() {
        if let Some(end) = &raw_end {
            if lines[at].contains(end.as_str()) {
                raw_end = None;
            }
            at += 1;
            continue;
        }
        let Some((marker, _)) = comment(lines[at]) else {
            raw_end = open_raw_string(lines[at]);
            at += 1;
            continue;
        };
        let block = lines[at..].iter().map_while(|line| {
            let (other, text) = comment(line)?;
            (other == marker).then_some(text)
        });
        let bodies: Vec<&str> = block.collect();
        paragraphs(&bodies, marker, at + 1, &mut all);
        at += bodies.len();
    }
    all
}

/// Replaces every code span by one word.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let kept = parts.map(|(i, part)| if i % 2 == 0 { part } else { "X" });
    kept.collect()
}

fn words(sentence: &str) -> usize {
    let has_letter = |word: &&str| word.chars().any(char::is_alphanumeric);
    sentence.split_whitespace().filter(has_letter).count()
}

/// Splits at full stops, question and exclamation marks that a space follows.
fn sentences(text: &str) -> Vec<String> {
    let text = without_code(text);
    let text = text
        .replace("e.g.", "eg")
        .replace("i.e.", "ie")
        .replace("et al.", "et al");
    let mut all = vec![String::new()];
    for word in text.split_whitespace() {
        let last = all.last_mut().expect("one at least");
        last.push_str(word);
        last.push(' ');
        if word
            .trim_end_matches([')', '"', '\'', ']'])
            .ends_with(['.', '?', '!'])
        {
            all.push(String::new());
        }
    }
    all
}

fn has_phrase(text: &str, phrase: &str) -> bool {
    let text = text.to_lowercase();
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

fn problems(paragraph: &Paragraph) -> Vec<String> {
    let mut found = Vec::new();
    let plain = without_code(&paragraph.text);
    let opening = plain.split_whitespace().next().unwrap_or("");
    let opening = opening.trim_matches(|c: char| !c.is_alphanumeric());
    if paragraph.is_doc && paragraph.is_first && OPENINGS.contains(&opening) {
        found.push(format!(
            "opens with {opening:?}; begin with the verb or the noun"
        ));
    }
    for phrase in WORDS {
        if has_phrase(&plain, phrase) {
            found.push(format!("says {phrase:?}"));
        }
    }
    for sentence in sentences(&paragraph.text) {
        let count = words(&sentence);
        if count > SENTENCE_WORDS_MAX {
            let start: String = sentence.chars().take(40).collect();
            found.push(format!("has {count} words in one sentence: {start}..."));
        }
    }
    found
}

/// Returns the numbers of the comment lines that are too wide.
fn wide_lines(source: &str) -> Vec<usize> {
    let mut in_code = false;
    let mut wide = Vec::new();
    for (at, line) in source.lines().enumerate() {
        let Some((_, text)) = comment(line) else {
            in_code = false;
            continue;
        };
        let text = text.trim_start();
        if text.starts_with("```") {
            in_code = !in_code;
        } else if !in_code && !text.starts_with('|') && line.chars().count() > COLUMNS_MAX {
            wide.push(at + 1);
        }
    }
    wide
}

/// Returns all Rust sources of the repository.
fn sources() -> Vec<PathBuf> {
    let root = warpweave_tidy::root();
    let tops = ["framework", "components", "systems", "tools", "tests"];
    let mut folders: Vec<PathBuf> = tops.iter().map(|top| root.join(top)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is read") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs")
                && !path.ends_with("tests/prose.rs")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(files.len() > 1000, "the sources were not found");
    files
}

#[test]
fn comments_open_with_their_subject_and_keep_to_short_sentences() {
    let mut wrong = Vec::new();
    for path in sources() {
        let source = fs::read_to_string(&path).expect("the source is read");
        for paragraph in paragraphs_of(&source) {
            for problem in problems(&paragraph) {
                wrong.push(format!("{}:{}: {problem}", path.display(), paragraph.line));
            }
        }
        for line in wide_lines(&source) {
            wrong.push(format!(
                "{}:{line}: over {COLUMNS_MAX} columns",
                path.display()
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} problems\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn few_docs_are_too_short_to_say_more_than_the_name() {
    let mut short = Vec::new();
    for path in sources() {
        let source = fs::read_to_string(&path).expect("the source is read");
        for paragraph in paragraphs_of(&source) {
            let count = words(&without_code(&paragraph.text));
            if paragraph.is_doc && paragraph.is_alone && count <= 5 {
                short.push(format!(
                    "{}:{}: {}",
                    path.display(),
                    paragraph.line,
                    paragraph.text
                ));
            }
        }
    }
    assert!(
        short.len() < SHORT_DOCS_MAX,
        "{} docs of five words or fewer\n{}",
        short.len(),
        short.join("\n")
    );
}

#[test]
fn the_rules_find_what_they_name() {
    let source = "/// Whether it waits.\nfn a() {}\n\
        /// Returns the slot, unless nobody waits for it.\nfn b() {}\n\
        let text = r#\"\n/// What is no comment.\n\"#;\n\
        /// `X` of no time\nfn c() {}\n// What may open a comment that is no doc.\n";
    let found: Vec<(usize, Vec<String>)> = paragraphs_of(source)
        .iter()
        .map(|paragraph| (paragraph.line, problems(paragraph)))
        .collect();
    let lines: Vec<(usize, usize)> = found.iter().map(|(line, all)| (*line, all.len())).collect();
    assert_eq!(lines, [(1, 1), (3, 1), (8, 1), (10, 0)]);
    let wide = format!(
        "/// {}\n/// | {} |\n",
        "word ".repeat(20),
        "word ".repeat(20)
    );
    assert_eq!(wide_lines(&wide), [1]);
    let long = format!("Returns {}.", ["word"; 25].join(" "));
    let of = |text: String| Paragraph {
        line: 1,
        is_doc: true,
        is_first: true,
        is_alone: true,
        text,
    };
    assert_eq!(problems(&of(long)).len(), 1);
    assert!(problems(&of(format!("Returns {}.", ["word"; 24].join(" ")))).is_empty());
}
