//! Properties that hold for every text and every tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use warpweave_params::{
    Bandwidth, Bytes, Duration, Env, Field, Frequency, Kind, Name, Node, Override, Source, Span,
    Struct, Tuple, eval, eval_index, from_node, is_expression, nearest, parse, to_node, to_ron,
};

fn span() -> Span {
    Source::new("generated", "").span(0, 0)
}

fn node(kind: Kind) -> Node {
    Node::new(kind, span())
}

fn name() -> impl Strategy<Value = Name> {
    let text = prop_oneof![
        "[a-zA-Z_][a-z0-9_]{0,6}",
        "[a-z][a-z.+-]{0,4}",
        Just("true".to_owned()),
        Just("Some".to_owned())
    ];
    text.prop_map(|text| Name { text, span: span() })
}

fn fields(value: impl Strategy<Value = Node>, least: usize) -> impl Strategy<Value = Vec<Field>> {
    vec((name(), value), least..4).prop_map(|pairs| {
        let mut fields: Vec<Field> = Vec::new();
        for (name, value) in pairs {
            if fields.iter().all(|field| field.name != name) {
                fields.push(Field { name, value });
            }
        }
        fields
    })
}

/// Strategy for any tree that has a text form.
fn tree() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![
        Just(Kind::Unit),
        any::<bool>().prop_map(Kind::Bool),
        any::<i64>().prop_map(|value| Kind::Int(value.into())),
        any::<u64>().prop_map(|value| Kind::Int(value.into())),
        any::<f64>()
            .prop_filter("NaN is not equal to itself", |v| !v.is_nan())
            .prop_map(Kind::Float),
        any::<char>().prop_map(Kind::Char),
        any::<String>().prop_map(Kind::Text),
        Just(Kind::Option(None)),
        name().prop_map(Kind::Name),
    ];
    leaf.prop_map(node).prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|value| Kind::Option(Some(Box::new(value)))),
            vec(inner.clone(), 0..4).prop_map(Kind::List),
            vec((inner.clone(), inner.clone()), 0..4).prop_map(|pairs| {
                let mut entries: Vec<(Node, Node)> = Vec::new();
                for (key, value) in pairs {
                    if entries.iter().all(|(other, _)| *other != key) {
                        entries.push((key, value));
                    }
                }
                Kind::Map(entries)
            }),
            fields(inner.clone(), 1).prop_map(|fields| Kind::Struct(Struct { name: None, fields })),
            (name(), fields(inner.clone(), 0)).prop_map(|(name, fields)| Kind::Struct(Struct {
                name: Some(name),
                fields
            })),
            (proptest::option::of(name()), vec(inner, 1..4))
                .prop_map(|(name, items)| Kind::Tuple(Tuple { name, items })),
        ]
        .prop_map(node)
    })
}

