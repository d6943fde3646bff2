//! Rows shared by several names: fields of one struct under several parents, and statistics whose
//! names differ in one part. The shared name has the varying part in braces,
//! `{request, reply}_flits`. If there are many parents and no others, it is a star:
//! `classes.*.latency`.

use std::collections::BTreeMap;

use warpweave_framework::FieldDoc;

/// Maximum number of parents that a shared name lists explicitly even though there are no others.
const SPELLED_OUT: usize = 3;

/// Returns the rows of a parameter table: a single or shared name, and one of its fields.
pub(super) fn fields(fields: &[FieldDoc]) -> Vec<(String, &FieldDoc)> {
    let mut rows = Vec::new();
    level(fields, "", "", &mut rows);
    rows
}

/// Adds the rows of the fields inside `outer`, a path with a trailing dot, under the name `shown`.
fn level<'a>(
    fields: &'a [FieldDoc],
    outer: &str,
    shown: &str,
    rows: &mut Vec<(String, &'a FieldDoc)>,
) {
    let mut children: Vec<&str> = Vec::new();
    for field in fields {
        let child = field
            .name
            .strip_prefix(outer)
            .and_then(|rest| rest.split('.').next());
        children.extend(child.filter(|child| !children.contains(child)));
    }
    let content = |child: &str| inside(fields, &format!("{outer}{child}."));
    for child in &children {
        let own = format!("{outer}{child}");
        let field = fields.iter().find(|field| field.name == own);
        rows.extend(field.map(|field| (format!("{shown}{child}"), field)));
        let own = content(child);
        let alike: Vec<&str> = children
            .iter()
            .copied()
            .filter(|c| content(c) == own)
            .collect();
        if own.is_empty() || alike.last() != Some(child) {
            continue;
        }
        let name = match alike[..] {
            [alone] => alone.to_owned(),
            _ if alike.len() == children.len() && alike.len() > SPELLED_OUT => "*".to_owned(),
            _ => braces(&alike),
        };
        level(
            fields,
            &format!("{outer}{child}."),
            &format!("{shown}{name}."),
            rows,
        );
    }
}

/// Returns the documented content of the fields inside `outer`; equal for two parents that may
/// share rows.
fn inside<'a>(
    fields: &'a [FieldDoc],
    outer: &str,
) -> Vec<(&'a str, &'a str, Option<&'a str>, bool)> {
    let told = |f: &'a FieldDoc| {
        let name = f.name.strip_prefix(outer)?;
        Some((name, f.doc.as_str(), f.default.as_deref(), f.required))
    };
    fields.iter().filter_map(told).collect()
}

fn braces<N: AsRef<str>>(names: &[N]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    format!("{{{}}}", names.join(", "))
}

/// Returns the rows of a statistics table, given as name and remaining cells. Names with equal
/// cells share a row if they differ in only one part.
pub(super) fn statistics(list: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut alike: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, cells) in &list {
        alike.entry(cells).or_default().push(name);
    }
    let mut rows = Vec::new();
    for (name, cells) in &list {
        let names = &alike[cells.as_str()];
        match shared(names) {
            None => rows.push((name.clone(), cells.clone())),
            Some(shared) if names[0] == name => rows.push((shared, cells.clone())),
            Some(_) => {}
        }
    }
    rows
}

/// Returns one name for several with a common prefix or suffix. Returns `None` for a single name,
/// or if they have nothing in common.
fn shared(names: &[&str]) -> Option<String> {
    let words: Vec<Vec<&str>> = names.iter().map(|name| name.split('_').collect()).collect();
    let (first, others) = words.split_first()?;
    let shortest = words.iter().map(Vec::len).min()?;
    let begins = |at: &usize| others.iter().all(|other| other[*at] == first[*at]);
    let before = (0..shortest - 1).take_while(begins).count();
    let ends = |back: &usize| {
        let last = first[first.len() - back];
        others.iter().all(|other| other[other.len() - back] == last)
    };
    let after = (1..shortest - before).take_while(ends).count();
    if others.is_empty() || before + after == 0 {
        return None;
    }
    let middle = |words: &Vec<&str>| words[before..words.len() - after].join("_");
    let varying = braces(&words.iter().map(middle).collect::<Vec<_>>());
    let mut parts = first[..before].to_vec();
    parts.push(&varying);
    parts.extend(&first[first.len() - after..]);
    Some(parts.join("_"))
}

