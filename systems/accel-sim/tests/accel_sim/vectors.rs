//! Tests with small traces of each address mode, class, space and quirk.

use warpweave_accel_sim::{Quirks, is_accel_sim};
use warpweave_trace::HostCommand;

use crate::{imported, shown, vector};

#[test]
fn a_list_becomes_copies_and_launches_with_all_that_warps_did() {
    let whole = imported(&vector("kernelslist.g"), Quirks::default()).expect("it is read");
    insta::assert_snapshot!(shown(&whole));
}

#[test]
fn quirks_change_what_they_name_and_nothing_else() {
    let of = |name: &str, quirks| shown(&imported(&vector(name), quirks).expect("it is read"));
    let both = |name: &str, quirks| {
        let (plain, quirky) = (of(name, Quirks::default()), of(name, quirks));
        let changed = plain.lines().zip(quirky.lines()).filter(|(a, b)| a != b);
        let changed: Vec<_> = changed.map(|(a, b)| format!("- {a}\n+ {b}\n")).collect();
        changed.concat()
    };
    let file_order = Quirks {
        file_order: true,
        ..Quirks::default()
    };
    let generic_shared = Quirks {
        generic_shared: true,
        ..Quirks::default()
    };
    let text = [
        ("file-order", both("kernel-places.traceg", file_order)),
        (
            "generic-shared",
            both("kernel-places.traceg", generic_shared),
        ),
    ];
    let text = text.map(|(name, changed)| format!("{name}\n{changed}"));
    insta::assert_snapshot!(text.concat());
}

#[test]
fn bytes_of_a_lane_follow_from_the_opcode_where_that_is_asked_for() {
    let bytes = |quirks| {
        let (program, _) = imported(&vector("kernel-classes.traceg"), quirks).expect("it is read");
        let of = |opcode: &str| {
            let mut code = program.kernels[0].code.instructions.iter();
            code.find(|i| i.opcode == opcode).map(|i| i.access_bytes)
        };
        [of("ATOMS.ADD"), of("LDGSTS.E.BYPASS.128")]
    };
    assert_eq!(bytes(Quirks::default()), [Some(8), Some(16)]);
    let asked = Quirks {
        opcode_width: true,
        ..Quirks::default()
    };
    assert_eq!(bytes(asked), [Some(4), Some(16)]);
}

#[test]
fn a_packed_trace_is_the_trace_that_was_packed() {
    let program = |name| {
        imported(&vector(name), Quirks::default())
            .expect("it is read")
            .0
    };
    let plain = program("kernel-modes.traceg");
    for name in ["packed.traceg.xz", "packed.traceg.zst"] {
        let packed = program(name);
        assert_eq!(packed.kernels[0].counts(), plain.kernels[0].counts());
        assert!(is_accel_sim(&vector(name)));
        let stream = packed
            .commands
            .iter()
            .any(|command| matches!(command, HostCommand::Launch { stream: 3, .. }));
        assert!(stream, "the stream of the header");
    }
}
