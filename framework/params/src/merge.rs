//! Applies one description that holds only the differences to another.

use crate::node::{Field, Kind, Name, Node, Struct};

impl Node {
    /// Changes this value as specified by `change`.
    ///
    /// A value with fields and no name, `(field: value)`, changes those fields of the existing
    /// value and leaves the others. Maps do the same with their entries. Anything else replaces the
    /// existing value: numbers, lists, and values with a name, `Name(field: value)`, with all their
    /// fields.
    pub fn merge(&mut self, change: Self) {
        let fields = match change.kind {
            Kind::Struct(Struct { name: None, fields }) => fields,
            Kind::Map(entries) if matches!(self.kind, Kind::Map(_)) => {
                return self.merge_entries(entries);
            }
            // No fields, so nothing changes.
            Kind::Unit if self.accepts_fields() => return,
            kind => {
                self.kind = kind;
                self.span = change.span;
                return;
            }
        };
        if self.accepts_fields() {
            self.merge_fields(fields);
        } else {
            self.kind = Kind::Struct(Struct { name: None, fields });
            self.span = change.span;
        }
    }

    fn accepts_fields(&self) -> bool {
        match &self.kind {
            Kind::Struct(_) | Kind::Name(_) | Kind::Unit => true,
            Kind::Option(Some(inner)) => inner.accepts_fields(),
            _ => false,
        }
    }

    /// Changes fields of a value that has fields, or of a name that stands for its defaults.
    pub fn merge_fields(&mut self, changes: Vec<Field>) {
        if let Kind::Option(Some(inner)) = &mut self.kind {
            return inner.merge_fields(changes);
        }
        if !matches!(self.kind, Kind::Struct(_)) {
            let name: Option<Name> = self.name().cloned();
            let fields = Vec::new();
            self.kind = Kind::Struct(Struct { name, fields });
        }
        let Kind::Struct(Struct { fields, .. }) = &mut self.kind else {
            unreachable!("the value was just replaced by a struct");
        };
        for change in changes {
            match fields.iter_mut().find(|field| field.name == change.name) {
                Some(field) => {
                    field.name = change.name;
                    field.value.merge(change.value);
                }
                None => fields.push(change),
            }
        }
    }

    fn merge_entries(&mut self, changes: Vec<(Self, Self)>) {
        let Kind::Map(entries) = &mut self.kind else {
            return;
        };
        for (key, value) in changes {
            match entries.iter_mut().find(|(known, _)| same_key(known, &key)) {
                Some((known, entry)) => {
                    *known = key;
                    entry.merge(value);
                }
                None => entries.push((key, value)),
            }
        }
    }
}

/// True if two map keys are equal; blanks in a text are ignored.
pub fn same_key(a: &Node, b: &Node) -> bool {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => {
            let written = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect();
            let (a, b): (String, String) = (written(a), written(b));
            a == b
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Source, parse, to_ron};

    fn merged(base: &str, change: &str) -> String {
        let read = |text| parse(&Source::new("a.ron", text)).unwrap_or_else(|e| panic!("{e}"));
        let mut node = read(base);
        node.merge(read(change));
        to_ron(&node).trim_end().to_owned()
    }

    #[test]
    fn fields_without_a_name_change_and_a_name_replaces() {
        let base = "C(n: 4, w: Back(part: A), t: (h: 1, m: 2))";
        for (change, result) in [
            (
                "(n: 8, t: (m: 3), b: 2)",
                "C(n: 8, w: Back(part: A), t: (h: 1, m: 3), b: 2)",
            ),
            (
                "(w: (part: B))",
                "C(n: 4, w: Back(part: B), t: (h: 1, m: 2))",
            ),
            ("(w: Evict)", "C(n: 4, w: Evict, t: (h: 1, m: 2))"),
            ("(w: Back())", "C(n: 4, w: Back(), t: (h: 1, m: 2))"),
            ("()", base),
            ("Port(depth: 1)", "Port(depth: 1)"),
            ("None", "None"),
        ] {
            assert_eq!(merged(base, change), result.to_owned(), "{change}");
        }
    }

    #[test]
    fn maps_change_by_entry_and_lists_as_a_whole() {
        assert_eq!(
            merged(
                r#"(wires: {"a.x <-> b.y": (latency: 1, width: 2)}, list: [1, 2])"#,
                r#"(wires: {"a.x<->b.y": (latency: 4), "c": (latency: 1)}, list: [3])"#,
            ),
            r#"(
    wires: {"a.x<->b.y": (latency: 4, width: 2), "c": (latency: 1)},
    list: [3],
)"#
        );
    }

    #[test]
    fn a_bare_name_gets_fields_and_a_number_is_replaced_by_them() {
        assert_eq!(
            merged("(p: Ccws)", "(p: (score: 1))"),
            "(p: Ccws(score: 1))"
        );
        assert_eq!(
            merged("(p: Some((a: 1)))", "(p: (b: 2))"),
            "(p: Some((a: 1, b: 2)))"
        );
        assert_eq!(merged("(p: 3)", "(p: (b: 2))"), "(p: (b: 2))");
    }
}