/// True if a row with this single or shared name covers `name`.
pub(super) fn covers(row: &str, name: &str) -> bool {
    let (parts, names): (Vec<_>, Vec<_>) = (row.split('.').collect(), name.split('.').collect());
    let fits = |(part, name): (&&str, &&str)| {
        let Some((before, (varying, after))) = part
            .split_once('{')
            .and_then(|(b, rest)| Some((b, rest.split_once('}')?)))
        else {
            return *part == "*" || part == name;
        };
        varying
            .split(", ")
            .any(|middle| format!("{before}{middle}{after}") == **name)
    };
    parts.len() == names.len() && parts.iter().zip(&names).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, doc: &str) -> FieldDoc {
        FieldDoc {
            name: name.to_owned(),
            kind: "integer".to_owned(),
            required: true,
            default: None,
            doc: doc.to_owned(),
            role: None,
        }
    }

    fn names(list: &[FieldDoc]) -> Vec<String> {
        fields(list).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn fields_of_one_struct_under_every_field_of_a_parent_are_a_row() {
        let mut list = vec![field("classes", "All classes.")];
        for class in ["add", "mul", "div", "exit"] {
            list.push(field(&format!("classes.{class}"), class));
            list.push(field(&format!("classes.{class}.latency"), "Cycles."));
        }
        assert_eq!(
            names(&list),
            [
                "classes",
                "classes.add",
                "classes.mul",
                "classes.div",
                "classes.exit",
                "classes.*.latency"
            ]
        );
    }

    #[test]
    fn parents_among_other_fields_are_named_once() {
        let mut list = vec![field("ports", "Ports.")];
        for network in ["request", "reply"] {
            list.push(field(network, network));
            list.push(field(&format!("{network}.Switch.flits"), "Flits."));
            list.push(field(&format!("{network}.Switch.cycles"), "Cycles."));
        }
        assert_eq!(
            names(&list),
            [
                "ports",
                "request",
                "reply",
                "{request, reply}.Switch.flits",
                "{request, reply}.Switch.cycles"
            ]
        );
    }

    #[test]
    fn fields_that_mean_something_else_or_have_another_default_keep_their_rows() {
        let other_meaning = [field("a.size", "Bytes."), field("b.size", "Lines.")];
        assert_eq!(names(&other_meaning), ["a.size", "b.size"]);
        let mut other_default = [field("a.size", "Bytes."), field("b.size", "Bytes.")];
        other_default[1].required = false;
        other_default[1].default = Some("4".to_owned());
        assert_eq!(names(&other_default), ["a.size", "b.size"]);
    }

    fn statistic_names(list: &[(&str, &str)]) -> Vec<String> {
        let owned = list
            .iter()
            .map(|(name, cells)| ((*name).to_owned(), (*cells).to_owned()));
        statistics(owned.collect())
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    }

    #[test]
    fn statistics_that_differ_in_one_part_are_a_row_where_the_first_stood() {
        let list = [
            ("reuse_self_hits", "found"),
            ("reuse_self_misses", "not found"),
            ("reuse_next_of_kin_hits", "found"),
            ("cycles", "all"),
            ("reuse_next_of_kin_misses", "not found"),
            ("request_busy[i]", "used"),
            ("reply_busy[i]", "used"),
            ("taken_reads", "taken"),
            ("taken_writes", "taken"),
        ];
        assert_eq!(
            statistic_names(&list),
            [
                "reuse_{self, next_of_kin}_hits",
                "reuse_{self, next_of_kin}_misses",
                "cycles",
                "{request, reply}_busy[i]",
                "taken_{reads, writes}"
            ]
        );
    }

    #[test]
    fn statistics_with_nothing_in_common_but_their_meaning_keep_their_rows() {
        assert_eq!(
            statistic_names(&[("hits", "same"), ("fills", "same")]),
            ["hits", "fills"]
        );
    }

    #[test]
    fn a_shared_row_covers_its_names_and_no_others() {
        assert!(covers("classes.*.latency", "classes.add.latency"));
        assert!(covers("{request, reply}_busy[i]", "reply_busy[i]"));
        assert!(covers(
            "{request, reply}.Switch.flits",
            "request.Switch.flits"
        ));
        assert!(covers("hits", "hits"));
        for (row, name) in [
            ("classes.*.latency", "classes.latency"),
            ("classes.*.latency", "classes.add.interval"),
            ("{request, reply}_busy[i]", "busy[i]"),
            ("hits", "read_hits"),
        ] {
            assert!(!covers(row, name), "{row}: {name}");
        }
    }
}
