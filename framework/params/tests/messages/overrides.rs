//! Tests of the messages about overrides.

use insta::assert_snapshot;
use warpweave_params::{MissingField, Override, Source, from_node, parse, repeated_paths, to_ron};

use super::CacheSpec;

const SYSTEM: &str = r#"System(
    l1: Cache(ways: 4, scheduler: Gto(window: 2), replacement: Lru),
    timing: Some((tCL: 12)),
    parts: { "cu[0]": Cu(slots: 64) },
    wires: [1, 2, 3],
)"#;

fn overridden(text: &str, absent: MissingField) -> Result<String, String> {
    let mut node = parse(&Source::new("a.ron", SYSTEM)).expect("the sample is valid");
    let change = Override::parse(text, "--set").map_err(|error| error.to_string())?;
    change
        .apply(&mut node, absent)
        .map_err(|error| error.to_string())?;
    Ok(to_ron(&node))
}

#[test]
fn overrides_replace_one_value() {
    for (change, before, after) in [
        ("l1.ways=8", "ways: 4", "ways: 8"),
        (
            "l1.scheduler = Random(seed: 3)",
            "Gto(window: 2)",
            "Random(seed: 3)",
        ),
        ("l1.scheduler.window=9", "window: 2", "window: 9"),
        ("timing.tCL=14", "tCL: 12", "tCL: 14"),
        ("parts.\"cu[0]\".slots=32", "slots: 64", "slots: 32"),
        ("wires[2]=[7, 8]", "[1, 2, 3]", "[1, 2, [7, 8]]"),
        ("l1.replacement=\"a=b\"", "Lru", "\"a=b\""),
    ] {
        let original = to_ron(&parse(&Source::new("a.ron", SYSTEM)).unwrap());
        assert!(original.contains(before), "{original}");
        assert_eq!(
            overridden(change, MissingField::Refuse).unwrap(),
            original.replace(before, after)
        );
    }
    let added = overridden("l1.mshr=8", MissingField::Insert).unwrap();
    assert!(added.contains("replacement: Lru, mshr: 8)"), "{added}");
}

#[test]
fn overrides_that_lead_nowhere_are_refused() {
    let changes = [
        "l1.wayz=8",
        "l2.ways=8",
        "l1.replacement.depth=3",
        "l1.ways.x=3",
        "l1.ways[0]=3",
        "wires[3]=1",
        "parts.cu.slots=3",
        "l1.ways=",
        "l1.ways=Gto(",
        "l1.ways",
        "=3",
        "l1..ways=3",
        "wires[x]=3",
        "wires[3=1",
        "wires[1]x=1",
        "parts.\"cu=3",
    ];
    let all: Vec<_> = changes
        .iter()
        .map(|c| overridden(c, MissingField::Refuse).unwrap_err())
        .collect();
    assert_snapshot!(all.join("\n\n"), @r#"
    error: unknown field `wayz` in Cache
     --> --set l1.wayz=8:1:4
      |
    1 | l1.wayz=8
      |    ^^^^
      = hint: did you mean `ways`? fields of Cache: ways, scheduler, replacement

    error: unknown field `l2` in System
     --> --set l2.ways=8:1:1
      |
    1 | l2.ways=8
      | ^^
      = hint: did you mean `l1`? fields of System: l1, timing, parts, wires

    error: `depth` cannot be set: the value here is `Lru`, which has no fields
     --> --set l1.replacement.depth=3:1:16
      |
    1 | l1.replacement.depth=3
      |                ^^^^^
      = hint: to change the variant, replace the whole value
    note: set here
     --> a.ron:2:64
      |
    2 |     l1: Cache(ways: 4, scheduler: Gto(window: 2), replacement: Lru),
      |                                                                ---

    error: integer `4` has no field `x`
     --> --set l1.ways.x=3:1:9
      |
    1 | l1.ways.x=3
      |         ^

    error: integer `4` has no elements
     --> --set l1.ways[0]=3:1:8
      |
    1 | l1.ways[0]=3
      |        ^^^

    error: index 3 is out of range
     --> --set wires[3]=1:1:6
      |
    1 | wires[3]=1
      |      ^^^
      = hint: there are 3 elements, numbered from 0

    error: unknown key `cu`
     --> --set parts.cu.slots=3:1:7
      |
    1 | parts.cu.slots=3
      |       ^^
      = hint: keys: cu[0]

    error: the text ends in the middle of a value
     --> --set l1.ways=:1:9
      |
    1 | l1.ways=
      |         ^
      = hint: is a closing bracket or quote missing?

    error: the text ends in the middle of a value
     --> --set l1.ways=Gto(:1:13
      |
    1 | l1.ways=Gto(
      |             ^
      = hint: is a closing bracket or quote missing?

    error: expected `=` between path and value of an override
     --> --set l1.ways:1:1
      |
    1 | l1.ways
      | ^^^^^^^
      = hint: write path=value, such as l1.ways=16

    error: missing name in the path
     --> --set =3:1:1
      |
    1 | =3
      | ^
      = hint: a path consists of names and indices, such as l1.ways or wires[2].latency

    error: missing name in the path
     --> --set l1..ways=3:1:3
      |
    1 | l1..ways=3
      |   ^
      = hint: a path consists of names and indices, such as l1.ways or wires[2].latency

    error: an index must be a whole number
     --> --set wires[x]=3:1:7
      |
    1 | wires[x]=3
      |       ^
      = hint: a path consists of names and indices, such as l1.ways or wires[2].latency

    error: missing `]` in the path
     --> --set wires[3=1:1:6
      |
    1 | wires[3=1
      |      ^^
      = hint: a path consists of names and indices, such as l1.ways or wires[2].latency

    error: expected `.` or `[` in the path
     --> --set wires[1]x=1:1:9
      |
    1 | wires[1]x=1
      |         ^
      = hint: a path consists of names and indices, such as l1.ways or wires[2].latency

    error: expected `=` between path and value of an override
     --> --set parts."cu=3:1:1
      |
    1 | parts."cu=3
      | ^^^^^^^^^^^
      = hint: write path=value, such as l1.ways=16
    "#);
}

#[test]
fn an_inserted_field_the_type_lacks_is_refused_at_the_override() {
    let mut node = parse(&Source::new("a.ron", "Cache(size: \"1 B\", ways: 4)")).unwrap();
    Override::parse("waze=8", "--set")
        .unwrap()
        .apply(&mut node, MissingField::Insert)
        .unwrap();
    assert_snapshot!(from_node::<CacheSpec>(&node).unwrap_err().to_string(), @"
    error: unknown field `waze` in Cache
     --> --set waze=8:1:1
      |
    1 | waze=8
      | ^^^^
      = hint: fields of Cache: size, ways, scheduler, marks, nested, grid, label, on
    ");
}

#[test]
fn the_same_path_twice_is_found_however_it_is_spelt() {
    let list = ["a.b[1]=1", "a.c=2", " a.\"b\"[ 1 ] = 3"];
    let list: Vec<_> = list
        .iter()
        .map(|text| Override::parse(text, "--set").unwrap())
        .collect();
    assert_snapshot!(repeated_paths(&list).to_string(), @r###"
error: `a.b[1]` is set twice
 --> --set  a."b"[ 1 ] = 3:1:1
  |
1 |  a."b"[ 1 ] = 3
  | ^^^^^^^^^^^^
  = hint: remove one of the two
note: first set here
 --> --set a.b[1]=1:1:1
  |
1 | a.b[1]=1
  | ------
"###);
    assert!(repeated_paths(&list[..2]).is_empty());
}
