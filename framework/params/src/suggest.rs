//! Nearest valid names for a misspelt one.

/// The valid name closest to `found`, if any is close enough to be what was meant.
///
/// Distance counts insertions, deletions, substitutions and swaps, ignoring case; up to a third of
/// the length may differ. The first of equally near names wins.
pub fn nearest<'a>(found: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let found = found.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&found, &name.to_lowercase());
    let budget = (found.chars().count() / 3).max(1);
    let scored = valid.into_iter().map(|name| (distance(name), name));
    scored
        .filter(|(distance, _)| *distance <= budget)
        .min_by_key(|(d, _)| *d)
        .map(|(_, name)| name)
}

/// The hint for an unknown name: the nearest valid one, then the list, introduced by `what`
/// (such as "fields of Cache").
pub fn name_hint<'a>(
    found: &str,
    what: &str,
    valid: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    let list = valid.clone().into_iter().collect::<Vec<_>>().join(", ");
    if list.is_empty() {
        return format!("there are no {what}");
    }
    match nearest(found, valid) {
        Some(name) => format!("did you mean `{name}`? {what}: {list}"),
        None => format!("{what}: {list}"),
    }
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
}
