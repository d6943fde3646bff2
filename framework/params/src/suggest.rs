//! Suggestions of valid names close to a misspelt one.

use crate::printable::shortened;

/// Maximum length in bytes of a misspelt name that is compared with valid names.
const FOUND_MAX: usize = 256;

/// Maximum number of characters of a list of names that is shown whole.
const LIST_MAX: usize = 1_500;

/// Number of names shown of a longer list.
const NAMES_MAX: usize = 10;

/// Maximum number of characters shown of a name.
const NAME_MAX: usize = 80;

/// Returns the valid name closest to `found`, if one is close enough to be the intended one.
///
/// Distance counts insertions, deletions, substitutions and swaps, ignoring case; up to a third of
/// the length may differ. The first of equally near names wins.
pub fn nearest<'a>(found: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if found.len() > FOUND_MAX {
        return None;
    }
    let found = found.to_lowercase();
    let length = found.chars().count();
    let budget = (length / 3).max(1);
    let near = |name: &&str| name.len() <= 4 * (length + budget);
    let scored = valid.into_iter().filter(near);
    let scored = scored.map(|name| (distance(&found, name), name));
    scored
        .filter(|(distance, _)| *distance <= budget)
        .min_by_key(|(d, _)| *d)
        .map(|(_, name)| name)
}

/// Returns the hint for an unknown name: the nearest valid name, then the list introduced by `what`
/// (such as "fields of Cache"). A long list is reduced to the most similar names and the number of
/// others.
pub fn name_hint<'a>(
    found: &str,
    what: &str,
    valid: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    let mut names: Vec<&str> = valid.clone().into_iter().collect();
    if names.is_empty() {
        return format!("there are no {what}");
    }
    let length = names.iter().map(|name| name.len() + 2).sum::<usize>();
    let more = if length <= LIST_MAX {
        String::new()
    } else {
        let all = names.len();
        if found.len() <= FOUND_MAX {
            let found = found.to_lowercase();
            names.sort_by_cached_key(|name| match name.len() {
                ..=FOUND_MAX => distance(&found, name),
                _ => usize::MAX,
            });
        }
        names.truncate(NAMES_MAX);
        format!(", and {} more", all - names.len())
    };
    let names: Vec<_> = names.iter().map(|name| shortened(name, NAME_MAX)).collect();
    let list = names.join(", ");
    match nearest(found, valid) {
        Some(name) => format!("did you mean `{name}`? {what}: {list}{more}"),
        None => format!("{what}: {list}{more}"),
    }
}

fn distance(found: &str, name: &str) -> usize {
    strsim::damerau_levenshtein(found, &name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name_ignores_case_and_prefers_the_first_of_equals() {
        assert_eq!(nearest("WAYZ", ["size", "ways"]), Some("ways"));
        assert_eq!(nearest("ab", ["ac", "ad"]), Some("ac"));
        assert_eq!(nearest("replacement", ["x", "ways"]), None);
    }

    #[test]
    fn hint_for_no_valid_names_says_so() {
        assert_eq!(
            name_hint("x", "fields of Lru", []),
            "there are no fields of Lru"
        );
    }

    #[test]
    fn of_a_long_list_the_nearest_are_shown_and_the_others_counted() {
        let names: Vec<String> = (0..4000).map(|i| format!("unit_{i}")).collect();
        let hint = name_hint("unit_77x", "parts", names.iter().map(String::as_str));
        assert!(
            hint.starts_with("did you mean `unit_77`? parts: unit_77, "),
            "{hint}"
        );
        assert!(hint.ends_with(", and 3990 more"), "{hint}");
    }

    #[test]
    fn a_name_of_a_megabyte_is_compared_with_nothing() {
        let long = "x".repeat(1 << 20);
        assert_eq!(nearest(&long, ["x", long.as_str()]), None);
        assert_eq!(nearest("ways", ["way", long.as_str()]), Some("way"));
        let hint = name_hint(&long, "fields", ["a", long.as_str()]);
        assert!(hint.len() < 200, "{hint}");
    }
}