/// True if every span is inside its parent's span and its text matches its value.
fn spans_nest(node: &Node) -> bool {
    let source: &Arc<Source> = &node.span.source;
    let mut children: Vec<&Node> = node.items().iter().collect();
    children.extend(node.fields().iter().map(|field| &field.value));
    children.extend(node.entries().iter().flat_map(|(key, value)| [key, value]));
    let again = parse(&Source::new("again", node.span.text()));
    again.is_ok_and(|again| again == *node)
        && children.iter().all(|child| {
            Arc::ptr_eq(&child.span.source, source)
                && child.span.start >= node.span.start
                && child.span.end <= node.span.end
                && spans_nest(child)
        })
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Policy {
    Lru,
    Random { seed: u64 },
    Pair(i8, u16),
    Wrapped(Inner),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Inner {
    label: String,
    letter: char,
    scale: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Whole {
    policies: Vec<Policy>,
    maybe: Option<Inner>,
    table: BTreeMap<i64, (bool, u8)>,
    size: Bytes,
    unit: (),
}

fn inner() -> impl Strategy<Value = Inner> {
    (any::<String>(), any::<char>(), -1e9..1e9).prop_map(|(label, letter, scale)| Inner {
        label,
        letter,
        scale,
    })
}

fn whole() -> impl Strategy<Value = Whole> {
    let policy = prop_oneof![
        Just(Policy::Lru),
        any::<u64>().prop_map(|seed| Policy::Random { seed }),
        any::<(i8, u16)>().prop_map(|(a, b)| Policy::Pair(a, b)),
        inner().prop_map(Policy::Wrapped),
    ];
    let table = proptest::collection::btree_map(any::<i64>(), any::<(bool, u8)>(), 0..4);
    (
        vec(policy, 0..4),
        proptest::option::of(inner()),
        table,
        any::<u64>(),
    )
        .prop_map(|(policies, maybe, table, size)| Whole {
            policies,
            maybe,
            table,
            size: Bytes::new(size),
            unit: (),
        })
}

const SAMPLE: &str = "#![enable(implicit_some)]\nSystem(a: \"48 KiB\", b: [1, -2.5e3, 'x'], /* c */ c: {\"k\": Gto(), 2: Some(r#\"é\"#)}, d: (1, true), // e\n)";

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_printed_tree_reads_back_equal(tree in tree()) {
        let text = to_ron(&tree);
        let again = parse(&Source::new("a.ron", text.as_str()));
        prop_assert!(again.is_ok(), "{}\n{}", text, again.unwrap_err());
        let again = again.unwrap();
        prop_assert_eq!(&again, &tree, "{}", text);
        prop_assert!(spans_nest(&again), "{}", text);
    }

    #[test]
    fn typed_reading_agrees_with_ron(value in whole()) {
        let text = ron::to_string(&value).unwrap();
        let node = parse(&Source::new("a.ron", text.as_str())).unwrap();
        let ours: Whole = from_node(&node).unwrap();
        let theirs: Whole = ron::from_str(&text).unwrap();
        prop_assert_eq!(&ours, &theirs);
        prop_assert_eq!(&ours, &value);
        let node = to_node(&value).unwrap();
        prop_assert_eq!(&from_node::<Whole>(&node).unwrap(), &value);
    }

    #[test]
    fn no_mutated_text_panics(
        at in 0..SAMPLE.len(), len in 0usize..6, with in "[ -~\\n\\té€(){}\\[\\]\",:#/*r']{0,4}",
    ) {
        let (start, end) = (SAMPLE.floor_char_boundary(at), SAMPLE.floor_char_boundary(at + len));
        let text = format!("{}{with}{}", &SAMPLE[..start], &SAMPLE[end..]);
        match parse(&Source::new("a.ron", text.as_str())) {
            Ok(node) => {
                prop_assert!(from_node::<Whole>(&node).is_err());
                prop_assert!(ron::Options::default().from_str::<serde::de::IgnoredAny>(&text).is_ok());
            }
            Err(problems) => prop_assert!(problems.to_string().contains("--> a.ron:")),
        }
    }

    #[test]
    fn no_text_panics(text in ".{0,24}") {
        let source = Source::new("a.ron", text.as_str());
        let _ = parse(&source).map_err(|error| error.to_string());
        let _ = Override::parse(&text, "--set").map_err(|error| error.to_string());
        let _ = (text.parse::<Bytes>(), text.parse::<Frequency>(), nearest(&text, ["a", "é"]));
        if let Err(error) = eval_index(&text, &Env::new()) {
            prop_assert!(error.range.end <= text.len());
        }
        let _ = is_expression(&text);
        let offset = text.len() / 2;
        let position = source.position(offset);
        prop_assert_eq!(source.offset(position), text.floor_char_boundary(offset));
    }

    #[test]
    fn quantities_survive_their_text_form(above in any::<u64>(), below in 1..u64::MAX, small in 1..5000u64) {
        for (above, below) in [(above.max(1), below), (small, 1000), (above.max(1), small), (small, below)] {
            let frequency = Frequency::new(above, below).unwrap();
            prop_assert_eq!(frequency.to_string().parse::<Frequency>().unwrap(), frequency);
            let bandwidth = Bandwidth::new(above, below).unwrap();
            prop_assert_eq!(bandwidth.to_string().parse::<Bandwidth>().unwrap(), bandwidth);
            let size = Bytes::new(above);
            prop_assert_eq!(size.to_string().parse::<Bytes>().unwrap(), size);
            let duration = Duration::new(above, below).unwrap();
            prop_assert_eq!(duration.to_string().parse::<Duration>().unwrap(), duration, "{}", duration);
        }
    }

    #[test]
    fn no_expression_panics(words in vec(prop::sample::select(vec![
        "if", "then", "else", "true", "a", "b", "(", ")", "!", "-", "==", "<", "<=", "&&", "||",
        "+", "*", "/", "7", "log2(", ",", "é", "=", "&", " ",
    ]), 0..16)) {
        for text in [&words.concat(), &words.join(" ")] {
            let env = Env::from_iter([("a", 3), ("b", i64::MIN)]);
            match eval(text, &env) {
                Ok(_) => prop_assert!(is_expression(text), "{}", text),
                Err(error) => prop_assert!(text.get(error.range).is_some(), "{}", text),
            }
        }
    }

    #[test]
    fn conditions_agree_with_rust(a in -3i64..3, b in -3i64..3, c in -3i64..3) {
        let env = Env::from_iter([("a", a), ("b", b), ("c", c)]);
        let chosen = if a < b && b != c || a >= c { a / b.max(1) } else { b };
        let text = "if a < b && !(b == c) || a >= c then a / max(b, 1) else b";
        prop_assert_eq!(eval_index(text, &env).unwrap(), chosen);
    }

    #[test]
    fn expressions_agree_with_rust(a in -1000i64..1000, b in 1i64..1000, c in -1000i64..1000) {
        let env = Env::from_iter([("a", a), ("b", b), ("c", c)]);
        prop_assert_eq!(eval_index("a + b * c - a % b", &env).unwrap(), a + b * c - a % b);
        prop_assert_eq!(eval_index("-(a - c) / b", &env).unwrap(), -(a - c) / b);
        let ceiling = (a as f64 / b as f64).ceil() as i64;
        prop_assert_eq!(eval_index("ceil_div(a, b)", &env).unwrap(), ceiling);
        prop_assert_eq!(eval_index("max(min(a, c), b)", &env).unwrap(), a.min(c).max(b));
    }
}
